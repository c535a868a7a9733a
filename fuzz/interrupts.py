"""Presses Ctrl-C twice during fits, at random moments: ``python -m fuzz.interrupts --count 100 --seed 0``.

The first interrupt comes within 0.1 s after the first iteration, the second one 0 to 0.2 s later. A model that predicts
must be left, whatever the second one hits. Each fit has a process of its own.
"""

import argparse
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from mpboost import (
    Callback,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)

ESTIMATORS: list[type[Any]] = [
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
]
#: The longest time until the first interrupt, and from it to the second, in seconds.
MAX_DELAY, MAX_GAP = 0.1, 0.2
#: Seconds that a process may take for anything.
PATIENCE = 60.0


class Progress(Callback):
    """Tells the process that interrupts when the first iteration is done, and how many are."""

    def __init__(self, connection: Connection, n_done: Any):
        self._connection, self._n_done = connection, n_done

    def on_iteration_end(self, run: Any) -> bool | None:
        """Tell how many iterations are done."""
        self._n_done.value = run.iteration
        if run.iteration == 1:
            self._connection.send("begun")
        return None


def press_twice(estimator: type[Any], seed: int) -> str:
    """Interrupt a fit twice; return "kept" if a model with all iterations is left, else "lost"."""
    rng = np.random.default_rng(seed)
    context = multiprocessing.get_context("fork")  # the data and the modules are there at once
    ours, theirs = context.Pipe()
    n_done = context.Value("q", 0, lock=False)
    X = rng.normal(size=(int(10 ** rng.uniform(3, 5)), 10))
    y = (2 * X[:, 0] + rng.normal(size=len(X))).round()
    if estimator in (MPBoostClassifier, MPGradientBoostingClassifier):
        y = np.clip(y, 0, int(rng.integers(1, 4)))
    model = estimator(n_estimators=10**9, stopping=None, random_state=seed)
    process = context.Process(target=_fit, args=(model, X, y, theirs, n_done))
    process.start()
    try:
        if not ours.poll(PATIENCE) or ours.recv() != "begun":
            return "lost"
        time.sleep(rng.uniform(0.0, MAX_DELAY))
        os.kill(process.pid, signal.SIGINT)
        # Publishing takes a few hundredths of a second: every second gap is drawn to be short.
        time.sleep(MAX_GAP * rng.uniform() ** (3 if seed % 2 else 1))
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.01)
        ours.send("done")
        process.join(PATIENCE)
        n_kept = ours.recv() if ours.poll() else 0
    finally:
        process.kill()
        process.join()
    return "kept" if n_kept >= n_done.value > 0 else "lost"


def _fit(model: Any, X: Any, y: Any, connection: Connection, n_done: Any) -> None:
    """Fit until interrupted, wait for the second interrupt, then tell how many iterations the model has."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    try:
        model.set_params(callbacks=[Progress(connection, n_done)]).fit(X, y)
        connection.recv()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if hasattr(model, "n_iter_"):
            assert len(model.predict(X[:10])) == 10
            connection.send(model.n_iter_)


def run(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Press Ctrl-C twice in so many fits of each estimator; yield the name of the estimator and the outcome."""
    for estimator in ESTIMATORS:
        for number in range(seed, seed + count):
            yield estimator.__name__, press_twice(estimator, number)


def main() -> int:
    """Run what the command line asks for; print counts of outcomes; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="number of fits of each estimator")
    parser.add_argument("--seed", type=int, default=0, help="number of the first fit; the next ones follow")
    arguments = parser.parse_args()
    counts = Counter(run(arguments.count, arguments.seed))
    for name in (estimator.__name__ for estimator in ESTIMATORS):
        print(f"{name:29}" + ", ".join(f"{kind} {counts[name, kind]}" for kind in ("kept", "lost")))
    return int(any(kind == "lost" for _, kind in counts))


if __name__ == "__main__":
    sys.exit(main())
