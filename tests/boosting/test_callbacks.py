"""Callbacks: when they are called, what they see, the time limit and the recorder."""

import time

import numpy as np
import pytest

from mpboost import Callback, FeatureProbabilityRecorder
from mpboost.data.checks import check_training_data
from tests.support.helpers import FailAt, Sleep, StopAt, make_model


class Diary(Callback):
    """Writes down each call, in a book that several may share."""

    def __init__(self, name, book):
        self.name = name
        self.book = book

    def on_fit_begin(self, run):
        self.book.append((self.name, "begin", run.iteration))

    def on_iteration_end(self, run):
        self.book.append((self.name, "iteration", run.iteration))

    def on_fit_end(self, run):
        self.book.append((self.name, "end", run.iteration))


# Calls


def test_callbacks_are_called_in_order(cancer):
    book = []
    make_model([Diary("a", book), Diary("b", book)], n_estimators=2).fit(*cancer)
    calls = [("begin", 0), ("iteration", 1), ("iteration", 2), ("end", 2)]
    assert book == [(name, call, iteration) for call, iteration in calls for name in "ab"]


def test_callbacks_may_be_a_tuple(cancer):
    book = []
    make_model((Diary("a", book),), n_estimators=1).fit(*cancer)
    assert len(book) == 3


def test_callbacks_need_to_define_only_what_they_use(cancer):
    model = make_model([Callback()]).fit(*cancer)
    assert model.n_iter_ == 10


def test_callbacks_do_not_change_the_model(cancer):
    X, y = cancer
    watched = make_model([Diary("a", []), FeatureProbabilityRecorder(range(5))]).fit(X, y)
    np.testing.assert_array_equal(watched.decision_function(X), make_model(None).fit(X, y).decision_function(X))


def test_callbacks_end_with_the_fit_when_it_fails(cancer):
    book = []
    with pytest.raises(RuntimeError, match="on purpose"):
        make_model([Diary("a", book), FailAt(2)]).fit(*cancer)
    assert book[-1] == ("a", "end", 2)


def test_callbacks_go_on_counting_at_a_warm_start(cancer):
    book = []
    model = make_model([Diary("a", book)], n_estimators=2, warm_start=True).fit(*cancer)
    book.clear()
    model.set_params(n_estimators=3).fit(*cancer)
    assert book == [("a", "begin", 2), ("a", "iteration", 3), ("a", "end", 3)]


# Stopping


def test_callbacks_can_stop_the_fit(cancer):
    model = make_model([StopAt(4)]).fit(*cancer)
    assert model.n_iter_ == 4
    assert model.stop_reason_ == "stopped by StopAt"


@pytest.mark.parametrize("answer", [False, None], ids=["false", "none"])
def test_callbacks_that_do_not_say_true_let_the_fit_go_on(cancer, answer):
    assert make_model([StopAt(4, answer)]).fit(*cancer).n_iter_ == 10


def test_callbacks_may_answer_with_a_bool_of_numpy(cancer):
    assert make_model([StopAt(4, np.bool_(True))]).fit(*cancer).n_iter_ == 4


def test_callbacks_all_see_the_last_iteration_though_an_earlier_one_stops(cancer):
    book = []
    make_model([StopAt(4), Diary("a", book)]).fit(*cancer)
    assert book[-2:] == [("a", "iteration", 4), ("a", "end", 4)]


def test_callbacks_that_stop_at_the_limit_do_not_hide_it(cancer):
    model = make_model([StopAt(10)]).fit(*cancer)
    assert "n_estimators" in model.stop_reason_


def test_callbacks_stop_a_fit_that_is_still_cut_to_its_best_iteration(cancer):
    X, y = cancer
    patience = {"stopping": "patience", "n_iter_no_change": 20}
    model = make_model([StopAt(40)], n_estimators=100, max_samples=100, **patience).fit(X, y)
    assert model.n_iter_ == 40
    means = np.convolve(model.oop_scores_, np.full(4, 0.25), "valid")  # from iteration 4 on
    best = 10 + np.argmax(means[6:].round(12))
    assert model.best_iteration_ == best < 40
    assert model.score(X, y) == model.train_scores_[model.best_iteration_ - 1]


# The time limit


