"""How many rows and features a minipatch has: what "auto", shares and numbers mean."""

import math
from typing import Literal, NamedTuple

import numpy as np

Size = int | float | Literal["sqrt", "auto"]


class AutoRows(NamedTuple):
    """What "auto" means for rows: a share, or a multiple of the square root, within bounds.

    ``growth`` is how many times larger minipatches may get if a trial shows that they should.
    """

    share: float = 0.0
    roots: float = 0.0
    most: int = 20_000
    growth: int = 1
    most_tenths: int = 3

    def count(self, n_all: int) -> int:
        """Find the size for so many in all."""
        most = min(self.most, n_all * self.most_tenths // 10)
        return max(1, min(int(self.share * n_all + self.roots * math.sqrt(n_all)), most))


class AutoFeatures(NamedTuple):
    """What "auto" means for features: a share, but at least some number or another share, whichever is smaller."""

    share: float
    least: int
    least_share: float
    most: int = 100

    def count(self, n_all: int) -> int:
        """Find the size for so many in all; up to eight of them are all taken."""
        least = min(self.least, int(self.least_share * n_all))
        return min(n_all, max(8, least, min(int(self.share * n_all), self.most)))


class PatchSizes(NamedTuple):
    """What "auto" means for the rows and the features of a minipatch."""

    rows: AutoRows
    features: AutoFeatures


#: docs/defaults.md and docs/gradient.md show how these were chosen.
CLASSIFIER_SIZES = PatchSizes(AutoRows(roots=8.0, growth=4), AutoFeatures(0.2, least=20, least_share=0.5))
#: Means of trees need larger ones than votes: there is no majority that an odd tree could not change.
REGRESSOR_SIZES = PatchSizes(AutoRows(share=0.3), AutoFeatures(1 / 3, least=25, least_share=1.0))
#: With leaves that are fitted on all rows, trees need not be large, but their structure should not be left to chance.
GRADIENT_SIZES = PatchSizes(
    AutoRows(roots=40.0, most_tenths=10), AutoFeatures(1 / 3, least=20, least_share=0.5, most=50)
)


def count_patch_rows(max_samples: Size, n_samples: int, auto: AutoRows = CLASSIFIER_SIZES.rows) -> int:
    """Turn ``max_samples`` into a number of rows; "auto" is never more than three tenths of them.

    Examples
    --------
    >>> [count_patch_rows("auto", n) for n in (50, 500, 5000, 5_000_000)]
    [15, 150, 565, 17888]
    """
    if max_samples == "auto":
        return auto.count(n_samples)
    return _count("max_samples", max_samples, n_samples)


def count_most_rows(n_samples: int, auto: AutoRows) -> int:
    """Find how large minipatches may get by trial.

    Examples
    --------
    >>> [count_most_rows(n, CLASSIFIER_SIZES.rows) for n in (50, 500, 5000, 5_000_000)]
    [25, 250, 2260, 20000]
    """
    return max(1, min(auto.growth * auto.count(n_samples), auto.most, n_samples // 2))


def count_patch_features(max_features: Size, n_features: int, auto: AutoFeatures = CLASSIFIER_SIZES.features) -> int:
    """Turn ``max_features`` into a number of columns.

    Examples
    --------
    >>> [count_patch_features("auto", m) for m in (4, 30, 180, 10_000)]
    [4, 15, 36, 100]
    """
    if max_features == "auto":
        return auto.count(n_features)
    return _count("max_features", max_features, n_features)


def _count(name: str, size: Size, limit: int) -> int:
    if size == "sqrt":
        return max(1, math.isqrt(limit))
    assert not isinstance(size, str)
    if not isinstance(size, int | np.integer):
        return max(1, int(float(size) * limit))
    if size > limit:
        raise ValueError(f"{name}={size} is more than the {limit} there are in the data; choose a smaller number.")
    return int(size)
