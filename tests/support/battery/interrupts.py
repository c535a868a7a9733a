"""Fits that end early: by a time limit, by a callback, by Ctrl-C."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from mpboost import Callback

from .compare import assert_same_model


class Witness(Callback):
    """Notes when the fit began, and when each iteration ended."""

    def on_fit_begin(self, run):
        self.begin, self.ends = time.perf_counter(), []

    def on_iteration_end(self, run):
        self.ends.append(time.perf_counter())


class PressLater(Callback):
    """Presses Ctrl-C in the midst of some iteration after the fifth, and notes how many had ended."""

    def on_iteration_end(self, run):
        self.run = run
        if run.iteration == 5:
            threading.Timer(0.1, self.press).start()

    def press(self):
        self.iteration = self.run.iteration
        os.kill(os.getpid(), signal.SIGINT)  # to the process, as a terminal does


class StopAt(Callback):
    """Ends the fit at an iteration, or presses Ctrl-C there."""

    def __init__(self, iteration, interrupts=False):
        self.iteration = iteration
        self.interrupts = interrupts

    def on_iteration_end(self, run):
        if run.iteration == self.iteration and self.interrupts:
            raise KeyboardInterrupt
        return run.iteration == self.iteration


class InterruptBattery:
    """A fit that is ended early leaves the model of what it learned."""

    def test_time_limit_ends_the_fit(self):
        witness = Witness()
        model = self.subject.make(n_estimators=10**9, time_limit=0.2, callbacks=[witness])
        start = time.perf_counter()
        model.fit(*self.subject.make_data())
        assert time.perf_counter() - start >= 0.2
        # The iteration that the limit came in, and one more if it came between our look at the clock and the fit's.
        assert sum(end > witness.begin + 0.2 for end in witness.ends) <= 2
        assert "time" in model.stop_reason_
        shorter = self.subject.make(n_estimators=model.n_iter_).fit(*self.subject.make_data())
        assert_same_model(self.subject, model, shorter, self.subject.make_data()[0])

    @pytest.mark.parametrize("interrupts", [False, True], ids=["callback", "interrupt"])
    def test_fit_that_is_ended_leaves_the_model_of_a_shorter_one(self, interrupts):
        X, y = self.subject.make_data()
        model = self.subject.make(callbacks=[StopAt(12, interrupts)])
        if interrupts:
            with pytest.warns(RuntimeWarning, match="interrupted after 12 iterations"):
                model.fit(X, y)
        else:
            model.fit(X, y)
        assert model.stop_reason_ == ("interrupted" if interrupts else "stopped by StopAt")
        assert_same_model(self.subject, model, self.subject.make(n_estimators=12).fit(X, y), X)

    @pytest.mark.slow
    @pytest.mark.usefixtures("python_handler")
    def test_ctrl_c_lets_at_most_the_iteration_end_that_it_came_in(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50_000, 20)).astype(np.float32)
        y = self.subject.make_target(X[:, 0] + rng.normal(size=len(X)))
        pressed = PressLater()
        model = self.subject.make(n_estimators=10**9, max_samples=2000, max_features=10, callbacks=[pressed])
        with pytest.warns(RuntimeWarning, match="interrupted") as caught:
            model.fit(X, y)
        assert len(caught) == 1
        assert model.stop_reason_ == "interrupted"
        # One more: the next iteration may have begun between the look at the run and the signal.
        assert 5 <= pressed.iteration <= model.n_iter_ <= pressed.iteration + 2
        assert len(self.subject.run_stages(model, X[:10])) == model.n_iter_
