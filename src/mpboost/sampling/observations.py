"""Draws rows from p, given the logarithms of its weights, by the exponential race."""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost.sampling.draws import Draw
from mpboost.sampling.questions import Labels

#: The least weight in training, relative to the largest: adding it to the largest still changes that one.
MIN_RATIO = 1e-9


class _Arrivals(NamedTuple):
    """The rows of a minipatch, the next rows of the race (unseen), and the time when the minipatch was full."""

    rows: Positions
    unseen: Positions
    log_deadline: float


class ObservationSampler:
    """Draws the rows of minipatches from p, given the logarithms of its weights.

    Parameters
    ----------
    n_drawn : int
        Number of rows in a minipatch.
    seed : int
        Determines the draw, together with the iteration.
    draws_unseen : bool, default=False
        Whether to draw as many unseen rows from those outside the minipatch; fewer if fewer are left.
    """

    def __init__(self, n_drawn: int, seed: int, draws_unseen: bool = False):
        self.n_drawn = n_drawn
        self._seed = seed
        self._draws_unseen = draws_unseen

    def sample(self, iteration: int, question: Labels[np.generic], threads: _native.Threads) -> Draw:
        """Draw rows without replacement, of at least two classes if labels are classes; compute their weights.

        A row of weight w counts as w copies, and the draw ends when ``n_drawn`` copies are expected to be in. So rows
        of tiny weight are not drawn just to fill a minipatch, and heavy rows are not in every minipatch. Unseen rows
        are the next ones in the race: a race has no memory, so they are a draw from all rows that are left.
        """
        rows, unseen, log_deadline = self._race(iteration, question, threads)
        if question.are_classes:
            completed = complete_classes(rows, question, self._seed, iteration)
            if completed is not rows:
                rows, unseen = completed, np.setdiff1d(unseen, completed, assume_unique=True)
        return Draw(rows, unseen, weigh_rows(question, rows, log_deadline))

    def _race(self, iteration: int, question: Labels[np.generic], threads: _native.Threads) -> _Arrivals:
        log_weights = question.log_weights
        draw = self._seed, iteration, _native.Purpose.OBSERVATIONS
        n_raced = min(2 * self.n_drawn, len(log_weights)) if self._draws_unseen else self.n_drawn
        rows = _native.race(log_weights, n_raced, *draw, threads)
        if question.sample_weights is None and n_raced == self.n_drawn:
            return _Arrivals(rows, rows[:0], 0.0)
        log_arrivals = _native.log_arrivals(log_weights, rows, *draw)
        n_seen, log_deadline = self.n_drawn, 0.0
        if question.sample_weights is not None:
            order = np.argsort(log_arrivals, kind="stable")
            n_seen, log_deadline = self._fill(question, rows[order], log_arrivals[order])
        n_all = min(2 * n_seen if self._draws_unseen else n_seen, len(rows))
        is_seen, is_drawn = (_are_first(log_arrivals, n) for n in (n_seen, n_all))
        return _Arrivals(rows[is_seen], rows[is_drawn & ~is_seen], log_deadline)

    def _fill(self, question: Labels[np.generic], by_arrival: Positions, log_arrivals: Floats) -> tuple[int, float]:
        """Count the rows that fill a minipatch, in the order of arrival; return also the deadline of the draw."""

        def count(last: int) -> float:  # expected copies before the next row arrives
            return float(_count_copies(question, by_arrival[: last + 1], log_arrivals[last + 1]).sum())

        last = self.n_drawn - 1
        if self.n_drawn < len(question.log_weights):  # else all rows are drawn
            last = bisect_left(range(last), float(self.n_drawn), key=count)
        return last + 1, float(log_arrivals[last])


def weigh_rows(question: Labels[np.generic], rows: Positions, log_deadline: float) -> Floats | None:
    """Compute the weights of the rows of a minipatch in training; None if all are the same.

    A row of weight w stands for w copies of itself in the race. The row is drawn when its first copy arrives, and its
    weight in training is the expected number of copies that arrive before the deadline. This is about 1 if few of many
    rows are drawn, since w already made the row more likely to be drawn, and w if the row is sure to be drawn.
    """
    if question.sample_weights is None:
        return None
    copies = _count_copies(question, rows, log_deadline)
    # Round: the last bits depend on the scale of the weights, and would decide between equally good splits.
    mantissas, exponents = np.frexp(np.maximum(copies, MIN_RATIO * copies.max()))
    weights: Floats = np.ldexp(np.rint(mantissas * 2.0**32) / 2.0**32, exponents)
    return weights


def complete_classes(rows: Positions, question: Labels[np.generic], seed: int, iteration: int) -> Positions:
    """If all rows are of one class, replace the least likely one by the likeliest row of another class."""
    labels, log_weights = question.values, question.log_weights
    patch = labels[rows]
    if len(rows) == 1 or patch.min() != patch.max():
        return rows

    def pick(equals: Positions) -> np.int64:  # random tie-break: otherwise the same row would always be picked
        return equals[_native.log_arrivals(log_weights, equals, seed, iteration, _native.Purpose.COMPLETION).argmin()]

    others = np.flatnonzero(labels != patch[0])
    if not len(others):
        return rows
    others_weights, rows_weights = log_weights[others], log_weights[rows]
    swapped_in = pick(others[others_weights == others_weights.max()])
    swapped_out = pick(rows[rows_weights == rows_weights.min()])
    return np.sort(np.append(rows[rows != swapped_out], swapped_in))


def _count_copies(question: Labels[np.generic], rows: Positions, log_deadline: float) -> Floats:
    """Compute the expected number of copies of each row that arrive before the deadline."""
    assert question.sample_weights is not None
    weights = question.sample_weights[rows]
    with np.errstate(over="ignore"):  # infinity is right: such a row, and each copy of it, is sure to arrive in time
        chances = np.maximum(np.exp(question.log_weights[rows] + log_deadline), 1e-12)
        return weights * np.expm1(-chances / weights) / np.expm1(-chances)


def _are_first(log_arrivals: Floats, n: int) -> Mask:
    """Make a mask of the n items that arrive first; ties go to those with lower positions."""
    are_first: Mask = log_arrivals <= np.partition(log_arrivals, n - 1)[n - 1]
    if np.count_nonzero(are_first) > n:
        are_first[np.argsort(log_arrivals, kind="stable")[n:]] = False
    return are_first
