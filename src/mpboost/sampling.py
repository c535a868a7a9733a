"""The two learned distributions, p over observations and q over features, and draws from them."""

import math
from bisect import bisect_left
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost import _native

Size = int | float | Literal["sqrt", "auto"]


#: The least weight in training, as a share of the largest: sums of both still differ from the larger one.
MIN_RATIO = 1e-9


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
    """

    def __init__(
        self,
        log_weights: NDArray[np.float64],
        n_drawn: int,
        seed: int,
        sample_weights: NDArray[np.float64] | None = None,
    ):
        self.log_weights = log_weights
        self.n_drawn = n_drawn
        self._seed = seed
        self._sample_weights = sample_weights
        self._log_deadline = 0.0

    def sample(self, iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Draw rows without replacement, in ascending order.

        Of rows with weights, the draw ends as soon as so many copies are in, which heavy rows have several of: rows
        that weigh next to nothing are not there to fill a minipatch up, and heavy ones are out of some.
        """
        draw = self._seed, iteration, _native.Purpose.OBSERVATIONS
        rows = _native.race(self.log_weights, self.n_drawn, *draw, threads)
        if self._sample_weights is None:
            return rows
        log_arrivals = _native.log_arrivals(self.log_weights, rows, *draw)
        order = np.argsort(log_arrivals, kind="stable")
        by_arrival, deadlines = rows[order], log_arrivals[order]

        def count(last: int) -> float:  # of all that are in when the next row arrives
            return float(self._count_copies(by_arrival[: last + 1], deadlines[last + 1]).sum())

        last = len(rows) - 1
        if self.n_drawn < len(self.log_weights):  # else all rows are asked for
            last = bisect_left(range(last), float(self.n_drawn), key=count)
        self._log_deadline = deadlines[last]
        return np.sort(by_arrival[: last + 1])

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
    """

    def __init__(
        self, n_features: int, n_drawn: int, *, momentum: float, exploration: float, adaptive: bool, seed: int
    ):
        self.probabilities = np.full(n_features, 1.0 / n_features)
        self.n_drawn = n_drawn
        self._momentum = momentum
        self._exploration = exploration
        self._adaptive = adaptive
        self._seed = seed
        self._log_weights = _native.log_of(self.probabilities)

    def sample(self, iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Draw columns without replacement, in ascending order."""
        return _native.race(self._log_weights, self.n_drawn, self._seed, iteration, _native.Purpose.FEATURES, threads)

    def update(self, features: NDArray[np.int64], importances: NDArray[np.float64]) -> None:
        """Move q inside the minipatch towards the importances, which sum to 1, and keep its mass there.

        Importances that are all zero leave q alone: the learner had nothing to say.
        """
        if not self._adaptive or not importances.any():
            return
        _native.move_probabilities(
            self.probabilities, self._log_weights, features, importances, self._momentum, self._exploration
        )


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


class AutoSize(NamedTuple):
    """What "auto" means: a share, but not fewer than some number and not more than another."""

    share: float
    least: int
    most: int

    def find(self, n_all: int) -> int:
        """Find the size for so many in all."""
        return min(max(int(self.share * n_all), self.least), self.most)


class PatchSizes(NamedTuple):
    """What "auto" means for the rows and the features of a minipatch."""

    rows: AutoSize
    features: AutoSize


#: A tenth of the rows, as the paper advises, in bounds that keep small data from starving and large data fast.
CLASSIFIER_SIZES = PatchSizes(rows=AutoSize(0.1, 500, 5000), features=AutoSize(0.2, 8, 100))
#: Means of trees need larger ones than votes: there is no majority that an odd tree could not change.
REGRESSOR_SIZES = PatchSizes(rows=AutoSize(0.3, 1, 20_000), features=AutoSize(1 / 3, 25, 100))


def find_patch_rows(max_samples: Size, n_samples: int, auto: AutoSize = CLASSIFIER_SIZES.rows) -> int:
    """Turn ``max_samples`` into a number of rows; "auto" is never more than half of them.

    Examples
    --------
    >>> [find_patch_rows("auto", n) for n in (50, 500, 5000, 5_000_000)]
    [25, 250, 500, 5000]
    """
    if max_samples == "auto":
        return max(1, min(auto.find(n_samples), n_samples // 2))
    return _find_size("max_samples", max_samples, n_samples)


def find_patch_features(max_features: Size, n_features: int, auto: AutoSize = CLASSIFIER_SIZES.features) -> int:
    """Turn ``max_features`` into a number of columns.

    Examples
    --------
    >>> [find_patch_features("auto", m) for m in (4, 30, 180, 10_000)]
    [4, 8, 36, 100]
    """
    if max_features == "auto":
        return min(n_features, auto.find(n_features))
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
