"""What the learners that never saw a training row make of it, for all rows that have such learners."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost.inspection.drawing import check_model
from mpboost.outputs.votes import break_ties
from mpboost.tasks.losses import predict_shares


class ClassJudgement(NamedTuple):
    """Codes of classes, and probabilities, of the rows that were judged.

    Attributes
    ----------
    rows : int array of shape (n_judged,)
        Their numbers.
    targets, predicted : int arrays of shape (n_judged,)
        What they are labelled as, and what they are predicted to be.
    shares : float64 array of shape (n_judged, n_classes)
        Probabilities of the classes.
    """

    rows: NDArray[np.intp]
    targets: NDArray[np.intp]
    predicted: NDArray[np.intp]
    shares: NDArray[np.float64]


class ValueJudgement(NamedTuple):
    """Numbers of the rows that were judged: as given, and as predicted."""

    rows: NDArray[np.intp]
    targets: NDArray[np.float64]
    predicted: NDArray[np.float64]


def judge_classes(model: Any, display: str, instead: str = "") -> ClassJudgement:
    """Give the classes of the rows that were judged; refuse models of numbers, with what to draw instead."""
    check_model(model)
    if not hasattr(model, "classes_"):
        advice = f": use {instead}" if instead else ""
        raise ValueError(f"{display} is for classes, and {type(model).__name__} predicts numbers{advice}.")
    decision = model.oop_decision_function_
    if not hasattr(model, "_ranks"):  # log odds of rows that were reserved
        rows = _check_rows(model, ~np.isnan(decision if decision.ndim == 1 else decision[:, 0]))
        raw = decision[rows]
        shares = predict_shares(model._loss, raw)
        predicted = np.asarray(raw >= 0 if raw.ndim == 1 else raw.argmax(axis=1), dtype=np.intp)
        return ClassJudgement(rows, model._targets[rows].astype(np.intp), predicted, shares)
    # Of two classes, a decision of 0 is a draw, or a row that was in all minipatches.
    voted = np.nan_to_num(decision) != 0
    rows = _check_rows(model, voted if voted.ndim == 1 else voted.any(axis=1))
    targets = model._targets[rows].astype(np.intp)
    votes = np.rint(decision[rows] / model.learning_rate_)
    if votes.ndim == 1:
        votes = _find_both(votes, targets, model.observation_difficulty_[rows])
    votes, winners = break_ties(votes, model._ranks)
    return ClassJudgement(rows, targets, winners, model._calibration.predict(votes, winners))


def judge_values(model: Any, display: str, instead: str) -> ValueJudgement:
    """Give the numbers of the rows that were judged; refuse models of classes, with what to draw instead."""
    check_model(model)
    if hasattr(model, "classes_"):
        raise ValueError(f"{display} is for numbers, and {type(model).__name__} predicts classes: use {instead}.")
    rows = _check_rows(model, ~np.isnan(model.oop_prediction_))
    return ValueJudgement(rows, model._targets[rows], model.oop_prediction_[rows])


def _check_rows(model: Any, is_judged: NDArray[np.bool_]) -> NDArray[np.intp]:
    if not is_judged.any():
        raise ValueError(f"No learner of this model can judge a row that it never saw. {model._oop_advice}")
    return np.flatnonzero(is_judged)


def _find_both(
    leads: NDArray[np.float64], targets: NDArray[np.intp], difficulty: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Find the votes for either class from the lead of the second one: the difficulty tells how many there are.

    It is (r + 1) / (r + s + 2), with s votes for the label and r against it, and the lead is s - r, or r - s.
    """
    n_votes = np.rint(np.where(targets == 1, leads, -leads) / (1.0 - 2.0 * difficulty)) - 2.0
    return np.stack([n_votes - leads, n_votes + leads], axis=1) / 2.0
