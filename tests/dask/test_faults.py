"""Tests of fits on shards whose workers are killed, stopped, or lose their client or scheduler."""

import asyncio
import logging
import os
import random
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from mpboost import Callback
from mpboost.dask import DaskMPBoostClassifier, DaskMPGradientBoostingClassifier, driver
from mpboost.dask.driver import ShardError, ShardSource, run_sharded
from mpboost.dask.shard_task import count_running
from tests.support.dask_clusters import FORKED, get_process_context, start_cluster
from tests.support.datasets import save_bytes
from tests.support.toy_fit import CHUNK, Toy, make_rows, make_sources

dask = pytest.importorskip("dask", reason="mpboost[dask] is not installed")
da = pytest.importorskip("dask.array", reason="mpboost[dask] is not installed")
distributed = pytest.importorskip("distributed", reason="mpboost[dask] is not installed")

pytestmark = pytest.mark.slow

N_WORKERS = 3
TOY = Toy(n_steps=60, pause=0.01)


@pytest.fixture(scope="module")
def cluster():
    """Three workers that are started again when they are killed."""
    # By default a local cluster gives up workers whose address has changed, and tries to reach dead ones for 30 s.
    limits = {"distributed.deploy.lost-worker-timeout": "1h", "distributed.comm.timeouts.connect": "5s"}
    with dask.config.set(limits), start_cluster(N_WORKERS, silence_logs=logging.CRITICAL) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        wait_until(lambda: len(client.nthreads()) == N_WORKERS)
        yield client
        wait_until(lambda: len(client.nthreads()) == N_WORKERS)
        assert_nothing_is_left(client)


@pytest.fixture(scope="module")
def expected(cluster):
    with distributed.Client(cluster) as client:
        return run_sharded(client, make_sources(N_WORKERS), TOY)


def wait_until(is_true, limit=60):
    deadline = time.monotonic() + limit
    while not is_true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def assert_nothing_is_left(client):
    def is_clean():
        counts = client.run(count_running, on_error="ignore").values()
        return not any(any(each.values()) for each in counts) and not client.run_on_scheduler(list_tasks)

    wait_until(is_clean)


def list_tasks(dask_scheduler):
    return [key for key in dask_scheduler.tasks if "mpboost" in str(key) or "make_rows" in str(key)]


def send_signal(client, address, number):
    """Send a signal to a worker process."""
    os.kill(client.run(os.getpid, workers=[address])[address], number)


class At(Callback):
    """Watcher that does something as soon as an iteration is known to be done."""

    def __init__(self, iteration, action):
        self.iteration, self.action, self.is_done = iteration, action, False

    def on_iteration_end(self, run):
        if run.iteration >= self.iteration and not self.is_done:
            self.is_done = True
            self.done_at = time.monotonic()
            self.action()


@pytest.mark.parametrize("rank", [0, 2])
def test_killed_worker_is_replaced_and_the_result_stays_the_same(client, expected, rank):
    workers = sorted(client.nthreads())
    sources = [
        ShardSource(source.first_row, source.end_row, source.make, source.pieces, worker)
        for source, worker in zip(make_sources(N_WORKERS), workers, strict=True)
    ]
    kill = At(20, lambda: send_signal(client, workers[rank], signal.SIGKILL))
    assert run_sharded(client, sources, TOY, watchers=[kill]) == expected
    assert kill.is_done


def test_all_workers_are_killed_at_once(client, expected):
    def kill_all():
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)

    assert run_sharded(client, make_sources(N_WORKERS), TOY, watchers=[At(20, kill_all)]) == expected


def test_callbacks_are_called_once_for_each_iteration_though_shard_0_is_lost(client, expected):
    class Count(Callback):
        def __init__(self):
            self.seen = []

        def on_iteration_end(self, run):
            self.seen.append((run.iteration, len(run.oop_scores)))
            if run.iteration == 20:
                send_signal(client, first, signal.SIGKILL)

    count, first = Count(), sorted(client.nthreads())[0]
    assert run_sharded(client, make_sources(N_WORKERS), TOY, callbacks=[count]) == expected
    assert count.seen == [(i, i) for i in range(1, TOY.n_steps + 1)]


def test_workers_killed_at_random_moments(client, expected):
    moments, is_over = random.Random(0), threading.Event()

    def kill_some():
        for _ in range(2):
            if is_over.wait(moments.uniform(0.05, 1.0)):
                return
            pids = client.run(os.getpid, on_error="ignore")
            os.kill(pids[moments.choice(sorted(pids))], signal.SIGKILL)

    killer = threading.Thread(target=kill_some)
    killer.start()
    try:
        assert run_sharded(client, make_sources(N_WORKERS), TOY) == expected
    finally:
        is_over.set()
        killer.join()


