"""Read the table of a report: names of rows, facts about columns, values of a few rows."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpboost.data.categories import MISSING
from mpboost.data.dates import split_dates
from mpboost.data.sources import refuse_lazy
from mpboost.datasets.coded_table import Bin
from mpboost.datasets.dataset import BinnedDataset
from mpboost.reporting.canvas import format_number
from mpboost.reporting.plain import simplify

#: Cells of an array that are read at once: limits the memory.
BATCH_CELLS = 1 << 22
#: Rows that are checked first.
N_HEAD = 1000


@dataclass(frozen=True)
class ColumnFacts:
    """Facts about the columns of a table.

    Attributes
    ----------
    n_missing : int64 array of shape (n_features,)
        Number of missing values.
    is_constant : bool array of shape (n_features,)
        Whether all rows have the same value, or none has one.
    """

    n_missing: NDArray[np.int64]
    is_constant: NDArray[np.bool_]


class ReportTable:
    """The table of a report: an array, a data frame, a sparse matrix or a dataset.

    Parameters
    ----------
    X : array-like, data frame, sparse matrix or BinnedDataset
        The table.
    features : collection of str or None
        The features of the model, if they have names: dates in a data frame are split into their known parts.
    """

    def __init__(self, X: Any, features: Collection[str] | None = None):
        self._coded = X.table if isinstance(X, BinnedDataset) else None
        if self._coded is not None:
            self.n_rows, self.n_features = X.shape
            return
        refuse_lazy(X, "X")
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        self._table: Any
        if isinstance(frame, nw.DataFrame):
            self._table = split_dates(frame, () if features is None else features)
        elif sparse.issparse(X):
            self._table = X.tocsr()
        else:
            self._table = (
                X.filled(np.nan) if isinstance(X, np.ma.MaskedArray) and X.dtype.kind == "f" else np.asarray(X)
            )
        if len(self._table.shape) != 2:
            raise ValueError(f"X must have two dimensions, not {len(self._table.shape)}.")
        self.n_rows, self.n_features = self._table.shape

    @property
    def is_coded(self) -> bool:
        """Whether the table has bins in place of values."""
        return self._coded is not None

    @property
    def _is_frame(self) -> bool:
        return self._coded is None and isinstance(self._table, nw.DataFrame)

    def name_rows(self, rows: NDArray[np.integer]) -> list[str] | None:
        """Look up the names of rows in the index of the data frame; None if it has none or only counts rows."""
        index = getattr(self._table.to_native(), "index", None) if self._is_frame else None
        if index is None or type(index).__name__ == "RangeIndex" or not hasattr(index, "take"):
            return None
        return [str(simplify(name)) for name in index.take(rows).tolist()]

    def read(self, rows: NDArray[np.integer], feature: int) -> list[Any]:
        """Read the values of some rows in a column; numbers of a dataset are ranges, as text."""
        if self._coded is not None:
            values = [
                _write_bin(value) if isinstance(value, Bin) else value for value in self._coded.decode(rows, feature)
            ]
        elif self._is_frame:
            values = self._table[:, feature][rows.tolist()].to_list()
        elif sparse.issparse(self._table):
            values = self._table[rows][:, [feature]].toarray().ravel().tolist()
        else:
            values = self._table[rows, feature].tolist()
        return [simplify(value) for value in values]

    def read_images(self, rows: NDArray[np.integer], shape: tuple[int, int]) -> NDArray[np.float64]:
        """Read rows as images, scaled to values between 0 and 1."""
        chosen: Any
        if self._coded is not None:
            chosen = self._coded.to_array(rows.astype(np.int64))
        else:
            chosen = self._table[rows.tolist()].to_numpy() if self._is_frame else self._table[rows]
        pixels = np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen, dtype=np.float64)
        low, high = (np.nanmin(pixels), np.nanmax(pixels)) if np.isfinite(pixels).any() else (0.0, 1.0)
        return ((pixels - low) / ((high - low) or 1.0)).reshape(-1, *shape)

    def collect_facts(self) -> ColumnFacts:
        """Count the missing values, and check which columns are constant."""
        if self._coded is not None:
            facts = [_examine_codes(codes) for codes in self._coded.columns.codes]
        elif self._is_frame:
            facts = [_examine_series(column) for column in self._table.iter_columns()]
        elif sparse.issparse(self._table):
            return _examine_sparse(self._table)
        elif self._table.dtype.kind in "biuf":
            return _examine_numbers(self._table)
        else:
            facts = [_examine_objects(column) for column in self._table.T]
        n_missing, is_constant = zip(*facts, strict=True)
        return ColumnFacts(np.array(n_missing, dtype=np.int64), np.array(is_constant, dtype=bool))


def _write_bin(bin: Bin) -> str:
    """Write a range of numbers."""
    low, high = format_number(bin.low), format_number(bin.high)
    if np.isinf(bin.low) and np.isinf(bin.high):
        return "any"
    return f"≤ {high}" if np.isinf(bin.low) else f"> {low}" if np.isinf(bin.high) else f"{low} to {high}"


def _examine_codes(codes: NDArray[np.uint8]) -> tuple[int, bool]:
    pieces = [codes[start : start + BATCH_CELLS] for start in range(0, len(codes), BATCH_CELLS)]
    n_missing = sum(int(np.count_nonzero(piece == MISSING)) for piece in pieces)
    return n_missing, all(bool((piece == codes[0]).all()) for piece in pieces)


def _examine_series(column: Any) -> tuple[int, bool]:
    n_missing = int(column.null_count())
    if column.dtype.is_float():
        n_missing = int(np.isnan(column.to_numpy().astype(np.float64)).sum())
    try:
        # The first rows show for most columns that they are not constant; counting all values is slow.
        return n_missing, all(int(part.n_unique()) == 1 for part in (column.head(N_HEAD), column))
    except TypeError:  # for example lists
        return n_missing, False


def _examine_objects(column: NDArray[Any]) -> tuple[int, bool]:
    simple = [simplify(value) for value in column.tolist()]
    return sum(value is None for value in simple), len({str(value) for value in simple}) == 1


def _examine_numbers(array: NDArray[Any]) -> ColumnFacts:
    n_features = array.shape[1]
    n_missing = np.zeros(n_features, dtype=np.int64)
    low, high = array[0].copy(), array[0].copy()
    step = max(1, BATCH_CELLS // n_features)
    for start in range(0, len(array), step):
        batch = array[start : start + step]
        if array.dtype.kind == "f":
            n_missing += np.isnan(batch).sum(axis=0)
        low, high = np.fmin(low, np.fmin.reduce(batch, axis=0)), np.fmax(high, np.fmax.reduce(batch, axis=0))
    is_all_missing = n_missing == len(array)
    return ColumnFacts(n_missing, is_all_missing | ((n_missing == 0) & (low == high)))


def _examine_sparse(matrix: Any) -> ColumnFacts:
    columns = matrix.tocsc()
    n_rows, n_features = columns.shape
    n_stored = np.diff(columns.indptr)
    facts = ColumnFacts(np.zeros(n_features, dtype=np.int64), n_stored == 0)
    for feature in np.flatnonzero(n_stored):
        stored = columns.data[columns.indptr[feature] : columns.indptr[feature + 1]].astype(np.float64)
        n_missing = np.count_nonzero(np.isnan(stored))
        facts.n_missing[feature] = n_missing
        is_full = len(stored) == n_rows
        facts.is_constant[feature] = (
            (n_missing == n_rows) or (n_missing == 0 and is_full and np.ptp(stored) == 0) or not stored.any()
        )
    return facts
