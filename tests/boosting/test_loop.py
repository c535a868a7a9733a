"""What the loop promises: where it ends and goes on, what it leaves alone, and p and q over very many iterations."""

from functools import partial

import numpy as np
import pytest

from mpboost import Callback, StopReason
from mpboost.boosting.stopping import PaperStopping, PatienceStopping
from mpboost.learners.contract import TrainedLearner
from mpboost.sampling.draws import probabilities_from_logs
from tests.support.helpers import StopAt
from tests.support.oracle import WEIGHTINGS
from tests.support.runs import Recorder, boost_for, make_classes, make_data, make_run, make_values

KINDS = {
    "two classes": (make_data, {}),
    **{way: (make_classes, {"way": way}) for way in ("margin", "m2", "mh", "oc")},
    "numbers": (make_values, {}),
}
each_kind = pytest.mark.parametrize(("make", "options"), KINDS.values(), ids=KINDS.keys())


def assert_same_state(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


def assert_same_run(one, other):
    assert one.oop_scores == other.oop_scores
    assert one.train_scores == other.train_scores
    assert_same_state(one.parts.task.state, other.parts.task.state)
    np.testing.assert_array_equal(one.parts.task.log_weights, other.parts.task.log_weights)
    np.testing.assert_array_equal(one.feature_probabilities, other.feature_probabilities)


@each_kind
@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(lambda: PaperStopping(300, 40), id="paper"),
        pytest.param(lambda: PatienceStopping(15), id="patience"),
    ],
)
def test_boost_keeps_the_state_of_the_best_iteration(rule, make, options):
    X, labels = make()
    recorder = Recorder()
    run = boost_for(make_run(X, labels, stopping=rule(), **options), 500, recorder)
    assert run.best_iteration < run.iteration < 500  # with noisy scores, the paper may find the first one best
    best = recorder.records[run.best_iteration - 1]
    assert_same_state(run.best.task, best.state)
    if "way" not in options or options["way"] != "oc":  # whose weights depend on colours besides
        p = probabilities_from_logs(run.parts.task.compute_log_weights(run.best.task))
        np.testing.assert_array_equal(p, best.p)
    np.testing.assert_array_equal(run.best.feature_probabilities, best.q)
    assert run.best.importance_sums.sum() == pytest.approx(run.best_iteration)
    assert (run.stop_reason, run.stop_words) == (StopReason.RULE, run.stopping.reason)


def test_boost_keeps_the_last_state_without_a_rule():
    X, labels = make_data()
    run = boost_for(make_run(X, labels), 30)
    assert run.best_iteration == 30
    np.testing.assert_array_equal(run.best.task["votes"], run.parts.task.votes)


@pytest.mark.parametrize("n_estimators", [1, 2, 17])
def test_boost_runs_exactly_the_number_of_estimators(n_estimators):
    X, labels = make_data()
    run = boost_for(make_run(X, labels), n_estimators)
    assert (run.iteration, len(run.parts.ensemble), len(run.oop_scores)) == (n_estimators,) * 3
    assert run.stop_reason is StopReason.N_ESTIMATORS


@each_kind
def test_boost_goes_on_as_if_it_had_never_stopped(make, options):
    X, labels = make()
    whole, parts = make_run(X, labels, **options), make_run(X, labels, **options)
    boost_for(whole, 40)
    for n_estimators in (1, 15, 40):
        boost_for(parts, n_estimators)
    assert_same_run(parts, whole)


def test_boost_goes_on_where_a_callback_ended_it():
    X, labels = make_data()
    run = boost_for(make_run(X, labels), 20, StopAt(5))
    assert (run.iteration, run.stop_words) == (5, "stopped by StopAt")
    boost_for(run, 30)
    assert (run.iteration, run.stop_words) == (30, "n_estimators reached")


def test_boost_tells_callbacks_of_the_end_when_a_learner_fails():
    class FailingLearner:
        def train(self, minipatches, threads):
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
@each_kind
def test_boost_is_the_same_for_any_number_of_threads(n_threads, make, options):
    # More rows than one range of any kernel, so that the threads have something to share.
    X, labels = make(n_samples=70_000, n_features=3)
    one, several = (make_run(X, labels, patch=(50, 2), **options) for _ in range(2))
    boost_for(one, 5)
    boost_for(several, 5, n_threads=n_threads)
    assert_same_run(one, several)


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


@pytest.mark.slow
class TestManyIterations:
    """After ten thousand iterations p and q are still distributions (promise 9)."""

    N_ITERATIONS = 10_000

    class FixedLearner:
        """Votes as it is told and credits features at random, often one alone."""

        def __init__(self, votes):
            self.votes = votes
            credits = np.random.default_rng(0).dirichlet([0.1, 0.1], size=97)
            self.importances = np.vstack([credits, [[1.0, 0.0], [0.0, 1.0]] * 50])

        def train(self, minipatches, threads):
            return [partial(self.finish, minipatch.iteration) for minipatch in minipatches]

        def finish(self, iteration, threads):
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
        assert (labels * run.parts.task.votes).max() > 2000

    @pytest.mark.parametrize("weighting", WEIGHTINGS)
    def test_boost_keeps_distributions_on_pure_noise(self, weighting):
        X, _ = make_data(n_samples=40, n_features=4)
        X[20:] = X[:20]  # each row twice, once of each class: no tree can be right on both
        labels = np.repeat([-1, 1], 20).astype(np.int8)
        self.check(X, labels, weighting=weighting)

    @pytest.mark.parametrize("weighting", WEIGHTINGS)
    @pytest.mark.parametrize(
        ("share_right", "highest_margin", "lowest_margin", "momentum"),
        [
            pytest.param(1.0, 10_000, 10_000, 0.01, id="all right"),
            pytest.param(0.0, -10_000, -10_000, 0.9, id="all wrong"),
            pytest.param(0.5, 10_000, -10_000, 1.0, id="half right"),
        ],
    )
    def test_boost_keeps_distributions_at_extreme_margins_and_any_momentum(
        self, weighting, share_right, highest_margin, lowest_margin, momentum
    ):
        X, labels = make_data(n_samples=40, n_features=6)
        votes = np.where(np.arange(40) < 40 * share_right, labels, -labels).astype(np.int8)
        run = self.check(X, labels, weighting=weighting, momentum=momentum, learner=self.FixedLearner(votes))
        margins = labels * run.parts.task.votes
        assert (margins.max(), margins.min()) == (highest_margin, lowest_margin)
