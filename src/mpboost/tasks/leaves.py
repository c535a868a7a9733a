"""Computes the values of the leaves of gradient trees: values that minimise the loss."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats
from mpboost.sampling.draws import Draw
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
        slopes: Sequence[Slopes],
        leaves: Sequence[NDArray[np.uint16]],
        sums: Sequence[Floats],
        threads: _native.Threads,
        draws: Sequence[Draw] | None = None,
    ) -> list[Floats]:
        """Compute the values of the leaves of trees, (n_leaves, n_outputs), from sums of derivatives and rows.

        The rows are all, or those of draws; then ``leaves`` are of these.
        """
        if self._loss.leaf_quantile is None:
            return self._loss.fit_leaves(sums, self._l2)
        quantile, rows = self._loss.leaf_quantile, [None] * len(sums) if draws is None else draws
        return [
            self._fit_quantiles(quantile, *of_tree, threads)
            for of_tree in zip(slopes, leaves, sums, rows, strict=False)
        ]

    def _fit_quantiles(
        self,
        quantile: float,
        slopes: Slopes,
        leaves: NDArray[np.uint16],
        sums: Floats,
        draw: Draw | None,
        threads: _native.Threads,
    ) -> Floats:
        """Compute the values of the leaves of a tree from quantiles of residuals."""
        rows, weights = (ALL, None) if draw is None else (draw.rows, draw.weights)
        residuals = self._loss.labels[rows] - slopes.raw[rows]
        row_weights = None if slopes.weights is None else slopes.weights[rows]
        if weights is not None:
            row_weights = (weights if row_weights is None else weights * row_weights).astype(np.float32)
        quantiles = _native.leaf_quantiles(leaves, residuals, row_weights, quantile, len(sums), threads)
        hessians = sums[..., 1]  # the weights of rows
        return np.asarray(quantiles[:, None] * hessians / np.maximum(hessians + self._l2, np.finfo(np.float64).tiny))

    def make_steps(
        self,
        trees: Sequence[tuple[_native.Tree, Floats, float]],
        leaves: Sequence[NDArray[np.uint16]],
    ) -> list[tuple[Step, _native.Tree]]:
        """Make steps from trees, values of leaves, (n_leaves, n_outputs), and learning rates; and the leaf of each row.

        Returns the trees with their values, too: they are in the users' units, divided by the number of models.
        """
        made = _native.make_steps(trees, MAX_STEP, self._loss.scale / self.n_models)
        if made is None:
            raise ValueError("Predictions grow without limit: choose a smaller learning_rate.")
        return [(Step(of_tree, values), tree) for of_tree, (values, tree) in zip(leaves, made, strict=False)]
