"""Measure predictions on a Dask cluster beside local batches: ``python -m benchmarks.cluster.prediction``.

Two workers of one thread predict an array that is in their memory, and one process with two threads predicts batches
of the same size, in turns, on the same two processors. Processor seconds are told, too: on a machine that has other
work to do, they vary less than those on the wall.
"""

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster.rounds import N_COLUMNS, make_arrays
from benchmarks.common.command import make_parser, parse, run_on
from benchmarks.common.output import print_heading
from benchmarks.common.results import show_table

N_ROWS, N_TREES, N_TURNS = 10_000_000, 300, 3
N_TRAIN, BATCH_ROWS, N_BATCHES = 100_000, 1 << 18, 8


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS, help=f"rows to predict; by default {N_ROWS}")
    parser.add_argument("--turns", type=int, default=N_TURNS, help=f"by default {N_TURNS}")
    options, folder = parse(parser, arguments, "cluster")
    n_rows, n_turns, n_trees = (20_000, 1, 10) if options.quick else (options.rows, options.turns, N_TREES)
    return run_on(lambda: None, lambda _: measure(n_rows, n_turns, n_trees, folder / "prediction.csv"))


def measure(n_rows: int, n_turns: int, n_trees: int, path: Path) -> None:
    """Let a cluster and a process take turns; print and write a row for each family."""
    from distributed import Client, LocalCluster

    print_heading(f"{n_rows:,} rows x {N_COLUMNS} columns, {n_trees} trees: medians of {n_turns} turns, seconds")
    columns = ["estimator", "rows", "local", "cluster", "ratio", "local processor", "cluster processor", "its ratio"]
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        rows = [
            take_turns(client, name, n_rows, n_turns, n_trees)
            for name in ("MPGradientBoostingClassifier", "MPBoostClassifier")
        ]
    show_table(path, columns, rows)


def take_turns(client: Any, name: str, n_rows: int, n_turns: int, n_trees: int) -> list[str]:
    """Predict by a process and by a cluster, in turns."""
    import dask.array as da
    from distributed import wait

    from mpboost import dask as mpboost_dask

    make = getattr(mpboost_dask, f"Dask{name}")
    model = make(n_estimators=n_trees, stopping=None, random_state=0, client=client)
    model.fit(*make_arrays(client, min(N_TRAIN, n_rows)))
    local = model.to_local().set_params(n_jobs=2)
    step = min(BATCH_ROWS, n_rows // 2)
    table = da.random.default_rng(0).normal(size=(n_rows, N_COLUMNS), chunks=(step, -1)).astype(np.float32).persist()
    wait(table)
    # More than caches hold.
    batches = np.random.default_rng(0).normal(size=(N_BATCHES, step, N_COLUMNS)).astype(np.float32)
    model.predict_proba(table[:step]).compute()  # not measured: the model is sent to the workers
    turns = []
    for _ in range(n_turns):
        start = time.perf_counter(), time.process_time()
        for number, first in enumerate(range(0, n_rows, step)):
            local.predict_proba(batches[number % N_BATCHES, : min(step, n_rows - first)])
        here = time.perf_counter() - start[0], time.process_time() - start[1]
        used, begin = sum(client.run(time.process_time).values()), time.perf_counter()
        shares = model.predict_proba(table).persist()
        wait(shares)
        there = time.perf_counter() - begin, sum(client.run(time.process_time).values()) - used
        del shares
        turns.append((here[0], there[0], there[0] / here[0], here[1], there[1], there[1] / here[1]))
    return [name, str(n_rows), *(f"{statistics.median(values):.2f}" for values in zip(*turns, strict=True))]


if __name__ == "__main__":
    sys.exit(main())
