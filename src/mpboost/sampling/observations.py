"""Draws rows from p, given the logarithms of its weights, by the exponential race."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.sampling.draws import Draw, sample_together
from mpboost.sampling.questions import Labels

#: Rows of a minipatch that are looked at first for two classes: almost always they have them.
N_FIRST = 16
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

    def sample(
        self, iterations: range, questions: Sequence[Labels[np.generic]], threads: _native.Threads
    ) -> list[Draw]:
        """Draw the rows of the minipatches of a round: those for the same question in one pass."""
        sample = partial(self._sample, threads)
        return sample_together(iterations, questions, lambda question: question, sample)

    def _sample(self, threads: _native.Threads, iterations: list[int], question: Labels[np.generic]) -> list[Draw]:
        """Draw rows without replacement, of at least two classes if labels are classes; compute their weights.

        A row of weight w counts as w copies, and the draw ends when ``n_drawn`` copies are expected to be in. So rows
        of tiny weight are not drawn just to fill a minipatch, and heavy rows are not in every minipatch. Unseen rows
        are the next ones in the race: a race has no memory, so they are a draw from all rows that are left.
        """
        n_unseen = min(self.n_drawn, len(question.weights) - self.n_drawn) if self._draws_unseen else 0
        races = question.weights.race(self.n_drawn, n_unseen, self._seed, np.array(iterations), threads)
        return [self._complete(iteration, question, *race) for iteration, race in zip(iterations, races, strict=True)]

    def _complete(self, iteration: int, question: Labels[np.generic], rows: Positions, unseen: Positions) -> Draw:
        """Make a draw of the first rows to arrive and the next ones."""
        log_deadline = 0.0
        if question.sample_weights is not None:
            rows, unseen, log_deadline = self._count_weights(iteration, question, np.append(rows, unseen))
        if question.are_classes:
            completed = complete_classes(rows, question, self._seed, iteration)
            if completed is not rows:
                rows, unseen = completed, np.setdiff1d(unseen, completed, assume_unique=True)
        return Draw(rows, unseen, weigh_rows(question, rows, log_deadline))

    def _count_weights(self, iteration: int, question: Labels[np.generic], rows: Positions) -> _Arrivals:
        """Divide the rows of a race anew, by how many copies of them are in."""
        draw = self._seed, iteration, _native.Purpose.OBSERVATIONS
        log_arrivals = _native.log_arrivals(question.weights.take(rows), rows, *draw)
        order = np.lexsort((rows, log_arrivals))  # ties go to rows with lower positions
        rows = rows[order]
        n_seen, log_deadline = self._fill(question, rows, log_arrivals[order])
        n_unseen = n_seen if self._draws_unseen else 0
        return _Arrivals(np.sort(rows[:n_seen]), np.sort(rows[n_seen : n_seen + n_unseen]), log_deadline)

    def _fill(self, question: Labels[np.generic], by_arrival: Positions, log_arrivals: Floats) -> tuple[int, float]:
        """Count the rows that fill a minipatch, in the order of arrival; return also the deadline of the draw."""

        def count(last: int) -> float:  # expected copies before the next row arrives
            return float(_count_copies(question, by_arrival[: last + 1], log_arrivals[last + 1]).sum())

        last = self.n_drawn - 1
        if self.n_drawn < len(question.weights):  # else all rows are drawn
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
    labels = question.values
    if len(rows) == 1 or not _are_of_one_class(rows[:N_FIRST], labels) or not _are_of_one_class(rows, labels):
        return rows

    def pick(equals: Positions) -> np.int64:  # random tie-break: otherwise the same row would always be picked
        draw = seed, iteration, _native.Purpose.COMPLETION
        return equals[_native.log_arrivals(np.zeros(len(equals)), equals, *draw).argmin()]

    others = np.flatnonzero(labels != labels[rows[0]])
    if not len(others):
        return rows
    others_weights, rows_weights = question.weights.take(others), question.weights.take(rows)
    swapped_in = pick(others[others_weights == others_weights.max()])
    swapped_out = pick(rows[rows_weights == rows_weights.min()])
    return np.sort(np.append(rows[rows != swapped_out], swapped_in))


def _are_of_one_class(rows: Positions, labels: NDArray[np.generic]) -> bool:
    return bool((labels[rows] == labels[rows[0]]).all())


def _count_copies(question: Labels[np.generic], rows: Positions, log_deadline: float) -> Floats:
    """Compute the expected number of copies of each row that arrive before the deadline."""
    assert question.sample_weights is not None
    weights = question.sample_weights[rows]
    with np.errstate(over="ignore"):  # infinity is right: such a row, and each copy of it, is sure to arrive in time
        chances = np.maximum(_native.exp_of(question.weights.take(rows) + log_deadline), 1e-12)
        return weights * _native.expm1_of(-chances / weights) / _native.expm1_of(-chances)
