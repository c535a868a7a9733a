"""One measurement, in a process of its own: ``python -m benchmarks.datasets.worker '{"task": ...}'`` prints figures."""

import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class Watch:
    """Measures seconds, processor seconds, and the peak of memory that is not a view of a file."""

    def __init__(self) -> None:
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watch":
        self.before = self.peak = read_own_bytes()
        self._start, self._start_cpu = time.perf_counter(), time.process_time()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
        self.cpu_seconds = time.process_time() - self._start_cpu
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, read_own_bytes())

    def _look(self) -> None:
        while not self._stop.wait(0.02):
            self.peak = max(self.peak, read_own_bytes())

    @property
    def figures(self) -> dict[str, float]:
        """What was measured."""
        return {
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_bytes": self.peak - self.before,
        }


def read_own_bytes() -> int:
    """Read how much memory this process has that is not a view of a file. Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:")))


def build(folder: str, file: str, n_jobs: int) -> dict[str, float]:
    """Build a dataset from Parquet files."""
    import pyarrow  # noqa: F401 - loaded before anything is measured

    from mpboost import BinnedDataset

    with Watch() as watch:
        data = BinnedDataset.from_parquet(folder, target="y", file=file, n_jobs=n_jobs)
    return {**watch.figures, "rows": data.n_rows, "features": data.n_features, "file_bytes": data.n_bytes}


def build_from_batches(n_rows: int, n_columns: int, file: str, n_jobs: int) -> dict[str, float]:
    """Build a dataset from batches that are made up as they are read."""
    from benchmarks.datasets.made_up import make_batches
    from mpboost import BinnedDataset

    with Watch() as watch:
        data = BinnedDataset.from_batches(
            lambda: (table for table, _ in make_batches(n_rows, n_columns)), target="y", file=file, n_jobs=n_jobs
        )
    return {**watch.figures, "rows": data.n_rows, "features": data.n_features, "file_bytes": data.n_bytes}


def fit(file: str, estimator: str, n_trees: int, n_jobs: int, test: str | None = None) -> dict[str, float]:
    """Train on a dataset; tell the seconds of an iteration, after the first ones, which warm the cache."""
    import mpboost

    data = mpboost.BinnedDataset.open(file)
    clock = make_clock(mpboost)
    model = getattr(mpboost, estimator)(
        n_estimators=n_trees, stopping=None, random_state=0, n_jobs=n_jobs, callbacks=[clock]
    )
    with Watch() as watch:
        model.fit(data)
    figures = {**watch.figures, **clock.figures, "score": model.oop_score_}
    if test is not None:
        figures["test_score"] = model.set_params(callbacks=None).score(*load_test(test))
    return figures


def make_clock(mpboost: Any) -> Any:
    class Clock(mpboost.Callback):  # type: ignore[misc, name-defined]
        """Notes when iterations end."""

        def on_fit_begin(self, run: Any) -> None:
            self.times = [time.perf_counter()]

        def on_iteration_end(self, run: Any) -> None:
            self.times.append(time.perf_counter())

        @property
        def figures(self) -> dict[str, float]:
            steps = np.diff(self.times)
            return {"first_seconds": float(steps[0]), "iteration_seconds": float(steps[len(steps) // 3 :].mean())}

    return Clock()


def load_test(path: str) -> tuple[Any, Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return table.drop_columns("y"), table["y"].to_numpy()


def fit_memory(n_rows: int, n_columns: int, file: str, estimator: str, n_trees: int, n_jobs: int) -> dict[str, float]:
    """Train on the same rows from memory and from a file, in turns; tell both, and whether the models are the same."""
    import hashlib
    import tempfile

    import mpboost
    from benchmarks.datasets.made_up import make_batches

    X, y = np.empty((n_rows, n_columns), dtype=np.float32, order="F"), np.empty(n_rows, dtype=np.int8)
    start = 0
    for table, _ in make_batches(n_rows, n_columns):
        stop = start + len(table)
        for j in range(n_columns):
            X[start:stop, j] = table.column(j).to_numpy()
        y[start:stop] = table["y"].to_numpy()
        start = stop
    data = mpboost.BinnedDataset.from_arrays(X, y, file=file)
    seconds: dict[str, list[float]] = {"memory": [], "mapped": []}
    hashes = set()
    for _ in range(3):
        for name, arguments in (("memory", (X, y)), ("mapped", (data,))):
            clock = make_clock(mpboost)
            model = getattr(mpboost, estimator)(
                n_estimators=n_trees, stopping=None, random_state=0, n_jobs=n_jobs, callbacks=[clock]
            ).fit(*arguments)
            seconds[name].append(clock.figures["iteration_seconds"])
            with tempfile.NamedTemporaryFile() as saved:
                mpboost.save_model(model.set_params(callbacks=None), saved.name)
                hashes.add(hashlib.sha256(Path(saved.name).read_bytes()).hexdigest())
    return {
        "memory_seconds": float(np.median(seconds["memory"])),
        "mapped_seconds": float(np.median(seconds["mapped"])),
        "ratio": float(np.median(np.array(seconds["mapped"]) / np.array(seconds["memory"]))),
        "models": len(hashes),
    }


def build_peers(n_rows: int, n_columns: int, library: str, n_jobs: int) -> dict[str, float]:
    """Make the binned table of a library from an array of single precision in memory."""
    from benchmarks.datasets.made_up import make_batches

    X, y = np.empty((n_rows, n_columns), dtype=np.float32), np.empty(n_rows, dtype=np.int8)
    start = 0
    for table, _ in make_batches(n_rows, n_columns):
        for j in range(n_columns):
            X[start : start + len(table), j] = table.column(j).to_numpy()
        y[start : start + len(table)] = table["y"].to_numpy()
        start += len(table)
    call: Callable[[], object]
    if library == "LightGBM":
        import lightgbm

        parameters = {"num_threads": n_jobs, "verbose": -1}
        call = lambda: lightgbm.Dataset(X, y, params=parameters).construct()  # noqa: E731
    elif library == "XGBoost":
        import xgboost

        call = lambda: xgboost.QuantileDMatrix(X, y, nthread=n_jobs, max_bin=255)  # noqa: E731
    else:
        from mpboost import BinnedDataset

        call = lambda: BinnedDataset.from_arrays(X, y, n_jobs=n_jobs)  # noqa: E731
    with Watch() as watch:
        made = call()
    del made
    return watch.figures


def fit_lightgbm(folder: str, n_rows: int, n_trees: int, n_jobs: int, test: str) -> dict[str, float]:
    """Train LightGBM on the first rows of Parquet files, with words as categories."""
    import lightgbm
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables, n_read = [], 0
    for path in sorted(Path(folder).glob("*.parquet")):
        tables.append(pq.read_table(path).slice(0, n_rows - n_read))
        n_read += len(tables[-1])
        if n_read >= n_rows:
            break

    def prepare(table: Any) -> Any:
        words = [field.name for field in table.schema if pa.types.is_string(field.type)]
        return table.drop_columns("y").to_pandas().astype(dict.fromkeys(words, "category"))

    whole = pa.concat_tables(tables)
    X, y = prepare(whole), whole["y"].to_numpy()
    model = lightgbm.LGBMClassifier(n_estimators=n_trees, n_jobs=n_jobs, verbose=-1)
    with Watch() as watch:
        model.fit(X, y)
    table = pq.read_table(test)
    new = prepare(table)
    for name in new.columns[new.dtypes == "category"]:
        new[name] = new[name].cat.set_categories(X[name].cat.categories)
    return {**watch.figures, "rows": len(y), "test_score": float(model.score(new, table["y"].to_numpy()))}


TASKS = {each.__name__: each for each in (build, build_from_batches, fit, fit_memory, build_peers, fit_lightgbm)}


def main() -> None:
    arguments = json.loads(sys.argv[1])
    limit = arguments.pop("limit", None)
    if limit is not None:
        enter_cgroup(limit)
    figures = TASKS[arguments.pop("task")](**arguments)
    figures["max_rss"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(figures))


def enter_cgroup(limit: int) -> None:
    """Put this process under a limit of memory, which counts its pages of files, too; needs the right to do so."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root, f"mpboost-{os.getpid()}")
        try:
            group.mkdir()
            (group / name).write_text(str(limit))
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            continue
        return
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


if __name__ == "__main__":
    main()
