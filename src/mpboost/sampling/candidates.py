"""A race of rows in several shards: each sends the first of its rows to arrive, and the first of all are drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
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
        The rows, counted over all shards.
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
    n_wanted : int
        How many rows are wanted.

    Attributes
    ----------
    by_arrival : int64 array
        The first ``n_wanted`` rows of all, in the order of their arrival; equal times go to lower rows.
    shares : list of float
        The share of each shard in these.
    is_short : bool
        Whether a shard may have more of them than it sent.
    """

    def __init__(self, parts: Sequence[Candidates], n_wanted: int):
        self._parts = parts
        self._rows = np.concatenate([part.rows for part in parts])
        self._labels = np.concatenate([part.labels for part in parts])
        self._order = _order_times(self._rows, np.concatenate([part.times for part in parts]))[:n_wanted]
        self.by_arrival = self._rows[self._order]
        sizes = [len(part.rows) for part in parts]
        shards = np.searchsorted(np.cumsum(sizes), self._order, side="right")
        counts = np.bincount(shards, minlength=len(parts)).tolist()
        self.shares = [count / n_wanted for count in counts]
        self.is_short = any(
            count == size < n_wanted and not part.are_all
            for count, size, part in zip(counts, sizes, parts, strict=True)
        )

    def find_one_class(self, n_first: int) -> Any:
        """Return the label that the first rows to arrive all have; None if they differ."""
        labels = self._labels[self._order[:n_first]]
        return labels[0] if (labels == labels[0]).all() else None

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


def _order_times(rows: Positions, times: Floats) -> Positions:
    """Return the positions of candidates in the order of their times; equal ones go to lower rows."""
    heats, logs, rests = times.T
    order = np.argsort(logs, kind="stable")  # quick, since the candidates of each shard are in order
    in_order = logs[order]
    if heats.any() or (in_order[1:] == in_order[:-1]).any():
        order = np.lexsort((rows, rests, logs, heats))
    return order


class _ByRow:
    """Values of some rows, looked up by row as if they were in an array of all rows."""

    def __init__(self, rows: Positions, values: NDArray[Any]):
        self._rows, self._values = rows, values

    def __getitem__(self, rows: Positions) -> NDArray[Any]:
        found: NDArray[Any] = self._values[np.searchsorted(self._rows, rows)]
        return found
