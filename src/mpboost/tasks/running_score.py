"""The score of a run in a metric of the user's choice."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats, Positions
from mpboost.outputs.metrics import Metric
from mpboost.outputs.predictions import Predictions
from mpboost.outputs.statistics import pick_rows

#: A metric may take longer than an iteration, so it is computed every so many iterations, on at most so many rows.
EVERY, MAX_ROWS = 5, 50_000


class RunningScore:
    """Computes a metric of the training rows during a run: every few iterations, on a sample of the rows.

    Parameters
    ----------
    metric : Metric
        The metric.
    labels : array of shape (n_samples,)
        Labels, as the ``Problem`` codes them.
    weights : float64 array of shape (n_samples,) or None
        Weights of rows in the score.

    Attributes
    ----------
    rows : int64 array
        The sample, always the same; it has about the same share of each class, or of small and large numbers.
    """

    def __init__(self, metric: Metric, labels: NDArray[Any], weights: Floats | None):
        self.metric = metric
        self._labels = labels
        self._weights = weights
        self.rows = np.arange(len(labels))
        if len(labels) > MAX_ROWS:
            by_label = np.argsort(labels, kind="stable")
            self.rows = np.sort(by_label[pick_rows(len(labels), MAX_ROWS)])

    def compute(self, predictions: Predictions, rows: Positions) -> float:
        """Compute the metric of the predictions for some rows."""
        return self.metric.compute(
            predictions, self._labels[rows], None if self._weights is None else self._weights[rows]
        )


def is_due(n_learners: int) -> bool:
    """Tell whether a score that takes long is computed after so many learners.

    Examples
    --------
    >>> [n for n in range(1, 12) if is_due(n)]
    [1, 5, 10]
    """
    return n_learners == 1 or n_learners % EVERY == 0
