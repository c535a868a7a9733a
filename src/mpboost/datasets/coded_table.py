"""A table whose values are codes already: the rows of a dataset, as estimators read them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.data.tables import Rows
from mpboost.datasets.known import Known

#: Rows that are copied at a time: a column that is copied at once would be in memory twice.
COPIED_ROWS = 1 << 22


@dataclass(frozen=True)
class CodedTable:
    """A table of codes.

    Attributes
    ----------
    known : Known
        The features and their bins.
    columns : BinnedColumns
        The codes: usually a view of a mapped file.
    """

    known: Known
    columns: _native.BinnedColumns

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.columns.n_rows

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.columns.n_columns

    def fit_mapper(self, max_bins: int, threads: _native.Threads) -> _native.BinMapper:
        """Return the bins that the codes belong to."""
        return self.known.mapper

    def bin(self, mapper: _native.BinMapper, threads: _native.Threads) -> _native.BinnedColumns:
        """Return the codes, which are those of these bins."""
        return self.columns

    def take_rows(self, rows: Rows) -> "CodedTable":
        """Make a table of some rows: a view if they are a slice from a whole block on, else a copy."""
        if isinstance(rows, slice):
            first, stop, step = rows.indices(self.n_rows)
            if step == 1 and first % 128 == 0:
                return CodedTable(self.known, self.columns.slice(first, max(0, stop - first)))
            rows = np.arange(first, stop, step)
        copy = _native.BinnedColumns(len(rows), self.n_columns)
        for feature, codes in enumerate(self.columns.codes):
            for start in range(0, len(rows), COPIED_ROWS):
                some = codes[rows[start : start + COPIED_ROWS]]
                copy.put(feature, start, some, self.columns.n_bins(feature))
        return CodedTable(self.known, copy)

    def split_rows(self, n_rows: int) -> "Iterator[CodedTable]":
        """Split the table into tables of ``n_rows`` rows each."""
        return (self.take_rows(slice(start, start + n_rows)) for start in range(0, self.n_rows, n_rows))

    def to_array(self, rows: Rows | None = None, features: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Raise a ValueError: the values themselves are not there."""
        refuse_values()


def refuse_values() -> NoReturn:
    """Raise a ValueError for what needs the values themselves."""
    raise ValueError("A BinnedDataset has bins in place of values, which this needs: pass the table itself.")
