"""Draws rows from p, given the logarithms of its weights, by the exponential race."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost._shards import Shards, WholeTable
from mpboost.sampling.candidates import Candidates, JoinedCandidates, Likeliest, count_candidates, find_candidates
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


class _Answer(NamedTuple):
    """What follows from the candidates of all shards.

    Attributes
    ----------
    draws : dict of int to Draw
        The draws that are complete, by their place in the round.
    asked : dict
        The places to ask again about. Those with a class need the likeliest row of another class.
    is_short : bool
        Whether a shard may have more winners than it sent candidates.
    shares : list of float
        The largest share of the winners of a race that each shard had.
    """

    draws: dict[int, Draw]
    asked: dict[int, Any]
    is_short: bool
    shares: list[float]


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
    shards : Shards, default=None
        The parts of the rows, of which this sampler sees one; None if it sees all.
    """

    def __init__(self, n_drawn: int, seed: int, draws_unseen: bool = False, shards: Shards | None = None):
        self.n_drawn = n_drawn
        self._seed = seed
        self._draws_unseen = draws_unseen
        self._shards = shards
        self._share = 1.0 if shards is None else (shards.end_row - shards.first_row) / shards.n_rows

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
        shards = self._shards or WholeTable(len(question.weights))
        n_unseen = min(self.n_drawn, shards.n_rows - self.n_drawn) if self._draws_unseen else 0
        if shards.size > 1:
            return self._sample_from(shards, self.n_drawn + n_unseen, iterations, question, threads)
        races = question.weights.race(self.n_drawn, n_unseen, self._seed, iterations, threads)
        draws = []
        for iteration, race in zip(iterations, races, strict=True):
            arrivals = self._fill(iteration, question, shards.n_rows, *race)
            rows = complete_classes(arrivals.rows, question, self._seed, iteration)
            draws.append(_make_draw(question, arrivals, rows))
        return draws

    def _sample_from(
        self,
        shards: Shards,
        n_wanted: int,
        iterations: list[int],
        question: Labels[np.generic],
        threads: _native.Threads,
    ) -> list[Draw]:
        """Draw rows from all shards: each sends the first of its rows to arrive, and more if they do not suffice."""
        asked: dict[int, Any] = dict.fromkeys(range(len(iterations)))
        n_sent, draws = count_candidates(self._share, n_wanted), dict[int, Draw]()
        while asked:
            races = {place: (iterations[place], label) for place, label in asked.items()}
            find = partial(self._find, shards, question, n_sent, [*races.values()], threads)
            answer = shards.exchange(find, partial(self._join, question, n_wanted, shards.n_rows, races))
            draws |= answer.draws
            asked = answer.asked
            n_sent = min(2 * n_sent, n_wanted) if answer.is_short else n_sent
            self._share = answer.shares[shards.rank]
        return [draws[place] for place in range(len(iterations))]

    def _find(
        self,
        shards: Shards,
        question: Labels[np.generic],
        n_sent: int,
        races: list[tuple[int, Any]],
        threads: _native.Threads,
    ) -> list[tuple[Candidates, Likeliest | None]]:
        """Find the candidates of this shard in each race and, if it is given a class, the likeliest row of another."""
        iterations = [iteration for iteration, _ in races]
        are_weighed = question.sample_weights is not None or any(label is not None for _, label in races)
        candidates = find_candidates(question, n_sent, self._seed, iterations, shards, threads, are_weighed=are_weighed)
        others = (
            None if label is None else find_other_class(question, label, self._seed, iteration, shards.first_row)
            for iteration, label in races
        )
        return [*zip(candidates, others, strict=True)]

    def _join(
        self,
        question: Labels[np.generic],
        n_wanted: int,
        n_rows: int,
        races: dict[int, tuple[int, Any]],
        parts: Sequence[list[tuple[Candidates, Likeliest | None]]],
    ) -> _Answer:
        """Draw rows from the candidates of all shards, as ``_sample`` does from all rows."""
        draws, asked, is_short, shares = dict[int, Draw](), dict[int, Any](), False, [0.0] * len(parts)
        for (place, (iteration, label)), of_race in zip(races.items(), zip(*parts, strict=True), strict=True):
            joined = JoinedCandidates([candidates for candidates, _ in of_race], self.n_drawn, n_wanted)
            shares = [*map(max, shares, joined.shares)]
            if joined.is_short:
                asked[place], is_short = label, True
                continue
            if question.sample_weights is None and label is None:
                one_class = None
                if question.are_classes and self.n_drawn > 1:
                    one_class = joined.find_one_class()
                if one_class is None:
                    draws[place] = Draw(joined.first, joined.following)
                else:
                    asked[place] = one_class
                continue
            other = min((other for _, other in of_race if other is not None), default=None)
            about = joined.make_question(question, other)
            arrivals = self._fill(iteration, about, n_rows, joined.first, joined.following)
            if label is None and is_of_one_class(about, arrivals.rows):
                asked[place] = about.values[arrivals.rows[0]]
                continue
            rows = arrivals.rows
            if other is not None:
                rows = replace_least_likely(rows, about, other.row, self._seed, iteration)
            draws[place] = _make_draw(about, arrivals, rows)
        return _Answer(draws, asked, is_short, shares)

    def _fill(
        self, iteration: int, question: Labels[np.generic], n_rows: int, rows: Positions, unseen: Positions
    ) -> _Arrivals:
        """Divide the rows of a race, of ``n_rows`` in all, by how many copies of them are in."""
        if question.sample_weights is None:
            return _Arrivals(rows, unseen, 0.0)
        rows = np.append(rows, unseen)
        draw = self._seed, iteration, _native.Purpose.OBSERVATIONS
        log_arrivals = _native.log_arrivals(question.weights.take(rows), rows, *draw)
        order = np.lexsort((rows, log_arrivals))  # ties go to rows with lower positions
        rows, log_arrivals = rows[order], log_arrivals[order]

        def count(last: int) -> float:  # expected copies before the next row arrives
            return float(_count_copies(question, rows[: last + 1], log_arrivals[last + 1]).sum())

        last = self.n_drawn - 1
        if self.n_drawn < n_rows:  # else all rows are drawn
            last = bisect_left(range(last), float(self.n_drawn), key=count)
        n_seen = last + 1
        n_unseen = n_seen if self._draws_unseen else 0
        return _Arrivals(np.sort(rows[:n_seen]), np.sort(rows[n_seen : n_seen + n_unseen]), float(log_arrivals[last]))


