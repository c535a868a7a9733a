"""Ensembles of trained learners, and the sums of their outputs for new data."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.data.binned import make_binned_data
from mpboost.data.tables import SparseTable, Table
from mpboost.learners.contract import ModelIn
from mpboost.learners.given_estimators import ColumnModel
from mpboost.outputs.kinds import LearnerOutputs, Outputs

#: Cells that prediction bins at a time, to limit memory; batches have at least MIN_BATCH_ROWS rows.
BATCH_CELLS = 1 << 24
MIN_BATCH_ROWS = 1 << 10


class Ensemble(Protocol[ModelIn]):
    """Trained learners, in the order of training."""

    def __len__(self) -> int: ...

    def append(self, model: ModelIn) -> None:
        """Add a trained learner."""

    def first(self, n_learners: int) -> Self:
        """Make an ensemble of the first ``n_learners`` learners."""

    def take(self, places: Iterable[int]) -> Self:
        """Make an ensemble of the learners at these places."""

    def each(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> Iterator[NDArray[Any]]:
        """Yield the outputs of each learner; an array is only valid until the next one."""

    def total(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> NDArray[Any]:
        """Add up the outputs of all learners."""

    def staged_total(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> Iterator[NDArray[Any]]:
        """Add up the outputs of 1, 2, 3, ... learners."""


class _Stages(ABC):
    """Computes staged totals from the outputs of single learners."""

    def staged_total(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> Iterator[NDArray[Any]]:
        """Add up the outputs of 1, 2, 3, ... learners."""
        total = outputs.make_totals(table.n_rows)
        for index, out in enumerate(self.each(table, outputs, threads)):
            total = total.copy()  # the user keeps the last one
            outputs.add(index, out, total)
            yield total

    @abstractmethod
    def each(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> Iterator[NDArray[Any]]:
        """Yield the outputs of each learner; an array is only valid until the next one."""


class TreeEnsemble(_Stages):
    """Native trees, and the bins of their features."""

    def __init__(self, mapper: _native.BinMapper, forest: _native.Forest | None = None):
        self.mapper = mapper
        self.forest = _native.Forest() if forest is None else forest

    def __len__(self) -> int:
        return len(self.forest)

    def append(self, model: _native.Tree) -> None:
        """Add a trained learner."""
        self.forest.append(model)

    def first(self, n_learners: int) -> Self:
        """Make an ensemble of the first ``n_learners`` learners."""
        return type(self)(self.mapper, self.forest.first(n_learners))

    def take(self, places: Iterable[int]) -> Self:
        """Make an ensemble of the learners at these places."""
        taken = type(self)(self.mapper)
        for place in places:
            taken.append(self.forest.tree(place))
        return taken

    def total(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> NDArray[Any]:
        """Add up the outputs of all learners."""
        total = outputs.make_totals(table.n_rows)
        forest, features = self.forest, np.arange(table.n_columns)
        if isinstance(table, SparseTable):  # bin only the columns that trees use
            forest, features = self.forest.narrow(), self.forest.features
        n_batch = max(MIN_BATCH_ROWS, BATCH_CELLS // max(1, len(features)))
        for k, batch in enumerate(table.split_rows(n_batch)):
            columns, _ = make_binned_data(batch.bin(self.mapper, threads)).fetch(features, threads)
            outputs.add_forest(forest, columns, total[k * n_batch : (k + 1) * n_batch], threads)
        return total

    def each(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> Iterator[NDArray[Any]]:
        """Yield the outputs of each learner; an array is only valid until the next one."""
        data = make_binned_data(table.bin(self.mapper, threads))
        out = outputs.make_output(table.n_rows)
        for index in range(len(self)):
            outputs.apply(*data.prepare(self.forest.tree(index), threads), out, threads)
            yield out

    def __getstate__(self) -> dict[str, Any]:
        return {
            "edges": self.mapper.edges,
            "edge_offsets": self.mapper.offsets,
            "splits": self.forest.splits,
            "leaf_values": self.forest.leaf_values,
            "split_offsets": self.forest.split_offsets,
            "category_sets": self.forest.category_sets,
            "leaf_covers": self.forest.leaf_covers if self.forest.has_covers else None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.mapper = _native.BinMapper(state["edges"], state["edge_offsets"])
        self.forest = _native.Forest(
            state["splits"],
            state["leaf_values"],
            state["split_offsets"],
            state["category_sets"],
            self.mapper.n_features,
            state.get("leaf_covers"),  # files before format 6, and old pickles, have none
        )


class EstimatorEnsemble(_Stages):
    """Scikit-learn estimators, each with the columns it was trained on."""

    def __init__(self, models: list[ColumnModel] | None = None):
        self.models = [] if models is None else models

    def __len__(self) -> int:
        return len(self.models)

    def append(self, model: ColumnModel) -> None:
        """Add a trained learner."""
        self.models.append(model)

    def first(self, n_learners: int) -> Self:
        """Make an ensemble of the first ``n_learners`` learners."""
        return type(self)(self.models[:n_learners])

    def take(self, places: Iterable[int]) -> Self:
        """Make an ensemble of the learners at these places."""
        return type(self)([self.models[place] for place in places])

    def total(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> NDArray[Any]:
        """Add up the outputs of all learners."""
        total = outputs.make_totals(table.n_rows)
        for index, out in enumerate(self.each(table, outputs, threads)):
            outputs.add(index, out, total)
        return total

    def each(self, table: Table, outputs: Outputs[Any], threads: _native.Threads) -> Iterator[NDArray[Any]]:
        """Yield the outputs of each learner."""
        assert isinstance(outputs, LearnerOutputs)
        for model in self.models:
            yield model.apply(table, outputs)
