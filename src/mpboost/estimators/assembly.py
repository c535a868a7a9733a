"""Makes a run from the parameters of MPBoostClassifier or MPBoostRegressor."""

from functools import partial
from typing import Any, Protocol

from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from mpboost import _native
from mpboost._arrays import Label
from mpboost.boosting.ensembles import Ensemble, EstimatorEnsemble, TreeEnsemble
from mpboost.boosting.run import BoostingRun, Parts
from mpboost.boosting.size_trial import SizeTrial
from mpboost.boosting.stopping import Watched, make_stopping
from mpboost.boosting.validation_score import open_validation, prepare_validation
from mpboost.data.problem import Problem
from mpboost.estimators.plans import Plan
from mpboost.estimators.settings import PatchSettings
from mpboost.learners.contract import Learner, Model, PreparedTable
from mpboost.learners.credit_rules import CreditRule
from mpboost.learners.given_estimators import EstimatorLearner, is_estimator
from mpboost.learners.trees import TreeLearner, TreeOptions
from mpboost.outputs.kinds import LearnerOutputs
from mpboost.sampling.features import FeatureSampler, RuledFeatureSampler
from mpboost.sampling.observations import ObservationSampler
from mpboost.sampling.questions import Labels
from mpboost.sampling.sizes import count_most_rows, count_patch_features, count_patch_rows, count_round
from mpboost.tasks.contract import Task
from mpboost.tasks.running_score import EVERY


class LabelTask(Task[Labels[Any], NDArray[Any]], Protocol):
    """A task whose learners are trained to predict labels; the dtype of the labels depends on the data."""

    @property
    def outputs(self) -> LearnerOutputs[Any]:
        """What kind of outputs learners have."""


def assemble_run(
    settings: PatchSettings, problem: Problem, plan: Plan[LabelTask], threads: _native.Threads
) -> BoostingRun:
    """Make a run with the parts that the parameters ask for."""
    task = plan.make_task()
    n_samples = task.shards.n_rows
    patch_rows = count_patch_rows(settings.max_samples, n_samples, settings.sizes.rows)
    if patch_rows == n_samples and settings.stopping is not None and not problem.has_validation:
        raise ValueError(
            f"max_samples={settings.max_samples!r} puts all rows (n_samples={n_samples}) into every minipatch, so "
            "there is no out-of-patch score to stop by: choose a smaller max_samples, pass X_val and y_val, or set "
            "stopping=None."
        )
    learner, ensemble = _make_learner(settings, problem, task, plan.seed, threads)
    validation_rows = prepare_validation(problem, learner, threads)

    def make_run(patch_rows: int, task: LabelTask | None = None) -> BoostingRun:
        parts = task or plan.make_task(), learner.restart(), ensemble.first(0), validation_rows
        return _make_run(settings, problem, plan.seed, patch_rows, *parts)

    run = make_run(patch_rows, task)
    most = count_most_rows(n_samples, settings.sizes.rows)
    if settings.max_samples == "auto" and patch_rows < most:
        run.trial = SizeTrial(make_run, most)
    return run


def _make_run(
    settings: PatchSettings,
    problem: Problem,
    seed: int,
    patch_rows: int,
    task: Task[Labels[Label], NDArray[Label]],
    learner: Learner[Labels[Label], Model, NDArray[Label]],
    ensemble: Ensemble[Model],
    validation_rows: PreparedTable[Model] | None,
) -> BoostingRun:
    n_features = problem.examples.table.n_columns
    has_unseen = settings.importance_name == "out_of_patch" and patch_rows < task.shards.n_rows
    needs_unseen = has_unseen and (settings.estimator is None or settings.adaptive_features)
    rule = settings.feature_update
    make_sampler = FeatureSampler if rule is None else partial(RuledFeatureSampler, rule)
    parts = Parts(
        task=task,
        observation_sampler=ObservationSampler(patch_rows, seed, needs_unseen, task.shards),
        feature_sampler=make_sampler(
            n_features,
            count_patch_features(settings.max_features, n_features, settings.sizes.features),
            momentum=settings.feature_momentum,
            exploration=settings.feature_exploration,
            adaptive=settings.adaptive_features,
            seed=seed,
            remembers=has_unseen or not isinstance(settings.importance, str),
        ),
        learner=learner,
        ensemble=ensemble,
        validation=open_validation(problem, validation_rows, task),
    )
    metric, rows = settings.make_metric(problem), "validation" if problem.has_validation else "out-of-patch"
    watched = Watched(f"{rows} {'score' if metric is None else metric.name}")
    stopping = make_stopping(
        settings.stopping,
        task.shards.n_rows,
        patch_rows,
        settings.n_iter_no_change,
        watched.name,
        1 if metric is None else EVERY,
    )
    return BoostingRun(parts, stopping, watched, round_size=count_round(settings.round_size), params=settings.params)


def _make_learner(
    settings: PatchSettings, problem: Problem, task: LabelTask, seed: int, threads: _native.Threads
) -> tuple[Learner[Labels[Any], Any, NDArray[Any]], Ensemble[Any]]:
    table, outputs = problem.examples.table, task.outputs
    rule = None if isinstance(settings.importance, str) else CreditRule(settings.importance, problem.list_positions())
    if settings.estimator is not None:
        _check_estimator(settings.estimator, problem)
        learner = EstimatorLearner(
            settings.estimator,
            table,
            outputs,
            importance=settings.importance_name,
            needs_importances=settings.adaptive_features,
            seed=seed,
            credit_rule=rule,
        )
        return learner, EstimatorEnsemble()
    mapper = table.fit_mapper(settings.max_bins, threads)
    options = TreeOptions(
        max_depth=settings.max_depth,
        min_samples_leaf=settings.min_samples_leaf,
        min_samples_split=settings.min_samples_split,
        importance=settings.importance_name,
        is_categorical=problem.is_categorical,
        seed=seed,
        credit_rule=rule,
    )
    return TreeLearner(mapper, table, outputs, options, threads, task.shards), TreeEnsemble(mapper)


def _check_estimator(estimator: Any, problem: Problem) -> None:
    """Check that a weak learner given by the user can learn this problem."""
    kind, is_right = ("regressor", is_regressor) if problem.classes is None else ("classifier", is_classifier)
    if not is_estimator(estimator) or not is_right(estimator):
        raise TypeError(f"estimator must be an instance of a {kind}, not {estimator!r}.")
    if problem.examples.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} does not take sample_weight in fit, which sample_weight and "
            "class_weight need: use another weak learner, or no weights."
        )
