"""The two learned distributions, p over observations and q over features, and draws from them."""

import math
from bisect import bisect_left
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost import _native

Size = int | float | Literal["sqrt", "auto"]


#: The least weight in training, as a share of the largest: sums of both still differ from the larger one.
MIN_RATIO = 1e-9


class Draw(NamedTuple):
    """Rows of a minipatch, and rows to judge what is learned from them; both ascending, none in both."""

    rows: NDArray[np.int64]
    unseen: NDArray[np.int64]

    def with_rows(self, rows: NDArray[np.int64]) -> "Draw":
        """Give the same draw with other rows in the minipatch."""
        return self if rows is self.rows else Draw(rows, np.setdiff1d(self.unseen, rows, assume_unique=True))


class RowSampler(Protocol):
    """What the loop asks of p."""

    n_drawn: int

    @property
    def draws_all(self) -> bool:
        """Whether there is no row to judge out of patch."""

    def sample(self, iteration: int, threads: _native.Threads) -> Draw:
        """Draw the rows of a minipatch."""

    def weigh(self, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Find what the rows of the last draw weigh in training; None where all weigh the same."""


class ObservationSampler:
    """Draws the rows of minipatches from p, which is known by the logarithms of its weights.

    Parameters
    ----------
    log_weights : array of shape (n_samples,)
        Read at every draw, so whoever changes it changes p. Any finite values are good: they are never exponentiated
        before their maximum is taken off.
    n_drawn : int
        Rows in a minipatch.
    seed : int
        Together with the iteration, determines the draw.
    sample_weights : array of shape (n_samples,), default=None
        What the user says that rows weigh; p has them as a factor already.
    draws_unseen : bool, default=False
        Whether as many rows are drawn again, from those outside the minipatch; fewer where fewer are left.
    """

    def __init__(
        self,
        log_weights: NDArray[np.float64],
        n_drawn: int,
        seed: int,
        sample_weights: NDArray[np.float64] | None = None,
        draws_unseen: bool = False,
    ):
        self.log_weights = log_weights
        self.n_drawn = n_drawn
        self._seed = seed
        self._sample_weights = sample_weights
        self._draws_unseen = draws_unseen
        self._log_deadline = 0.0

    @property
    def draws_all(self) -> bool:
        """Whether minipatches have all rows, so that none is ever out of patch."""
        return self.n_drawn == len(self.log_weights)

    def sample(self, iteration: int, threads: _native.Threads) -> Draw:
        """Draw rows without replacement.

        Of rows with weights, the draw ends as soon as so many copies are in, which heavy rows have several of: rows
        that weigh next to nothing are not there to fill a minipatch up, and heavy ones are out of some. Unseen rows
        are those that arrive next: a race has no memory, so that is a draw from all that are left.
        """
        draw = self._seed, iteration, _native.Purpose.OBSERVATIONS
        n_raced = min(2 * self.n_drawn, len(self.log_weights)) if self._draws_unseen else self.n_drawn
        rows = _native.race(self.log_weights, n_raced, *draw, threads)
        if self._sample_weights is None and n_raced == self.n_drawn:
            return Draw(rows, rows[:0])
        log_arrivals = _native.log_arrivals(self.log_weights, rows, *draw)
        n_seen = self.n_drawn
        if self._sample_weights is not None:
            order = np.argsort(log_arrivals, kind="stable")
            n_seen = self._fill(rows[order], log_arrivals[order])
        n_all = min(2 * n_seen if self._draws_unseen else n_seen, len(rows))
        is_seen, is_drawn = (_are_first(log_arrivals, n) for n in (n_seen, n_all))
        return Draw(rows[is_seen], rows[is_drawn & ~is_seen])

    def _fill(self, by_arrival: NDArray[np.int64], log_arrivals: NDArray[np.float64]) -> int:
        """Find how many rows make a minipatch, in the order of their arrival, and the deadline of the draw."""

        def count(last: int) -> float:  # of all that are in when the next row arrives
            return float(self._count_copies(by_arrival[: last + 1], log_arrivals[last + 1]).sum())

        last = self.n_drawn - 1
        if self.n_drawn < len(self.log_weights):  # else all rows are asked for
            last = bisect_left(range(last), float(self.n_drawn), key=count)
        self._log_deadline = log_arrivals[last]
        return last + 1

    def weigh(self, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Find the weights that the rows of the last draw have in training; None where all weigh the same.

        A row of weight w stands for w copies of itself, which race one by one: the first to arrive draws the row, and
        the expected number of copies that are in time is its weight. With few rows drawn out of many that is about 1,
        since w made the row more likely to be drawn already; where rows are sure to be drawn it is w.
        """
        if self._sample_weights is None:
            return None
        copies = self._count_copies(rows, self._log_deadline)
        # The last bits depend on the scale of weights, and would decide between splits that are equally good.
        mantissas, exponents = np.frexp(np.maximum(copies, MIN_RATIO * copies.max()))
        weights: NDArray[np.float64] = np.ldexp(np.rint(mantissas * 2.0**32) / 2.0**32, exponents)
        return weights

    def _count_copies(self, rows: NDArray[np.int64], log_deadline: float) -> NDArray[np.float64]:
        assert self._sample_weights is not None
        weights = self._sample_weights[rows]
        with np.errstate(over="ignore"):  # infinity is right: such a row, and each copy of it, is sure to be in time
            chances = np.maximum(np.exp(self.log_weights[rows] + log_deadline), 1e-12)
            return weights * np.expm1(-chances / weights) / np.expm1(-chances)


def _are_first(log_arrivals: NDArray[np.float64], n: int) -> NDArray[np.bool_]:
    """Tell which n items arrive first; of those that arrive at once, the first ones."""
    are_first: NDArray[np.bool_] = log_arrivals <= np.partition(log_arrivals, n - 1)[n - 1]
    if np.count_nonzero(are_first) > n:
        are_first[np.argsort(log_arrivals, kind="stable")[n:]] = False
    return are_first


class FeatureSampler:
    """Draws the columns of minipatches from q, mixed with a share of the uniform distribution, and updates q.

    Parameters
    ----------
    n_features, n_drawn : int
        Features in all and in a minipatch.
    momentum : float
        How far q moves towards the importances of a learner.
    exploration : float
        Share of the uniform distribution in the draw.
    adaptive : bool
        Whether q is updated at all.
    seed : int
        Together with the iteration, determines the draw.
    remembers : bool, default=False
        Whether q moves towards the mean of all importances that features had so far instead of the last ones. That is
        for importances that are measured, and may be negative: those of a useless feature cancel out.
    """

    def __init__(
        self,
        n_features: int,
        n_drawn: int,
        *,
        momentum: float,
        exploration: float,
        adaptive: bool,
        seed: int,
        remembers: bool = False,
    ):
        self.probabilities = np.full(n_features, 1.0 / n_features)
        self.n_drawn = n_drawn
        self._momentum = momentum
        self._exploration = exploration
        self._adaptive = adaptive
        self._seed = seed
        self._log_weights = _native.log_of(self.probabilities)
        self._remembers = remembers
        self._importance_sums = np.zeros(n_features)
        self._counts = np.zeros(n_features, dtype=np.int64)

    def sample(self, iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Draw columns without replacement, in ascending order."""
        return _native.race(self._log_weights, self.n_drawn, self._seed, iteration, _native.Purpose.FEATURES, threads)

    def update(self, features: NDArray[np.int64], importances: NDArray[np.float64]) -> None:
        """Move q inside the minipatch towards the importances, which sum to 1, and keep its mass there.

        Importances that are all zero leave q alone: the learner had nothing to say.
        """
        if not self._adaptive or not importances.any():
            return
        if self._remembers:
            self._importance_sums[features] += importances
            self._counts[features] += 1
            importances = to_shares(self._importance_sums[features] / self._counts[features])
            if not importances.any():
                return
        _native.move_probabilities(
            self.probabilities, self._log_weights, features, importances, self._momentum, self._exploration
        )


def to_shares(importances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut importances at 0 and scale them so that they sum to 1, if any is left.

    Examples
    --------
    >>> import numpy as np
    >>> to_shares(np.array([3.0, -1.0, 1.0]))
    array([0.75, 0.  , 0.25])
    """
    importances = np.maximum(importances, 0.0)
    total = importances.sum()
    return importances / total if total > 0 else importances


def probabilities_from_logs(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normalise weights that are given by their logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities_from_logs(np.array([-1000.0, -1000.0]))
    array([0.5, 0.5])
    """
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


class AutoRows(NamedTuple):
    """What "auto" means for rows: a share, or a multiple of the square root, within bounds.

    ``growth`` is how many times larger minipatches may get if a trial shows that they should.
    """

    share: float = 0.0
    roots: float = 0.0
    most: int = 20_000
    growth: int = 1
    most_tenths: int = 3

    def find(self, n_all: int) -> int:
        """Find the size for so many in all."""
        most = min(self.most, n_all * self.most_tenths // 10)
        return max(1, min(int(self.share * n_all + self.roots * math.sqrt(n_all)), most))


class AutoFeatures(NamedTuple):
    """What "auto" means for features: a share, but at least some number or another share, whichever is smaller."""

    share: float
    least: int
    least_share: float
    most: int = 100

    def find(self, n_all: int) -> int:
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


def find_patch_rows(max_samples: Size, n_samples: int, auto: AutoRows = CLASSIFIER_SIZES.rows) -> int:
    """Turn ``max_samples`` into a number of rows; "auto" is never more than three tenths of them.

    Examples
    --------
    >>> [find_patch_rows("auto", n) for n in (50, 500, 5000, 5_000_000)]
    [15, 150, 565, 17888]
    """
    if max_samples == "auto":
        return auto.find(n_samples)
    return _find_size("max_samples", max_samples, n_samples)


def find_most_rows(n_samples: int, auto: AutoRows) -> int:
    """Find how large minipatches may get by trial.

    Examples
    --------
    >>> [find_most_rows(n, CLASSIFIER_SIZES.rows) for n in (50, 500, 5000, 5_000_000)]
    [25, 250, 2260, 20000]
    """
    return max(1, min(auto.growth * auto.find(n_samples), auto.most, n_samples // 2))


def find_patch_features(max_features: Size, n_features: int, auto: AutoFeatures = CLASSIFIER_SIZES.features) -> int:
    """Turn ``max_features`` into a number of columns.

    Examples
    --------
    >>> [find_patch_features("auto", m) for m in (4, 30, 180, 10_000)]
    [4, 15, 36, 100]
    """
    if max_features == "auto":
        return auto.find(n_features)
    return _find_size("max_features", max_features, n_features)


def _find_size(name: str, size: Size, limit: int) -> int:
    if size == "sqrt":
        return max(1, math.isqrt(limit))
    assert not isinstance(size, str)
    if not isinstance(size, int | np.integer):
        return max(1, int(float(size) * limit))
    if size > limit:
        raise ValueError(f"{name}={size} is more than the {limit} there are in the data; choose a smaller number.")
    return int(size)
