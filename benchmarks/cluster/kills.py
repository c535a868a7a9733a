"""Workers that are killed at random moments of fits: the model must keep its bits, or an error must come at once."""

import gc
import hashlib
import os
import random
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster.local import start_cluster
from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable

N_WORKERS, N_FITS, N_KILLS = 3, 5, 5
N_ROWS, N_COLUMNS, N_PARTITIONS, N_TREES = 100_000, 20, 6, 300
#: Seconds after which a fit counts as one that hangs, which ends the benchmark.
HANGS_AFTER = 300.0


def show_kills(folder: Path, *, quick: bool) -> None:
    """Kill workers during fits of both families; print and write a row for each fit."""
    from mpboost.dask import DaskMPBoostClassifier, DaskMPGradientBoostingClassifier

    n_fits, n_trees = (1, 20) if quick else (N_FITS, N_TREES)
    print_heading(f"{n_fits} fits of {n_trees} trees on {N_WORKERS} workers, {N_KILLS} kills in each")
    columns = ["estimator", "fit", "undisturbed, s", "seconds", "kills", "outcome", "left over", "memory, MB"]
    table = ResultTable(folder / "kills.csv", columns)
    for estimator in (DaskMPBoostClassifier, DaskMPGradientBoostingClassifier):
        with start_cluster(N_WORKERS) as client:
            model = estimator(n_estimators=n_trees, stopping=None, placement="sharded", random_state=0)
            expected = hash_model(model.fit(*make_arrays()))
            start = time.monotonic()
            model.fit(*make_arrays())  # once more: workers have imported everything
            usual = time.monotonic() - start
            for number in range(n_fits):
                cells = fit_and_kill(client, model, expected, usual, random.Random(number))
                table.add([estimator.__name__, f"{number}", f"{usual:.1f}", *cells])


def make_arrays() -> tuple[Any, Any]:
    """Make Dask arrays whose chunks can be made again."""
    import dask.array as da

    chunk = N_ROWS // N_PARTITIONS
    X = da.random.default_rng(0).normal(size=(chunk * N_PARTITIONS, N_COLUMNS), chunks=(chunk, N_COLUMNS))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int8)


def hash_model(model: Any) -> str:
    """Compute the SHA-256 of a model's file."""
    from mpboost import save_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mpb")
        save_model(model.to_local(), path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def fit_and_kill(client: Any, model: Any, expected: str, usual: float, moments: random.Random) -> list[str]:
    """Fit while workers are killed; tell how it went, and what is left of it on the cluster."""
    is_over = threading.Event()
    killer = Killer(client, is_over, usual, moments)
    watchdog = threading.Timer(HANGS_AFTER, lambda: os._exit(3))
    killer.start()
    watchdog.start()
    start = time.monotonic()
    try:
        outcome = "same bits" if hash_model(model.fit(*make_arrays())) == expected else "OTHER BITS"
    except Exception as error:
        outcome = f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - start
    is_over.set()
    killer.join()
    watchdog.cancel()
    left, memory = look_after(client)
    return [f"{seconds:.1f}", f"{killer.n_killed}", outcome, left, f"{memory:.0f}"]


class Killer(threading.Thread):
    """A thread that kills workers at random moments, until the fit is over.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    is_over : threading.Event
        Set when the fit is over.
    usual : float
        Seconds of a fit that is left alone.
    moments : random.Random
        Where random moments come from.
    """

    def __init__(self, client: Any, is_over: threading.Event, usual: float, moments: random.Random):
        super().__init__(daemon=True)
        self._client, self._is_over, self._moments = client, is_over, moments
        self._pauses = [moments.uniform(0, 1.5 * usual / N_KILLS) for _ in range(N_KILLS)]
        self.n_killed = 0

    def run(self) -> None:
        """Kill five workers, one after the other."""
        for pause in self._pauses:
            if self._is_over.wait(pause):
                return
            pids = sorted(nanny.pid for nanny in self._client.cluster.workers.values() if nanny.pid is not None)
            if pids and not self._is_over.is_set():
                os.kill(self._moments.choice(pids), signal.SIGKILL)
                self.n_killed += 1


def look_after(client: Any) -> tuple[str, float]:
    """Tell what is left on the cluster after a fit, and the most megabytes that a worker has."""
    from mpboost.dask.shard_task import count_running

    gc.collect()  # tracebacks of errors refer to futures
    deadline = time.monotonic() + 60
    while True:
        counts = client.run(count_running, on_error="ignore")
        running = {name: n for each in counts.values() for name, n in each.items() if n}
        tasks = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        is_clean = len(counts) == N_WORKERS and not running and not tasks
        if is_clean or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    left = "nothing" if is_clean else f"{running}, {tasks} tasks, {len(counts)} workers"
    return left, max(client.run(measure_memory, on_error="ignore").values())


def measure_memory() -> float:
    """Return the megabytes that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
