"""Losses of gradient boosting: their derivatives, the values of leaves, and scores.

The engine computes in its own units, in single precision. Raw predictions in the users' units are ``offset`` plus
``scale`` times those of the engine. Trees are stored in the users' units.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Singles, as_real
from mpboost.outputs.predictions import NumberPredictions, Predictions
from mpboost.outputs.statistics import (
    add_up,
    compute_mean,
    compute_median,
    compute_quantile,
    make_r2,
    sum_by_class,
)

ValueLossName = Literal["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"]

#: Losses of numbers, and their names in the engine.
VALUE_LOSSES: dict[ValueLossName, str] = {
    "squared_error": "squared",
    "absolute_error": "absolute",
    "quantile": "quantile",
    "huber": "huber",
    "poisson": "poisson",
    "gamma": "gamma",
}


class Step(NamedTuple):
    """What a tree adds to raw predictions.

    Attributes
    ----------
    leaves : uint16 array of shape (n_samples,)
        The leaf of each row.
    values : float32 array of shape (n_leaves,) or (n_leaves, n_outputs)
        The values of leaves, in the engine's units.
    prepare_next : callable or None
        To be called after the step, before shards are asked about it: they are then asked about the next tree as well.
    """

    leaves: NDArray[np.uint16]
    values: Singles
    prepare_next: Callable[[_native.Threads], None] | None = None


class LossSums(NamedTuple):
    """Sums over rows, times their weights.

    Attributes
    ----------
    loss : float
        Of losses, in the engine's units.
    quality : float
        Of what the score is made of: 1 for rows that are right or, of numbers, squared errors.
    """

    loss: float
    quality: float


@dataclass(eq=False)
class Position:
    """The state of a model: its raw predictions and their derivatives.

    Attributes
    ----------
    raw : float32 array of shape (n_samples,) or (n_samples, n_outputs)
        Raw predictions in the engine's units.
    weights : float32 array of shape (n_samples,) or None
        Weights of rows; None if all are the same.
    gradients, hessians : float32 arrays of the shape of ``raw``
        Derivatives of the loss with respect to raw predictions, times weights.
    """

    raw: Singles
    weights: Singles | None
    gradients: Singles
    hessians: Singles


class Loss(ABC):
    """Base of losses on the training rows.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Labels, coded for the engine.

    Attributes
    ----------
    start : float32 array of shape (n_outputs,)
        Raw prediction before the first tree, in the engine's units.
    offset, scale : float
        Convert the engine's units to the users' units.
    unit : float
        Factor that converts losses to the users' units.
    leaf_quantile : float or None
        The quantile of the residuals in a leaf that is its value; None if ``fit_leaves`` computes the value.
    newton_factor : float
        Factor of Newton steps.
    """

    offset: float | Floats = 0.0
    scale = 1.0
    unit = 1.0
    start: Singles
    leaf_quantile: float | None = None
    newton_factor = 1.0

    def __init__(self, labels: NDArray[Any]):
        self.labels = labels

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a tree for a row."""
        return len(self.start)

    @property
    def baseline(self) -> Floats:
        """Raw prediction before the first tree, in the users' units."""
        return np.asarray(self.offset + self.scale * self.start.astype(np.float64))

    @abstractmethod
    def move(
        self, now: Position, step: Step | None, threads: _native.Threads, sums: _native.RowSums | None = None
    ) -> float:
        """Take a step, if there is one; update the derivatives; return the quality, a sum over rows.

        Rows of one of several shards are added to ``sums``.
        """

    def compute_total(self, weights: Singles | None) -> float:
        """Compute the total that ``score_training`` divides the quality by; it is the same for all iterations."""
        return sum_weights(weights, self.labels)

    def score_training(self, quality: float, total: float) -> float:
        """Convert the quality that ``move`` returns to a score: the share of right rows."""
        return quality / total

    def fit_leaves(self, sums: Sequence[Floats], l2: float) -> list[Floats]:
        """Compute the values of leaves by Newton steps, from each tree's sums of derivatives.

        Sums have the shape (n_leaves, n_outputs, 2), values (n_leaves, n_outputs).
        """
        return _native.fit_newton(sums, l2, self.newton_factor)

    @abstractmethod
    def measure(
        self, raw: Floats, labels: NDArray[Any], weights: Floats | None, threads: _native.Threads | None = None
    ) -> LossSums:
        """Sum the losses of rows at raw predictions in the users' units, and what the score is made of."""

    @abstractmethod
    def make_score(self, labels: NDArray[Any], weights: Floats | None) -> Callable[[float], float]:
        """Make a function that converts the quality that ``measure`` returns to a score: accuracy or R^2."""

    @abstractmethod
    def present(self, raw: Floats) -> Predictions:
        """Return predictions, given raw predictions in the users' units."""

    def compute_score(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the accuracy or R^2 of raw predictions in the users' units."""
        return self.make_score(labels, weights)(self.measure(raw, labels, weights).quality)

    def compute_loss(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the mean loss of rows at raw predictions in the users' units."""
        return self.measure(raw, labels, weights).loss / sum_weights(weights, labels)


class RawPredictions:
    """Predictions of classes by log odds: one number per row for two classes, one per class for more.

    Parameters
    ----------
    loss : str or object
        The loss, which converts raw predictions to probabilities.
    raw : float64 array of shape (n_rows,) or (n_rows, n_classes)
        Raw predictions.
    """

    def __init__(self, loss: Any, raw: Floats):
        self._loss = loss
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    def predict(self) -> NDArray[np.intp]:
        """Return the codes of the most probable classes."""
        return (self._raw >= 0).astype(np.intp) if self._raw.ndim == 1 else self._raw.argmax(axis=1)

    def decide(self) -> Floats:
        """Return the raw predictions."""
        return self._raw

    def estimate(self) -> Floats:
        """Return probabilities."""
        return predict_shares(self._loss, self._raw)


class ClassLoss(Loss):
    """Base of losses for classes, whose raw predictions are log odds."""

    def present(self, raw: Floats) -> RawPredictions:
        """Return predictions by log odds."""
        return RawPredictions("log_loss", raw)

    def measure(
        self, raw: Floats, labels: NDArray[Any], weights: Floats | None, threads: _native.Threads | None = None
    ) -> LossSums:
        """Sum log losses, and the weights of right rows."""
        return LossSums(*_native.sum_log_losses(raw, labels, weights, threads))

    def make_score(self, labels: NDArray[Any], weights: Floats | None) -> Callable[[float], float]:
        """Make a function that computes the accuracy."""
        total = sum_weights(weights, labels)
        return lambda n_right: n_right / total


class BinaryLogLoss(ClassLoss):
    """Log loss of two classes, coded -1 and +1."""

    def __init__(self, labels: NDArray[np.int8], weights: Floats | None):
        super().__init__(labels)
        negative, positive = sum_by_class(labels > 0, weights, 2)
        self.start = np.array([_native.log_of(positive / negative)], dtype=np.float32)

    def move(
        self, now: Position, step: Step | None, threads: _native.Threads, sums: _native.RowSums | None = None
    ) -> float:
        """Take a step; return the sum of the weights of right rows."""
        return _native.step_log_loss(*_list_arguments(now, step, self.labels, threads, sums))


class SoftmaxLoss(ClassLoss):
    """Log loss of many classes, coded 0, 1, 2, ...; Newton steps are shortened, since all classes move at once."""

    def __init__(self, labels: NDArray[np.uint16], weights: Floats | None, n_classes: int):
        super().__init__(labels)
        shares = sum_by_class(labels, weights, n_classes) / sum_weights(weights, labels)
        logs = _native.log_of(shares)
        self.start = (logs - logs.mean()).astype(np.float32)
        self.newton_factor = 1.0 - 1.0 / n_classes

    def move(
        self, now: Position, step: Step | None, threads: _native.Threads, sums: _native.RowSums | None = None
    ) -> float:
        """Take a step; return the sum of the weights of right rows."""
        return _native.step_softmax(*_list_arguments(now, step, self.labels, threads, sums))


class ValueLoss(Loss):
    """A loss for numbers.

    Parameters
    ----------
    name : str
        Name of the loss.
    values : float64 array of shape (n_samples,)
        Numbers to predict.
    weights : float64 array of shape (n_samples,) or None
        Weights of rows.
    alpha : float
        With "quantile", the quantile to predict. With "huber", the share of the distances from the median that are not
        outliers.
    """

    def __init__(self, name: ValueLossName, values: Floats, weights: Floats | None, alpha: float):
        self.name = name
        self.start = np.zeros(1, dtype=np.float32)
        self._parameter = alpha
        self.is_log = name in ("poisson", "gamma")
        if self.is_log:
            self.offset = float(_round(_native.log_of(compute_mean(values, weights))))
            mean = _native.exp_of(self.offset)
            self.unit = mean if name == "poisson" else 1.0
            super().__init__(_to_singles(values, mean))
        else:
            self.offset = self._compute_centre(values, weights)
            spread = self._compute_spread(np.abs(values - self.offset), weights) if np.ptp(values) else 0.0
            # Dividing by a power of two loses no bits. The last bits of sums depend on the scale of weights: round.
            self.scale = max(_round_to_power(spread), np.finfo(np.float64).tiny) if spread else 1.0
            if name == "squared_error":
                self.offset = float(_round(self.offset / self.scale) * self.scale) if spread else float(values[0])
            self.unit = self.scale * self.scale if name in ("squared_error", "huber") else self.scale
            super().__init__(_to_singles(values - self.offset, self.scale))
            if name == "huber":
                self._parameter = float(compute_quantile(np.abs(self.labels), weights, alpha)) or 1.0
        if name in ("absolute_error", "quantile"):
            self.leaf_quantile = 0.5 if name == "absolute_error" else alpha

    def _compute_spread(self, distances: Floats, weights: Floats | None) -> float:
        """Compute the mean of distances from the centre or, for losses that ignore outliers, their median."""
        mean = compute_mean(distances, weights)
        return mean if self.name == "squared_error" else compute_median(distances, weights) or mean

    def _compute_centre(self, values: Floats, weights: Floats | None) -> float:
        if self.name == "squared_error":
            return compute_mean(values, weights)
        if self.name == "quantile":
            return float(compute_quantile(values, weights, self._parameter))
        return float(compute_median(values, weights))

    def move(
        self, now: Position, step: Step | None, threads: _native.Threads, sums: _native.RowSums | None = None
    ) -> float:
        """Take a step; return the sum of squared errors."""
        arguments = _list_arguments(now, step, self.labels, threads, sums)
        return _native.step_values(VALUE_LOSSES[self.name], self._parameter, *arguments)

    def compute_total(self, weights: Singles | None) -> float:
        """Compute the sum of squared distances from the mean."""
        values = self.labels.astype(np.float64)
        squares = (values - compute_mean(values, weights)) ** 2
        return compute_mean(squares, weights) * sum_weights(weights, values)

    def score_training(self, quality: float, total: float) -> float:
        """Compute R^2."""
        return 1.0 - quality / total if total > 0 else float(quality < 1e-9)

    def fit_leaves(self, sums: Sequence[Floats], l2: float) -> list[Floats]:
        """Compute the best values: with a log link they follow exactly from the sums."""
        return [self._fit_exactly(of_tree, l2) for of_tree in sums] if self.is_log else super().fit_leaves(sums, l2)

    def _fit_exactly(self, sums: Floats, l2: float) -> Floats:
        gradients, hessians = sums[..., 0], sums[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.name == "poisson":  # hessians sum predictions, gradients sum predictions minus labels
                values = _native.log_of((hessians - gradients + l2) / (hessians + l2))
            else:
                values = _native.log_of((hessians + l2) / (gradients + hessians + l2))
        return np.clip(np.nan_to_num(values), -10.0, 10.0)

    def measure(
        self, raw: Floats, labels: NDArray[Any], weights: Floats | None, threads: _native.Threads | None = None
    ) -> LossSums:
        """Sum losses, up to a constant per row, and squared errors."""
        unit = self.unit if self.is_log else self.scale
        arguments = VALUE_LOSSES[self.name], self._parameter, unit, raw, labels, weights, threads
        return LossSums(*_native.sum_value_losses(*arguments))

    def make_score(self, labels: NDArray[Any], weights: Floats | None) -> Callable[[float], float]:
        """Make a function that computes R^2."""
        return make_r2(labels, weights)

    def present(self, raw: Floats) -> NumberPredictions:
        """Return predictions of numbers."""
        return NumberPredictions(self.predict(raw))

    def predict(self, raw: Floats) -> Floats:
        """Convert raw predictions to predictions."""
        return predict_values(self.name, raw)


def check_values(name: ValueLossName, values: Floats, parameter: str) -> None:
    """Raise a ValueError if a loss cannot be used for these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> check_values("gamma", np.array([0.0, 1.0]), "y")
    Traceback (most recent call last):
        ...
    ValueError: loss='gamma' needs positive numbers, but y contains others.
    """
    if name == "gamma" and values.min() <= 0:
        raise ValueError(f"loss='gamma' needs positive numbers, but {parameter} contains others.")
    if name == "poisson" and values.min() < 0:
        raise ValueError(f"loss='poisson' needs numbers of at least 0, but {parameter} contains negative ones.")
    if name == "poisson" and parameter == "y" and values.max() == 0:
        raise ValueError("loss='poisson' needs some positive numbers, but y is all 0.")


def predict_values(loss: Any, raw: Floats) -> Floats:
    """Convert raw predictions of a regression to predictions.

    Examples
    --------
    >>> import numpy as np
    >>> predict_values("squared_error", np.array([0.5])), predict_values("poisson", np.array([0.0]))
    (array([0.5]), array([1.]))
    """
    if loss in ("poisson", "gamma"):
        return _native.exp_of(np.clip(raw, -700.0, 700.0))
    return _invert_link(loss, raw, [raw.shape]) if hasattr(loss, "inverse_link") else raw


def predict_shares(loss: Any, raw: Floats) -> Floats:
    """Convert raw predictions of classes (one column for two, else one per class) to probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> predict_shares("log_loss", np.array([0.0]))
    array([[0.5, 0.5]])
    """
    if hasattr(loss, "inverse_link"):
        shares = _invert_link(loss, raw, [raw.shape, (len(raw), 2)] if raw.ndim == 1 else [raw.shape])
        if not ((shares >= -1e-9) & (shares <= 1.0 + 1e-9)).all():
            raise ValueError(f"The inverse_link of {loss!r} must return probabilities, between 0 and 1.")
    else:
        shares = _native.logistic_of(raw) if raw.ndim == 1 else _native.softmax_of(raw)
    return np.stack([1.0 - shares, shares], axis=1) if shares.ndim == 1 else shares


def _invert_link(loss: Any, raw: Floats, shapes: list[tuple[int, ...]]) -> Floats:
    """Convert raw predictions by a user's method, whose result must be finite and have one of these shapes."""
    numbers = as_real(loss.inverse_link(raw), f"The inverse_link of {loss!r}")
    if numbers.shape not in shapes:
        raise ValueError(f"The inverse_link of {loss!r} returns shape {numbers.shape}, but must return {shapes[0]}.")
    if not np.isfinite(numbers).all():
        raise ValueError(f"The inverse_link of {loss!r} must return finite numbers.")
    return numbers


def _list_arguments(
    now: Position, step: Step | None, labels: NDArray[Any], threads: _native.Threads, sums: _native.RowSums | None
) -> tuple[
    Singles,
    NDArray[np.uint16] | None,
    Singles | None,
    NDArray[Any],
    Singles | None,
    Singles,
    Singles,
    _native.Threads,
    _native.RowSums | None,
]:
    """List the arguments of the engine's functions."""
    leaves, values = (None, None) if step is None else (step.leaves, step.values)
    return now.raw, leaves, values, labels, now.weights, now.gradients, now.hessians, threads, sums


def _to_singles(values: Floats, unit: float) -> Singles:
    """Convert to multiples of a unit in single precision; clip outliers that, or whose squares, would overflow."""
    with np.errstate(over="ignore"):
        return np.clip(values / unit, -1e15, 1e15).astype(np.float32)


def _round_to_power(number: float) -> float:
    """Round a positive number to a power of two."""
    mantissa, exponent = math.frexp(number)  # from 1/2 to 1, whose middle is the root of 1/2
    return math.ldexp(1.0, min(exponent, 1023) - (mantissa < math.sqrt(0.5)))


def _round(value: Any) -> Any:
    return np.rint(value * 2.0**30) / 2.0**30


def sum_weights(weights: NDArray[Any] | None, labels: NDArray[Any]) -> float:
    """Sum the weights of rows; without weights, count the rows."""
    return float(len(labels)) if weights is None else add_up(weights)
