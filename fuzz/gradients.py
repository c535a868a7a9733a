"""Makes parameters of the gradient estimators, valid and invalid, losses of users among them."""

from typing import Any

import numpy as np

from fuzz.arguments import CLASS_SCORES, SENSIBLE, VALUE_SCORES
from fuzz.generators import LieError


class SquaredLoss:
    """A loss of a user: squared errors of numbers, or of the codes of classes."""

    def gradient_hessian(self, y: Any, raw: Any) -> Any:
        """Derive it."""
        target = y if raw.ndim == 1 else np.arange(raw.shape[1]) == y[:, None]
        return raw - target, np.ones_like(raw)


class FullLoss(SquaredLoss):
    """A loss with all methods that a loss may have."""

    def loss(self, y: Any, raw: Any) -> Any:
        """Compute it."""
        return self.gradient_hessian(y, raw)[0].reshape(len(y), -1).__pow__(2).sum(axis=1)

    def baseline(self, y: Any, sample_weight: Any) -> Any:
        """Start at numbers that fit; with many classes at too few."""
        return 0.5

    def inverse_link(self, raw: Any) -> Any:
        """Predict numbers between 0 and 1 that sum to 1."""
        shares = 1.0 / (1.0 + np.exp(-np.clip(raw, -50, 50)))
        return shares if raw.ndim == 1 else shares / shares.sum(axis=1, keepdims=True)


class OddLoss(SquaredLoss):
    """A loss whose derivatives, losses or baseline are changed."""

    def __init__(self, change: Any, method: str):
        self.change, self.method = change, method

    def __repr__(self) -> str:
        return f"OddLoss({self.change.__name__}, {self.method!r})"

    def __getattribute__(self, name: str) -> Any:
        if name not in ("loss", "baseline", "inverse_link"):
            return object.__getattribute__(self, name)
        if name != self.method:
            raise AttributeError(name)
        return lambda y, *_: self.change(np.ones(len(y)))

    def gradient_hessian(self, y: Any, raw: Any) -> Any:
        """Derive it, and change the first or the second derivatives, or both."""
        gradients, hessians = super().gradient_hessian(y, raw)
        if self.method == "both":
            return self.change(np.stack([gradients, hessians]))
        if self.method == "gradients":
            return self.change(gradients), hessians
        return gradients, self.change(hessians) if self.method == "hessians" else hessians


def make_complex(numbers: Any) -> Any:
    """Make complex numbers."""
    return numbers + 1j


def make_long(numbers: Any) -> Any:
    """Make long doubles beyond the range of float64."""
    return numbers + np.finfo(np.longdouble).max


def make_text(numbers: Any) -> Any:
    """Make text."""
    return numbers.astype(str)


def make_objects(numbers: Any) -> Any:
    """Make objects that are numbers but for the first."""
    objects = numbers.astype(object)
    objects.flat[:1] = None
    return objects


def make_huge(numbers: Any) -> Any:
    """Make numbers that single precision cannot hold."""
    return np.copysign(1e300, numbers)


def make_large(numbers: Any) -> Any:
    """Make numbers whose sums single precision cannot hold."""
    return 1e38 * numbers


def make_tiny(numbers: Any) -> Any:
    """Make numbers that single precision rounds to zero."""
    return 1e-300 * numbers


def make_nan(numbers: Any) -> Any:
    """Make one of the numbers NaN."""
    return np.where(np.arange(numbers.size).reshape(numbers.shape) == 0, np.nan, numbers)


def make_negative(numbers: Any) -> Any:
    """Make numbers negative."""
    return -np.abs(numbers) - 1


def make_whole(numbers: Any) -> Any:
    """Make whole numbers of 8 bits."""
    return np.clip(numbers, -100, 100).astype(np.int8)


def make_zeros(numbers: Any) -> Any:
    """Make zeros."""
    return np.zeros_like(numbers)


def make_short(numbers: Any) -> Any:
    """Leave out the last number."""
    return numbers[:-1]


