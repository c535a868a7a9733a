"""Ctrl-C during a fit: what was learned so far stays, nothing is half done, and the handler of signals comes back."""

import json
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from mpboost import Callback, MPBoostClassifier, StopReason, _native
from mpboost.boosting.run import BoostingRun
from mpboost.data.tables import DenseTable
from mpboost.learners.trees import TreeLearner
from mpboost.outputs.calibration import VoteCalibration
from mpboost.sampling.features import FeatureSampler
from mpboost.sampling.observations import ObservationSampler
from mpboost.tasks.two_classes import BinaryTask
from tests.support.helpers import SMALL, FailAt, Memory, describe_model, make_integers, run_script
from tests.support.interrupts import interrupt_in, press_ctrl_c

PARAMETERS = {**SMALL, "stopping": None, "warm_start": True}


pytestmark = pytest.mark.usefixtures("python_handler")


class PressAt(Callback):
    """Interrupts at an iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def on_iteration_end(self, run):
        if run.iteration == self.iteration:
            press_ctrl_c()


class SlowTree(ClassifierMixin, BaseEstimator):
    """A tree that takes its time, in short sleeps, from its fifth training on; and is interrupted then, if asked."""

    n_trained = n_naps = 0

    def fit(self, X, y):
        SlowTree.n_trained += 1
        if SlowTree.n_trained == 5:
            threading.Timer(0.1, press_ctrl_c).start()
            for _ in range(500):
                time.sleep(0.01)
                SlowTree.n_naps += 1
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(X, y)
        self.classes_, self.feature_importances_ = self.tree_.classes_, self.tree_.feature_importances_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def assert_whole(model, X):
    """Check that all parts of a run tell of the same iterations."""
    run = model._run
    votes = run.parts.ensemble.total(DenseTable(np.asarray(X)), run.parts.task.outputs, _native.Threads(1))
    np.testing.assert_array_equal(votes, run.parts.task.votes)
    assert len(run.parts.ensemble) == run.iteration == len(run.oop_scores) == len(run.train_scores) == model.n_iter_
    assert model.score(X, (run.parts.task.labels > 0).astype(int)) == model.train_scores_[model.best_iteration_ - 1]


# What is left


@pytest.mark.parametrize(
    ("owner", "method", "n_done"),
    [
        (ObservationSampler, "sample", 4),
        (FeatureSampler, "sample", 4),
        (BinaryTask, "pose", 4),
        (BinaryTask, "update", 5),
        (FeatureSampler, "update", 5),
        (BoostingRun, "record", 5),
    ],
    ids=["draw-rows", "draw-features", "pose", "update-votes", "update-q", "record"],
)
def test_interrupt_keeps_whole_iterations_wherever_it_comes(monkeypatch, owner, method, n_done):
    X, y = make_integers()
    interrupt_in(monkeypatch, owner, method)
    with pytest.warns(RuntimeWarning, match=f"interrupted after {n_done} iterations"):
        model = MPBoostClassifier(**PARAMETERS, round_size=1).fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ == n_done
    assert_whole(model, X)


@pytest.mark.parametrize(
    ("owner", "method", "n_done"),
    [
        (ObservationSampler, "sample", 12),
        (FeatureSampler, "sample", 12),
        (TreeLearner, "train", 12),
        (BinaryTask, "pose", 12),
        (TreeLearner, "_finish", 4),
        (BinaryTask, "update", 5),
        (BoostingRun, "record", 5),
    ],
    ids=["draw-rows", "draw-features", "train", "pose", "finish", "update-votes", "record"],
)
def test_interrupt_inside_a_round_keeps_the_learners_taken_in(monkeypatch, owner, method, n_done):
    X, y = make_integers()
    interrupt_in(monkeypatch, owner, method)
    with pytest.warns(RuntimeWarning, match=f"interrupted after {n_done} iterations"):
        model = MPBoostClassifier(**PARAMETERS, round_size=3).fit(X, y)
    assert_whole(model, X)
    monkeypatch.undo()
    whole = MPBoostClassifier(**PARAMETERS, round_size=3).fit(X, y)
    assert describe_model(model.fit(X, y)) == describe_model(whole)  # it goes on as if nothing had happened


def test_interrupt_leaves_the_model_of_a_shorter_fit():
    X, y = make_integers()
    with pytest.warns(RuntimeWarning, match="interrupted"):
        model = MPBoostClassifier(**SMALL, callbacks=[PressAt(7)]).fit(X, y)
    expected = MPBoostClassifier(**{**SMALL, "n_estimators": 7}).fit(X, y)
    expected.stop_reason_ = "interrupted"
    assert describe_model(model) == describe_model(expected)


@pytest.mark.slow
def test_interrupt_of_a_run_that_goes_on_again_and_again_changes_nothing():
    X, y = make_integers(20_000)
    parameters = {"stopping": None, "random_state": 0}
    model = MPBoostClassifier(n_estimators=100_000, warm_start=True, **parameters)
    delays = np.random.default_rng(0).uniform(0.001, 0.05, size=20)
    for delay in delays:
        done = getattr(model, "n_iter_", 0)

        class PressLater(Callback):
            def on_iteration_end(self, run, done=done, delay=delay):
                if run.iteration == done + 1:
                    threading.Timer(delay, press_ctrl_c).start()

        with pytest.warns(RuntimeWarning, match="interrupted"):
            model.set_params(callbacks=[PressLater()]).fit(X, y)
        assert model.n_iter_ > done
        assert_whole(model, X)
    whole = MPBoostClassifier(n_estimators=model.n_iter_, **parameters).fit(X, y)
    whole.stop_reason_ = "interrupted"
    assert describe_model(model) == describe_model(whole)


def test_interrupt_does_not_wait_for_a_slow_weak_learner(monkeypatch):
    X, y = make_integers()
    monkeypatch.setattr(SlowTree, "n_trained", 0)
    monkeypatch.setattr(SlowTree, "n_naps", 0)
    with pytest.warns(RuntimeWarning, match="interrupted after 4 iterations"):
        model = MPBoostClassifier(SlowTree(), **PARAMETERS).fit(X, y)
    assert SlowTree.n_naps < 400  # of 500
    assert_whole(model, X)


def test_interrupt_by_a_callback_counts_as_one():
    class Raise(Callback):
        def on_iteration_end(self, run):
            if run.iteration == 3:
                raise KeyboardInterrupt

    X, y = make_integers()
    with pytest.warns(RuntimeWarning, match="interrupted after 3 iterations"):
        model = MPBoostClassifier(**PARAMETERS, callbacks=[Raise()]).fit(X, y)
    assert_whole(model, X)


def test_interrupt_at_the_last_iteration_is_not_lost():
    X, y = make_integers()
    with pytest.warns(RuntimeWarning, match="interrupted after 25 iterations"):
        MPBoostClassifier(**PARAMETERS, callbacks=[PressAt(25)]).fit(X, y)


def test_interrupt_lets_callbacks_end():
    seen = []

    class Last(Callback):
        def on_fit_end(self, run):
            seen.append((run.iteration, run.stop_reason))

    X, y = make_integers()
    with pytest.warns(RuntimeWarning, match="interrupted"):
        MPBoostClassifier(**PARAMETERS, callbacks=[PressAt(3), Last()]).fit(X, y)
    assert seen == [(3, StopReason.INTERRUPTED)]


def test_interrupt_of_a_continued_fit_can_be_continued():
    X, y = make_integers()
    model = MPBoostClassifier(**PARAMETERS, callbacks=[PressAt(3)])
    for n_done in (3, 9):
        with pytest.warns(RuntimeWarning, match=f"after {n_done} iterations"):
            model.set_params(callbacks=[PressAt(n_done)]).fit(X, y)
    model.set_params(callbacks=None).fit(X, y)
    assert describe_model(model) == describe_model(MPBoostClassifier(**PARAMETERS).fit(X, y))


class PressTwice(Callback):
    """Interrupts at the third iteration, and again when the fit ends."""

    def on_iteration_end(self, run):
        if run.iteration == 3:
            press_ctrl_c()

    def on_fit_end(self, run):
        press_ctrl_c()


def test_second_interrupt_while_callbacks_end_keeps_the_model():
    X, y = make_integers()
    with pytest.warns(RuntimeWarning, match="interrupted after 3 iterations") as caught:
        model = MPBoostClassifier(**PARAMETERS, callbacks=[PressTwice()]).fit(X, y)
    assert len(caught) == 1
    assert_whole(model, X)


def test_second_interrupt_while_the_model_is_published_keeps_it(monkeypatch):
    X, y = make_integers()
    interrupt_in(monkeypatch, VoteCalibration, "__init__", call=1)
    with pytest.warns(RuntimeWarning, match="interrupted after 3 iterations"):
        model = MPBoostClassifier(**PARAMETERS, callbacks=[PressAt(3)]).fit(X, y)
    assert_whole(model, X)


def test_first_interrupt_while_the_model_is_published_keeps_it(monkeypatch):
    X, y = make_integers()
    interrupt_in(monkeypatch, VoteCalibration, "__init__", call=1)
    with pytest.warns(RuntimeWarning, match="interrupted after 25 iterations"):
        model = MPBoostClassifier(**PARAMETERS).fit(X, y)
    assert model.stop_reason_ == "n_estimators reached"
    assert_whole(model, X)


def test_interrupt_before_a_continued_fit_goes_on_keeps_the_model():
    class PressFirst(Callback):
        def on_fit_begin(self, run):
            press_ctrl_c()

    X, y = make_integers()
    model = MPBoostClassifier(**{**PARAMETERS, "n_estimators": 5}).fit(X, y)
    with pytest.warns(RuntimeWarning, match="interrupted after 5 iterations"):
        model.set_params(n_estimators=25, callbacks=[PressFirst()]).fit(X, y)
    assert_whole(model, X)


# What is not kept


@pytest.mark.parametrize(
    ("owner", "method"),
    [(ObservationSampler, "sample"), (MPBoostClassifier, "_make_callbacks")],
    ids=["first-iteration", "before-the-loop"],
)
def test_interrupt_before_anything_is_learned_leaves_the_model_alone(monkeypatch, owner, method):
    X, y = make_integers()
    model = MPBoostClassifier(**{**SMALL, "n_estimators": 3}).fit(X, y)
    memory = Memory(model, X)
    interrupt_in(monkeypatch, owner, method, call=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], y[:100])
    memory.assert_unchanged(model)


def test_interrupt_that_tears_an_iteration_apart_is_not_swallowed(monkeypatch):
    # Where signals are not ours to hold back, the exception may come anywhere.
    X, y = make_integers()

    def update(self, features, importances):
        raise KeyboardInterrupt

    model = MPBoostClassifier(**SMALL)
    monkeypatch.setattr(FeatureSampler, "update", update)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "n_iter_")


class AlarmError(Exception):
    """What a handler may raise in place of KeyboardInterrupt."""


def test_exception_of_another_handler_passes_unchanged():
    def alarm(signum, frame):
        raise AlarmError

    X, y = make_integers()
    model = MPBoostClassifier(**SMALL, callbacks=[PressAt(3)])
    signal.signal(signal.SIGINT, alarm)
    with pytest.raises(AlarmError):
        model.fit(X, y)
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is alarm
    assert not hasattr(model, "n_iter_")


# Handlers


def test_handler_comes_back_after_a_fit():
    MPBoostClassifier(**SMALL).fit(*make_integers())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handler_comes_back_after_a_fit_that_fails():
    with pytest.raises(RuntimeError, match="on purpose"):
        MPBoostClassifier(**SMALL, callbacks=[FailAt(3)]).fit(*make_integers())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handler_that_raises_nothing_is_called_and_the_fit_goes_on(monkeypatch):
    X, y = make_integers()
    calls = []

    def note(signum, frame):
        calls.append(signum)

    signal.signal(signal.SIGINT, note)
    interrupt_in(monkeypatch, BinaryTask, "update")
    model = MPBoostClassifier(**SMALL, stopping=None, callbacks=[PressAt(9), PressAt(25)]).fit(X, y)
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is note
    assert model.n_iter_ == 25
    assert calls == [signal.SIGINT] * 3  # both of one held section count once


def test_handler_that_raises_nothing_is_called_for_an_interrupt_of_the_publishing(monkeypatch):
    X, y = make_integers()
    calls = []
    signal.signal(signal.SIGINT, lambda signum, frame: calls.append(signum))
    interrupt_in(monkeypatch, VoteCalibration, "__init__", call=1)
    model = MPBoostClassifier(**SMALL, stopping=None).fit(X, y)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert model.stop_reason_ == "n_estimators reached"
    assert calls == [signal.SIGINT]


def test_handler_that_ignores_is_left_alone():
    X, y = make_integers()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    model = MPBoostClassifier(**SMALL, stopping=None, callbacks=[PressAt(3)]).fit(X, y)
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is signal.SIG_IGN
    assert model.n_iter_ == 25


def test_handler_of_a_callback_stays():
    def own(signum, frame):
        pass

    class Install(Callback):
        def on_iteration_end(self, run):
            signal.signal(signal.SIGINT, own)

    MPBoostClassifier(**SMALL, callbacks=[Install()]).fit(*make_integers())
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is own


def test_fit_in_another_thread_does_not_touch_signals(monkeypatch):
    seen = []

    class Look(Callback):
        def on_iteration_end(self, run):
            seen.append(signal.getsignal(signal.SIGINT))

    model = MPBoostClassifier(**SMALL, stopping=None, callbacks=[Look()])
    thread = threading.Thread(target=model.fit, args=make_integers())
    thread.start()
    thread.join()
    assert model.n_iter_ == 25
    assert set(seen) == {signal.default_int_handler}


# A fit inside a fit


def test_interrupt_of_a_weak_learner_that_boosts_ends_the_outer_fit():
    X, y = make_integers()

    class PressLate(Callback):
        n_seen = 0

        def on_iteration_end(self, run):
            PressLate.n_seen += 1
            if PressLate.n_seen == 33:  # the third iteration of the fourth weak learner
                press_ctrl_c()

    weak = MPBoostClassifier(n_estimators=10, max_samples=10, stopping=None, callbacks=[PressLate()])
    with pytest.warns(RuntimeWarning) as caught:
        model = MPBoostClassifier(weak, **PARAMETERS).fit(X, y)
    assert [str(warning.message)[:42] for warning in caught] == ["The fit was interrupted after 3 iterations"]
    assert_whole(model, X)


# A real one


SCRIPT = """
import json, os, signal, threading, warnings
import numpy as np
from mpboost import Callback, MPBoostClassifier

