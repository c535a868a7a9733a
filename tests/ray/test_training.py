import os
import signal
import threading
import time

import numpy as np
import pytest

from mpboost import MPBoostClassifier, MPGradientBoostingClassifier, MPGradientBoostingRegressor
from mpboost.dask.sharding import CHUNK_ROWS
from mpboost.ray import fit_on_ray, training
from mpboost.ray.shard_actors import LostShardError, follow_actors
from tests.support.datasets import REGRESSORS, make_mixed, make_numbers, save_bytes

N_ROWS = CHUNK_ROWS + 2000
PARAMS = {"n_estimators": 3, "random_state": 0, "stopping": None}


def make_table(*, has_numbers=False):
    X, y = make_mixed(N_ROWS)
    weights = np.random.default_rng(1).integers(0, 12, N_ROWS).astype(np.float64)
    return X.assign(target=make_numbers(N_ROWS)[1] if has_numbers else y, weight=weights)


def cut(table, cuts):
    return [table.iloc[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(table)], strict=True)]


def fit_locally(estimator, table):
    return estimator.fit(table.drop(columns=["target", "weight"]), table["target"], table["weight"])


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPGradientBoostingRegressor], ids=lambda cls: cls.__name__)
def test_model_of_two_shards_is_that_of_a_fit_in_memory(ray, estimator):
    table = make_table(has_numbers=estimator in REGRESSORS)
    blocks = [ray.put(block) for block in cut(table, [5, 5, 9000])]
    fitted = fit_on_ray(estimator(**PARAMS), blocks, "target", "weight", n_shards=2)
    assert save_bytes(fitted) == save_bytes(fit_locally(estimator(**PARAMS), table))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray warns of its own settings
def test_datasets_of_ray_keep_their_order(ray, tmp_path):
    data = pytest.importorskip("ray.data", reason="mpboost[ray] is not installed")
    table = make_table().drop(columns=["shape"])  # Parquet files of Ray do not know the order of categories
    for number, part in enumerate(cut(table, [3000, 3100])):
        part.to_parquet(tmp_path / f"{number}.parquet")
    dataset = data.read_parquet(str(tmp_path)).filter(expr="count < 8")
    kept = table[table["count"] < 8]
    fitted = fit_on_ray(MPGradientBoostingClassifier(**PARAMS), dataset, "target", "weight")
    assert save_bytes(fitted) == save_bytes(fit_locally(MPGradientBoostingClassifier(**PARAMS), kept))
    assert not dataset.context.execution_options.preserve_order


@pytest.mark.parametrize(
    ("params", "options", "words"),
    [
        ({"n_jobs": -1}, {}, "n_jobs=-1 does not work on Ray"),
        ({"time_limit": 5.0}, {}, "time_limit=5.0 does not work on Ray"),
        ({"leaf_refit": False}, {}, "leaf_refit=False needs all rows in one place: train on one machine"),
        ({}, {"n_shards": 3}, "3 shards of 1 threads each cannot run on this cluster"),
    ],
    ids=["n_jobs", "time_limit", "leaf_refit", "n_shards"],
)
def test_what_ray_cannot_run_is_refused(ray, params, options, words):
    with pytest.raises(ValueError, match=words):
        fit_on_ray(MPGradientBoostingClassifier(**params), [ray.put(None)], "target", **options)


def test_tables_in_memory_are_refused(ray):
    with pytest.raises(TypeError, match=r"X must be a ray.data.Dataset or a list of references"):
        fit_on_ray(MPGradientBoostingClassifier(), np.zeros((3, 2)), "target")


@pytest.mark.slow
def test_error_of_a_task_is_that_of_a_fit_in_memory(ray):
    with pytest.raises(ValueError, match=r"Partition 0: there is no column 'no such'"):
        fit_on_ray(MPGradientBoostingClassifier(), [ray.put(make_table())], "no such")


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_lost_actor_is_named_at_once(ray, monkeypatch, rank):
    killed = []

    def follow(actors, runs):
        pid = int(ray.get(actors[rank].describe.remote()).split()[1])

        def kill():
            os.kill(pid, signal.SIGKILL)
            killed.append(time.monotonic())

        threading.Timer(1.0, kill).start()
        return follow_actors(actors, runs)

    monkeypatch.setattr(training, "follow_actors", follow)
    estimator = MPGradientBoostingClassifier(**PARAMS | {"n_estimators": 100_000})
    with pytest.raises(LostShardError, match=rf"Shard {rank} of 2 is lost with its process \d+ on"):
        fit_on_ray(estimator, [ray.put(make_table().drop(columns="weight"))], "target", n_shards=2)
    assert time.monotonic() - killed[0] < 20
