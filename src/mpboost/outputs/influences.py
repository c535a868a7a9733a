"""How much each row moves a score: what the confidence interval of the score is computed from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats
from mpboost.outputs.predictions import Predictions
from mpboost.outputs.quick_metrics import Ranking, compute_brier_losses, rank_rows
from mpboost.outputs.statistics import compute_mean


def compute_influences(
    name: str, score: float, predictions: Predictions, labels: NDArray[Any], weights: Floats | None
) -> Floats | None:
    """Compute how much each row moves a score, times the number of rows; None if there is no formula for it.

    Parameters
    ----------
    name : str
        Name of the metric, as scikit-learn's scorer.
    score : float
        The score of the predictions: losses are negative.
    predictions : Predictions
        Predictions for some rows.
    labels : array of shape (n_rows,)
        Codes of classes, 0, 1, 2, ..., or numbers.
    weights : float64 array of shape (n_rows,) or None
        Weights of the rows.

    Returns
    -------
    influences : float64 array of shape (n_rows,) or None
        Their weighted mean is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost.outputs.predictions import NumberPredictions
    >>> compute_influences("neg_mean_absolute_error", -1.5, NumberPredictions(np.zeros(2)), np.array([1.0, -2.0]), None)
    array([ 0.5, -0.5])
    """
    if name in ("neg_log_loss", "neg_brier_score"):
        return _compute_class_losses(name, predictions, labels) - score
    if name == "balanced_accuracy":
        return _influence_balanced_accuracy(predictions.predict() == labels, labels, weights)
    if name in ("roc_auc", "average_precision"):
        decision = predictions.decide()
        return None if decision.ndim > 1 else _influence_ranking(name, decision, labels == 1, weights)
    if name in ("roc_auc_ovr", "average_precision_ovr"):
        shares = predictions.estimate()
        total = np.zeros(len(labels))
        for k, share in enumerate(shares.T):
            total += _influence_ranking(name.removesuffix("_ovr"), share, labels == k, weights)
        return None if shares.shape[1] == 2 else total / shares.shape[1]
    if name in ("r2", "neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error"):
        return _influence_errors(name, score, predictions.predict(), labels, weights)
    return None


def _compute_class_losses(name: str, predictions: Predictions, codes: NDArray[Any]) -> Floats:
    probabilities = predictions.estimate()
    if name == "neg_brier_score":
        return -compute_brier_losses(probabilities, codes)
    eps = np.finfo(np.float64).eps
    return _native.log_of(np.clip(probabilities[np.arange(len(codes)), codes], eps, 1.0 - eps))


def _influence_errors(
    name: str, score: float, predicted: Floats, values: NDArray[Any], weights: Floats | None
) -> Floats:
    errors = np.abs(values - predicted)
    if name == "neg_mean_absolute_error":
        return -errors - score
    if name == "neg_mean_squared_error":
        return -(errors**2) - score
    if name == "neg_root_mean_squared_error":
        return (score**2 - errors**2) / (-2.0 * score) if score < 0 else np.zeros(len(errors))
    spreads = (values - compute_mean(values, weights)) ** 2
    variance = compute_mean(spreads, weights)
    return ((1.0 - score) * spreads - errors**2) / variance if variance > 0 else np.zeros(len(errors))


def _influence_balanced_accuracy(is_right: NDArray[np.bool_], codes: NDArray[Any], weights: Floats | None) -> Floats:
    totals = np.bincount(codes, weights)
    right = np.bincount(codes, is_right if weights is None else is_right * weights)
    n_occurring, total = np.count_nonzero(totals), totals.sum()
    recalls = np.divide(right, totals, out=np.zeros(len(totals)), where=totals > 0)
    factors = np.divide(total / n_occurring, totals, out=np.zeros(len(totals)), where=totals > 0)
    return np.asarray((is_right - recalls[codes]) * factors[codes])


def _influence_ranking(kind: str, decision: Floats, is_positive: NDArray[np.bool_], weights: Floats | None) -> Floats:
    """Compute influences on the area under the ROC curve (as DeLong does) or on the average precision.

    Both are functions of the weights of the rows: these are their derivatives, times the sum of the weights.
    """
    ranking = rank_rows(decision, is_positive, weights)
    positive, negative = ranking.positive, ranking.negative
    n_positive, n_negative = positive[-1], negative[-1]
    if n_positive == 0 or n_negative == 0:
        return np.full(len(decision), np.nan)
    total = n_positive + n_negative
    if kind == "roc_auc":
        # Share of the negative rows below each place, and of the positive ones above it; ties count half.
        below = 1.0 - (negative + _shift(negative)) / (2.0 * n_negative)
        above = (positive + _shift(positive)) / (2.0 * n_positive)
        area = float(np.sum(np.diff(positive, prepend=0.0) * below) / n_positive)
        slopes = (below - area) / n_positive, (above - area) / n_negative
    else:
        # A row changes the precision at its own place and at all places below it.
        gained, called = np.diff(positive, prepend=0.0), positive + negative
        precision = positive / called
        average = float(np.sum(gained * precision) / n_positive)
        of_positive = np.cumsum((gained * negative / called**2)[::-1])[::-1]
        of_negative = -np.cumsum((gained * positive / called**2)[::-1])[::-1]
        slopes = (precision - average + of_positive) / n_positive, of_negative / n_positive
    return _spread(ranking, slopes, is_positive) * total


def _shift(sums: Floats) -> Floats:
    return np.append(0.0, sums[:-1])


def _spread(ranking: Ranking, slopes: tuple[Floats, Floats], is_positive: NDArray[np.bool_]) -> Floats:
    """Give each row the value of its place, for positive and for negative rows."""
    places = ranking.places
    return np.where(is_positive, slopes[0][places], slopes[1][places])
