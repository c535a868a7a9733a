"""How many rows a minipatch has where nobody says."""

import os
import signal

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mpboost import Callback, MPBoostClassifier
from mpboost.boosting import loop
from mpboost.boosting.size_trial import N_ITERATIONS
from mpboost.sampling.sizes import CLASSIFIER_SIZES, count_most_rows, count_patch_rows
from tests.support.helpers import make_hard


def make_easy(n_samples=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 10))
    return X, (X[:, 0] + X[:, 1] + 0.8 * rng.normal(size=n_samples) > 0).astype(int)


def fit(X, y, **parameters):
    return MPBoostClassifier(**({"random_state": 0, "n_estimators": 60} | parameters)).fit(X, y)


@pytest.mark.parametrize("n_samples", [2, 3, 10, 100, 1000, 10**5, 10**7])
def test_auto_rows_leave_half_of_the_rows_out_of_every_minipatch(n_samples):
    rows = CLASSIFIER_SIZES.rows
    least, most = count_patch_rows("auto", n_samples, rows), count_most_rows(n_samples, rows)
    assert 1 <= least <= most <= max(1, n_samples // 2)
    assert most <= 4 * least
    assert most <= 20_000


def test_trial_goes_over_to_larger_minipatches_where_they_are_better():
    X, y = make_hard()
    model = fit(X, y, n_estimators=150)
    first = count_patch_rows("auto", len(X))
    assert model.max_samples_ >= 2 * first
    small = fit(X, y, n_estimators=150, max_samples=first)
    assert model.oop_score_ > small.oop_score_ + 0.02


def test_trial_gives_the_run_that_the_larger_size_gives():
    X, y = make_hard()
    model = fit(X, y, stopping=None)
    same = fit(X, y, stopping=None, max_samples=model.max_samples_)
    np.testing.assert_array_equal(model.oop_scores_, same.oop_scores_)
    np.testing.assert_array_equal(model.observation_probabilities_, same.observation_probabilities_)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))


def test_trial_leaves_a_run_alone_where_small_minipatches_do():
    X, y = make_easy()
    model = fit(X, y, stopping=None)
    assert model.max_samples_ == count_patch_rows("auto", len(X)) < count_most_rows(len(X), CLASSIFIER_SIZES.rows)
    same = fit(X, y, stopping=None, max_samples=model.max_samples_)
    np.testing.assert_array_equal(model.oop_scores_, same.oop_scores_)


@pytest.fixture
def trials(monkeypatch):
    """Count the trials that are made, by the rows of their minipatches."""
    sizes = []

    def boost(run, *args):
        sizes.append(run.parts.observation_sampler.n_drawn)
        return original(run, *args)

    original = loop.boost
    monkeypatch.setattr(loop, "boost", boost)  # which a trial calls anew
    return sizes


def test_trial_is_not_made_where_next_to_nothing_is_wrong(trials):
    X, _ = make_easy()
    fit(X, X[:, 0] > 0)
    assert not trials


@pytest.mark.parametrize("parameters", [{"max_samples": 100}, {"n_estimators": N_ITERATIONS}])
def test_trial_is_not_made_of_given_sizes_or_short_fits(parameters, trials):
    X, y = make_hard()
    model = fit(X, y, **parameters)
    assert not trials
    assert model.n_iter_ <= 60


@pytest.mark.slow
@pytest.mark.parametrize("n_first", [10, N_ITERATIONS - 1, N_ITERATIONS, N_ITERATIONS + 1])
@pytest.mark.parametrize("multiclass", ["margin", "oc"])
def test_trial_is_the_same_in_a_fit_that_goes_on(n_first, multiclass):
    X, y = make_hard()
    if multiclass == "oc":
        y = y + 2 * (X[:, 0] > 0)
    whole = fit(X, y, multiclass=multiclass)
    model = MPBoostClassifier(random_state=0, multiclass=multiclass, warm_start=True, n_estimators=n_first).fit(X, y)
    model.set_params(n_estimators=60).fit(X, y)
    assert model.max_samples_ == whole.max_samples_ > count_patch_rows("auto", len(X))
    np.testing.assert_array_equal(model.oop_scores_, whole.oop_scores_)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


@pytest.mark.slow
def test_trial_does_not_depend_on_threads():
    X, y = make_hard()
    one, two = fit(X, y, n_jobs=1), fit(X, y, n_jobs=2)
    assert one.max_samples_ == two.max_samples_
    np.testing.assert_array_equal(one.feature_probabilities_, two.feature_probabilities_)


def test_trial_shows_callbacks_every_iteration_once():
    class Iterations(Callback):
        def __init__(self):
            self.seen = []

        def on_iteration_end(self, run):
            self.seen.append((run.iteration, len(run.oop_scores), len(run.parts.ensemble)))

    iterations = Iterations()
    model = fit(*make_hard(), callbacks=[iterations])
    assert model.max_samples_ > count_patch_rows("auto", 1600)
    assert iterations.seen == [(t, t, t) for t in range(1, model.n_iter_ + 1)]


@pytest.mark.slow
def test_trial_works_with_weights_validation_data_and_other_learners():
    X, y = make_hard()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = MPBoostClassifier(random_state=0, n_estimators=60)
    model.fit(X, y, weights, X_val=X[:100], y_val=y[:100])
    assert model.max_samples_ > count_patch_rows("auto", len(X))
    assert len(model.validation_scores_) == len(model.oop_scores_) == model.n_iter_
    assert model.validation_score_ == model.score(X[:100], y[:100])
    linear = fit(X, y, estimator=LogisticRegression(), n_estimators=N_ITERATIONS + 2)
    assert linear.n_iter_ == N_ITERATIONS + 2


def test_trial_that_is_out_of_time_changes_nothing(monkeypatch):
    X, y = make_hard()

    def boost(run, limits, *args):
        run.n_estimators = 3
        assert len(limits) == 1
        return original(run, limits, *args)

    original = loop.boost
    monkeypatch.setattr(loop, "boost", boost)  # which a trial calls anew
    model = fit(X, y, time_limit=1000)
    assert model.max_samples_ == count_patch_rows("auto", len(X))
    assert model.n_iter_ == 60


@pytest.mark.usefixtures("python_handler")
def test_trial_that_is_interrupted_leaves_the_model_of_the_run(monkeypatch):
    X, y = make_hard()

    def boost(run, *args):
        os.kill(os.getpid(), signal.SIGINT)
        return original(run, *args)

    original = loop.boost
    monkeypatch.setattr(loop, "boost", boost)  # which a trial calls anew
    with pytest.warns(RuntimeWarning, match=f"after {N_ITERATIONS} iterations"):
        model = fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ == N_ITERATIONS
    assert model.max_samples_ == count_patch_rows("auto", len(X))
    assert model.predict(X).shape == y.shape
