"""Native decision trees as weak learners, and the base of all learners on binned tables."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Label, Mask, Positions
from mpboost._shards import Shards, find_rows_here
from mpboost.data.binned import BinnedData, Fetched, make_binned_data
from mpboost.data.tables import Table
from mpboost.learners.contract import Finish, TrainedLearner
from mpboost.learners.credit_rules import CreditRule, list_judged
from mpboost.learners.node_sizes import NodeSizes
from mpboost.learners.sharded_patches import PatchRows, take_patch_rows, train_in_shards
from mpboost.learners.side_by_side import map_side_by_side, train_with_columns
from mpboost.outputs.kinds import LearnerOutputs, Outputs
from mpboost.sampling.draws import Draw, Minipatch
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
    credit_rule: CreditRule | None = None


class BinnedLearner(Generic[Label]):
    """Base of learners that read a binned table, or, in one of several shards, a part of it."""

    def __init__(
        self,
        mapper: _native.BinMapper,
        table: Table,
        outputs: Outputs[Label],
        is_categorical: Mask | None,
        threads: _native.Threads,
        shards: Shards | None,
    ):
        self._is_categorical = is_categorical
        self._shards = shards if shards is not None and shards.size > 1 else None
        self._mapper = mapper
        self._data = make_binned_data(table.bin(mapper, threads))
        self._outputs = outputs
        if self._shards is not None:
            n_bins, has_missing = self._data.describe(np.arange(table.n_columns))
            self._n_bins = n_bins
            self._has_missing: Mask = self._shards.exchange(lambda: has_missing, np.logical_or.reduce)

    def _make_columns(self, patch: PatchRows, features: Positions) -> _native.BinnedColumns:
        """Make columns of the features of a minipatch whose rows were in several shards."""
        return patch.to_columns(self._n_bins[features], self._has_missing[features])

    def _mask_categorical(self, features: Positions) -> Mask | None:
        """Tell which columns are categorical; those of a minipatch alone are its features."""
        if self._shards is None or self._is_categorical is None:
            return self._is_categorical
        return self._is_categorical[features]

    def restart(self) -> Self:
        """Return the learner itself, unless it learns something from one iteration for the next."""
        return self

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Check whether the table has the same bins."""
        return self._data.equals(make_binned_data(table.bin(self._mapper, threads)))

    def prepare(self, table: Table, threads: _native.Threads) -> "BinnedRows[Label]":
        """Bin another table with the same features."""
        return BinnedRows(make_binned_data(table.bin(self._mapper, threads)), self._outputs)


class _Grown(NamedTuple):
    """A tree, the importances of the features, and the gains of its splits by the sizes of nodes; None if unknown."""

    tree: _native.Tree
    importances: Floats
    gains: Floats | None