def make_none(numbers: Any) -> None:
    """Make nothing."""


def make_list(numbers: Any) -> Any:
    """Make lists."""
    return numbers.tolist()


def make_scalar(numbers: Any) -> float:
    """Make one number."""
    return 0.5


def fail(numbers: Any) -> None:
    """Fail."""
    raise LieError("loss")


GOOD_CHANGES = [make_whole, make_zeros, make_tiny, make_list, make_large]
CHANGES = [
    *(make_complex, make_long, make_text, make_objects, make_huge, make_nan, make_negative, make_short, make_none),
    *(make_scalar, fail, *GOOD_CHANGES),
]
METHODS = ["gradients", "hessians", "both", "loss", "baseline", "inverse_link"]

LOSSES = [SquaredLoss(), FullLoss(), *(OddLoss(change, "gradients") for change in GOOD_CHANGES)]
WRONG_LOSSES = [
    *(OddLoss(change, method) for change in CHANGES for method in METHODS),
    *("log_loss", "gamma", "Squared_error", SquaredLoss, object(), None, 1),
]

NOT_OF_GRADIENTS = ("estimator", "min_samples_split", "weighting", "class_weight")
COMMON: dict[str, list[Any]] = {
    **{name: values for name, values in SENSIBLE.items() if name not in NOT_OF_GRADIENTS},
    "learning_rate": [1e-300, 0.1, 0.9, 2, 1e6, np.float32(0.5)],
    "stopping": [None],
    "importance": ["gain"],
    "max_leaf_nodes": [2, 3, 31, 255, None, np.int8(4)],
    "min_samples_leaf": [1, 1, 2, 5, 2**31 - 2],
    "l2_regularization": [0, 0.0, 1e-300, 1e300, 5],
    "leaf_refit": [False],
    "observation_exploration": [0, 1, 0.0, 0.5],
    "monotonic_cst": [{0: 1}, {"f0": -1}, [1], np.array([1, -1]), [0, 0, 0], {}],
    "interaction_cst": ["pairwise", "no_interactions", [[0]], [[0, 1], [1]], [["f0"]], [{0}], [], ()],
    "oop_size": [0, 1, 2, 5, 0.1, 0.5, 0.99],
    "n_models": [1, 2, 3, 5],
}
CLASSIFIER_SENSIBLE = COMMON | {
    "class_weight": SENSIBLE["class_weight"],
    "loss": ["log_loss", *LOSSES],
    "scoring": CLASS_SCORES,
}
REGRESSOR_SENSIBLE = COMMON | {
    "loss": [
        *("absolute_error", "quantile", "huber", "poisson", "gamma"),
        *("absolute_error", "quantile", "huber", "poisson", "gamma"),
        *LOSSES,
    ],
    "scoring": VALUE_SCORES,
    "alpha": [1e-300, 0.1, 0.5, 1 - 1e-16, np.float32(0.3)],
}

WRONG_IN: dict[str, list[Any]] = {
    "loss": WRONG_LOSSES,
    "alpha": [0, 1, 0.0, 1.0, np.nan, -0.5, "a"],
    "learning_rate": [0, -1, 1e7, np.nan, np.inf, "auto"],
    "max_leaf_nodes": [1, 0, 10**6, 2**64, "many"],
    "l2_regularization": [-1e-9, np.nan, np.inf, 10**400, "a"],
    "monotonic_cst": [[2], [0.5], [np.nan], ["f0"], {0: 2}, {"nope": 1}, {10**6: 1}, {-1: 1}, {0: None}, [[1]]],
    "interaction_cst": [[0], [[-1]], [[10**6]], [["nope"]], [[0.5]], [[None]], "all", [[[0]]], [10**30], ["f0"], [[]]],
    "oop_size": [-1, 1.0, 10**6, 10**30, np.nan, "all", 5e-324],
    "n_models": [0, -1, 1.5, 10**6, 10**30, "many"],
}
