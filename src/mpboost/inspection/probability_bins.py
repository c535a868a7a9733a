"""Compare predicted probabilities with observed shares: bins, confidence intervals, calibration error."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost.outputs.statistics import estimate_share_interval


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
