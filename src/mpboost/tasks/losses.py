"""What gradient models make small: losses, their derivatives, and what leaves are worth.

The engine works in units of its own, in single precision. What users see, raw predictions, is ``offset`` plus ``scale``
times that; trees are kept in the users' units.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax, xlogy

from mpboost import _native
from mpboost._arrays import Floats, Singles
from mpboost.outputs.statistics import compute_mean, compute_median, compute_quantile, compute_r2

ValueLossName = Literal["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"]

#: Names of losses of numbers in the engine.
VALUE_LOSSES: dict[ValueLossName, str] = {
    "squared_error": "squared",
    "absolute_error": "absolute",
    "quantile": "quantile",
    "huber": "huber",
    "poisson": "poisson",
    "gamma": "gamma",
}


class Step(NamedTuple):
    """What a tree changes: the leaf of each row, and the values of leaves in the engine's units."""

    leaves: NDArray[np.uint16]
    values: Singles


@dataclass(eq=False)
class Position:
    """Where a model stands.

    Attributes
    ----------
    raw : float32 array of shape (n_samples,) or (n_samples, n_outputs)
        Raw predictions in the engine's units.
    weights : float32 array of shape (n_samples,) or None
        What rows weigh; None where all weigh the same.
    gradients, hessians : float32 arrays of the shape of ``raw``
        Derivatives of the loss by raw predictions, times weights.
    """

    raw: Singles
    weights: Singles | None
    gradients: Singles
    hessians: Singles


