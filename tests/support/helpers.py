"""What several files of tests use: small data, ways to compare models, callbacks, and fresh processes."""

import subprocess
import sys
import time

import joblib
import numpy as np
from sklearn.base import is_regressor
from sklearn.datasets import make_classification

from mpboost import Callback, MPBoostClassifier

#: Parameters of a model that is fitted in a moment.
SMALL = {"n_estimators": 25, "max_samples": 40, "max_features": 3, "random_state": 0}


def make_integers(n_samples=300, seed=0):
    """Make whole numbers that every numeric type can hold, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, size=(n_samples, 5))
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 30, size=n_samples) > 72).astype(int)
    return X, y


def make_hard():
    """Make a table whose features count only together, and most not at all: small minipatches learn little of it."""
    return make_classification(
        1600, 60, n_informative=6, n_redundant=5, n_clusters_per_class=16, class_sep=1.5, flip_y=0.0, random_state=0
    )


def make_model(callbacks, **parameters):
    """Make a classifier of ten iterations that callbacks watch."""
    defaults = {"n_estimators": 10, "stopping": None, "max_features": 5, "random_state": 0}
    return MPBoostClassifier(**{**defaults, **parameters}, callbacks=callbacks)


def as_votes(decisions, learning_rate):
    """Turn decision functions into the votes that they are made of: half a vote stands for a tie."""
    votes = np.asarray(decisions) / learning_rate
    return np.where(np.abs(votes) < 0.75, 0.0, np.rint(votes))


def make_read_only(table):
    table = table.copy()
    table.flags.writeable = False
    return table


def describe_model(model):
    """Hash each thing that a fit leaves on a model, so that two models can be compared byte for byte."""
    parameters = model.get_params(deep=False)
    return {name: joblib.hash(value) for name, value in vars(model).items() if name not in {*parameters, "_run"}}


def describe_training(model):
    """Hash what a fit learned and judged, but for scores and calibration, in which class weights do not count."""
    scores = {
        "train_scores_",
        "oop_scores_",
        "oop_score_",
        "oop_interval_",
        "constant_score_",
        "oop_losses_",
        "_calibration",
    }
    return {name: value for name, value in describe_model(model).items() if name not in scores}


class Memory:
    """Remembers all that an estimator holds, and what it predicts for X, to compare later."""

    def __init__(self, model, X):
        self.held = dict(vars(model))
        self.X = X
        self.outputs = self.run(model)
        self.n_features_in_ = model.n_features_in_

    def assert_unchanged(self, model):
        now = vars(model)
        assert now.keys() == self.held.keys()
        assert [name for name in now if now[name] is not self.held[name]] == []
        np.testing.assert_array_equal(self.run(model), self.outputs)
        assert model.n_features_in_ == self.n_features_in_

    def run(self, model):
        """Give the raw output of a model."""
        return (model.predict if is_regressor(model) else model.decision_function)(self.X)


class PatchKeeper(Callback):
    """Keeps the rows and features of each minipatch."""

    def on_fit_begin(self, run):
        self.rows, self.features = [], []

    def on_iteration_end(self, run):
        self.rows.append(run.rows.copy())
        self.features.append(run.features.copy())


class StopAt(Callback):
    """Ends the fit at an iteration."""

    def __init__(self, iteration, answer=True):
        self.iteration = iteration
        self.answer = answer

    def on_iteration_end(self, run):
        return self.answer if run.iteration == self.iteration else None


class FailAt(Callback):
    """Raises at an iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def on_iteration_end(self, run):
        if run.iteration == self.iteration:
            raise RuntimeError("broken on purpose")


class Sleep(Callback):
    """Makes each iteration take a while."""

    def on_iteration_end(self, run):
        time.sleep(0.02)


#: How long to wait for another process: only one that hangs takes so long, however busy the machine is.
PATIENCE = 1200


def run_script(script, command=(sys.executable, "-c")):
    """Run a script in a fresh process; return what it prints."""
    return subprocess.run([*command, script], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout


def run_short_of_threads(script):
    """Run a script in a fresh process of Linux where two threads, the main one included, are all that can run.

    Each further thread has a stack of 1 GiB, and there is room for one and a half.
    """
    limit = """
import resource
import mpboost
from mpboost import *  # now, since importing takes memory
with open("/proc/self/statm") as statm:
    room = int(statm.read().split()[0]) * resource.getpagesize() + (3 << 29)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
"""
    command = ["sh", "-c", 'ulimit -S -s 1048576 && exec "$0" -c "$1"', sys.executable]
    return run_script(limit + script, command)