@pytest.mark.parametrize("estimator", [DaskMPBoostClassifier, DaskMPGradientBoostingClassifier])
def test_model_keeps_its_bits_when_workers_are_killed(cluster, client, estimator):
    X = da.random.default_rng(0).normal(size=(N_WORKERS * CHUNK, 5), chunks=(CHUNK // 2, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int8)
    model = estimator(n_estimators=40, stopping=None, placement="sharded", random_state=0, client=client)
    expected = save_bytes(model.fit(X, y).to_local())
    moments = random.Random(estimator.__name__)

    def kill():
        pids = client.run(os.getpid, on_error="ignore")
        os.kill(pids[moments.choice(sorted(pids))], signal.SIGKILL)

    def kill_all():
        for nanny in cluster.workers.values():
            os.kill(nanny.pid, signal.SIGKILL)

    kills = [At(10, kill), At(20, kill_all), At(30, kill)]
    assert save_bytes(model.set_params(callbacks=kills).fit(X, y).to_local()) == expected
    assert all(kill.is_done for kill in kills)


def test_lost_source_ends_the_fit_at_once(client):
    workers = sorted(client.nthreads())
    scattered = [
        client.scatter(make_rows(i * CHUNK, (i + 1) * CHUNK), workers=[worker], hash=False)
        for i, worker in enumerate(workers)
    ]
    sources = [
        ShardSource(i * CHUNK, (i + 1) * CHUNK, np.array, [piece], worker)
        for i, (piece, worker) in enumerate(zip(scattered, workers, strict=True))
    ]
    kill = At(20, lambda: send_signal(client, workers[1], signal.SIGKILL))
    with pytest.raises(ShardError) as caught:
        run_sharded(client, sources, TOY, watchers=[kill])
    assert time.monotonic() - kill.done_at < 5
    assert f"The worker {workers[1]}" in str(caught.value)
    assert "with shard 1 was lost, after iteration 2" in str(caught.value)
    assert "what the shard was made from is lost, too" in str(caught.value)


@pytest.mark.parametrize("move_after", [0.1, 60.0], ids=["noticed by the driver", "noticed by Dask"])
def test_workers_that_die_again_and_again_end_the_fit(client, monkeypatch, move_after):
    monkeypatch.setattr(driver, "MOVE_AFTER", move_after)
    sources = [ShardSource(0, CHUNK, kill_this_process, [0])]
    with pytest.raises(ShardError, match=r"Workers were lost again and again, making the data of shard 0, before the"):
        run_sharded(client, sources, TOY)


def kill_this_process(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_cluster_that_loses_all_workers_for_good_ends_the_fit(monkeypatch):
    monkeypatch.setattr(driver, "NO_WORKERS_LIMIT", 2.0)
    with start_cluster(1, silence_logs=logging.CRITICAL) as cluster, distributed.Client(cluster) as client:
        leave = At(20, lambda: cluster.scale(0))
        with pytest.raises(ShardError, match="The cluster has no workers any more, after iteration"):
            run_sharded(client, make_sources(1), Toy(n_steps=10**6, pause=0.01), watchers=[leave])
        assert time.monotonic() - leave.done_at < 10


@pytest.mark.parametrize("rank", [0, 1])
def test_worker_that_hangs_ends_the_fit(client, monkeypatch, rank):
    monkeypatch.setattr(driver, "MAX_SILENCE", 3.0)
    worker = sorted(client.nthreads())[rank]
    pid = client.run(os.getpid, workers=[worker])[worker]
    try:
        with pytest.raises(ShardError, match="does not answer") as caught:
            run_sharded(client, make_sources(N_WORKERS), TOY, watchers=[At(20, lambda: os.kill(pid, signal.SIGSTOP))])
    finally:
        os.kill(pid, signal.SIGCONT)
    assert worker in str(caught.value)
    assert f"shard {rank}" in str(caught.value)
    assert "after iteration" in str(caught.value)


def test_slow_shard_is_waited_for(client, monkeypatch):
    monkeypatch.setattr(driver, "MAX_SILENCE", 2.0)
    slow = Toy(n_steps=1, pause=3.0)
    assert run_sharded(client, make_sources(2), slow)["iteration"] == 1


def test_shards_end_when_the_client_is_gone(cluster, client):
    with started(fit_for_long, cluster.scheduler_address):
        wait_until(lambda: sum(each["shards"] for each in client.run(count_running).values()) == 2)
    assert_nothing_is_left(client)


def fit_for_long(address):
    """Run a fit that does not end, as a client of its own."""
    driver.MAX_SILENCE = 3.0
    run_sharded(distributed.Client(address), make_sources(2), Toy(n_steps=10**6, pause=0.01))


@contextmanager
def started(function, argument):
    """Run a function in a process of its own, and kill that in the end."""
    with dask.config.set(FORKED):
        process = get_process_context().Process(target=function, args=(argument,), daemon=True)
        process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


async def serve(make, **options):
    """Run a scheduler or a worker until it is closed."""
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        async with make(host="127.0.0.1", dashboard=False, **options) as server:
            await server.finished()


def run_scheduler(path):
    asyncio.run(serve(distributed.Scheduler, port=0, scheduler_file=path))


def run_worker(path):
    asyncio.run(serve(distributed.Worker, scheduler_file=path, nthreads=1))


def test_lost_scheduler_ends_the_fit_and_its_workers(tmp_path):
    path = str(tmp_path / "scheduler.json")
    with started(run_scheduler, path) as scheduler:
        wait_until((tmp_path / "scheduler.json").exists)
        with started(run_worker, path) as one, started(run_worker, path) as two:
            client = distributed.Client(scheduler_file=path, timeout=60)
            client.wait_for_workers(2, timeout=60)
            kill = At(20, scheduler.kill)
            with pytest.raises(ShardError, match="connection to the scheduler, after iteration"):
                run_sharded(client, make_sources(2), Toy(n_steps=10**6, pause=0.01), watchers=[kill])
            assert time.monotonic() - kill.done_at < 5
            client.close(timeout=1)
            for worker in (one, two):
                worker.join(60)
                assert worker.exitcode is not None, "the worker did not end"
