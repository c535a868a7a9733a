"""Predictions of MPBoostClassifier: votes, and what is computed from them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from mpboost.estimators.patch_base import PatchBooster
from mpboost.outputs.kinds import ClassVotes, Colours, Outputs, Signs
from mpboost.outputs.votes import break_ties, count_votes, pick_winners, share_votes


class VotingBooster(ClassifierMixin, PatchBooster):
    """Base class of MPBoostClassifier: all of its predictions."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the sum of the votes of all learners, times the learning rate.

        At a tie, the class with the most weight in training gets half a vote more, so that the decision always agrees
        with ``predict``.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        decision : array of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive for ``classes_[1]``, negative for ``classes_[0]``; for more, a column per class.
        """
        return self._scale(self._vote(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes; at a tie, the one with the most weight in training.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        labels : array of shape (n_samples,)
            Predicted classes.
        """
        return self._decide(self._vote(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class, calibrated on the out-of-patch votes of the training rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1. ``predict`` returns the most probable class.
        """
        return self._calibrate(self._vote(X))

    def predict_vote_share(self, X: Any) -> NDArray[np.float64]:
        """Compute the share of votes for each class, without calibration.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        shares : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1.
        """
        return share_votes(self._vote(X))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Compute the decision function of 1, 2, 3, ... learners.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        decision : array of shape (n_samples,) or (n_samples, n_classes)
            Like ``decision_function``, with one more learner each time.
        """
        for votes in self._staged_vote(X):
            yield self._scale(votes)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict with 1, 2, 3, ... learners.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        labels : array of shape (n_samples,)
            Like ``predict``, with one more learner each time.
        """
        for votes in self._staged_vote(X):
            yield self._decide(votes)

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict probabilities with 1, 2, 3, ... learners, using the calibration of the whole model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        probabilities : array of shape (n_samples, n_classes)
            Like ``predict_proba``, with one more learner each time.
        """
        for votes in self._staged_vote(X):
            yield self._calibrate(votes)

    def _vote(self, X: Any) -> NDArray[np.int32]:
        return count_votes(self._total(X), len(self._ensemble))

    def _staged_vote(self, X: Any) -> Iterator[NDArray[np.int32]]:
        for n_learners, totals in enumerate(self._staged_total(X), start=1):
            yield count_votes(totals, n_learners)

    def _scale(self, votes: NDArray[np.int32]) -> NDArray[np.float64]:
        broken, _ = break_ties(votes, self._ranks)
        return self.learning_rate_ * (broken if len(self.classes_) > 2 else broken[:, 1] - broken[:, 0])

    def _decide(self, votes: NDArray[np.int32]) -> NDArray[Any]:
        return self.classes_[pick_winners(votes, self._ranks)]

    def _calibrate(self, votes: NDArray[np.int32]) -> NDArray[np.float64]:
        return self._calibration.predict(*break_ties(votes, self._ranks))

    @property
    def _outputs(self) -> Outputs[Any]:
        if hasattr(self, "_colours"):
            return Colours(self._colours, len(self.classes_))
        return Signs() if len(self.classes_) == 2 else ClassVotes(self._ranks)
