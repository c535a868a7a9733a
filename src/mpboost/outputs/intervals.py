"""How sure a score is: its 95 % confidence interval, from the rows that it was computed on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import t as student

from mpboost._arrays import Floats, Positions
from mpboost.outputs.influences import compute_influences
from mpboost.outputs.metrics import Metric, to_codes
from mpboost.outputs.predictions import Predictions
from mpboost.outputs.score_names import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS
from mpboost.outputs.statistics import estimate_share_interval, pick_rows

#: A metric that is no mean of rows is computed again without each of so many groups of rows, on at most so many rows.
N_GROUPS, MAX_ROWS = 30, 20_000


def estimate_interval(
    metric: Metric, score: float, predictions: Predictions, labels: NDArray[Any], weights: Floats | None
) -> tuple[float, float]:
    """Estimate the 95 % confidence interval of a score: how far it is from the score of many more such rows.

    A share of rows has Wilson's interval; the usual metrics have a closed form (``compute_influences``); others are
    computed again without each of some groups of rows (the jackknife). Unequal weights count as fewer rows.

    Parameters
    ----------
    metric : Metric
        The metric.
    score : float
        The score of the predictions.
    predictions : Predictions
        Predictions for some rows, by learners that never saw them.
    labels : array of shape (n_rows,)
        Labels, as the ``Problem`` codes them.
    weights : float64 array of shape (n_rows,) or None
        Weights of the rows.

    Returns
    -------
    low, high : float
        The interval; NaN if there are too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost.outputs.metrics import Metric
    >>> from mpboost.outputs.predictions import NumberPredictions
    >>> y = np.linspace(-1, 1, 100)
    >>> metric, predictions = Metric("absolute_error", None), NumberPredictions(np.zeros(100))
    >>> low, high = estimate_interval(metric, metric.compute(predictions, y, None), predictions, y, None)
    >>> round(low, 2), round(high, 2)
    (-0.56, -0.45)
    """
    if len(predictions) < 2 or not np.isfinite(score):
        return np.nan, np.nan
    with np.errstate(over="ignore", invalid="ignore"):  # of huge numbers: the interval is then infinite, or NaN
        low, high = _estimate(metric, score, predictions, labels, weights)
    return (low, high) if np.isfinite(low) and np.isfinite(high) else (np.nan, np.nan)


def _estimate(
    metric: Metric, score: float, predictions: Predictions, labels: NDArray[Any], weights: Floats | None
) -> tuple[float, float]:
    n_rows = len(predictions)
    n_effective = count_effective(n_rows, weights)
    is_share = metric.best == 1.0 and metric.name != DEFAULT_OF_NUMBERS
    if metric.name == DEFAULT_OF_CLASSES or (is_share and not 0.0 < score < 1.0):
        low, high = estimate_share_interval(np.clip(score, 0.0, 1.0) * n_effective, n_effective)
        return float(low), float(high)
    influences = compute_influences(metric.name, score, predictions, to_codes(labels), weights)
    if influences is not None:
        shares = np.full(n_rows, 1.0 / n_rows) if weights is None else weights / weights.sum()
        error, freedom = float(np.sqrt(np.sum((shares * influences) ** 2))), max(1.0, n_effective - 1.0)
    else:
        error, freedom = _jackknife(metric, predictions, labels, weights), N_GROUPS - 1.0
    half = float(student.ppf(0.975, freedom)) * error
    if is_share:  # on the scale of log odds, which has no limits
        half /= score * (1.0 - score)
        return float(expit(logit(score) - half)), float(expit(logit(score) + half))
    return score - half, min(score + half, metric.best)


def count_effective(n_rows: int, weights: Floats | None) -> float:
    """Count rows such that so many of equal weight would tell as much.

    Examples
    --------
    >>> import numpy as np
    >>> count_effective(3, None), count_effective(3, np.array([1.0, 1.0, 0.0]))
    (3.0, 2.0)
    """
    if weights is None:
        return float(n_rows)
    weights = weights / weights.max()  # squares of large numbers may be infinite
    return float(weights.sum() / np.sum(weights**2) * weights.sum())


class _Subset:
    """Predictions for some of the rows."""

    def __init__(self, predictions: Predictions, rows: Positions):
        self._predictions, self._rows = predictions, rows

    def __len__(self) -> int:
        return len(self._rows)

    def predict(self) -> NDArray[Any]:
        return np.asarray(self._predictions.predict()[self._rows])

    def decide(self) -> Floats:
        return np.asarray(self._predictions.decide()[self._rows])

    def estimate(self) -> Floats:
        return np.asarray(self._predictions.estimate()[self._rows])


def _jackknife(metric: Metric, predictions: Predictions, labels: NDArray[Any], weights: Floats | None) -> float:
    """Compute the standard error of a metric from how it changes without each group of rows."""
    by_label = np.argsort(labels, kind="stable")  # groups have about equal shares of each class
    rows = by_label if len(labels) <= MAX_ROWS else by_label[pick_rows(len(labels), MAX_ROWS)]
    n_groups = min(N_GROUPS, len(rows))
    groups = np.arange(len(rows)) % n_groups
    scores = []
    for group in range(n_groups):
        kept = rows[groups != group]
        kept_weights = None if weights is None else weights[kept]
        try:
            scores.append(metric.compute(_Subset(predictions, kept), labels[kept], kept_weights))
        except ValueError:  # such as no row of a class
            return np.nan
    variance = (n_groups - 1) * float(np.var(scores)) * len(rows) / len(labels)
    return float(np.sqrt(variance))
