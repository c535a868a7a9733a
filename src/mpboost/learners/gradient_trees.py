"""Trees of gradient boosting: splits are chosen on a minipatch, values of leaves are fitted on all rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost._shards import (
    PostingShards,
    Shards,
    Taken,
    WholeTable,
    find_rows_here,
    join_rows,
    join_sums,
    take_rows_here,
)
from mpboost.data.binned import Fetched
from mpboost.data.tables import Table
from mpboost.learners.constraints import Constraints
from mpboost.learners.contract import Finish, TrainedLearner
from mpboost.learners.sharded_patches import PatchRows, take_patch_rows, train_in_shards
from mpboost.learners.side_by_side import train_with_columns
from mpboost.learners.splits import read_splits
from mpboost.learners.trees import BinnedLearner
from mpboost.outputs.kinds import Outputs
from mpboost.sampling.draws import Minipatch
from mpboost.sampling.features import to_shares
from mpboost.sampling.questions import Slopes
from mpboost.tasks.leaves import LeafFitter, StepLengths
from mpboost.tasks.losses import Step

GradientImportance = Literal["out_of_patch", "gain"]

_GrownTree: TypeAlias = tuple[Minipatch[Slopes], _native.GradientTree]
_FinishedTree: TypeAlias = TrainedLearner[_native.Tree, Step]


#: What a shard contributes to the leaves of a tree: sums of derivatives over its rows, (n_leaves, n_outputs, 2), or, of
#: one of several shards, sums that can be joined; and, of the rows of the minipatch, leaves, gradients and hessians.
_LeafSums: TypeAlias = tuple[Any, Taken]
#: The values of the leaves of a tree, importances and credits of features.
_FittedTree: TypeAlias = tuple[Floats, Floats, Floats]

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
    step_lengths : StepLengths
        Factors of the values of leaves.
    leaf_refit : bool
        Whether the values of leaves are fitted on all rows instead of the minipatch.
    """

    step_lengths: StepLengths
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
        shards: Shards | None = None,
    ):
        super().__init__(mapper, table, outputs, options.is_categorical, threads, shards)
        self._whole = WholeTable(table.n_rows)
        self._leaf_fitter = leaf_fitter
        self._options = options
        n_together = 1 if self._data.copies else leaf_fitter.n_models  # trees that are finished together
        self._leaves = [np.empty(table.n_rows, dtype=np.uint16) for _ in range(n_together)]
        limits = options.max_leaf_nodes, options.max_depth or 0, options.min_samples_leaf, options.l2_regularization
        self._grower = _native.GradientGrower(*limits, TREE_BINS)

    def train(
        self, minipatches: Sequence[Minipatch[Slopes]], threads: _native.Threads
    ) -> list[Finish[_native.Tree, Step]]:
        """Grow a tree on each minipatch, by derivatives as they are now."""
        if self._shards is None:
            grown = train_with_columns(self._grow, self._data, minipatches, threads)
        else:
            grown = self._grow_in(self._shards, minipatches)
        post = None
        if isinstance(self._shards, PostingShards) and len(self._leaves) == 1:
            post = partial(self._post, shards=self._shards)
        turns = _Turns(self._finish, post, [*zip(minipatches, grown, strict=True)], len(self._leaves))
        return [partial(turns.finish, place) for place in range(len(grown))]

    def _grow_in(self, shards: Shards, minipatches: Sequence[Minipatch[Slopes]]) -> list[_native.GradientTree]:
        """Grow a tree on each minipatch, each in one of the shards."""

        def take(minipatch: Minipatch[Slopes]) -> PatchRows:
            here, weights = find_rows_here(shards, minipatch.draw.rows), minipatch.draw.weights
            assert weights is not None
            columns, places = self._data.fetch(minipatch.features, _native.Threads(1))
            return take_patch_rows(columns, places, here, [weights, *minipatch.question.of(here, weights)])

        def grow(place: int, patch: PatchRows) -> _native.GradientTree:
            minipatch, n_rows = minipatches[place], patch.codes.shape[1]
            fetched = self._make_columns(patch, minipatch.features), np.arange(len(minipatch.features))
            weights, gradients, hessians = patch.asked
            rows = np.arange(n_rows)
            settings = self._list_settings(minipatch, fetched, weights)
            given = fetched[0], rows, fetched[1], gradients, hessians
            grown = self._grower.grow(*given, self._options.seed, *settings)
            return grown.with_features(minipatch.features)

        return train_in_shards(shards, minipatches, take, grow)

    def _grow(
        self, fetched: Sequence[tuple[Minipatch[Slopes], Fetched]], threads: _native.Threads
    ) -> list[_native.GradientTree]:
        """Grow a tree on each minipatch, side by side, given their columns."""
        patches = []
        for minipatch, (columns, places) in fetched:
            (rows, _, weights), slopes = minipatch.draw, minipatch.question
            assert weights is not None
            derivatives = slopes.gradients, slopes.hessians, slopes.direction, slopes.labels, slopes.weights
            settings = self._list_settings(minipatch, (columns, places), weights)
            patches.append((columns, rows, places, *derivatives, *settings))
        return self._grower.grow_round(patches, self._options.seed, threads)

    def _list_settings(self, minipatch: Minipatch[Slopes], fetched: Fetched, weights: Floats) -> tuple[Any, ...]:
        """List what growers are told besides rows, columns and derivatives."""
        features, (columns, places) = minipatch.features, fetched
        categorical = self._mask_categorical(features)
        constraints = self._options.constraints.of(features, places, columns.n_columns)
        return minipatch.iteration, categorical, *constraints, weights, features

    def _finish(self, trees: Sequence[_GrownTree], threads: _native.Threads) -> list[_FinishedTree]:
        """Fit the leaves of trees of different models by derivatives as they are now; apply them to all rows."""
        shards = self._shards or self._whole
        return self._take_steps(trees, shards.exchange(*self._prepare(trees, shards, threads)))

    def _post(
        self, trees: Sequence[_GrownTree], shards: PostingShards, threads: _native.Threads
    ) -> Callable[[], list[_FinishedTree]]:
        """Do the same along with the next exchange; return a function that gives the trees afterwards."""
        get_fitted = shards.post(*self._prepare(trees, shards, threads))
        return lambda: self._take_steps(trees, get_fitted())

    def _prepare(
        self, trees: Sequence[_GrownTree], shards: Shards, threads: _native.Threads
    ) -> tuple[Callable[[], list[_LeafSums]], Callable[[Sequence[list[_LeafSums]]], list[_FittedTree]]]:
        """Apply trees to all rows; return what this shard contributes to their leaves, and how leaves are fitted."""
        fetched = [self._data.fetch(minipatch.features, threads, place) for place, (minipatch, _) in enumerate(trees)]
        places = [places for _, places in fetched]
        applied = [
            (grown.tree, columns, minipatch.question.gradients, minipatch.question.hessians, leaves)
            for (minipatch, grown), (columns, _), leaves in zip(trees, fetched, self._leaves, strict=False)
        ]
        sums: Sequence[Any] = [] if shards.size == 1 else [_native.RowSums(shards.first_row) for _ in trees]
        totals = _native.sum_leaves(applied, threads, sums)

        def list_sums() -> list[_LeafSums]:
            return [
                (of_tree, take_rows_here(shards, minipatch.draw.rows, leaves, gradients, hessians))
                for (minipatch, _), of_tree, (_, _, gradients, hessians, leaves) in zip(
                    trees, sums or totals, applied, strict=True
                )
            ]

        def fit(parts: Sequence[list[_LeafSums]]) -> list[_FittedTree]:
            joined = parts[0] if len(parts) == 1 else [*map(_join, zip(*parts, strict=True))]
            credited = self._credit(trees, places, joined, threads)
            values = self._fit(trees, places, [sums for sums, _ in joined], threads)
            return [(values, *credits) for values, credits in zip(values, credited, strict=True)]

        return list_sums, fit

    def _credit(
        self,
        trees: Sequence[_GrownTree],
        places: Sequence[Positions],
        joined: Sequence[_LeafSums],
        threads: _native.Threads,
    ) -> list[tuple[Floats, Floats]]:
        """Compute importances and credits of the features of trees, given the leaf of each row and sums of leaves."""
        by_gains, unseen = self._options.importance == "gain", {}
        for k, ((minipatch, grown), (sums, (rows, *patch))) in enumerate(zip(trees, joined, strict=True)):
            if not by_gains and len(rows) < minipatch.question.n_learned:
                unseen[k] = grown, sums, rows, *patch, minipatch.question.direction, places[k]
        credited = dict(zip(unseen, _native.credit_unseen([*unseen.values()], threads), strict=True))
        return [credited.get(k) or _credit_by_gains(grown, places[k]) for k, (_, grown) in enumerate(trees)]

    def _fit(
        self,
        trees: Sequence[_GrownTree],
        places: Sequence[Positions],
        sums: Sequence[Floats],
        threads: _native.Threads,
    ) -> list[Floats]:
        """Compute the values of the leaves of trees, given the sums of leaves."""
        options, minipatches = self._options, [minipatch for minipatch, _ in trees]
        slopes, leaves, draws = [minipatch.question for minipatch in minipatches], self._leaves, None  # None: all rows
        if not options.leaf_refit:
            draws = [minipatch.draw for minipatch in minipatches]
            sums = [
                asked.sum_leaves(of_rows, draw.rows, draw.weights, len(of_all))
                for asked, of_rows, draw, of_all in zip(slopes, leaves, draws, sums, strict=False)
            ]
            leaves = [of_rows[draw.rows] for of_rows, draw in zip(leaves, draws, strict=False)]
        values = self._leaf_fitter.fit(slopes, leaves, sums, threads, draws)
        if options.constraints.monotonic is None:
            return values
        bound, l2 = options.constraints.bound, options.l2_regularization
        return [
            bound(grown.tree, minipatch.features, at, of_leaves, given, l2)
            for (minipatch, grown), at, of_leaves, given in zip(trees, places, values, sums, strict=True)
        ]

    def _take_steps(self, trees: Sequence[_GrownTree], fitted: Sequence[_FittedTree]) -> list[_FinishedTree]:
        """Make steps of the fitted leaves of trees."""
        find_length, n_models = self._options.step_lengths.find, self._leaf_fitter.n_models
        steps = self._leaf_fitter.make_steps(
            [
                (grown.tree, values, find_length((minipatch.iteration - 1) // n_models))
                for (minipatch, grown), (values, _, _) in zip(trees, fitted, strict=True)
            ],
            self._leaves,
        )
        return [
            TrainedLearner(self._data.rename(tree, minipatch.features), step, importances, credits)
            for (minipatch, _), (step, tree), (_, importances, credits) in zip(trees, steps, fitted, strict=True)
        ]


def _join(parts: Sequence[_LeafSums]) -> _LeafSums:
    """Join what several shards contribute to the leaves of a tree."""
    sums, rows = zip(*parts, strict=True)
    patch = join_rows(rows)
    n_outputs = 1 if patch[-1].ndim == 1 else patch[-1].shape[1]
    return join_sums(sums).reshape(-1, n_outputs, 2), patch


class _Turns:
    """The trees of a round: those of models that take turns are finished together, when the first of them is needed.

    Each changes the derivatives of its own model alone. In shards, a tree of a single model is prepared for the
    exchange about the step before it (``post``).
    """

    def __init__(
        self,
        finish: Callable[[Sequence[_GrownTree], _native.Threads], list[_FinishedTree]],
        post: Callable[..., Callable[[], list[_FinishedTree]]] | None,
        trees: Sequence[_GrownTree],
        n_models: int,
    ):
        self._finish, self._post = finish, post
        self._trees = trees
        self._n_models = n_models
        self._finished: dict[int, _FinishedTree] = {}
        self._posted: dict[int, Callable[[], list[_FinishedTree]]] = {}

    def finish(self, place: int, threads: _native.Threads) -> _FinishedTree:
        """Return a tree with fitted leaves; an interrupt leaves what was finished before."""
        if place not in self._finished:
            trees = self._trees[place : place + self._n_models]
            posted = self._posted.pop(place, None)
            finished = self._finish(trees, threads) if posted is None else posted()
            self._finished = dict(enumerate(finished, start=place))
        finished_tree = self._finished[place]
        if self._post is not None and place + 1 < len(self._trees):
            step = finished_tree.outputs._replace(prepare_next=partial(self._prepare, place + 1))
            return replace(finished_tree, outputs=step)
        return finished_tree

    def _prepare(self, place: int, threads: _native.Threads) -> None:
        assert self._post is not None
        self._posted[place] = self._post(self._trees[place : place + 1], threads=threads)


def _credit_by_gains(grown: _native.GradientTree, places: Positions) -> tuple[Floats, Floats]:
    """Compute importances and credits of features by the gains of splits, measured on the minipatch."""
    features = read_splits(grown.tree)["feature"]
    gains = np.bincount(np.searchsorted(places, features), grown.gains, len(places)).astype(np.float64)
    return to_shares(gains), gains
