"""The most used metrics, from predictions: the numbers of scikit-learn, without its checks of each call.

A fit computes a metric hundreds of times on the same rows, whose labels were checked once, and the checks would take
most of the time: ``python -m benchmarks.speed.metrics`` compares.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost.outputs.predictions import Predictions
from mpboost.outputs.statistics import compute_mean, compute_r2

QuickMetric = Callable[[Predictions, NDArray[Any], Floats | None], float]


def compute_accuracy(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute the share of right rows."""
    return compute_mean(predictions.predict() == codes, weights)


def compute_balanced_accuracy(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute the mean over the classes of the share of right rows."""
    is_right = predictions.predict() == codes
    right = np.bincount(codes, is_right if weights is None else is_right * weights)
    total = np.bincount(codes, weights)
    occurs = total > 0
    return float(np.mean(right[occurs] / total[occurs]))


def compute_log_loss(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute minus the log loss."""
    probabilities = predictions.estimate()[np.arange(len(codes)), codes]
    eps = np.finfo(np.float64).eps
    return compute_mean(np.log(np.clip(probabilities, eps, 1.0 - eps)), weights)


def compute_roc_auc(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute the area under the ROC curve; NaN if there is only one class."""
    positive, negative = _accumulate(predictions.decide(), codes, weights)
    if positive[-1] == 0 or negative[-1] == 0:
        return np.nan
    heights = positive + np.append(0.0, positive[:-1])
    return float(np.sum(np.diff(negative, prepend=0.0) * heights) / (2.0 * positive[-1] * negative[-1]))


def compute_average_precision(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute the mean precision over the recalls; NaN without positive rows."""
    positive, negative = _accumulate(predictions.decide(), codes, weights)
    if positive[-1] == 0:
        return np.nan
    return float(np.sum(np.diff(positive, prepend=0.0) * positive / (positive + negative)) / positive[-1])


def _accumulate(decision: Floats, codes: NDArray[Any], weights: Floats | None) -> tuple[Floats, Floats]:
    """Sum the weights of positive and of negative rows down to each distinct value of the decision function."""
    order = np.argsort(-decision, kind="stable")
    decision, is_positive = decision[order], codes[order] == 1
    ends = np.append(np.flatnonzero(np.diff(decision)), len(decision) - 1)
    row_weights = np.ones(len(codes)) if weights is None else weights[order]
    positive = np.cumsum(row_weights * is_positive)[ends]
    negative = np.cumsum(row_weights * ~is_positive)[ends]
    return positive, negative


def compute_absolute_error(predictions: Predictions, values: NDArray[Any], weights: Floats | None) -> float:
    """Compute minus the mean absolute error."""
    return -compute_mean(np.abs(values - predictions.predict()), weights)


def compute_squared_error(predictions: Predictions, values: NDArray[Any], weights: Floats | None) -> float:
    """Compute minus the mean squared error."""
    return -compute_mean((values - predictions.predict()) ** 2, weights)


#: By the name of scikit-learn's scorer: for any number of classes, for two classes, for numbers.
_OF_CLASSES: dict[str, QuickMetric] = {
    "accuracy": compute_accuracy,
    "balanced_accuracy": compute_balanced_accuracy,
    "neg_log_loss": compute_log_loss,
}
_OF_TWO_CLASSES: dict[str, QuickMetric] = {
    "roc_auc": compute_roc_auc,
    "average_precision": compute_average_precision,
}
_OF_NUMBERS: dict[str, QuickMetric] = {
    "r2": lambda predictions, values, weights: compute_r2(predictions.predict(), values, weights),
    "neg_mean_absolute_error": compute_absolute_error,
    "neg_mean_squared_error": compute_squared_error,
}


def choose_quick_metric(name: str, n_classes: int | None) -> QuickMetric | None:
    """Look up a metric for so many classes, or for numbers (None); None if only scikit-learn has it.

    Examples
    --------
    >>> choose_quick_metric("roc_auc", 3) is None
    True
    """
    if n_classes is None:
        return _OF_NUMBERS.get(name)
    return (_OF_CLASSES | _OF_TWO_CLASSES if n_classes == 2 else _OF_CLASSES).get(name)
