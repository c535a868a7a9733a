"""Metrics: the score that a fit reports and stops by, computed from predictions that are known already."""

import inspect
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from mpboost._arrays import Floats
from mpboost.outputs.predictions import Predictions
from mpboost.outputs.quick_metrics import QuickMetric, choose_quick_metric
from mpboost.outputs.score_names import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS

#: Short names of losses. Like scikit-learn's scorers, they are negative, so that greater is better.
SHORT_NAMES = {
    "log_loss": "neg_log_loss",
    "absolute_error": "neg_mean_absolute_error",
    "squared_error": "neg_mean_squared_error",
}

#: The best possible values, for scores that have a limit other than 0.
_BEST_IS_ONE = ("accuracy", "balanced_accuracy", "roc_auc", "average_precision", "r2", "f1", "precision", "recall")

#: Scores for which it does not matter what the labels are: the positive class is the last one. Codes are compared
#: faster than text, which some scorers refuse.
_BY_CODE = (
    "accuracy",
    "balanced_accuracy",
    "neg_log_loss",
    "neg_brier_score",
    "roc_auc",
    "roc_auc_ovr",
    "average_precision",
    "average_precision_ovr",
)

#: A function of (y, predictions, weights or None), or a scorer of scikit-learn with (estimator, X, y).
Scoring = str | Callable[..., float] | None


class Metric:
    """A score of predictions: greater is better.

    Parameters
    ----------
    scoring : str or callable
        Name of a scorer of scikit-learn, a short name of a loss, a scorer from ``sklearn.metrics.make_scorer``, or a
        function of (y, predictions, weights) that returns a number, the greater the better. Predictions are what
        ``predict`` returns; weights are None if there are none.
    classes : array of shape (n_classes,) or None
        The class labels; None for numbers.

    Attributes
    ----------
    name : str
        Name of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost.outputs.predictions import NumberPredictions
    >>> metric = Metric("absolute_error", None)
    >>> metric.name, metric.compute(NumberPredictions(np.array([1.0, 2.0])), np.array([1.0, 4.0]), None)
    ('neg_mean_absolute_error', -1.0)
    """

    def __init__(self, scoring: str | Callable[..., float], classes: NDArray[Any] | None):
        self.name = name_scoring(scoring)
        self._classes = classes
        self._quick: QuickMetric | None = None
        self._scorer: Callable[..., float] | None = None
        self._function: Callable[..., float] | None = None
        if isinstance(scoring, str):
            self._quick = choose_quick_metric(self.name, None if classes is None else len(classes))
            self._scorer = get_scorer(self.name) if self._quick is None else None
            if classes is not None and self.name in _BY_CODE:
                self._classes = np.arange(len(classes))
        elif _is_scorer(scoring):
            self._scorer = scoring
        else:
            self._function = scoring

    @property
    def best(self) -> float:
        """The best possible score; infinity if it is unknown."""
        if self.name.startswith("neg_"):
            return 0.0
        return 1.0 if self.name.startswith(_BEST_IS_ONE) else np.inf

    def compute(self, predictions: Predictions, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the score, given labels as a ``Problem`` codes them; NaN if it is not defined for these rows."""
        if not len(predictions):
            return np.nan
        if self._classes is not None:
            labels = self._classes[to_codes(labels)]
        try:
            with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                score = self._compute(predictions, labels, weights)
            return float(score)
        except TypeError as error:
            hint = " Does it take weights?" if weights is not None else ""
            raise TypeError(f"scoring={self.name!r} cannot be computed: {error}{hint}") from error
        except (ValueError, AttributeError, OverflowError) as error:
            raise ValueError(f"scoring={self.name!r} cannot be computed: {error}") from error

    def _compute(self, predictions: Predictions, labels: NDArray[Any], weights: Floats | None) -> float:
        if self._quick is not None:
            return self._quick(predictions, labels, weights)
        if self._scorer is not None:
            model = _KnownNumbers(predictions) if self._classes is None else _KnownClasses(predictions, self._classes)
            keywords = {} if weights is None else {"sample_weight": weights}
            return self._scorer(model, np.empty((len(predictions), 0)), labels, **keywords)
        assert self._function is not None
        predicted = predictions.predict()
        return self._function(labels, predicted if self._classes is None else self._classes[predicted], weights)


class _KnownClasses(ClassifierMixin, BaseEstimator):
    """Stands in for a classifier when scikit-learn's scorers ask for predictions, which are known already."""

    def __init__(self, predictions: Predictions, classes: NDArray[Any]):
        self._predictions = predictions
        self.classes_ = classes

    def predict(self, X: Any) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[self._predictions.predict()]
        return labels

    def decision_function(self, X: Any) -> Floats:
        return self._predictions.decide()

    def predict_proba(self, X: Any) -> Floats:
        return self._predictions.estimate()


class _KnownNumbers(RegressorMixin, BaseEstimator):
    """Stands in for a regressor when scikit-learn's scorers ask for predictions, which are known already."""

    def __init__(self, predictions: Predictions):
        self._predictions = predictions

    def predict(self, X: Any) -> NDArray[Any]:
        return self._predictions.predict()


def to_codes(labels: NDArray[Any]) -> NDArray[Any]:
    """Code two classes as 0 and 1, which a ``Problem`` codes as -1 and +1; others are returned unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> to_codes(np.array([-1, 1], dtype=np.int8))
    array([0, 1])
    """
    return (labels > 0).astype(np.int64) if labels.dtype == np.int8 else labels


def check_scoring(scoring: Scoring) -> None:
    """Raise a ValueError if a string is not the name of a score.

    Examples
    --------
    >>> check_scoring("roc_aucc")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: scoring='roc_aucc' is not the name of a score. Did you mean 'roc_auc'? ...
    """
    if not isinstance(scoring, str) or SHORT_NAMES.get(scoring, scoring) in get_scorer_names():
        return
    close = get_close_matches(scoring, [*get_scorer_names(), *SHORT_NAMES], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"scoring={scoring!r} is not the name of a score.{hint} sklearn.metrics.get_scorer_names lists all names."
    )


def name_scoring(scoring: str | Callable[..., float]) -> str:
    """Return the name of a score: that of scikit-learn's scorer, or of the user's function.

    Examples
    --------
    >>> name_scoring("log_loss"), name_scoring(max)
    ('neg_log_loss', 'max')
    """
    if isinstance(scoring, str):
        return SHORT_NAMES.get(scoring, scoring)
    return str(getattr(scoring, "__name__", type(scoring).__name__ if not _is_scorer(scoring) else scoring))


def name_score(scoring: Scoring, *, are_classes: bool) -> str:
    """Return the name of the score of an estimator, given its parameter ``scoring``.

    Examples
    --------
    >>> name_score(None, are_classes=True), name_score("squared_error", are_classes=False)
    ('accuracy', 'neg_mean_squared_error')
    """
    if scoring is None:
        return DEFAULT_OF_CLASSES if are_classes else DEFAULT_OF_NUMBERS
    return name_scoring(scoring)


def _is_scorer(scoring: Callable[..., float]) -> bool:
    """Tell a scorer of scikit-learn, which takes an estimator, from a function of labels and predictions."""
    try:
        return next(iter(inspect.signature(scoring).parameters), "") == "estimator"
    except ValueError:  # functions written in C have no signature
        return False
