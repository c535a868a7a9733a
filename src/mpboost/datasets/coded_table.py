"""A table whose values are codes already: the rows of a dataset, as estimators read them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.data.categories import MISSING
from mpboost.data.tables import Rows
from mpboost.datasets.known import Known

#: The name of the categories that were too rare to be remembered.
OTHER = "(other)"

#: Rows that are copied at a time: a column that is copied at once would be in memory twice.
COPIED_ROWS = 1 << 22


class Bin(NamedTuple):
    """A bin of numbers: those above ``low``, up to ``high``."""

    low: float
    high: float


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

    @classmethod
    def from_codes(cls, known: Known, parts: Sequence[NDArray[np.uint8]]) -> Self:
        """Make a table in memory of parts that follow each other, arrays of shape (n_features, n_rows)."""
        columns = _native.BinnedColumns(sum(codes.shape[1] for codes in parts), known.mapper.n_features)
        n_bins = (np.diff(known.mapper.offsets) + 1).tolist()
        start = 0
        for codes in parts:
            for feature, column in enumerate(codes):
                columns.put(feature, start, column, n_bins[feature])
            start += codes.shape[1]
        return cls(known, columns)

    def __reduce__(self) -> tuple[Any, ...]:
        # The engine's columns cannot be pickled; their codes can.
        return CodedTable.from_codes, (self.known, [np.ascontiguousarray(self.columns.codes)])

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
        """Make an array of some rows and columns: the middles of bins for numbers, and codes for categories."""
        chosen = range(self.n_columns) if features is None else features.tolist()
        taken = slice(None) if rows is None else rows
        return np.column_stack([self._make_numbers(feature)[self.columns.codes[feature][taken]] for feature in chosen])

    def decode(self, rows: NDArray[np.integer[Any]], feature: int) -> list[Any]:
        """Return what is known of the values of some rows: a category, a Bin of numbers, or None if it is missing."""
        values: list[Any] = [*(Bin(low, high) for low, high in pairwise([-np.inf, *self._list_edges(feature), np.inf]))]
        categories = self._list_categories(feature)
        if categories is not None:
            values = [*categories] or [None]
        values += [values[-1]] * (MISSING - len(values)) + [None]
        return [values[code] for code in self.columns.codes[feature][rows].tolist()]

    def _list_edges(self, feature: int) -> list[float]:
        begin, end = self.known.mapper.offsets[feature : feature + 2]
        edges: list[float] = self.known.mapper.edges[begin:end].tolist()
        return edges

    def _list_categories(self, feature: int) -> list[Any] | None:
        """List the categories in the order of their codes; None if the feature has numbers."""
        categories, has_other = (self.known.features[name] for name in ("categories_", "has_other_category_"))
        if categories is None or categories[feature] is None:
            return None
        return [*categories[feature], *[OTHER] * bool(has_other[feature])]

    def _make_numbers(self, feature: int) -> NDArray[np.float64]:
        """Make an array with the number that stands for each code."""
        categories = self._list_categories(feature)
        if categories is None:
            numbers = compute_middles(np.array(self._list_edges(feature)))
        else:
            numbers = np.arange(max(1, len(categories)), dtype=np.float64)
        return np.append(np.pad(numbers, (0, MISSING - len(numbers)), mode="edge"), np.nan)


def compute_middles(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Choose a number within each bin: its middle, as if the first and the last bin were as wide as their neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> compute_middles(np.array([0.5, 1.5, 4.5]))
    array([0., 1., 3., 6.])
    """
    if not len(edges):
        return np.zeros(1)
    with np.errstate(invalid="ignore", over="ignore"):  # edges may be infinite, or as large as numbers can be
        widths = np.diff(edges) if len(edges) > 1 else np.ones(1)
        inner = edges[:-1] / 2 + edges[1:] / 2
        first, last = edges[0] - widths[0] / 2, edges[-1] + widths[-1] / 2
    inner = np.where((inner > edges[:-1]) & (inner <= edges[1:]), inner, edges[1:])
    first = first if first <= edges[0] else edges[0]
    last = last if last > edges[-1] else np.nextafter(edges[-1], np.inf)
    return np.array([first, *inner, last])


def refuse_values() -> NoReturn:
    """Raise a ValueError for what needs the values themselves."""
    raise ValueError("A BinnedDataset has bins in place of values, which this needs: pass the table itself.")
