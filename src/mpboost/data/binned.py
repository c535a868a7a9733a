"""Binned data of a fit: the columns of one tree at a time, and what it puts out for all rows."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.outputs.kinds import Outputs

#: How a split lies in memory; see native/include/mpboost/tree.hpp.
SPLIT_DTYPE = np.dtype(
    [
        ("feature", "<i4"),
        ("left", "<i4"),
        ("right", "<i4"),
        ("categories", "<i4"),
        ("bin", "u1"),
        ("missing_left", "u1"),
        ("reserved", "<u2"),
    ]
)


def read_splits(tree: _native.Tree) -> NDArray[np.void]:
    """Give the splits of a tree as records."""
    return np.frombuffer(tree.splits.tobytes(), dtype=SPLIT_DTYPE)


class BinnedData(Protocol):
    """A table in bins, as trees see it."""

    n_rows: int

    def fetch(
        self, features: NDArray[np.int64], threads: _native.Threads
    ) -> tuple[_native.BinnedColumns, NDArray[np.int64]]:
        """Give columns that hold some features, and where in them; valid until the next call."""

    def rename(self, tree: _native.Tree, features: NDArray[np.int64]) -> _native.Tree:
        """Express a tree over fetched columns in terms of the table."""

    def apply(self, tree: _native.Tree, outputs: Outputs, out: NDArray[Any], threads: _native.Threads) -> None:
        """Write the outputs of a tree over the table."""

    def equals(self, other: Any) -> bool:
        """Tell whether all bins are the same."""


class DenseData:
    """All columns, a byte for each cell."""

    def __init__(self, columns: _native.BinnedColumns):
        self.n_rows = columns.n_rows
        self._columns = columns

    def fetch(
        self, features: NDArray[np.int64], threads: _native.Threads
    ) -> tuple[_native.BinnedColumns, NDArray[np.int64]]:
        """Give columns that hold some features, and where in them."""
        return self._columns, features

    def rename(self, tree: _native.Tree, features: NDArray[np.int64]) -> _native.Tree:
        """Return the tree as it is."""
        return tree

    def apply(self, tree: _native.Tree, outputs: Outputs, out: NDArray[Any], threads: _native.Threads) -> None:
        """Write the outputs of a tree over the table."""
        outputs.apply(tree, self._columns, out, threads)

    def equals(self, other: Any) -> bool:
        """Tell whether all bins are the same."""
        return isinstance(other, DenseData) and np.array_equal(self._columns.codes, other._columns.codes)


class SparseData:
    """The cells that are not zero; columns are filled in when they are asked for."""

    def __init__(self, columns: _native.SparseColumns):
        self.n_rows = columns.n_rows
        self._columns = columns
        self._filled = _native.BinnedColumns(columns.n_rows, 0)

    def fetch(
        self, features: NDArray[np.int64], threads: _native.Threads
    ) -> tuple[_native.BinnedColumns, NDArray[np.int64]]:
        """Give columns that hold some features, and where in them; valid until the next call."""
        if self._filled.n_columns < len(features):
            self._filled = _native.BinnedColumns(self.n_rows, len(features))
        self._columns.expand(features, self._filled, threads)
        return self._filled, np.arange(len(features))

    def rename(self, tree: _native.Tree, features: NDArray[np.int64]) -> _native.Tree:
        """Express a tree over fetched columns in terms of the table."""
        return tree.with_features(features)

    def apply(self, tree: _native.Tree, outputs: Outputs, out: NDArray[Any], threads: _native.Threads) -> None:
        """Write the outputs of a tree over the table."""
        columns, _ = self.fetch(tree.features, threads)
        outputs.apply(tree.narrow(), columns, out, threads)

    def equals(self, other: Any) -> bool:
        """Tell whether all bins are the same."""
        return isinstance(other, SparseData) and self._columns.equals(other._columns)


def make_binned_data(columns: _native.BinnedColumns | _native.SparseColumns) -> BinnedData:
    """Wrap what a table was binned to."""
    return SparseData(columns) if isinstance(columns, _native.SparseColumns) else DenseData(columns)
