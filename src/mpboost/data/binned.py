"""Binned data: a table in bins, as trees see it."""

from typing import Protocol

import numpy as np

from mpboost import _native
from mpboost._arrays import Positions


class BinnedData(Protocol):
    """A table in bins, as trees see it."""

    n_rows: int

    def fetch(self, features: Positions, threads: _native.Threads) -> tuple[_native.BinnedColumns, Positions]:
        """Give columns that hold some features, and where in them; valid until the next call."""

    def rename(self, tree: _native.Tree, features: Positions) -> _native.Tree:
        """Express a tree over fetched columns in terms of the table."""

    def prepare(self, tree: _native.Tree, threads: _native.Threads) -> tuple[_native.Tree, _native.BinnedColumns]:
        """Give a tree over the table in terms of columns that it can be applied to; valid until the next call."""

    def equals(self, other: object) -> bool:
        """Tell whether all bins are the same."""


class DenseData:
    """All columns, a byte for each cell."""

    def __init__(self, columns: _native.BinnedColumns):
        self.n_rows = columns.n_rows
        self._columns = columns

    def fetch(self, features: Positions, threads: _native.Threads) -> tuple[_native.BinnedColumns, Positions]:
        """Give columns that hold some features, and where in them."""
        return self._columns, features

    def rename(self, tree: _native.Tree, features: Positions) -> _native.Tree:
        """Return the tree as it is."""
        return tree

    def prepare(self, tree: _native.Tree, threads: _native.Threads) -> tuple[_native.Tree, _native.BinnedColumns]:
        """Give the tree as it is, with all columns."""
        return tree, self._columns

    def equals(self, other: object) -> bool:
        """Tell whether all bins are the same."""
        return isinstance(other, DenseData) and np.array_equal(self._columns.codes, other._columns.codes)


class SparseData:
    """The cells that are not zero; columns are filled in when they are asked for."""

    def __init__(self, columns: _native.SparseColumns):
        self.n_rows = columns.n_rows
        self._columns = columns
        self._filled = _native.BinnedColumns(columns.n_rows, 0)

    def fetch(self, features: Positions, threads: _native.Threads) -> tuple[_native.BinnedColumns, Positions]:
        """Give columns that hold some features, and where in them; valid until the next call."""
        if self._filled.n_columns < len(features):
            self._filled = _native.BinnedColumns(self.n_rows, len(features))
        self._columns.expand(features, self._filled, threads)
        return self._filled, np.arange(len(features))

    def rename(self, tree: _native.Tree, features: Positions) -> _native.Tree:
        """Express a tree over fetched columns in terms of the table."""
        return tree.with_features(features)

    def prepare(self, tree: _native.Tree, threads: _native.Threads) -> tuple[_native.Tree, _native.BinnedColumns]:
        """Give the tree in terms of the columns that it uses."""
        columns, _ = self.fetch(tree.features, threads)
        return tree.narrow(), columns

    def equals(self, other: object) -> bool:
        """Tell whether all bins are the same."""
        return isinstance(other, SparseData) and self._columns.equals(other._columns)


def make_binned_data(columns: _native.BinnedColumns | _native.SparseColumns) -> BinnedData:
    """Wrap what a table was binned to."""
    return SparseData(columns) if isinstance(columns, _native.SparseColumns) else DenseData(columns)
