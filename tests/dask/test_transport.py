"""Tests of hub and spokes, over lines that are queues of this process."""

import queue
import threading
import time

import numpy as np
import pytest

from mpboost.dask import transport
from mpboost.dask.record import Record
from mpboost.dask.transport import Hub, LineLostError, ShardsEndedError, SilentShardError, Spoke, decode, encode, freeze

RANGES = [(0, 16384), (16384, 32768), (32768, 40000)]


class QueueLine:
    """A line that passes messages to a function, one after the other, in a thread of its own."""

    def __init__(self, receive):
        self._messages = queue.SimpleQueue()
        self._receive = receive
        self._thread = threading.Thread(target=self._deliver, daemon=True)
        self._thread.start()
        self.n_sent = 0

    def send(self, header, frames=()):
        self.n_sent += 1
        self._messages.put((header, [bytes(frame) for frame in frames]))

    def close(self):
        self._messages.put(None)

    def _deliver(self):
        while (message := self._messages.get()) is not None:
            self._receive(*message)


class Cluster:
    """Threads that run a function in each shard; any of them can be started again, with nothing but its rank."""

    def __init__(self, function, record=None, **limits):
        self.function, self.limits = function, limits
        self.hub = Hub(RANGES, record, **limits)
        self.kept = Record()
        self.results = queue.SimpleQueue()
        self.n_starts = 0
        self.spokes = {rank: self.start(rank) for rank in (1, 2)}
        self.run(self.hub)

    def start(self, rank):
        spoke = Spoke(rank, RANGES, **self.limits)
        spoke.is_first = self.n_starts < 2
        self.n_starts += 1
        if rank == 1:
            self.kept.clear()
            spoke.keep(self.kept)
        to_hub = QueueLine(lambda header, frames: self.hub.receive(rank, to_spoke, header, frames))
        to_spoke = QueueLine(spoke.receive)
        spoke.connect(to_hub)
        self.hub.connect(rank, to_spoke, f"worker-{rank}")
        self.run(spoke)
        return spoke

    def run(self, shards):
        def put():
            try:
                self.results.put((shards.rank, self.function(shards)))
            except BaseException as error:
                self.results.put((shards.rank, error))

        threading.Thread(target=put, daemon=True).start()

    def collect(self, n_results=3):
        return dict(self.results.get(timeout=20) for _ in range(n_results))


def walk(shards, n_steps=50, die_at=None):
    """Let the state of all shards follow from what all of them drew, and that of each from its share."""
    state, own = 1, shards.deal(lambda: shards.rank, lambda parts: [part + 100 for part in parts], keeps=True)
    n_parts, seen = 0, []
    for call in range(n_steps):
        if die_at == 2 * call:
            raise LineLostError("died")
        share = shards.deal(lambda state=state: state + own, lambda parts: [part * 2 for part in parts])
        if die_at == 2 * call + 1:
            raise LineLostError("died")

        def make_part(state=state, share=share):
            nonlocal n_parts
            n_parts += 1
            return np.array([share * (own + 7) % 1009 + state])

        state = int(shards.exchange(make_part, lambda parts: np.sum(parts)))
        seen.append((state, shards.is_stopping))
    return own, seen, n_parts


def test_hub_and_spokes_get_the_same_results():
    results = Cluster(walk).collect()
    assert {rank: own for rank, (own, *_) in results.items()} == {0: 100, 1: 101, 2: 102}
    assert len({str(seen) for _, seen, _ in results.values()}) == 1
    assert len({state for state, _ in results[0][1]}) > 10


