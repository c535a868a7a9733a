"""Where the time of an iteration on two shards goes, and how many bytes are sent, by what is exchanged."""

import json
import pickle
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.cluster.local import start_cluster
from benchmarks.common.output import print_heading
from benchmarks.common.results import show_table

N_ROWS, N_COLUMNS, N_PARTITIONS, N_TREES = 2_000_000, 30, 8, 48
#: The part of an iteration that is not inside an exchange.
BETWEEN = "between exchanges"
#: Added to the name of a part whose results differ from shard to shard.
DEALT = ", dealt"
#: Columns of the table, all of an iteration: processor milliseconds of shard 0 for its own part and for joining all
#: parts, what else an exchange took, and kilobytes.
COLUMNS = [
    "estimator",
    "rows",
    "part",
    "calls",
    "own work",
    "joining",
    "waiting and sending",
    "kB in",
    "kB out to each",
]


def show_rounds(folder: Path, *, quick: bool) -> None:
    """Fit both families on two workers; print and write a row for each part of an iteration."""
    from mpboost.dask import DaskMPBoostClassifier, DaskMPGradientBoostingClassifier

    n_rows, n_trees = (40_000, 8) if quick else (N_ROWS, N_TREES)
    print_heading(f"{n_rows:,} rows x {N_COLUMNS} columns on two workers of one thread: milliseconds of an iteration")
    rows = []
    with start_cluster(2) as client:
        X, y = make_arrays(client, n_rows)
        for estimator in (DaskMPBoostClassifier, DaskMPGradientBoostingClassifier):
            model = estimator(n_estimators=n_trees, stopping=None, placement="sharded", random_state=0, n_jobs=1)
            timed, counted = (measure(model, X, y, counts_bytes=flag) for flag in (False, True))
            for part, (n_calls, seconds, work, joining) in sorted(timed["calls"].items(), key=lambda pair: -pair[1][1]):
                n_bytes = counted["bytes"].get(part, (0, 0))
                cells = [work, joining, seconds - work - joining]
                rows.append(
                    [estimator.__name__, f"{n_rows}", part, f"{n_calls / n_trees:.2f}"]
                    + [f"{1000 * value / n_trees:.2f}" for value in cells]
                    + [f"{value / n_trees / 1000:.1f}" for value in n_bytes]
                )
    show_table(folder / "rounds.csv", COLUMNS, rows)


def make_arrays(client: Any, n_rows: int) -> tuple[Any, Any]:
    """Make Dask arrays that stay in the memory of the workers."""
    import dask.array as da

    X = da.random.default_rng(0).normal(size=(n_rows, N_COLUMNS), chunks=(n_rows // N_PARTITIONS, N_COLUMNS))
    X = client.persist(X.astype(np.float32))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int8)


def measure(model: Any, X: Any, y: Any, *, counts_bytes: bool) -> dict[str, Any]:
    """Fit; return what shard 0 has measured."""
    from mpboost.dask import training

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "measured.json")
        measured = partial(fit_measured, training.fit_shard_here, str(path), counts_bytes)
        with mock.patch.object(training, "fit_shard_here", measured):
            model.fit(X, y)
        return json.loads(path.read_text(encoding="ascii"))


def fit_measured(
    fit: Callable[..., Any],
    path: str,
    counts_bytes: bool,
    estimator: Any,
    data: Any,
    shards: Any,
    callbacks: Sequence[Any],
) -> Any:
    """Do what a shard does, and measure it; shard 0 writes what it found to a file."""
    measured = MeasuredShards(shards, counts_bytes=counts_bytes)
    result = fit(estimator, data, measured, [*callbacks, measured.make_callback()])
    if shards.rank == 0:
        Path(path).write_text(json.dumps({"calls": measured.calls, "bytes": measured.bytes}), encoding="ascii")
    return result


class MeasuredShards:
    """Shards that measure the exchanges of a boosting loop, by the place in the code that asks for them.

    Parameters
    ----------
    shards : Shards
        The shards.
    counts_bytes : bool
        Whether to count bytes; that takes time, so times are then of no use.
    """

    def __init__(self, shards: Any, *, counts_bytes: bool):
        self.rank, self.size = shards.rank, shards.size
        self.first_row, self.end_row, self.n_rows = shards.first_row, shards.end_row, shards.n_rows
        self._shards, self._counts_bytes = shards, counts_bytes
        self._is_looping = False
        #: Processor seconds of the loop inside exchanges.
        self.busy = 0.0
        #: By place: number of calls, seconds, seconds of own work, seconds of joining.
        self.calls: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0.0])
        #: By place: bytes of the parts of other shards, and of results to each of them.
        self.bytes: dict[str, list[int]] = defaultdict(lambda: [0, 0])

    def make_callback(self) -> Any:
        """Make a callback that begins and ends the measurement with the loop."""
        from mpboost import Callback

        measured = self

        class Loop(Callback):
            """The time of the loop."""

            def on_fit_begin(self, run: Any) -> None:
                """Begin."""
                measured._is_looping = True
                self.start = time.thread_time()

            def on_fit_end(self, run: Any) -> None:
                """End: what is not in exchanges is the work of the shard itself."""
                measured._is_looping = False
                busy = time.thread_time() - self.start - measured.busy
                measured.calls[BETWEEN] = [run.iteration, busy, busy, 0.0]

        return Loop()

    def exchange(self, make_part: Callable[[], Any], join: Callable[[Sequence[Any]], Any]) -> Any:
        """Exchange, and measure it."""
        return self._measure(self._shards.exchange, make_part, join, is_deal=False)

    def deal(self, make_part: Callable[[], Any], join: Callable[[Sequence[Any]], Any], *, keeps: bool = False) -> Any:
        """Deal, and measure it."""
        return self._measure(partial(self._shards.deal, keeps=keeps), make_part, join, is_deal=True)

    def _measure(self, call: Callable[..., Any], make_part: Any, join: Any, *, is_deal: bool) -> Any:
        if not self._is_looping:
            return call(make_part, join)
        place = name_caller() + DEALT * is_deal
        work = joining = 0.0

        def make_timed() -> Any:
            nonlocal work
            start = time.thread_time()
            part = make_part()
            work = time.thread_time() - start
            return part

        def join_timed(parts: Sequence[Any]) -> Any:
            nonlocal joining
            start = time.thread_time()
            result = join(parts)
            joining = time.thread_time() - start
            if self._counts_bytes:
                counted = self.bytes[place]
                counted[0] += sum(len(pickle.dumps(part)) for part in parts[1:])
                counted[1] += len(pickle.dumps(result[1] if is_deal else result))
            return result

        start, busy = time.perf_counter(), time.thread_time()
        result = call(make_timed, join_timed)
        self.busy += time.thread_time() - busy
        sums = self.calls[place]
        for i, value in enumerate((1, time.perf_counter() - start, work, joining)):
            sums[i] += value
        return result


def name_caller() -> str:
    """Name the function of mpboost that asks for an exchange."""
    frame = sys._getframe(2)
    while frame.f_back is not None and Path(frame.f_code.co_filename).stem in ("rounds", "_shards"):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
