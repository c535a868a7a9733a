"""How a fitted classifier judges rows: votes, and what they are turned into."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from mpboost.estimators.patch_base import PatchBooster
from mpboost.outputs.kinds import ClassVotes, Colours, Outputs, Signs
from mpboost.outputs.votes import break_ties, count_votes, pick_winners, share_votes


class VotingBooster(ClassifierMixin, PatchBooster):
    """Base of the classifiers: all that a fitted one does."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Sum the votes of all learners, times the learning rate that they were trained with.

        At a tie the class of most weight in training is set half a vote apart, so that the decision is always that of
        ``predict``.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        decision : array of shape (n_samples,) or (n_samples, n_classes)
            Of two classes positive for ``classes_[1]``, negative for ``classes_[0]``. Of more, a column for each.
        """
        return self._scale(self._vote(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row: the one with the most votes, at a tie the one of most weight in training.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        labels : array of shape (n_samples,)
            Entries of ``classes_``.
        """
        return self._decide(self._vote(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probability of each class, calibrated on the out-of-patch votes of the training rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1. The class that ``predict`` gives is the most probable one.
        """
        return self._calibrate(self._vote(X))

    def predict_vote_share(self, X: Any) -> NDArray[np.float64]:
        """Give the share of votes for each class, as it is.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        shares : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1.
        """
        return share_votes(self._vote(X))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Give the decision function of the first, the first two, ... learners.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Yields
        ------
        decision : array of shape (n_samples,) or (n_samples, n_classes)
            As ``decision_function``, for one more learner each time.
        """
        for votes in self._staged_vote(X):
            yield self._scale(votes)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict with the first, the first two, ... learners.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Yields
        ------
        labels : array of shape (n_samples,)
            As ``predict``, for one more learner each time.
        """
        for votes in self._staged_vote(X):
            yield self._decide(votes)

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Give the probabilities of the first, the first two, ... learners, all by the calibration of the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Yields
        ------
        probabilities : array of shape (n_samples, n_classes)
            As ``predict_proba``, for one more learner each time.
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
