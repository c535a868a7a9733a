"""Converts votes to probabilities; fitted on out-of-patch votes, so that no rows have to be held out."""

from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from mpboost import _native
from mpboost.outputs.statistics import pick_rows

#: Limits of slopes. They are positive, so that the class with the most votes is always the most probable one.
MIN_SLOPE, MAX_SLOPE = 1e-2, 1e3

#: Limit of log-odds, so that no probability is rounded to 0 or 1.
MAX_LOGIT = 34.0

#: The most vote counts that slopes are fitted to: a few parameters need no more, and an interrupted fit must end soon.
MAX_COUNTS = 400_000

#: Steps of Newton's method for two parameters: 5 to 8 usually.
MAX_NEWTON_STEPS = 20


class VoteCalibration:
    """Converts the votes for a row to the probabilities of the classes.

    The probability of a class with v votes is proportional to ``(2 v + 1) ** slope``, with the slope of the class that
    wins the row. Slopes of 1 give the raw share of votes, with half a vote added to each class. Boosted votes are
    usually too close to a tie, so most slopes are larger. For two classes this is beta calibration that maps 1/2 to
    1/2.

    Parameters
    ----------
    slopes : array-like of shape (n_classes,)
        One slope for each class.

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
                f"The slopes of a calibration must be between {MIN_SLOPE:g} and {MAX_SLOPE:g}, not {slopes!r}."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # checks the slopes

    @classmethod
    def fit(
        cls,
        counts: NDArray[np.integer],
        labels: NDArray[np.integer],
        weights: NDArray[np.float64] | None = None,
        *,
        max_counts: int = MAX_COUNTS,
    ) -> Self:
        """Fit the slopes to the votes of learners that never saw the row.

        Rows without such votes, rows with a tie and rows of weight 0 are ignored. If no rows are left, or only rows of
        one class, all slopes are 1.

        Parameters
        ----------
        counts : integer array of shape (n_samples, n_classes)
            Votes for each class, by the learners that never saw the row.
        labels : integer array of shape (n_samples,)
            Codes of the classes.
        weights : float64 array of shape (n_samples,), default=None
            Weights of the rows; only their ratios matter.
        max_counts : int
            Rows times classes that are used at most; if there are more, a sample of rows, always the same.

        Returns
        -------
        calibration : VoteCalibration
            The fitted calibration.

        Examples
        --------
        >>> import numpy as np
        >>> from mpboost.outputs.calibration import VoteCalibration
        >>> counts, labels = np.array([[6, 3], [5, 4], [4, 5], [3, 6]] * 50), np.array([0, 0, 1, 1] * 50)
        >>> VoteCalibration.fit(counts, labels).predict(np.array([[6, 3]]), np.array([0])).round(3)
        array([[1., 0.]])
        """
        n_rows, n_classes = counts.shape
        if counts.size > max_counts:
            rows = pick_rows(n_rows, max(1, max_counts // n_classes))
            counts, labels = counts[rows], labels[rows]
            weights = None if weights is None else weights[rows]
        by_class = np.ascontiguousarray(counts.T)  # few classes are looked through faster in this layout
        judged = by_class.any(axis=0) if weights is None else by_class.any(axis=0) & (weights > 0)
        if not judged.all():
            by_class, labels = by_class.compress(judged, axis=1), labels[judged]
            weights = None if weights is None else weights[judged]
        if not len(labels) or labels.min() == labels.max():
            return cls(np.ones(n_classes))
        if weights is not None:
            weights = weights / weights.mean()
        logs = _native.log_of(2.0 * by_class + 1.0)
        slopes = []
        is_top = by_class == by_class.max(axis=0)
        is_clear = is_top.sum(axis=0) == 1
        for winner in range(n_classes):
            won = np.flatnonzero(is_top[winner] & is_clear)
            weights_won = None if weights is None else weights[won]
            slopes.append(_fit_slope(logs.take(won, axis=1), labels[won], winner, weights_won))
        return cls(slopes)

    def predict(self, counts: NDArray[Any], winners: NDArray[np.integer]) -> NDArray[np.float64]:
        """Compute the probabilities of the classes.

        Parameters
        ----------
        counts : array of shape (n_samples, n_classes)
            Votes for each class; at a tie, the winner has a little more than the others.
        winners : integer array of shape (n_samples,)
            The class with the most votes.

        Returns
        -------
        probabilities : float64 array of shape (n_samples, n_classes)
            Strictly between 0 and 1; rows sum to 1. The winner has the largest.
        """
        logits = _native.log_of(2.0 * counts + 1.0)
        logits -= logits[np.arange(len(logits)), winners, None]
        logits *= self.slopes[winners, None]
        odds = _native.exp_of(np.maximum(logits, -MAX_LOGIT))
        return odds / odds.sum(axis=1, keepdims=True)


def compute_calibrated_loss(
    raw: NDArray[np.float64], codes: NDArray[np.integer], weights: NDArray[np.float64] | None
) -> float:
    """Compute the log loss that is left if log odds are corrected by the slope and the intercept that fit best.

    It tells how well a model orders rows, whatever the level of its log odds. Training with class weights shifts this
    level on purpose, so the log loss itself would tell more about the shift. With more than two classes it is the sum
    of the losses of telling each class from the rest.

    Parameters
    ----------
    raw : float64 array of shape (n_rows,) or (n_rows, n_classes)
        Log odds: one number per row for two classes, one per class for more.
    codes : integer array of shape (n_rows,)
        Codes of the classes: 0, 1, 2, ...
    weights : float64 array of shape (n_rows,) or None
        Weights of the rows.

    Returns
    -------
    loss : float
        The mean loss of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> raw, codes = np.repeat([3.0, 5.0], 100), np.repeat([0, 1, 0, 1], [80, 20, 20, 80])
    >>> print(round(compute_calibrated_loss(raw, codes, None), 2))  # that of log odds of -1.4 and 1.4
    0.5
    """
    w = np.full(len(codes), 1.0 / len(codes)) if weights is None else weights / weights.sum()
    if raw.ndim == 1:
        return _fit_line(raw, codes == 1, w)
    # Log odds of a class against the rest.
    behind = raw - raw.max(axis=1, keepdims=True)
    odds = _native.exp_of(behind)
    total = odds.sum(axis=1, keepdims=True)
    against = behind - _native.log_of(total) - _native.log1p_of(-np.minimum(odds / total, 1.0 - 1e-15))
    return sum(_fit_line(against[:, k], codes == k, w) for k in range(raw.shape[1]))


def _fit_line(raw: NDArray[np.float64], is_positive: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """Fit log odds ``slope * raw + intercept`` by Newton's method; return the log loss. Weights sum to 1."""
    raw = raw - np.sum(raw * weights)
    raw = raw / max(np.sqrt(np.sum(raw**2 * weights)), 1e-300)
    signs = np.where(is_positive, 1.0, -1.0)

    def compute_loss(line: NDArray[np.float64]) -> float:
        return float(np.sum(_native.softplus_of(-signs * (line[0] * raw + line[1])) * weights))

    share = min(max(float(weights[is_positive].sum()), 1e-9), 1.0 - 1e-9)
    line = np.array([1.0, _native.log_of(share / (1.0 - share))])
    loss = compute_loss(line)
    for _ in range(MAX_NEWTON_STEPS):
        probabilities = _native.logistic_of(line[0] * raw + line[1])
        errors = (probabilities - is_positive) * weights
        curves = np.maximum(probabilities * (1.0 - probabilities), 1e-12) * weights
        # Distances from the mean make the steps of slope and intercept independent.
        mean = np.sum(curves * raw) / np.sum(curves)
        slope_step = np.sum(errors * (raw - mean)) / max(np.sum(curves * (raw - mean) ** 2), 1e-300)
        step = np.array([slope_step, np.sum(errors) / np.sum(curves) - slope_step * mean])
        last_loss, last_line = loss, line
        for shortened in (1.0, 0.5, 0.25, 0.125, 0.0625):
            line = last_line - shortened * step
            loss = compute_loss(line)
            if loss < last_loss:
                break
        if not loss < (1.0 - 1e-5) * last_loss:
            return min(loss, last_loss)
    return loss


