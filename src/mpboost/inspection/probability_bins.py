"""Compare predicted probabilities with observed shares: bins, confidence intervals, calibration error."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: 95 % of a normal distribution lies within so many standard deviations.
Z = 1.96


class ProbabilityBins(NamedTuple):
    """Bins of equal width between 0 and 1; NaN in bins without rows.

    Attributes
    ----------
    counts : int array of shape (n_bins,)
        Rows in each bin.
    means, shares : float64 arrays of shape (n_bins,)
        Mean probability, and observed share.
    low, high : float64 arrays of shape (n_bins,)
        95 % confidence interval of the share.
    error : float
        Mean difference between probability and share, over the rows.
    """

    counts: NDArray[np.intp]
    means: NDArray[np.float64]
    shares: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    error: float


def bin_probabilities(probabilities: NDArray[np.float64], outcomes: NDArray[np.bool_], n_bins: int) -> ProbabilityBins:
    """Compare probabilities with outcomes in bins of equal width."""
    bins = np.minimum((probabilities * n_bins).astype(np.intp), n_bins - 1)
    counts, sums, hits = (np.bincount(bins, weights, n_bins) for weights in (None, probabilities, outcomes))
    with np.errstate(invalid="ignore"):  # bins without rows
        means, shares = sums / counts, hits / counts
        low, high = estimate_share_interval(hits, np.where(counts > 0, counts, np.nan))
    error = float(np.nansum(counts * np.abs(shares - means)) / len(bins))
    return ProbabilityBins(counts, means, shares, low, high, error)


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
