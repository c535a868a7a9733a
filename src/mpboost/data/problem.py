"""The learning problem: rows with a weight above 0, their labels coded for the engine, and their weights."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from mpboost import _native
from mpboost.data.checks import TrainingData, encode_labels, list_classes
from mpboost.data.tables import Table
from mpboost.data.targets import CodedTargets, Targets, spread_targets

#: Minimum weight of a row, as a share of the heaviest one; lighter rows are raised to it. No sum shows the difference.
#: But if only light rows differ, the variance is as small, and squares of what is divided by it must not overflow.
MIN_WEIGHT = 1e-140


@dataclass(frozen=True)
class Examples:
    """Rows with labels, coded for the engine, and weights; None for weights that are all the same.

    Attributes
    ----------
    table : Table
        The features.
    labels : array of shape (n_rows,)
        The labels.
    weights : float64 array of shape (n_rows,) or None
        Weights in training: ``sample_weight`` times ``class_weight``.
    score_weights : float64 array of shape (n_rows,) or None
        Weights in scores: ``sample_weight`` alone. A score estimates that on new rows, which ``class_weight`` is no
        part of.
    """

    table: Table
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    score_weights: NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        """The number of rows with labels; the table of one of several shards may have fewer."""
        return len(self.labels)


@dataclass(frozen=True)
class Problem:
    """The classes or the numbers to predict, and the rows to learn them from.

    Attributes
    ----------
    examples : Examples
        The rows to learn from: those with a weight above 0.
    classes : array of shape (n_classes,) or None
        The classes, sorted; None for numbers. Two classes are coded -1 and +1, more of them 0, 1, 2, ...
    is_present : bool array of shape (n_samples,) or None
        Mask of the user's rows that are in ``examples``; None for all.
    is_categorical : bool array of shape (n_features,) or None
        Mask of the categorical features; None if there are none.
    feature_names : array of str of shape (n_features,) or None
        Names of the features, if they have any.
    validation : Examples or None
        Validation rows.
    is_validated_elsewhere : bool
        Whether another shard has the validation rows.
    """

    examples: Examples
    classes: NDArray[Any] | None
    is_present: NDArray[np.bool_] | None
    is_categorical: NDArray[np.bool_] | None = None
    feature_names: NDArray[Any] | None = None
    validation: Examples | None = None
    is_validated_elsewhere: bool = False

    @property
    def has_validation(self) -> bool:
        """Whether there are validation rows, here or in another shard."""
        return self.validation is not None or self.is_validated_elsewhere

    @property
    def n_samples(self) -> int:
        """The number of rows that the user passed."""
        return self.examples.n_rows if self.is_present is None else len(self.is_present)

    def list_positions(self) -> NDArray[np.int64]:
        """List the positions of the rows to learn from among those of the user."""
        return np.arange(self.examples.n_rows) if self.is_present is None else np.flatnonzero(self.is_present)

    def with_validation(self, table: Table, y: Targets, sample_weight: NDArray[np.float64] | None) -> "Problem":
        """Return the problem with validation rows, whose classes must occur in training."""
        weights = _normalise(sample_weight)
        if self.classes is None:
            return replace(self, validation=Examples(table, spread_targets(y), weights, weights))
        unknown = np.setdiff1d(y.list_distinct() if isinstance(y, CodedTargets) else y, self.classes)
        if len(unknown):
            examples = ", ".join(map(repr, unknown[:5].tolist())) + (", ..." if len(unknown) > 5 else "")
            raise ValueError(f"y_val contains labels that y does not have: {examples}.")
        labels = encode_labels(y, self.classes)
        return replace(self, validation=Examples(table, labels, weights, weights))


def make_class_problem(data: TrainingData, class_weight: Any) -> Problem:
    """Make a classification problem: drop rows of weight 0, code the labels, combine the weights."""
    weights = data.sample_weight
    if class_weight is not None:
        weights = _multiply(np.ones(len(data.y)) if weights is None else weights, data.y, class_weight)
    table, y, weights, is_present = _leave_out(data, weights)
    classes = list_classes(y)
    normalised = score_weights = _normalise(weights)
    if class_weight is not None:
        given = data.sample_weight
        score_weights = _normalise(given if given is None or is_present is None else given[is_present])
    examples = Examples(table, encode_labels(y, classes), normalised, score_weights)
    return Problem(
        examples, classes, is_present, data.known.get("is_categorical_"), data.known.get("feature_names_in_")
    )


def make_value_problem(data: TrainingData) -> Problem:
    """Make a regression problem: drop rows of weight 0."""
    table, y, weights, is_present = _leave_out(data, data.sample_weight)
    normalised = _normalise(weights)
    examples = Examples(table, spread_targets(y), normalised, normalised)
    return Problem(examples, None, is_present, data.known.get("is_categorical_"), data.known.get("feature_names_in_"))


def _leave_out(
    data: TrainingData, weights: NDArray[np.float64] | None
) -> tuple[Table, Targets, NDArray[np.float64] | None, NDArray[np.bool_] | None]:
    """Drop the rows of weight 0; return the others, and a mask of them, or None if all are left."""
    if weights is None:
        return data.table, data.y, None, None
    is_present = weights > 0
    if not is_present.any():
        raise ValueError("class_weight and sample_weight leave no row with a weight above 0.")
    if is_present.all():
        return data.table, data.y, weights, None
    return data.table.take_rows(np.flatnonzero(is_present)), data.y[is_present], weights[is_present], is_present


def _multiply(weights: NDArray[np.float64], y: Targets, class_weight: Any) -> NDArray[np.float64]:
    """Multiply the weights of rows by the weights of their classes."""
    weights, is_present = weights.copy(), weights > 0
    try:
        with np.errstate(over="ignore"):
            # "balanced" counts only the rows that are present.
            weights[is_present] *= compute_sample_weight(class_weight, spread_targets(y[is_present]))
        is_good = bool((weights >= 0).all() and np.isfinite(weights).all())
    except OverflowError:  # integers that do not fit in float64
        is_good = False
    if not is_good:
        raise ValueError(
            "class_weight must be finite and not negative, and its products with sample_weight must be finite."
        )
    return weights


def _normalise(weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Scale the weights to a mean of 1, and raise positive ones to ``MIN_WEIGHT``; return None if all are the same."""
    if weights is None:
        return None
    heaviest = weights.max()
    if weights.min() == heaviest:
        return None
    shares = weights / heaviest  # before the sum, which may overflow for large weights
    shares = np.where(weights > 0, np.maximum(shares, MIN_WEIGHT), 0.0)
    return shares / (_native.sum_values(shares, _native.Threads(1)) / len(shares))
