"""Runs of the loop that are assembled by hand, without an estimator, and what they show after each iteration."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpboost import Callback, _native
from mpboost.boosting import BoostingRun, boost
from mpboost.ensemble import EstimatorEnsemble, TreeEnsemble
from mpboost.learners import TreeLearner, TreeOptions
from mpboost.sampling import FeatureSampler, ObservationSampler
from mpboost.stopping import NoStopping
from mpboost.tables import DenseTable
from mpboost.tasks import BinaryTask


@dataclass
class Record:
    """What a run shows after an iteration."""

    R: NDArray[np.int64]
    C: NDArray[np.int64]
    patch_weights: NDArray[np.float64] | None
    F: NDArray[np.int32]
    G: NDArray[np.int32]
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    oop: float
    train: float


class Recorder(Callback):
    """Keeps what a run shows after each iteration."""

    def __init__(self):
        self.records = []

    def on_iteration_end(self, run):
        task = run.task
        self.records.append(
            Record(
                run.rows.copy(),
                run.features.copy(),
                getattr(run.observation_sampler, "patch_weights", None),
                task.votes.copy(),
                task.votes - task.in_patch_votes,
                run.observation_probabilities,
                run.feature_probabilities,
                run.oop_scores[-1],
                run.train_scores[-1],
            )
        )


class RecordingSampler(ObservationSampler):
    """Keeps the weights of the last minipatch."""

    def weigh(self, rows):
        self.patch_weights = super().weigh(rows)
        return self.patch_weights


def make_data(missing=0.0, n_samples=300, n_features=12, seed=0):
    """Make noisy labels and features of about a hundred values each."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_samples, n_features)), 1)
    noise = rng.normal(scale=0.7, size=n_samples)
    labels = np.where(X[:, 0] + X[:, 1] * X[:, 2] + noise > 0.2, 1, -1).astype(np.int8)
    X[rng.random(X.shape) < missing] = np.nan
    return X, labels


def make_run(
    X,
    labels,
    *,
    patch=(40, 5),
    weighting="logistic",
    learning_rate=1.0,
    momentum=0.5,
    exploration=0.0,
    adaptive=(True, True),
    max_depth=None,
    min_samples_leaf=1,
    stopping=None,
    seed=3,
    learner=None,
    sample_weights=None,
    is_categorical=None,
):
    """Assemble a run by hand."""
    threads = _native.Threads(1)
    task = BinaryTask(
        labels,
        weighting=weighting,
        learning_rate=learning_rate,
        adaptive=adaptive[0],
        sample_weights=sample_weights,
    )
    table = DenseTable(X)
    mapper = table.fit_mapper(255, seed, threads)
    options = TreeOptions(
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        tie_label=task.tie_label,
        importance="impurity",
        is_categorical=is_categorical,
        seed=seed,
    )
    trees = TreeLearner(mapper, table, labels, options, threads)
    features = FeatureSampler(
        X.shape[1], patch[1], momentum=momentum, exploration=exploration, adaptive=adaptive[1], seed=seed
    )
    return BoostingRun(
        task=task,
        observation_sampler=RecordingSampler(task.log_weights, patch[0], seed, sample_weights),
        feature_sampler=features,
        learner=learner or trees,
        stopping=stopping or NoStopping(),
        ensemble=EstimatorEnsemble() if learner else TreeEnsemble(mapper),
    )


def boost_for(run, n_estimators, *callbacks, n_threads=1):
    run.extend(n_estimators)
    boost(run, callbacks, _native.Threads(n_threads))
    return run
