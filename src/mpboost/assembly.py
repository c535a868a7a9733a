"""From an estimator's parameters to the parts of a run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from mpboost import _native
from mpboost.boosting import BoostingRun
from mpboost.ensemble import Ensemble, EstimatorEnsemble, TreeEnsemble
from mpboost.learners import EstimatorLearner, Learner, TreeLearner
from mpboost.sampling import FeatureSampler, ObservationSampler, find_patch_features, find_patch_rows
from mpboost.stopping import make_stopping
from mpboost.tasks import BinaryTask

#: Parameters that may change in the middle of a run; all others shape what is learned.
FREE_PARAMETERS = frozenset({"n_estimators", "time_limit", "warm_start", "callbacks", "verbose", "n_jobs"})


def assemble_run(model: Any, X: NDArray[Any], labels: NDArray[np.int8], threads: _native.Threads) -> BoostingRun:
    """Make the parts that the parameters of an estimator ask for; labels are -1 and +1."""
    n_samples, n_features = X.shape
    patch_rows = find_patch_rows(model.max_samples, n_samples)
    if patch_rows == n_samples and model.stopping is not None:
        raise ValueError(
            f"max_samples={model.max_samples!r} puts all {n_samples} rows into every minipatch, so there is no "
            "out-of-patch score to stop by: choose a smaller max_samples, or stopping=None."
        )
    # The one seed, drawn once: every draw of the run is a function of it.
    seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
    task = BinaryTask(
        labels,
        weighting=model.weighting,
        learning_rate=model.learning_rate,
        adaptive=model.adaptive_observations,
        seed=seed,
    )
    feature_sampler = FeatureSampler(
        n_features,
        find_patch_features(model.max_features, n_features),
        momentum=model.feature_momentum,
        exploration=model.feature_exploration,
        adaptive=model.adaptive_features,
        seed=seed,
    )
    learner, ensemble = _make_learner(model, X, task, seed, threads)
    return BoostingRun(
        task=task,
        observation_sampler=ObservationSampler(task.log_weights, patch_rows, seed),
        feature_sampler=feature_sampler,
        learner=learner,
        stopping=make_stopping(model.stopping, n_samples, patch_rows, model.n_iter_no_change),
        ensemble=ensemble,
        params=_learning_params(model),
    )


def check_continues(
    model: Any, run: BoostingRun, X: NDArray[Any], labels: NDArray[np.int8], threads: _native.Threads
) -> None:
    """Check that a run can go on: same data, same parameters, more iterations."""
    if model.n_estimators < run.iteration:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {run.iteration} iterations done already; with "
            "warm_start=True it can only grow."
        )
    shape = len(run.task.labels), len(run.feature_sampler.probabilities)
    has_labels = X.shape == shape and np.array_equal(labels, run.task.labels)
    if not has_labels or not run.learner.has_table(X, threads):
        raise ValueError(
            "With warm_start=True a second fit needs the same X and y; set warm_start=False to start anew."
        )
    now = _learning_params(model)
    changed = sorted(name for name in now.keys() | run.params if now.get(name) != run.params.get(name))
    if changed:
        raise ValueError(
            f"With warm_start=True a second fit needs the same {', '.join(changed)}; set warm_start=False to start "
            "anew."
        )


def _make_learner(
    model: Any, X: NDArray[Any], task: BinaryTask, seed: int, threads: _native.Threads
) -> tuple[Learner, Ensemble]:
    if model.estimator is not None:
        if isinstance(model.estimator, type) or not is_classifier(model.estimator):
            raise TypeError(f"estimator must be a classifier, not {model.estimator!r}.")
        learner = EstimatorLearner(
            model.estimator,
            X,
            task.labels,
            importance=model.importance,
            needs_importances=model.adaptive_features,
            seed=seed,
        )
        return learner, EstimatorEnsemble()
    mapper = _native.BinMapper.fit(X, model.max_bins, seed, threads)
    trees = TreeLearner(
        mapper,
        X,
        task.labels,
        max_depth=model.max_depth,
        min_samples_leaf=model.min_samples_leaf,
        tie_label=task.tie_label,
        importance=model.importance,
        seed=seed,
        threads=threads,
    )
    return trees, TreeEnsemble(mapper)


def _learning_params(model: Any) -> dict[str, Any]:
    return {name: value for name, value in model.get_params().items() if name not in FREE_PARAMETERS}
