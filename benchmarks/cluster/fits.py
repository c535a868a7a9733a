"""Whole fits on shards, two workers of one thread, beside local ones with two threads on the same rows; in turns."""

import hashlib
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.cluster.local import start_cluster
from benchmarks.cluster.rounds import N_COLUMNS, make_arrays
from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable

#: Rows, trees, placement, and how often each fit is repeated: all of it takes about four minutes.
SIZES = ((200_000, 400, "one", 5), (200_000, 400, "sharded", 3), (10_000_000, 100, "sharded", 3))
QUICK_SIZES = ((40_000, 8, "one", 1), (40_000, 8, "sharded", 1))
#: Rows of fits that are not measured: enough for two shards.
N_WARM_UP = 40_000
COLUMNS = [
    "estimator",
    "rows",
    "trees",
    "placement",
    "local, s",
    "of it before trees, s",
    "cluster, s",
    "of it before trees, s ",
    "ratio",
    "ratio of trees",
    "same model",
]


def show_fits(folder: Path, *, quick: bool) -> None:
    """Fit both families, locally and on two workers; print and write a row for each size and placement."""
    from mpboost import MPBoostClassifier, MPGradientBoostingClassifier
    from mpboost.dask import DaskMPBoostClassifier, DaskMPGradientBoostingClassifier

    pairs = (
        (MPBoostClassifier, DaskMPBoostClassifier),
        (MPGradientBoostingClassifier, DaskMPGradientBoostingClassifier),
    )
    print_heading(f"Whole fits, {N_COLUMNS} columns: two workers of one thread beside two threads, medians")
    table = ResultTable(folder / "fits.csv", COLUMNS)
    for n_rows, n_trees, placement, n_turns in QUICK_SIZES if quick else SIZES:
        with start_cluster(2) as client:
            X, y = make_arrays(client, n_rows)
            y = client.persist(y)
            here = np.asarray(X.compute()), np.asarray(y.compute())
            warm_up(client, [cluster_class for _, cluster_class in pairs], placement)
            for local_class, cluster_class in pairs:
                params = {"n_estimators": n_trees, "stopping": None, "random_state": 0}
                local = local_class(**params, n_jobs=2)
                cluster = cluster_class(**params, placement=placement)
                turns = [(measure(local, *here), measure(cluster, X, y)) for _ in range(n_turns)]
                models = local, cluster.to_local().set_params(n_jobs=2)
                is_same = "yes" if digest(models[0]) == digest(models[1]) else "no"
                seconds = [median(times[k] for times in turns) for k in range(2)]
                starts = [
                    median(measure_start(model, data) for _ in range(n_turns))
                    for model, data in ((local, here), (cluster, (X, y)))
                ]
                trees = [total - start for total, start in zip(seconds, starts, strict=True)]
                ratios = seconds[1] / seconds[0], trees[1] / trees[0]
                numbers = [f"{number:.2f}" for number in (seconds[0], starts[0], seconds[1], starts[1], *ratios)]
                table.add([local_class.__name__, f"{n_rows}", f"{n_trees}", placement, *numbers, is_same])


def warm_up(client: Any, classes: list[Any], placement: str) -> None:
    """Let workers import what they need before anything is measured, as this process has."""
    X, y = make_arrays(client, N_WARM_UP)
    for each in classes:
        each(n_estimators=2, placement=placement).fit(X, y)


def measure(model: Any, X: Any, y: Any) -> float:
    """Measure the seconds of a fit."""
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def measure_start(model: Any, data: tuple[Any, Any]) -> float:
    """Measure the seconds of a fit of one tree: what a fit takes apart from its trees."""
    params = model.get_params(deep=False)
    return measure(type(model)(**params | {"n_estimators": 1}), *data)


def digest(model: Any) -> str:
    """Hash the file of a model."""
    from mpboost import save_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mpb")
        save_model(model, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
