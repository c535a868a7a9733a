"""What the leaves of gradient trees are worth: values that make the loss small, as steps and as trees hold them."""

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.sampling.questions import Slopes
from mpboost.tasks.losses import Loss, Step

ALL = slice(None)

#: A step that is longer, in the engine's units, leads nowhere, and soon beyond single precision.
MAX_STEP = 1e30


class LeafFitter:
    """Gives leaves their values.

    Parameters
    ----------
    loss : Loss
        What is made small.
    n_models : int
        How many models take turns and are averaged: a tree holds its share of a step.
    l2 : float
        L2 regularization of the values.
    """

    def __init__(self, loss: Loss, n_models: int, l2: float):
        self._loss = loss
        self._n_models = n_models
        self._l2 = l2

    def fit(
        self,
        slopes: Slopes,
        leaves: NDArray[np.uint16],
        sums: Floats,
        threads: _native.Threads,
        *,
        rows: Positions | slice = ALL,
        weights: Floats | None = None,
    ) -> Floats:
        """Compute the values of leaves, (n_leaves, n_outputs), from rows, by default all, and sums of derivatives."""
        loss, l2 = self._loss, self._l2
        if loss.leaf_quantile is None:
            return loss.fit_leaves(sums, l2)
        residuals = loss.labels[rows] - slopes.raw[rows]
        row_weights = None if slopes.weights is None else slopes.weights[rows]
        if weights is not None:
            row_weights = (weights if row_weights is None else weights * row_weights).astype(np.float32)
        quantiles = _native.leaf_quantiles(leaves, residuals, row_weights, loss.leaf_quantile, len(sums), threads)
        hessians = sums[..., 1]  # what rows weigh
        return np.asarray(quantiles[:, None] * hessians / np.maximum(hessians + l2, np.finfo(np.float64).tiny))

    def make_step(self, leaves: NDArray[np.uint16], values: Floats) -> Step:
        """Make a step from the values of leaves, (n_leaves, n_outputs)."""
        if not (np.abs(values) <= MAX_STEP).all():
            raise ValueError("Predictions grow beyond all bounds: choose a smaller learning_rate.")
        singles = np.ascontiguousarray(values, dtype=np.float32)
        return Step(leaves, singles[:, 0].copy() if self._loss.n_outputs == 1 else singles)

    def to_tree_values(self, step: Step) -> Floats:
        """Give the values that a step has in a tree: in the users' units, and shared by the models that take turns."""
        return step.values.astype(np.float64) * (self._loss.scale / self._n_models)
