"""Trees of gradient boosting: splits are chosen on a minipatch, values of leaves are fitted on all rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost.data.binned import Fetched
from mpboost.data.tables import Table
from mpboost.learners.constraints import Constraints
from mpboost.learners.contract import Finish, TrainedLearner
from mpboost.learners.side_by_side import Pool, train_side_by_side
from mpboost.learners.splits import read_splits
from mpboost.learners.trees import BinnedLearner
from mpboost.outputs.kinds import Outputs
from mpboost.sampling.draws import Minipatch
from mpboost.sampling.features import to_shares
from mpboost.sampling.questions import Slopes
from mpboost.tasks.leaves import LeafFitter
from mpboost.tasks.losses import Step

GradientImportance = Literal["out_of_patch", "gain"]

_GrownTree: TypeAlias = tuple[Minipatch[Slopes], _native.GradientTree]
_FinishedTree: TypeAlias = TrainedLearner[_native.Tree, Step]

#: Bins of a numeric feature in one tree: neighbours are merged, differently in each tree, so that every threshold is
#: possible. A quarter of 255 is about twice as fast and, with some hundred trees, as good: docs/gradient.md.
TREE_BINS = 64

#: Numbers of leaves have 16 bits.
MAX_LEAVES = 65_535


@dataclass
class GradientTreeOptions:
    """Options of gradient trees.

    Attributes
    ----------
    learning_rate : float
        Factor of the values of leaves.
    leaf_refit : bool
        Whether the values of leaves are fitted on all rows instead of the minipatch.
    """

    learning_rate: float
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    leaf_refit: bool
    importance: GradientImportance
    is_categorical: Mask | None
    constraints: Constraints
    seed: int


class GradientTreeLearner(BinnedLearner[np.float64]):
    """Trains gradient trees on binned columns."""

    def __init__(
        self,
        mapper: _native.BinMapper,
        table: Table,
        outputs: Outputs[np.float64],
        leaf_fitter: LeafFitter,
        options: GradientTreeOptions,
        threads: _native.Threads,
    ):
        super().__init__(mapper, table, outputs, threads)
        self._leaf_fitter = leaf_fitter
        self._options = options
        n_together = 1 if self._data.copies else leaf_fitter.n_models  # trees that are finished together
        self._leaves = [np.empty(table.n_rows, dtype=np.uint16) for _ in range(n_together)]
        limits = options.max_leaf_nodes, options.max_depth or 0, options.min_samples_leaf, options.l2_regularization
        self._growers = Pool(lambda: _native.GradientGrower(*limits, TREE_BINS))

    def train(
        self, minipatches: Sequence[Minipatch[Slopes]], threads: _native.Threads
    ) -> list[Finish[_native.Tree, Step]]:
        """Grow a tree on each minipatch, by derivatives as they are now."""
        grown = train_side_by_side(self._grow, self._data, minipatches, threads)
        turns = _Turns(self._finish, [*zip(minipatches, grown, strict=True)], len(self._leaves))
        return [partial(turns.finish, place) for place in range(len(grown))]

    def _grow(self, minipatch: Minipatch[Slopes], fetched: Fetched, threads: _native.Threads) -> _native.GradientTree:
        options, rows, weights = self._options, minipatch.draw.rows, minipatch.draw.weights
        assert weights is not None
        columns, places = fetched
        gradients, hessians = minipatch.question.of(rows, weights)
        with self._growers.borrow() as grower:
            return grower.grow(
                columns,
                rows,
                places,
                gradients,
                hessians,
                options.seed,
                minipatch.iteration,
                options.is_categorical,
                *options.constraints.of(minipatch.features, places, columns.n_columns),
                threads,
            )

    def _finish(self, trees: Sequence[_GrownTree], threads: _native.Threads) -> list[_FinishedTree]:
        """Fit the leaves of trees of different models by derivatives as they are now; apply them to all rows."""
        fetched = [self._data.fetch(minipatch.features, threads, place) for place, (minipatch, _) in enumerate(trees)]
        applied = [
            (grown.tree, columns, minipatch.question.gradients, minipatch.question.hessians, leaves)
            for (minipatch, grown), (columns, _), leaves in zip(trees, fetched, self._leaves, strict=False)
        ]
        sums = _native.sum_leaves(applied, threads)
        rest = zip(trees, fetched, self._leaves, sums, strict=False)
        return [self._fit(*tree, places, leaves, sums, threads) for tree, (_, places), leaves, sums in rest]

    def _fit(
        self,
        minipatch: Minipatch[Slopes],
        grown: _native.GradientTree,
        places: Positions,
        leaves: NDArray[np.uint16],
        sums: Floats,
        threads: _native.Threads,
    ) -> _FinishedTree:
        """Compute the importances and the values of leaves of a tree, given the leaf of each row and their sums."""
        options, slopes, features = self._options, minipatch.question, minipatch.features
        rows, weights = minipatch.draw.rows, minipatch.draw.weights
        if options.importance == "gain" or len(rows) == slopes.n_learned:  # no unseen rows to measure on
            credits = _add_gains(grown, places)
            importances = to_shares(credits)
        else:
            importances, credits = grown.credit_unseen(
                sums, leaves, rows, slopes.gradients, slopes.hessians, slopes.direction, places
            )
        if options.leaf_refit:
            values = self._leaf_fitter.fit(slopes, leaves, sums, threads)
        else:
            sums = slopes.sum_leaves(leaves, rows, weights, len(sums))
            values = self._leaf_fitter.fit(slopes, leaves[rows], sums, threads, rows=rows, weights=weights)
        values = options.constraints.bound(grown.tree, features, places, values, sums, options.l2_regularization)
        step, tree = self._leaf_fitter.make_step(grown.tree, leaves, values, options.learning_rate)
        return TrainedLearner(self._data.rename(tree, features), step, importances, credits)


class _Turns:
    """The trees of a round: those of models that take turns are finished together, when the first of them is needed.

    Each changes the derivatives of its own model alone.
    """

    def __init__(
        self,
        finish: Callable[[Sequence[_GrownTree], _native.Threads], list[_FinishedTree]],
        trees: Sequence[_GrownTree],
        n_models: int,
    ):
        self._finish = finish
        self._trees = trees
        self._n_models = n_models
        self._finished: dict[int, _FinishedTree] = {}

    def finish(self, place: int, threads: _native.Threads) -> _FinishedTree:
        """Return a tree with fitted leaves; an interrupt leaves what was finished before."""
        if place not in self._finished:
            trees = self._trees[place : place + self._n_models]
            self._finished = dict(enumerate(self._finish(trees, threads), start=place))
        return self._finished[place]


def _add_gains(grown: _native.GradientTree, places: Positions) -> Floats:
    """Sum the gains of splits per feature, measured on the minipatch."""
    features = read_splits(grown.tree)["feature"]
    return np.bincount(np.searchsorted(places, features), grown.gains, len(places)).astype(np.float64)
