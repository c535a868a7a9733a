"""Makes a run from the parameters of a gradient estimator."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Positions
from mpboost.boosting.ensembles import TreeEnsemble
from mpboost.boosting.run import BoostingRun, Parts
from mpboost.boosting.stopping import (
    LOSS_TOLERANCE,
    MIN_LOSS_TOLERANCE,
    SCORE_TOLERANCE,
    NoStopping,
    PatienceStopping,
    StoppingRule,
    Watched,
)
from mpboost.boosting.validation_score import open_validation, prepare_validation
from mpboost.data.problem import Problem
from mpboost.estimators.memory import BYTES_OF_GRADIENTS, BYTES_OF_MODEL, check_memory
from mpboost.estimators.plans import Plan
from mpboost.estimators.settings import GradientSettings
from mpboost.learners.constraints import make_constraints
from mpboost.learners.gradient_trees import MAX_LEAVES, GradientTreeLearner, GradientTreeOptions
from mpboost.outputs.metrics import to_codes
from mpboost.sampling.features import FeatureSampler
from mpboost.sampling.gradients import GradientSampler
from mpboost.sampling.sizes import count_patch_features, count_patch_rows, count_round
from mpboost.tasks.gradients import GradientTask
from mpboost.tasks.leaves import LeafFitter, StepLengths
from mpboost.tasks.losses import ClassLoss, Loss
from mpboost.tasks.running_score import EVERY

#: "auto" for n_models: several models take turns if a fit of one is quick, which depends on the number of rows and on
#: cells times outputs. Wide tables with few rows have two models, since a single one would depend too much on chance.
#: docs/gradient.md has the measurements.
MAX_SMALL_ROWS, N_MODELS_OF_SMALL, SHARE_OF_SMALL = 5_000, 5, 0.2
MAX_MEDIUM_ROWS, N_MODELS_OF_MEDIUM = 50_000, 3
MAX_CELLS, N_MODELS_OF_WIDE = 2_000_000, 2
#: "auto" for learning_rate: the factor, and how many first steps of each model are longer. docs/gradient.md has the
#: measurements.
AUTO_LEARNING_RATE, N_LONG_STEPS = 0.1, 30
#: Share of rows that each model reserves, and the maximum number of these rows.
RESERVED_SHARE, MAX_RESERVED = 0.1, 5_000


def plan_gradient_run(
    settings: GradientSettings, problem: Problem, loss: Loss, seed: int, threads: _native.Threads
) -> Plan[GradientTask]:
    """Decide what follows from all rows: reserved rows, and the task."""
    examples = problem.examples
    reserved = reserve_rows(settings, problem, seed)
    check_memory(problem, BYTES_OF_GRADIENTS + BYTES_OF_MODEL * len(reserved))

    def make_task() -> GradientTask:
        return GradientTask(
            loss,
            examples.labels,
            examples.weights,
            examples.score_weights,
            reserved,
            keeps_patches=not settings.leaf_refit and settings.oop_size == 0,
            metric=settings.make_metric(problem),
            seed=seed,
            threads=threads,
        )

    return Plan(seed, make_task)


def assemble_gradient_run(
    settings: GradientSettings, problem: Problem, plan: Plan[GradientTask], threads: _native.Threads
) -> BoostingRun:
    """Make a run with the parts that the parameters of a gradient estimator ask for."""
    task, seed = plan.make_task(), plan.seed
    n_samples, n_features = task.shards.n_rows, problem.examples.table.n_columns
    metric = settings.make_metric(problem)
    n_learned = max(predictor.n_learned for predictor in task.predictors)
    patch_rows = min(count_patch_rows(settings.max_samples, n_samples, settings.sizes.rows), n_learned)
    if settings.stopping is not None and not problem.has_validation and not task.has_oop_score(patch_rows):
        raise ValueError(
            f"There are no rows for an out-of-patch score to stop by (n_samples={n_samples}, "
            f"oop_size={settings.oop_size!r}): choose another oop_size, pass X_val and y_val, or set stopping=None."
        )
    learner, ensemble = _make_learner(settings, problem, task, seed, threads)
    exploration = settings.observation_exploration if settings.adaptive_observations else 1.0
    parts = Parts(
        task=task,
        observation_sampler=GradientSampler(patch_rows, exploration, seed, task.shards),
        feature_sampler=FeatureSampler(
            n_features,
            count_patch_features(settings.max_features, n_features, settings.sizes.features),
            momentum=settings.feature_momentum,
            exploration=settings.feature_exploration,
            adaptive=settings.adaptive_features,
            seed=seed,
            remembers=settings.importance == "out_of_patch",
        ),
        learner=learner,
        ensemble=ensemble,
        validation=open_validation(problem, prepare_validation(problem, learner, threads), task),
    )
    rows = "validation" if problem.has_validation else "out-of-patch"
    if metric is None:
        watched = Watched(f"{rows} loss", is_loss=True, unit=task.loss.unit)
    else:
        watched = Watched(f"{rows} {metric.name}")
    round_size = count_round(settings.round_size, len(task.predictors))
    stopping = _make_stopping(settings, task, watched)
    return BoostingRun(parts, stopping, watched, round_size=round_size, params=settings.params)


def _make_learner(
    settings: GradientSettings, problem: Problem, task: GradientTask, seed: int, threads: _native.Threads
) -> tuple[GradientTreeLearner, TreeEnsemble]:
    table, n_outputs = problem.examples.table, task.loss.n_outputs
    options = GradientTreeOptions(
        step_lengths=choose_step_lengths(settings.learning_rate, task.loss, len(task.predictors)),
        max_leaf_nodes=count_max_leaves(settings.max_leaf_nodes, task.shards.n_rows),
        max_depth=settings.max_depth,
        min_samples_leaf=settings.min_samples_leaf,
        l2_regularization=settings.l2_regularization,
        leaf_refit=settings.leaf_refit,
        importance=settings.importance,
        is_categorical=problem.is_categorical,
        constraints=make_constraints(settings.monotonic_cst, settings.interaction_cst, problem, n_outputs),
        seed=seed,
    )
    mapper = table.fit_mapper(settings.max_bins, threads)
    leaf_fitter = LeafFitter(task.loss, len(task.predictors), settings.l2_regularization)
    learner = GradientTreeLearner(mapper, table, task.outputs, leaf_fitter, options, threads, task.shards)
    return learner, TreeEnsemble(mapper)


def _make_stopping(settings: GradientSettings, task: GradientTask, watched: Watched) -> StoppingRule:
    """Make the stopping rule; patience and averaging window are multiplied by the number of models."""
    if settings.stopping is None:
        return NoStopping()
    n_models, patience = len(task.predictors), settings.n_iter_no_change
    # Losses vary little from tree to tree, other scores as much as those of votes.
    window = max(1, patience // (20 if watched.is_loss else 5)) * n_models
    every = EVERY if not watched.is_loss or task.out_of_patch.recalibrates else 1
    return PatienceStopping(
        patience * n_models,
        watched.name,
        window=max(1, window // every),
        # A loss tells from the first tree on; models that still predict the same for all rows may be right by chance.
        burn_in=0 if watched.is_loss else patience // 10 * n_models,
        relative_tolerance=LOSS_TOLERANCE if watched.is_loss else SCORE_TOLERANCE,
        tolerance=MIN_LOSS_TOLERANCE if watched.is_loss else 0.0,
        settled_after=max(1, patience // 2) * n_models,
    )


def count_max_leaves(max_leaf_nodes: int | Literal["auto"] | None, n_samples: int) -> int:
    """Compute the maximum number of leaves from ``max_leaf_nodes``; "auto" allows larger trees for more rows.

    Examples
    --------
    >>> [count_max_leaves("auto", n) for n in (1_000, 40_000, 1_000_000)]
    [31, 66, 255]
    """
    if max_leaf_nodes == "auto":
        return max(31, min(math.isqrt(n_samples) // 3, 255))
    return MAX_LEAVES if max_leaf_nodes is None else int(max_leaf_nodes)


def choose_step_lengths(learning_rate: float | Literal["auto"], loss: Loss, n_models: int) -> StepLengths:
    """Choose how long steps are.

    With "auto" the first steps of models that take turns are longer, since each of them advances at a fraction of the
    pace. This is for log losses alone: predictions of numbers get worse by it.
    """
    if learning_rate != "auto":
        return StepLengths(learning_rate)
    return StepLengths(AUTO_LEARNING_RATE, N_LONG_STEPS if n_models > 1 and isinstance(loss, ClassLoss) else 0)


def count_models(problem: Problem) -> int:
    """Choose the number of models that take turns, for ``n_models="auto"``."""
    n_rows, n_outputs = problem.examples.n_rows, 1 if problem.classes is None else max(1, len(problem.classes) - 1)
    is_wide = n_rows * problem.examples.table.n_columns * n_outputs > MAX_CELLS
    if n_rows <= MAX_SMALL_ROWS:
        return min(N_MODELS_OF_WIDE if is_wide else N_MODELS_OF_SMALL, n_rows)
    return N_MODELS_OF_MEDIUM if n_rows <= MAX_MEDIUM_ROWS and not is_wide else 1


def reserve_rows(settings: GradientSettings, problem: Problem, seed: int) -> list[Positions]:
    """Choose the rows that each model never learns from: one array per model."""
    n_samples = problem.examples.n_rows
    size, n_models = settings.oop_size, settings.n_models
    if size == "auto" and (n_samples == 1 or problem.validation is not None):
        size = 0
    if n_models == "auto":
        n_models = count_models(problem) if size == "auto" else 1
    if size == "auto":
        share = SHARE_OF_SMALL if n_samples <= MAX_SMALL_ROWS else RESERVED_SHARE
        n_reserved = min(n_models * min(math.ceil(share * n_samples), MAX_RESERVED), n_samples)
    else:
        n_reserved = n_models * (size if isinstance(size, int | np.integer) else max(1, int(size * n_samples)))
    if n_models > n_samples:
        raise ValueError(f"n_models={n_models} is more than the number of rows, {n_samples}: choose fewer models.")
    if n_reserved > n_samples or 0 < n_reserved < n_models or (n_models == 1 and n_reserved == n_samples):
        raise ValueError(
            f"{n_models} model(s) cannot reserve {n_reserved} of {n_samples} rows: choose a smaller oop_size or "
            "fewer models."
        )
    if n_models > 1 and n_reserved == 0 and not settings.leaf_refit:
        raise ValueError(f"n_models={n_models} with leaf_refit=False needs reserved rows: choose a positive oop_size.")
    codes = None if problem.classes is None else to_codes(problem.examples.labels).astype(np.uint16)
    drawn = draw_shares(codes, n_samples, n_reserved, seed)
    return [np.sort(drawn[k::n_models]) for k in range(n_models)]


def draw_shares(codes: NDArray[np.uint16] | None, n_samples: int, n_drawn: int, seed: int) -> Positions:
    """Draw rows, about the same share of each class; rows of a class follow one another, in random order."""
    sizes = np.array([n_samples]) if codes is None else np.bincount(codes)
    ends = np.append(0, -(-np.cumsum(sizes) * n_drawn // n_samples))  # rounded up
    return _native.draw_strata(codes, n_samples, np.diff(ends), seed, 0, _native.Purpose.RESERVED)
