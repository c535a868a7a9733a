"""Callbacks: when they are called, what they see, and those that come with the package."""

import sys
import time
import types

import numpy as np
import pytest
import rich.console
import rich.progress
from helpers import FailAt, StopAt

from mpboost import Callback, FeatureProbabilityRecorder, MPBoostClassifier, ProgressBar
from mpboost.data import check_training_data


def make_model(callbacks, **parameters):
    defaults = {"n_estimators": 10, "stopping": None, "max_features": 5, "random_state": 0}
    return MPBoostClassifier(**{**defaults, **parameters}, callbacks=callbacks)


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
    model = make_model([StopAt(30)], n_estimators=100, stopping="patience", n_iter_no_change=20).fit(X, y)
    assert model.n_iter_ == 30
    assert model.best_iteration_ == 10 + np.argmax(model.oop_scores_[9:])
    assert model.score(X, y) == model.train_scores_[model.best_iteration_ - 1]


# The time limit


class Sleep(Callback):
    def on_iteration_end(self, run):
        time.sleep(0.02)


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

    monkeypatch.setattr("mpboost.classifier.check_training_data", check_slowly)
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


# The progress bar


@pytest.fixture
def bars(monkeypatch):
    """The bars of rich that a fit makes."""
    made = []

    class Spy(rich.progress.Progress):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(rich.progress, "Progress", Spy)
    yield made
    for bar in made:
        bar.stop()


def test_fit_is_silent_by_default(cancer, capfd):
    make_model(None).fit(*cancer).predict(cancer[0])
    assert capfd.readouterr() == ("", "")


def test_verbose_shows_a_bar(cancer, capsys):
    model = make_model(None, verbose=1).fit(*cancer)
    output = capsys.readouterr().out
    assert "10/10" in output
    assert f"out-of-patch {model.oop_scores_[-1]:.4f}" in output


def test_verbose_does_not_change_the_model(cancer, capsys):
    X, y = cancer
    np.testing.assert_array_equal(
        make_model(None, verbose=1).fit(X, y).decision_function(X), make_model(None).fit(X, y).decision_function(X)
    )


def test_progress_bar_shows_how_far_a_stopped_fit_came(cancer, capsys):
    make_model([StopAt(4), ProgressBar()]).fit(*cancer)
    assert " 4/10" in capsys.readouterr().out


def test_progress_bar_is_one_line_without_control_codes_where_there_is_no_terminal(cancer, capsys, monkeypatch):
    monkeypatch.setattr(ProgressBar, "_PAUSES", (0.0, 0.0))
    make_model(None, verbose=1, n_estimators=50).fit(*cancer)
    output = capsys.readouterr().out
    assert output.count("\n") == 1
    assert "\x1b" not in output


def test_progress_bar_moves_on_a_terminal_and_tells_the_time_left(cancer, capsys, monkeypatch):
    monkeypatch.setattr(ProgressBar, "_PAUSES", (0.0, 0.0))
    terminal = rich.console.Console(force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(rich, "_console", terminal)
    make_model([Sleep()], verbose=1).fit(*cancer)
    drawings = capsys.readouterr().out.split("\r")
    assert [t for t in range(11) if not any(f"{t}/10" in drawing for drawing in drawings)] == []
    assert any(drawing.rstrip().endswith("left") for drawing in drawings)
    assert not drawings[-1].rstrip().endswith("left")
    assert max(len(drawing) for drawing in drawings) < 90  # in one line, some of it control codes


def test_progress_bar_in_a_notebook_is_one_display_that_changes(cancer, capsys, monkeypatch):
    shown = []
    display = types.SimpleNamespace(update=shown.append)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=lambda *_, **__: display))
    monkeypatch.setattr(ProgressBar, "_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(rich, "_console", rich.console.Console(force_jupyter=True))
    model = make_model(None, verbose=1).fit(*cancer)
    assert capsys.readouterr().out == ""
    assert len(shown) == 12  # at the beginning, after each iteration, and at the end
    assert f"out-of-patch {model.oop_scores_[-1]:.4f}" in shown[-1]._repr_mimebundle_([], [])["text/html"]


def test_progress_bar_draws_seldom(cancer, capsys):
    class CountingBar(ProgressBar):
        n_drawn = 0

        def _draw(self, run):
            self.n_drawn += 1
            super()._draw(run)

    bar = CountingBar()
    make_model([bar], n_estimators=100).fit(*cancer)
    assert 2 <= bar.n_drawn < 20


def test_progress_bars_of_a_fit_inside_a_fit_do_not_clash(cancer, capsys):
    weak = make_model(None, n_estimators=2, verbose=1)
    assert make_model(None, estimator=weak, n_estimators=2, verbose=1).fit(*cancer).n_iter_ == 2
    assert "2/2" in capsys.readouterr().out


def test_progress_bar_can_be_used_again(cancer, capsys):
    bar = ProgressBar()
    for _ in range(2):
        make_model([bar]).fit(*cancer)
        assert "10/10" in capsys.readouterr().out


def test_progress_bar_is_closed_after_the_fit(cancer, bars, capsys):
    make_model(None, verbose=1).fit(*cancer)
    assert [bar.live.is_started for bar in bars] == [False]


def test_progress_bar_is_closed_when_an_iteration_fails(cancer, bars, capsys):
    with pytest.raises(RuntimeError, match="on purpose"):
        make_model([FailAt(3)], verbose=1).fit(*cancer)
    assert [bar.live.is_started for bar in bars] == [False]


def test_progress_bar_is_closed_when_another_callback_fails_at_the_end(cancer, bars, capsys):
    class FailAtEnd(Callback):
        def on_fit_end(self, run):
            raise RuntimeError("broken on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        make_model([FailAtEnd()], verbose=1).fit(*cancer)
    assert [bar.live.is_started for bar in bars] == [False]


def test_progress_bar_is_closed_when_a_later_callback_fails_at_the_start(cancer, bars, capsys):
    class FailAtStart(Callback):
        def on_fit_begin(self, run):
            raise RuntimeError("broken on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        make_model([ProgressBar(), FailAtStart()]).fit(*cancer)
    assert [bar.live.is_started for bar in bars] == [False]


def test_progress_bar_without_rich_says_what_to_install(cancer, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    model = make_model(None, verbose=1)
    held = dict(vars(model))
    with pytest.raises(ImportError, match=r'pip install "mpboost\[cli\]".*verbose=0'):
        model.fit(*cancer)
    assert vars(model) == held


def test_fit_without_a_bar_does_not_need_rich(cancer, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    assert make_model(None).fit(*cancer).n_iter_ == 10
