"""From votes to probabilities: a map that is fitted on out-of-patch votes, so that no row has to be held out."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit

#: Slopes lie between these: above zero, so that the class with more votes always is the more probable one.
MIN_SLOPE, MAX_SLOPE = 1e-2, 1e3

#: No logit is larger, so that no probability is rounded to 0 or 1.
MAX_LOGIT = 34.0


#: Rows that slopes are fitted to at most: two numbers need no more, and a fit must end soon when it is interrupted.
MAX_ROWS = 200_000


class VoteCalibration:
    """Turns the votes for a row into the probability of the positive class.

    With v votes (-1 and +1, summed) of T learners, the logit of the probability is a slope times
    ``log((T + v + 1) / (T - v + 1))``, with one slope for rows that the negative class wins and one for the others:
    beta calibration that keeps 1/2 where it is. Slopes of 1 give the raw share of votes, with one more vote for each
    class. Boosted votes are nearer to a draw than they deserve, so slopes are mostly larger.

    Parameters
    ----------
    parameters : array-like of shape (2,), default=(1, 1)
        The slope where the negative and where the positive class wins.

    Attributes
    ----------
    parameters : float64 array of shape (2,)
        The slopes.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost.calibration import VoteCalibration
    >>> VoteCalibration().predict(np.array([-8, 0, 8]), n_learners=8, tie_label=1).round(2)
    array([0.06, 0.53, 0.94])
    >>> VoteCalibration([2, 3]).predict(np.array([-8, 0, 8]), n_learners=8, tie_label=1).round(4)
    array([0.0034, 0.5827, 0.9998])
    """

    def __init__(self, parameters: ArrayLike = (1.0, 1.0)):
        self.parameters = np.array(parameters, dtype=np.float64)
        # A NaN fails both comparisons.
        if self.parameters.shape != (2,) or not np.all((self.parameters >= MIN_SLOPE) & (self.parameters <= MAX_SLOPE)):
            raise ValueError(
                f"A calibration has two parameters between {MIN_SLOPE:g} and {MAX_SLOPE:g}, not {parameters!r}."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # which checks

    @classmethod
    def fit(
        cls,
        votes: NDArray[np.integer],
        n_learners: NDArray[np.integer],
        labels: NDArray[np.int8],
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Fit the slopes to rows that were judged by learners which never saw them.

        Rows without such learners and rows of weight 0 do not count. If what remains is of one class, or nothing, the
        raw share is all there is.

        Parameters
        ----------
        votes : integer array of shape (n_samples,)
            G: the sum of the votes, -1 or +1, of the learners that never saw the row.
        n_learners : integer array of shape (n_samples,)
            How many learners these are.
        labels : int8 array of shape (n_samples,)
            -1 or +1.
        weights : float64 array of shape (n_samples,), default=None
            Weights of the rows; only their ratios matter.

        Returns
        -------
        calibration : VoteCalibration
            The fitted map.

        Examples
        --------
        >>> import numpy as np
        >>> from mpboost.calibration import VoteCalibration
        >>> votes, labels = np.array([-3, -1, 1, 3] * 50), np.array([-1, -1, 1, 1] * 50)
        >>> calibration = VoteCalibration.fit(votes, np.full(200, 9), labels)
        >>> calibration.predict(np.array([-3, 3]), n_learners=9, tie_label=1).round(3)
        array([0., 1.])
        """
        if len(votes) > MAX_ROWS:
            rows = _pick_rows(len(votes))
            votes, n_learners, labels = votes[rows], n_learners[rows], labels[rows]
            weights = None if weights is None else weights[rows]
        judged = n_learners > 0 if weights is None else (n_learners > 0) & (weights > 0)
        labels = labels[judged]
        if not len(labels) or labels.min() == labels.max():
            return cls()
        margins = _raw_logits(votes[judged], n_learners[judged])
        wins = margins < 0, margins > 0
        margins *= labels
        if weights is not None:
            weights = weights[judged] / weights[judged].mean()
        return cls([_fit_slope(margins[won], None if weights is None else weights[won]) for won in wins])

    def predict(self, votes: NDArray[np.integer], n_learners: int, tie_label: int) -> NDArray[np.float64]:
        """Give the probability of the positive class.

        Parameters
        ----------
        votes : integer array of shape (n_samples,)
            F: the sum of the votes, -1 or +1, of all learners.
        n_learners : int
            How many learners these are.
        tie_label : int
            -1 or +1: the class that gets half a vote where none is ahead.

        Returns
        -------
        probabilities : float64 array of shape (n_samples,)
            Strictly between 0 and 1, and on the side of 1/2 of the class that is predicted.
        """
        logits = _raw_logits(np.where(votes == 0, 0.5 * tie_label, votes), n_learners)
        logits *= np.where(logits < 0, *self.parameters)
        return expit(np.clip(logits, -MAX_LOGIT, MAX_LOGIT))


def _pick_rows(n_rows: int) -> NDArray[np.int64]:
    """Pick one row out of each of MAX_ROWS equal stretches, always the same ones; but not at equal distances."""
    starts = np.arange(MAX_ROWS) * n_rows // MAX_ROWS
    lengths = np.diff(starts, append=n_rows)
    return starts + np.random.default_rng(0).integers(0, lengths)


def _raw_logits(votes: NDArray[np.number], n_learners: NDArray[np.integer] | int) -> NDArray[np.float64]:
    return np.log((n_learners + votes + 1.0) / (n_learners - votes + 1.0))


def _fit_slope(margins: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Find the slope of the greatest likelihood, given margins y * logit, by the root of its derivative.

    One more row, half of it right and half of it wrong at a typical margin, keeps the slope finite where all rows are
    right, and modest where there are few.
    """
    if not len(margins):
        return 1.0
    typical = np.sqrt(np.average(margins**2, weights=weights))
    weighted = margins if weights is None else weights * margins

    def descent(log_slope: float) -> float:
        slope = np.exp(log_slope)
        chances = expit(-slope * margins)
        chances *= weighted
        # A sum of products, not a dot product: that may depend on the number of threads.
        return float(np.sum(chances) - 0.5 * typical * np.tanh(0.5 * slope * typical))

    low, high = np.log(MIN_SLOPE), np.log(MAX_SLOPE)
    # The likelihood is concave: its derivative falls, and changes its sign at most once.
    if descent(low) <= 0:
        return MIN_SLOPE
    if descent(high) >= 0:
        return MAX_SLOPE
    return float(np.exp(brentq(descent, low, high, xtol=1e-6)))
