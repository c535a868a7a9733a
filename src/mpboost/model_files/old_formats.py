"""Compute attributes that files of older formats lack."""

import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.base import MinipatchBooster


def estimate_oop_counts(model: MinipatchBooster) -> NDArray[np.int32]:
    """Estimate ``oop_counts_``, which files before format 3 do not have.

    Counts are exact for many classes, and for two classes except at ties, which get the median of the other rows. With
    colours they may be wrong by a few. For regression and gradient models, all rows with an out-of-patch prediction
    get the mean.

    Parameters
    ----------
    model : estimator
        A loaded model with all other attributes.

    Returns
    -------
    oop_counts : int32 array of shape (n_samples,)
        Number of learners that judged each row, not having been trained on it.
    """
    if np.isnan(model.oop_score_):
        return np.zeros(len(model.observation_difficulty_), dtype=np.int32)
    if not hasattr(model, "_ranks"):
        known = model.oop_decision_function_ if hasattr(model, "classes_") else model.oop_prediction_
        is_judged = ~np.isnan(known if known.ndim == 1 else known[:, 0])
        return np.where(is_judged, max(1, _compute_mean_count(model)), 0).astype(np.int32)
    decision = model.oop_decision_function_
    with np.errstate(all="ignore"):  # a forged file may contain any numbers
        counts = _count_votes(model, decision) if decision.ndim == 2 else _invert_difficulty(model, decision)
        return np.clip(np.nan_to_num(counts), 0, model.best_iteration_).astype(np.int32)


def _compute_mean_count(model: MinipatchBooster) -> int:
    """Compute the mean number of learners that judge a row."""
    n_learners, n_samples = model.best_iteration_, max(1, int(np.count_nonzero(model.observation_probabilities_)))
    if hasattr(model, "n_models_") and (model.leaf_refit or model.oop_size != 0):
        return int(n_learners // model.n_models_)  # the trees of the model that reserved the row
    return round(n_learners * max(0.0, 1.0 - model.max_samples_ / n_samples))


def _count_votes(model: MinipatchBooster, decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count the votes for many classes."""
    n_votes = np.rint(decision.sum(axis=1) / model.learning_rate_)
    if not hasattr(model, "_colours"):
        return n_votes
    # A learner votes for half of the classes, rounded up or down; no class gets more than one vote per learner.
    most = np.rint(decision.max(axis=1) / model.learning_rate_)
    return np.maximum(np.rint(2.0 * n_votes / len(model.classes_)), most)


def _invert_difficulty(model: MinipatchBooster, decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the number of votes for two classes from their difference and the difficulty, except at ties.

    The difficulty is (r + 1) / (r + s + 2), with s votes for the label and r against it, and the difference is s - r.
    """
    votes = np.rint(decision / model.learning_rate_)
    own = np.where(model._targets == 1, votes, -votes)  # s - r
    lead = 1.0 - 2.0 * model.observation_difficulty_  # (s - r) / (r + s + 2)
    is_decided = (own != 0) & (lead != 0) & ~np.isnan(own + lead)
    counts = np.divide(own, lead, out=np.full(len(own), np.nan), where=is_decided) - 2.0
    is_tie = own == 0
    usual = np.median(counts[is_decided]) if is_decided.any() else _compute_mean_count(model)
    counts[is_tie] = 2.0 * np.rint(usual / 2.0)  # even, since both classes have the same number
    return np.maximum(np.rint(counts), np.abs(votes))
