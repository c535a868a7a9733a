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
from mpboost.data.checks import refuse_odd_numbers
from mpboost.data.dates import name_source
from mpboost.data.sources import ArraySource, read_native, read_source

#: A column of numbers, or of categories.
Column: TypeAlias = NDArray[Any] | Factors

#: Words of eight bytes whose sums a checksum is made of: a prime, since widths of tables are often multiples of 2.
CHECKSUM_WORDS = 61


class Kind(Enum):
    """What a feature contains."""

    NUMBERS = "numbers"
    CATEGORIES = "categories"


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
    parts : str
        What batches are called in messages.

    Attributes
    ----------
    kinds : dict
        What each feature contains, by name; all parts of dates are features.
    has_names : bool
        Whether the features have names.
    """

    def __init__(self, categorical_features: Any, parts: str = "batches"):
        self._wanted = categorical_features
        self._parts = parts
        self._by_type = isinstance(categorical_features, str)
        self._columns: dict[Any, None] = {}
        self._dated: set[Any] = set()
        self._with_values: set[Any] = set()  # features that were not missing in all rows so far
        self._warned: set[Any] = set()
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
        names = list(range(n_columns)) if source.names is None else list(source.names)
        if not self.kinds:
            self.has_names = source.names is not None
            self._mask = self._make_mask(X, names)
        self._unite(_list_names(X), place, n_columns)
        raw: dict[Any, Column] = {}
        for feature, name in enumerate(names):
            if self._by_type:
                is_categorical = has_type[feature]
            elif name in self.kinds:
                is_categorical = self.kinds[name] is Kind.CATEGORIES
            else:
                is_categorical = self._mask is not None and feature < len(self._mask) and bool(self._mask[feature])
            raw[name] = source.read_factors(feature) if is_categorical else source.read_numbers(feature)
        if isinstance(source, ArraySource) and source.array.dtype.kind in "biuf":
            checksum = checksum_numbers(source.array)
        else:
            checksum = sum(checksum_column(column) for column in raw.values())
        self._find_dates(raw)
        columns = {name: self._check_kind(name, column) for name, column in raw.items() if name not in self._dated}
        return BatchColumns(columns, checksum)

    def join(self, other: "BatchReader", place: str) -> None:
        """Take in what another reader found in the next batch, as if this one had read it."""
        if not self.kinds:
            self.has_names, self._mask = other.has_names, other._mask
        self._unite([*other._columns] if other.has_names else None, place, len(other.kinds))
        self._note_dates(other._dated, {name for name in other.kinds if name in other._with_values})
        for name, kind in other.kinds.items():
            if name not in self._dated:
                self._unite_kind(name, kind, has_values=name in other._with_values)

    def _make_mask(self, X: Any, names: list[Any]) -> NDArray[np.bool_] | None:
        """Make a mask of the features of the first batch that the user chose as categories."""
        by_number = not self._by_type and np.asarray(self._wanted).dtype.kind in "biu"
        if by_number and self.has_names and {*names} - {*read_native(X, "X").columns}:
            raise ValueError(
                "X has dates, which become several features: choose the categorical features by name, not by number."
            )
        known = names if self.has_names else None
        return make_categorical_mask(self._wanted, known, len(names), np.zeros(len(names), dtype=bool))

    def _find_dates(self, columns: dict[Any, Column]) -> None:
        """Notice columns of dates, which have features of their own; other values must not occur in them."""
        sources = {source for source, part in map(self.name_source, columns) if part}
        undated = {name for name in (self._dated | sources) & columns.keys() if not is_missing(columns[name])}
        self._note_dates(sources, undated)

    def _note_dates(self, sources: set[Any], with_values: set[Any]) -> None:
        """Remember columns of dates; ``with_values`` are columns of the same batch that contain something else."""
        for source in sources - self._dated:
            if source in self._with_values:
                raise ValueError(
                    f"column {source!r} contains dates, but contained {self.kinds[source].value} in earlier "
                    f"{self._parts}: convert it, so that all {self._parts} have one type."
                )
            self._dated.add(source)
            self.kinds.pop(source, None)  # all were missing
        for name in self._dated & with_values:
            raise ValueError(
                f"column {name!r} contained dates in earlier {self._parts}, but not here: convert it, so that all "
                f"{self._parts} have one type."
            )

    def _check_kind(self, name: Any, column: Column) -> Column:
        """Compare a column with earlier batches; one of missing values alone goes with either kind."""
        found = Kind.CATEGORIES if isinstance(column, Factors) else Kind.NUMBERS
        if name in self._with_values and found is self.kinds[name]:
            return column
        kind = self._unite_kind(name, found, has_values=not is_missing(column))
        if isinstance(column, Factors) and kind is Kind.NUMBERS:
            return np.full(len(column.positions), np.nan, dtype=np.float32)
        if not isinstance(column, Factors) and kind is Kind.CATEGORIES:
            return Factors([None], np.zeros(len(column), dtype=np.int64))
        return column

    def _unite_kind(self, name: Any, found: Kind, *, has_values: bool) -> Kind:
        """Compare the kind of a column with earlier batches; return that of all of them."""
        known = self.kinds.setdefault(name, found)
        if has_values and name in self._with_values and found is not known:
            raise ValueError(
                f"column {name!r} contains {found.value}, but contained {known.value} in earlier {self._parts}: "
                f"convert it, so that all {self._parts} have one type."
            )
        if has_values or (name not in self._with_values and found is Kind.CATEGORIES):
            self.kinds[name] = found
        if has_values:
            self._with_values.add(name)
        return self.kinds[name]

    def _unite(self, names: list[Any] | None, place: str, n_columns: int) -> None:
        """Compare the columns of a batch with those of earlier ones; warn once of a column that some batches lack."""
        is_first = not self.kinds
        if not is_first and (names is not None) != self.has_names:
            raise ValueError(f"some {self._parts} are frames with names, and others are arrays: pass one or the other.")
        if names is None:
            if not is_first and n_columns != len(self.kinds):
                raise ValueError(f"there are {n_columns} columns, but {len(self.kinds)} in earlier {self._parts}.")
            return
        found = dict.fromkeys(names)
        if not is_first:
            for kind, different in (
                ("no", self._columns.keys() - found.keys()),
                ("a new", found.keys() - self._columns.keys()),
            ):
                if different - self._warned:
                    self._warned |= different
                    warnings.warn(
                        f"{place}: there is {kind} column {min(map(str, different))!r}. Where {self._parts} lack a "
                        "column, its values count as missing.",
                        stacklevel=5,
                    )
        self._columns |= found


def _list_names(X: Any) -> list[Any] | None:
    """List the names of the columns of a frame; None for anything else."""
    frame = read_native(X, "X")
    return frame.columns if isinstance(frame, nw.DataFrame) else None


@contextmanager
def named_errors(place: str) -> Iterator[None]:
    """Say in errors which batch they are about."""
    try:
        with refuse_odd_numbers():
            yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place}: {error}") from error


def is_missing(column: Column) -> bool:
    """Check whether all values of a column are missing."""
    if isinstance(column, Factors):
        return column.are_missing()
    return column.dtype.kind == "f" and bool(np.isnan(column[:1]).all()) and bool(np.isnan(column).all())


def checksum_column(column: Column) -> int:
    """Compute a number by which a column is known again."""
    if isinstance(column, Factors):
        keys = [zlib.crc32(repr(value).encode("utf-8", "surrogatepass")) for value in column.values]
        return checksum_numbers(np.array([*keys, 0], dtype=np.uint32)[column.positions])  # position -1 selects the last
    return checksum_numbers(column)


def checksum_numbers(values: NDArray[Any]) -> int:
    """Compute a number that depends on all numbers and on their order, as fast as they can be read from memory."""
    array = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    n_lines = len(array) // 8 // CHECKSUM_WORDS
    lines = array[: n_lines * 8 * CHECKSUM_WORDS].view(np.uint64).reshape(n_lines, CHECKSUM_WORDS)
    sums = lines.sum(axis=0) + 3 * lines[: n_lines // 2].sum(axis=0)
    rest = zlib.crc32(array[n_lines * 8 * CHECKSUM_WORDS :].data)
    return sum((2 * place + 1) * total for place, total in enumerate(sums.tolist())) + rest
