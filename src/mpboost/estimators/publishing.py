"""The fitted attributes of estimators, from a finished run."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mpboost.boosting.run import BoostingRun
from mpboost.data.problem import Problem
from mpboost.estimators import row_attributes
from mpboost.estimators.estimates import estimate_score
from mpboost.outputs.calibration import MAX_COUNTS, VoteCalibration
from mpboost.outputs.difficulty import judge_residuals, judge_shares, judge_votes
from mpboost.outputs.metrics import name_score, to_codes
from mpboost.outputs.statistics import pick_rows
from mpboost.sampling.draws import probabilities_from_logs
from mpboost.sampling.features import to_shares
from mpboost.tasks.contract import TaskState
from mpboost.tasks.gradients import GradientTask
from mpboost.tasks.losses import predict_shares, predict_values
from mpboost.tasks.many_classes import ColourTask
from mpboost.tasks.voting import VotingTask, take_rows

#: Fitted attributes by name; None for those that a model does not have.
Attributes = dict[str, Any]


def describe_fit(run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
    """List the attributes that all estimators have, at the best iteration; None for those this one does not have."""
    best, n_learners, task = run.best, run.best_iteration, run.parts.task
    oop_scores = np.array(run.oop_scores)
    exact_score = task.compute_oop_score(best.task, n_learners)
    if exact_score is not None:
        oop_scores[n_learners - 1] = exact_score
    if not run.has_oop_score:
        oop_scores[:] = np.nan  # every minipatch contained all rows
    validation_scores = np.array(run.validation_scores) if run.validation_scores else None
    return {
        "n_iter_": run.iteration,
        "best_iteration_": n_learners,
        "stop_reason_": run.stop_words,
        "max_samples_": run.parts.observation_sampler.n_drawn,
        "max_features_": run.parts.feature_sampler.n_drawn,
        "train_scores_": np.array(run.train_scores),
        "score_name_": name_score(run.params["scoring"], are_classes=problem.classes is not None),
        "oop_scores_": oop_scores,
        **estimate_score(run, problem, float(oop_scores[n_learners - 1])),
        "validation_scores_": validation_scores,
        "validation_score_": None if validation_scores is None else float(validation_scores[n_learners - 1]),
        "n_samples_": problem.n_samples,
        "feature_probabilities_": best.feature_probabilities.copy(),
        "feature_importances_": to_shares(best.importance_sums),
        "history_": run.make_history(),
        "_ensemble": run.parts.ensemble.first(n_learners),
        **known,
    }


@dataclass(frozen=True)
class RowSource:
    """What the attributes about single rows are computed from: at the end of a fit, or later.

    Attributes
    ----------
    task : Task
        The task of the run. Of the arrays with an entry for each row it needs labels and weights alone.
    state : dict of str to array
        The state of the task at the best iteration.
    n_learners : int
        The best iteration.
    loss : str, Loss or None
        The loss of a gradient model.
    is_present : bool array or None
        Which of the users' rows count; None for all.
    """

    task: Any
    state: TaskState
    n_learners: int
    loss: Any
    is_present: NDArray[np.bool_] | None

    @classmethod
    def of(cls, run: BoostingRun, problem: Problem) -> Self:
        """Take what is needed from a run."""
        return cls(run.parts.task, run.best.task, run.best_iteration, run.params.get("loss"), problem.is_present)

    @property
    def n_samples(self) -> int:
        """The number of rows that the user passed."""
        return len(self.task.labels) if self.is_present is None else len(self.is_present)

    def spread(self, values: NDArray[Any], absent: Any) -> NDArray[Any]:
        """Spread values of the rows that count over all rows of the user; the others get ``absent``."""
        if self.is_present is None:
            return values
        spread = np.full((len(self.is_present), *values.shape[1:]), absent, dtype=values.dtype)
        spread[self.is_present] = values
        return spread

    def without_scoring(self) -> "RowSource":
        """Return the same without what only scores need, which may be large, or no other process may understand."""
        task = copy(self.task)
        vars(task).update({name: None for name in ("_running", "_calibrate") if name in vars(task)})
        if isinstance(task, GradientTask):
            task.out_of_patch = task.out_of_patch.without_scoring()
        return replace(self, task=task)


def describe_rows(source: RowSource, name: str, describe: Callable[[], tuple[NDArray[Any], ...]]) -> Attributes:
    """List the attributes that are about single rows; None for all of them if there are too many rows.

    ``describe`` returns the out-of-patch output, whose ``name`` is given, the difficulty and the targets of rows.
    """
    names = name, "observation_difficulty_", "_targets", "oop_counts_", "observation_probabilities_"
    if source.n_samples > row_attributes.MAX_ROWS:
        return dict.fromkeys(names)
    task, state = source.task, source.state
    output, difficulty, targets = describe()
    values = (
        (output, np.nan),
        (difficulty, np.nan),
        (targets, 0 if targets.dtype.kind == "u" else np.nan),
        (task.count_oop_learners(state, source.n_learners), 0),
        (probabilities_from_logs(task.compute_log_weights(state)), 0.0),
    )
    return {name: source.spread(*value) for name, value in zip(names, values, strict=True)}


def describe_classifier(run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
    """List the attributes of a classifier."""
    task: object = run.parts.task
    assert isinstance(task, VotingTask)
    return describe_fit(run, problem, known) | {
        "classes_": problem.classes,
        "_calibration": _calibrate(task, run),
        "_ranks": task.ranks,
        "_colours": np.array(task.colours[: run.best_iteration]) if isinstance(task, ColourTask) else None,
        "learning_rate_": float(run.best.task["learning_rate"][0]),
    }


def describe_classifier_rows(source: RowSource) -> Attributes:
    """List the attributes of a classifier that are about single rows."""
    task = source.task

    def describe() -> tuple[NDArray[Any], ...]:
        counts = task.count_oop_votes(source.state, source.n_learners)
        difficulty = judge_votes(counts, task.classes)
        # For two classes the decision function is one number. In place: many rows take much memory.
        oop_decision = (counts if counts.shape[1] > 2 else counts[:, 1]).astype(np.float64)
        if counts.shape[1] == 2:
            oop_decision -= counts[:, 0]
        oop_decision *= float(source.state["learning_rate"][0])
        return oop_decision, difficulty, task.classes

    return describe_rows(source, "oop_decision_function_", describe)


def _calibrate(task: VotingTask, run: BoostingRun) -> VoteCalibration:
    """Fit the calibration of votes, on a sample of rows if there are many."""
    n_rows = len(task.labels)
    rows = pick_rows(n_rows, min(n_rows, max(1, MAX_COUNTS // len(task.ranks))))
    counts = task.count_oop_votes(take_rows(run.best.task, rows), run.best_iteration)
    weights = None if task.score_weights is None else task.score_weights[rows]
    return VoteCalibration.fit(counts, to_codes(task.labels[rows]), weights)


def describe_regressor_rows(source: RowSource) -> Attributes:
    """List the attributes of a regressor that are about single rows."""
    task = source.task

    def describe() -> tuple[NDArray[Any], ...]:
        oop_prediction = task.predict_oop(source.state)
        difficulty = judge_residuals(task.labels - oop_prediction, task.sample_weights)
        return oop_prediction, difficulty, task.labels.copy()

    return describe_rows(source, "oop_prediction_", describe)


def describe_gradients(run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
    """List the attributes that both gradient estimators have."""
    task: object = run.parts.task
    assert isinstance(task, GradientTask)
    unit, validation = task.loss.unit, run.parts.validation
    return describe_fit(run, problem, known) | {
        "oop_losses_": unit * np.array(task.out_of_patch.losses),
        "validation_losses_": -unit * np.array(run.qualities) if validation and run.watched.is_loss else None,
        "n_models_": len(task.predictors),
        "baseline_": task.loss.baseline,
        "_loss": run.params["loss"],
    }


def describe_gradient_classifier_rows(source: RowSource) -> Attributes:
    """List the attributes of a gradient classifier that are about single rows."""
    task = source.task

    def describe() -> tuple[NDArray[Any], ...]:
        raw, rows = task.spread_oop(source.state), task.out_of_patch.rows
        codes = (task.labels > 0).astype(np.uint16) if raw.ndim == 1 else task.labels
        difficulty = np.full(len(codes), np.nan)
        difficulty[rows] = judge_shares(predict_shares(source.loss, raw[rows]), codes[rows])
        return raw, difficulty, codes

    return describe_rows(source, "oop_decision_function_", describe)


def describe_gradient_regressor_rows(source: RowSource) -> Attributes:
    """List the attributes of a gradient regressor that are about single rows."""
    task = source.task

    def describe() -> tuple[NDArray[Any], ...]:
        rows, n_rows = task.out_of_patch.rows, len(task.labels)
        oop_prediction, difficulty = np.full(n_rows, np.nan), np.full(n_rows, np.nan)
        oop_prediction[rows] = predict_values(source.loss, task.spread_oop(source.state)[rows])
        weights = None if task.sample_weights is None else task.sample_weights[rows]
        difficulty[rows] = judge_residuals(task.labels[rows] - oop_prediction[rows], weights)
        return oop_prediction, difficulty, task.labels.copy()

    return describe_rows(source, "oop_prediction_", describe)
