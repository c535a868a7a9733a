"""What learners that never saw a training row make of it: worked out here for reports, displays and label issues."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.outputs.votes import break_ties, pick_winners
from mpboost.tasks.losses import predict_shares

#: Rows that are judged at a time: what stays in the cache.
BATCH_ROWS = 1 << 14


@dataclass(frozen=True)
class Judgement:
    """The training rows that some learner never saw, and what these learners predict for them.

    Attributes
    ----------
    rows : int64 array of shape (n_judged,)
        Positions in the training data, ascending.
    given, predicted : arrays of shape (n_judged,)
        Codes of classes, or numbers.
    n_learners : int32 array of shape (n_judged,)
        How many learners judged each row; at least 1.
    """

    rows: NDArray[np.int64]
    given: NDArray[Any]
    predicted: NDArray[Any]
    n_learners: NDArray[np.int32]

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Where the predicted class is the given one."""
        return self.given == self.predicted


def judge(model: Any) -> Judgement | None:
    """Give the out-of-patch predictions of a fitted model of any kind; None if no learner can judge a row.

    Classes with as many votes are told apart as ``predict`` does. Rows that no learner judges are left out.
    """
    rows = np.flatnonzero(model.oop_counts_)
    if not len(rows):
        return None
    if hasattr(model, "classes_"):
        given, predicted = model._targets[rows].astype(np.int64), np.empty(len(rows), dtype=np.int64)
        for start in range(0, len(rows), BATCH_ROWS):
            batch = slice(start, start + BATCH_ROWS)
            predicted[batch] = _decide(model, model.oop_decision_function_[rows[batch]])
    else:
        given, predicted = model._targets[rows], model.oop_prediction_[rows]
    return Judgement(rows, given, predicted, model.oop_counts_[rows])


def require_judgement(model: Any) -> Judgement:
    """Give the out-of-patch predictions of a model; refuse one that has none."""
    judgement = judge(model)
    if judgement is None:
        raise ValueError(f"No learner of this model can judge a row that it never saw. {model._oop_advice}")
    return judgement


def compute_probabilities(
    model: Any, judgement: Judgement, max_probabilities: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute the out-of-patch probabilities of the classes, for all judged rows or for a random sample of them.

    Parameters
    ----------
    model : fitted classifier
        The model that made the judgement.
    judgement : Judgement
        The rows.
    max_probabilities : int, default=None
        Rows times classes, at most: of more, so many rows are drawn, always the same. None takes all rows.

    Returns
    -------
    places : int64 array of shape (n_rows,)
        Which of the judged rows these are, ascending.
    probabilities : float64 array of shape (n_rows, n_classes)
        The probabilities of the classes.
    """
    places, n_classes = np.arange(len(judgement.rows)), len(model.classes_)
    if max_probabilities is not None and len(places) > (n_most := max(1, max_probabilities // n_classes)):
        places = np.sort(np.random.default_rng(0).choice(places, n_most, replace=False))
    rows = judgement.rows[places]
    if not hasattr(model, "_ranks"):
        return places, predict_shares(model._loss, model.oop_decision_function_[rows])
    return places, model._calibration.predict(*break_ties(_count_votes(model, rows), model._ranks))


def decode_targets(model: Any, targets: NDArray[Any]) -> NDArray[Any]:
    """Give the labels that codes of classes stand for; numbers stay what they are."""
    decoded: NDArray[Any] = model.classes_[targets] if hasattr(model, "classes_") else targets
    return decoded


def _decide(model: Any, decision: NDArray[np.float64]) -> NDArray[np.integer]:
    """Decide for classes, as the model's ``predict`` does, by rows of ``oop_decision_function_``."""
    if not hasattr(model, "_ranks"):  # log odds
        return np.asarray(decision >= 0 if decision.ndim == 1 else decision.argmax(axis=1), dtype=np.int64)
    # What a vote weighs makes no difference to who wins.
    votes: NDArray[Any] = decision if decision.ndim == 2 else np.column_stack([-decision, decision])
    return pick_winners(votes, model._ranks)


def _count_votes(model: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the out-of-patch votes for each class; of two classes, models keep their difference and their number."""
    votes = np.rint(model.oop_decision_function_[rows] / model.learning_rate_).astype(np.int64)
    if votes.ndim == 2:
        return votes
    n_votes = model.oop_counts_[rows].astype(np.int64)
    return np.column_stack([n_votes - votes, n_votes + votes]) // 2
