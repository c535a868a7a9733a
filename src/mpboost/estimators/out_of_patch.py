"""What learners that never saw the training rows say about them, in the forms that predictions have."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost.estimators.base import MinipatchBooster
from mpboost.outputs.predictions import NumberPredictions, Predictions, VotePredictions
from mpboost.outputs.votes import correct_votes
from mpboost.tasks.losses import RawPredictions

#: Rows whose probabilities are computed at a time, to limit memory.
BATCH_ROWS = 1 << 14


def find_judged_rows(model: MinipatchBooster) -> NDArray[np.int64]:
    """Find the training rows that learners have judged which never saw them; raise an error if there are none."""
    rows = np.flatnonzero(model.oop_counts_)
    if not len(rows):
        raise ValueError(f"This model has no out-of-patch predictions. {model._oop_advice}")
    return rows


def read_outputs(model: MinipatchBooster, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Read what learners that never saw these training rows put out: votes per class, log odds, or numbers."""
    if not hasattr(model, "classes_"):
        numbers: NDArray[Any] = model.oop_prediction_[rows]
        return numbers
    if not hasattr(model, "_ranks"):
        raw: NDArray[Any] = model.oop_decision_function_[rows]
        return raw
    votes = np.rint(model.oop_decision_function_[rows] / model.learning_rate_).astype(np.int64)
    if votes.ndim == 2:
        return votes
    # Models of two classes store the difference and the sum of the votes.
    n_votes = model.oop_counts_[rows].astype(np.int64)
    return np.column_stack([n_votes - votes, n_votes + votes]) // 2


def present(model: MinipatchBooster, outputs: NDArray[Any]) -> Predictions:
    """Make predictions of votes per class, of log odds, or of numbers."""
    if not hasattr(model, "classes_"):
        return NumberPredictions(outputs)
    if not hasattr(model, "_ranks"):
        return RawPredictions(model._loss, outputs)
    return VotePredictions(outputs, model._ranks, lambda: model._calibration)


def estimate_given_classes(model: MinipatchBooster, rows: NDArray[np.int64]) -> Floats:
    """Estimate, for judged training rows, the out-of-patch probability of the class that each has.

    Votes are corrected for the bias that an adaptive p causes, whatever a fit stops by; ``oop_score_`` is of votes as
    they are if that is the paper's rule. Whether p was adaptive is read from the parameter: it must be that of the fit.
    """
    shares = np.empty(len(rows))
    n_learners = len(model._ensemble)
    is_biased = hasattr(model, "_ranks") and model.adaptive_observations
    mean_share = 1.0 - float(np.mean(model.oop_counts_[rows])) / n_learners
    for start in range(0, len(rows), BATCH_ROWS):
        batch = rows[start : start + BATCH_ROWS]
        outputs, codes = read_outputs(model, batch), model._targets[batch].astype(np.intp)
        if is_biased:
            outputs = correct_votes(outputs, codes, model.oop_counts_[batch], n_learners, mean_share)
        shares[start : start + BATCH_ROWS] = present(model, outputs).estimate()[np.arange(len(batch)), codes]
    return shares
