"""What an ensemble says about rows if one of their features had other values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats
from mpboost.boosting.ensembles import EstimatorEnsemble, TreeEnsemble
from mpboost.data.binned import make_binned_data
from mpboost.data.tables import DenseTable, SparseTable, Table
from mpboost.outputs.kinds import Colours, LearnerOutputs, Outputs

#: Copies of the rows that trees are applied to at once, which is faster, and the most cells of these.
MAX_COPIES, COPIED_CELLS = 8, 1 << 24


class Substitution(Protocol):
    """Rows of a table in which the values of one feature are substituted."""

    def group(self, feature: int, values: NDArray[Any]) -> NDArray[np.integer[Any]]:
        """Assign a number to each value: the same to values that the ensemble cannot tell apart, in their order."""

    def substitute(self, feature: int, values: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Yield the totals of all rows with the feature at the first value in every row, then at the second, ..."""


def make_substitution(ensemble: Any, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> Substitution:
    """Prepare the rows of a table for an ensemble."""
    if isinstance(ensemble, EstimatorEnsemble):
        assert isinstance(outputs, LearnerOutputs)
        return EstimatorSubstitution(ensemble, table, outputs)
    return TreeSubstitution(ensemble, table, outputs, threads)


class TreeSubstitution:
    """Rows for native trees: binned once, several copies of them; then one column is overwritten again and again.

    Only the trees that use the feature are applied to these.

    Parameters
    ----------
    ensemble : TreeEnsemble
        The trees.
    table : Table
        The rows.
    outputs : Outputs
        What the trees put out.
    threads : Threads
        Threads; the totals are the same for any number.
    """

    def __init__(self, ensemble: TreeEnsemble, table: Table, outputs: Outputs[Any], threads: _native.Threads):
        self._outputs, self._threads = outputs, threads
        self._forest, self._mapper, self._features = ensemble.forest, ensemble.mapper, np.arange(table.n_columns)
        self._edges = np.split(ensemble.mapper.edges, ensemble.mapper.offsets[1:-1])
        if isinstance(table, SparseTable):  # expand only the columns that trees use
            self._forest, self._features = ensemble.forest.narrow(), ensemble.forest.features
            self._mapper = _make_mapper([self._edges[feature] for feature in self._features])
        self._trees = [self._forest.tree(index) for index in range(len(self._forest))]
        n_cells = table.n_rows * max(1, len(self._features))
        self._n_copies = min(MAX_COPIES, max(1, COPIED_CELLS // n_cells))
        self._table, copies = table, table.take_rows(np.tile(np.arange(table.n_rows), self._n_copies))
        self._columns, self._copied_columns = (
            make_binned_data(rows.bin(ensemble.mapper, threads)).fetch(self._features, threads)[0]
            for rows in (table, copies)
        )

    def group(self, feature: int, values: NDArray[Any]) -> NDArray[np.integer[Any]]:
        """Return the bins of the values."""
        return np.searchsorted(self._edges[feature], values)

    def substitute(self, feature: int, values: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Yield the totals of all rows with the feature at the first value in every row, then at the second, ..."""
        n_rows, n_copies = self._columns.n_rows, self._n_copies
        place = int(np.searchsorted(self._features, feature)) if feature in self._features else None
        users, others = self._split(place)
        rest = self._add(others, self._columns, self._outputs.make_totals(n_rows))
        for start in range(0, len(values), n_copies):
            batch = values[start : start + n_copies]
            totals = np.concatenate([rest] * n_copies)
            if place is not None:
                each = np.pad(batch, (0, n_copies - len(batch)), mode="edge")
                self._overwrite(place, np.repeat(each, n_rows)[:, None])
            self._add(users, self._copied_columns, totals)
            yield from np.split(totals, n_copies)[: len(batch)]
        if place is not None:
            self._overwrite(place, np.tile(self._table.to_array(features=np.array([feature])), (n_copies, 1)))

    def _split(self, place: int | None) -> tuple[_native.Forest, _native.Forest]:
        """Split the trees into those that use a column and all others."""
        if isinstance(self._outputs, Colours):  # what their votes count for depends on the number of the tree
            return self._forest, _native.Forest()
        users, others = _native.Forest(), _native.Forest()
        for tree in self._trees:
            (users if place in tree.features else others).append(tree)
        return users, others

    def _overwrite(self, place: int, column: NDArray[Any]) -> None:
        self._mapper.encode(column, self._copied_columns, 0, place, self._threads)

    def _add(self, forest: _native.Forest, columns: _native.BinnedColumns, totals: NDArray[Any]) -> NDArray[Any]:
        if len(forest):
            self._outputs.add_forest(forest, columns, totals, self._threads)
        return totals


class EstimatorSubstitution:
    """Rows for given scikit-learn estimators: those that have the feature predict all substituted rows at once.

    Parameters
    ----------
    ensemble : EstimatorEnsemble
        The estimators.
    table : Table
        The rows.
    outputs : LearnerOutputs
        What the estimators put out.
    """

    def __init__(self, ensemble: EstimatorEnsemble, table: Table, outputs: LearnerOutputs[Any]):
        self._ensemble, self._table, self._outputs = ensemble, table, outputs
        self._known = [model.apply(table, outputs) for model in ensemble.models]

    def group(self, feature: int, values: NDArray[Any]) -> NDArray[np.integer[Any]]:
        """Return the ranks of the values: estimators may tell all of them apart."""
        return np.unique(values, return_inverse=True)[1]

    def substitute(self, feature: int, values: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Yield the totals of all rows with the feature at the first value in every row, then at the second, ..."""
        n_rows, n_values = self._table.n_rows, len(values)
        totals = self._outputs.make_totals(n_rows * n_values)
        for index, (model, known) in enumerate(zip(self._ensemble.models, self._known, strict=True)):
            out = np.tile(known, n_values)
            if model.estimator is not None and feature in model.features:
                array = np.tile(self._table.to_array(features=model.features), (n_values, 1))
                array[:, np.flatnonzero(model.features == feature)[0]] = np.repeat(values, n_rows)
                same = replace(model, features=np.arange(array.shape[1]))
                out = same.apply(DenseTable(array), self._outputs)
            self._outputs.add(index, out, totals)
        yield from np.split(totals, n_values)


def _make_mapper(edges: Sequence[Floats]) -> _native.BinMapper:
    """Make a mapper, given where the bins of each feature end."""
    lengths = np.array([0, *map(len, edges)], dtype=np.int64)
    return _native.BinMapper(np.concatenate([np.empty(0), *edges]), np.cumsum(lengths))