class Loss(ABC):
    """A loss on the rows to learn from.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        As the engine wants them.

    Attributes
    ----------
    start : float32 array of shape (n_outputs,)
        Raw prediction before the first tree, in the engine's units.
    offset, scale : float
        From the engine's units to the users'.
    unit : float
        What losses are multiplied by to be in the users' units.
    leaf_quantile : float or None
        Which quantile of the residuals in a leaf is its value; None where ``fit_leaves`` tells.
    """

    offset: float | Floats = 0.0
    scale = 1.0
    unit = 1.0
    start: Singles
    leaf_quantile: float | None = None

    def __init__(self, labels: NDArray[Any]):
        self.labels = labels

    @property
    def n_outputs(self) -> int:
        """Numbers that a tree puts out for a row."""
        return len(self.start)

    @property
    def baseline(self) -> Floats:
        """Raw prediction before the first tree, in the users' units."""
        return np.asarray(self.offset + self.scale * self.start.astype(np.float64))

    @abstractmethod
    def move(self, now: Position, step: Step | None, threads: _native.Threads) -> float:
        """Take a step, if there is any; refresh the derivatives; sum up the quality."""

    def compute_total(self, weights: Singles | None) -> float:
        """Compute what the quality is a share of: once for all, since weights stay the same."""
        return _total(weights, self.labels)

    def score_training(self, quality: float, total: float) -> float:
        """Turn the quality that ``move`` sums up into a score: the share of rows that are right."""
        return quality / total

    def fit_leaves(self, sums: Floats, l2: float) -> Floats:
        """Compute the values of leaves from sums of derivatives of shape (n_leaves, n_outputs, 2): Newton steps."""
        hessians = sums[..., 1] + l2
        return np.asarray(np.divide(-sums[..., 0], hessians, out=np.zeros(hessians.shape), where=hessians > 0))

    @abstractmethod
    def compute_score(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Score raw predictions in the users' units: accuracy or R^2."""

    @abstractmethod
    def compute_losses(self, raw: Floats, labels: NDArray[Any]) -> Floats:
        """Compute the loss of each row at raw predictions in the users' units."""


class BinaryLogLoss(Loss):
    """Log loss of two classes, coded -1 and +1."""

    def __init__(self, labels: NDArray[np.int8], weights: Floats | None):
        super().__init__(labels)
        share = float(np.average(labels > 0, weights=weights))
        self.start = np.array([np.log(share / (1.0 - share))], dtype=np.float32)

    def move(self, now: Position, step: Step | None, threads: _native.Threads) -> float:
        """Take a step; sum up the weights of rows that are right."""
        return _native.step_log_loss(*_list_arguments(now, step, self.labels, threads))

    def compute_score(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Give the accuracy."""
        return compute_mean((raw >= 0) == (labels > 0), weights)

    def compute_losses(self, raw: Floats, labels: NDArray[Any]) -> Floats:
        """Give the log loss."""
        return np.logaddexp(0.0, -labels * raw)


class SoftmaxLoss(Loss):
    """Log loss of many classes, coded 0, 1, 2, ..."""

    def __init__(self, labels: NDArray[np.uint16], weights: Floats | None, n_classes: int):
        super().__init__(labels)
        shares = np.bincount(labels, weights, minlength=n_classes) / _total(weights, labels)
        logs = np.log(shares)
        self.start = (logs - logs.mean()).astype(np.float32)

    def move(self, now: Position, step: Step | None, threads: _native.Threads) -> float:
        """Take a step; sum up the weights of rows that are right."""
        return _native.step_softmax(*_list_arguments(now, step, self.labels, threads))

    def fit_leaves(self, sums: Floats, l2: float) -> Floats:
        """Give Newton steps of each class by itself, shortened, since all classes move at once."""
        return super().fit_leaves(sums, l2) * (1.0 - 1.0 / self.n_outputs)

    def compute_score(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Give the accuracy."""
        return compute_mean(raw.argmax(axis=1) == labels, weights)

    def compute_losses(self, raw: Floats, labels: NDArray[Any]) -> Floats:
        """Give the log loss."""
        return np.asarray(-log_softmax(raw, axis=1)[np.arange(len(raw)), labels])


class ValueLoss(Loss):
    """A loss of numbers.

    Parameters
    ----------
    name : str
        Which one.
    values : float64 array of shape (n_samples,)
        Numbers to predict.
    weights : float64 array of shape (n_samples,) or None
        What rows weigh.
    alpha : float
        With "quantile", which one is predicted. With "huber", the share of residuals from the median that are not
        outliers.
    """

    def __init__(self, name: ValueLossName, values: Floats, weights: Floats | None, alpha: float):
        self.name = name
        self.start = np.zeros(1, dtype=np.float32)
        self._parameter = alpha
        self.is_log = name in ("poisson", "gamma")
        if self.is_log:
            self.offset = float(_round(np.log(np.average(values, weights=weights))))
            mean = float(np.exp(self.offset))
            self.unit = mean if name == "poisson" else 1.0
            super().__init__(_to_singles(values / mean))
        else:
            self.offset = self._compute_centre(values, weights)
            spread = self._compute_spread(np.abs(values - self.offset), weights) if np.ptp(values) else 0.0
            # A power of two costs no bits; and last bits of sums, which depend on the scale of weights, are of no use.
            self.scale = max(2.0 ** np.rint(np.log2(spread)), np.finfo(np.float64).tiny) if spread else 1.0
            if name == "squared_error":
                self.offset = float(_round(self.offset / self.scale) * self.scale) if spread else float(values[0])
            self.unit = self.scale**2 if name in ("squared_error", "huber") else self.scale
            super().__init__(_to_singles((values - self.offset) / self.scale))
            if name == "huber":
                self._parameter = float(compute_quantile(np.abs(self.labels), weights, alpha)) or 1.0
        if name in ("absolute_error", "quantile"):
            self.leaf_quantile = 0.5 if name == "absolute_error" else alpha

    def _compute_spread(self, distances: Floats, weights: Floats | None) -> float:
        """Compute the mean or, where outliers must not matter, the median of distances from the centre."""
        mean = float(np.average(distances, weights=weights))
        return mean if self.name == "squared_error" else compute_median(distances, weights) or mean

    def _compute_centre(self, values: Floats, weights: Floats | None) -> float:
        if self.name == "squared_error":
            return float(np.average(values, weights=weights))
        if self.name == "quantile":
            return float(compute_quantile(values, weights, self._parameter))
        return float(compute_median(values, weights))

    def move(self, now: Position, step: Step | None, threads: _native.Threads) -> float:
        """Take a step; sum up squared errors."""
        arguments = _list_arguments(now, step, self.labels, threads)
        return _native.step_values(VALUE_LOSSES[self.name], self._parameter, *arguments)

    def compute_total(self, weights: Singles | None) -> float:
        """Compute the sum of squared distances from the mean."""
        values = self.labels.astype(np.float64)
        mean = np.average(values, weights=weights)
        return float(np.average((values - mean) ** 2, weights=weights)) * _total(weights, values)

    def score_training(self, quality: float, total: float) -> float:
        """Give R^2."""
        return 1.0 - quality / total if total > 0 else float(quality < 1e-9)

    def fit_leaves(self, sums: Floats, l2: float) -> Floats:
        """Give the best values: with log links they are known exactly from the same sums."""
        gradients, hessians = sums[..., 0], sums[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.name == "poisson":  # sums of what is predicted, and of that minus what is true
                values = np.log((hessians - gradients + l2) / (hessians + l2))
            elif self.name == "gamma":
                values = np.log((hessians + l2) / (gradients + hessians + l2))
            else:
                return super().fit_leaves(sums, l2)
        return np.clip(np.nan_to_num(values), -10.0, 10.0)

    def compute_score(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Give R^2."""
        with np.errstate(over="ignore"):  # infinity is right: steps may have been far too long
            return compute_r2(self.predict(raw), labels, weights)

    def predict(self, raw: Floats) -> Floats:
        """Turn raw predictions into predictions."""
        return predict_values(self.name, raw)

    def compute_losses(self, raw: Floats, labels: NDArray[Any]) -> Floats:
        """Give the loss of each row, up to a constant for the row, in the engine's units."""
        if self.is_log:
            predictions = self.predict(raw)
            if self.name == "poisson":
                return np.asarray((predictions - xlogy(labels, predictions)) / self.unit)
            return np.asarray(np.log(predictions) + labels / predictions)
        residuals = (raw - labels) / self.scale
        if self.name == "squared_error":
            return 0.5 * residuals**2
        sizes = np.abs(residuals)
        if self.name == "absolute_error":
            return sizes
        if self.name == "huber":
            delta = self._parameter
            return np.where(sizes <= delta, 0.5 * sizes**2, delta * (sizes - 0.5 * delta))
        return np.where(residuals < 0, self._parameter, 1.0 - self._parameter) * sizes


def check_values(name: ValueLossName, values: Floats, parameter: str) -> None:
    """Refuse numbers that a loss is not made for.

    Examples
    --------
    >>> import numpy as np
    >>> check_values("gamma", np.array([0.0, 1.0]), "y")
    Traceback (most recent call last):
        ...
    ValueError: loss='gamma' needs numbers above 0, but y has others.
    """
    if name == "gamma" and values.min() <= 0:
        raise ValueError(f"loss='gamma' needs numbers above 0, but {parameter} has others.")
    if name == "poisson" and values.min() < 0:
        raise ValueError(f"loss='poisson' needs numbers that are not negative, but {parameter} has others.")
    if name == "poisson" and parameter == "y" and values.max() == 0:
        raise ValueError("loss='poisson' needs some numbers above 0, but y is all 0.")


def predict_values(loss: Any, raw: Floats) -> Floats:
    """Turn raw predictions of numbers into predictions.

    Examples
    --------
    >>> import numpy as np
    >>> predict_values("squared_error", np.array([0.5])), predict_values("poisson", np.array([0.0]))
    (array([0.5]), array([1.]))
    """
    if loss in ("poisson", "gamma"):
        return np.asarray(np.exp(np.clip(raw, -700.0, 700.0)))
    return np.asarray(loss.inverse_link(raw)) if hasattr(loss, "inverse_link") else raw


def predict_shares(loss: Any, raw: Floats) -> Floats:
    """Turn raw predictions of classes, one number for two classes and one each for more, into probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> predict_shares("log_loss", np.array([0.0]))
    array([[0.5, 0.5]])
    """
    if hasattr(loss, "inverse_link"):
        shares = np.asarray(loss.inverse_link(raw), dtype=np.float64)
    else:
        shares = expit(raw) if raw.ndim == 1 else softmax(raw, axis=1)
    return np.stack([1.0 - shares, shares], axis=1) if shares.ndim == 1 else shares


def _list_arguments(
    now: Position, step: Step | None, labels: NDArray[Any], threads: _native.Threads
) -> tuple[
    Singles, NDArray[np.uint16] | None, Singles | None, NDArray[Any], Singles | None, Singles, Singles, _native.Threads
]:
    """List arrays as the engine wants them."""
    leaves, values = step or (None, None)
    return now.raw, leaves, values, labels, now.weights, now.gradients, now.hessians, threads


def _to_singles(values: Floats) -> Singles:
    """Round to single precision; outliers may be too large for it, or for their squares."""
    return np.clip(values, -1e15, 1e15).astype(np.float32)


def _round(value: Any) -> Any:
    return np.rint(value * 2.0**30) / 2.0**30


def _total(weights: NDArray[Any] | None, labels: NDArray[Any]) -> float:
    return float(len(labels)) if weights is None else float(weights.sum(dtype=np.float64))
