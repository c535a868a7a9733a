"""A race of rows in several shards: each sends the first of its rows to arrive, and the first of all are drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost._shards import Shards
from mpboost.sampling.questions import Labels
from mpboost.sampling.weights import LogWeights

#: How many rows a shard sends: its expected share of the winners, times a factor, plus some standard deviations.
FACTOR, N_DEVIATIONS = 1.1, 6.0


class Likeliest(NamedTuple):
    """The likeliest row of a kind; of equal ones, that which arrives first. The least of several is the likeliest."""

    minus_log_weight: float
    log_arrival: float
    row: int
    label: Any
    sample_weight: float | None


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows that may win a race, and what a draw needs to know of them.

    Attributes
    ----------
    rows : int64 array of shape (n,)
        The rows, counted over all shards; in ascending order, those of weight zero after all others.
    times : float64 array of shape (n, 3)
        When they arrive, to be compared column by column.
    labels : array of shape (n,)
        Their labels.
    log_weights : float64 array of shape (n,) or (0,)
        The logarithms of their weights, if they matter.
    sample_weights : float64 array of shape (n,) or None
        The users' weights.
    are_all : bool
        Whether these are all rows of the shard.
    """

    rows: Positions
    times: Floats
    labels: NDArray[Any]
    log_weights: Floats
    sample_weights: Floats | None
    are_all: bool


def find_candidates(
    question: Labels[Any],
    n: int,
    seed: int,
    iterations: Sequence[int],
    shards: Shards,
    threads: _native.Threads,
    *,
    are_weighed: bool,
) -> list[Candidates]:
    """Find the first ``n`` rows of this shard to arrive, for each iteration; with their weights, if these matter."""
    n_here = min(n, len(question.weights))
    found = []
    for here, times in question.weights.race_here(n_here, shards.first_row, seed, iterations, threads):
        weights = None if question.sample_weights is None else question.sample_weights[here]
        facts = question.values[here], question.weights.take(here if are_weighed else here[:0]), weights
        found.append(Candidates(here + shards.first_row, times, *facts, n_here == len(question.weights)))
    return found


def count_candidates(share: float, n_wanted: int) -> int:
    """Count the rows that a shard sends, given its expected share of ``n_wanted`` winners.

    Examples
    --------
    >>> count_candidates(0.5, 1000), count_candidates(1.0, 1000)
    (692, 1000)
    """
    expected = FACTOR * share * n_wanted
    return min(n_wanted, math.ceil(expected + N_DEVIATIONS * math.sqrt(expected) + 1.0))


class JoinedCandidates:
    """The candidates of all shards in one race.

    Parameters
    ----------
    parts : sequence of Candidates
        Those of each shard.
    n_first : int
        How many rows the minipatch has.
    n_wanted : int
        How many rows are wanted, with those that arrive next.

    Attributes
    ----------
    first, following : int64 array
        The first ``n_first`` rows of all to arrive, and the next ones; sorted.
    shares : list of float
        The share of each shard in both.
    is_short : bool
        Whether a shard may have more of them than it sent.
    """

    def __init__(self, parts: Sequence[Candidates], n_first: int, n_wanted: int):
        self._parts = parts
        self._rows = np.concatenate([part.rows for part in parts])
        self._labels = np.concatenate([part.labels for part in parts])
        self._is_first, is_wanted = _find_first(self._rows, [part.times for part in parts], n_first, n_wanted)
        # A stable sort takes hardly any time, since rows are in order already unless some have weight zero.
        self.first = np.sort(self._rows[self._is_first], kind="stable")
        self.following = np.sort(self._rows[is_wanted & ~self._is_first], kind="stable")
        ends = np.cumsum([len(part.rows) for part in parts])
        counts = [int(np.count_nonzero(each)) for each in np.split(is_wanted, ends[:-1])]
        self.shares = [count / n_wanted for count in counts]
        self.is_short = any(
            count == len(part.rows) < n_wanted and not part.are_all for count, part in zip(counts, parts, strict=True)
        )

    def find_one_class(self) -> Any:
        """Return the label that all rows of the minipatch have; None if they differ."""
        label = self._labels[self._is_first.argmax()]
        return None if (self._is_first & (self._labels != label)).any() else label

    def make_question(self, question: Labels[Any], other: Likeliest | None) -> Labels[Any]:
        """Return the question about the candidates alone, and perhaps another row; rows are those of all shards."""
        rows, labels = self._rows, self._labels
        log_weights = np.concatenate([part.log_weights for part in self._parts])
        of_parts = [part.sample_weights for part in self._parts if part.sample_weights is not None]
        weights = np.concatenate(of_parts) if of_parts else None
        if other is not None:
            rows, labels = np.append(rows, other.row), np.append(labels, other.label).astype(labels.dtype)
            log_weights = np.append(log_weights, -other.minus_log_weight)
            weights = None if weights is None else np.append(weights, [other.sample_weight or 0.0])
        rows, positions = np.unique(rows, return_index=True)

        def by_row(values: NDArray[Any]) -> Any:
            return _ByRow(rows, values[positions])

        sample_weights = None if weights is None else by_row(weights)
        return Labels(by_row(labels), LogWeights(by_row(log_weights)), sample_weights, question.are_classes)


def _find_first(rows: Positions, of_parts: list[Floats], n_first: int, n_wanted: int) -> tuple[Mask, Mask]:
    """Tell which candidates are the first ``n_first``, and ``n_wanted``, to arrive; at equal times, lower rows win."""
    logs = np.concatenate([times[:, 1] for times in of_parts])
    n_first, n_wanted = min(n_first, len(rows)), min(n_wanted, len(rows))
    if not any(times[:, 0].any() for times in of_parts):
        last, last_wanted = np.partition(logs, [n_first - 1, n_wanted - 1])[[n_first - 1, n_wanted - 1]]
        is_first, is_wanted = logs <= last, logs <= last_wanted
        if np.count_nonzero(is_first) == n_first and np.count_nonzero(is_wanted) == n_wanted:
            return is_first, is_wanted
    heats, logs, rests = np.concatenate(of_parts).T
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[np.lexsort((rows, rests, logs, heats))] = np.arange(len(rows))
    return ranks < n_first, ranks < n_wanted


class _ByRow:
    """Values of some rows, looked up by row as if they were in an array of all rows."""

    def __init__(self, rows: Positions, values: NDArray[Any]):
        self._rows, self._values = rows, values

    def __getitem__(self, rows: Positions) -> NDArray[Any]:
        found: NDArray[Any] = self._values[np.searchsorted(self._rows, rows)]
        return found
