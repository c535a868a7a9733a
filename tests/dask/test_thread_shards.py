"""Tests of shards that are threads, which other tests rely on."""

import time

import pytest

from tests.support.thread_shards import run_in_threads

RANGES = [(0, 16384), (16384, 16384), (16384, 20000)]


def concatenate(parts):
    return [item for part in parts for item in part]


def test_run_in_threads_joins_parts_in_the_order_of_shards():
    def run(shards):
        everything = shards.exchange(lambda: [(shards.first_row, shards.end_row)], concatenate)
        own = shards.deal(lambda: shards.rank, lambda parts: [10 * part for part in parts])
        return everything, own, shards.size, shards.n_rows

    assert run_in_threads(RANGES, run) == [(RANGES, rank * 10, 3, 20000) for rank in range(3)]


def test_run_in_threads_shares_no_memory():
    def run(shards):
        joined = shards.exchange(lambda: [shards.rank], concatenate)
        joined.append(shards.rank)
        return joined

    assert run_in_threads(RANGES, run) == [[0, 1, 2, rank] for rank in range(3)]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_run_in_threads_raises_what_a_shard_raises(rank):
    def run(shards):
        for step in range(100):
            if step == 50 and shards.rank == rank:
                raise OverflowError(f"shard {rank}")
            shards.exchange(lambda: 1, sum)

    with pytest.raises(OverflowError, match=f"shard {rank}"):
        run_in_threads(RANGES, run)


@pytest.mark.parametrize(
    "run",
    [
        lambda shards: shards.rank or shards.exchange(lambda: 1, sum),
        lambda shards: shards.exchange(lambda: 1, sum) if shards.rank else shards.deal(lambda: 1, list),
    ],
    ids=["one-call-missing", "other-calls"],
)
def test_run_in_threads_refuses_shards_that_are_not_in_step(run):
    with pytest.raises(AssertionError, match="the same calls: "):
        run_in_threads(RANGES, run)


def test_run_in_threads_does_not_wait_forever():
    with pytest.raises(TimeoutError, match="waited for another one"):
        run_in_threads(RANGES, lambda shards: time.sleep(0.2 * shards.rank), max_wait=0.01)
