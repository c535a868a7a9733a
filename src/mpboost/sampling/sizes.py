"""Computes the sizes of minipatches and of rounds from "auto", shares and numbers."""

import math
from typing import Literal, NamedTuple

import numpy as np

Size = int | float | Literal["sqrt", "auto"]


class AutoRows(NamedTuple):
    """The rule of "auto" for rows: a share of them, or a multiple of their square root, within limits.

    It is at most ``most`` rows, and at most ``most_tenths`` tenths of them. A size trial may make minipatches up to
    ``growth`` times larger.
    """

    share: float = 0.0
    roots: float = 0.0
    most: int = 20_000
    growth: int = 1
    most_tenths: int = 3

    def count(self, n_all: int) -> int:
        """Compute the number of rows of a minipatch, of ``n_all`` rows."""
        most = min(self.most, n_all * self.most_tenths // 10)
        return max(1, min(int(self.share * n_all + self.roots * math.sqrt(n_all)), most))


class AutoFeatures(NamedTuple):
    """The rule of "auto" for features: a share, but at least some number or another share, whichever is smaller."""

    share: float
    least: int
    least_share: float
    most: int = 100

    def count(self, n_all: int) -> int:
        """Compute the number of features of a minipatch, of ``n_all``; up to eight are all taken."""
        least = min(self.least, int(self.least_share * n_all))
        return min(n_all, max(8, least, min(int(self.share * n_all), self.most)))


class PatchSizes(NamedTuple):
    """The rules of "auto" for the rows and the features of a minipatch."""

    rows: AutoRows
    features: AutoFeatures


#: docs/defaults.md and docs/gradient.md show how these were chosen.
CLASSIFIER_SIZES = PatchSizes(AutoRows(roots=8.0, growth=4), AutoFeatures(0.2, least=20, least_share=0.5))
#: Means need larger minipatches than votes: each bad tree changes the mean, but hardly ever the majority.
REGRESSOR_SIZES = PatchSizes(AutoRows(share=0.3), AutoFeatures(1 / 3, least=25, least_share=1.0))
#: Leaves are fitted on all rows, so that minipatches need not be large; but splits need enough rows.
GRADIENT_SIZES = PatchSizes(
    AutoRows(roots=40.0, most_tenths=10), AutoFeatures(1 / 3, least=20, least_share=0.5, most=50)
)

#: Minipatches in a round: 8 are as good as 1, and keep as many threads busy; docs/defaults.md has the evidence.
AUTO_ROUND_SIZE = 8


def count_patch_rows(max_samples: Size, n_samples: int, auto: AutoRows = CLASSIFIER_SIZES.rows) -> int:
    """Compute the number of rows of a minipatch from ``max_samples``.

    Examples
    --------
    >>> [count_patch_rows("auto", n) for n in (50, 500, 5000, 5_000_000)]
    [15, 150, 565, 17888]
    """
    if max_samples == "auto":
        return auto.count(n_samples)
    return _count("max_samples", max_samples, n_samples)


def count_most_rows(n_samples: int, auto: AutoRows) -> int:
    """Compute the most rows that a size trial may give minipatches.

    Examples
    --------
    >>> [count_most_rows(n, CLASSIFIER_SIZES.rows) for n in (50, 500, 5000, 5_000_000)]
    [25, 250, 2260, 20000]
    """
    return max(1, min(auto.growth * auto.count(n_samples), auto.most, n_samples // 2))


def count_patch_features(max_features: Size, n_features: int, auto: AutoFeatures = CLASSIFIER_SIZES.features) -> int:
    """Compute the number of features of a minipatch from ``max_features``.

    Examples
    --------
    >>> [count_patch_features("auto", m) for m in (4, 30, 180, 10_000)]
    [4, 15, 36, 100]
    """
    if max_features == "auto":
        return auto.count(n_features)
    return _count("max_features", max_features, n_features)


def count_round(round_size: int | Literal["auto"], n_models: int = 1) -> int:
    """Compute the number of minipatches in a round from ``round_size``.

    Examples
    --------
    >>> [count_round("auto", n_models) for n_models in (1, 3, 5)]
    [8, 9, 10]
    """
    return -(-AUTO_ROUND_SIZE // n_models) * n_models if round_size == "auto" else int(round_size)


def _count(name: str, size: Size, limit: int) -> int:
    if size == "sqrt":
        return max(1, math.isqrt(limit))
    assert not isinstance(size, str)
    if not isinstance(size, int | np.integer):
        return max(1, int(float(size) * limit))
    if size > limit:
        of_what = "rows" if name == "max_samples" else "features"
        raise ValueError(f"{name}={size} is more than the {limit} {of_what} of X; choose a smaller number.")
    return int(size)
