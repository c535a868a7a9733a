"""Native decision trees as weak learners, and the base of all learners on binned tables."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, Self

from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Label, Mask
from mpboost.data.binned import BinnedData, Fetched, make_binned_data
from mpboost.data.tables import Table
from mpboost.learners.contract import Finish, TrainedLearner
from mpboost.learners.node_sizes import NodeSizes
from mpboost.learners.side_by_side import Pool, train_side_by_side
from mpboost.outputs.kinds import LearnerOutputs, Outputs
from mpboost.sampling.draws import Minipatch
from mpboost.sampling.features import balance, to_shares
from mpboost.sampling.questions import Labels

Importance = Literal["out_of_patch", "impurity", "permutation"]


@dataclass
class TreeOptions:
    """Options of trees."""

    max_depth: int | None
    min_samples_leaf: int
    min_samples_split: int | Literal["auto"]
    importance: Importance
    is_categorical: Mask | None
    seed: int


class BinnedLearner(Generic[Label]):
    """Base of learners that read a binned table."""

    def __init__(self, mapper: _native.BinMapper, table: Table, outputs: Outputs[Label], threads: _native.Threads):
        self._mapper = mapper
        self._data = make_binned_data(table.bin(mapper, threads))
        self._outputs = outputs

    def restart(self) -> Self:
        """Return the learner itself, unless it learns something from one iteration for the next."""
        return self

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Check whether the table has the same bins."""
        return self._data.equals(make_binned_data(table.bin(self._mapper, threads)))

    def prepare(self, table: Table, threads: _native.Threads) -> "BinnedRows[Label]":
        """Bin another table with the same features."""
        return BinnedRows(make_binned_data(table.bin(self._mapper, threads)), self._outputs)


class TreeLearner(BinnedLearner[Label]):
    """Trains native decision trees on binned columns."""

    def __init__(
        self,
        mapper: _native.BinMapper,
        table: Table,
        outputs: LearnerOutputs[Label],
        options: TreeOptions,
        threads: _native.Threads,
    ):
        super().__init__(mapper, table, outputs, threads)
        self._options = options
        self._kind = outputs
        self._node_sizes = NodeSizes(options.min_samples_split, options.min_samples_leaf)
        self._growers = Pool(lambda: outputs.make_grower(options.max_depth or 0, options.min_samples_leaf))

    def train(
        self, minipatches: Sequence[Minipatch[Labels[Label]]], threads: _native.Threads
    ) -> list[Finish[_native.Tree, Any]]:  # an array or an AppliedTree, as tasks of this kind of outputs take it
        """Grow a tree on each minipatch, whose rows may have weights, and compute its importances."""
        self._node_sizes.learn(minipatches[0].iteration)
        return train_side_by_side(self._train_one, self._data, minipatches, threads)

    def _train_one(
        self, minipatch: Minipatch[Labels[Label]], fetched: Fetched, threads: _native.Threads
    ) -> Finish[_native.Tree, Any]:
        columns, places = fetched
        draw = minipatch.draw
        labels: NDArray[Any] = minipatch.question.values
        patch = columns, draw.rows, places, labels
        limit = self._node_sizes.limit(len(draw.rows))
        with self._growers.borrow() as grower:
            grown = grower.grow(*patch, draw.weights, self._options.is_categorical, limit)
        tree, importances = self._data.rename(grown.tree, minipatch.features), grown.importances
        if self._options.importance == "permutation":
            shuffle = self._options.seed, minipatch.iteration, draw.weights
            importances = to_shares(_native.permutation_importances(grown.tree, *patch, *shuffle))
        elif len(draw.unseen):  # else the decrease of impurity on the minipatch
            credits, gains = _native.unseen_importances(grown.tree, *patch, draw.unseen, draw.weights)
            importances = balance(credits)
            self._node_sizes.add(minipatch.iteration, gains)
        return partial(self._finish, tree, importances)

    def _finish(
        self, tree: _native.Tree, importances: Floats, threads: _native.Threads
    ) -> TrainedLearner[_native.Tree, Any]:
        """Bind a tree to the columns that it votes on."""
        outputs = self._kind.bind(*self._data.prepare(tree, threads), threads)
        return TrainedLearner(tree, outputs, importances)

    def restart(self) -> Self:
        """Make a learner on the same table for another run: it has learned nothing about the sizes of nodes."""
        learner = copy(self)
        learner._node_sizes = NodeSizes(self._options.min_samples_split, self._options.min_samples_leaf)
        return learner


class BinnedRows(Generic[Label]):
    """Binned rows that trees are applied to."""

    def __init__(self, data: BinnedData, outputs: Outputs[Label]):
        self._data = data
        self._outputs = outputs
        self._out = outputs.make_output(data.n_rows)

    def apply(self, model: _native.Tree, threads: _native.Threads) -> NDArray[Label]:
        """Compute the output for each row; only valid until the next call."""
        self._outputs.apply(*self._data.prepare(model, threads), self._out, threads)
        return self._out

    def equals(self, other: object) -> bool:
        """Check whether all bins are the same."""
        return isinstance(other, BinnedRows) and self._data.equals(other._data)
