"""From votes to probabilities: a map that is fitted on out-of-patch votes, so that no row has to be held out."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

#: Slopes lie between these: above zero, so that the class with the most votes always is the most probable one.
MIN_SLOPE, MAX_SLOPE = 1e-2, 1e3

#: No log-odds are larger, so that no probability is rounded to 0 or 1.
MAX_LOGIT = 34.0

#: Numbers of votes that slopes are fitted to at most: a few parameters need no more, and a fit must end soon when it is
#: interrupted.
MAX_COUNTS = 400_000


class VoteCalibration:
    """Turns the votes for a row into the probabilities of the classes.

    With v votes for a class, its probability is in proportion to ``2 v + 1`` to the power of a slope, which belongs to
    the class that wins the row. Slopes of 1 give the raw share of votes, with half a vote more for each class. Boosted
    votes are nearer to a draw than they deserve, so slopes are mostly larger. For two classes that is beta calibration
    that keeps 1/2 where it is.

    Parameters
    ----------
    slopes : array-like of shape (n_classes,)
        One for each class.

    Attributes
    ----------
    slopes : float64 array of shape (n_classes,)
        The slopes.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost.outputs.calibration import VoteCalibration
    >>> counts, winners = np.array([[8, 0], [1, 7]]), np.array([0, 1])
    >>> VoteCalibration([1, 1]).predict(counts, winners).round(2)
    array([[0.94, 0.06],
           [0.17, 0.83]])
    >>> VoteCalibration([2, 3]).predict(counts, winners).round(4)
    array([[0.9966, 0.0034],
           [0.0079, 0.9921]])
    """

    def __init__(self, slopes: ArrayLike):
        self.slopes = np.array(slopes, dtype=np.float64)
        # A NaN fails both comparisons.
        if self.slopes.ndim != 1 or not np.all((self.slopes >= MIN_SLOPE) & (self.slopes <= MAX_SLOPE)):
            raise ValueError(
                f"The slopes of a calibration are between {MIN_SLOPE:g} and {MAX_SLOPE:g}, not {slopes!r}."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # which checks

    @classmethod
    def fit(
        cls,
        counts: NDArray[np.integer],
        labels: NDArray[np.integer],
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Fit the slopes to rows that were judged by learners which never saw them.

        Rows without such learners, rows that no class wins and rows of weight 0 do not count. If what remains is of one
        class, or nothing, the raw share is all there is.

        Parameters
        ----------
        counts : integer array of shape (n_samples, n_classes)
            Votes for each class of the learners that never saw the row.
        labels : integer array of shape (n_samples,)
            Codes of the classes.
        weights : float64 array of shape (n_samples,), default=None
            Weights of the rows; only their ratios matter.

        Returns
        -------
        calibration : VoteCalibration
            The fitted map.

        Examples
        --------
        >>> import numpy as np
        >>> from mpboost.outputs.calibration import VoteCalibration
        >>> counts, labels = np.array([[6, 3], [5, 4], [4, 5], [3, 6]] * 50), np.array([0, 0, 1, 1] * 50)
        >>> VoteCalibration.fit(counts, labels).predict(np.array([[6, 3]]), np.array([0])).round(3)
        array([[1., 0.]])
        """
        n_rows, n_classes = counts.shape
        if counts.size > MAX_COUNTS:
            rows = _pick_rows(n_rows, MAX_COUNTS // n_classes)
            counts, labels = counts[rows], labels[rows]
            weights = None if weights is None else weights[rows]
        judged = counts.any(axis=1) if weights is None else counts.any(axis=1) & (weights > 0)
        counts, labels = counts[judged], labels[judged]
        if not len(labels) or labels.min() == labels.max():
            return cls(np.ones(n_classes))
        if weights is not None:
            weights = weights[judged] / weights[judged].mean()
        logs = np.log(2.0 * np.ascontiguousarray(counts.T) + 1.0)  # sums over few classes are fast this way round
        slopes = []
        winners = np.where(np.sum(counts == counts.max(axis=1, keepdims=True), axis=1) == 1, counts.argmax(axis=1), -1)
        for winner in range(n_classes):
            won = winners == winner
            weights_won = None if weights is None else weights[won]
            slopes.append(_fit_slope(logs.compress(won, axis=1), labels[won], winner, weights_won))
        return cls(slopes)

    def predict(self, counts: NDArray[Any], winners: NDArray[np.integer]) -> NDArray[np.float64]:
        """Give the probabilities of the classes.

        Parameters
        ----------
        counts : array of shape (n_samples, n_classes)
            Votes for each class; at a tie the winner's are a little more.
        winners : integer array of shape (n_samples,)
            The class that has the most.

        Returns
        -------
        probabilities : float64 array of shape (n_samples, n_classes)
            Strictly between 0 and 1; rows sum to 1. The winner's is the largest.
        """
        logits = np.log(2.0 * counts + 1.0)
        logits -= logits[np.arange(len(logits)), winners, None]
        logits *= self.slopes[winners, None]
        odds = np.exp(np.maximum(logits, -MAX_LOGIT))
        return odds / odds.sum(axis=1, keepdims=True)


def _pick_rows(n_rows: int, n_picked: int) -> NDArray[np.int64]:
    """Pick one row out of each of so many equal stretches, always the same ones; but not at equal distances."""
    n_picked = max(1, n_picked)
    starts = np.arange(n_picked) * n_rows // n_picked
    lengths = np.diff(starts, append=n_rows)
    return starts + np.random.default_rng(0).integers(0, lengths)


def _fit_slope(
    logs: NDArray[np.float64], labels: NDArray[np.integer], winner: int, weights: NDArray[np.float64] | None
) -> float:
    """Find the slope of the greatest likelihood for rows that one class wins, by the root of its derivative.

    One more row, half of it right and half of it wrong at a typical margin, keeps the slope finite where all rows are
    right, and modest where there are few.
    """
    if not len(labels):
        return 1.0
    behind = logs - logs[winner]  # of the classes, against the winner
    own = behind[labels, np.arange(len(labels))]
    margins = -np.partition(behind, -2, axis=0)[-2]
    typical = np.sqrt(np.average(margins**2, weights=weights))

    def descent(log_slope: float) -> float:
        slope = np.exp(log_slope)
        odds = np.exp(slope * behind)
        steps = own - np.sum(odds * behind, axis=0) / np.sum(odds, axis=0)
        if weights is not None:
            steps *= weights
        # A sum of products, not a dot product: that may depend on the number of threads.
        return float(np.sum(steps) - 0.5 * typical * np.tanh(0.5 * slope * typical))

    low, high = np.log(MIN_SLOPE), np.log(MAX_SLOPE)
    # The likelihood is concave: its derivative falls, and changes its sign at most once.
    if descent(low) <= 0:
        return MIN_SLOPE
    if descent(high) >= 0:
        return MAX_SLOPE
    return float(np.exp(brentq(descent, low, high, xtol=1e-6)))
