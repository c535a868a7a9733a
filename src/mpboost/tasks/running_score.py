"""The score of a run in a metric of the user's choice: when it is computed, and on which rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.outputs.metrics import Metric
from mpboost.outputs.statistics import pick_rows

#: A metric may take longer than an iteration, so it is computed every so many iterations, on at most so many rows.
EVERY, MAX_ROWS = 5, 50_000


class RunningScore:
    """A metric of the training rows that is computed during a run, and the sample of rows that it is computed on.

    Parameters
    ----------
    metric : Metric
        The metric.
    labels : array of shape (n_samples,)
        Labels, as the ``Problem`` codes them.

    Attributes
    ----------
    rows : int64 array
        The sample, always the same; it has about the same share of each class, or of small and large numbers.
    """

    def __init__(self, metric: Metric, labels: NDArray[Any]):
        self.metric = metric
        self.rows = np.arange(len(labels))
        if len(labels) > MAX_ROWS:
            by_label = np.argsort(labels, kind="stable")
            self.rows = np.sort(by_label[pick_rows(len(labels), MAX_ROWS)])


def is_due(n_learners: int) -> bool:
    """Tell whether a score that takes long is computed after so many learners.

    Examples
    --------
    >>> [n for n in range(1, 12) if is_due(n)]
    [1, 5, 10]
    """
    return n_learners == 1 or n_learners % EVERY == 0