class Pressed(Callback):
    def on_iteration_end(self, run):
        self.run = run
        if run.iteration == 20:
            threading.Timer({delay}, self.press).start()
    def press(self):
        self.iteration = self.run.iteration
        os.kill(os.getpid(), signal.SIGINT)

rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 20)).astype(np.float32)
y = (X[:, 0] + X[:, 1] > rng.normal(size=len(X))).astype(int)
model = MPBoostClassifier(n_estimators=10**6, n_iter_no_change=10**6, n_jobs=1, random_state=0)
model.set_params(callbacks=[pressed := Pressed()], verbose={verbose})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(X, y)
print(json.dumps({{
    "pressed": pressed.iteration,
    "warnings": [str(warning.message) for warning in caught],
    "n_iter": model.n_iter_,
    "score": model.score(X, y),
    "train_score": model.train_scores_[model.best_iteration_ - 1],
    "reason": model.stop_reason_,
}}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("verbose", [0, 1], ids=["silent", "bar"])
def test_interrupt_of_a_large_fit_lets_at_most_the_iteration_end_that_it_came_in(verbose):
    # How many seconds that takes is measured by benchmarks.speed.interrupts.
    result = json.loads(run_script(SCRIPT.format(delay=0.03, verbose=verbose)).splitlines()[-1])
    assert result["reason"] == "interrupted"
    assert len(result["warnings"]) == 1
    # One more: the next iteration may have begun between the look at the run and the signal.
    assert 20 <= result["pressed"] <= result["n_iter"] <= result["pressed"] + 2
    assert result["score"] == result["train_score"]
