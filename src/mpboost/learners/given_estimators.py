"""Scikit-learn estimators of the user as weak learners; they read unbinned columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mpboost import _native
from mpboost._arrays import Floats, Label, Positions
from mpboost.data.tables import SparseTable, Table
from mpboost.learners.contract import Finish, TrainedLearner
from mpboost.learners.credit_rules import CreditRule
from mpboost.learners.side_by_side import map_side_by_side
from mpboost.learners.trees import Importance
from mpboost.outputs.kinds import LearnerOutputs
from mpboost.sampling.draws import Minipatch
from mpboost.sampling.features import balance, to_shares
from mpboost.sampling.questions import Labels


@dataclass
class ColumnModel:
    """A fitted scikit-learn estimator and its columns; if the estimator is None, the output is a constant."""

    estimator: Any
    features: Positions
    constant: float = 0

    def apply(self, table: Table, outputs: LearnerOutputs[Label]) -> NDArray[Label]:
        """Compute the output for each row."""
        if self.estimator is None:
            return np.full(table.n_rows, self.constant, dtype=outputs.dtype)
        predictions = self.estimator.predict(table.to_array(features=self.features))
        return outputs.check(predictions, type(self.estimator).__name__)


@dataclass
class RawRows(Generic[Label]):
    """An unbinned table that scikit-learn estimators are applied to."""

    table: Table
    outputs: LearnerOutputs[Label]

    def apply(self, model: ColumnModel, threads: _native.Threads) -> NDArray[Label]:
        """Compute the output for each row."""
        return model.apply(self.table, self.outputs)

    def equals(self, other: object) -> bool:
        """Check whether all values are the same."""
        return isinstance(other, RawRows) and _have_same_values(self.table, other.table)


class EstimatorLearner(Generic[Label]):
    """Any scikit-learn estimator on the columns as they are, categories as their codes."""

    def __init__(
        self,
        estimator: Any,
        table: Table,
        outputs: LearnerOutputs[Label],
        *,
        importance: Importance,
        needs_importances: bool,
        seed: int,
        credit_rule: CreditRule | None = None,
    ):
        self._estimator = clone(estimator)
        self._table = table
        self._outputs = outputs
        self._importance = importance
        self._needs_importances = needs_importances
        self._seed = seed
        self._credit_rule = credit_rule

    def train(
        self, minipatches: Sequence[Minipatch[Labels[Label]]], threads: _native.Threads
    ) -> list[Finish[ColumnModel, NDArray[Label]]]:
        """Train an estimator on each minipatch when it is needed: the next ones with it, one in each thread."""
        trained: dict[int, TrainedLearner[ColumnModel, NDArray[Label]]] = {}

        def finish(place: int, threads: _native.Threads) -> TrainedLearner[ColumnModel, NDArray[Label]]:
            if place not in trained:
                batch = minipatches[place : place + threads.size]
                results = map_side_by_side(lambda minipatch, _: self._train_one(minipatch), batch, threads)
                trained.update(enumerate(results, start=place))
            return trained.pop(place)

        return [partial(finish, place) for place in range(len(minipatches))]

    def _train_one(self, minipatch: Minipatch[Labels[Label]]) -> TrainedLearner[ColumnModel, NDArray[Label]]:
        """Train on a minipatch, whose rows may have weights; apply the estimator to all rows."""
        draw, features, labels = minipatch.draw, minipatch.features, minipatch.question.values
        X, y = self._table.to_array(draw.rows, features), labels[draw.rows]
        importances = np.zeros(len(features))
        seed = int(np.random.SeedSequence([self._seed, minipatch.iteration]).generate_state(1)[0] >> 1)
        if y.min() == y.max():
            model = ColumnModel(None, features, y[0].item())
        else:
            weighted = {} if draw.weights is None else {"sample_weight": draw.weights}
            model = ColumnModel(_seeded_clone(self._estimator, seed).fit(X, y, **weighted), features)
        outputs = model.apply(self._table, self._outputs)  # before the importances: its error message is clearer
        if self._needs_importances and model.estimator is not None:
            if len(draw.unseen):
                X, y = self._table.to_array(draw.unseen, features), labels[draw.unseen]
            measured = np.nan_to_num(self._measure_importances(model.estimator, X, y, seed))
            if self._credit_rule is not None:
                measured = self._credit_rule.credit(minipatch, X, measured, partial(self._predict, model.estimator))
            is_signed = len(draw.unseen) or self._credit_rule is not None
            importances = balance(measured) if is_signed else to_shares(measured)
        return TrainedLearner(model, outputs, importances)

    def _predict(self, estimator: Any, X: NDArray[Any]) -> NDArray[Label]:
        return self._outputs.check(estimator.predict(X), type(estimator).__name__)

    def restart(self) -> Self:
        """Return the learner itself, which learns nothing from one iteration for the next."""
        return self

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Check whether the table has the same values."""
        return _have_same_values(self._table, table)

    def prepare(self, table: Table, threads: _native.Threads) -> RawRows[Label]:
        """Wrap another table; its values are not binned."""
        return RawRows(table, self._outputs)

    def _measure_importances(self, estimator: Any, X: NDArray[Any], y: NDArray[Any], seed: int) -> Floats:
        if self._importance != "impurity":
            return _measure_shuffled(estimator, X, y, seed)
        if hasattr(estimator, "feature_importances_"):
            return np.asarray(estimator.feature_importances_, dtype=np.float64)
        if hasattr(estimator, "coef_"):
            return np.abs(np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))).mean(axis=0)
        raise ValueError(
            f"{type(estimator).__name__} has neither feature_importances_ nor coef_: set importance="
            "'out_of_patch' or 'permutation', or adaptive_features=False to draw features uniformly."
        )


def is_estimator(thing: Any) -> bool:
    """Check whether an object is a scikit-learn estimator with tags."""
    return hasattr(thing, "__sklearn_tags__") and not isinstance(thing, type)


def _have_same_values(one: Table, other: Table) -> bool:
    if isinstance(one, SparseTable) and isinstance(other, SparseTable):
        return _have_same_entries(one.matrix.tocsr(), other.matrix.tocsr())
    a, b = one.to_array(), other.to_array()
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f" == b.dtype.kind)


def _have_same_entries(a: Any, b: Any) -> bool:
    return (
        a.shape == b.shape
        and np.array_equal(a.indptr, b.indptr)
        and np.array_equal(a.indices, b.indices)
        and np.array_equal(a.data, b.data, equal_nan=a.dtype.kind == "f" == b.dtype.kind)
    )


def _seeded_clone(estimator: Any, seed: int) -> Any:
    copy = clone(estimator)
    random_states = [name for name in copy.get_params() if name == "random_state" or name.endswith("__random_state")]
    return copy.set_params(**dict.fromkeys(random_states, seed))


def _measure_shuffled(estimator: Any, X: NDArray[Any], y: NDArray[Any], seed: int) -> Floats:
    """Compute how much accuracy (for numbers: squared error) is lost when each feature is shuffled."""
    rng = np.random.default_rng(seed)

    def judge(X: NDArray[Any]) -> float:
        predictions = estimator.predict(X)
        return float(-np.mean((predictions - y) ** 2) if y.dtype.kind == "f" else np.mean(predictions == y))

    whole, losses = judge(X), np.empty(X.shape[1])
    for k in range(X.shape[1]):
        shuffled = X.copy()
        shuffled[:, k] = rng.permutation(X[:, k])
        losses[k] = whole - judge(shuffled)
    return losses
