"""The progress bar: what it shows, where, and that it is closed however a fit ends."""

import re
import sys
import types

import numpy as np
import pytest
import rich.console
import rich.progress

from mpboost import Callback, MPGradientBoostingClassifier, ProgressBar
from tests.support.helpers import FailAt, Sleep, StopAt, make_model


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


@pytest.fixture(autouse=True)
def console(monkeypatch):
    """Let each test have a console of its own: rich keeps the first one that it was asked for."""
    monkeypatch.setattr(rich, "_console", None)


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


def test_progress_bar_of_a_gradient_model_shows_the_loss_that_it_stops_by(cancer, capsys):
    model = MPGradientBoostingClassifier(n_estimators=150, verbose=1, random_state=0).fit(*cancer)
    line = capsys.readouterr().out.strip().splitlines()[-1]
    score, loss, best = re.search(r"out-of-patch (\S+), loss (\S+), best (\S+)", line).groups()
    assert float(score) == pytest.approx(model.oop_scores_[-1], abs=1e-4)
    assert float(loss) == pytest.approx(model.oop_losses_[-1], abs=1e-4)
    assert float(best) == pytest.approx(model.oop_losses_[model.best_iteration_ - 1], abs=1e-4)


def test_progress_bar_names_the_metric(cancer, capsys):
    model = make_model(None, verbose=1, scoring="roc_auc").fit(*cancer)
    assert f"out-of-patch roc_auc {model.oop_scores_[-1]:.4f}" in capsys.readouterr().out
