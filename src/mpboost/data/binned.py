"""Tables in bins, as trees read them."""

from typing import Protocol, TypeAlias

import numpy as np

from mpboost import _native
from mpboost._arrays import Mask, Positions

#: Columns, and the positions of some features in them.
Fetched: TypeAlias = tuple[_native.BinnedColumns, Positions]


class BinnedData(Protocol):
    """A table in bins, as trees read it.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    copies : bool
        Whether fetching makes a copy of columns, so that several sets of them take memory.
    """

    n_rows: int
    copies: bool

    def fetch(self, features: Positions, threads: _native.Threads, place: int = 0) -> Fetched:
        """Return columns that contain the features, and the positions of these in them.

        They are valid until the next call with the same ``place``.
        """

    def rename(self, tree: _native.Tree, features: Positions) -> _native.Tree:
        """Change the feature numbers of a tree from positions in fetched columns to those of the table."""

    def prepare(self, tree: _native.Tree, threads: _native.Threads) -> tuple[_native.Tree, _native.BinnedColumns]:
        """Return a tree and columns that it can be applied to, with matching numbers; valid until the next call."""

    def describe(self, features: Positions) -> tuple[Positions, Mask]:
        """Return the numbers of bins of some features, and which of them have missing values."""

    def equals(self, other: object) -> bool:
        """Check whether all bins are the same."""


class DenseData:
    """Stores all columns, one byte per cell."""

    def __init__(self, columns: _native.BinnedColumns):
        self.n_rows = columns.n_rows
        self.copies = False
        self._columns = columns

    def fetch(self, features: Positions, threads: _native.Threads, place: int = 0) -> Fetched:
        """Return all columns, and the positions of the features in them."""
        return self._columns, features

    def rename(self, tree: _native.Tree, features: Positions) -> _native.Tree:
        """Return the tree unchanged: all columns are there."""
        return tree

    def prepare(self, tree: _native.Tree, threads: _native.Threads) -> tuple[_native.Tree, _native.BinnedColumns]:
        """Return the tree unchanged, and all columns."""
        return tree, self._columns

    def describe(self, features: Positions) -> tuple[Positions, Mask]:
        """Return the numbers of bins of some features, and which of them have missing values."""
        n_bins, has_missing = self._columns.n_bins, self._columns.has_missing
        return np.array([*map(n_bins, features.tolist())]), np.array([*map(has_missing, features.tolist())], dtype=bool)

    def equals(self, other: object) -> bool:
        """Check whether all bins are the same."""
        return isinstance(other, DenseData) and np.array_equal(self._columns.codes, other._columns.codes)


class SparseData:
    """Stores only the cells that are not zero; full columns are built when they are fetched."""

    def __init__(self, columns: _native.SparseColumns):
        self.n_rows = columns.n_rows
        self._columns = columns
        self.copies = True
        self._filled: list[_native.BinnedColumns] = []

    def fetch(self, features: Positions, threads: _native.Threads, place: int = 0) -> Fetched:
        """Return columns that contain the features, and the positions of these in them."""
        while place >= len(self._filled):
            self._filled.append(_native.BinnedColumns(self.n_rows, 0))
        if self._filled[place].n_columns < len(features):
            self._filled[place] = _native.BinnedColumns(self.n_rows, len(features))
        self._columns.expand(features, self._filled[place], threads)
        return self._filled[place], np.arange(len(features))

    def rename(self, tree: _native.Tree, features: Positions) -> _native.Tree:
        """Change the feature numbers of a tree from positions in fetched columns to those of the table."""
        return tree.with_features(features)

    def prepare(self, tree: _native.Tree, threads: _native.Threads) -> tuple[_native.Tree, _native.BinnedColumns]:
        """Return the tree renumbered to the columns that it uses, and these columns."""
        columns, _ = self.fetch(tree.features, threads)
        return tree.narrow(), columns

    def describe(self, features: Positions) -> tuple[Positions, Mask]:
        """Raise an error: only dense tables are cut into shards."""
        raise NotImplementedError("sparse tables are not cut into shards")

    def equals(self, other: object) -> bool:
        """Check whether all bins are the same."""
        return isinstance(other, SparseData) and self._columns.equals(other._columns)


def make_binned_data(columns: _native.BinnedColumns | _native.SparseColumns) -> BinnedData:
    """Wrap the binned columns of a table, dense or sparse."""
    return SparseData(columns) if isinstance(columns, _native.SparseColumns) else DenseData(columns)
