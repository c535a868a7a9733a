"""What a run leaves on the estimator."""

from typing import Any

import numpy as np

from mpboost.boosting.loop import BoostingRun
from mpboost.data.problem import Problem
from mpboost.outputs.calibration import VoteCalibration
from mpboost.outputs.difficulty import judge_residuals, judge_shares, judge_votes
from mpboost.sampling.observations import probabilities_from_logs, to_shares
from mpboost.tasks.losses import predict_shares, predict_values
from mpboost.tasks.many_classes import ColourTask


def describe_fit(run: BoostingRun, problem: Problem, known: dict[str, Any]) -> dict[str, Any]:
    """List the attributes of any estimator after a run, cut to its best iteration; None for those it lacks."""
    best, n_learners, task = run.best, run.best_iteration, run.task
    oop_scores = np.array(run.oop_scores)
    if run.observation_sampler.draws_all:
        oop_scores[:] = np.nan  # no row was ever out of a patch
    validation_scores = np.array(run.validation_scores) if run.validation_scores else None
    return {
        "n_iter_": run.iteration,
        "best_iteration_": n_learners,
        "stop_reason_": run.stop_reason,
        "max_samples_": run.observation_sampler.n_drawn,
        "max_features_": run.feature_sampler.n_drawn,
        "train_scores_": np.array(run.train_scores),
        "oop_scores_": oop_scores,
        "oop_score_": float(oop_scores[n_learners - 1]),
        "validation_scores_": validation_scores,
        "validation_score_": None if validation_scores is None else float(validation_scores[n_learners - 1]),
        "observation_probabilities_": problem.spread(probabilities_from_logs(task.weigh(best.task)), 0.0),
        "feature_probabilities_": best.feature_probabilities.copy(),
        "feature_importances_": to_shares(best.importance_sums),
        "history_": run.make_history(),
        "_ensemble": run.ensemble.first(n_learners),
        **known,
    }


def describe_classifier(run: BoostingRun, problem: Problem, known: dict[str, Any]) -> dict[str, Any]:
    """List the attributes of a classifier."""
    task: Any = run.task
    learning_rate = float(run.best.task["learning_rate"][0])
    counts = task.count_oop_votes(run.best.task, run.best_iteration)
    calibration = VoteCalibration.fit(counts, task.classes, task.sample_weights)  # first: it takes the most memory
    # Of two classes the decision is one number.
    oop_decision = learning_rate * (counts if counts.shape[1] > 2 else counts[:, 1] - counts[:, 0])
    colours = np.array(task.colours[: run.best_iteration]) if isinstance(task, ColourTask) else None
    return describe_fit(run, problem, known) | {
        "classes_": problem.classes,
        "oop_decision_function_": problem.spread(oop_decision, np.nan),
        "observation_difficulty_": problem.spread(judge_votes(counts, task.classes), np.nan),
        "_calibration": calibration,
        "_ranks": task.ranks,
        "_colours": colours,
        "_targets": problem.spread(task.classes, 0),
        "learning_rate_": learning_rate,
    }


def describe_regressor(run: BoostingRun, problem: Problem, known: dict[str, Any]) -> dict[str, Any]:
    """List the attributes of a regressor."""
    task: Any = run.task
    oop_prediction = task.predict_oop(run.best.task)
    difficulty = judge_residuals(task.labels - oop_prediction, task.sample_weights)
    return describe_fit(run, problem, known) | {
        "oop_prediction_": problem.spread(oop_prediction, np.nan),
        "observation_difficulty_": problem.spread(difficulty, np.nan),
        "_targets": problem.spread(task.labels.copy(), np.nan),
    }


def describe_gradients(run: BoostingRun, problem: Problem, known: dict[str, Any]) -> dict[str, Any]:
    """List the attributes of a gradient model of any kind."""
    task: Any = run.task
    unit = task.loss.unit
    return describe_fit(run, problem, known) | {
        "oop_losses_": unit * np.array(task.oop_losses),
        "validation_losses_": None if run.validation is None else -unit * np.array(run.validation.qualities),
        "n_models_": len(task.predictors),
        "baseline_": task.loss.baseline,
        "_loss": run.params["loss"],
    }


def describe_gradient_classifier(run: BoostingRun, problem: Problem, known: dict[str, Any]) -> dict[str, Any]:
    """List the attributes of a gradient classifier."""
    task: Any = run.task
    raw, rows = task.spread_oop(run.best.task), task.judged
    codes = (task.labels > 0).astype(np.uint16) if raw.ndim == 1 else task.labels
    difficulty = np.full(len(codes), np.nan)
    difficulty[rows] = judge_shares(predict_shares(run.params["loss"], raw[rows]), codes[rows])
    return describe_gradients(run, problem, known) | {
        "classes_": problem.classes,
        "oop_decision_function_": problem.spread(raw, np.nan),
        "observation_difficulty_": problem.spread(difficulty, np.nan),
        "_targets": problem.spread(codes, 0),
    }


def describe_gradient_regressor(run: BoostingRun, problem: Problem, known: dict[str, Any]) -> dict[str, Any]:
    """List the attributes of a gradient regressor."""
    task: Any = run.task
    rows, oop_prediction, difficulty = task.judged, np.full(len(task.labels), np.nan), np.full(len(task.labels), np.nan)
    oop_prediction[rows] = predict_values(run.params["loss"], task.spread_oop(run.best.task)[rows])
    weights = None if task.sample_weights is None else task.sample_weights[rows]
    difficulty[rows] = judge_residuals(task.labels[rows] - oop_prediction[rows], weights)
    return describe_gradients(run, problem, known) | {
        "oop_prediction_": problem.spread(oop_prediction, np.nan),
        "observation_difficulty_": problem.spread(difficulty, np.nan),
        "_targets": problem.spread(task.labels.copy(), np.nan),
    }
