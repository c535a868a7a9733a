"""The loop against the oracle, iteration by iteration, and what it promises over very many of them."""

from dataclasses import dataclass

import numpy as np
import pytest
from helpers import StopAt, as_votes
from numpy.typing import NDArray
from oracle import WEIGHTINGS, Oracle, is_completion, rank_values

from mpboost import Callback, MPBoostClassifier, _native
from mpboost.boosting import BoostingRun, boost
from mpboost.ensemble import EstimatorEnsemble, TreeEnsemble
from mpboost.learners import TrainedLearner, TreeLearner, TreeOptions
from mpboost.sampling import FeatureSampler, ObservationSampler
from mpboost.stopping import NoStopping, PaperStopping, PatienceStopping
from mpboost.tables import DenseTable
from mpboost.tasks import BinaryTask, find_tie_label


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


RUNS = {
    **{weighting: {"weighting": weighting} for weighting in WEIGHTINGS},
    "exponential, learning rate 0.1": {"weighting": "exponential", "learning_rate": 0.1},
    "logistic, learning rate 0.1": {"learning_rate": 0.1},
    "momentum 0.9": {"momentum": 0.9},
    "momentum 1": {"momentum": 1.0},
    "exploration": {"exploration": 0.3},
    "small trees": {"max_depth": 2, "min_samples_leaf": 3},
    "uniform observations": {"adaptive": (False, True)},
    "uniform features": {"adaptive": (True, False)},
    "missing values": {"missing": 0.2},
    "missing values, hard logistic": {"missing": 0.6, "weighting": "hard_logistic"},
    "patches of 3 rows": {"patch": (3, 2), "weighting": "exponential"},
    "weights": {"weighted": True},
    "weights, exponential": {"weighted": True, "weighting": "exponential", "learning_rate": 0.1},
    "weights, uniform observations": {"weighted": True, "adaptive": (False, True)},
    "weights, most rows drawn": {"weighted": True, "patch": (200, 5), "max_depth": 4},
    "categories": {"n_categorical": 8},
    "categories, missing values": {"n_categorical": 8, "missing": 0.2, "min_samples_leaf": 2},
    "weights and categories, missing values": {"weighted": True, "n_categorical": 8, "missing": 0.2},
}


def pose(options):
    """Make the data of a run; return them with the options that are left for the run itself."""
    options = dict(options)
    X, labels = make_data(options.pop("missing", 0.0))
    if options.pop("weighted", False):
        options["sample_weights"] = 10.0 ** np.random.default_rng(1).uniform(-1, 1, len(labels))
    if n_categorical := options.pop("n_categorical", 0):
        X[:, :n_categorical] = np.floor(3 * X[:, :n_categorical]) % 7
        options["is_categorical"] = np.arange(X.shape[1]) < n_categorical
    return X, labels, options


