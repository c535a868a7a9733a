"""The fitted learners, and their votes on new data."""

from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.learners import ColumnModel

#: Rows that are binned at a time when predicting: bounds the memory for the codes.
BATCH_ROWS = 1 << 16

#: How a split lies in memory; see native/include/mpboost/tree.hpp.
SPLIT_DTYPE = np.dtype(
    [("feature", "<i4"), ("left", "<i4"), ("right", "<i4"), ("bin", "u1"), ("missing_left", "u1"), ("reserved", "<u2")]
)


class Ensemble(Protocol):
    """Learners in the order of their training."""

    def __len__(self) -> int: ...

    def append(self, model: Any) -> None:
        """Add a trained learner."""

    def first(self, n_learners: int) -> Self:
        """Make an ensemble of the first learners."""

    def vote(self, X: NDArray[Any], threads: _native.Threads) -> NDArray[np.int32]:
        """Sum the votes, -1 or +1, of all learners."""

    def staged_vote(self, X: NDArray[Any], threads: _native.Threads) -> Iterator[NDArray[np.int32]]:
        """Sum the votes of the first, the first two, ... learners."""


class TreeEnsemble:
    """Native trees and the bins that they were grown on."""

    def __init__(self, mapper: _native.BinMapper, forest: _native.Forest | None = None):
        self.mapper = mapper
        self.forest = _native.Forest() if forest is None else forest

    def __len__(self) -> int:
        return len(self.forest)

    def append(self, model: _native.Tree) -> None:
        """Add a trained learner."""
        self.forest.append(model)

    def first(self, n_learners: int) -> Self:
        """Make an ensemble of the first learners."""
        return type(self)(self.mapper, self.forest.first(n_learners))

    def vote(self, X: NDArray[Any], threads: _native.Threads) -> NDArray[np.int32]:
        """Sum the votes, -1 or +1, of all learners."""
        total = np.zeros(len(X), dtype=np.int32)
        for start in range(0, len(X), BATCH_ROWS):
            columns = self.mapper.transform(X[start : start + BATCH_ROWS], threads)
            self.forest.add_votes(columns, 0, len(self), total[start : start + BATCH_ROWS], threads)
        return total

    def staged_vote(self, X: NDArray[Any], threads: _native.Threads) -> Iterator[NDArray[np.int32]]:
        """Sum the votes of the first, the first two, ... learners."""
        columns = self.mapper.transform(X, threads)
        total = np.zeros(len(X), dtype=np.int32)
        for stage in range(len(self)):
            self.forest.add_votes(columns, stage, stage + 1, total, threads)
            yield total.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "edges": self.mapper.edges,
            "edge_offsets": self.mapper.offsets,
            "splits": self.forest.splits,
            "leaf_values": self.forest.leaf_values,
            "split_offsets": self.forest.split_offsets,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.mapper = _native.BinMapper(state["edges"], state["edge_offsets"])
        self.forest = _native.Forest(
            state["splits"], state["leaf_values"], state["split_offsets"], self.mapper.n_features
        )


class EstimatorEnsemble:
    """Scikit-learn classifiers, each with its columns."""

    def __init__(self, models: list[ColumnModel] | None = None):
        self.models = [] if models is None else models

    def __len__(self) -> int:
        return len(self.models)

    def append(self, model: ColumnModel) -> None:
        """Add a trained learner."""
        self.models.append(model)

    def first(self, n_learners: int) -> Self:
        """Make an ensemble of the first learners."""
        return type(self)(self.models[:n_learners])

    def vote(self, X: NDArray[Any], threads: _native.Threads) -> NDArray[np.int32]:
        """Sum the votes, -1 or +1, of all learners."""
        total = np.zeros(len(X), dtype=np.int32)
        for model in self.models:
            total += model.vote(X)
        return total

    def staged_vote(self, X: NDArray[Any], threads: _native.Threads) -> Iterator[NDArray[np.int32]]:
        """Sum the votes of the first, the first two, ... learners."""
        total = np.zeros(len(X), dtype=np.int32)
        for model in self.models:
            total = total + model.vote(X)
            yield total
