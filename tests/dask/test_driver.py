"""Tests of fits on shards that live on the workers of a cluster, with a toy in place of the boosting loop."""

import threading
import time

import numpy as np
import pytest

from mpboost import Callback, FeatureProbabilityRecorder
from tests.support.interrupts import press_ctrl_c
from tests.support.thread_shards import run_in_threads
from tests.support.toy_fit import CHUNK, Toy, make_rows, make_sources

pytest.importorskip("distributed", reason="mpboost[dask] is not installed")

from mpboost.dask import mail
from mpboost.dask.driver import ShardError, ShardSource, run_sharded
from mpboost.dask.shard_task import count_running


def run_here(n_shards, toy):
    """Run a toy in threads of this process."""
    ranges = [(i * CHUNK, (i + 1) * CHUNK) for i in range(n_shards)]
    return run_in_threads(ranges, lambda shards: toy(make_rows(shards.first_row, shards.end_row), shards, []))[0]


def wait_until(is_true, limit=20):
    deadline = time.monotonic() + limit
    while not is_true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def assert_nothing_is_left(client):
    wait_until(lambda: not any(any(counts.values()) for counts in client.run(count_running).values()))
    wait_until(lambda: not client.run_on_scheduler(list_tasks))


def list_tasks(dask_scheduler):
    return [key for key in dask_scheduler.tasks if "mpboost" in str(key) or "make_rows" in str(key)]


@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_result_is_that_of_shards_in_one_process(client, n_shards):
    assert run_sharded(client, make_sources(n_shards), Toy()) == run_here(n_shards, Toy())
    assert_nothing_is_left(client)


def test_shards_live_where_the_source_says(client):
    for worker in client.nthreads():
        places = run_sharded(client, make_sources(3, worker), list_places)
        assert places == [worker] * 3
    spread = run_sharded(client, make_sources(4), list_places)
    assert len(set(spread[:2])) == len(set(spread[2:])) == 1
    assert len(set(spread)) == 2


def list_places(data, shards, callbacks):
    from distributed import get_worker

    worker = get_worker().address
    return shards.exchange(lambda: worker, list)


def test_large_parts_and_results_arrive_whole(client):
    def fit(data, shards, callbacks):
        parts = shards.exchange(lambda: np.full(300_000, shards.rank), np.concatenate)
        parts[0] += 1
        return parts.sum()

    assert run_sharded(client, make_sources(3), fit) == 300_000 * 3 + 1


@pytest.mark.slow
def test_workers_can_be_threads_of_one_process():
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
        assert run_sharded(client, make_sources(3), Toy()) == run_here(3, Toy())
        assert_nothing_is_left(client)


