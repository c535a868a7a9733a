"""What a run leaves on the estimator."""

from typing import Any

import numpy as np

from mpboost.boosting import BoostingRun
from mpboost.calibration import VoteCalibration
from mpboost.problem import BinaryProblem
from mpboost.sampling import probabilities_from_logs


def describe_fit(
    run: BoostingRun, problem: BinaryProblem, known: dict[str, Any], learning_rate: float
) -> dict[str, Any]:
    """List the attributes of a classifier that the run has made, cut to its best iteration; None for those it lacks."""
    best, n_learners, task = run.best, run.best_iteration, run.task
    oop_scores = np.array(run.oop_scores)
    if run.observation_sampler.n_drawn == len(task.labels):
        oop_scores[:] = np.nan  # no row was ever out of a patch
    oop_votes = best.votes - best.in_patch_votes
    calibration = VoteCalibration.fit(oop_votes, n_learners - best.in_patch_counts, task.labels, task.sample_weights)
    validation_scores = np.array(run.validation_scores) if run.validation_scores else None
    total_importance = best.importance_sums.sum()
    return {
        "classes_": problem.classes,
        "n_iter_": run.iteration,
        "best_iteration_": n_learners,
        "stop_reason_": run.stop_reason,
        "train_scores_": np.array(run.train_scores),
        "oop_scores_": oop_scores,
        "oop_score_": float(oop_scores[n_learners - 1]),
        "validation_scores_": validation_scores,
        "validation_score_": None if validation_scores is None else float(validation_scores[n_learners - 1]),
        "oop_decision_function_": problem.spread(learning_rate * oop_votes, np.nan),
        "observation_probabilities_": problem.spread(probabilities_from_logs(task.weigh(best.votes)), 0.0),
        "feature_probabilities_": best.feature_probabilities.copy(),
        "feature_importances_": best.importance_sums / (total_importance or 1.0),
        "_ensemble": run.ensemble.first(n_learners),
        "_calibration": calibration,
        "_tie_label": task.tie_label,
        "_vote_weight": float(learning_rate),
        **known,
    }