@pytest.mark.parametrize("call", [0, 1, 2, 60, 99])
def test_spoke_that_replaces_another_catches_up_by_the_record(monkeypatch, call):
    monkeypatch.setattr(transport, "BATCH_BYTES", 1000)  # several messages
    expected = Cluster(walk).collect()
    cluster = Cluster(lambda shards: walk(shards, die_at=call if shards.rank == 2 and shards.is_first else None))
    rank, error = cluster.results.get(timeout=20)
    assert rank == 2
    assert isinstance(error, LineLostError)
    cluster.start(2)
    results = cluster.collect()
    assert results[0] == expected[0]
    assert results[1] == expected[1]
    assert results[2] == (102, expected[2][1], 50 - call // 2)


@pytest.mark.parametrize("call", [0, 1, 2, 60, 99])
def test_hub_starts_anew_from_the_record_of_a_spoke(call):
    expected = Cluster(walk).collect()
    first = Cluster(lambda shards: walk(shards, die_at=call if shards.rank == 0 else None))
    rank, error = first.results.get(timeout=20)
    assert (rank, type(error)) == (0, LineLostError)
    first.hub.close()
    first.collect(2)
    assert len(first.kept) == call + 1
    results = Cluster(walk, Record(first.kept)).collect()
    for rank in range(3):
        own, seen, n_parts = results[rank]
        assert (own, seen) == expected[rank][:2]
        assert n_parts == 50 - call // 2


def test_hub_that_starts_anew_repeats_the_last_deal():
    def run(shards):
        total, joined = shards.exchange(lambda: 1, sum), []
        shards.deal(lambda: shards.rank, lambda parts: joined.append(parts) or [None] * shards.size)
        return total, joined

    first = Cluster(run)
    assert first.collect() == {0: (3, [[0, 1, 2]]), 1: (3, []), 2: (3, [])}
    assert len(first.kept) == 2
    assert Cluster(run, Record(first.kept)).collect()[0] == (3, [[0, 1, 2]])


def test_wish_to_stop_reaches_all_shards_after_the_same_exchange():
    def run(shards):
        for step in range(1000):
            if shards.rank == 0 and step == 10:
                shards.ask_to_stop("time limit")
                shards.ask_to_stop("interrupted")
            if shards.is_stopping:
                return step, shards.stop_words
            shards.exchange(lambda: 1, sum)
        return None

    assert set(Cluster(run).collect().values()) == {(11, "time limit")}


def test_wish_to_stop_is_recorded():
    def run(shards):
        for step in range(100):
            if shards.rank == 0 and step == 10:
                shards.ask_to_stop("time limit")
            if shards.is_stopping:
                break
            shards.exchange(lambda: 1, sum)
        if shards.rank == 1 and shards.is_first:
            raise LineLostError("died")
        return step, shards.exchange(lambda: 1, sum)

    cluster = Cluster(run)
    assert cluster.collect(1).keys() == {1}
    cluster.start(1)
    assert cluster.collect() == dict.fromkeys(range(3), (11, 3))


def test_shards_end_when_the_hub_closes():
    def run(shards):
        if shards.rank == 0:
            shards.close("enough")
        return shards.exchange(lambda: 1, sum)

    results = Cluster(run).collect()
    assert {type(error) for error in results.values()} == {ShardsEndedError}
    assert {str(error) for error in results.values()} == {"enough"}


def test_silent_shards_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(transport, "TICK", 0.01)
    release = threading.Event()
    cluster = Cluster(
        lambda shards: shards.exchange(lambda: shards.rank != 2 or release.wait(20), sum), max_silence=0.1
    )
    results = cluster.collect(2)
    release.set()
    assert isinstance(results[0], SilentShardError)
    assert "worker-2 with shard 2" in str(results[0])
    assert isinstance(results[1], LineLostError)


def test_slow_shards_are_waited_for_as_long_as_lines_carry_beats(monkeypatch):
    monkeypatch.setattr(transport, "TICK", 0.01)
    release = threading.Event()
    cluster = Cluster(
        lambda shards: shards.exchange(lambda: shards.rank != 2 or release.wait(20), sum), max_silence=0.1
    )
    for _ in range(30):
        for rank, spoke in cluster.spokes.items():
            cluster.hub.receive(rank, None, {"kind": "beat"}, [])
            spoke.receive({"kind": "beat"}, [])
        release.wait(0.01)
    release.set()
    assert cluster.collect() == {0: 3, 1: 3, 2: 3}


def test_watch_ends_a_shard_that_waits(monkeypatch):
    monkeypatch.setattr(transport, "TICK", 0.01)

    def watch():
        raise TimeoutError("the client is gone")

    cluster = Cluster(lambda shards: shards.exchange(lambda: 1, sum), watch=watch)
    assert isinstance(cluster.collect()[0], TimeoutError)


def test_a_deal_needs_a_result_for_each_shard():
    cluster = Cluster(lambda shards: shards.deal(lambda: 1, lambda parts: parts[:2]))
    with pytest.raises(ValueError, match="join returned 2 results for 3 shards"):
        raise cluster.collect(1)[0]


@pytest.mark.parametrize("n_values", [3, 100_000])
def test_values_survive_the_way_and_can_be_written_to(n_values):
    value = {
        "a": np.arange(n_values),
        "b": [np.ones((2, n_values), order="F"), "text"],
        "c": np.arange(2 * n_values)[::2],
    }
    frames = encode(value)
    assert len(frames) == (1 if n_values == 3 else 3)
    copy = decode(freeze(frames))
    np.testing.assert_equal(copy, value)
    copy["a"] += 1
    assert value["a"][0] == 0


def test_shards_are_missing_only_while_they_are_waited_for():
    hub = Hub(RANGES[:2])
    assert hub.list_missing() == []  # all may be done

    def wait():
        with pytest.raises(ShardsEndedError):
            hub.exchange(lambda: 1, sum)

    waiting = threading.Thread(target=wait)
    waiting.start()
    deadline = time.monotonic() + 10
    while not hub.list_missing():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert hub.list_missing() == [(1, "")]
    hub.close()
    waiting.join()
