"""Sums, means, medians, quantiles and R^2, with or without weights; samples of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native

#: 95 % of a normal distribution lies within so many standard deviations.
Z = 1.96


def add_up(values: NDArray[Any]) -> float:
    """Sum numbers, one per row, by chunks of rows: the same bits for any parts of the rows that are whole chunks.

    Examples
    --------
    >>> import numpy as np
    >>> add_up(np.array([0.5, 2.0]))
    2.5
    """
    is_real = values.dtype in (np.float32, np.float64)
    numbers = np.ascontiguousarray(values) if is_real else values.astype(np.float64)
    return _native.sum_values(numbers, _native.Threads(1))


def sum_by_class(codes: NDArray[Any], weights: NDArray[np.float64] | None, n_classes: int) -> NDArray[np.float64]:
    """Sum the weights of the rows of each class, or count them; the same bits as with ``add_up``.

    Examples
    --------
    >>> import numpy as np
    >>> sum_by_class(np.array([0, 1, 0]), np.array([1.0, 2.0, 0.5]), 3)
    array([1.5, 2. , 0. ])
    """
    if weights is None:
        return np.bincount(codes, minlength=n_classes).astype(np.float64)
    return _native.sum_by_class(weights, codes.astype(np.uint16), n_classes, _native.Threads(1))


def compute_mean(values: NDArray[Any], weights: NDArray[np.floating] | None) -> float:
    """Compute the mean, weighted if there are weights.

    Examples
    --------
    >>> import numpy as np
    >>> compute_mean(np.array([1.0, 3.0]), None), compute_mean(np.array([1.0, 3.0]), np.array([1.0, 0.0]))
    (2.0, 1.0)
    """
    return add_up(values) / len(values) if weights is None else add_up(values * weights) / add_up(weights)


def compute_r2(
    predictions: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> float:
    """Compute R^2; if all labels are the same, 1 for right predictions and 0 for others.

    Examples
    --------
    >>> import numpy as np
    >>> compute_r2(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    0.5
    """
    misses = (labels - predictions) ** 2
    return make_r2(labels, weights)(add_up(misses if weights is None else misses * weights))


def make_r2(labels: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> Callable[[float], float]:
    """Make a function that computes R^2 from the sum of squared errors, times weights.

    Examples
    --------
    >>> import numpy as np
    >>> make_r2(np.array([1.0, 2.0, 3.0]))(1.0)
    0.5
    """

    def add_squares(distances: NDArray[np.float64]) -> float:
        return add_up(distances**2 if weights is None else distances**2 * weights)

    with np.errstate(over="ignore"):
        if labels.min() == labels.max():  # rounding may make the mean of equal numbers differ from them
            least = 1e-18 * add_squares(labels)
            return lambda squares: float(squares <= least)
        spread = add_squares(labels - compute_mean(labels, weights))
    return lambda squares: 1.0 - squares / spread if spread > 0 else float(squares == 0)


def compute_median(values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> float:
    """Compute the median; with weights, the lowest value such that values up to it have at least half of the weight.

    Examples
    --------
    >>> import numpy as np
    >>> compute_median(np.array([3.0, 1.0, 2.0])), compute_median(np.array([3.0, 1.0]), np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    return float(np.median(values)) if weights is None else compute_quantile(values, weights, 0.5)


def compute_quantile(values: NDArray[np.float64], weights: NDArray[np.float64] | None, share: float) -> float:
    """Compute a quantile: the lowest value such that values up to it have at least this share of the weight.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([3.0, 1.0])
    >>> compute_quantile(values, None, 0.5), compute_quantile(values, np.array([3.0, 1.0]), 0.5)
    (1.0, 3.0)
    """
    if weights is None:
        return float(np.quantile(values, share, method="inverted_cdf"))
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(sums, share * sums[-1])]])


def pick_rows(n_rows: int, n_picked: int) -> NDArray[np.int64]:
    """Pick one row at random from each of ``n_picked`` equal parts of the rows; always the same rows.

    Examples
    --------
    >>> pick_rows(6, 3)
    array([1, 3, 5])
    """
    if n_picked == n_rows:
        return np.arange(n_rows)
    starts = np.arange(n_picked) * n_rows // n_picked
    lengths = np.diff(starts, append=n_rows)
    return starts + np.random.default_rng(0).integers(0, lengths)


def estimate_share_interval(n_hits: Any, n_all: Any) -> tuple[Any, Any]:
    """Estimate the 95 % confidence interval of a share, by Wilson's method.

    Examples
    --------
    >>> low, high = estimate_share_interval(9, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.596, 0.982)
    """
    share, spread = n_hits / n_all, Z**2 / n_all
    centre = (share + spread / 2) / (1 + spread)
    half = Z * np.sqrt(share * (1 - share) / n_all + spread / (4 * n_all)) / (1 + spread)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
