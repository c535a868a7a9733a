"""The oracle for numbers: Algorithm 1 with the mean of what trees predict, and weights that follow residuals.

As with many classes, real trees are followed, and each split of some of them is held to all that its node offers.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.learners.contract import TrainedLearner

from .native.naive_sorted_grower import SquaredError, check_tree
from .native.naive_tree import read_sets, read_splits
from .native.naive_value_outputs import RESIDUAL_WEIGHTINGS
from .oracle import CHECK_EVERY, Loop


class ValueOracle(Loop):
    """The state after some iterations; F is the mean of all predictions, G of those that never saw the row."""

    def __init__(self, *data: NDArray[Any], weighting: str, exploration: float, **options: Any):
        super().__init__(*data, **options)
        self.rule = weighting if hasattr(weighting, "weigh_rows") else None
        self.L = weighting if self.rule else RESIDUAL_WEIGHTINGS.get(weighting, getattr(weighting, "L", None))
        self.is_signed, self.exploration = not isinstance(weighting, str), exploration
        self.outputs: list[NDArray[np.float64]] = []
        self.outside: list[NDArray[np.bool_]] = []
        if self.rule is not None:
            self.F = self.average(self.y)
            self.explore(self.weigh())

    def iterate(
        self,
        R: NDArray[np.int64],
        C: NDArray[np.int64],
        U: NDArray[np.int64],
        patch_weights: NDArray[Any] | None,
        learner: TrainedLearner,
    ) -> None:
        """Do one iteration with a minipatch and a tree that come from elsewhere."""
        # 2. Train a weak learner on the minipatch.
        importances = learner.importances
        grown = SimpleNamespace(tree=learner.model, importances=None if len(U) else importances)
        patch = self.codes, R, C, self.y, patch_weights, self.is_categorical
        options = self.limit_tree(len(R))
        if len(self.outputs) % CHECK_EVERY == 0:
            check_tree(grown, SquaredError(self.y), *patch, **options)
        if len(U):
            splits, sets = read_splits(learner.model), read_sets(learner.model)
            importances = self.judge(splits, sets, (R, C, self.y, U, patch_weights))
        # 3. Update outputs.
        self.outputs.append(self.apply(learner.model))
        self.F = np.mean(self.outputs, axis=0)
        # 4. Update probability distributions.
        self.explore(self.weigh())
        self.update_q(C, importances)
        # 5. Out-of-patch R^2.
        self.outside.append(self.find_outside(R))
        outside = np.array(self.outside)
        n_outside = np.where(outside.any(axis=0), outside.sum(axis=0), np.nan)
        self.G = np.where(outside, self.outputs, 0.0).sum(axis=0) / n_outside
        self.train = self.compute_r2(self.F)
        self.oop = self.compute_r2(np.where(np.isnan(self.G), self.average(self.y), self.G))

    def weigh(self) -> NDArray[np.float64]:
        if self.rule is not None:
            return self.rule.weigh_rows(len(self.outputs), self.y, self.y - self.F)
        residuals = np.abs(self.y - self.F)
        multiples = residuals / (self.compute_median(residuals) or self.average(residuals) or 1.0)
        if self.is_signed:
            return np.array([self.L(r, sign) for r, sign in zip(multiples, np.sign(self.y - self.F), strict=True)])
        return np.array([self.L(r) for r in multiples])

    def explore(self, losses: NDArray[np.float64]) -> None:
        floor = max(self.exploration, np.finfo(float).tiny)  # that p is never zero
        self.update_p((1 - self.exploration) * losses / (self.average(losses) or 1.0) + floor)

    def average(self, values: NDArray[np.float64]) -> float:
        return (self.w * values).sum() / self.w.sum()

    def compute_median(self, values: NDArray[np.float64]) -> float:
        if len(set(self.w)) == 1:
            return np.median(values)
        return min(v for v in values if self.w[values <= v].sum() >= self.w.sum() / 2)

    def compute_r2(self, predictions: NDArray[np.float64]) -> float:
        return 1 - self.average((self.y - predictions) ** 2) / self.average((self.y - self.average(self.y)) ** 2)
