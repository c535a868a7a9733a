"""Measure how long a fit goes on after Ctrl-C: ``python -m benchmarks.speed.interrupts``.

Each fit is interrupted by a real signal at a random moment, and publishes what it has learned. The promise is 0.2
seconds. Shown are seconds that pass and seconds of the processor, which a busy machine changes less: medians and the
longest.
"""

import os
import random
import signal
import statistics
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common.command import make_parser, parse, print_machine
from benchmarks.common.output import print_heading
from benchmarks.common.results import show_table
from mpboost import Callback, MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier

ESTIMATORS: tuple[Callable[..., Any], ...] = (MPBoostClassifier, MPGradientBoostingClassifier, MPBoostRegressor)


class PressLater(Callback):
    """Sends the signal of Ctrl-C some time after the first iterations."""

    def __init__(self, delay: float):
        self._delay = delay
        self.passed = self.worked = 0.0

    def on_iteration_end(self, run: Any) -> None:
        """Start the timer after the twentieth iteration."""
        if run.iteration == 20:
            threading.Timer(self._delay, self._press).start()

    def _press(self) -> None:
        self.passed, self.worked = time.perf_counter(), time.process_time()
        os.kill(os.getpid(), signal.SIGINT)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--turns", type=int, default=20, help="interrupts of each (default: %(default)s)")
    options, folder = parse(parser, arguments, "speed")
    print_machine()
    n_rows, turns = (5_000, 2) if options.quick else (200_000, options.turns)
    print_heading(f"Seconds from Ctrl-C to the end of the fit: {n_rows} rows x 20, one thread, {turns} interrupts")
    X, y = make_table(n_rows)
    rows = []
    for estimator in ESTIMATORS:
        spent = [time_interrupt(estimator, X, y, turn) for turn in range(turns)]
        cells = [f"{choose(one[k] for one in spent):.3f}" for k in (0, 1) for choose in (statistics.median, max)]
        rows.append([estimator.__name__, *cells])
    show_table(folder / "interrupts.csv", ["estimator", "s", "longest s", "processor s", "longest processor s"], rows)
    return 0


def make_table(n_rows: int) -> tuple[Any, Any]:
    """Make a noisy table of two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] > rng.normal(size=n_rows)).astype(int)


def time_interrupt(estimator: Callable[..., Any], X: Any, y: Any, seed: int) -> tuple[float, float]:
    """Interrupt a fit; return the seconds that pass until it ends, and those that the processor works."""
    press = PressLater(random.Random(seed).uniform(0, 0.3))
    model = estimator(n_estimators=10**6, n_iter_no_change=10**6, n_jobs=1, random_state=seed, callbacks=[press])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it says that the fit was interrupted
        model.fit(X, y)
    if model.stop_reason_ != "interrupted":
        raise RuntimeError(f"The fit of {estimator.__name__} ended before the interrupt: {model.stop_reason_}.")
    return time.perf_counter() - press.passed, time.process_time() - press.worked


if __name__ == "__main__":
    sys.exit(main())
