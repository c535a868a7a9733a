"""Threads and processes: the same bits for any number of threads, from any thread, and after a fork."""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from mpboost import Callback

from ..helpers import PATIENCE
from .compare import assert_equal_bytes, assert_same_model


class Count(Callback):
    """Counts the threads of this process during a fit."""

    def on_iteration_end(self, run):
        self.n_threads = len(os.listdir("/proc/self/task"))


def run_in_fork(work):
    """Run a function in a forked child; return its result."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=lambda: theirs.send(work()))
    child.start()
    theirs.close()  # a child that fails ends the wait
    try:
        assert ours.poll(PATIENCE), "the forked child hangs"
        result = ours.recv()
        child.join(PATIENCE)
    finally:
        child.kill()
    assert child.exitcode == 0
    return result


class ThreadBattery:
    """What threads and processes must not change."""

    def make_rows(self):
        """Make so many rows that every kernel has work for several threads."""
        X = np.random.default_rng(0).normal(size=(60_000, 4)).astype(np.float32)
        X[::100, 2] = np.nan
        return X, self.subject.make_target(X[:, 0] + X[:, 1])

    def make_model(self, **parameters):
        return self.subject.make(**{"n_estimators": 10, "max_samples": 300, **parameters})

    @pytest.mark.slow
    def test_n_jobs_does_not_change_the_model(self):
        X, y = self.make_rows()
        alone = self.make_model(n_jobs=1).fit(X, y)
        for n_jobs in (2, 4, None, -1):
            assert_same_model(self.subject, self.make_model(n_jobs=n_jobs).fit(X, y), alone, X)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_predictions_of_eight_threads_at_once_are_the_same(self, n_jobs):
        X, y = self.make_rows()
        model = self.make_model(n_jobs=n_jobs).fit(X, y)
        expected = self.subject.run(model, X)
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda part: self.subject.run(model, part), np.array_split(X, 8) * 4))
        for k in range(4):
            assert_equal_bytes(np.concatenate(results[8 * k : 8 * k + 8]), expected)

    @pytest.mark.slow
    def test_fits_of_several_threads_at_once_are_the_same(self):
        X, y = self.make_rows()
        expected = self.make_model().fit(X, y)
        with ThreadPoolExecutor(3) as pool:
            models = list(pool.map(lambda n_jobs: self.make_model(n_jobs=n_jobs).fit(X, y), [1, 2, 2]))
        for model in models:
            assert_same_model(self.subject, model, expected, X)

    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_forked_child_can_fit_and_predict(self):
        X, y = self.make_rows()
        model = self.make_model(n_jobs=2).fit(X, y)

        def fit_and_predict():
            again = self.make_model(n_jobs=2).fit(X, y)
            return [self.subject.run(each, X[:1000]) for each in (model, again)]

        outputs = run_in_fork(fit_and_predict)
        for output in outputs:
            assert_equal_bytes(output, self.subject.run(model, X[:1000]))


class ProcessorBattery(ThreadBattery):
    """What threads and processes must not change, and how many there are."""

    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs a system that ties processes to processors")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_n_jobs_of_all_processors_counts_those_that_the_process_may_use(self):
        X, y = self.make_rows()

        def count_added_threads():
            """Count the threads that a fit adds, on all processors and then on one of them."""
            before, added = len(os.listdir("/proc/self/task")), []
            for processors in (os.sched_getaffinity(0), [min(os.sched_getaffinity(0))]):
                os.sched_setaffinity(0, processors)
                count = Count()
                self.make_model(n_jobs=-1, callbacks=[count]).fit(X, y)
                added.append(count.n_threads - before)
            return added

        assert run_in_fork(count_added_threads) == [joblib.cpu_count() - 1, 0]