def _make_draw(question: Labels[np.generic], arrivals: _Arrivals, rows: Positions) -> Draw:
    """Make a draw of rows that arrived, of which one may have been replaced."""
    unseen = arrivals.unseen
    if rows is not arrivals.rows:
        unseen = np.setdiff1d(unseen, rows, assume_unique=True)
    return Draw(rows, unseen, weigh_rows(question, rows, arrivals.log_deadline))


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
    if not is_of_one_class(question, rows):
        return rows
    other = find_other_class(question, question.values[rows[0]], seed, iteration)
    return rows if other is None else replace_least_likely(rows, question, other.row, seed, iteration)


def is_of_one_class(question: Labels[np.generic], rows: Positions) -> bool:
    """Tell whether labels are classes, and several rows are all of one."""
    if not question.are_classes or len(rows) == 1:
        return False
    values, (first, *others) = question.values, rows[:N_FIRST].tolist()
    label = values[first]
    if any(values[row] != label for row in others):  # the first few nearly always tell
        return False
    return bool((values[rows[N_FIRST:]] == label).all())


def find_other_class(
    question: Labels[np.generic], label: Any, seed: int, iteration: int, first_row: int = 0
) -> Likeliest | None:
    """Find the likeliest row of another class than that of the label; rows are counted from ``first_row`` on."""
    others = np.flatnonzero(question.values != label)
    if not len(others):
        return None
    log_weights = question.weights.take(others)
    equals = others[log_weights == log_weights.max()]
    row, log_arrival = _pick(equals + first_row, seed, iteration)
    weight = None if question.sample_weights is None else float(question.sample_weights[row - first_row])
    return Likeliest(-float(log_weights.max()), log_arrival, row, question.values[row - first_row], weight)


def replace_least_likely(
    rows: Positions, question: Labels[np.generic], row: int, seed: int, iteration: int
) -> Positions:
    """Replace the least likely of some rows by another one."""
    log_weights = question.weights.take(rows)
    swapped_out, _ = _pick(rows[log_weights == log_weights.min()], seed, iteration)
    return np.sort(np.append(rows[rows != swapped_out], row))


def _pick(equals: Positions, seed: int, iteration: int) -> tuple[int, float]:
    """Pick one of equally likely rows at random: otherwise the same row would always be picked."""
    draw = seed, iteration, _native.Purpose.COMPLETION
    log_arrivals = _native.log_arrivals(np.zeros(len(equals)), equals, *draw)
    first = int(log_arrivals.argmin())
    return int(equals[first]), float(log_arrivals[first])


def _count_copies(question: Labels[np.generic], rows: Positions, log_deadline: float) -> Floats:
    """Compute the expected number of copies of each row that arrive before the deadline."""
    assert question.sample_weights is not None
    weights = question.sample_weights[rows]
    # Infinity is right: such a row, and each copy of it, is sure to arrive in time. Where all rows are drawn, the
    # deadline may be infinite, and a row of weight 0 gives NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        chances = np.fmax(_native.exp_of(question.weights.take(rows) + log_deadline), 1e-12)
        return weights * _native.expm1_of(-chances / weights) / _native.expm1_of(-chances)
