"""Reads the features of batches as one table: columns by name, of one kind each, as pandas.concat would unite them."""

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mpboost.data.categories import Factors, make_categorical_mask
from mpboost.data.dates import name_source
from mpboost.data.sources import ArraySource, read_native, read_source

#: A column of numbers, or of categories.
Column: TypeAlias = NDArray[Any] | Factors


class Kind(Enum):
    """What a feature contains."""

    NUMBERS = "numbers"
    CATEGORIES = "categories"
    MISSING = "missing values"  # nothing else yet


class BatchColumns(NamedTuple):
    """The features of a batch, by name, or by number if they have no names; and a number to know the batch again by."""

    columns: dict[Any, Column]
    checksum: int


class BatchReader:
    """Reads batches, and remembers what kinds of features there are.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like or None
        As the parameter of estimators.

    Attributes
    ----------
    kinds : dict
        What each feature contains, by name; all parts of dates are features.
    has_names : bool
        Whether the features have names.
    """

    def __init__(self, categorical_features: Any):
        self._wanted = categorical_features
        self._by_type = isinstance(categorical_features, str)
        self._columns: dict[Any, None] = {}
        self._mask: NDArray[np.bool_] | None = None
        self.kinds: dict[Any, Kind] = {}
        self.has_names = False

    def name_source(self, feature: Any) -> tuple[Any, str]:
        """Split the name of a feature into its column and, if it was made from a date, the part of the date."""
        return name_source(feature, self._columns) if isinstance(feature, str) else (feature, "")

    def read(self, X: Any, place: str) -> BatchColumns:
        """Read a batch; ``place`` says in warnings where it is."""
        chosen = self._wanted is not None and not self._by_type
        dated = np.asarray(self._wanted, dtype=object).ravel().tolist() if chosen else []
        source = read_source(
            BaseEstimator(), X, reset=True, has_categories=chosen, dated_categories=dated, is_part=True
        )
        has_type = source.by_dtype.tolist()  # it takes long
        n_columns = len(has_type)
        is_first = not self.kinds
        if is_first:
            self.has_names = source.names is not None
            self._mask = make_categorical_mask(self._wanted, source.names, n_columns, np.zeros(n_columns, dtype=bool))
        self._unite(X, place, n_columns)
        names = list(range(n_columns)) if source.names is None else list(source.names)
        columns: dict[Any, Column] = {}
        for feature, name in enumerate(names):
            kind = self.kinds.get(name, Kind.MISSING)
            if self._by_type:
                is_categorical = has_type[feature]
            elif name in self.kinds:
                is_categorical = kind is Kind.CATEGORIES
            else:
                is_categorical = self._mask is not None and feature < len(self._mask) and bool(self._mask[feature])
            column: Column = source.read_factors(feature) if is_categorical else source.read_numbers(feature)
            columns[name] = self._check_kind(name, column, kind)
        if isinstance(source, ArraySource) and source.array.dtype.kind in "biuf":
            checksum = checksum_numbers(source.array)
        else:
            checksum = sum(checksum_column(column) for column in columns.values())
        return BatchColumns(columns, checksum)

    def _check_kind(self, name: Any, column: Column, known: Kind) -> Column:
        """Compare a column with earlier batches; one of missing values alone goes with either kind."""
        found = Kind.CATEGORIES if isinstance(column, Factors) else Kind.NUMBERS
        n_rows = len(column.positions) if isinstance(column, Factors) else len(column)
        is_missing = column.are_missing() if isinstance(column, Factors) else are_missing(column)
        if known is Kind.MISSING:
            # A column of missing numbers may still turn out to be one of categories.
            is_open = is_missing and found is Kind.NUMBERS and self._by_type
            self.kinds[name] = Kind.MISSING if is_open else found
            return column
        if found is known:
            return column
        if not is_missing:
            raise ValueError(
                f"column {name!r} contains {found.value}, but contained {known.value} in earlier batches: convert it, "
                "so that all batches have one type."
            )
        if known is Kind.CATEGORIES:
            return Factors([None], np.zeros(n_rows, dtype=np.int64))
        return np.full(n_rows, np.nan, dtype=np.float32)

    def _unite(self, X: Any, place: str, n_columns: int) -> None:
        """Compare the columns of a batch with those of earlier ones; warn of columns that some batches lack."""
        frame = read_native(X, "X")
        names = frame.columns if isinstance(frame, nw.DataFrame) else None
        is_first = not self.kinds
        if not is_first and (names is not None) != self.has_names:
            raise ValueError("some batches are frames with names, and others are arrays: pass one or the other.")
        if names is None:
            if not is_first and n_columns != len(self.kinds):
                raise ValueError(f"there are {n_columns} columns, but {len(self.kinds)} in earlier batches.")
            return
        found = dict.fromkeys(names)
        if not is_first:
            for kind, different in (
                ("no", self._columns.keys() - found.keys()),
                ("a new", found.keys() - self._columns.keys()),
            ):
                if different:
                    warnings.warn(
                        f"{place}: there is {kind} column {min(map(str, different))!r}. Where batches lack a column, "
                        "its values count as missing.",
                        stacklevel=5,
                    )
        self._columns |= found


@contextmanager
def named_errors(place: str) -> Iterator[None]:
    """Say in errors which batch they are about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place}: {error}") from error


def are_missing(values: NDArray[Any]) -> bool:
    """Check whether all numbers are missing."""
    return values.dtype.kind == "f" and bool(np.isnan(values[:1]).all()) and bool(np.isnan(values).all())


def checksum_column(column: Column) -> int:
    """Compute a number by which a column is known again."""
    if isinstance(column, Factors):
        counts = np.bincount(column.positions + 1, minlength=len(column.values) + 1).tolist()
        keys = [zlib.crc32(repr(value).encode("utf-8", "surrogatepass")) for value in column.values]
        return sum(key * count for key, count in zip(keys, counts[1:], strict=False)) + counts[0]
    return checksum_numbers(column)


def checksum_numbers(values: NDArray[Any]) -> int:
    """Add up the bytes of numbers, eight at a time, and the first half of them once more."""
    array = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    n_whole = len(array) // 8 * 8
    words = array[:n_whole].view(np.uint64)
    rest = int.from_bytes(array[n_whole:].tobytes(), "little")
    return int(words.sum()) + 3 * int(words[: len(words) // 2].sum()) + 7 * int(words[::61].sum()) + rest
