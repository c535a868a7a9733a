"""From the parameters of a gradient estimator to the parts of a run."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mpboost import _native
from mpboost.boosting.ensembles import TreeEnsemble
from mpboost.boosting.loop import BoostingRun
from mpboost.boosting.stopping import NoStopping, PatienceStopping, StoppingRule
from mpboost.data.problem import Problem
from mpboost.estimators.assembly import learning_params, open_validation
from mpboost.estimators.parameters import MAX_LEAVES
from mpboost.learners.constraints import make_constraints
from mpboost.learners.gradient_trees import GradientTreeLearner, GradientTreeOptions
from mpboost.sampling.observations import FeatureSampler, find_patch_features, find_patch_rows
from mpboost.tasks.gradients import GradientSampler, GradientTask

#: "auto" lets several models take turns where a fit of one is quick: up to so many rows, and cells times outputs; of
#: wider tables with few rows a single model would be too much a matter of luck.
#: docs/gradient.md shows what that is worth.
MAX_SMALL_ROWS, N_MODELS_OF_SMALL, SHARE_OF_SMALL = 5_000, 5, 0.2
MAX_MEDIUM_ROWS, N_MODELS_OF_MEDIUM = 50_000, 3
MAX_CELLS, N_MODELS_OF_WIDE = 2_000_000, 2
#: Each of them reserves so large a share of rows, but at most so many.
RESERVED_SHARE, MAX_RESERVED = 0.1, 5_000


def assemble_gradient_run(model: Any, problem: Problem, threads: _native.Threads) -> BoostingRun:
    """Make the parts that the parameters of a gradient estimator ask for."""
    examples = problem.examples
    n_samples, n_features = examples.table.n_rows, examples.table.n_columns
    seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
    reserved = reserve_rows(model, problem, seed)
    task = GradientTask(
        model._make_loss(problem),
        examples.labels,
        examples.weights,
        reserved,
        keeps_patches=not model.leaf_refit and model.oop_size == 0,
        seed=seed,
        threads=threads,
    )
    if model.stopping is not None and problem.validation is None and not task.has_oop_score:
        raise ValueError(
            f"There are no rows for an out-of-patch score to stop by (n_samples={n_samples}, "
            f"oop_size={model.oop_size!r}): choose another oop_size, give X_val and y_val, or set stopping=None."
        )
    options = _make_options(model, problem, task, seed)
    mapper = examples.table.fit_mapper(model.max_bins, seed, threads)
    learner = GradientTreeLearner(mapper, examples.table, task, options, threads)
    n_learned = n_samples - min(map(len, reserved))
    patch_rows = min(find_patch_rows(model.max_samples, n_samples, model._auto_sizes.rows), n_learned)
    score = "out-of-patch loss" if problem.validation is None else "validation loss"
    return BoostingRun(
        task=task,
        observation_sampler=GradientSampler(
            task, patch_rows, model.observation_exploration if model.adaptive_observations else 1.0, seed
        ),
        feature_sampler=FeatureSampler(
            n_features,
            find_patch_features(model.max_features, n_features, model._auto_sizes.features),
            momentum=model.feature_momentum,
            exploration=model.feature_exploration,
            adaptive=model.adaptive_features,
            seed=seed,
            remembers=model.importance == "out_of_patch",
        ),
        learner=learner,
        stopping=_make_stopping(model, len(reserved), score),
        ensemble=TreeEnsemble(mapper),
        validation=open_validation(problem, learner, task, threads),
        params=learning_params(model),
    )


def _make_options(model: Any, problem: Problem, task: GradientTask, seed: int) -> GradientTreeOptions:
    """Say what trees are like."""
    return GradientTreeOptions(
        learning_rate=model.learning_rate,
        max_leaf_nodes=find_max_leaves(model.max_leaf_nodes, problem.examples.table.n_rows),
        max_depth=model.max_depth,
        min_samples_leaf=model.min_samples_leaf,
        l2_regularization=model.l2_regularization,
        leaf_refit=model.leaf_refit,
        importance=model.importance,
        is_categorical=problem.is_categorical,
        constraints=make_constraints(model, problem, task.loss.n_outputs),
        seed=seed,
    )


def _make_stopping(model: Any, n_models: int, score: str) -> StoppingRule:
    """Make the rule, which gives each model its patience, and averages the losses of a few turns of all."""
    if model.stopping is None:
        return NoStopping()
    window = max(1, model.n_iter_no_change // 20) * n_models
    return PatienceStopping(model.n_iter_no_change * n_models, score, window=window, burn_in=0)


def find_max_leaves(max_leaf_nodes: int | str | None, n_samples: int) -> int:
    """Turn ``max_leaf_nodes`` into a number: many rows can bear larger trees.

    Examples
    --------
    >>> [find_max_leaves("auto", n) for n in (1_000, 40_000, 1_000_000)]
    [31, 66, 255]
    """
    if max_leaf_nodes == "auto":
        return max(31, min(math.isqrt(n_samples) // 3, 255))
    return MAX_LEAVES if max_leaf_nodes is None else int(max_leaf_nodes)


def find_n_models(problem: Problem) -> int:
    """Find how many models take turns if the user does not say."""
    table, n_outputs = problem.examples.table, 1 if problem.classes is None else max(1, len(problem.classes) - 1)
    is_wide = table.n_rows * table.n_columns * n_outputs > MAX_CELLS
    if table.n_rows <= MAX_SMALL_ROWS:
        return min(N_MODELS_OF_WIDE if is_wide else N_MODELS_OF_SMALL, table.n_rows)
    return N_MODELS_OF_MEDIUM if table.n_rows <= MAX_MEDIUM_ROWS and not is_wide else 1


def reserve_rows(model: Any, problem: Problem, seed: int) -> list[NDArray[np.int64]]:
    """Choose the rows that each model never learns from; there are as many models as lists."""
    n_samples = problem.examples.table.n_rows
    size, n_models = model.oop_size, model.n_models
    if size == "auto" and (n_samples == 1 or problem.validation is not None):
        size = 0
    if n_models == "auto":
        n_models = find_n_models(problem) if size == "auto" else 1
    if size == "auto":
        share = SHARE_OF_SMALL if n_samples <= MAX_SMALL_ROWS else RESERVED_SHARE
        n_reserved = min(n_models * min(math.ceil(share * n_samples), MAX_RESERVED), n_samples)
    else:
        n_reserved = n_models * (size if isinstance(size, int | np.integer) else max(1, int(size * n_samples)))
    if n_reserved > n_samples or 0 < n_reserved < n_models or (n_models == 1 and n_reserved == n_samples):
        raise ValueError(
            f"{n_models} model(s) cannot reserve {n_reserved} of {n_samples} rows: choose a smaller oop_size or fewer "
            "models."
        )
    if n_models > 1 and n_reserved == 0 and not model.leaf_refit:
        raise ValueError(f"n_models={n_models} needs reserved rows without leaf_refit: choose a positive oop_size.")
    rows = np.random.default_rng(seed).permutation(n_samples)
    if problem.classes is not None:  # of each class as large a share, as far as possible
        rows = rows[np.argsort(problem.examples.labels[rows], kind="stable")]
    drawn = rows[np.arange(n_reserved) * n_samples // max(1, n_reserved)]
    return [np.sort(drawn[k::n_models]) for k in range(n_models)]
