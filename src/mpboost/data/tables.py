"""Tables that the engine can read: one array, columns of different types, or a sparse matrix.

Each call of the engine takes some hundredths of a second, so that an interrupt is noticed between calls.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpboost import _native
from mpboost.data.categories import MISSING

Rows = NDArray[np.int64] | slice

#: Cells that the engine codes in one call.
CELLS_PER_CALL = 1 << 22

#: Values that it sorts, or bytes that it reads, in one call. Of large tables it sorts an eighth, up to a limit: more
#: columns side by side take more memory, but the same cache lines are read less often.
SORTED_PER_CALL, MOST_SORTED_PER_CALL = 1 << 19, 1 << 22
BYTES_PER_CALL = 1 << 26

#: A sparse matrix is read in so many pieces, or in fewer if they would have fewer cells than this.
SPARSE_PIECES = 16
SPARSE_CELLS = 1 << 14


class Table(Protocol):
    """A table that the engine can read."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def n_columns(self) -> int:
        """The number of columns."""

    def fit_mapper(self, max_bins: int, threads: _native.Threads) -> _native.BinMapper:
        """Compute the edges of the bins of each column."""

    def bin(self, mapper: _native.BinMapper, threads: _native.Threads) -> _native.BinnedColumns | _native.SparseColumns:
        """Convert values to bins."""

    def take_rows(self, rows: Rows) -> "Table":
        """Make a table of some rows; usually a view if they are a slice."""

    def split_rows(self, n_rows: int) -> "Iterator[Table]":
        """Split the table into tables of ``n_rows`` rows each; the last one may have fewer."""

    def to_array(self, rows: Rows | None = None, features: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Make a two-dimensional array of some rows and columns, with codes for categories."""


@dataclass(frozen=True)
class DenseTable:
    """A table in one two-dimensional array.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost import _native
    >>> threads = _native.Threads(1)
    >>> table = DenseTable(np.array([[1.5, 0.0], [np.nan, 7.0], [2.5, 3.0]]))
    >>> table.bin(table.fit_mapper(255, threads), threads).codes
    array([[  0, 255,   1],
           [  0,   2,   1]], dtype=uint8)
    """

    array: NDArray[Any]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.array.shape[0]

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.array.shape[1]

    def fit_mapper(self, max_bins: int, threads: _native.Threads) -> _native.BinMapper:
        """Compute the edges of the bins of each column."""
        rows = _sample_rows(self.n_rows)
        if self.array.dtype == np.uint8:  # at least a whole cache line of each row
            step = max(64, BYTES_PER_CALL // self.n_rows)
        else:
            n_sorted = min(max(SORTED_PER_CALL, self.array.size // 8), MOST_SORTED_PER_CALL)
            step = max(threads.size, n_sorted // len(rows))
        starts = range(0, self.n_columns, step)
        return join_mappers(
            _native.BinMapper.fit(self.array[:, start : start + step], max_bins, threads, rows) for start in starts
        )

    def bin(self, mapper: _native.BinMapper, threads: _native.Threads) -> _native.BinnedColumns:
        """Convert values to bins."""
        columns = _native.BinnedColumns(self.n_rows, self.n_columns)
        _encode(self.array, mapper, columns, 0, threads)
        return columns

    def take_rows(self, rows: Rows) -> Self:
        """Make a table of some rows; a view if they are a slice."""
        return type(self)(self.array[rows])

    def split_rows(self, n_rows: int) -> "Iterator[DenseTable]":
        """Split the table into tables of ``n_rows`` rows each."""
        return map(self.take_rows, _slice_rows(self.n_rows, n_rows))

    def to_array(self, rows: Rows | None = None, features: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Make a two-dimensional array of some rows and columns."""
        if features is None:
            return self.array if rows is None else self.array[rows]
        if rows is None or isinstance(rows, slice):
            return self.array[slice(None) if rows is None else rows, features]
        return self.array[np.ix_(rows, features)]


@dataclass(frozen=True)
class ColumnTable:
    """A table of columns, each an array of its own type; categorical columns are codes in bytes.

    Attributes
    ----------
    columns : list of array
        All of the same length.
    n_codes : sequence of int or None
        The number of codes of a categorical column, None for numbers. The bins of a categorical column are its codes.

    Examples
    --------
    >>> import numpy as np
    >>> table = ColumnTable([np.array([1.5, 2.5]), np.array([0, 255], dtype=np.uint8)], [None, 3])
    >>> table.to_array()
    array([[1.5, 0. ],
           [2.5, nan]])
    """

    columns: list[NDArray[Any]]
    n_codes: Sequence[int | None]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def fit_mapper(self, max_bins: int, threads: _native.Threads) -> _native.BinMapper:
        """Compute the edges of the bins of each column; for categories they are half-way between codes."""
        rows = _sample_rows(self.n_rows)
        return join_mappers(
            _native.BinMapper.fit(column[:, None], max_bins, threads, rows)
            if n_codes is None
            else _native.BinMapper(*split_codes(n_codes))
            for column, n_codes in zip(self.columns, self.n_codes, strict=True)
        )

    def bin(self, mapper: _native.BinMapper, threads: _native.Threads) -> _native.BinnedColumns:
        """Convert values to bins."""
        columns = _native.BinnedColumns(self.n_rows, self.n_columns)
        n_bins = (np.diff(mapper.offsets) + 1).tolist()
        for feature, (column, n_codes) in enumerate(zip(self.columns, self.n_codes, strict=True)):
            if n_codes is None:
                _encode(column[:, None], mapper, columns, feature, threads)
            else:
                columns.put(feature, 0, np.ascontiguousarray(column), n_bins[feature])
        return columns

    def take_rows(self, rows: Rows) -> Self:
        """Make a table of some rows; a view if they are a slice."""
        return type(self)([column[rows] for column in self.columns], self.n_codes)

    def split_rows(self, n_rows: int) -> "Iterator[ColumnTable]":
        """Split the table into tables of ``n_rows`` rows each."""
        return map(self.take_rows, _slice_rows(self.n_rows, n_rows))

    def to_array(self, rows: Rows | None = None, features: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Make a two-dimensional array of some rows and columns, with codes for categories."""
        chosen = range(self.n_columns) if features is None else features.tolist()
        return np.column_stack([self._numbers(feature, slice(None) if rows is None else rows) for feature in chosen])

    def _numbers(self, feature: int, rows: Rows) -> NDArray[Any]:
        column = self.columns[feature][rows]
        if self.n_codes[feature] is None:
            return column
        return np.where(column == MISSING, np.float32(np.nan), column.astype(np.float32))


@dataclass(frozen=True)
class SparseTable:
    """A sparse matrix in CSR or CSC format, with sorted indices and no duplicate cells."""

    matrix: sparse.csr_array | sparse.csc_array

    @classmethod
    def from_matrix(cls, matrix: Any) -> Self:
        """Make a table of any two-dimensional sparse matrix or array, which is not changed."""
        matrix = _rebuild(matrix)
        compressed = sparse.csc_array(matrix) if matrix.format == "csc" else sparse.csr_array(matrix)
        if not compressed.has_canonical_format:
            compressed = compressed.copy()
            compressed.sum_duplicates()
        return cls(compressed)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1])

    def fit_mapper(self, max_bins: int, threads: _native.Threads) -> _native.BinMapper:
        """Compute the edges of the bins of each column."""
        rows = _sample_rows(self.n_rows)
        return join_mappers(
            _native.BinMapper.fit_sparse(*piece, self.n_rows, max_bins, threads, rows) for _, piece in self._pieces()
        )

    def bin(self, mapper: _native.BinMapper, threads: _native.Threads) -> _native.SparseColumns:
        """Convert values to bins."""
        pieces = (
            mapper.transform_sparse(*piece, self.n_rows, threads, first_column)
            for first_column, piece in self._pieces()
        )
        whole = next(pieces)
        for piece in pieces:
            whole.append(piece)
        return whole

    def take_rows(self, rows: Rows) -> Self:
        """Make a table of some rows."""
        return self.from_matrix(self.matrix[rows])

    def to_array(self, rows: Rows | None = None, features: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Make a two-dimensional array of some rows and columns."""
        matrix = self.matrix if rows is None else self.matrix[rows]
        return (matrix if features is None else matrix[:, features]).toarray()

    def split_rows(self, n_rows: int) -> "Iterator[SparseTable]":
        """Split the table into tables of ``n_rows`` rows each."""
        by_rows = sparse.csr_array(self.matrix)  # its rows are fast to select
        return (SparseTable(by_rows[rows]) for rows in _slice_rows(self.n_rows, n_rows))

    def _pieces(self) -> Iterator[tuple[int, tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]]]:
        """Yield some columns at a time: the number of the first one, and CSC arrays (indptr, indices, data).

        A CSR matrix is converted in pieces, so that there is never a second full matrix in memory.
        """
        n_pieces = max(1, min(self.n_columns, SPARSE_PIECES, self.matrix.nnz // SPARSE_CELLS))
        bounds = np.linspace(0, self.n_columns, n_pieces + 1).astype(int).tolist()
        for first, last in pairwise(bounds):
            piece = self.matrix if n_pieces == 1 else self.matrix[:, first:last]
            columns = sparse.csc_array(piece)
            yield first, (columns.indptr.astype(np.int64, copy=False), columns.indices, as_native(columns.data))


def _rebuild(matrix: Any) -> Any:
    """Make a new matrix object around the same arrays, so that flags that scipy sets do not change the user's matrix.

    The indices are checked, since scipy converts a matrix to another format without checking them.
    """
    if matrix.format == "coo":
        return type(matrix)((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
    if matrix.format == "dia":
        return type(matrix)((matrix.data, matrix.offsets), shape=matrix.shape)
    if matrix.format == "lil":
        lengths = [len(row) for row in matrix.rows]
        if len(lengths) != matrix.shape[0] or lengths != [len(row) for row in matrix.data]:
            raise ValueError("X is damaged: its lists of column numbers and of values have different lengths.")
        matrix = matrix.tocsr()
    if matrix.format in ("csr", "csc", "bsr"):
        matrix = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        matrix.check_format(full_check=True)
        if (matrix.indptr[1:] < matrix.indptr[:-1]).any():  # scipy does not check this if the last one is 0
            raise ValueError("X is damaged: its indptr must not decrease.")
    return matrix


def as_native(array: NDArray[Any]) -> NDArray[Any]:
    """Convert an array to a type that the engine reads; usually it has one already, and nothing is copied."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind in "biu" or (kind == "f" and size in (4, 8)):
        array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        # The strides of a column of a record array may not be multiples of the item size.
        return array if all(stride % size == 0 for stride in array.strides) else np.ascontiguousarray(array)
    if kind != "f":
        raise TypeError(f"X contains {array.dtype}, which the model cannot read; convert it to numbers first.")
    with np.errstate(over="ignore"):  # long doubles may not fit in float64
        return array.astype(np.float32 if size < 4 else np.float64)


def _sample_rows(n_rows: int) -> NDArray[np.int64]:
    """List the rows that bins are computed from: a matter of the number of rows alone, the same for any seed."""
    return _native.sample_rows(0, n_rows, n_rows)


def _slice_rows(n_rows: int, step: int) -> Iterator[slice]:
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _encode(
    array: NDArray[Any],
    mapper: _native.BinMapper,
    columns: _native.BinnedColumns,
    first_column: int,
    threads: _native.Threads,
) -> None:
    n_rows, n_columns = array.shape
    step = 128 * max(1, CELLS_PER_CALL // (128 * n_columns))  # the engine works on blocks of 128 rows
    for row in range(0, n_rows, step):
        mapper.encode(array[row : row + step], columns, row, first_column, threads)


def join_mappers(mappers: Iterable[_native.BinMapper]) -> _native.BinMapper:
    """Join mappers of some columns each into one."""
    whole = _native.BinMapper(np.empty(0), np.zeros(1, dtype=np.int64))
    for part in mappers:
        whole.append(part)
    return whole


def split_codes(n_codes: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Compute the edges of a column of categories, half-way between codes, and their offsets."""
    edges = np.arange(0.5, n_codes - 1)
    return edges, np.array([0, len(edges)], dtype=np.int64)
