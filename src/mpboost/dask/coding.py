"""The last pass over the rows, on the cluster: each partition is coded where it is, then joined with others."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._threads import make_threads
from mpboost.dask.surveying import Plan
from mpboost.data.checks import check_table
from mpboost.data.targets import CodedTargets, Targets
from mpboost.datasets.batches import Batch
from mpboost.datasets.coded_rows import CodedRows
from mpboost.datasets.coded_table import CodedTable
from mpboost.datasets.coding import ColumnCoder
from mpboost.datasets.reading import named_errors
from mpboost.datasets.survey import count_rows
from mpboost.datasets.targets import read_weights


@dataclass(frozen=True)
class CodedPart:
    """Some rows, in bins.

    Attributes
    ----------
    codes : uint8 array of shape (n_features, n_rows)
        The codes.
    targets : array of shape (n_rows,) or None
        The targets, as ``TargetSurvey.encode`` stores them.
    sample_weight : float64 array of shape (n_rows,) or None
        The weights.
    """

    codes: NDArray[np.uint8]
    targets: NDArray[Any] | None
    sample_weight: NDArray[np.float64] | None

    def keep_present(self) -> "CodedPart":
        """Drop the rows of weight 0."""
        if self.sample_weight is None or self.sample_weight.all():
            return self
        kept = self.sample_weight > 0
        return CodedPart(
            self.codes[:, kept], None if self.targets is None else self.targets[kept], self.sample_weight[kept]
        )


def code_batch(batch: Batch, plan: Plan, number: int) -> CodedPart:
    """Code the rows of a partition; runs on a worker."""
    with named_errors(batch.place):
        n_rows = count_rows(batch.X)
        if n_rows == 0:
            return _make_empty(plan)
        if plan.reader is None:
            table = check_table(plan.known.make_reader(), batch.X)
        else:
            table, checksum = ColumnCoder(plan.known, copy.deepcopy(plan.reader)).read(batch.X, batch.place)
            if checksum != plan.checksums[number]:
                raise ValueError(
                    "the rows are not those that were read before: partitions are computed several times, and must be "
                    "the same each time. Call persist() on the data before the fit."
                )
        columns = table.bin(plan.known.mapper, make_threads(None))
        assert isinstance(columns, _native.BinnedColumns)  # batches are never sparse
        targets = None if plan.targets is None else plan.targets.encode(batch.y)
        return CodedPart(np.ascontiguousarray(columns.codes), targets, read_weights(batch.sample_weight, n_rows))


def _make_empty(plan: Plan) -> CodedPart:
    dtype = None if plan.targets is None else plan.targets.stored_dtype
    return CodedPart(
        np.empty((plan.known.features["n_features_in_"], 0), dtype=np.uint8),
        None if dtype is None else np.empty(0, dtype),
        np.empty(0),
    )


def join_targets(plan: Plan, parts: list[CodedPart]) -> Targets | None:
    """Join the targets of parts that follow each other."""
    if plan.targets is None:
        return None
    stored = np.concatenate([part.targets for part in parts if part.targets is not None])
    return stored if plan.targets.values is None else CodedTargets(plan.targets.values, stored)


def join_weights(parts: list[CodedPart], *, has_weights: bool) -> NDArray[np.float64] | None:
    """Join the weights of parts that follow each other; None if rows have none."""
    if not has_weights:
        return None
    return np.concatenate([part.sample_weight for part in parts if part.sample_weight is not None])


def collect_rows(plan: Plan, parts: list[CodedPart], *, has_weights: bool) -> CodedRows:
    """Join all rows on one worker, as what an estimator is trained on."""
    table = CodedTable.from_codes(plan.known, [part.codes for part in parts])
    return CodedRows(table, join_targets(plan, parts), join_weights(parts, has_weights=has_weights))
