"""What is to be learned: the rows that count, their labels as the engine wants them, and what they weigh."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from mpboost.data import TrainingData, encode_labels
from mpboost.tables import Table


@dataclass(frozen=True)
class Examples:
    """Rows with labels, coded -1 and +1, and weights; no weights where all rows weigh the same."""

    table: Table
    labels: NDArray[np.int8]
    weights: NDArray[np.float64] | None


@dataclass(frozen=True)
class BinaryProblem:
    """Two classes to tell apart.

    Attributes
    ----------
    examples : Examples
        The rows to learn from: those that weigh more than nothing.
    classes : array of shape (2,)
        What -1 and +1 stand for.
    is_present : bool array of shape (n_samples,) or None
        Which of the rows that the user gave these are; None for all.
    is_categorical : bool array of shape (n_features,) or None
        Which features are categorical; None where none is.
    validation : Examples or None
        Other rows to validate on.
    """

    examples: Examples
    classes: NDArray[Any]
    is_present: NDArray[np.bool_] | None
    is_categorical: NDArray[np.bool_] | None = None
    validation: Examples | None = None

    def spread(self, values: NDArray[Any], absent: Any) -> NDArray[Any]:
        """Put values of the rows to learn from in the places of the user's rows."""
        if self.is_present is None:
            return values
        spread = np.full(len(self.is_present), absent, dtype=values.dtype)
        spread[self.is_present] = values
        return spread

    def with_validation(
        self, table: Table, y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> "BinaryProblem":
        """Add rows to validate on, whose labels must be known."""
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            examples = ", ".join(map(repr, unknown[:5].tolist())) + (", ..." if len(unknown) > 5 else "")
            raise ValueError(f"y_val has labels that y has not: {examples}.")
        labels = np.where(y == self.classes[1], 1, -1).astype(np.int8)
        return replace(self, validation=Examples(table, labels, sample_weight))


def pose_problem(data: TrainingData, class_weight: Any) -> BinaryProblem:
    """Leave out the rows that weigh nothing, code the labels, and combine the weights."""
    weights = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
    if class_weight is not None:
        weights = _multiply(weights, data.y, class_weight)
    table, y, is_present = data.table, data.y, weights > 0
    if not is_present.any():
        raise ValueError("class_weight and sample_weight leave no row that weighs more than nothing.")
    if not is_present.all():
        table, y, weights = table.take_rows(np.flatnonzero(is_present)), y[is_present], weights[is_present]
    classes, labels = encode_labels(y)
    examples = Examples(table, labels, _normalise(weights))
    return BinaryProblem(examples, classes, None if is_present.all() else is_present, data.known.get("is_categorical_"))


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
