"""Wrong labels, made on purpose."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Flipped:
    """Rows with labels, some of which were changed to another class, and which these are."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    is_flipped: NDArray[np.bool_]


def flip(X: NDArray[Any], y: NDArray[np.int64], rate: float, seed: int = 0) -> Flipped:
    """Give a share of the rows, drawn at random, another class, drawn at random."""
    rng = np.random.default_rng(seed)
    n_classes, n_flipped = y.max() + 1, round(rate * len(y))
    rows = rng.choice(len(y), n_flipped, replace=False)
    noisy, is_flipped = y.copy(), np.zeros(len(y), dtype=bool)
    noisy[rows] = (y[rows] + rng.integers(1, n_classes, n_flipped)) % n_classes
    is_flipped[rows] = True
    return Flipped(X, noisy, is_flipped)
