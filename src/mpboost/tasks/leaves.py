"""Computes the values of the leaves of gradient trees: values that minimise the loss."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.sampling.questions import Slopes
from mpboost.tasks.losses import Loss, Step

ALL = slice(None)

#: The largest step, in the engine's units; larger ones soon overflow single precision.
MAX_STEP = 1e30


@dataclass(frozen=True)
class StepLengths:
    """How much of the values of its leaves each tree of a model adds.

    Attributes
    ----------
    learning_rate : float
        The factor of the values.
    n_long : int
        Number of first trees whose factor is larger: that of the first is twice as large, and it falls evenly.

    Examples
    --------
    >>> [StepLengths(0.5, n_long=4).find(n_before) for n_before in (0, 1, 2, 4, 100)]
    [1.0, 0.875, 0.75, 0.5, 0.5]
    """

    learning_rate: float
    n_long: int = 0

    def find(self, n_before: int) -> float:
        """Compute the factor of a tree, given the number of trees of the model before it."""
        if n_before >= self.n_long:
            return self.learning_rate
        return self.learning_rate * (2.0 - n_before / self.n_long)


class LeafFitter:
    """Computes the values of leaves.

    Parameters
    ----------
    loss : Loss
        The loss to minimise.
    n_models : int
        Number of models that take turns: a tree stores the step divided by this number, for the average.
    l2 : float
        L2 regularization of the values.

    Attributes
    ----------
    n_models : int
        As the parameter.
    """

    def __init__(self, loss: Loss, n_models: int, l2: float):
        self._loss = loss
        self.n_models = n_models
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
        """Compute the values of leaves, (n_leaves, n_outputs), from sums of derivatives and rows, by default all."""
        loss, l2 = self._loss, self._l2
        if loss.leaf_quantile is None:
            return loss.fit_leaves(sums, l2)
        residuals = loss.labels[rows] - slopes.raw[rows]
        row_weights = None if slopes.weights is None else slopes.weights[rows]
        if weights is not None:
            row_weights = (weights if row_weights is None else weights * row_weights).astype(np.float32)
        quantiles = _native.leaf_quantiles(leaves, residuals, row_weights, loss.leaf_quantile, len(sums), threads)
        hessians = sums[..., 1]  # the weights of rows
        return np.asarray(quantiles[:, None] * hessians / np.maximum(hessians + l2, np.finfo(np.float64).tiny))

    def make_step(
        self, tree: _native.Tree, leaves: NDArray[np.uint16], values: Floats, learning_rate: float
    ) -> tuple[Step, _native.Tree]:
        """Make a step from the leaf of each row and the values of leaves, (n_leaves, n_outputs).

        Returns the tree with its values, too: they are in the users' units, divided by the number of models.
        """
        made = _native.make_step(tree, values, learning_rate, MAX_STEP, self._loss.scale / self.n_models)
        if made is None:
            raise ValueError("Predictions grow without limit: choose a smaller learning_rate.")
        return Step(leaves, made[0]), made[1]
