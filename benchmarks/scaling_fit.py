"""One fit in a process of its own: ``python -m benchmarks.scaling_fit MPBoost 10000 20 240`` prints a line of JSON."""

import json
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.data import Problem, make_table
from benchmarks.measure import measure_growth
from benchmarks.peers import PEERS, Entry, Plan, encode, find_boosters
from mpboost import MPBoostClassifier, MPGradientBoostingClassifier

#: Rows to be judged by, and rows of a first fit that is not measured, for whatever is loaded only then.
N_TEST, N_WARM_UP = 10_000, 500


def enter(make: Callable[..., Any], problem: Problem, plan: Plan) -> Entry:
    """Enter an estimator with its defaults, which for a random forest are 100 trees."""
    return Entry(make(random_state=plan.seed, n_jobs=plan.n_threads), problem.X_train, problem.X_test)


#: How a method enters; those that are not installed are left out.
METHODS: dict[str, Callable[[Problem, Plan], Entry]] = {
    "MPBoost": partial(enter, MPBoostClassifier),
    "MPGradientBoosting": partial(enter, MPGradientBoostingClassifier),
    **{name: PEERS[name].enter for name in find_boosters()},
    "RandomForest": partial(enter, RandomForestClassifier),
}


def find_version(method: str) -> str:
    """Tell the version of the library that a method is of."""
    if method in PEERS:
        return PEERS[method].version
    return version("scikit-learn" if method == "RandomForest" else "mpboost")


def make_problem(n_rows: int, n_columns: int) -> Problem:
    """Make up a table, and fresh rows of the same kind to be judged by."""
    return encode(Problem("made up", *make_table(n_rows, n_columns), *make_table(N_TEST, n_columns, seed=1)))


def measure(method: str, n_rows: int, n_columns: int, limit: float) -> dict[str, float]:
    """Fit with one thread; return what it came to. After ``limit`` seconds of the fit the system ends the process.

    Seconds are those of the processor, which are the same when others want it, too.
    """
    with threadpool_limits(1):
        warm_up = make_problem(N_WARM_UP, min(n_columns, 20))
        METHODS[method](warm_up, Plan()).model.fit(warm_up.X_train, warm_up.y_train)

        problem = make_problem(n_rows, n_columns)
        model = METHODS[method](problem, Plan()).model
        spent: list[float] = []

        def fit() -> None:
            start = time.process_time()
            model.fit(problem.X_train, problem.y_train)
            spent.append(time.process_time() - start)

        signal.setitimer(signal.ITIMER_PROF, limit)
        peak_bytes, wall_seconds = measure_growth(fit)
        signal.setitimer(signal.ITIMER_PROF, 0)
        accuracy = float(model.score(problem.X_test, problem.y_test))
    return {"seconds": spent[0], "wall_seconds": wall_seconds, "peak_bytes": peak_bytes, "accuracy": accuracy}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))))
