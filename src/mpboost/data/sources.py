"""Reads what users pass as X: arrays, data frames of any library, and sparse matrices."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import sklearn
from narwhals import Series
from narwhals.exceptions import DuplicateError
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_array, validate_data

from mpboost.data.categories import Factors, as_keys, factorise
from mpboost.data.dates import name_source, split_dates
from mpboost.data.tables import ColumnTable, DenseTable, SparseTable, Table, as_native

#: How scikit-learn checks tables: infinity is allowed, NaN is a missing value.
CHECKS = {"dtype": "numeric", "ensure_all_finite": False}

#: Whether scikit-learn can read the column names of frames of any library.
READS_FRAMES = parse_version(sklearn.__version__) >= parse_version("1.9")

#: Frames of at most so many cells are read at once, if possible: column by column is slower for short columns.
CELLS_AT_ONCE = 1 << 22

WIDE_TYPES = (nw.Int128, nw.UInt128)
CATEGORICAL_TYPES = (nw.Categorical, nw.Enum, nw.String)


class Source(Protocol):
    """A table as the user passed it, with its shape and its names checked."""

    def __len__(self) -> int:
        """Count the rows."""

    @property
    def names(self) -> list[Any] | None:
        """The names of the columns, if they have names."""

    @property
    def by_dtype(self) -> NDArray[np.bool_]:
        """Mask of the columns whose type is categorical."""

    def to_table(self) -> Table:
        """Convert all columns to a table of numbers."""

    def read_numbers(self, feature: int) -> NDArray[Any]:
        """Read a column of numbers."""

    def read_factors(self, feature: int) -> Factors:
        """Read a column of categories."""


def read_source(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    has_categories: bool,
    dated_categories: Collection[Any] = (),
    is_part: bool = False,
) -> Source:
    """Check a table, its number of features and their names by scikit-learn's rules and messages.

    Parameters
    ----------
    estimator : estimator
        Has, or gets, the number and the names of the features.
    X : array-like, frame or sparse matrix
        The table.
    reset : bool
        Whether to set the number and the names of the features on the estimator instead of comparing them.
    has_categories : bool
        Whether columns of an array may contain other values than numbers.
    dated_categories : collection
        Names of columns whose dates are categories; the dates of all others become numbers.
    is_part : bool
        Whether there are other rows: then all parts of dates are kept.
    """
    if sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"Expected a sparse matrix of 2 dimensions, but X has {X.ndim}: reshape it.")
        table = SparseTable.from_matrix(X)
        matrix = validate_data(estimator, table.matrix, reset=reset, accept_sparse=("csr", "csc"), **CHECKS)
        return SparseSource(SparseTable(matrix))
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf":  # scikit-learn would ignore its mask
        X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if type(X) is not np.ndarray:  # the checks below take longer than predicting a row
        frame = read_native(X, "X")
        if isinstance(frame, nw.DataFrame):
            _check_not_empty(frame)
            known = None if reset else getattr(estimator, "feature_names_in_", None)
            frame = _split_dates(frame, known, dated_categories, is_part)
            validate_data(estimator, _make_header(frame), reset=reset, skip_check_array=True)
            array = _read_at_once(frame)
            return FrameSource(list(frame.iter_columns())) if array is None else ArraySource(array, frame.columns)
        refuse_lazy(X, "X")
        if isinstance(frame, nw.Series):
            raise ValueError("Expected 2D array, got a single column instead: pass a frame with one column.")
    is_raw = has_categories and getattr(getattr(X, "dtype", None), "kind", "O") in "OSUT"
    checks = {**CHECKS, "dtype": object} if is_raw else CHECKS
    array = _check_numbers(X, estimator=estimator, input_name="X", **checks)
    return ArraySource(validate_data(estimator, array, reset=reset, skip_check_array=True))


def read_native(data: Any, name: str) -> Any:
    """Wrap a frame or a column of any library; return anything else as it is."""
    try:
        return nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    except DuplicateError as error:
        names = list(data.column_names if hasattr(data, "column_names") else data.columns)
        twice = next(each for each in names if names.count(each) > 1)
        raise ValueError(f"{name} has more than one column named {twice!r}: rename one of them.") from error


def refuse_lazy(data: Any, name: str) -> None:
    """Raise a TypeError for a lazy frame, whose values are not computed yet."""
    if isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame: pass its values, for example {name}.collect().")


@dataclass(frozen=True)
class ArraySource:
    """A two-dimensional array of numbers, or of objects if some columns are categorical."""

    array: NDArray[Any]
    names: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.array)

    @property
    def by_dtype(self) -> NDArray[np.bool_]:
        """All False: a column of an array has no type of its own."""
        return np.zeros(self.array.shape[1], dtype=bool)

    def to_table(self) -> DenseTable:
        """Convert all columns to a table of numbers."""
        return DenseTable(as_native(_check_numbers(self.array, **CHECKS) if self.array.dtype == object else self.array))

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
        """All False: all columns contain numbers."""
        return np.zeros(self.table.n_columns, dtype=bool)

    def to_table(self) -> SparseTable:
        """Convert all columns to a table of numbers."""
        return self.table

    def read_numbers(self, feature: int) -> NDArray[Any]:
        """Raise a ValueError: single columns are read only if some are categorical."""
        raise ValueError("A sparse X cannot have categorical features: pass an array or a data frame.")

    def read_factors(self, feature: int) -> Factors:
        """Raise a ValueError."""
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
        """Mask of the columns of text or categories."""
        return np.array([column.dtype in CATEGORICAL_TYPES for column in self.columns])

    def to_table(self) -> Table:
        """Convert all columns to a table of numbers."""
        columns = [self.read_numbers(feature) for feature in range(len(self.columns))]
        block = view_as_block(columns)
        return ColumnTable(columns, [None] * len(columns)) if block is None else DenseTable(block)

    def read_numbers(self, feature: int) -> NDArray[Any]:
        """Read a column of numbers, if possible without a larger type; missing values are NaN."""
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
        """Read a column of categories, by the codes of the frame if it has codes."""
        column = self.columns[feature]
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            return factorise(self.read_numbers(feature))
        if column.dtype == nw.String:
            column = _encode_text(column)
        if column.dtype not in (nw.Categorical, nw.Enum):
            return factorise(np.array([*column.to_list(), None], dtype=object)[:-1])
        native = column.to_native()
        if column.implementation.is_polars():
            # The numbers need not be positions in the list of categories: read each value from a row where it occurs.
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
    """Gives scikit-learn < 1.9 the column names of a frame that is not from pandas."""

    def __init__(self, frame: nw.DataFrame[Any]):
        self.shape = frame.shape
        self._names = frame.columns

    def __dataframe__(self) -> "_Header":
        return self

    def column_names(self) -> list[str]:
        return self._names


def _split_dates(
    frame: nw.DataFrame[Any], known: Collection[str] | None, keep: Collection[Any], keep_constant: bool
) -> nw.DataFrame[Any]:
    """Split dates into numbers; refuse text where a model knows the parts of dates."""
    frame = split_dates(frame, known, keep=keep, keep_constant=keep_constant)
    if known is None:
        return frame
    missing = [name for name in known if name not in frame.columns]
    for name in missing:
        source, part = name_source(name, frame.columns)
        if part and source in frame.columns:
            raise TypeError(
                f"Column {source!r} of X contains {frame[source].dtype}, but the model was trained on dates ({name}): "
                "convert it to dates, or read the file with mpboost.read_table."
            )
    return frame


def _make_header(frame: nw.DataFrame[Any]) -> Any:
    return frame.to_native() if READS_FRAMES or frame.implementation.is_pandas() else _Header(frame)


def _check_not_empty(frame: nw.DataFrame[Any]) -> None:
    for count, what in zip(frame.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={frame.shape}) while a minimum of 1 is required.")


def _check_numbers(X: Any, **checks: Any) -> NDArray[Any]:
    """Check an array; among objects, pandas.NA is a missing value like None."""
    try:
        return check_array(X, **checks)
    except TypeError:
        array = np.array(X, dtype=object)
        is_missing = np.reshape([key is None for key in as_keys(array.ravel())], array.shape)
        if not is_missing.any():
            raise
        return check_array(np.where(is_missing, np.nan, array), **checks)
    except ValueError as error:
        is_text = str(error).startswith("dtype='numeric' is not compatible")  # an array of text and nothing else
        if not is_text and not str(error).startswith("could not convert string"):
            raise
        example = "" if is_text else f" ({error})"
        raise ValueError(
            f"X contains text{example}: list its columns in categorical_features, or convert them to numbers."
        ) from error


def _read_at_once(frame: nw.DataFrame[Any]) -> NDArray[Any] | None:
    """Convert a small frame to an array, if all its columns have the same plain numeric type; else return None."""
    is_pandas = frame.implementation.is_pandas()
    if frame.shape[0] * frame.shape[1] > CELLS_AT_ONCE or not (is_pandas or frame.implementation.is_polars()):
        return None
    native = frame.to_native()
    dtype, *others = set(native.dtypes)
    is_plain = isinstance(dtype, np.dtype) and dtype.kind in "biuf" if is_pandas else dtype.is_float()
    return native.to_numpy() if is_plain and not others else None


def view_as_block(columns: list[NDArray[Any]]) -> NDArray[Any] | None:
    """Return the one array that all columns are views of, as in many frames of pandas; None if there is none."""
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
    """List the categories that occur and renumber them, if there are more categories than rows; -1 stays -1."""
    if len(numbers) >= n_categories:
        return np.arange(n_categories), numbers
    used, positions = np.unique(numbers, return_inverse=True)
    n_missing = int(used[0] < 0)
    return used[n_missing:], positions - n_missing


def _encode_text(column: Series[Any]) -> Series[Any]:
    try:
        return column.cast(nw.Categorical)
    except NotImplementedError:  # some text types of Arrow
        return column


def _read_objects(column: Series[Any]) -> NDArray[Any]:
    values = column.to_numpy()
    if values.dtype.kind in "biuf":  # for example sparse columns of pandas
        return as_native(values)
    known = [np.nan if key is None else value for key, value in zip(as_keys(values), values, strict=True)]
    if not all(isinstance(value, (Real, Decimal, np.bool_)) for value in known):
        raise _make_refusal(column)
    with np.errstate(over="ignore"):  # long doubles may not fit in float64
        return np.array(known, dtype=np.float64)


def _make_refusal(column: Series[Any]) -> TypeError:
    example = ""
    if column.dtype in (*CATEGORICAL_TYPES, nw.Object):
        first = next(
            (value for value in as_keys(column.to_list()) if isinstance(value, str) and not _is_number(value)), ""
        )
        example = f", such as {first!r}" if first else ""
        advice = (
            "convert it to numbers (mpboost.read_table reads 1,000 and $5 as numbers), or list it in "
            "categorical_features when you fit the model ('from_dtype' selects text and categories)"
        )
    else:
        advice = "convert it to numbers, or drop it"
    return TypeError(f"Column {column.name!r} of X contains {column.dtype}, not numbers{example}: {advice}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