@pytest.mark.slow
def test_two_fits_run_at_once(client):
    toys, results = [Toy(n_steps=60, pause=0.002), Toy(n_steps=40, pause=0.002)], {}

    def run(i):
        results[i] = run_sharded(client, make_sources(2), toys[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {i: run_here(2, Toy(n_steps=toy.n_steps)) for i, toy in enumerate(toys)}


class Watcher(Callback):
    """Callback that notes what it sees, and stops at an iteration."""

    def __init__(self, stop_at=None):
        self.stop_at, self.seen, self.calls = stop_at, [], []

    def on_fit_begin(self, run):
        self.calls.append(("begin", run.iteration))

    def on_iteration_end(self, run):
        self.seen.append((run.iteration, len(run.oop_scores), run.best_iteration, run.n_samples))
        self.last = run.scores[-1] if run.iteration else None
        return run.iteration == self.stop_at

    def on_fit_end(self, run):
        self.calls.append(("end", run.iteration, run.stop_words))


def test_callback_at_the_client_stops_the_very_iteration(client):
    watcher, recorder = Watcher(stop_at=7), FeatureProbabilityRecorder([0, 3])
    result = run_sharded(client, make_sources(2), Toy(), callbacks=[watcher, recorder])
    assert result["iteration"] == 7
    assert result["stop_words"] == "stopped by Watcher"
    assert result["recent"] == run_here(2, Toy(n_steps=7))["recent"]
    assert [seen[:2] for seen in watcher.seen] == [(i, i) for i in range(1, 8)]
    assert watcher.seen[-1][3] == 2 * CHUNK
    assert watcher.last == result["recent"][-1] / 1_000_003
    assert watcher.calls == [("begin", 0), ("end", 7, "stopped by Watcher")]
    assert {i: q.tolist() for i, q in recorder.probabilities_.items()} == {i: [i] * 4 for i in (0, 3, 7)}
    assert_nothing_is_left(client)


def test_callbacks_see_no_rows(client):
    class Curious(Callback):
        def on_iteration_end(self, run):
            return run.observation_probabilities

    with pytest.raises(AttributeError, match="no access to 'observation_probabilities': it stays on the workers"):
        run_sharded(client, make_sources(2), Toy(), callbacks=[Curious()])
    assert_nothing_is_left(client)


@pytest.mark.slow
def test_watchers_are_told_now_and_then_and_at_the_end(client):
    watcher = Watcher()
    result = run_sharded(client, make_sources(2), Toy(n_steps=200, pause=0.002), watchers=[watcher])
    assert watcher.calls == [("begin", 0), ("end", 200, "n_estimators reached")]
    assert watcher.seen[-1][:2] == (200, 200)
    assert len(watcher.seen) < 100
    assert watcher.last == result["recent"][-1] / 1_000_003


@pytest.mark.slow
def test_time_limit_stops_all_shards(client):
    start = time.monotonic()
    result = run_sharded(client, make_sources(2), Toy(n_steps=10**6, pause=0.01), time_limit=0.5)
    assert result["stop_words"] == "time_limit reached"
    assert result["recent"] == run_here(2, Toy(n_steps=result["iteration"]))["recent"]
    assert time.monotonic() - start < 20


@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("has_callbacks", [False, True])
def test_ctrl_c_returns_the_result_so_far(client, has_callbacks):
    class Interrupter(Callback):
        def on_iteration_end(self, run):
            if run.iteration >= 5 and not self.is_done:
                self.is_done = True
                press_ctrl_c()

        is_done = False

    callbacks = {"callbacks" if has_callbacks else "watchers": [Interrupter()]}
    result = run_sharded(client, make_sources(2), Toy(n_steps=10**6, pause=0.005), **callbacks)
    assert result["stop_words"] == "interrupted"
    assert result["iteration"] == 5 if has_callbacks else result["iteration"] >= 5
    assert result["recent"] == run_here(2, Toy(n_steps=result["iteration"]))["recent"]


@pytest.mark.slow
@pytest.mark.usefixtures("python_handler")
def test_ctrl_c_before_the_first_iteration_is_raised(client):
    threading.Timer(0.5, press_ctrl_c).start()
    with pytest.raises(KeyboardInterrupt):
        run_sharded(client, make_sources(2), Toy(n_steps=10, pause=2))


@pytest.mark.parametrize("rank", [0, 1])
def test_error_of_a_shard_reaches_the_client(client, rank):
    with pytest.raises(OverflowError, match=f"step 20 of shard {rank}") as caught:
        run_sharded(client, make_sources(2), Toy(fails=(rank, 20)))
    assert f"shard {rank} of the fit" in caught.value.__notes__[0]
    assert any("_step" in str(entry) for entry in caught.traceback)
    assert_nothing_is_left(client)


def test_error_of_a_source_reaches_the_client(client):
    def make(rows):
        raise OverflowError("cannot be made")

    sources = [*make_sources(1), ShardSource(CHUNK, 2 * CHUNK, make, [1])]
    with pytest.raises(OverflowError, match="cannot be made") as caught:
        run_sharded(client, sources, Toy())
    assert "making the data of shard 1" in caught.value.__notes__[0]
    assert_nothing_is_left(client)


def test_error_of_a_callback_ends_the_fit(client):
    class Failing(Watcher):
        def on_iteration_end(self, run):
            raise OverflowError("in a callback")

    failing = Failing()
    with pytest.raises(OverflowError, match="in a callback"):
        run_sharded(client, make_sources(2), Toy(n_steps=10**6), callbacks=[failing])
    assert failing.calls == [("begin", 0), ("end", 1, "")]
    assert_nothing_is_left(client)


def test_shard_0_of_an_attempt_that_was_given_up_is_not_followed(client):
    class Announce(Callback):
        """Lets another task say that it is shard 0."""

        def on_iteration_end(self, run):
            if run.iteration == 5:
                [inbox] = mail._INBOXES.values()
                place = {"token": "another", "address": min(client.nthreads()), "name": "another"}
                inbox.put({"kind": "hub", "attempt": "another", **place})

    toy = Toy()
    assert run_sharded(client, make_sources(2), toy, callbacks=[Announce()]) == run_here(2, toy)
    assert_nothing_is_left(client)


@pytest.mark.parametrize("ranges", [[], [(5, 10)], [(0, 10), (20, 30)]])
def test_sources_must_follow_each_other(client, ranges):
    with pytest.raises(ValueError, match="without gaps"):
        run_sharded(client, [ShardSource(*rows, list) for rows in ranges], Toy())


def test_asynchronous_client_is_refused():
    class Asynchronous:
        asynchronous = True

    with pytest.raises(TypeError, match="asynchronous"):
        run_sharded(Asynchronous(), make_sources(2), Toy())


class Unreadable:
    """Can be pickled, but not unpickled."""

    def __reduce__(self):
        return fail_to_load, ()


def fail_to_load():
    raise RuntimeError("a module that is not here")


def return_what_nobody_can_read(data, shards, callbacks):
    return Unreadable() if shards.rank == 0 else None


def test_result_that_cannot_be_read_is_an_error(client):
    with pytest.raises(ShardError, match="could not be brought here"):
        run_sharded(client, make_sources(2), return_what_nobody_can_read)
    assert_nothing_is_left(client)
