"""What is to be learned: the rows that count, their labels as the engine wants them, and what they weigh."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from mpboost.data.checks import TrainingData, encode_labels, list_classes
from mpboost.data.tables import Table


@dataclass(frozen=True)
class Examples:
    """Rows with labels, coded as the engine wants them, and weights; no weights where all rows weigh the same."""

    table: Table
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None


@dataclass(frozen=True)
class Problem:
    """Classes to tell apart, or numbers to predict.

    Attributes
    ----------
    examples : Examples
        The rows to learn from: those that weigh more than nothing.
    classes : array of shape (n_classes,) or None
        What labels stand for; None where they are numbers. Two classes are coded -1 and +1, more of them 0, 1, 2, ...
    is_present : bool array of shape (n_samples,) or None
        Which of the rows that the user gave these are; None for all.
    is_categorical : bool array of shape (n_features,) or None
        Which features are categorical; None where none is.
    feature_names : array of str of shape (n_features,) or None
        Names of the features, if they have any.
    validation : Examples or None
        Other rows to validate on.
    """

    examples: Examples
    classes: NDArray[Any] | None
    is_present: NDArray[np.bool_] | None
    is_categorical: NDArray[np.bool_] | None = None
    feature_names: NDArray[Any] | None = None
    validation: Examples | None = None

    def spread(self, values: NDArray[Any], absent: Any) -> NDArray[Any]:
        """Put values of the rows to learn from in the places of the user's rows."""
        if self.is_present is None:
            return values
        spread = np.full((len(self.is_present), *values.shape[1:]), absent, dtype=values.dtype)
        spread[self.is_present] = values
        return spread

    def with_validation(self, table: Table, y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> "Problem":
        """Add rows to validate on, whose labels must be known."""
        if self.classes is None:
            return replace(self, validation=Examples(table, y, sample_weight))
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            examples = ", ".join(map(repr, unknown[:5].tolist())) + (", ..." if len(unknown) > 5 else "")
            raise ValueError(f"y_val has labels that y has not: {examples}.")
        return replace(self, validation=Examples(table, encode_labels(y, self.classes), sample_weight))


def make_class_problem(data: TrainingData, class_weight: Any) -> Problem:
    """Leave out the rows that weigh nothing, code the labels, and combine the weights."""
    weights = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
    if class_weight is not None:
        weights = _multiply(weights, data.y, class_weight)
    table, y, weights, is_present = _leave_out(data, weights)
    classes = list_classes(y)
    examples = Examples(table, encode_labels(y, classes), _normalise(weights))
    return Problem(
        examples, classes, is_present, data.known.get("is_categorical_"), data.known.get("feature_names_in_")
    )


def make_value_problem(data: TrainingData) -> Problem:
    """Leave out the rows that weigh nothing."""
    weights = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
    table, y, weights, is_present = _leave_out(data, weights)
    examples = Examples(table, y, _normalise(weights))
    return Problem(examples, None, is_present, data.known.get("is_categorical_"), data.known.get("feature_names_in_"))


def _leave_out(
    data: TrainingData, weights: NDArray[np.float64]
) -> tuple[Table, NDArray[Any], NDArray[np.float64], NDArray[np.bool_] | None]:
    """Leave out the rows that weigh nothing; give the rest, and which rows these are, or None for all."""
    is_present = weights > 0
    if not is_present.any():
        raise ValueError("class_weight and sample_weight leave no row that weighs more than nothing.")
    if is_present.all():
        return data.table, data.y, weights, None
    return data.table.take_rows(np.flatnonzero(is_present)), data.y[is_present], weights[is_present], is_present


def _multiply(weights: NDArray[np.float64], y: NDArray[Any], class_weight: Any) -> NDArray[np.float64]:
    """Multiply weights of rows by those of their classes."""
    weights, is_present = weights.copy(), weights > 0
    try:
        with np.errstate(over="ignore"):
            # What "balanced" means depends on the rows that are there.
            weights[is_present] *= compute_sample_weight(class_weight, y[is_present])
        is_good = bool((weights >= 0).all() and np.isfinite(weights).all())
    except OverflowError:  # whole numbers beyond the range of float64
        is_good = False
    if not is_good:
        raise ValueError("class_weight must be finite and not negative, and not too large for sample_weight.")
    return weights


def _normalise(weights: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Make the mean 1; None where all are the same."""
    heaviest = weights.max()
    if weights.min() == heaviest:
        return None
    weights = weights / heaviest  # first, since the sum of large weights may overflow
    return np.maximum(weights / weights.mean(), np.finfo(np.float64).tiny)
