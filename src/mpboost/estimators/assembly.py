"""From an estimator's parameters to the parts of a run."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from mpboost import _native
from mpboost.boosting.ensembles import Ensemble, EstimatorEnsemble, TreeEnsemble
from mpboost.boosting.loop import BoostingRun
from mpboost.boosting.size_trial import SizeTrial
from mpboost.boosting.stopping import make_stopping
from mpboost.boosting.validation_score import Validation, are_same_weights
from mpboost.data.problem import Problem
from mpboost.learners.trees import EstimatorLearner, Judge, Learner, TreeLearner, TreeOptions, is_estimator
from mpboost.outputs.kinds import LearnerOutputs
from mpboost.sampling.observations import (
    FeatureSampler,
    ObservationSampler,
    PatchSizes,
    find_most_rows,
    find_patch_features,
    find_patch_rows,
)
from mpboost.tasks.two_classes import Task

#: Parameters that may change in the middle of a run; all others shape what is learned.
FREE_PARAMETERS = frozenset({"n_estimators", "time_limit", "warm_start", "callbacks", "verbose", "n_jobs"})


def assemble_run(model: Any, problem: Problem, threads: _native.Threads) -> BoostingRun:
    """Make the parts that the parameters of an estimator ask for."""
    n_samples = problem.examples.table.n_rows
    sizes: PatchSizes = model._auto_sizes
    patch_rows = find_patch_rows(model.max_samples, n_samples, sizes.rows)
    if patch_rows == n_samples and model.stopping is not None and problem.validation is None:
        raise ValueError(
            f"max_samples={model.max_samples!r} puts all rows (n_samples={n_samples}) into every minipatch, so there "
            "is no out-of-patch score to stop by: choose a smaller max_samples, give X_val and y_val, or set "
            "stopping=None."
        )
    # The one seed, drawn once: every draw of the run is a function of it.
    seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
    task = model._make_task(problem, seed)
    learner, ensemble = _make_learner(model, problem, task.outputs, seed, threads)
    judge = None if problem.validation is None else learner.open(problem.validation.table, threads)

    def make_run(patch_rows: int, task: Task | None = None) -> BoostingRun:
        task = task or model._make_task(problem, seed)
        return _make_run(model, problem, seed, patch_rows, task, learner, ensemble.first(0), judge)

    run = make_run(patch_rows, task)
    most = find_most_rows(n_samples, sizes.rows)
    if model.max_samples == "auto" and patch_rows < most:
        run.trial = SizeTrial(make_run, most)
    return run


def _make_run(
    model: Any,
    problem: Problem,
    seed: int,
    patch_rows: int,
    task: Task,
    learner: Learner,
    ensemble: Ensemble,
    judge: Judge | None,
) -> BoostingRun:
    table, validation = problem.examples.table, problem.validation
    has_unseen = model.importance == "out_of_patch" and patch_rows < table.n_rows
    feature_sampler = FeatureSampler(
        table.n_columns,
        find_patch_features(model.max_features, table.n_columns, model._auto_sizes.features),
        momentum=model.feature_momentum,
        exploration=model.feature_exploration,
        adaptive=model.adaptive_features,
        seed=seed,
        remembers=has_unseen,
    )
    needs_unseen = has_unseen and (model.estimator is None or model.adaptive_features)
    score = "out-of-patch score" if validation is None else "validation score"
    return BoostingRun(
        task=task,
        observation_sampler=ObservationSampler(task.log_weights, patch_rows, seed, task.sample_weights, needs_unseen),
        feature_sampler=feature_sampler,
        learner=learner,
        stopping=make_stopping(model.stopping, table.n_rows, patch_rows, model.n_iter_no_change, score),
        ensemble=ensemble,
        validation=None
        if judge is None or validation is None
        else Validation(judge, validation.labels, validation.weights, task),
        params=learning_params(model),
    )


def check_continues(model: Any, run: BoostingRun, problem: Problem, threads: _native.Threads) -> None:
    """Check that a run can go on: same data, same parameters, more iterations."""
    if model.n_estimators < run.iteration:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {run.iteration} iterations done already; with "
            "warm_start=True it can only grow."
        )
    for name, is_same in (("X, y and weights", _has_examples), ("X_val, y_val and weights", _has_validation)):
        if not is_same(run, problem, threads):
            raise ValueError(
                f"With warm_start=True a second fit needs the same {name}; set warm_start=False to start anew."
            )
    now = learning_params(model)
    changed = sorted(name for name in now.keys() | run.params if not _is_same(now.get(name), run.params.get(name)))
    if changed:
        raise ValueError(
            f"With warm_start=True a second fit needs the same {', '.join(changed)}; set warm_start=False to start "
            "anew."
        )


def _has_examples(run: BoostingRun, problem: Problem, threads: _native.Threads) -> bool:
    examples, task = problem.examples, run.task
    shape = len(task.labels), len(run.feature_sampler.probabilities)
    return (
        (examples.table.n_rows, examples.table.n_columns) == shape
        and np.array_equal(examples.labels, task.labels)
        and are_same_weights(examples.weights, task.sample_weights)
        and run.learner.has_table(examples.table, threads)
    )


def _has_validation(run: BoostingRun, problem: Problem, threads: _native.Threads) -> bool:
    if run.validation is None or problem.validation is None:
        return run.validation is None and problem.validation is None
    other = open_validation(problem, run.learner, run.task, threads)
    return other is not None and run.validation.has_rows_of(other)


def open_validation(problem: Problem, learner: Learner, task: Task, threads: _native.Threads) -> Validation | None:
    """Make given rows ready to be validated on, if there are any."""
    examples = problem.validation
    if examples is None:
        return None
    return Validation(learner.open(examples.table, threads), examples.labels, examples.weights, task)


def _make_learner(
    model: Any, problem: Problem, outputs: LearnerOutputs, seed: int, threads: _native.Threads
) -> tuple[Learner, Ensemble]:
    table = problem.examples.table
    if model.estimator is not None:
        kind, is_right = ("regressor", is_regressor) if problem.classes is None else ("classifier", is_classifier)
        if not is_estimator(model.estimator) or not is_right(model.estimator):
            raise TypeError(f"estimator must be an instance of a {kind}, not {model.estimator!r}.")
        if problem.examples.weights is not None and not has_fit_parameter(model.estimator, "sample_weight"):
            raise ValueError(
                f"{type(model.estimator).__name__} cannot be fitted with sample_weight, which sample_weight and "
                "class_weight need: use another weak learner, or no weights."
            )
        learner = EstimatorLearner(
            model.estimator,
            table,
            outputs,
            importance=model.importance,
            needs_importances=model.adaptive_features,
            seed=seed,
        )
        return learner, EstimatorEnsemble()
    mapper = table.fit_mapper(model.max_bins, seed, threads)
    options = TreeOptions(
        max_depth=model.max_depth,
        min_samples_leaf=model.min_samples_leaf,
        importance=model.importance,
        is_categorical=problem.is_categorical,
        seed=seed,
    )
    return TreeLearner(mapper, table, outputs, options, threads), TreeEnsemble(mapper)


def _is_same(one: Any, other: Any) -> bool:
    if hasattr(one, "__array__") or hasattr(other, "__array__"):  # categorical_features, which compare cell by cell
        return np.array_equal(np.asarray(one), np.asarray(other))
    return one is other or bool(one == other)


def learning_params(model: Any) -> dict[str, Any]:
    """List the parameters that shape what is learned."""
    return {name: value for name, value in model.get_params().items() if name not in FREE_PARAMETERS}
