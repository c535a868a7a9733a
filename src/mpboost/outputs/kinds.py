"""Kinds of outputs of learners for a row: a vote for one of two classes, for one of many, or numbers."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost import _native
from mpboost._arrays import Floats, Label, Mask, Positions


class Outputs(Protocol[Label]):
    """A kind of output: how trees write it, and how the outputs of an ensemble are added up."""

    @property
    def dtype(self) -> np.dtype[Label]:
        """The type of the outputs of a learner."""

    def make_output(self, n_rows: int) -> NDArray[Label]:
        """Allocate an array for the outputs of a learner."""

    def apply(
        self, tree: _native.Tree, columns: _native.BinnedColumns, out: NDArray[Label], threads: _native.Threads
    ) -> None:
        """Write the outputs of a tree."""

    def make_totals(self, n_rows: int) -> NDArray[Any]:
        """Allocate totals of zero; their type may differ from that of the outputs."""

    def add(self, learner: int, outputs: NDArray[Label], totals: NDArray[Any]) -> None:
        """Add the outputs of a learner to the totals; ``learner`` is its number in the ensemble."""

    def add_forest(
        self,
        forest: _native.Forest,
        columns: _native.BinnedColumns,
        totals: NDArray[Any],
        threads: _native.Threads,
    ) -> None:
        """Add the outputs of all trees to the totals."""


#: A minipatch: columns, rows, features, labels of all rows, weights of its rows, which columns are categorical, the
#: number of rows below which no node is split, and unseen rows.
PatchToGrow: TypeAlias = tuple[
    _native.BinnedColumns, Positions, Positions, NDArray[Any], Floats | None, Mask | None, int, Positions
]


class Grower(Protocol):
    """Grows native trees."""

    def grow_round(
        self, patches: Sequence[PatchToGrow], threads: _native.Threads
    ) -> list[tuple[_native.GrownTree, tuple[Floats, Floats] | None]]:
        """Grow a tree on each minipatch, side by side; if it has unseen rows, return what splits gain there, too."""


@runtime_checkable
class LearnerOutputs(Outputs[Label], Protocol[Label]):
    """A kind of output that learners are trained on: labels have the same type."""

    def make_grower(self, max_depth: int, min_samples_leaf: int) -> Grower:
        """Make a grower of native trees."""

    def bind(
        self, tree: _native.Tree, columns: _native.BinnedColumns, threads: _native.Threads
    ) -> "NDArray[Label] | _native.AppliedTree":
        """Return what a task adds up: a tree that is applied in the same pass, or the outputs for all rows."""

    def bind_round(
        self, trees: Sequence[_native.Tree], columns: _native.BinnedColumns, threads: _native.Threads
    ) -> "Sequence[_native.AppliedTree | None]":
        """Do so for the trees of a round; None for trees whose outputs would take memory before their turn."""

    def check(self, predictions: ArrayLike, learner: str) -> NDArray[Label]:
        """Check that the predictions of a scikit-learn estimator are outputs of this kind."""


class Signs:
    """Votes of -1 or +1, for one of two classes; they are summed.

    Parameters
    ----------
    tie_label : int
        The vote of a leaf whose classes have equal weights.
    """

    dtype = np.dtype(np.int8)

    def __init__(self, tie_label: int = 1):
        self._tie_label = tie_label

    def make_grower(self, max_depth: int, min_samples_leaf: int) -> _native.BinaryGrower:
        """Make a grower of native trees."""
        return _native.BinaryGrower(max_depth, min_samples_leaf, self._tie_label)

    def bind(self, tree: _native.Tree, columns: _native.BinnedColumns, threads: _native.Threads) -> _native.AppliedTree:
        """Return the tree with its columns: tasks add its votes while they apply it."""
        return _native.AppliedTree(tree, columns)

    def bind_round(
        self, trees: Sequence[_native.Tree], columns: _native.BinnedColumns, threads: _native.Threads
    ) -> list[_native.AppliedTree]:
        """Do so for the trees of a round, and prepare to find their votes."""
        applied = [_native.AppliedTree(tree, columns) for tree in trees]
        _native.prepare_votes(applied, threads)
        return applied

    def make_output(self, n_rows: int) -> NDArray[np.int8]:
        """Allocate an array for the votes of a learner."""
        return np.empty(n_rows, dtype=self.dtype)

    def apply(
        self, tree: _native.Tree, columns: _native.BinnedColumns, out: NDArray[np.int8], threads: _native.Threads
    ) -> None:
        """Write the votes of a tree."""
        tree.apply_votes(columns, out, threads)

    def make_totals(self, n_rows: int) -> NDArray[np.int32]:
        """Allocate sums of zero."""
        return np.zeros(n_rows, dtype=np.int32)

    def add(self, learner: int, outputs: NDArray[np.int8], totals: NDArray[Any]) -> None:
        """Add the votes of a learner to the totals."""
        totals += outputs

    def add_forest(
        self,
        forest: _native.Forest,
        columns: _native.BinnedColumns,
        totals: NDArray[Any],
        threads: _native.Threads,
    ) -> None:
        """Add the votes of all trees to the totals."""
        forest.add_votes(columns, 0, len(forest), totals, threads)

    def check(self, predictions: ArrayLike, learner: str) -> NDArray[np.int8]:
        """Check that predictions are -1 or +1."""
        return _check_labels(predictions, np.array([-1, 1]), learner).astype(np.int8)


class ClassVotes:
    """Votes for one of many classes, by its code; they are counted for each class.

    Parameters
    ----------
    ranks : uint16 array of shape (n_classes,)
        At a tie, the class of the highest rank wins.
    """

    dtype = np.dtype(np.uint16)

    def __init__(self, ranks: NDArray[np.uint16]):
        self.ranks = ranks

    def make_grower(self, max_depth: int, min_samples_leaf: int) -> _native.ClassGrower:
        """Make a grower of native trees."""
        return _native.ClassGrower(max_depth, min_samples_leaf, self.ranks)

    def bind(self, tree: _native.Tree, columns: _native.BinnedColumns, threads: _native.Threads) -> _native.AppliedTree:
        """Return the tree with its columns: tasks add its votes while they apply it."""
        return _native.AppliedTree(tree, columns)

    def bind_round(
        self, trees: Sequence[_native.Tree], columns: _native.BinnedColumns, threads: _native.Threads
    ) -> list[_native.AppliedTree]:
        """Do so for the trees of a round."""
        return [_native.AppliedTree(tree, columns) for tree in trees]

    def make_output(self, n_rows: int) -> NDArray[np.uint16]:
        """Allocate an array for the votes of a learner."""
        return np.empty(n_rows, dtype=self.dtype)

    def apply(
        self, tree: _native.Tree, columns: _native.BinnedColumns, out: NDArray[np.uint16], threads: _native.Threads
    ) -> None:
        """Write the votes of a tree."""
        tree.apply_classes(columns, out, threads)

    def make_totals(self, n_rows: int) -> NDArray[np.int32]:
        """Allocate vote counts of zero."""
        return np.zeros((n_rows, len(self.ranks)), dtype=np.int32)

    def add(self, learner: int, outputs: NDArray[np.uint16], totals: NDArray[Any]) -> None:
        """Count the votes of a learner."""
        totals[np.arange(len(totals)), outputs] += 1

    def add_forest(
        self,
        forest: _native.Forest,
        columns: _native.BinnedColumns,
        totals: NDArray[Any],
        threads: _native.Threads,
    ) -> None:
        """Count the votes of all trees."""
        forest.add_class_votes(columns, 0, len(forest), totals, threads)

    def check(self, predictions: ArrayLike, learner: str) -> NDArray[np.uint16]:
        """Check that predictions are codes of classes."""
        return _check_labels(predictions, np.arange(len(self.ranks)), learner).astype(np.uint16)


class Colours(Signs):
    """Votes of -1 or +1, for all classes that have this colour in the iteration; they are counted for each class.

    Parameters
    ----------
    colours : sequence of int8 arrays of shape (n_classes,)
        -1 or +1 for each class, one array per learner; the sequence may grow.
    n_classes : int
        The number of classes.
    """

    def __init__(self, colours: Sequence[NDArray[np.int8]], n_classes: int):
        super().__init__()
        self._colours = colours
        self._n_classes = n_classes

    def make_totals(self, n_rows: int) -> NDArray[np.int32]:
        """Allocate vote counts of zero."""
        return np.zeros((n_rows, self._n_classes), dtype=np.int32)

    def add(self, learner: int, outputs: NDArray[np.int8], totals: NDArray[Any]) -> None:
        """Count the votes of a learner."""
        totals += outputs[:, None] == self._colours[learner]

    def add_forest(
        self,
        forest: _native.Forest,
        columns: _native.BinnedColumns,
        totals: NDArray[Any],
        threads: _native.Threads,
    ) -> None:
        """Count the votes of all trees."""
        out = self.make_output(len(totals))
        for learner in range(len(forest)):
            forest.tree(learner).apply_votes(columns, out, threads)
            self.add(learner, out, totals)


class Steps:
    """Numbers that a learner adds to raw predictions; they are summed.

    Parameters
    ----------
    n_outputs : int
        How many numbers a row has.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, n_outputs: int):
        self._n_outputs = n_outputs

    def make_output(self, n_rows: int) -> NDArray[np.float64]:
        """Allocate an array for the numbers of a learner."""
        return np.empty(self._get_shape(n_rows))

    def apply(
        self, tree: _native.Tree, columns: _native.BinnedColumns, out: NDArray[np.float64], threads: _native.Threads
    ) -> None:
        """Write the numbers of a tree."""
        tree.apply_values(columns, out, threads)

    def make_totals(self, n_rows: int) -> NDArray[np.float64]:
        """Allocate sums of zero."""
        return np.zeros(self._get_shape(n_rows))

    def add(self, learner: int, outputs: NDArray[np.float64], totals: NDArray[Any]) -> None:
        """Add the numbers of a learner to the totals."""
        totals += outputs

    def add_forest(
        self,
        forest: _native.Forest,
        columns: _native.BinnedColumns,
        totals: NDArray[Any],
        threads: _native.Threads,
    ) -> None:
        """Add the numbers of all trees to the totals."""
        forest.add_values(columns, 0, len(forest), totals, threads)

    def _get_shape(self, n_rows: int) -> tuple[int, ...]:
        return (n_rows,) if self._n_outputs == 1 else (n_rows, self._n_outputs)


