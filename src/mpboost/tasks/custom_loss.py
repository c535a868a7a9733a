"""Losses that users write themselves."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Singles
from mpboost.outputs.metrics import to_codes
from mpboost.outputs.predictions import NumberPredictions, Predictions
from mpboost.outputs.statistics import compute_mean, compute_r2
from mpboost.tasks.losses import Loss, Position, RawPredictions, Step, ValueLoss, as_real, predict_values


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

    def move(self, now: Position, step: Step | None, threads: _native.Threads) -> float:
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

    def compute_score(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the accuracy or R^2, as built-in losses do."""
        if isinstance(self._like, ValueLoss):
            with np.errstate(over="ignore", invalid="ignore"):
                return compute_r2(predict_values(self._custom, raw), labels, weights)
        return self._like.compute_score(raw, labels, weights)

    def present(self, raw: Floats) -> Predictions:
        """Return predictions: converted by the user's ``inverse_link``, if there is one."""
        if isinstance(self._like, ValueLoss):
            return NumberPredictions(predict_values(self._custom, raw))
        return RawPredictions(self._custom, raw)

    def compute_loss(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the mean of the user's loss or, if there is none, of the default loss."""
        if not hasattr(self._custom, "loss"):
            is_value = isinstance(self._like, ValueLoss)
            return self._like.compute_loss(predict_values(self._custom, raw) if is_value else raw, labels, weights)
        losses = as_real(self._custom.loss(to_codes(labels), raw), f"The loss of {self._custom!r}")
        if losses.shape != (len(raw),) or not np.isfinite(losses).all():
            raise ValueError(f"The loss of {self._custom!r} must return one finite number for each of {len(raw)} rows.")
        return compute_mean(losses, weights)
