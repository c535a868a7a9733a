"""How long shards on two workers take for an exchange, beside calls of Dask's actors."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster.local import start_cluster
from benchmarks.common.output import print_heading
from benchmarks.common.results import show_table

#: Bytes that the second shard contributes, or that come back from an actor.
SIZES = {"nothing": 0, "10 kB": 10_000, "1 MB": 1_000_000}
N_CALLS = 2000
#: Numbers of shards to find out what each of them costs shard 0.
N_SHARDS = (2, 5, 9, 17)


def show_latency(folder: Path, *, quick: bool) -> None:
    """Print and write milliseconds of exchanges and of calls of actors."""
    n_calls = 50 if quick else N_CALLS
    print_heading("Two workers of one thread: milliseconds of an exchange, and of a call of an actor")
    rows = []
    with start_cluster(2) as client:
        workers = sorted(client.nthreads())
        for name, n_bytes in SIZES.items():
            n = n_calls if n_bytes < 100_000 else n_calls // 5
            for way, seconds in (
                ("exchange", time_exchanges(client, workers, n, n_bytes)[0]),
                ("actor", time_actor(client, workers, n, n_bytes)),
            ):
                milliseconds = np.percentile(seconds, [50, 95]) * 1000
                rows.append([way, name, f"{n}", *(f"{value:.2f}" for value in milliseconds)])
        show_table(folder / "latency.csv", ["way", "one way", "calls", "median", "95 %"], rows)
        print_heading("Shard 0 on one worker, the others on another: milliseconds of an exchange of nothing")
        rows = []
        for n_shards in N_SHARDS:
            seconds, busy = time_exchanges(client, [workers[0]] + workers[1:] * (n_shards - 1), n_calls // 2, 0)
            rows.append([f"{n_shards}", f"{np.median(seconds) * 1000:.2f}", f"{busy * 1000:.3f}"])
        show_table(folder / "hub.csv", ["shards", "median", "processor time of shard 0"], rows)


def time_exchanges(client: Any, workers: list[str], n_calls: int, n_bytes: int) -> Any:
    """Measure exchanges of shards on these workers: the seconds of each, and the processor time of shard 0 for one."""
    from mpboost.dask.driver import ShardSource, run_sharded

    sources = [ShardSource(rank, rank + 1, int, [rank], worker) for rank, worker in enumerate(workers)]
    return run_sharded(client, sources, Exchanges(n_calls, n_bytes))


class Exchanges:
    """What a shard runs: exchanges one after the other.

    Parameters
    ----------
    n_calls, n_bytes : int
        Number of exchanges, and what shard 1 contributes to each.
    """

    def __init__(self, n_calls: int, n_bytes: int):
        self.n_calls, self.n_bytes = n_calls, n_bytes

    def __call__(self, data: Any, shards: Any, callbacks: Sequence[Any]) -> Any:
        """Return the seconds of each exchange, and what the process has computed for one, in all of its threads."""
        part = np.zeros(self.n_bytes * (shards.rank > 0), dtype=np.uint8)
        shards.exchange(lambda: part, len)
        before = time.process_time()
        seconds = [time_call(lambda: shards.exchange(lambda: part, len)) for _ in range(self.n_calls)]
        busy = (time.process_time() - before) / self.n_calls
        return (seconds, busy) if shards.rank == 0 else None


class Actor:
    """An actor of Dask that gives back an array."""

    def give(self, n_bytes: int) -> Any:
        """Give so many bytes."""
        return np.zeros(n_bytes, dtype=np.uint8)


def time_actor(client: Any, workers: list[str], n_calls: int, n_bytes: int) -> Any:
    """Measure calls of an actor on one worker by a task on the other."""
    actor = client.submit(Actor, actor=True, workers=[workers[1]], pure=False).result()
    return client.submit(call_actor, actor, n_calls, n_bytes, workers=[workers[0]], pure=False).result()


def call_actor(actor: Any, n_calls: int, n_bytes: int) -> list[float]:
    """Return the seconds of each call."""
    return [time_call(lambda: actor.give(n_bytes).result()) for _ in range(n_calls)]


def time_call(function: Callable[[], Any]) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
