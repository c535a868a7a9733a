"""Where the rows of a dataset come from: Parquet files, tables in memory, or a function that yields batches anew."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from mpboost.data.sources import read_native
from mpboost.data.tables import SparseTable

#: Cells of a batch that is cut from a larger table, and the limits of its number of rows.
BATCH_CELLS, MIN_BATCH_ROWS, MAX_BATCH_ROWS = 1 << 22, 1 << 14, 1 << 18


class Batch(NamedTuple):
    """Some of the rows of a dataset.

    Attributes
    ----------
    place : str
        Where they are, for errors.
    X : frame or two-dimensional array
        The features.
    y, sample_weight : one-dimensional array, column of a frame, or None
        The targets and weights.
    """

    place: str
    X: Any
    y: Any
    sample_weight: Any


class Batches(Protocol):
    """Rows that can be read several times, batch by batch, always in the same order."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known before they are read."""

    def __iter__(self) -> Iterator[Batch]:
        """Read the rows from the beginning."""


class Choice(NamedTuple):
    """Which columns of a frame are what.

    Attributes
    ----------
    target, sample_weight : str or None
        Names of the columns of targets and weights.
    columns : sequence of str or None
        Names of the features; None for all other columns.
    """

    target: Any = None
    sample_weight: Any = None
    columns: Sequence[Any] | None = None

    @property
    def read(self) -> list[Any] | None:
        """Names of all columns to read; None for all."""
        if self.columns is None:
            return None
        return list(dict.fromkeys([*self.columns, *(each for each in self[:2] if each is not None)]))

    def split(self, frame: Any, place: str) -> Batch:
        """Split a frame into features, targets and weights."""
        whole = read_native(frame, "A batch")
        if not isinstance(whole, nw.DataFrame):
            raise TypeError(
                f"{place}: target, sample_weight and columns name columns of frames, but this is {type(frame).__name__}"
                ": pass frames, or (X, y) or (X, y, sample_weight) in place of names."
            )
        missing = [name for name in (self.read or self[:2]) if name is not None and name not in whole.columns]
        if missing:
            raise ValueError(f"{place}: there is no column {missing[0]!r}; there are {_list_some(whole.columns)}.")
        named = [name for name in self[:2] if name is not None]
        features = [name for name in (self.columns or whole.columns) if name not in named]
        y, weights = (None if name is None else whole[name].to_native() for name in self[:2])
        return Batch(place, whole.select(features).to_native(), y, weights)


class FunctionBatches:
    """Batches that a function of the user yields, anew at each call.

    Parameters
    ----------
    make : callable
        Takes nothing and returns an iterable of frames, or of tuples (X, y) or (X, y, sample_weight).
    choice : Choice
        Which columns of frames are what.
    """

    n_rows = None

    def __init__(self, make: Callable[[], Iterable[Any]], choice: Choice):
        if not callable(make):
            raise TypeError(
                f"batches must be a function without arguments that returns the batches, not {type(make).__name__}: "
                "they are read twice, and an iterator ends. For example: lambda: (read(path) for path in paths)."
            )
        self._make = make
        self._choice = choice
        self._last: Any = None

    def __iter__(self) -> Iterator[Batch]:
        """Call the function and read its batches."""
        made = self._make()
        if isinstance(made, str | bytes | dict) or not isinstance(made, Iterable):
            raise TypeError(f"The function must return an iterable of batches, not {type(made).__name__}.")
        if made is self._last and iter(made) is made:
            raise TypeError(
                "The function that yields batches returned the same iterator twice: it must begin anew at each call."
            )
        self._last = made
        for number, batch in enumerate(made):
            place = f"Batch {number}"
            if isinstance(batch, tuple):
                if not 1 <= len(batch) <= 3 or self._choice != Choice():
                    raise TypeError(
                        f"{place}: a tuple must be (X, y) or (X, y, sample_weight), and needs no names of columns."
                    )
                X, y, weights = (*batch, None, None)[:3]
                yield Batch(place, as_rows(X), y, weights)
            elif self._choice == Choice():
                yield Batch(place, as_rows(batch), None, None)
            else:
                yield self._choice.split(as_rows(batch), place)