def test_time_limit_ends_the_fit(cancer):
    model = make_model([Sleep()], n_estimators=10_000, time_limit=0.3)
    start = time.monotonic()
    model.fit(*cancer)
    assert time.monotonic() - start >= 0.3
    assert model.stop_reason_ == "time_limit reached"
    assert 1 <= model.n_iter_ <= 15


def test_time_limit_counts_from_the_beginning_of_the_fit(cancer, monkeypatch):
    def check_slowly(*args, **kwargs):
        time.sleep(0.2)
        return check_training_data(*args, **kwargs)

    monkeypatch.setattr("mpboost.estimators.base.check_training_data", check_slowly)
    assert make_model(None, n_estimators=10_000, time_limit=0.2).fit(*cancer).n_iter_ == 1


def test_time_limit_allows_one_iteration_at_least(cancer):
    model = make_model(None, time_limit=1e-9, warm_start=True).fit(*cancer)
    assert model.n_iter_ == 1
    assert model.fit(*cancer).n_iter_ == 2


def test_time_limit_may_change_in_the_middle_of_a_run(cancer):
    X, y = cancer
    model = make_model(None, time_limit=1e-9, warm_start=True).fit(X, y).set_params(time_limit=None).fit(X, y)
    assert model.stop_reason_ == "n_estimators reached"
    np.testing.assert_array_equal(model.decision_function(X), make_model(None).fit(X, y).decision_function(X))


def test_time_limit_may_be_beyond_float64(cancer):
    assert make_model(None, time_limit=10**400).fit(*cancer).stop_reason_ == "n_estimators reached"


@pytest.mark.parametrize("time_limit", [0, -1.0, "1 s", float("nan")])
def test_time_limit_must_be_positive(cancer, time_limit):
    with pytest.raises(ValueError, match="time_limit"):
        make_model(None, time_limit=time_limit).fit(*cancer)


# What they see


class Witness(Callback):
    """Keeps what the run shows after each iteration."""

    def on_fit_begin(self, run):
        self.views = []

    def on_iteration_end(self, run):
        self.views.append(
            {
                "n_estimators": run.n_estimators,
                "train_scores": list(run.train_scores),
                "oop_scores": list(run.oop_scores),
                "best_iteration": run.best_iteration,
                "rows": run.rows.copy(),
                "features": run.features.copy(),
                "p": run.observation_probabilities,
                "q": run.feature_probabilities,
            }
        )


@pytest.fixture(scope="module")
def witnessed(cancer):
    witness = Witness()
    model = make_model([witness], max_samples=50, stopping="patience", n_iter_no_change=4, n_estimators=100)
    return model.fit(*cancer), witness.views


def test_run_shows_the_curves_so_far(witnessed):
    model, views = witnessed
    for t, view in enumerate(views, start=1):
        assert view["oop_scores"] == model.oop_scores_[:t].tolist()
        assert view["train_scores"] == model.train_scores_[:t].tolist()


def test_run_shows_the_best_iteration_so_far(witnessed):
    model, views = witnessed
    assert views[-1]["best_iteration"] == model.best_iteration_
    assert all(1 <= view["best_iteration"] <= t for t, view in enumerate(views, start=1))


def test_run_shows_the_limit(witnessed):
    _, views = witnessed
    assert {view["n_estimators"] for view in views} == {100}


def test_run_shows_the_last_minipatch(witnessed, cancer):
    _, views = witnessed
    for view in views:
        assert len(np.unique(view["rows"])) == 50
        assert view["rows"].max() < len(cancer[0])
        assert len(np.unique(view["features"])) == 5
    assert len({view["rows"].tobytes() for view in views}) == len(views)


def test_run_shows_both_distributions(witnessed):
    model, views = witnessed
    best = views[model.best_iteration_ - 1]
    np.testing.assert_array_equal(best["p"], model.observation_probabilities_)
    np.testing.assert_array_equal(best["q"], model.feature_probabilities_)


# The recorder


def test_recorder_keeps_q_at_the_chosen_iterations_and_the_last(cancer):
    recorder = FeatureProbabilityRecorder([0, 3, 7])
    make_model([recorder]).fit(*cancer)
    assert list(recorder.probabilities_) == [0, 3, 7, 10]