class Values(Steps):
    """Predicted numbers, one per row; they are summed."""

    def __init__(self) -> None:
        super().__init__(1)

    def make_grower(self, max_depth: int, min_samples_leaf: int) -> _native.ValueGrower:
        """Make a grower of native trees."""
        return _native.ValueGrower(max_depth, min_samples_leaf)

    def bind(self, tree: _native.Tree, columns: _native.BinnedColumns, threads: _native.Threads) -> NDArray[np.float64]:
        """Compute the numbers of a tree."""
        out = self.make_output(columns.n_rows)
        self.apply(tree, columns, out, threads)
        return out

    def bind_round(
        self, trees: Sequence[_native.Tree], columns: _native.BinnedColumns, threads: _native.Threads
    ) -> list[None]:
        """Leave it for later: the numbers of all trees of a round would take much memory."""
        return [None] * len(trees)

    def check(self, predictions: ArrayLike, learner: str) -> NDArray[np.float64]:
        """Check that predictions are finite numbers, one for each row."""
        values = np.asarray(predictions, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(f"{learner} must predict one finite number for each row; use another weak learner.")
        return values


def _check_labels(predictions: ArrayLike, known: NDArray[np.int64], learner: str) -> NDArray[Any]:
    labels = np.asarray(predictions)
    if not np.isin(labels, known).all():
        raise ValueError(
            f"{learner} was trained on labels from {known[0]} to {known[-1]} but predicts others; use another weak "
            "learner."
        )
    return labels