class TreeLearner(BinnedLearner[Label]):
    """Trains native decision trees on binned columns."""

    def __init__(
        self,
        mapper: _native.BinMapper,
        table: Table,
        outputs: LearnerOutputs[Label],
        options: TreeOptions,
        threads: _native.Threads,
        shards: Shards | None = None,
    ):
        super().__init__(mapper, table, outputs, options.is_categorical, threads, shards)
        self._options = options
        self._kind = outputs
        self._node_sizes = NodeSizes(options.min_samples_split, options.min_samples_leaf)
        self._grower = outputs.make_grower(options.max_depth or 0, options.min_samples_leaf)

    def train(
        self, minipatches: Sequence[Minipatch[Labels[Label]]], threads: _native.Threads
    ) -> list[Finish[_native.Tree, Any]]:  # an array or an AppliedTree, as tasks of this kind of outputs take it
        """Grow a tree on each minipatch, whose rows may have weights, and compute its importances."""
        self._node_sizes.learn(minipatches[0].iteration)
        if self._shards is None:
            trained = train_with_columns(self._train_all, self._data, minipatches, threads)
        else:
            trained = self._train_in(self._shards, minipatches)
        for minipatch, (_, _, gains) in zip(minipatches, trained, strict=True):
            if gains is not None:
                self._node_sizes.add(minipatch.iteration, gains)
        trees = [grown.tree for grown in trained]
        finish = zip(trees, (grown.importances for grown in trained), self._bind_round(trees, threads), strict=True)
        return [partial(self._finish, *of_tree) for of_tree in finish]

    def _bind_round(self, trees: Sequence[_native.Tree], threads: _native.Threads) -> Sequence[Any]:
        """Bind the trees of a round to the columns that they vote on, those that can be bound before their turn."""
        if self._data.copies:
            return [None] * len(trees)
        _, columns = self._data.prepare(trees[0], threads)
        return self._kind.bind_round(trees, columns, threads)

    def _train_in(self, shards: Shards, minipatches: Sequence[Minipatch[Labels[Label]]]) -> list[_Grown]:
        """Train a tree on each minipatch, each in one of the shards."""

        def take(minipatch: Minipatch[Labels[Label]]) -> PatchRows:
            here = find_rows_here(shards, _list_rows(minipatch.draw))
            columns, places = self._data.fetch(minipatch.features, _native.Threads(1))
            return take_patch_rows(columns, places, here, [minipatch.question.values[here]])

        def train(place: int, patch: PatchRows) -> _Grown:
            minipatch = minipatches[place]
            rows, unseen, weights = minipatch.draw
            all_rows = _list_rows(minipatch.draw)
            draw = Draw(np.searchsorted(all_rows, rows), np.searchsorted(all_rows, unseen), weights)
            alone = replace(minipatch, draw=draw, question=replace(minipatch.question, values=patch.asked[0]))
            fetched = self._make_columns(patch, minipatch.features), np.arange(len(minipatch.features))
            (grown,) = self._train_all([(alone, fetched)], _native.Threads(1))
            return grown._replace(tree=grown.tree.with_features(minipatch.features))

        return train_in_shards(shards, minipatches, take, train)

    def _train_all(
        self, fetched: Sequence[tuple[Minipatch[Labels[Label]], Fetched]], threads: _native.Threads
    ) -> list[_Grown]:
        """Grow a tree on each minipatch, side by side, given their columns; compute the importances of features."""
        shuffles, patches = self._options.importance == "permutation", []
        for minipatch, (columns, places) in fetched:
            rows, unseen, weights = minipatch.draw
            categorical, limit = self._mask_categorical(minipatch.features), self._node_sizes.limit(len(rows))
            judges = unseen[:0] if shuffles else unseen
            patches.append((columns, rows, places, minipatch.question.values, weights, categorical, limit, judges))
        trees = [*zip(fetched, self._grower.grow_round(patches, threads), strict=True)]
        if shuffles:
            return map_side_by_side(lambda tree, _: self._measure(*tree), trees, threads)
        return [self._measure(*tree) for tree in trees]

    def _measure(
        self,
        patch: tuple[Minipatch[Labels[Label]], Fetched],
        grown: tuple[_native.GrownTree, tuple[Floats, Floats] | None],
    ) -> _Grown:
        """Compute the importances of a tree's features, given what they gain on unseen rows, if there are any."""
        (minipatch, (columns, places)), (grown_tree, unseen) = patch, grown
        draw, rule, gains = minipatch.draw, self._options.credit_rule, None
        tree = self._data.rename(grown_tree.tree, minipatch.features)
        if self._options.importance == "permutation":
            labels: NDArray[Any] = minipatch.question.values
            of_patch = columns, draw.rows, places, labels
            shuffle = self._options.seed, minipatch.iteration, draw.weights
            importances = to_shares(_native.permutation_importances(grown_tree.tree, *of_patch, *shuffle))
        elif unseen is not None:
            credits, gains = unseen
            importances = credits if rule is not None else balance(credits)
        else:  # the decrease of impurity on the minipatch
            importances = grown_tree.importances
        if rule is not None and len(tree.features):  # else there is nothing to credit
            importances = balance(self._credit(rule, tree, minipatch, (columns, places), importances))
        return _Grown(tree, importances, gains)

    def _credit(
        self,
        rule: CreditRule,
        tree: _native.Tree,
        minipatch: Minipatch[Labels[Label]],
        fetched: Fetched,
        importances: Floats,
    ) -> Floats:
        """Compute the importances of features by a rule of the user, which may apply the tree to rows of its own."""
        columns, places = fetched
        codes = take_patch_rows(columns, places, list_judged(minipatch), []).codes
        used = np.searchsorted(minipatch.features, tree.features)
        n_bins = np.array([columns.n_bins(place) for place in places[used].tolist()])
        has_missing = np.array([columns.has_missing(place) for place in places[used].tolist()])
        narrow = tree.narrow()

        def predict(X: NDArray[Any]) -> NDArray[Any]:
            rows = PatchRows(np.ascontiguousarray(X[:, used].T), []).to_columns(n_bins, has_missing)
            outputs = self._outputs.make_output(len(X))
            self._outputs.apply(narrow, rows, outputs, _native.Threads(1))
            return outputs

        return rule.credit(minipatch, codes.T, importances, predict)

    def _finish(
        self, tree: _native.Tree, importances: Floats, outputs: Any, threads: _native.Threads
    ) -> TrainedLearner[_native.Tree, Any]:
        """Bind a tree to the columns that it votes on, unless it is bound."""
        if outputs is None:
            outputs = self._kind.bind(*self._data.prepare(tree, threads), threads)
        return TrainedLearner(tree, outputs, importances)

    def restart(self) -> Self:
        """Make a learner on the same table for another run: it has learned nothing about the sizes of nodes."""
        learner = copy(self)
        learner._node_sizes = NodeSizes(self._options.min_samples_split, self._options.min_samples_leaf)
        return learner


def _list_rows(draw: Draw) -> Positions:
    """List the rows of a draw, seen and unseen, in ascending order."""
    return np.sort(np.concatenate([draw.rows, draw.unseen]))


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
