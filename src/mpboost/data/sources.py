"""What users pass as X: arrays, data frames of any library, and sparse matrices, read in one way."""

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import sklearn
from narwhals import Series
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_array, validate_data

from mpboost.data.categories import Factors, as_keys, factorise
from mpboost.data.tables import ColumnTable, DenseTable, SparseTable, Table, as_native

#: How scikit-learn is to check tables: infinities are numbers, NaN is a missing value.
CHECKS = {"dtype": "numeric", "ensure_all_finite": False}

#: Whether scikit-learn finds the names of the columns of any frame.
READS_FRAMES = parse_version(sklearn.__version__) >= parse_version("1.9")

#: Cells of a frame that are read at once where they can be: column by column takes longer, unless columns are long.
CELLS_AT_ONCE = 1 << 22

WIDE_TYPES = (nw.Int128, nw.UInt128)
CATEGORICAL_TYPES = (nw.Categorical, nw.Enum, nw.String)


class Source(Protocol):
    """A table as the user passed it, its shape and names checked."""

    def __len__(self) -> int:
        """Count the rows."""

    @property
    def names(self) -> list[Any] | None:
        """The names of the columns where they have some."""

    @property
    def by_dtype(self) -> NDArray[np.bool_]:
        """Which columns are categorical by their type."""

    def to_table(self) -> Table:
        """Make a table of numbers."""

    def read_numbers(self, feature: int) -> NDArray[Any]:
        """Read a column of numbers."""

    def read_factors(self, feature: int) -> Factors:
        """Read a column of categories."""


def read_source(estimator: Any, X: Any, *, reset: bool, has_categories: bool) -> Source:
    """Check a table, its number of features and their names, with scikit-learn's own rules and words.

    Parameters
    ----------
    estimator : estimator
        What is known of the features, or where it is noted.
    X : array-like, frame or sparse matrix
        The table.
    reset : bool
        Whether to note the number and the names of the features rather than to compare.
    has_categories : bool
        Whether columns of an array may hold other things than numbers.
    """
    if sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"Expected a sparse matrix of 2 dimensions, but X has {X.ndim}: reshape it.")
        table = SparseTable.from_matrix(X)
        matrix = validate_data(estimator, table.matrix, reset=reset, accept_sparse=("csr", "csc"), **CHECKS)
        return SparseSource(SparseTable(matrix))
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf":  # whose mask scikit-learn would ignore
        X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if type(X) is not np.ndarray:  # to find out what else it may be takes longer than to predict a row
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            _check_not_empty(frame)
            validate_data(estimator, _make_header(frame), reset=reset, skip_check_array=True)
            array = _read_at_once(frame)
            return FrameSource(list(frame.iter_columns())) if array is None else ArraySource(array, frame.columns)
        refuse_lazy(X, "X")
        if isinstance(nw.from_native(X, allow_series=True, pass_through=True), nw.Series):
            raise ValueError("Expected 2D array, got a column instead: pass a frame, even if of one column.")
    is_raw = has_categories and getattr(getattr(X, "dtype", None), "kind", "O") in "OSUT"
    checks = {**CHECKS, "dtype": object} if is_raw else CHECKS
    array = check_array(X, estimator=estimator, input_name="X", **checks)
    return ArraySource(validate_data(estimator, array, reset=reset, skip_check_array=True))


def refuse_lazy(data: Any, name: str) -> None:
    """Refuse a frame whose values are not computed yet."""
    if isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame: pass one with its values, such as {name}.collect().")


@dataclass(frozen=True)
class ArraySource:
    """An array of two dimensions: of numbers, or of objects where some columns are categorical."""

    array: NDArray[Any]
    names: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.array)

    @property
    def by_dtype(self) -> NDArray[np.bool_]:
        """None: a column of an array has no type of its own."""
        return np.zeros(self.array.shape[1], dtype=bool)

    def to_table(self) -> DenseTable:
        """Make a table of numbers."""
        return DenseTable(as_native(check_array(self.array, **CHECKS) if self.array.dtype == object else self.array))

    def read_numbers(self, feature: int) -> NDArray[Any]:
        """Read a column of numbers."""
        return ArraySource(self.array[:, feature : feature + 1]).to_table().array[:, 0]

    def read_factors(self, feature: int) -> Factors:
        """Read a column of categories."""
        return factorise(self.array[:, feature])


@dataclass(frozen=True)
class SparseSource:
    """A sparse matrix of numbers."""

    table: SparseTable
    names: None = None

    def __len__(self) -> int:
        return self.table.n_rows

    @property
    def by_dtype(self) -> NDArray[np.bool_]:
        """None: it holds numbers."""
        return np.zeros(self.table.n_columns, dtype=bool)

    def to_table(self) -> SparseTable:
        """Make a table of numbers."""
        return self.table

    def read_numbers(self, feature: int) -> NDArray[Any]:
        """Refuse: a column alone is asked for only where others are categorical."""
        raise ValueError("A sparse X cannot have categorical features: pass an array or a data frame.")

    def read_factors(self, feature: int) -> Factors:
        """Refuse likewise."""
        return self.read_numbers(feature)  # type: ignore[return-value]


