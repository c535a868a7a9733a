"""Weak learners: how one is trained on a minipatch, and what it puts out for all rows."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mpboost import _native
from mpboost.data.binned import BinnedData, make_binned_data
from mpboost.data.tables import SparseTable, Table
from mpboost.outputs.kinds import LearnerOutputs, Outputs
from mpboost.sampling.observations import Draw, to_shares

Importance = Literal["out_of_patch", "impurity", "permutation"]


@dataclass
class TrainedLearner:
    """A weak learner after training.

    Attributes
    ----------
    model : object
        What the ensemble keeps of it.
    outputs : array of shape (n_samples,) or (n_samples, n_outputs), or Step
        Votes or values for the rows of the training data. Only valid until the next learner is trained.
    importances : float64 array
        Of the features of the minipatch, in their order. They sum to 1, or are all zero. Where they were measured on
        unseen rows some may be negative, and their sizes sum to 1; those of gradient trees are multiples of what is
        due to chance.
    credits : float64 array or None
        What adds up to the importances of the model, where learners are not worth the same; None for ``importances``.
    """

    model: Any
    outputs: Any
    importances: NDArray[np.float64]
    credits: NDArray[np.float64] | None = None


class Judge(Protocol):
    """A table that learners can be applied to."""

    def apply(self, model: Any, threads: _native.Threads) -> NDArray[Any]:
        """Give the outputs for each row; only valid until the next call."""

    def equals(self, other: Any) -> bool:
        """Tell whether the other table is the same, as far as learners see it."""


class Learner(Protocol):
    """Trains weak learners on minipatches of the data that it was made with."""

    def train(
        self,
        iteration: int,
        draw: Draw,
        features: NDArray[np.int64],
        labels: Any,
        weights: Any,
        threads: _native.Threads,
    ) -> TrainedLearner:
        """Train on a minipatch, whose rows may have weights, with the labels of all rows; apply it to all rows."""

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Tell whether this is the table that the learner was made with, as far as it can see."""

    def open(self, table: Table, threads: _native.Threads) -> Judge:
        """Make another table, of the same features, ready to be applied to."""


@dataclass
class TreeOptions:
    """What trees are like."""

    max_depth: int | None
    min_samples_leaf: int
    importance: Importance
    is_categorical: NDArray[np.bool_] | None
    seed: int