class TableBatches:
    """The rows of a table in memory, or of a memory map."""

    def __init__(self, X: Any, y: Any, sample_weight: Any):
        if is_lazy(X):
            raise TypeError("X is a lazy frame: use BinnedDataset.from_batches(X, target=...).")
        self._frame = read_native(X, "X")
        if isinstance(self._frame, nw.Series):
            raise ValueError("Expected 2D array, got a single column instead: pass a frame with one column.")
        if not isinstance(self._frame, nw.DataFrame) and len(getattr(X, "shape", ())) != 2:
            X = self._frame = np.asarray(X)
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got an array of {X.ndim} dimensions instead: reshape X.")
        if sparse.issparse(X):
            # Checked before it is converted, since scipy trusts its indices; the rows of CSR are fast to select.
            X = self._frame = sparse.csr_array(SparseTable.from_matrix(X).matrix)
        self.n_rows = int(X.shape[0])
        if isinstance(sample_weight, Number):
            sample_weight = np.full(self.n_rows, sample_weight)
        self._X, self._y, self._weights = X, y, sample_weight
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            if values is not None and len(values) != self.n_rows:
                raise ValueError(f"X has {self.n_rows} rows, but {name} has {len(values)}.")

    def __iter__(self) -> Iterator[Batch]:
        """Cut the table into batches."""
        step = count_batch_rows(self._X.shape[1])
        for start in range(0, self.n_rows, step):
            rows = slice(start, min(start + step, self.n_rows))
            X = self._frame[rows]
            if isinstance(X, nw.DataFrame):
                X = X.to_native()
            elif sparse.issparse(X):
                X = X.toarray()
            y, weights = (_take(values, rows) for values in (self._y, self._weights))
            yield Batch(f"Rows {rows.start} to {rows.stop - 1}", X, y, weights)


class ParquetBatches:
    """The rows of Parquet files, one file after the other."""

    def __init__(self, paths: Sequence[Path], choice: Choice):
        from mpboost.table_files.parquet import open_file  # needs pyarrow

        self._paths = paths
        self._choice = choice
        self._n_columns: list[int] = []
        self.n_rows = 0
        for path in paths:
            with open_file(os.fspath(path)) as file:
                names = file.schema_arrow.names
                missing = [name for name in choice.read or () if name not in names]
                if missing:
                    raise ValueError(f"{path}: there is no column {missing[0]!r}; there are {_list_some(names)}.")
                self._n_columns.append(len(choice.read or names))
                self.n_rows += file.metadata.num_rows

    def __iter__(self) -> Iterator[Batch]:
        """Read the files batch by batch."""
        from mpboost.table_files.parquet import read_file

        for path, n_columns in zip(self._paths, self._n_columns, strict=True):
            start = 0
            for table in read_file(os.fspath(path), self._choice.read, count_batch_rows(n_columns)):
                place = f"{path}, rows {start} to {start + len(table) - 1}"
                start += len(table)
                yield self._choice.split(table, place)


def find_parquet_files(paths: Any) -> list[Path]:
    """List the files of a path, a pattern such as ``"train/*.parquet"``, a folder, or a list of these."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[Path] = []
    for each in given:
        path = Path(each)
        if path.is_dir():
            files = sorted(path.rglob("*.parquet"))
            if not files:
                raise FileNotFoundError(f"There is no file that ends in .parquet in {path}.")
        elif path.exists() or not glob.has_magic(str(each)):
            files = [path]
        else:
            files = [Path(name) for name in sorted(glob.glob(str(each), recursive=True))]
            if not files:
                raise FileNotFoundError(f"No file matches {each}.")
        found += files
    if not found:
        raise ValueError("There are no files: the list of paths is empty.")
    missing = [path for path in found if not path.is_file()]
    if missing:
        raise FileNotFoundError(f"There is no file {missing[0]}.")
    return found


def count_batch_rows(n_columns: int) -> int:
    """Choose the number of rows of a batch, so that it takes little memory and few calls."""
    return min(max(BATCH_CELLS // max(1, n_columns), MIN_BATCH_ROWS), MAX_BATCH_ROWS)


def is_lazy(data: Any) -> bool:
    """Check whether this is a lazy frame of polars, whose rows are not computed yet."""
    frame = nw.from_native(data, pass_through=True)
    return isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars()


def as_rows(X: Any) -> Any:
    """Convert rows that are not read as they are: sparse ones, and record batches of Arrow."""
    if type(X).__name__ == "RecordBatch":
        import pyarrow as pa

        return pa.Table.from_batches([X])
    return SparseTable.from_matrix(X).to_array() if sparse.issparse(X) else X


def _take(values: Any, rows: slice) -> Any:
    if values is None:
        return None
    native = read_native(values, "y")
    if isinstance(native, nw.Series | nw.DataFrame):
        return native[rows].to_native()
    return values[rows]


def _list_some(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
