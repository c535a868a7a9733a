"""What an ensemble says about rows if one of their features had other values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost.boosting.ensembles import EstimatorEnsemble, TreeEnsemble
from mpboost.data.binned import make_binned_data
from mpboost.data.tables import DenseTable, SparseTable, Table
from mpboost.learners.splits import SPLIT_DTYPE
from mpboost.outputs.kinds import Colours, LearnerOutputs, Outputs


class Substitution(Protocol):
    """Rows of a table in which the values of one feature are substituted."""

    def group(self, feature: int, values: NDArray[Any]) -> NDArray[np.integer[Any]]:
        """Number the groups of values that the ensemble cannot tell apart, in the order of the values."""

    def substitute(self, feature: int, values: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Yield the totals of all rows with the feature at the first value in every row, then at the second, ..."""


def make_substitution(ensemble: Any, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> Substitution:
    """Prepare the rows of a table for an ensemble."""
    if isinstance(ensemble, EstimatorEnsemble):
        assert isinstance(outputs, LearnerOutputs)
        return EstimatorSubstitution(ensemble, table, outputs)
    return TreeSubstitution(ensemble, table, outputs, threads)


class TreeSubstitution:
    """Rows for native trees: binned once; then one column is overwritten, and the trees that use it are applied.

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
        self._table, self._outputs, self._threads = table, outputs, threads
        self._forest, self._mapper = ensemble.forest, ensemble.mapper
        self._edges = np.split(ensemble.mapper.edges, ensemble.mapper.offsets[1:-1])
        self._features: Positions = np.arange(table.n_columns)
        binned = make_binned_data(table.bin(ensemble.mapper, threads))
        if isinstance(table, SparseTable):  # expand only the columns that trees use
            self._features = ensemble.forest.features
            self._forest = ensemble.forest.narrow()
            self._mapper = _make_mapper([self._edges[feature] for feature in self._features])
        self._columns, _ = binned.fetch(self._features, threads)
        self._trees = [self._forest.tree(index) for index in range(len(self._forest))]
        self._splits = np.frombuffer(self._forest.splits.tobytes(), dtype=SPLIT_DTYPE)
        self._owners = np.repeat(np.arange(len(self._trees)), np.diff(self._forest.split_offsets))

    def group(self, feature: int, values: NDArray[Any]) -> NDArray[np.integer[Any]]:
        """Number the bins of the values."""
        return np.searchsorted(self._edges[feature], values)

    def substitute(self, feature: int, values: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Yield the totals of all rows with the feature at the first value in every row, then at the second, ..."""
        place, n_rows = self._place(feature), self._table.n_rows
        if place is None:
            yield from [self._add(self._forest, self._outputs.make_totals(n_rows))] * len(values)
            return
        is_user, movers = self._list_users(place, values)
        users, others = self._pick(is_user), self._pick(~is_user)
        rest = self._add(others, self._outputs.make_totals(n_rows))
        total = rest
        for value, moving in zip(values, movers, strict=True):
            column = np.full((n_rows, 1), value, dtype=values.dtype)
            if moving is None:
                self._overwrite(place, column)
                total = self._add(users, rest.copy())
            else:  # what the trees that tell this value from the last one change
                forest = self._pick(moving)
                before = self._add(forest, self._outputs.make_totals(n_rows))
                self._overwrite(place, column)
                total = total + (self._add(forest, self._outputs.make_totals(n_rows)) - before)
            yield total
        self._overwrite(place, self._table.to_array(features=np.array([feature])))

    def _place(self, feature: int) -> int | None:
        """Look up the column of a feature; None if there is none, since no tree uses the feature."""
        place = int(np.searchsorted(self._features, feature))
        return place if place < len(self._features) and self._features[place] == feature else None

    def _list_users(self, place: int, values: NDArray[Any]) -> tuple[Mask, list[Mask | None]]:
        """Mark the trees that use a column and, for each value, those that tell it from the value before.

        None instead of these means that all trees that use the column should be applied: for the first value, for
        missing values and categories, and where it is faster.
        """
        on_column = self._splits["feature"] == place
        is_user = np.bincount(self._owners[on_column], minlength=len(self._trees)) > 0
        movers: list[Mask | None] = [None] * len(values)
        if isinstance(self._outputs, Colours):  # what their votes count for depends on the number of the tree
            return np.ones(len(self._trees), dtype=bool), movers
        if (self._splits["categories"][on_column] < 0).all():
            codes = self.group(self._features[place], values)
            # Values up to a bin go left, so a split tells the value at this place from the one before.
            places = np.searchsorted(codes, self._splits["bin"][on_column], side="right")
            for k in np.flatnonzero(values[1:] > values[:-1]) + 1:
                moving = np.bincount(self._owners[on_column][places == k], minlength=len(self._trees)) > 0
                if 2 * np.count_nonzero(moving) < np.count_nonzero(is_user):
                    movers[k] = moving
        return is_user, movers

    def _pick(self, chosen: Mask) -> _native.Forest:
        """Make a forest of some trees."""
        if chosen.all():
            return self._forest
        forest = _native.Forest()
        for index in np.flatnonzero(chosen):
            forest.append(self._trees[index])
        return forest

    def _add(self, forest: _native.Forest, totals: NDArray[Any]) -> NDArray[Any]:
        if len(forest):
            self._outputs.add_forest(forest, self._columns, totals, self._threads)
        return totals

    def _overwrite(self, place: int, column: NDArray[Any]) -> None:
        self._mapper.encode(column, self._columns, 0, place, self._threads)


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
        """Number the distinct values: estimators may tell all of them apart."""
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
