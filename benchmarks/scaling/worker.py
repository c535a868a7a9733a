"""One fit in a process of its own: ``python -m benchmarks.scaling.worker MPBoost 10000 20 240`` prints JSON.

A fifth number is that of the trees, which all are grown then; without it ours stops by itself and others grow 100.
"""

import json
import signal
import sys
import time
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.common.measure import measure_growth
from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.data.made_up import make_table
from benchmarks.data.split_set import SplitSet

#: Rows to be judged by, and rows of a first fit that is not measured, for whatever is loaded only then.
N_TEST, N_WARM_UP = 10_000, 500


def make_split_set(n_rows: int, n_columns: int) -> SplitSet:
    """Make up a table, and fresh rows of the same kind to be judged by."""
    return SplitSet("made up", *make_table(n_rows, n_columns), *make_table(N_TEST, n_columns, seed=1)).encode()


def enter(name: str, split_set: SplitSet, n_trees: int | None) -> Any:
    """Make a model with its defaults, or with just so many trees."""
    exact = {"n_estimators": n_trees, "stopping": None} if n_trees and CONTESTANTS[name].is_ours else {}
    return CONTESTANTS[name].enter(split_set, Plan(n_trees or Plan().n_trees), **exact).model


def measure(name: str, n_rows: int, n_columns: int, limit: float, n_trees: int | None = None) -> dict[str, float]:
    """Fit with one thread; return what it came to. After ``limit`` seconds of the fit the system ends the process.

    Seconds are those of the processor, which are the same when others want it, too.
    """
    with threadpool_limits(1):
        warm_up = make_split_set(N_WARM_UP, min(n_columns, 20))
        enter(name, warm_up, n_trees).fit(warm_up.X_train, warm_up.y_train)

        split_set = make_split_set(n_rows, n_columns)
        model = enter(name, split_set, n_trees)
        spent: list[float] = []

        def fit() -> None:
            start = time.process_time()
            model.fit(split_set.X_train, split_set.y_train)
            spent.append(time.process_time() - start)

        signal.setitimer(signal.ITIMER_PROF, limit)
        peak_bytes, wall_seconds = measure_growth(fit)
        signal.setitimer(signal.ITIMER_PROF, 0)
        accuracy = float(model.score(split_set.X_test, split_set.y_test))
    return {"seconds": spent[0], "wall_seconds": wall_seconds, "peak_bytes": peak_bytes, "accuracy": accuracy}


if __name__ == "__main__":
    name, n_rows, n_columns, limit, *n_trees = sys.argv[1:]
    print(json.dumps(measure(name, int(n_rows), int(n_columns), float(limit), *map(int, n_trees))))
