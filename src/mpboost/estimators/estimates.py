"""What a fit says about new rows: the out-of-patch score, how sure it is, and that of a constant prediction."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.boosting.run import BoostingRun
from mpboost.data.problem import Problem
from mpboost.outputs.intervals import count_effective, estimate_interval
from mpboost.outputs.metrics import Metric, to_codes
from mpboost.outputs.predictions import ConstantClass, NumberPredictions, Predictions
from mpboost.outputs.score_names import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS
from mpboost.outputs.statistics import compute_mean, pick_rows
from mpboost.tasks.gradients import GradientTask
from mpboost.tasks.voting import VotingTask

#: Corrected votes have at most so many cells, rows times classes, since they take much memory; if there are more, the
#: correction is estimated from a sample of rows.
MAX_CELLS = 100_000

#: Only with so many judged rows and learners can it be told that a model is no better than a constant prediction.
#: Of classes, so many rows must not be of the largest one.
MIN_ROWS, MIN_LEARNERS, MIN_OTHERS = 500, 30, 50


def estimate_score(run: BoostingRun, problem: Problem, literal: float) -> dict[str, Any]:
    """Estimate the score on new rows at the best iteration; return fitted attributes.

    Votes are corrected for the bias that an adaptive p causes, unless the fit stops by the paper's rule: that one is
    about the literal score.
    """
    unknown = {
        "oop_score_": literal,
        "oop_interval_": np.full(2, np.nan),
        "constant_score_": np.nan,
    }
    if not run.has_oop_score:
        return unknown | {"oop_score_": np.nan}
    task: Any = run.parts.task
    score = literal
    own = DEFAULT_OF_NUMBERS if problem.classes is None else DEFAULT_OF_CLASSES
    metric = Metric(run.params["scoring"] or own, problem.classes)
    rows, predictions = _judge(run)
    labels, weights = task.labels[rows], None if task.score_weights is None else task.score_weights[rows]
    if not len(rows):
        return unknown
    if _corrects(run):
        score = metric.compute(predictions, labels, weights)
        if _has_too_many_cells(task):
            _, uncorrected = task.present_oop(run.best.task, run.best_iteration, rows)
            score += literal - metric.compute(uncorrected, labels, weights)
    constant = _predict_constant(labels, weights, problem.classes)
    try:
        constant_score = metric.compute(constant, labels, weights)
    except ValueError:  # a metric of the user may refuse constant predictions
        constant_score = np.nan
    return {
        "oop_score_": score,
        "oop_interval_": np.array(estimate_interval(metric, score, predictions, labels, weights)),
        "constant_score_": constant_score,
    }


def warn_if_useless(run: BoostingRun, fitted: Mapping[str, Any]) -> None:
    """Warn that a model is no better than a constant prediction; must be called by fit itself (stacklevel)."""
    score, (low, high), constant_score = (fitted[name] for name in ("oop_score_", "oop_interval_", "constant_score_"))
    if run.iteration < MIN_LEARNERS or not low <= constant_score or score == run.parts.task.best_score:
        return
    rows, predictions = _judge(run)
    weights = None if run.parts.task.score_weights is None else run.parts.task.score_weights[rows]
    if count_effective(len(rows), weights) < MIN_ROWS or _is_better(run, rows, predictions):
        return
    warnings.warn(
        "This model is no better than a constant prediction, as far as can be told: its out-of-patch "
        f"{fitted['score_name_']} is {score:.3g} (95 %: {low:.3g} to {high:.3g}), and always predicting the same gives "
        f"{constant_score:.3g}. Check the features and the target.",
        stacklevel=4,
    )


def _corrects(run: BoostingRun) -> bool:
    params = run.params
    return isinstance(run.parts.task, VotingTask) and params["adaptive_observations"] and params["stopping"] != "paper"


def _judge(run: BoostingRun) -> tuple[Positions, Predictions]:
    """Return the rows that have an out-of-patch prediction at the best iteration, and these predictions."""
    task: Any = run.parts.task
    if isinstance(task, GradientTask):
        return task.out_of_patch.rows, task.loss.present(run.best.task["oop_raw"])
    n_rows = len(task.labels)
    if isinstance(task, VotingTask) and _has_too_many_cells(task):
        rows = pick_rows(n_rows, max(2, MAX_CELLS // len(task.ranks)))
    else:
        rows = np.arange(n_rows)
    if _corrects(run):
        return task.present_corrected(run.best.task, run.best_iteration, rows)
    judged: tuple[Positions, Predictions] = task.present_oop(run.best.task, run.best_iteration, rows)
    return judged


def _has_too_many_cells(task: VotingTask) -> bool:
    return len(task.labels) * len(task.ranks) > MAX_CELLS


def _predict_constant(labels: NDArray[Any], weights: Floats | None, classes: NDArray[Any] | None) -> Predictions:
    if classes is None:
        return NumberPredictions(np.full(len(labels), compute_mean(labels, weights)))
    return ConstantClass(np.bincount(to_codes(labels), weights, minlength=len(classes)), len(labels))


def _is_better(run: BoostingRun, rows: Positions, predictions: Predictions) -> bool:
    """Check by another measure whether a model has learned anything, if its score does not show it.

    If one class is rare, accuracy does not tell; nor does R^2 if there are outliers. Class weights and losses other
    than that of the score shift predictions on purpose: then it is not known, nor if nearly all rows are of one class.
    """
    task, loss = run.parts.task, run.params.get("loss")
    if task.score_weights is not task.sample_weights or loss not in (None, "log_loss", "squared_error"):
        return True
    labels = task.labels[rows]
    if labels.dtype.kind == "f":
        gains = np.sign(np.abs(labels - np.median(labels)) - np.abs(labels - predictions.predict()))
    else:
        codes = to_codes(labels)
        if len(codes) - np.bincount(codes).max() < MIN_OTHERS:
            return True
        usual = np.bincount(codes)[codes] / len(codes)
        gains = _native.log_of(np.maximum(predictions.estimate()[np.arange(len(codes)), codes], 1e-15) / usual)
    return bool(gains.mean() > 2.0 * gains.std() / np.sqrt(len(gains)))
