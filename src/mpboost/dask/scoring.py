"""Scores of lazy predictions: each partition is summed up where it is."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost.dask.partitions import check_lengths
from mpboost.data.checks import read_targets
from mpboost.datasets.batches import Batch
from mpboost.datasets.reading import named_errors
from mpboost.datasets.targets import read_weights


class Sums(NamedTuple):
    """What a score is computed from.

    Attributes
    ----------
    weight : float
        The weight of the rows.
    hits : float
        The weight of the rows whose class is right.
    mean, spread : float
        The mean of the targets, and the sum of squared differences from it.
    error : float
        The sum of squared errors.
    """

    weight: float
    hits: float = 0.0
    mean: float = 0.0
    spread: float = 0.0
    error: float = 0.0

    def join(self, other: "Sums") -> "Sums":
        """Join with other rows."""
        weight = self.weight + other.weight
        if not weight:
            return self
        step = other.mean - self.mean
        return Sums(
            weight,
            self.hits + other.hits,
            self.mean + step * other.weight / weight,
            self.spread + other.spread + step**2 * self.weight * other.weight / weight,
            self.error + other.error,
        )


def sum_batch(batch: Batch, model: Any) -> Sums:
    """Predict a partition and sum up how good the predictions are; runs on a worker."""
    n_rows = check_lengths(batch)
    if n_rows == 0:
        return Sums(0.0)
    with named_errors(batch.place):
        weights = read_weights(batch.sample_weight, n_rows)
        y = np.asarray(read_targets(batch.y, "y")).reshape(n_rows)
        return _sum(
            y, model.predict(batch.X), np.ones(n_rows) if weights is None else weights, hasattr(model, "classes_")
        )


def _sum(y: NDArray[Any], predictions: NDArray[Any], weights: NDArray[np.float64], are_classes: bool) -> Sums:
    weight = float(weights.sum())
    if are_classes:
        return Sums(weight, hits=float(weights[y == predictions].sum()))
    y = y.astype(np.float64)
    mean = float((weights * y).sum() / weight) if weight else 0.0
    spread, error = (float((weights * (y - each) ** 2).sum()) for each in (mean, predictions))
    return Sums(weight, 0.0, mean, spread, error)


def finish_score(parts: list[Sums], *, are_classes: bool) -> float:
    """Compute accuracy or R^2."""
    total = Sums(0.0)
    for part in parts:
        total = total.join(part)
    if not total.weight:
        raise ValueError("There are no rows to score, or all have weight 0.")
    if are_classes:
        return total.hits / total.weight
    if total.spread == 0:
        return float(total.error == 0)  # as scikit-learn does for targets that are all the same
    return 1 - total.error / total.spread
