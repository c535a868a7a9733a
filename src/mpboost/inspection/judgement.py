"""Out-of-patch predictions of training rows, for reports, displays and label issues."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.base import MinipatchBooster
from mpboost.outputs.calibration import VoteCalibration
from mpboost.outputs.votes import break_ties, pick_winners
from mpboost.tasks.losses import predict_shares

#: Rows that are judged at a time, so that they stay in the cache.
BATCH_ROWS = 1 << 14


@dataclass(frozen=True)
class Judgement:
    """Training rows that some learners were not trained on, and the predictions of these learners.

    Attributes
    ----------
    rows : int64 array of shape (n_judged,)
        Positions in the training data, ascending.
    given, predicted : arrays of shape (n_judged,)
        Codes of classes, or numbers.
    n_learners : int32 array of shape (n_judged,)
        Number of learners that judged each row; at least 1.
    """

    rows: NDArray[np.int64]
    given: NDArray[Any]
    predicted: NDArray[Any]
    n_learners: NDArray[np.int32]

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether the predicted class is the given class."""
        return self.given == self.predicted


def judge(model: MinipatchBooster) -> Judgement | None:
    """Return the out-of-patch predictions of a fitted model; None if it has none.

    Ties between classes are broken as in ``predict``. Rows that no learner can judge are left out.
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


def require_judgement(model: MinipatchBooster) -> Judgement:
    """Return the out-of-patch predictions of a model; raise an error if it has none."""
    judgement = judge(model)
    if judgement is None:
        raise ValueError(f"This model has no out-of-patch predictions. {model._oop_advice}")
    return judgement


def compute_probabilities(
    model: MinipatchBooster, judgement: Judgement, max_probabilities: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute the out-of-patch probabilities of the classes, for all judged rows or for a random sample of them.

    Parameters
    ----------
    model : fitted classifier
        The model that made the judgement.
    judgement : Judgement
        The rows.
    max_probabilities : int, default=None
        Maximum of rows times classes: if there are more, a sample of rows is drawn, always the same. None takes all.

    Returns
    -------
    places : int64 array of shape (n_rows,)
        Positions among the judged rows, ascending.
    probabilities : float64 array of shape (n_rows, n_classes)
        The probabilities of the classes.
    """
    places, n_classes = np.arange(len(judgement.rows)), len(model.classes_)
    if max_probabilities is not None and len(places) > (n_most := max(1, max_probabilities // n_classes)):
        places = np.sort(np.random.default_rng(0).choice(places, n_most, replace=False))
    return places, _compute_probabilities(model, judgement.rows[places])


def compute_own_and_predicted(
    model: MinipatchBooster, judgement: Judgement
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the out-of-patch probabilities of the given and of the predicted class of each judged row."""
    own, predicted = np.empty(len(judgement.rows)), np.empty(len(judgement.rows))
    for start in range(0, len(own), BATCH_ROWS):
        batch = slice(start, start + BATCH_ROWS)
        probabilities = _compute_probabilities(model, judgement.rows[batch])
        for out, codes in ((own, judgement.given), (predicted, judgement.predicted)):
            out[batch] = np.take_along_axis(probabilities, codes[batch, None], axis=1)[:, 0]
    return own, predicted


def decode_targets(model: MinipatchBooster, targets: NDArray[Any]) -> NDArray[Any]:
    """Turn codes of classes into labels; numbers are returned unchanged."""
    decoded: NDArray[Any] = model.classes_[targets] if hasattr(model, "classes_") else targets
    return decoded


def _compute_probabilities(model: MinipatchBooster, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    if not hasattr(model, "_ranks"):
        return predict_shares(model._loss, model.oop_decision_function_[rows])
    calibration: VoteCalibration = model._calibration
    return calibration.predict(*break_ties(_count_votes(model, rows), model._ranks))


def _decide(model: MinipatchBooster, decision: NDArray[np.float64]) -> NDArray[np.integer]:
    """Choose classes from rows of ``oop_decision_function_``, as ``predict`` does."""
    if not hasattr(model, "_ranks"):  # log odds
        return np.asarray(decision >= 0 if decision.ndim == 1 else decision.argmax(axis=1), dtype=np.int64)
    # The weight of a vote does not change the winner.
    votes: NDArray[Any] = decision if decision.ndim == 2 else np.column_stack([-decision, decision])
    return pick_winners(votes, model._ranks)


def _count_votes(model: MinipatchBooster, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the out-of-patch votes per class; models of two classes store the difference and the sum of the votes."""
    votes = np.rint(model.oop_decision_function_[rows] / model.learning_rate_).astype(np.int64)
    if votes.ndim == 2:
        return votes
    n_votes = model.oop_counts_[rows].astype(np.int64)
    return np.column_stack([n_votes - votes, n_votes + votes]) // 2