@dataclass(frozen=True)
class FrameSource:
    """The columns of a data frame."""

    columns: list[Series[Any]]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def names(self) -> list[Any]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def by_dtype(self) -> NDArray[np.bool_]:
        """Which columns hold text or categories."""
        return np.array([column.dtype in CATEGORICAL_TYPES for column in self.columns])

    def to_table(self) -> Table:
        """Make a table of numbers."""
        columns = [self.read_numbers(feature) for feature in range(len(self.columns))]
        block = _view_as_block(columns)
        return ColumnTable(columns, [None] * len(columns)) if block is None else DenseTable(block)

    def read_numbers(self, feature: int) -> NDArray[Any]:
        """Read a column of numbers, in a type as small as its own; missing ones are NaN."""
        column = self.columns[feature]
        dtype = column.dtype
        if dtype.is_decimal() or dtype in WIDE_TYPES:
            return column.cast(nw.Float64).to_numpy()
        if dtype == nw.Boolean and column.null_count():
            return column.cast(nw.Float32).to_numpy()
        if dtype.is_numeric() or dtype == nw.Boolean:
            return as_native(column.to_numpy())
        if column.null_count() == len(column):
            return np.full(len(column), np.nan, dtype=np.float32)
        if dtype in (nw.Object, nw.Unknown):
            return _read_objects(column)
        raise _make_refusal(column)

    def read_factors(self, feature: int) -> Factors:
        """Read a column of categories, by the codes of the frame where it has some."""
        column = self.columns[feature]
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            return factorise(self.read_numbers(feature))
        if column.dtype == nw.String:
            column = _number_words(column)
        if column.dtype not in (nw.Categorical, nw.Enum):
            return factorise(np.array([*column.to_list(), None], dtype=object)[:-1])
        native = column.to_native()
        if column.implementation.is_polars():
            # The numbers of categories need not be those of their list: look each one up in a row where it occurs.
            numbers = native.to_physical().cast(int).fill_null(-1).to_numpy()
            used, positions = _list_used(numbers, numbers.max() + 1)
            rows = np.zeros(len(used) + 1, dtype=np.int64)
            rows[positions] = np.arange(len(numbers))
            return Factors(as_keys(native.gather(rows).to_list()), positions)
        if column.implementation.is_pyarrow():
            whole = native.unify_dictionaries().combine_chunks()
            numbers = whole.indices.cast("int64").fill_null(-1).to_numpy()
            used, positions = _list_used(numbers, len(whole.dictionary))
            return Factors(as_keys(whole.dictionary.take(used).to_pylist()), positions)
        if hasattr(native, "cat"):
            used, positions = _list_used(native.cat.codes.to_numpy(), len(native.cat.categories))
            return Factors(as_keys(native.cat.categories[used].tolist()), positions)
        return factorise(np.array([*column.to_list(), None], dtype=object)[:-1])


class _Header:
    """The names of a frame's columns, in the way that scikit-learn before 1.9 asks any frame but one of pandas."""

    def __init__(self, frame: nw.DataFrame[Any]):
        self.shape = frame.shape
        self._names = frame.columns

    def __dataframe__(self) -> "_Header":
        return self

    def column_names(self) -> list[str]:
        return self._names


def _make_header(frame: nw.DataFrame[Any]) -> Any:
    return frame.to_native() if READS_FRAMES or frame.implementation.is_pandas() else _Header(frame)


def _check_not_empty(frame: nw.DataFrame[Any]) -> None:
    for count, what in zip(frame.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={frame.shape}) while a minimum of 1 is required.")


def _read_at_once(frame: nw.DataFrame[Any]) -> NDArray[Any] | None:
    """Make an array of a frame that is not large, if all its columns are of one type of plain numbers."""
    is_pandas = frame.implementation.is_pandas()
    if frame.shape[0] * frame.shape[1] > CELLS_AT_ONCE or not (is_pandas or frame.implementation.is_polars()):
        return None
    native = frame.to_native()
    dtype, *others = set(native.dtypes)
    is_plain = isinstance(dtype, np.dtype) and dtype.kind in "biuf" if is_pandas else dtype.is_float()
    return native.to_numpy() if is_plain and not others else None


def _view_as_block(columns: list[NDArray[Any]]) -> NDArray[Any] | None:
    """Find the one array that all columns are views of, as they are in many frames of pandas."""
    first = columns[0]
    if first.base is None or any(
        column.base is not first.base or column.dtype != first.dtype or column.strides != first.strides
        for column in columns
    ):
        return None
    steps = set(np.diff([column.ctypes.data for column in columns]).tolist())
    if len(steps) != 1:
        return None
    return as_strided(first, (len(first), len(columns)), (first.strides[0], steps.pop()), writeable=False)


def _list_used(numbers: NDArray[Any], n_categories: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find the categories that occur and number them anew, where they are few of many; -1 stays what it is."""
    if len(numbers) >= n_categories:
        return np.arange(n_categories), numbers
    used, positions = np.unique(numbers, return_inverse=True)
    n_missing = int(used[0] < 0)
    return used[n_missing:], positions - n_missing


def _number_words(column: Series[Any]) -> Series[Any]:
    try:
        return column.cast(nw.Categorical)
    except NotImplementedError:  # some kinds of text in Arrow
        return column


def _read_objects(column: Series[Any]) -> NDArray[Any]:
    values = column.to_numpy()
    if values.dtype.kind in "biuf":  # sparse columns of pandas, say
        return as_native(values)
    known = [np.nan if key is None else value for key, value in zip(as_keys(values), values, strict=True)]
    if not all(isinstance(value, (Real, Decimal, np.bool_)) for value in known):
        raise _make_refusal(column)
    with np.errstate(over="ignore"):  # long doubles may be beyond float64
        return np.array(known, dtype=np.float64)


def _make_refusal(column: Series[Any]) -> TypeError:
    if column.dtype in (*CATEGORICAL_TYPES, nw.Object):
        advice = (
            "it must be one of categorical_features when the model is fitted ('from_dtype' finds text and categories), "
            "or be converted to numbers"
        )
    else:
        advice = "convert it to numbers (a date, say, to its year, month and day), or leave it out"
    return TypeError(f"Column {column.name!r} of X holds {column.dtype}, not numbers: {advice}.")
