"""Weights of rows, which define p: logarithms of them, or votes and a table in which weights are looked up."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost._shards import Shards, WholeTable, join_sums

#: Rows per batch, to limit the memory.
BATCH_ROWS = 1 << 16


class RowWeights(Protocol):
    """The weights of all rows, up to a factor."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def take(self, rows: Positions | slice) -> Floats:
        """Return the logarithms of the weights of some rows."""

    def race(
        self, n_first: int, n_next: int, seed: int, iterations: Sequence[int], threads: _native.Threads
    ) -> list[tuple[Positions, Positions]]:
        """Race once for each iteration; return the first rows to arrive and the next ones, both sorted."""

    def race_here(
        self, n: int, first_row: int, seed: int, iterations: Sequence[int], threads: _native.Threads
    ) -> list[tuple[Positions, Floats]]:
        """Race with the rows of other shards: return the first rows of this one to arrive, and their times, (n, 3)."""


@dataclass(eq=False, slots=True)
class LogWeights:
    """Weights that are given by their logarithms, which may be any numbers."""

    logs: Floats

    def __len__(self) -> int:
        return len(self.logs)

    def take(self, rows: Positions | slice) -> Floats:
        """Return the logarithms of the weights of some rows."""
        return self.logs[rows]

    def race(
        self, n_first: int, n_next: int, seed: int, iterations: Sequence[int], threads: _native.Threads
    ) -> list[tuple[Positions, Positions]]:
        """Race once for each iteration; return the first rows to arrive and the next ones, both sorted."""
        purpose = _native.Purpose.OBSERVATIONS
        return _native.race_round(self.logs, n_first, n_next, seed, iterations, purpose, threads)

    def race_here(
        self, n: int, first_row: int, seed: int, iterations: Sequence[int], threads: _native.Threads
    ) -> list[tuple[Positions, Floats]]:
        """Race with the rows of other shards: return the first rows of this one to arrive, and their times, (n, 3)."""
        return _native.race_part(self.logs, n, first_row, seed, iterations, _native.Purpose.OBSERVATIONS, threads)


@dataclass(eq=False, slots=True)
class VoteWeights:
    """Weights of rows of two classes by their margins: no array of them is stored.

    Attributes
    ----------
    labels : int8 array of shape (n_samples,)
        -1 or +1.
    votes : int16 or int32 array of shape (n_samples,)
        Sums of votes.
    table : float64 array
        Logarithms of weights for all margins, label times votes, from ``-n`` to ``n``.
    log_sample_weights : float64 array of shape (n_samples,) or None
        Added to the logarithms; None for zeros.
    """

    labels: NDArray[np.int8]
    votes: NDArray[Any]
    table: Floats
    log_sample_weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Positions | slice) -> Floats:
        """Return the logarithms of the weights of some rows."""
        logs: Floats = self.table[len(self.table) // 2 + self.labels[rows] * self.votes[rows].astype(np.int64)]
        return logs if self.log_sample_weights is None else logs + self.log_sample_weights[rows]

    def race(
        self, n_first: int, n_next: int, seed: int, iterations: Sequence[int], threads: _native.Threads
    ) -> list[tuple[Positions, Positions]]:
        """Race once for each iteration; return the first rows to arrive and the next ones, both sorted."""
        weights = self.labels, self.votes, self.table, self.log_sample_weights
        return _native.race_votes(*weights, n_first, n_next, seed, iterations, _native.Purpose.OBSERVATIONS, threads)

    def race_here(
        self, n: int, first_row: int, seed: int, iterations: Sequence[int], threads: _native.Threads
    ) -> list[tuple[Positions, Floats]]:
        """Race with the rows of other shards: return the first rows of this one to arrive, and their times, (n, 3)."""
        weights = self.labels, self.votes, self.table, self.log_sample_weights
        purpose = _native.Purpose.OBSERVATIONS
        return _native.race_part_of_votes(*weights, n, first_row, seed, iterations, purpose, threads)

    def count_margins(self) -> Positions:
        """Count the rows that have each entry of the table as their weight."""
        return _native.count_margins(self.labels, self.votes, len(self.table))


def compute_logs(weights: RowWeights) -> Floats:
    """Compute the logarithms of all weights, as a new array.

    Examples
    --------
    >>> import numpy as np
    >>> labels, votes, table = np.array([-1, 1], dtype=np.int8), np.array([1, 1], dtype=np.int16), np.array([2.0, 1, 0])
    >>> compute_logs(VoteWeights(labels, votes, table))
    array([2., 0.])
    """
    logs = np.empty(len(weights))
    for batch in _list_batches(weights):
        logs[batch] = weights.take(batch)
    return logs


def count_effective(weights: RowWeights, shards: Shards | None = None) -> float:
    """Compute the effective number of rows, 1 / sum(p²), of one shard or, by default, the only one.

    Examples
    --------
    >>> import numpy as np
    >>> count_effective(LogWeights(np.array([5.0, 5.0, -np.inf])))
    2.0
    """
    shards = shards or WholeTable(len(weights))
    if isinstance(weights, VoteWeights) and weights.log_sample_weights is None:
        counts = shards.exchange(weights.count_margins, lambda parts: reduce(np.add, parts))
        (occurring,) = counts.nonzero()
        return _count_effective_of_few(weights.table[occurring], counts[occurring])
    batches = _list_batches(weights)
    largest = shards.exchange(
        lambda: max(float(weights.take(batch).max()) for batch in batches), lambda parts: max(parts)
    )

    def add_up() -> tuple[_native.RowSums, _native.RowSums]:
        sums, squares, threads = (*(_native.RowSums(shards.first_row) for _ in range(2)), _native.Threads(1))
        for batch in batches:
            ratios = _native.exp_of(weights.take(batch) - largest)
            _native.sum_values(ratios, threads, sums)
            _native.sum_values(np.square(ratios, out=ratios), threads, squares)
        return sums, squares

    total, squares = shards.exchange(
        add_up, lambda parts: [float(join_sums(sums)[0]) for sums in zip(*parts, strict=True)]
    )
    return total**2 / squares


def _count_effective_of_few(logs: Floats, counts: Positions) -> float:
    """Compute the effective number of rows with few different weights, given how many rows have each."""
    ratios = _native.exp_of(logs - logs.max())
    threads = _native.Threads(1)
    total = _native.sum_values(counts * ratios, threads)
    squares = _native.sum_values(counts * (ratios * ratios), threads)
    return total * total / squares


def _list_batches(weights: RowWeights) -> list[slice]:
    return [slice(start, start + BATCH_ROWS) for start in range(0, len(weights), BATCH_ROWS)]
