"""What shards ask of each other, with shards that are threads."""

import pickle

import numpy as np
import pytest

from mpboost import _native
from mpboost._shards import PostingShards, WholeTable, find_rows_here, join_rows, join_sums, take_rows_here
from tests.support.native.naive_tree import make_random_splits, make_tree
from tests.support.thread_shards import run_in_threads

RANGES = [(0, 16_384), (16_384, 20_000), (20_000, 20_001)]


def test_whole_table_answers_with_its_own_part():
    whole = WholeTable(7)
    assert (whole.rank, whole.size, whole.first_row, whole.end_row, whole.n_rows) == (0, 1, 0, 7, 7)
    assert whole.exchange(lambda: 3, lambda parts: [*parts, 4]) == [3, 4]
    assert whole.deal(lambda: 3, lambda parts: parts) == 3


def test_rows_here_are_counted_from_the_first_row_of_the_shard():
    rows = np.array([5, 16_383, 16_384, 19_999, 20_000])
    found = run_in_threads(RANGES, lambda shards: find_rows_here(shards, rows).tolist())
    assert found == [[5, 16_383], [0, 3615], [0]]


def test_rows_of_shards_are_joined_in_their_order():
    rows, values = np.array([5, 16_383, 16_384, 19_999, 20_000]), np.arange(20_001) * 3

    def join(shards):
        own = values[shards.first_row : shards.end_row]
        return shards.exchange(lambda: take_rows_here(shards, rows, own, own + 1), join_rows)

    for places, taken, following in run_in_threads(RANGES, join):
        np.testing.assert_array_equal(taken[places], values[rows])
        np.testing.assert_array_equal(following[places], values[rows] + 1)


def test_rows_of_the_whole_table_are_not_copied():
    rows, values = np.array([1, 2]), np.arange(3)
    whole = WholeTable(3)
    places, taken = whole.exchange(lambda: take_rows_here(whole, rows, values), join_rows)
    assert places is rows
    assert taken is values


def test_posted_parts_travel_with_the_next_exchange():
    def talk(shards):
        calls = []
        posting = PostingShards(shards)
        get_sum = posting.post(lambda: calls.append("post") or shards.rank, sum)
        get_most = posting.post(lambda: shards.rank, max)
        assert calls == []  # nothing happens before the exchange
        ends = posting.exchange(lambda: calls.append("exchange") or shards.end_row, list)
        again = posting.exchange(lambda: 1, sum)  # nothing is posted any more
        own = posting.deal(lambda: shards.rank, lambda parts: [part * 10 for part in parts])
        return ends, get_sum(), get_most(), again, own, calls

    for rank, answers in enumerate(run_in_threads(RANGES, talk)):
        assert answers == ([16_384, 20_000, 20_001], 3, 2, 3, rank * 10, ["exchange", "post"])


def test_sums_of_shards_are_those_of_all_rows():
    values = np.random.default_rng(0).normal(size=20_000) * 10.0 ** np.random.default_rng(1).uniform(-8, 8, 20_000)
    ranges = [(0, 16_384), (16_384, 20_000)]

    def add_up(shards):
        sums = _native.RowSums(shards.first_row)
        _native.sum_values(values[shards.first_row : shards.end_row], _native.Threads(1), sums)
        return shards.exchange(lambda: sums, join_sums).tolist()

    expected = [_native.sum_values(values, _native.Threads(1))]
    assert run_in_threads(ranges, add_up) == [expected] * 2


@pytest.mark.parametrize(
    "state", [(np.arange(2), np.empty(0)), (np.arange(5), np.zeros(3)), (-np.ones(3, int), np.empty(0))]
)
def test_sums_refuse_a_state_that_is_not_theirs(state):
    with pytest.raises(ValueError, match=r"sums of rows|whole chunks"):
        _native.RowSums.__new__(_native.RowSums).__setstate__((state[0].astype(np.int64), state[1]))


def test_trees_can_be_pickled():
    splits = make_random_splits(np.random.default_rng(0), 30, 9)
    tree = make_tree(splits, np.linspace(-1.0, 1.0, 31), 9)
    other = pickle.loads(pickle.dumps(tree))
    for name in ("splits", "leaf_values", "category_sets", "leaf_covers"):
        np.testing.assert_array_equal(getattr(other, name), getattr(tree, name))
