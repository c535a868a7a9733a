"""Cuts the rows of all partitions into ranges, and makes the data of each shard from the partitions that it needs."""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost.dask.coding import CodedPart, collect_rows, join_targets, join_weights
from mpboost.dask.surveying import Plan
from mpboost.data.checks import TrainingData
from mpboost.datasets.coded_rows import CodedRows
from mpboost.datasets.coded_table import CodedTable
from mpboost.datasets.fitting import check_dataset_targets, check_validation_dataset
from mpboost.estimators.sharded import Shard

#: Shards begin at multiples of so many rows: sums over rows are added up in chunks of these.
CHUNK_ROWS = 1 << 14


class Piece(NamedTuple):
    """Some rows of a partition, counted without those of weight 0."""

    partition: int
    begin: int
    end: int


def cut_rows(n_rows: int, n_shards: int) -> list[tuple[int, int]]:
    """Cut rows into ranges of about the same length, at multiples of ``CHUNK_ROWS``.

    There are fewer ranges than ``n_shards`` if some would be empty.

    Examples
    --------
    >>> cut_rows(100_000, 3)
    [(0, 32768), (32768, 65536), (65536, 100000)]
    >>> cut_rows(100, 3)
    [(0, 100)]
    """
    n_chunks = -(-n_rows // CHUNK_ROWS)
    n_shards = min(n_shards, n_chunks)
    bounds = [number * n_chunks // n_shards * CHUNK_ROWS for number in range(n_shards)]
    return list(pairwise([*bounds, n_rows]))


def list_pieces(counts: list[int], first: int, end: int) -> list[Piece]:
    """List the parts of partitions that a range of rows consists of.

    Examples
    --------
    >>> list_pieces([10, 0, 5, 20], 7, 18)
    [Piece(partition=0, begin=7, end=10), Piece(partition=2, begin=0, end=5), Piece(partition=3, begin=0, end=3)]
    """
    starts = [0, *accumulate(counts)]
    pieces = [
        Piece(number, max(first - start, 0), min(end - start, count))
        for number, (start, count) in enumerate(zip(starts, counts, strict=False))
    ]
    return [piece for piece in pieces if piece.begin < piece.end]


def cut_part(part: CodedPart, begin: int, end: int) -> NDArray[np.uint8]:
    """Return the codes of some rows of a partition, counted without those of weight 0; runs on a worker."""
    return np.ascontiguousarray(part.keep_present().codes[:, begin:end])


def drop_codes(part: CodedPart) -> CodedPart:
    """Return the targets and weights of a partition; runs on a worker."""
    return CodedPart(part.codes[:0], part.targets, part.sample_weight)


def make_shard(plan: Plan, codes: list[NDArray[np.uint8]]) -> Shard:
    """Make the data of a shard; runs on a worker."""
    return Shard(CodedTable.from_codes(plan.known, codes))


@dataclass(frozen=True)
class FirstShard:
    """Makes the data of shard 0, which knows the targets and weights of all rows, and the validation rows.

    Attributes
    ----------
    estimator : estimator
        The estimator that will be trained.
    has_weights, has_validation_weights : bool
        Whether rows, and validation rows, have weights.
    """

    estimator: Any
    has_weights: bool
    has_validation_weights: bool

    def __call__(
        self,
        plan: Plan,
        codes: list[NDArray[np.uint8]],
        heads: list[CodedPart],
        validation_plan: Plan | None = None,
        validation: list[CodedPart] | None = None,
    ) -> Shard:
        """Make the data of shard 0; runs on a worker."""
        table = CodedTable.from_codes(plan.known, codes)
        given = CodedRows(table, join_targets(plan, heads), join_weights(heads, has_weights=self.has_weights))
        y, weights = check_dataset_targets(self.estimator, given)
        is_present = None
        if weights is not None and not weights.all():
            is_present = weights > 0
            y, weights = y[is_present], weights[is_present]
        known = dict(plan.known.features)
        if validation_plan is None or validation is None:
            return Shard(table, y, weights, is_present, known)
        rows = collect_rows(validation_plan, validation, has_weights=self.has_validation_weights)
        data = TrainingData(table, y, weights, known)
        checked = check_validation_dataset(self.estimator, data, rows, None, None)
        return Shard(table, y, weights, is_present, known, checked)
