"""Runs of the loop that are assembled by hand, without an estimator, and what they show after each iteration."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import Callback, _native
from mpboost.boosting.ensembles import EstimatorEnsemble, TreeEnsemble
from mpboost.boosting.interrupts import Interrupts
from mpboost.boosting.loop import boost
from mpboost.boosting.run import BoostingRun, Parts
from mpboost.boosting.stopping import NoStopping
from mpboost.data.tables import DenseTable
from mpboost.learners.contract import TrainedLearner
from mpboost.learners.credit_rules import CreditRule
from mpboost.learners.trees import TreeLearner, TreeOptions
from mpboost.sampling.features import FeatureSampler, RuledFeatureSampler
from mpboost.sampling.observations import ObservationSampler
from mpboost.tasks.many_classes import TASKS
from mpboost.tasks.numbers import ValueTask
from mpboost.tasks.two_classes import BinaryTask
from mpboost.tasks.weightings import RowRule


@dataclass
class Record:
    """What a run shows after an iteration."""

    R: NDArray[np.int64]
    C: NDArray[np.int64]
    patch_weights: NDArray[np.float64] | None
    learner: TrainedLearner | None
    U: NDArray[np.int64] | None
    state: dict[str, NDArray[Any]]
    colours: NDArray[np.int8] | None
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    oop: float
    train: float

    @property
    def F(self) -> NDArray[Any]:  # noqa: N802
        return self.state["votes" if "votes" in self.state else "sums"]

    @property
    def G(self) -> NDArray[Any]:  # noqa: N802
        if "in_patch_votes" in self.state:
            return self.F - self.state["in_patch_votes"]
        return self.state["oop_votes" if "votes" in self.state else "oop_sums"]

    @property
    def rate(self) -> float:
        return self.state["learning_rate"][0]


class Recorder(Callback):
    """Keeps what a run shows after each iteration."""

    def __init__(self):
        self.records = []

    def on_iteration_end(self, run):
        self.records.append(
            Record(
                run.rows.copy(),
                run.features.copy(),
                getattr(run.parts.learner, "patch_weights", None),
                getattr(run.parts.learner, "trained", None),
                getattr(run.parts.learner, "unseen", None),
                {name: array.copy() for name, array in run.parts.task.state.items()},
                run.parts.task.colours[run.iteration - 1] if hasattr(run.parts.task, "colours") else None,
                run.observation_probabilities,
                run.feature_probabilities,
                run.oop_scores[-1],
                run.train_scores[-1],
            )
        )


class RecordingLearner(TreeLearner):
    """Keeps the last learner that it finished, the weights of its rows, and the rows that judged its features."""

    def train(self, minipatches, threads):
        return [*map(self._record, minipatches, super().train(minipatches, threads))]

    def _record(self, minipatch, finish):
        def finish_and_keep(threads):
            self.trained = finish(threads)
            self.unseen, self.patch_weights = minipatch.draw.unseen, minipatch.draw.weights
            return self.trained

        return finish_and_keep


def make_data(missing=0.0, n_samples=300, n_features=12, seed=0):
    """Make noisy labels and features of about a hundred values each."""
    X, values = make_values(missing, n_samples, n_features, seed)
    return X, np.where(values > 0.2, 1, -1).astype(np.int8)


def make_classes(missing=0.0, n_samples=300, n_features=12, n_classes=4, seed=0):
    """Make noisy labels of classes that are not equally frequent, and features of about a hundred values each."""
    X, values = make_values(missing, n_samples, n_features, seed)
    shares = np.cumsum(np.arange(1, n_classes)) / (n_classes * (n_classes + 1) / 2)
    return X, np.searchsorted(np.quantile(values, shares), values).astype(np.uint16)


def make_values(missing=0.0, n_samples=300, n_features=12, seed=0):
    """Make noisy numbers and features of about a hundred values each."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_samples, n_features)), 1)
    values = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.7, size=n_samples)
    X[rng.random(X.shape) < missing] = np.nan
    return X, values


def make_task(labels, way, *, n_classes=None, residual_exploration=0.25, learning_rate=1.0, **options):
    """Make the task that a kind of labels, and a way to learn many classes, ask for."""
    if labels.dtype == np.float64:
        return ValueTask(labels, exploration=residual_exploration, **options)
    options |= {"learning_rate": learning_rate}
    if labels.dtype == np.int8:
        return BinaryTask(labels, **options)
    return TASKS[way](labels, n_classes or labels.max() + 1, **options)


def make_run(
    X,
    labels,
    *,
    way="margin",
    patch=(40, 5),
    weighting=None,
    momentum=0.5,
    exploration=0.0,
    adaptive=(True, True),
    importance="impurity",
    max_depth=None,
    min_samples_leaf=1,
    min_samples_split=2,
    stopping=None,
    seed=3,
    learner=None,
    sample_weights=None,
    is_categorical=None,
    round_size=1,
    credit_rule=None,
    feature_update=None,
    **task_options,
):
    """Assemble a run by hand."""
    threads = _native.Threads(1)
    weighting = weighting or ("linear" if labels.dtype == np.float64 else "logistic")
    if hasattr(weighting, "log_weight_rows"):
        weighting = RowRule(weighting, np.arange(len(labels)), len(labels))
    task = make_task(
        labels,
        way,
        weighting=weighting,
        adaptive=adaptive[0],
        sample_weights=sample_weights,
        **({} if labels.dtype == np.float64 else {"score_weights": sample_weights}),
        **task_options,
    )
    table = DenseTable(X)
    mapper = table.fit_mapper(255, threads)
    options = TreeOptions(
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        min_samples_split=min_samples_split,
        importance=importance,
        is_categorical=is_categorical,
        seed=seed,
        credit_rule=credit_rule and CreditRule(credit_rule, np.arange(len(labels))),
    )
    trees = RecordingLearner(mapper, table, task.outputs, options, threads)
    rows = ObservationSampler(patch[0], seed, draws_unseen=importance == "out_of_patch")
    make_sampler = FeatureSampler if feature_update is None else partial(RuledFeatureSampler, feature_update)
    features = make_sampler(
        X.shape[1],
        patch[1],
        momentum=momentum,
        exploration=exploration,
        adaptive=adaptive[1],
        seed=seed,
        remembers=importance == "out_of_patch",
    )
    ensemble = EstimatorEnsemble() if learner else TreeEnsemble(mapper)
    parts = Parts(task, rows, features, learner or trees, ensemble)
    return BoostingRun(parts, stopping or NoStopping(), round_size=round_size)


def boost_for(run, n_estimators, *callbacks, n_threads=1):
    run.extend(n_estimators)
    with Interrupts(run) as interrupts:
        boost(run, callbacks, interrupts, _native.Threads(n_threads))
    return run


def pose(make, options):
    """Make the data of a run; return them with the options that are left for the run itself."""
    options = dict(options)
    X, labels = make(options.pop("missing", 0.0))
    if options.pop("weighted", False):
        options["sample_weights"] = 10.0 ** np.random.default_rng(1).uniform(-1, 1, len(labels))
    if n_categorical := options.pop("n_categorical", 0):
        X[:, :n_categorical] = np.floor(3 * X[:, :n_categorical]) % 7
        options["is_categorical"] = np.arange(X.shape[1]) < n_categorical
    return X, labels, options
