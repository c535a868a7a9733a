"""Trees of gradient boosting: splits are chosen on a minipatch, values of leaves are fitted on all rows."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost.data.tables import Table
from mpboost.learners.constraints import Constraints
from mpboost.learners.contract import TrainedLearner
from mpboost.learners.splits import read_splits
from mpboost.learners.trees import BinnedLearner
from mpboost.outputs.kinds import Outputs
from mpboost.sampling.draws import Draw
from mpboost.sampling.features import to_shares
from mpboost.sampling.questions import Slopes
from mpboost.tasks.leaves import LeafFitter
from mpboost.tasks.losses import Step

GradientImportance = Literal["out_of_patch", "gain"]

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
        self._leaves = np.empty(table.n_rows, dtype=np.uint16)
        limits = options.max_leaf_nodes, options.max_depth or 0, options.min_samples_leaf, options.l2_regularization
        self._grower = _native.GradientGrower(*limits, TREE_BINS)

    def train(
        self, iteration: int, draw: Draw, features: Positions, question: Slopes, threads: _native.Threads
    ) -> TrainedLearner[_native.Tree, Step]:
        """Grow a tree on a minipatch with weights of rows, fit its leaves, and apply it to all rows."""
        options, slopes, rows, weights = self._options, question, draw.rows, draw.weights
        assert weights is not None
        columns, places = self._data.fetch(features, threads)
        gradients, hessians = slopes.of(rows)
        grown = self._grower.grow(
            columns,
            rows,
            places,
            gradients * weights,
            hessians * weights,
            options.seed,
            iteration,
            options.is_categorical,
            *options.constraints.of(features, places, columns.n_columns),
            threads,
        )
        sums = _native.sum_leaves(grown.tree, columns, slopes.gradients, slopes.hessians, self._leaves, threads)
        if options.importance == "gain" or len(rows) == slopes.n_learned:  # no unseen rows to measure on
            credits = _add_gains(grown, places)
            importances = to_shares(credits)
        else:
            importances, credits = self._credit(grown, places, slopes, rows, sums)
        if options.leaf_refit:
            values = self._leaf_fitter.fit(slopes, self._leaves, sums, threads)
        else:
            sums = slopes.sum_leaves(self._leaves, rows, weights, len(sums))
            values = self._leaf_fitter.fit(slopes, self._leaves[rows], sums, threads, rows=rows, weights=weights)
        values = options.constraints.bound(grown.tree, features, places, values, sums, options.l2_regularization)
        step = self._leaf_fitter.make_step(self._leaves, options.learning_rate * values)
        tree = grown.tree.with_values(self._leaf_fitter.to_tree_values(step))
        return TrainedLearner(self._data.rename(tree, features), step, importances, credits)

    def _credit(
        self,
        grown: _native.GradientTree,
        places: Positions,
        slopes: Slopes,
        rows: Positions,
        sums: Floats,
    ) -> tuple[Floats, Floats]:
        """Compute the credits of features: how much their splits improve rows outside the minipatch.

        Return the credits divided by what chance alone would give, and the credits themselves.
        """
        unseen = sums - slopes.sum_leaves(self._leaves, rows, None, len(sums))
        gradients = unseen[:, 0, 0] if slopes.direction is None else (unseen[..., 0] * slopes.direction).sum(axis=1)
        credits = grown.credit(np.ascontiguousarray(gradients), places)
        chance = grown.chance(np.maximum(unseen[..., 1].sum(axis=1), 0.0))
        return credits / chance if chance > 0 else np.zeros(len(places)), credits


def _add_gains(grown: _native.GradientTree, places: Positions) -> Floats:
    """Sum the gains of splits per feature, measured on the minipatch."""
    features = read_splits(grown.tree)["feature"]
    return np.bincount(np.searchsorted(places, features), grown.gains, len(places)).astype(np.float64)
