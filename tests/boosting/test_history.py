"""The history of a fit is what callbacks would have seen, whatever way the fit went."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from mpboost import (
    Callback,
    History,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    load_model,
    save_model,
)
from mpboost.boosting import history
from tests.support.battery.compare import assert_equal_bytes
from tests.support.helpers import make_hard, make_integers

X, Y = make_integers()
TARGETS = {"two": Y, "many": X[:, 0] // 20, "number": X[:, 0] + X[:, 1]}
MODELS = {
    "two classes": (MPBoostClassifier(), "two"),
    "many classes": (MPBoostClassifier(), "many"),
    "colours": (MPBoostClassifier(multiclass="oc"), "many"),
    "numbers": (MPBoostRegressor(), "number"),
    "gradients of two classes": (MPGradientBoostingClassifier(), "two"),
    "gradients of many classes": (MPGradientBoostingClassifier(n_models=3, oop_size=0.2), "many"),
    "gradients of numbers": (MPGradientBoostingRegressor(), "number"),
}


class Watch(Callback):
    """Keeps both distributions of every iteration."""

    def __init__(self):
        self.p, self.q = {}, {}

    def on_iteration_end(self, run):
        self.p[run.iteration], self.q[run.iteration] = run.observation_probabilities, run.feature_probabilities


class Interrupt(Callback):
    """Stands for Ctrl-C at an iteration."""

    def on_iteration_end(self, run):
        if run.iteration == 9:
            raise KeyboardInterrupt


def count_effective(p):
    return 1 / np.sum(p**2)


@pytest.mark.parametrize(("model", "target"), MODELS.values(), ids=MODELS.keys())
def test_history_is_what_a_callback_sees(model, target):
    watch = Watch()
    model.set_params(n_estimators=25, n_iter_no_change=3, max_features=2, callbacks=[watch], random_state=0)
    kept = model.fit(X, TARGETS[target], sample_weight=1.0 + X[:, 3] % 3).history_
    assert set(kept.iterations) == {t for t in history.MOMENTS if t <= model.n_iter_} | {
        model.best_iteration_,
        model.n_iter_,
    }
    np.testing.assert_array_equal(kept.feature_probabilities, [watch.q[t].astype(np.float32) for t in kept.iterations])
    np.testing.assert_allclose(kept.effective_features, [count_effective(watch.q[t]) for t in kept.iterations])
    best = kept.iterations.tolist().index(model.best_iteration_)
    assert kept.effective_observations[best] == pytest.approx(count_effective(model.observation_probabilities_))
    if getattr(model, "multiclass", None) != "oc":  # p of a draw then depends on colours
        expected = [count_effective(watch.p[t]) for t in kept.iterations]
        np.testing.assert_allclose(kept.effective_observations, expected)
        assert not np.allclose(expected, expected[0])


def test_history_of_a_fit_that_goes_on_is_that_of_one_long_fit():
    parameters = {"stopping": None, "random_state": 0}
    model = MPGradientBoostingRegressor(n_estimators=7, warm_start=True, **parameters).fit(X, TARGETS["number"])
    assert model.history_.iterations[-1] == 7
    model.set_params(n_estimators=30).fit(X, TARGETS["number"])
    whole = MPGradientBoostingRegressor(n_estimators=30, **parameters).fit(X, TARGETS["number"])
    assert_equal_bytes(model.history_, whole.history_)


def test_history_ends_with_an_interrupt():
    model = MPBoostClassifier(callbacks=[Interrupt()], stopping=None, random_state=0)
    with pytest.warns(RuntimeWarning, match="interrupted"):
        model.fit(X, Y)
    short = MPBoostClassifier(n_estimators=9, stopping=None, random_state=0).fit(X, Y)
    assert_equal_bytes(model.history_, short.history_)


def test_history_is_that_of_the_run_that_a_trial_went_over_to():
    table = make_hard()
    parameters = {"n_estimators": 60, "stopping": None, "random_state": 0}
    model = MPBoostClassifier(**parameters).fit(*table)
    same = MPBoostClassifier(max_samples=model.max_samples_, **parameters).fit(*table)
    assert model.max_samples_ > MPBoostClassifier(**{**parameters, "n_estimators": 1}).fit(*table).max_samples_
    assert_equal_bytes(model.history_, same.history_)


def test_history_counts_all_rows_where_nothing_is_left_to_learn():
    model = MPGradientBoostingRegressor(n_estimators=3, oop_size=0, stopping=None).fit(X, np.zeros(len(X)))
    np.testing.assert_allclose(model.history_.effective_observations, len(X))


@pytest.mark.parametrize("most", [5, 4], ids=["with-q", "without-q"])
def test_history_outlives_pickle_and_files(most, monkeypatch, tmp_path):
    monkeypatch.setattr(history, "MAX_FEATURES", most)
    model = MPBoostClassifier(n_estimators=12, random_state=0).fit(X, Y)
    assert (model.history_.feature_probabilities is None) == (most < X.shape[1])
    assert_equal_bytes(pickle.loads(pickle.dumps(model)).history_, model.history_)
    save_model(model, tmp_path / "model")
    assert_equal_bytes(load_model(tmp_path / "model").history_, model.history_)


def test_history_is_not_in_older_files():
    old = Path(__file__).parents[1] / "model_files" / "golden" / "format-1-numbers.mpb"
    assert not hasattr(load_model(old), "history_")


@pytest.mark.parametrize("has_path", [True, False])
def test_history_shows_shortly_what_it_has(has_path):
    path = np.zeros((3, 5), dtype=np.float32) if has_path else None
    shown = History(np.array([1, 10, 736]), np.ones(3), np.ones(3), path)
    words = "History(3 of 736 iterations: effective_observations, effective_features"
    assert repr(shown) == words + (", feature_probabilities of 5 features)" if has_path else ")")
