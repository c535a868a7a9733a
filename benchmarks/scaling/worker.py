"""One fit in a process of its own: ``python -m benchmarks.scaling.worker MPBoost 10000 20 240`` prints JSON."""

import json
import signal
import sys
import time

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


def measure(name: str, n_rows: int, n_columns: int, limit: float) -> dict[str, float]:
    """Fit with one thread; return what it came to. After ``limit`` seconds of the fit the system ends the process.

    Seconds are those of the processor, which are the same when others want it, too.
    """
    with threadpool_limits(1):
        warm_up = make_split_set(N_WARM_UP, min(n_columns, 20))
        CONTESTANTS[name].enter(warm_up, Plan()).model.fit(warm_up.X_train, warm_up.y_train)

        split_set = make_split_set(n_rows, n_columns)
        model = CONTESTANTS[name].enter(split_set, Plan()).model
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
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))))
