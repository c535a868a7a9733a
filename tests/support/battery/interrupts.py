"""Fits that end early: by a time limit, by a callback, by Ctrl-C."""

import subprocess
import sys
import time

import joblib
import numpy as np
import pytest

from mpboost import Callback

from .compare import assert_same_model

#: Fits a model; says when it has begun, when it was left, and what is left.
SCRIPT = """
import signal, sys, time, warnings
import joblib, numpy as np
from mpboost import Callback

signal.signal(signal.SIGINT, signal.default_int_handler)  # processes in the background ignore it

class Ready(Callback):
    def on_iteration_end(self, run):
        if run.iteration == 5:
            print("ready", flush=True)

model, X, y = joblib.load(sys.argv[1])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.set_params(callbacks=[Ready()]).fit(X, y)
end = time.monotonic()
joblib.dump((end, model.set_params(callbacks=None), [str(warning.message) for warning in caught]), sys.argv[1])
"""


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
        start = time.perf_counter()
        model = self.subject.make(n_estimators=10**9, time_limit=0.2).fit(*self.subject.make_data())
        assert 0.2 <= time.perf_counter() - start < 5.0
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
    def test_ctrl_c_ends_the_fit_at_once(self, tmp_path, record_property):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50_000, 20)).astype(np.float32)
        y = self.subject.make_target(X[:, 0] + rng.normal(size=len(X)))
        path = tmp_path / "fit.joblib"
        joblib.dump((self.subject.make(n_estimators=10**9, max_samples=2000, max_features=10), X, y), path)
        with subprocess.Popen([sys.executable, "-c", SCRIPT, path], stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout.readline() == "ready\n"
                time.sleep(0.1)
                pressed = time.monotonic()
                process.send_signal(2)
                assert process.wait(60) == 0
            finally:
                process.kill()
        end, model, caught = joblib.load(path)
        record_property("seconds", end - pressed)
        assert end - pressed < 2.0  # 0.2 on a machine that has nothing else to do
        assert model.stop_reason_ == "interrupted"
        assert ["interrupted" in message for message in caught] == [True]
        assert len(self.subject.run_stages(model, X[:10])) == model.n_iter_ >= 5
