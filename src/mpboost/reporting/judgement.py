"""What learners that never saw a row make of it: the honest predictions that a report is about."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.outputs.votes import break_ties, find_winners
from mpboost.tasks.losses import predict_shares

#: Probabilities that are looked at, at most: calibration needs no more.
MAX_PROBABILITIES = 2_000_000
#: Rows that are judged at a time: what stays in the cache.
BATCH_ROWS = 1 << 14


@dataclass(frozen=True)
class Judgement:
    """Rows that some learners never saw, and what these say of them.

    Attributes
    ----------
    rows : int64 array of shape (n_judged,)
        Positions in the training data.
    given, predicted : arrays of shape (n_judged,)
        Codes of classes, or numbers.
    votes : float64 array or None
        How many learners judged each row, where that is known.
    """

    rows: NDArray[np.int64]
    given: NDArray[Any]
    predicted: NDArray[Any]
    votes: NDArray[np.float64] | None

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Where the predicted class is the given one."""
        return self.given == self.predicted


def judge(model: Any) -> Judgement | None:
    """Collect what a model says out of patch; None if it has nothing to say."""
    if np.isnan(model.oop_score_):
        return None
    if not hasattr(model, "classes_"):
        rows = np.flatnonzero(~np.isnan(model.oop_prediction_))
        return Judgement(rows, model._targets[rows], model.oop_prediction_[rows], None)
    rows = np.flatnonzero(~np.isnan(model.observation_difficulty_))
    given = model._targets[rows].astype(np.int64)
    if hasattr(model, "_ranks"):
        predicted, votes = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
        for start in range(0, len(rows), BATCH_ROWS):
            batch = slice(start, start + BATCH_ROWS)
            # What votes weigh makes no difference to who wins; of many classes it takes long to divide by it.
            weighed = model.oop_decision_function_[rows[batch]]
            counts, unit = (
                (weighed, model.learning_rate_) if weighed.ndim == 2 else (count_oop_votes(model, rows[batch]), 1.0)
            )
            predicted[batch], votes[batch] = find_winners(counts, model._ranks), np.rint(counts.sum(axis=1) / unit)
        # Colours count for several classes at a time: their sum is not the number of learners.
        return Judgement(rows, given, predicted, None if hasattr(model, "_colours") else votes)
    raw = model.oop_decision_function_[rows]
    return Judgement(rows, given, (raw >= 0).astype(np.int64) if raw.ndim == 1 else raw.argmax(axis=1), None)


def count_oop_votes(model: Any, rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count the votes for each class of the learners that never saw a row.

    Of two classes models keep the difference only; the sum follows from the difficulty, (r + 1) / (r + s + 2) with s
    votes for the label and r against it. At a draw it does not: there it is taken to be as usual.
    """
    votes = np.rint(model.oop_decision_function_[rows] / model.learning_rate_)
    if votes.ndim == 2:
        return votes.astype(np.int64)
    own = np.where(model._targets[rows] == 1, votes, -votes)  # s - r
    lead = 1.0 - 2.0 * model.observation_difficulty_[rows]  # (s - r) / (r + s + 2)
    is_known = own != 0
    totals = np.divide(own, lead, out=np.full(len(own), np.nan), where=is_known) - 2.0
    totals[~is_known] = np.median(totals[is_known]) if is_known.any() else 0.0
    return np.rint(np.column_stack([totals - votes, totals + votes]) / 2.0).astype(np.int64)


def find_probabilities(model: Any, judgement: Judgement) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the probabilities of the classes for rows, or a sample of them; give which of the judged rows these are."""
    places = np.arange(len(judgement.rows))
    n_most = max(1, MAX_PROBABILITIES // len(model.classes_))
    if len(places) > n_most:
        places = np.sort(np.random.default_rng(0).choice(places, n_most, replace=False))
    rows = judgement.rows[places]
    if hasattr(model, "_ranks"):
        return places, model._calibration.predict(*break_ties(count_oop_votes(model, rows), model._ranks))
    return places, predict_shares(model._loss, model.oop_decision_function_[rows])