class BinnedLearner:
    """Base of the learners that see a table by its bins."""

    def __init__(self, mapper: _native.BinMapper, table: Table, outputs: Outputs, threads: _native.Threads):
        self._mapper = mapper
        self._data = make_binned_data(table.bin(mapper, threads))
        self._outputs = outputs

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Tell whether the table has the same bins."""
        return self._data.equals(make_binned_data(table.bin(self._mapper, threads)))

    def open(self, table: Table, threads: _native.Threads) -> Judge:
        """Bin another table."""
        return TreeJudge(make_binned_data(table.bin(self._mapper, threads)), self._outputs)


class TreeLearner(BinnedLearner):
    """Native decision trees on binned columns."""

    def __init__(
        self,
        mapper: _native.BinMapper,
        table: Table,
        outputs: LearnerOutputs,
        options: TreeOptions,
        threads: _native.Threads,
    ):
        super().__init__(mapper, table, outputs, threads)
        self._options = options
        self._grower = outputs.make_grower(options.max_depth or 0, options.min_samples_leaf)
        self._out = outputs.make_output(table.n_rows)

    def train(
        self,
        iteration: int,
        draw: Draw,
        features: NDArray[np.int64],
        labels: NDArray[Any],
        weights: NDArray[np.float64] | None,
        threads: _native.Threads,
    ) -> TrainedLearner:
        """Train on a minipatch, whose rows may have weights, with the labels of all rows; apply it to all rows."""
        columns, places = self._data.fetch(features, threads)
        patch = columns, draw.rows, places, labels
        grown = self._grower.grow(*patch, weights, self._options.is_categorical)
        tree = grown.tree
        self._outputs.apply(tree, columns, self._out, threads)
        importances = grown.importances
        if self._options.importance == "permutation":
            seed = self._options.seed
            importances = to_shares(_native.permutation_importances(tree, *patch, seed, iteration, weights))
        elif len(draw.unseen):  # else on the minipatch itself, where credit is the decrease of impurity
            importances = balance(_native.unseen_importances(tree, *patch, draw.unseen, weights))
        return TrainedLearner(self._data.rename(tree, features), self._out, importances)


class TreeJudge:
    """Binned data that trees are applied to."""

    def __init__(self, data: BinnedData, outputs: Outputs):
        self._data = data
        self._outputs = outputs
        self._out = outputs.make_output(data.n_rows)

    def apply(self, model: _native.Tree, threads: _native.Threads) -> NDArray[Any]:
        """Give the outputs for each row; only valid until the next call."""
        self._data.apply(model, self._outputs, self._out, threads)
        return self._out

    def equals(self, other: Any) -> bool:
        """Tell whether all bins are the same."""
        return isinstance(other, TreeJudge) and self._data.equals(other._data)


@dataclass
class ColumnModel:
    """A fitted scikit-learn estimator and the columns that it was fitted on; None stands for a constant output."""

    estimator: Any
    features: NDArray[np.int64]
    constant: float = 0

    def apply(self, table: Table, outputs: LearnerOutputs) -> NDArray[Any]:
        """Give the outputs for each row."""
        if self.estimator is None:
            return np.full(table.n_rows, self.constant, dtype=outputs.dtype)
        predictions = self.estimator.predict(table.to_array(features=self.features))
        return outputs.check(predictions, type(self.estimator).__name__)


@dataclass
class TableJudge:
    """A table that scikit-learn estimators are applied to."""

    table: Table
    outputs: LearnerOutputs

    def apply(self, model: ColumnModel, threads: _native.Threads) -> NDArray[Any]:
        """Give the outputs for each row."""
        return model.apply(self.table, self.outputs)

    def equals(self, other: Any) -> bool:
        """Tell whether all values are the same."""
        return isinstance(other, TableJudge) and _have_same_values(self.table, other.table)


class EstimatorLearner:
    """Any scikit-learn estimator on the columns as they are, categories as their codes."""

    def __init__(
        self,
        estimator: Any,
        table: Table,
        outputs: LearnerOutputs,
        *,
        importance: Importance,
        needs_importances: bool,
        seed: int,
    ):
        self._estimator = clone(estimator)
        self._table = table
        self._outputs = outputs
        self._importance = importance
        self._needs_importances = needs_importances
        self._seed = seed

    def train(
        self,
        iteration: int,
        draw: Draw,
        features: NDArray[np.int64],
        labels: NDArray[Any],
        weights: NDArray[np.float64] | None,
        threads: _native.Threads,
    ) -> TrainedLearner:
        """Train on a minipatch, whose rows may have weights, with the labels of all rows; apply it to all rows."""
        X, y = self._table.to_array(draw.rows, features), labels[draw.rows]
        importances = np.zeros(len(features))
        seed = int(np.random.SeedSequence([self._seed, iteration]).generate_state(1)[0] >> 1)
        if y.min() == y.max():
            model = ColumnModel(None, features, y[0].item())
        else:
            weighted = {} if weights is None else {"sample_weight": weights}
            model = ColumnModel(_seeded_clone(self._estimator, seed).fit(X, y, **weighted), features)
        outputs = model.apply(self._table, self._outputs)  # first: it tells clearly what is wrong with predictions
        if self._needs_importances and model.estimator is not None:
            if len(draw.unseen):
                X, y = self._table.to_array(draw.unseen, features), labels[draw.unseen]
            measured = np.nan_to_num(self._measure_importances(model.estimator, X, y, seed))
            importances = balance(measured) if len(draw.unseen) else to_shares(measured)
        return TrainedLearner(model, outputs, importances)

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Tell whether the table has the same values."""
        return _have_same_values(self._table, table)

    def open(self, table: Table, threads: _native.Threads) -> Judge:
        """Take another table as it is."""
        return TableJudge(table, self._outputs)

    def _measure_importances(self, estimator: Any, X: NDArray[Any], y: NDArray[Any], seed: int) -> NDArray[np.float64]:
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
    """Tell whether something is an estimator in scikit-learn's sense, which can be asked what it is able to do."""
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


def _measure_shuffled(estimator: Any, X: NDArray[Any], y: NDArray[Any], seed: int) -> NDArray[np.float64]:
    """Find what predictions lose when one feature is shuffled: accuracy or, with numbers, squared error."""
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


def balance(credits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale credits, some of which may be negative, so that each learner has as much to say."""
    total = np.abs(credits).sum()
    return credits / total if total > 0 else credits
