"""Compare models of clusters with that of one machine, byte for byte: ``python -m benchmarks.cluster.same_bits``.

Every task is trained on one worker and on three, on all rows in one place and on shards of them, with 1 to 7 partitions
that are cut anywhere, empty ones among them. A model file must have the SHA-256 of a local fit of the same rows.
"""

import hashlib
import sys
import tempfile
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common.command import make_parser, parse, run_on
from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable
from mpboost import save_model

N_ROWS = 40_000
#: Rows that partitions begin with; the same row twice makes an empty one.
CUTS: dict[int, list[int]] = {
    1: [],
    2: [17_001],
    3: [5, 30_000],
    5: [100, 100, 20_000, 39_999],
    7: [0, 9_000, 9_000, 16_384, 33_333, 40_000],
}
PARAMS = {"n_estimators": 6, "stopping": None, "random_state": 0}
PLACEMENTS = ("one", "sharded")


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    options, folder = parse(parser, arguments, "cluster")
    workers, cuts, n_tasks = ((1,), [3], 1) if options.quick else ((1, 3), list(CUTS), None)
    path, differences = folder / "same_bits.csv", list[str]()
    code = run_on(lambda: None, lambda _: differences.extend(compare(workers, cuts, n_tasks, path)))
    return code or int(bool(differences))


def compare(workers: tuple[int, ...], cuts: list[int], n_tasks: int | None, path: Path) -> list[str]:
    """Train all models; print and write a row for each task and number of workers; list what differs."""
    from distributed import Client, LocalCluster

    print_heading(f"Models of {N_ROWS} rows on clusters beside one machine: SHA-256 of their files")
    table = ResultTable(path, ["task", "workers", "partitions", "fits", "same", "SHA-256"])
    differences = []
    for n_workers in workers:
        options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1"}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            for task, (name, params, frame) in islice(make_tasks().items(), n_tasks):
                expected = fit_locally(name, params, frame)
                found = [
                    fit_on_cluster(client, name, params, frame, CUTS[each], placement)
                    for each in cuts
                    for placement in PLACEMENTS
                ]
                differences += [task for each in found if each != expected]
                partitions = ", ".join(map(str, cuts))
                table.add(
                    [task, str(n_workers), partitions, str(len(found)), str(found.count(expected)), expected[:16]]
                )
    return differences


def make_tasks() -> dict[str, tuple[str, dict[str, Any], pd.DataFrame]]:
    """Make a table for each task, with numbers, words, dates, missing values, and weights of which some are 0."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N_ROWS, 4)).round(2), columns=list("abcd"))
    table["word"] = rng.choice(["red", "green", "blue"], N_ROWS)
    table["day"] = pd.Timestamp("2024-02-27") + pd.to_timedelta(rng.integers(0, 90, N_ROWS), unit="D")
    values = table["a"] + table["b"] * table["c"] + (table["word"] == "red") + rng.normal(size=N_ROWS) / 4
    table.loc[rng.random(N_ROWS) < 0.05, "a"] = np.nan
    table["weight"] = rng.integers(0, 9, N_ROWS)
    two, four = np.where(values > 0.5, "yes", "no"), np.digitize(values, np.quantile(values, [0.25, 0.5, 0.75]))
    return {
        "votes, two classes": ("MPBoostClassifier", {}, table.assign(y=two)),
        "votes, four classes": ("MPBoostClassifier", {}, table.assign(y=four)),
        "numbers": ("MPBoostRegressor", {}, table.assign(y=values)),
        "gradient, two classes": ("MPGradientBoostingClassifier", {}, table.assign(y=two)),
        "gradient, four classes": ("MPGradientBoostingClassifier", {}, table.assign(y=four)),
        "gradient, numbers": ("MPGradientBoostingRegressor", {}, table.assign(y=values)),
        "gradient, Poisson": ("MPGradientBoostingRegressor", {"loss": "poisson"}, table.assign(y=np.abs(values))),
    }


def fit_locally(name: str, params: dict[str, Any], frame: pd.DataFrame) -> str:
    """Train in this process, on the frame as Dask has it."""
    import dask.dataframe as dd

    import mpboost

    whole = dd.from_pandas(frame, npartitions=1).compute()
    model = getattr(mpboost, name)(**PARAMS, **params)
    return hash_model(model.fit(whole.drop(columns=["y", "weight"]), whole["y"], whole["weight"]))


def fit_on_cluster(
    client: Any, name: str, params: dict[str, Any], frame: pd.DataFrame, cuts: list[int], placement: str
) -> str:
    """Train on a cluster."""
    import dask.dataframe as dd

    from mpboost import dask as mpboost_dask

    whole = dd.from_pandas(frame, npartitions=1).compute()
    pieces = [whole.iloc[start:stop] for start, stop in pairwise([0, *cuts, N_ROWS])]
    table = dd.from_map(lambda number: pieces[number], range(len(pieces)), meta=whole.iloc[:0])
    model = getattr(mpboost_dask, f"Dask{name}")(**PARAMS, **params, client=client, placement=placement)
    return hash_model(model.fit(table, "y", "weight").to_local())


def hash_model(model: Any) -> str:
    """Compute the SHA-256 of the file of a model."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model.mpb")
        return hashlib.sha256((Path(folder) / "model.mpb").read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