def make_oracle(X, labels, options):
    adaptive = options.get("adaptive", (True, True))
    return Oracle(
        rank_values(X),
        labels,
        mu=options.get("momentum", 0.5),
        weighting=options.get("weighting", "logistic"),
        learning_rate=options.get("learning_rate", 1.0),
        tie_label=find_tie_label(labels, options.get("sample_weights")),
        adaptive_observations=adaptive[0],
        adaptive_features=adaptive[1],
        sample_weights=options.get("sample_weights"),
        is_categorical=options.get("is_categorical"),
        max_depth=options.get("max_depth", 0),
        min_samples_leaf=options.get("min_samples_leaf", 1),
    )


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS.keys())
def test_boost_matches_the_oracle(options):
    X, labels, options = pose(options)
    oracle, recorder = make_oracle(X, labels, options), Recorder()
    boost_for(make_run(X, labels, **options), 50, recorder)
    F_before = np.zeros(len(labels), dtype=int)
    assert len(recorder.records) == 50
    for record in recorder.records:
        oracle.iterate(record.R, record.C, record.patch_weights)
        np.testing.assert_array_equal(record.F - F_before, oracle.h)
        np.testing.assert_array_equal(record.F, oracle.F)
        np.testing.assert_array_equal(record.G, oracle.G)
        np.testing.assert_allclose(record.p, oracle.p, rtol=1e-12)
        np.testing.assert_allclose(record.q, oracle.q, rtol=1e-12)
        if "sample_weights" in options:
            assert len(set(record.patch_weights)) > 1
            assert (record.oop, record.train) == pytest.approx((oracle.oop, oracle.train), rel=1e-12)
        else:
            assert (record.oop, record.train) == (oracle.oop, oracle.train)
        F_before = record.F


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS.keys())
def test_boost_draws_from_the_distributions_of_the_oracle(threads, options):
    # The race is a function of weights, seed, iteration and purpose, and weights count by their ratios alone.
    X, labels, options = pose(options)
    n, m = options.get("patch", (40, 5))
    oracle, recorder = make_oracle(X, labels, options), Recorder()
    boost_for(make_run(X, labels, seed=99, **options), 50, recorder)
    eps = options.get("exploration", 0.0)
    for t, record in enumerate(recorder.records, start=1):
        log_q = np.full(len(oracle.q), -np.inf)
        mixed = (1 - eps) * oracle.q + eps / len(oracle.q)
        np.log(mixed, out=log_q, where=mixed >= np.finfo(float).tiny)
        R = _native.race(np.log(oracle.p), n, 99, t, _native.Purpose.OBSERVATIONS, threads)
        C = _native.race(log_q, m, 99, t, _native.Purpose.FEATURES, threads)
        assert is_completion(R, record.R, labels, oracle.p)
        assert record.C.tolist() == C.tolist()
        oracle.iterate(record.R, record.C, record.patch_weights)


@pytest.mark.parametrize("learning_rate", [1.0, 0.1])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_classifier_publishes_what_the_oracle_finds(weighting, learning_rate):
    X, labels = make_data(missing=0.1)
    recorder = Recorder()
    model = MPBoostClassifier(
        n_estimators=50,
        max_samples=40,
        max_features=5,
        weighting=weighting,
        learning_rate=learning_rate,
        stopping=None,
        callbacks=[recorder],
        random_state=0,
    ).fit(X, np.where(labels > 0, "yes", "no"))
    oracle = make_oracle(X, labels, {"weighting": weighting, "learning_rate": learning_rate})
    oop, train = [], []
    for record in recorder.records:
        oracle.iterate(record.R, record.C, record.patch_weights)
        oop.append(oracle.oop)
        train.append(oracle.train)
    np.testing.assert_array_equal(as_votes(model.decision_function(X), learning_rate), oracle.F)
    np.testing.assert_array_equal(model.oop_decision_function_, learning_rate * oracle.G)
    np.testing.assert_allclose(model.observation_probabilities_, oracle.p, rtol=1e-12)
    np.testing.assert_allclose(model.feature_probabilities_, oracle.q, rtol=1e-12)
    np.testing.assert_array_equal(model.oop_scores_, oop)
    np.testing.assert_array_equal(model.train_scores_, train)
    assert np.mean(model.predict(X) == np.where(labels > 0, "yes", "no")) == oracle.train


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(lambda: PaperStopping(300, 40), id="paper"),
        pytest.param(lambda: PatienceStopping(15), id="patience"),
    ],
)
def test_boost_keeps_the_state_of_the_best_iteration(rule):
    X, labels = make_data()
    recorder = Recorder()
    run = boost_for(make_run(X, labels, stopping=rule()), 500, recorder)
    assert 1 < run.best_iteration < run.iteration < 500
    best = recorder.records[run.best_iteration - 1]
    np.testing.assert_array_equal(run.best.votes, best.F)
    np.testing.assert_array_equal(run.best.votes - run.best.in_patch_votes, best.G)
    np.testing.assert_array_equal(run.best.feature_probabilities, best.q)
    assert run.best.importance_sums.sum() == pytest.approx(run.best_iteration)
    assert run.stop_reason == run.stopping.reason


def test_boost_keeps_the_last_state_without_a_rule():
    X, labels = make_data()
    run = boost_for(make_run(X, labels), 30)
    assert run.best_iteration == 30
    np.testing.assert_array_equal(run.best.votes, run.task.votes)


