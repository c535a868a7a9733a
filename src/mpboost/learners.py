"""Weak learners: how one is trained on a minipatch, and its votes on all rows."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.inspection import permutation_importance

from mpboost import _native

Importance = Literal["impurity", "permutation"]


@dataclass
class TrainedLearner:
    """A weak learner after training.

    Attributes
    ----------
    model : object
        What the ensemble keeps of it.
    votes : int8 array of shape (n_samples,)
        -1 or +1 for each row of the training data. Only valid until the next learner is trained.
    importances : float64 array
        Of the features of the minipatch, in their order: they sum to 1 or are all zero.
    """

    model: Any
    votes: NDArray[np.int8]
    importances: NDArray[np.float64]


class Learner(Protocol):
    """Trains weak learners on minipatches of the data that it was made with."""

    def train(
        self, iteration: int, rows: NDArray[np.int64], features: NDArray[np.int64], threads: _native.Threads
    ) -> TrainedLearner:
        """Train on a minipatch and vote on all rows."""

    def has_table(self, X: NDArray[Any], threads: _native.Threads) -> bool:
        """Tell whether X is the table that the learner was made with, as far as it can see."""


class TreeLearner:
    """Native decision trees on binned columns."""

    def __init__(
        self,
        mapper: _native.BinMapper,
        X: NDArray[Any],
        labels: NDArray[np.int8],
        *,
        max_depth: int | None,
        min_samples_leaf: int,
        tie_label: int,
        importance: Importance,
        seed: int,
        threads: _native.Threads,
    ):
        self._mapper = mapper
        self._columns = mapper.transform(X, threads)
        self._labels = labels
        self._grower = _native.TreeGrower(max_depth or 0, min_samples_leaf, tie_label)
        self._importance = importance
        self._seed = seed
        self._votes = np.empty(len(X), dtype=np.int8)

    def train(
        self, iteration: int, rows: NDArray[np.int64], features: NDArray[np.int64], threads: _native.Threads
    ) -> TrainedLearner:
        """Train on a minipatch and vote on all rows."""
        grown = self._grower.grow(self._columns, rows, features, self._labels)
        tree = grown.tree
        tree.apply_votes(self._columns, self._votes, threads)
        importances = grown.importances
        if self._importance == "permutation":
            importances = _normalise(
                _native.permutation_importances(
                    tree, self._columns, rows, features, self._labels, self._seed, iteration
                )
            )
        return TrainedLearner(tree, self._votes, importances)

    def has_table(self, X: NDArray[Any], threads: _native.Threads) -> bool:
        """Tell whether X has the same bins."""
        return np.array_equal(self._mapper.transform(X, threads).codes, self._columns.codes)


@dataclass
class ColumnModel:
    """A fitted scikit-learn classifier and the columns that it was fitted on; None stands for a constant vote."""

    estimator: Any
    features: NDArray[np.int64]
    constant: int = 0

    def vote(self, X: NDArray[Any]) -> NDArray[np.int8]:
        """Vote -1 or +1 for each row."""
        if self.estimator is None:
            return np.full(len(X), self.constant, dtype=np.int8)
        votes = np.asarray(self.estimator.predict(X[:, self.features]))
        if not np.isin(votes, (-1, 1)).all():
            name = type(self.estimator).__name__
            raise ValueError(
                f"{name} was trained on the labels -1 and 1 but predicts others; use another weak learner."
            )
        return votes.astype(np.int8)


class EstimatorLearner:
    """Any scikit-learn classifier on the columns as they are."""

    def __init__(
        self,
        estimator: Any,
        X: NDArray[Any],
        labels: NDArray[np.int8],
        *,
        importance: Importance,
        needs_importances: bool,
        seed: int,
    ):
        self._estimator = clone(estimator)
        self._X = X
        self._labels = labels
        self._importance = importance
        self._needs_importances = needs_importances
        self._seed = seed

    def train(
        self, iteration: int, rows: NDArray[np.int64], features: NDArray[np.int64], threads: _native.Threads
    ) -> TrainedLearner:
        """Train on a minipatch and vote on all rows."""
        X, y = self._X[np.ix_(rows, features)], self._labels[rows]
        importances = np.zeros(len(features))
        if y.min() == y.max():
            model = ColumnModel(None, features, int(y[0]))
        else:
            seed = int(np.random.SeedSequence([self._seed, iteration]).generate_state(1)[0] >> 1)
            model = ColumnModel(_seeded_clone(self._estimator, seed).fit(X, y), features)
            if self._needs_importances:
                importances = _normalise(self._measure_importances(model.estimator, X, y, seed))
        return TrainedLearner(model, model.vote(self._X), importances)

    def has_table(self, X: NDArray[Any], threads: _native.Threads) -> bool:
        """Tell whether X has the same values."""
        return np.array_equal(X, self._X, equal_nan=X.dtype.kind == "f")

    def _measure_importances(
        self, estimator: Any, X: NDArray[Any], y: NDArray[np.int8], seed: int
    ) -> NDArray[np.float64]:
        if self._importance == "permutation":
            result = permutation_importance(estimator, X, y, n_repeats=1, random_state=seed)
            return np.asarray(result.importances_mean, dtype=np.float64)
        if hasattr(estimator, "feature_importances_"):
            return np.asarray(estimator.feature_importances_, dtype=np.float64)
        if hasattr(estimator, "coef_"):
            return np.abs(np.atleast_2d(estimator.coef_)).mean(axis=0)
        raise ValueError(
            f"{type(estimator).__name__} has neither feature_importances_ nor coef_: set importance='permutation', "
            "or adaptive_features=False to draw features uniformly."
        )


def _seeded_clone(estimator: Any, seed: int) -> Any:
    copy = clone(estimator)
    random_states = [name for name in copy.get_params() if name == "random_state" or name.endswith("__random_state")]
    return copy.set_params(**dict.fromkeys(random_states, seed))


def _normalise(importances: NDArray[np.float64]) -> NDArray[np.float64]:
    importances = np.maximum(np.nan_to_num(importances), 0.0)
    total = importances.sum()
    return importances / total if total > 0 else importances