def _fit_slope(
    logs: NDArray[np.float64], labels: NDArray[np.integer], winner: int, weights: NDArray[np.float64] | None
) -> float:
    """Compute the maximum-likelihood slope for the rows that one class wins, as the root of the derivative.

    One imagined row is added, half right and half wrong at a typical margin. It keeps the slope finite if all rows are
    right, and small if there are few rows.
    """
    if not len(labels):
        return 1.0
    behind = logs - logs[winner]  # how far each class is behind the winner
    own = behind[labels, np.arange(len(labels))]
    lags = np.delete(behind, winner, axis=0).max(axis=0)  # of the strongest rival
    typical = np.sqrt(np.average(lags**2, weights=weights))

    def average_behind(slope: float) -> NDArray[np.float64]:
        """Average over classes by their probabilities."""
        if len(behind) == 2:  # the winner is not behind
            return np.asarray(_native.logistic_of(slope * lags) * lags)
        odds = _native.exp_of(slope * behind)
        return np.asarray(np.sum(odds * behind, axis=0) / np.sum(odds, axis=0))

    @cache  # for the ends, which brentq asks for again
    def descent(log_slope: float) -> float:
        slope = _native.exp_of(log_slope)
        steps = average_behind(slope)
        np.subtract(own, steps, out=steps)
        if weights is not None:
            steps *= weights
        # A sum of products: the result of a dot product may depend on the number of threads.
        return float(np.sum(steps) - typical * (_native.logistic_of(slope * typical) - 0.5))

    low, high = _native.log_of(MIN_SLOPE), _native.log_of(MAX_SLOPE)
    # The likelihood is concave: its derivative decreases, and changes its sign at most once.
    if descent(low) <= 0:
        return MIN_SLOPE
    if descent(high) >= 0:
        return MAX_SLOPE
    return _native.exp_of(brentq(descent, low, high, xtol=1e-6))
