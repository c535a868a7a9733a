"""How fitted models predict: classes or numbers, by the whole model or in stages."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from mpboost._arrays import Floats
from mpboost.estimators.base import PredictedRows
from mpboost.estimators.conformal import IntervalPredictions, SetPredictions
from mpboost.estimators.inputs import complete_targets


class DatasetScore:
    """Lets ``score`` take a dataset, which has targets and weights of its own."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the score of predictions: accuracy for classes, R^2 for numbers.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,), default=None
            Their targets; None for those of a dataset.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None for those of a dataset.

        Returns
        -------
        score : float
            Accuracy or R^2.
        """
        return float(super().score(X, *complete_targets(X, y, sample_weight)))  # type: ignore[misc]


class ClassPredictions(DatasetScore, ClassifierMixin, SetPredictions):
    """Base class of the classifiers: their predictions."""

    def decision_function(self, X: Any, *, n_estimators: int | None = None) -> Floats:
        """Compute the decision function: votes times the learning rate, or, of a gradient model, log odds.

        The decision always agrees with ``predict``: at a tie of votes, the class with the most weight in training gets
        half a vote more.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        decision : array of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive for ``classes_[1]``, negative for ``classes_[0]``; for more, a column per class.
        """
        model = self._limit(n_estimators)
        return model._to_decision(model._judge(X))

    def predict(self, X: Any, *, n_estimators: int | None = None) -> NDArray[Any]:
        """Predict the class of each row: the one with the most votes, or, of a gradient model, the most probable one.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        labels : array of shape (n_samples,)
            Predicted classes.
        """
        model = self._limit(n_estimators)
        return model._to_labels(model._judge(X))

    def predict_proba(self, X: Any, *, n_estimators: int | None = None) -> Floats:
        """Predict the probability of each class; votes are calibrated on the out-of-patch votes of the training rows.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1. ``predict`` returns the most probable class, unless a loss of
            your own has an ``inverse_link`` that orders classes otherwise.
        """
        model = self._limit(n_estimators)
        return model._to_probabilities(model._judge(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Compute the decision function of 1, 2, 3, ... learners.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        decision : array of shape (n_samples,) or (n_samples, n_classes)
            Like ``decision_function``, with one more learner each time.
        """
        yield from map(self._to_decision, self._staged_judge(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict with 1, 2, 3, ... learners.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        labels : array of shape (n_samples,)
            Like ``predict``, with one more learner each time.
        """
        yield from map(self._to_labels, self._staged_judge(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Predict probabilities with 1, 2, 3, ... learners; votes use the calibration of the whole model.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        probabilities : array of shape (n_samples, n_classes)
            Like ``predict_proba``, with one more learner each time.
        """
        yield from map(self._to_probabilities, self._staged_judge(X))

    def _predict_in_batches(self, X: Any, n_rows: int) -> Iterator[PredictedRows]:
        """Predict labels and probabilities together, ``n_rows`` rows at a time: the trees are evaluated once."""
        for totals in self._total_in_batches(X, n_rows):
            judged = self._read_totals(totals, len(self._ensemble))
            yield PredictedRows(self._to_labels(judged), self._to_probabilities(judged))

    def _judge(self, X: Any) -> NDArray[Any]:
        return self._read_totals(self._total(X), len(self._ensemble))

    def _staged_judge(self, X: Any) -> Iterator[NDArray[Any]]:
        for n_learners, totals in enumerate(self._staged_total(X), start=1):
            yield self._read_totals(totals, n_learners)

    @abstractmethod
    def _read_totals(self, totals: NDArray[Any], n_learners: int) -> NDArray[Any]:
        """Turn what the outputs of learners add up to into votes per class, or into raw predictions."""

    @abstractmethod
    def _to_decision(self, judged: NDArray[Any]) -> Floats:
        """Turn these into the decision function."""

    @abstractmethod
    def _to_labels(self, judged: NDArray[Any]) -> NDArray[Any]:
        """Turn these into entries of ``classes_``."""

    @abstractmethod
    def _to_probabilities(self, judged: NDArray[Any]) -> Floats:
        """Turn these into probabilities of the classes."""


class ValuePredictions(DatasetScore, RegressorMixin, IntervalPredictions):
    """Base class of the regressors: their predictions."""

    def predict(self, X: Any, *, n_estimators: int | None = None) -> Floats:
        """Predict numbers.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        predictions : array of shape (n_samples,)
            Predicted numbers.
        """
        model = self._limit(n_estimators)
        return model._to_values(model._total(X), len(model._ensemble))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict with 1, 2, 3, ... learners.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        predictions : array of shape (n_samples,)
            Like ``predict``, with one more learner each time.
        """
        for n_learners, totals in enumerate(self._staged_total(X), start=1):
            yield self._to_values(totals, n_learners)

    def _predict_in_batches(self, X: Any, n_rows: int) -> Iterator[PredictedRows]:
        """Predict numbers, ``n_rows`` rows at a time."""
        for totals in self._total_in_batches(X, n_rows):
            yield PredictedRows(self._to_values(totals, len(self._ensemble)), None)

    @abstractmethod
    def _to_values(self, totals: NDArray[np.float64], n_learners: int) -> Floats:
        """Turn what the outputs of learners add up to into predictions."""
