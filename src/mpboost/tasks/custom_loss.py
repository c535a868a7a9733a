"""Losses that users write themselves."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Singles, as_real
from mpboost.outputs.metrics import to_codes
from mpboost.outputs.predictions import NumberPredictions, Predictions
from mpboost.outputs.statistics import add_up
from mpboost.tasks.losses import Loss, LossSums, Position, RawPredictions, Step, ValueLoss, predict_values


class CustomLoss(Loss):
    """A loss given as a user's object with the method ``gradient_hessian(y, raw)``, and optional others.

    Parameters
    ----------
    custom : object
        The user's object.
    like : Loss
        The default loss of the estimator: used for everything that the object does not have.
    weights : float64 array of shape (n_samples,) or None
        Weights of rows.
    """

    def __init__(self, custom: Any, like: Loss, labels: NDArray[Any], weights: Floats | None):
        super().__init__(labels)
        self._custom = custom
        self._like = like
        self.start = np.zeros(like.n_outputs, dtype=np.float32)
        self.unit = 1.0 if hasattr(custom, "loss") else like.unit
        baseline = like.baseline
        if hasattr(custom, "baseline"):
            baseline = as_real(custom.baseline(to_codes(labels), weights), f"The baseline of {custom!r}").reshape(-1)
            if baseline.shape != like.start.shape or not np.isfinite(baseline).all():
                raise ValueError(f"The baseline of {custom!r} must be {like.n_outputs} finite number(s).")
        self.offset = baseline if like.n_outputs > 1 else float(baseline[0])

    def move(
        self, now: Position, step: Step | None, threads: _native.Threads, sums: _native.RowSums | None = None
    ) -> float:
        """Take a step; compute derivatives by the user's method; return the score."""
        if step is not None:
            now.raw += step.values[step.leaves]
        raw = self.offset + now.raw.astype(np.float64)
        weights = None if now.weights is None else now.weights.astype(np.float64)
        derivatives = self._custom.gradient_hessian(to_codes(self.labels), raw)
        if not isinstance(derivatives, tuple | list) or len(derivatives) != 2:
            raise ValueError(f"gradient_hessian of {self._custom!r} must return two arrays: gradients and hessians.")
        now.gradients[...] = self._check_derivatives("gradients", derivatives[0], raw.shape, weights)
        now.hessians[...] = self._check_derivatives("hessians", derivatives[1], raw.shape, weights)
        if (now.hessians < 0).any():
            raise ValueError(f"The hessians of {self._custom!r} must not be negative; return an upper bound instead.")
        return self.compute_score(raw, self.labels, weights)

    def _check_derivatives(self, what: str, given: Any, shape: tuple[int, ...], weights: Floats | None) -> Singles:
        """Check derivatives from the user's method, and multiply them by weights."""
        numbers = as_real(given, f"The {what} of {self._custom!r}")
        if numbers.shape != shape:
            raise ValueError(f"The {what} of {self._custom!r} have shape {numbers.shape}, but must have shape {shape}.")
        with np.errstate(over="ignore", invalid="ignore"):
            singles = (numbers if weights is None else (numbers.T * weights).T).astype(np.float32)
        if not np.isfinite(singles).all():
            raise ValueError(
                f"The {what} of {self._custom!r} must be finite, and at most about 1e38 in absolute value."
            )
        return singles

    def score_training(self, quality: float, total: float) -> float:
        """Return the score that ``move`` computed."""
        return quality

    def measure(
        self, raw: Floats, labels: NDArray[Any], weights: Floats | None, threads: _native.Threads | None = None
    ) -> LossSums:
        """Sum the user's losses or, if there are none, the default ones, and what the score is made of."""
        if isinstance(self._like, ValueLoss):
            with np.errstate(over="ignore", invalid="ignore"):
                raw_of_like = predict_values(self._custom, raw)
        else:
            raw_of_like = raw
        sums = self._like.measure(raw_of_like, labels, weights, threads)
        if not hasattr(self._custom, "loss"):
            return sums
        losses = as_real(self._custom.loss(to_codes(labels), raw), f"The loss of {self._custom!r}")
        if losses.shape != (len(raw),) or not np.isfinite(losses).all():
            raise ValueError(f"The loss of {self._custom!r} must return one finite number for each of {len(raw)} rows.")
        return LossSums(add_up(losses if weights is None else losses * weights), sums.quality)

    def make_score(self, labels: NDArray[Any], weights: Floats | None) -> Callable[[float], float]:
        """Make a function that computes the accuracy or R^2, as built-in losses do."""
        return self._like.make_score(labels, weights)

    def present(self, raw: Floats) -> Predictions:
        """Return predictions: converted by the user's ``inverse_link``, if there is one."""
        if isinstance(self._like, ValueLoss):
            return NumberPredictions(predict_values(self._custom, raw))
        return RawPredictions(self._custom, raw)