def test_recorder_starts_uniform_and_ends_with_the_model(cancer):
    X, y = cancer
    recorder = FeatureProbabilityRecorder([0])
    model = make_model([recorder]).fit(X, y)
    np.testing.assert_array_equal(recorder.probabilities_[0], np.full(X.shape[1], 1 / X.shape[1]))
    np.testing.assert_array_equal(recorder.probabilities_[10], model.feature_probabilities_)


def test_recorder_keeps_copies(cancer):
    recorder = FeatureProbabilityRecorder(range(11))
    make_model([recorder]).fit(*cancer)
    kept = list(recorder.probabilities_.values())
    assert len({q.tobytes() for q in kept}) == 11
    np.testing.assert_allclose([q.sum() for q in kept], 1.0, rtol=0, atol=1e-12)


def test_recorder_leaves_out_iterations_that_never_came(cancer):
    recorder = FeatureProbabilityRecorder([2, 500])
    make_model([recorder, StopAt(4)]).fit(*cancer)
    assert list(recorder.probabilities_) == [2, 4]


def test_recorder_takes_any_iterable_once(cancer):
    recorder = FeatureProbabilityRecorder(t for t in (1, 2))
    for _ in range(2):
        make_model([recorder]).fit(*cancer)
        assert list(recorder.probabilities_) == [1, 2, 10]


def test_recorder_forgets_an_earlier_fit(cancer):
    recorder = FeatureProbabilityRecorder([1])
    make_model([recorder], n_estimators=5).fit(*cancer)
    make_model([recorder], n_estimators=8).fit(*cancer)
    assert list(recorder.probabilities_) == [1, 8]


def test_recorder_goes_on_at_a_warm_start(cancer):
    recorder = FeatureProbabilityRecorder([0, 7])
    model = make_model([recorder], n_estimators=5, warm_start=True).fit(*cancer)
    model.set_params(n_estimators=10).fit(*cancer)
    assert list(recorder.probabilities_) == [0, 5, 7, 10]


# Refusals


class Recorder(Callback):
    """Has methods of its own, whose names are like no hook."""

    def on_iteration_end(self, run):
        self.write(run.iteration)

    def write(self, iteration):
        self.last = iteration

    def on_page_end(self):
        """Is not called."""

    def _after_iteration(self):
        """Is not called either."""


def test_callbacks_may_have_methods_of_their_own(cancer):
    recorder = Recorder()
    make_model([recorder], n_estimators=3).fit(*cancer)
    assert recorder.last == 3


def watch(run):
    """Could be meant as a callback, but is a function."""


@pytest.mark.parametrize(
    ("callback", "words"),
    [
        (watch, "contains a function, watch, .* derive a class .* on_fit_begin, on_iteration_end, on_fit_end"),
        (lambda run: None, "contains a function, <lambda>"),
        (print, "contains a function, print"),
        (Recorder, r"contains the class Recorder: pass an object, Recorder\(\)"),
        (object(), "must be instances of mpboost.Callback, not <object .* on_iteration_end"),
        (None, "must be instances of mpboost.Callback, not None"),
    ],
    ids=["function", "lambda", "builtin", "class", "object", "none"],
)
def test_callback_that_is_none_is_refused(cancer, callback, words):
    with pytest.raises(TypeError, match=words):
        make_model([callback]).fit(*cancer)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("on_iteration_ends", "on_iteration_end"),
        ("on_iteration", "on_iteration_end"),
        ("On_Iteration_End", "on_iteration_end"),
        ("after_iterations", "on_iteration_end"),
        ("after_iteration", "on_iteration_end"),
        ("on_fit_beginn", "on_fit_begin"),
        ("on_fit_start", "on_fit_begin"),
        ("before_training", "on_fit_begin"),
        ("on_fit_ends", "on_fit_end"),
        ("on_train_end", "on_fit_end"),
    ],
)
def test_callback_with_a_misspelt_method_is_refused(cancer, name, meant):
    parent = type("Parent", (Callback,), {name: lambda self, run: None})
    for cls in (parent, type("Child", (parent,), {})):
        with pytest.raises(TypeError, match=f"{cls.__name__} has a method '{name}', .* did you mean '{meant}'"):
            make_model([cls()]).fit(*cancer)
