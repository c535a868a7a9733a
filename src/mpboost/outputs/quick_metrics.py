"""The most used metrics, from predictions: the numbers of scikit-learn, without its checks of each call.

A fit computes a metric hundreds of times on the same rows, whose labels were checked once, and the checks would take
most of the time: ``python -m benchmarks.speed.metrics`` compares.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
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
    return compute_mean(_native.log_of(np.clip(probabilities, eps, 1.0 - eps)), weights)


def compute_brier_score(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute minus the Brier score."""
    return -compute_mean(compute_brier_losses(predictions.estimate(), codes), weights)


def compute_brier_losses(probabilities: Floats, codes: NDArray[Any]) -> Floats:
    """Compute the squared errors of probabilities: of the second of two classes, or summed over more classes.

    Examples
    --------
    >>> import numpy as np
    >>> compute_brier_losses(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([1, 1]))
    array([0.25, 0.  ])
    """
    own = probabilities[np.arange(len(codes)), codes]
    squares = (probabilities**2).sum(axis=1) - 2.0 * own + 1.0
    return np.asarray(squares / 2.0 if probabilities.shape[1] == 2 else squares)


def compute_roc_auc(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute the area under the ROC curve; NaN if there is only one class."""
    return _compute_area(predictions.decide(), codes == 1, weights)


def compute_average_precision(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute the mean precision over the recalls; NaN without positive rows."""
    return _average_precision(predictions.decide(), codes == 1, weights)


def compute_macro_roc_auc(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute the mean area under the ROC curves of each class against the rest; NaN if a class has no row."""
    return _compute_macro(_compute_area, predictions, codes, weights)


def compute_macro_average_precision(predictions: Predictions, codes: NDArray[Any], weights: Floats | None) -> float:
    """Compute the mean average precision of each class against the rest; NaN if a class has no row."""
    return _compute_macro(_average_precision, predictions, codes, weights)


def _compute_macro(
    compute: Callable[[Floats, NDArray[np.bool_], Floats | None], float],
    predictions: Predictions,
    codes: NDArray[Any],
    weights: Floats | None,
) -> float:
    return float(np.mean([compute(share, codes == k, weights) for k, share in enumerate(predictions.estimate().T)]))


def _compute_area(decision: Floats, is_positive: NDArray[np.bool_], weights: Floats | None) -> float:
    _, positive, negative = rank_rows(decision, is_positive, weights)
    if positive[-1] == 0 or negative[-1] == 0:
        return np.nan
    heights = positive + np.append(0.0, positive[:-1])
    return float(np.sum(np.diff(negative, prepend=0.0) * heights) / (2.0 * positive[-1] * negative[-1]))


def _average_precision(decision: Floats, is_positive: NDArray[np.bool_], weights: Floats | None) -> float:
    _, positive, negative = rank_rows(decision, is_positive, weights)
    if positive[-1] == 0:
        return np.nan
    return float(np.sum(np.diff(positive, prepend=0.0) * positive / (positive + negative)) / positive[-1])


class Ranking(NamedTuple):
    """Rows in the order of their decision function, the highest first; rows of the same value share a place.

    Attributes
    ----------
    places : intp array of shape (n_rows,)
        The place of each row.
    positive, negative : float64 arrays of shape (n_places,)
        Weights of the positive and of the negative rows down to each place.
    """

    places: NDArray[np.intp]
    positive: Floats
    negative: Floats


def rank_rows(decision: Floats, is_positive: NDArray[np.bool_], weights: Floats | None) -> Ranking:
    """Rank rows by their decision function.

    Examples
    --------
    >>> import numpy as np
    >>> rank_rows(np.array([0.2, 0.9, 0.2]), np.array([True, True, False]), None).positive
    array([1., 2.])
    """
    order = np.argsort(-decision, kind="stable")
    is_last = np.append(np.diff(decision[order]) != 0, True)
    row_weights = np.ones(len(decision)) if weights is None else weights[order]
    is_positive = is_positive[order]
    places = np.empty(len(decision), dtype=np.intp)
    places[order] = np.cumsum(np.append(0, is_last[:-1]))
    return Ranking(
        places, np.cumsum(row_weights * is_positive)[is_last], np.cumsum(row_weights * ~is_positive)[is_last]
    )


def compute_absolute_error(predictions: Predictions, values: NDArray[Any], weights: Floats | None) -> float:
    """Compute minus the mean absolute error."""
    return -compute_mean(np.abs(values - predictions.predict()), weights)


def compute_root_squared_error(predictions: Predictions, values: NDArray[Any], weights: Floats | None) -> float:
    """Compute minus the root of the mean squared error."""
    return -float(np.sqrt(-compute_squared_error(predictions, values, weights)))


def compute_squared_error(predictions: Predictions, values: NDArray[Any], weights: Floats | None) -> float:
    """Compute minus the mean squared error."""
    return -compute_mean((values - predictions.predict()) ** 2, weights)


#: By the name of scikit-learn's scorer: for any number of classes, for two classes, for more, for numbers. The name
#: "average_precision_ovr" is ours: scikit-learn's "average_precision" ranks rows by the decision function.
_OF_CLASSES: dict[str, QuickMetric] = {
    "accuracy": compute_accuracy,
    "balanced_accuracy": compute_balanced_accuracy,
    "neg_log_loss": compute_log_loss,
    "neg_brier_score": compute_brier_score,
}
_OF_TWO_CLASSES: dict[str, QuickMetric] = {
    "roc_auc": compute_roc_auc,
    "average_precision": compute_average_precision,
}
_OF_MANY_CLASSES: dict[str, QuickMetric] = {
    "roc_auc_ovr": compute_macro_roc_auc,
    "average_precision_ovr": compute_macro_average_precision,
}
_OF_NUMBERS: dict[str, QuickMetric] = {
    "r2": lambda predictions, values, weights: compute_r2(predictions.predict(), values, weights),
    "neg_mean_absolute_error": compute_absolute_error,
    "neg_mean_squared_error": compute_squared_error,
    "neg_root_mean_squared_error": compute_root_squared_error,
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
    return (_OF_CLASSES | (_OF_TWO_CLASSES if n_classes == 2 else _OF_MANY_CLASSES)).get(name)