@pytest.mark.parametrize("n_estimators", [1, 2, 17])
def test_boost_runs_exactly_the_number_of_estimators(n_estimators):
    X, labels = make_data()
    run = boost_for(make_run(X, labels), n_estimators)
    assert (run.iteration, len(run.ensemble), len(run.oop_scores)) == (n_estimators,) * 3
    assert run.stop_reason == "n_estimators reached"


def test_boost_goes_on_as_if_it_had_never_stopped():
    X, labels = make_data()
    whole, parts = make_run(X, labels), make_run(X, labels)
    boost_for(whole, 40)
    for n_estimators in (1, 15, 40):
        boost_for(parts, n_estimators)
    assert parts.oop_scores == whole.oop_scores
    np.testing.assert_array_equal(parts.task.votes, whole.task.votes)
    np.testing.assert_array_equal(parts.task.log_weights, whole.task.log_weights)
    np.testing.assert_array_equal(parts.feature_probabilities, whole.feature_probabilities)


def test_boost_goes_on_where_a_callback_ended_it():
    X, labels = make_data()
    run = boost_for(make_run(X, labels), 20, StopAt(5))
    assert (run.iteration, run.stop_reason) == (5, "stopped by StopAt")
    boost_for(run, 30)
    assert (run.iteration, run.stop_reason) == (30, "n_estimators reached")


def test_boost_tells_callbacks_of_the_end_when_a_learner_fails():
    class FailingLearner:
        def train(self, iteration, rows, features, weights, threads):
            raise RuntimeError("out of order")

    class Witness(Callback):
        seen = ()

        def on_fit_begin(self, run):
            self.seen += ("begin",)

        def on_fit_end(self, run):
            self.seen += ("end",)

    X, labels = make_data()
    run, witness = make_run(X, labels, learner=FailingLearner()), Witness()
    with pytest.raises(RuntimeError, match="out of order"):
        boost_for(run, 5, witness)
    assert witness.seen == ("begin", "end")
    assert run.iteration == 0


@pytest.mark.parametrize("n_threads", [2, 4])
def test_boost_is_the_same_for_any_number_of_threads(n_threads):
    # More rows than one range of any kernel, so that the threads have something to share.
    X, labels = make_data(n_samples=70_000, n_features=3)
    one, several = make_run(X, labels, patch=(50, 2)), make_run(X, labels, patch=(50, 2))
    boost_for(one, 5)
    boost_for(several, 5, n_threads=n_threads)
    assert one.oop_scores == several.oop_scores
    np.testing.assert_array_equal(one.task.votes, several.task.votes)
    np.testing.assert_array_equal(one.task.log_weights, several.task.log_weights)
    np.testing.assert_array_equal(one.feature_probabilities, several.feature_probabilities)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_boost_keeps_p_uniform_if_observations_do_not_adapt(weighting):
    X, labels = make_data()
    recorder = Recorder()
    boost_for(make_run(X, labels, weighting=weighting, adaptive=(False, True)), 20, recorder)
    assert all((record.p == 1 / 300).all() for record in recorder.records)
    assert (recorder.records[-1].q != 1 / 12).any()


def test_boost_keeps_q_uniform_if_features_do_not_adapt():
    X, labels = make_data()
    recorder = Recorder()
    boost_for(make_run(X, labels, adaptive=(True, False)), 20, recorder)
    assert all((record.q == 1 / 12).all() for record in recorder.records)
    assert (recorder.records[-1].p != 1 / 300).any()


def test_boost_leaves_q_alone_where_no_tree_can_split():
    labels = make_data()[1]
    recorder = Recorder()
    boost_for(make_run(np.ones((300, 12)), labels), 20, recorder)
    assert all((record.q == 1 / 12).all() for record in recorder.records)


def test_boost_leaves_q_alone_outside_the_patch():
    X, labels = make_data()
    recorder = Recorder()
    boost_for(make_run(X, labels), 30, recorder)
    for before, after in zip(recorder.records, recorder.records[1:], strict=False):
        outside = np.setdiff1d(np.arange(12), after.C)
        np.testing.assert_array_equal(after.q[outside], before.q[outside])


@pytest.mark.parametrize("rare", [-1, 1])
def test_boost_puts_both_classes_into_every_patch(rare):
    X, labels = make_data(n_samples=200)
    labels[:] = -rare
    labels[[7, 80]] = rare
    recorder = Recorder()
    boost_for(make_run(X, labels, patch=(4, 3), adaptive=(False, True)), 100, recorder)
    for record in recorder.records:
        assert len(np.unique(record.R)) == 4
        assert set(labels[record.R]) == {-1, 1}


def test_boost_trains_constant_learners_on_single_rows():
    X, labels = make_data()
    recorder = Recorder()
    boost_for(make_run(X, labels, patch=(1, 3)), 30, recorder)
    F_before = np.zeros(300, dtype=int)
    for record in recorder.records:
        assert (record.F - F_before == labels[record.R[0]]).all()
        assert (record.q == 1 / 12).all()
        F_before = record.F


class TestManyIterations:
    """After ten thousand iterations p and q are still distributions (promise 9)."""

    N_ITERATIONS = 10_000

    class FixedLearner:
        """Votes as it is told and credits features at random, often one alone."""

        def __init__(self, votes):
            self.votes = votes
            credits = np.random.default_rng(0).dirichlet([0.1, 0.1], size=97)
            self.importances = np.vstack([credits, [[1.0, 0.0], [0.0, 1.0]] * 50])

        def train(self, iteration, rows, features, weights, threads):
            return TrainedLearner(None, self.votes, self.importances[iteration % len(self.importances)])

    class Checker(Callback):
        """Looks at p and q every 500 iterations."""

        def __init__(self):
            self.n_looks = 0

        def on_iteration_end(self, run):
            if run.iteration % 500:
                return
            self.n_looks += 1
            for probabilities in (run.observation_probabilities, run.feature_probabilities):
                assert np.isfinite(probabilities).all()
                assert (probabilities >= 0).all()
                assert abs(probabilities.sum() - 1.0) <= 1e-12

    def check(self, X, labels, **options):
        checker = self.Checker()
        run = boost_for(make_run(X, labels, patch=(8, 2), **options), self.N_ITERATIONS, checker)
        assert checker.n_looks == self.N_ITERATIONS // 500
        return run

    @pytest.mark.parametrize("weighting", WEIGHTINGS)
    def test_boost_keeps_distributions_on_separable_data(self, weighting):
        X, labels = make_data(n_samples=40, n_features=4)
        X[:, 0] = labels * np.arange(1, 41)
        run = self.check(X, labels, weighting=weighting)
        assert (labels * run.task.votes).max() > 2000

    @pytest.mark.parametrize("weighting", WEIGHTINGS)
    def test_boost_keeps_distributions_on_pure_noise(self, weighting):
        X, _ = make_data(n_samples=40, n_features=4)
        X[20:] = X[:20]  # each row twice, once of each class: no tree can be right on both
        labels = np.repeat([-1, 1], 20).astype(np.int8)
        self.check(X, labels, weighting=weighting)

    @pytest.mark.parametrize("weighting", WEIGHTINGS)
    @pytest.mark.parametrize(
        ("share_right", "highest_margin", "lowest_margin"),
        [
            pytest.param(1.0, 10_000, 10_000, id="all right"),
            pytest.param(0.0, -10_000, -10_000, id="all wrong"),
            pytest.param(0.5, 10_000, -10_000, id="half right"),
        ],
    )
    def test_boost_keeps_distributions_at_extreme_margins(self, weighting, share_right, highest_margin, lowest_margin):
        X, labels = make_data(n_samples=40, n_features=6)
        votes = np.where(np.arange(40) < 40 * share_right, labels, -labels).astype(np.int8)
        run = self.check(X, labels, weighting=weighting, learner=self.FixedLearner(votes))
        margins = labels * run.task.votes
        assert (margins.max(), margins.min()) == (highest_margin, lowest_margin)

    @pytest.mark.parametrize("momentum", [0.01, 0.9, 1.0])
    def test_boost_keeps_the_mass_of_q_at_any_momentum(self, momentum):
        X, labels = make_data(n_samples=40, n_features=6)
        self.check(X, labels, momentum=momentum, learner=self.FixedLearner(labels))
