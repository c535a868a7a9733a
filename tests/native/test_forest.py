"""The forest: votes of many trees, and a round trip through its arrays."""

import numpy as np
import pytest

from mpboost import _native
from mpboost.learners.splits import SPLIT_DTYPE
from tests.support.native.forests import (
    LARGE_SIZES,
    N_FEATURES,
    SIZES,
    make_arrays,
    make_forest,
    read_arrays,
    sum_votes,
    take_tree,
)
from tests.support.native.naive_tree import (
    NO_SETS,
    as_columns,
    find_leaves,
    find_votes,
    make_random_codes,
    read_sets,
    read_splits,
)


def assert_equal_arrays(ones, others):
    for one, other in zip(ones, others, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 127, 128, 129, 1000])
def test_forest_adds_the_votes_of_all_trees(kernels, threads, n_rows):
    rng = np.random.default_rng(0)
    arrays, codes = make_arrays(), make_random_codes(rng, N_FEATURES, n_rows)
    total = rng.integers(-50, 50, n_rows).astype(np.int32)
    expected = total + sum_votes(arrays, codes, range(len(SIZES)))
    make_forest(*arrays).add_votes(as_columns(codes), 0, len(SIZES), total, threads)
    np.testing.assert_array_equal(total, expected)


FORESTS = {
    "many trees": ([3] * 600, "random"),  # more than a byte counts
    "many tests": ([2500] * 8, "random"),  # more than are kept at a time
    "many splits": ([200] * 400, "random"),
    "large trees": ([4096, 10, 4097], "random"),  # by bits and in pieces
    "left chain": ([300] * 3, "left"),
    "right chain": ([300] * 3, "right"),
}


@pytest.mark.parametrize("n_rows", [511, 513, 2100])
@pytest.mark.parametrize("kind", FORESTS)
def test_forest_adds_the_votes_of_all_kinds_of_trees(kernels, threads, kind, n_rows):
    sizes, shape = FORESTS[kind]
    arrays = make_arrays(sizes=sizes, shape=shape)
    codes = make_random_codes(np.random.default_rng(0), N_FEATURES, n_rows)
    total = np.zeros(n_rows, dtype=np.int32)
    make_forest(*arrays).add_votes(as_columns(codes), 0, len(sizes), total, threads)
    np.testing.assert_array_equal(total, sum_votes(arrays, codes, range(len(sizes))))


def test_trees_of_a_forest_that_are_the_same_vote_alike(kernels, threads):
    splits, leaf_values, _, sets = make_arrays(sizes=[100])
    repeated = np.tile(splits, 3), np.tile(leaf_values, 3), np.arange(4) * 100, np.tile(sets, (3, 1))
    codes = make_random_codes(np.random.default_rng(0), N_FEATURES, 600)
    total = np.zeros(600, dtype=np.int32)
    make_forest(*repeated).add_votes(as_columns(codes), 0, 3, total, threads)
    np.testing.assert_array_equal(total, 3 * find_votes(splits, leaf_values, codes, sets))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_forest_votes_are_the_same_for_any_number_of_threads(kernels, n_threads):
    arrays, codes = make_arrays(), make_random_codes(np.random.default_rng(0), N_FEATURES, 40_000)
    total = np.zeros(40_000, dtype=np.int32)
    make_forest(*arrays).add_votes(as_columns(codes), 0, len(SIZES), total, _native.Threads(n_threads))
    np.testing.assert_array_equal(total, sum_votes(arrays, codes, range(len(SIZES))))


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (0, 1), (2, 5), (6, 7), (7, 7)])
def test_forest_adds_the_votes_of_some_trees(kernels, threads, begin, end):
    arrays, codes = make_arrays(), make_random_codes(np.random.default_rng(0), N_FEATURES, 100)
    total = np.zeros(100, dtype=np.int32)
    make_forest(*arrays).add_votes(as_columns(codes), begin, end, total, threads)
    np.testing.assert_array_equal(total, sum_votes(arrays, codes, range(begin, end)))


@pytest.mark.parametrize(
    ("begin", "end", "n_entries", "n_columns", "message"),
    [
        pytest.param(-1, 2, 100, 6, "no such trees", id="negative begin"),
        pytest.param(3, 2, 100, 6, "no such trees", id="end before begin"),
        pytest.param(0, 8, 100, 6, "no such trees", id="end too large"),
        pytest.param(0, 7, 99, 6, "one entry per row", id="short totals"),
        pytest.param(0, 7, 101, 6, "one entry per row", id="long totals"),
        pytest.param(0, 7, 100, 5, "column that does not exist", id="few columns"),
    ],
)
def test_forest_rejects_wrong_arguments(threads, begin, end, n_entries, n_columns, message):
    columns = as_columns(np.zeros((n_columns, 100), dtype=np.uint8))
    with pytest.raises(ValueError, match=message):
        make_forest(*make_arrays()).add_votes(columns, begin, end, np.zeros(n_entries, dtype=np.int32), threads)


def find_values(arrays, codes, t):
    splits, leaf_values, sets = take_tree(t, *arrays)
    return leaf_values[find_leaves(splits, codes, sets)]


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize(("begin", "end"), [(0, 5), (2, 3), (4, 4)])
@pytest.mark.parametrize("n_rows", [1, 129, 5000])
def test_forest_adds_class_votes_and_values_of_trees(kernels, n_threads, begin, end, n_rows):
    rng, n_classes = np.random.default_rng(0), 5
    splits, leaf_values, offsets, sets = make_arrays(sizes=LARGE_SIZES)
    codes, threads = make_random_codes(rng, N_FEATURES, n_rows), _native.Threads(n_threads)
    columns = as_columns(codes)

    arrays = splits, rng.integers(n_classes, size=len(leaf_values)).astype(np.float64), offsets, sets
    counts = rng.integers(9, size=(n_rows, n_classes), dtype=np.int32)
    expected = counts.copy()
    for t in range(begin, end):
        expected[np.arange(n_rows), find_values(arrays, codes, t).astype(int)] += 1
    make_forest(*arrays).add_class_votes(columns, begin, end, counts, threads)
    np.testing.assert_array_equal(counts, expected)

    arrays = splits, rng.normal(size=len(leaf_values)), offsets, sets
    sums = rng.normal(size=n_rows)
    expected = sums.copy()
    for t in range(begin, end):
        expected += find_values(arrays, codes, t)
    make_forest(*arrays).add_values(columns, begin, end, sums, threads)
    np.testing.assert_array_equal(sums, expected)  # to the last bit: trees are added in their order


@pytest.mark.parametrize(
    ("begin", "end", "n_entries", "n_columns", "message"),
    [
        pytest.param(3, 2, 100, 6, "no such trees", id="end before begin"),
        pytest.param(0, 8, 100, 6, "no such trees", id="end too large"),
        pytest.param(0, 7, 99, 6, "one entry per row", id="short totals"),
        pytest.param(0, 7, 100, 5, "column that does not exist", id="few columns"),
    ],
)
def test_forest_rejects_wrong_arguments_of_classes_and_values(threads, begin, end, n_entries, n_columns, message):
    columns = as_columns(np.zeros((n_columns, 100), dtype=np.uint8))
    splits, leaf_values, offsets, sets = make_arrays()
    forest = make_forest(splits, np.zeros_like(leaf_values), offsets, sets)
    for add, total in [
        (forest.add_class_votes, np.zeros((n_entries, 2), dtype=np.int32)),
        (forest.add_values, np.zeros(n_entries)),
    ]:
        with pytest.raises(ValueError, match=message):
            add(columns, begin, end, total, threads)


def test_forest_counts_more_votes_than_a_byte_holds(threads):
    forest = make_forest(np.empty(0, dtype=SPLIT_DTYPE), np.ones(700), np.zeros(701, dtype=np.int64), NO_SETS)
    counts = np.zeros((300, 3), dtype=np.int32)
    forest.add_class_votes(as_columns(np.zeros((1, 300), dtype=np.uint8)), 0, 700, counts, threads)
    np.testing.assert_array_equal(counts, np.tile([0, 700, 0], (300, 1)))


@pytest.mark.parametrize("n_trees", [1, 7, 8, 9, 21])
@pytest.mark.parametrize("n_outputs", [1, 2, 4, 9])
def test_forest_adds_values_of_any_number_of_trees(kernels, threads, n_trees, n_outputs):
    rng = np.random.default_rng(0)
    splits, leaf_values, offsets, sets = make_arrays(sizes=[30] * n_trees)
    values = rng.normal(size=(len(leaf_values), n_outputs)) if n_outputs > 1 else rng.normal(size=len(leaf_values))
    arrays, codes = (splits, values, offsets, sets), make_random_codes(rng, N_FEATURES, 300)
    sums = rng.normal(size=(300, *values.shape[1:]))
    expected = sums.copy()
    for t in range(n_trees):
        expected += find_values(arrays, codes, t)
    make_forest(*arrays).add_values(as_columns(codes), 0, n_trees, sums, threads)
    np.testing.assert_array_equal(sums, expected)  # to the last bit


def test_forest_counts_only_classes_that_exist(threads):
    splits, leaf_values, offsets, sets = make_arrays()
    leaf_values[:] = 0.0
    leaf_values[-1] = 3.0
    forest, columns = make_forest(splits, leaf_values, offsets, sets), as_columns(np.zeros((6, 100), dtype=np.uint8))
    forest.add_class_votes(columns, 0, 6, np.zeros((100, 3), dtype=np.int32), threads)  # the last tree is left out
    forest.add_class_votes(columns, 0, 7, np.zeros((100, 4), dtype=np.int32), threads)
    with pytest.raises(ValueError, match="no class"):
        forest.add_class_votes(columns, 0, 7, np.zeros((100, 3), dtype=np.int32), threads)


def test_forest_round_trips_through_its_arrays():
    arrays = make_arrays()
    forest = make_forest(*arrays)
    assert len(forest) == len(SIZES)
    assert len(forest.category_sets) > 0
    assert_equal_arrays(read_arrays(forest), arrays)


def test_forest_is_built_tree_by_tree():
    arrays = make_arrays()
    whole, grown = make_forest(*arrays), _native.Forest()
    assert len(grown) == 0
    for t in range(len(SIZES)):
        grown.append(whole.tree(t))
    assert len(grown) == len(SIZES)
    assert_equal_arrays(read_arrays(grown), arrays)


def test_forest_gives_each_tree():
    arrays = make_arrays()
    forest = make_forest(*arrays)
    for t in range(len(SIZES)):
        tree = forest.tree(t)
        assert_equal_arrays((read_splits(tree), tree.leaf_values, read_sets(tree)), take_tree(t, *arrays))


@pytest.mark.parametrize("n_trees", range(len(SIZES) + 1))
def test_forest_is_cut_to_its_first_trees(n_trees):
    splits, leaf_values, offsets, sets = make_arrays()
    first = make_forest(splits, leaf_values, offsets, sets).first(n_trees)
    splits = splits[: offsets[n_trees]]
    sets = sets[: np.sum(splits["categories"] >= 0)]
    assert len(first) == n_trees
    assert_equal_arrays(
        read_arrays(first), (splits, leaf_values[: len(splits) + n_trees], offsets[: n_trees + 1], sets)
    )


@pytest.mark.parametrize("index", [-1, 7, 2**62])
def test_forest_rejects_numbers_of_trees_that_it_lacks(index):
    forest = make_forest(*make_arrays())
    with pytest.raises(ValueError, match="no such tree"):
        forest.tree(index)
    with pytest.raises(ValueError, match="fewer trees"):
        forest.first(index if index != 7 else 8)


def test_forest_of_no_trees_takes_its_own_arrays():
    empty = _native.Forest()
    assert len(_native.Forest(empty.splits, empty.leaf_values, empty.split_offsets, empty.category_sets, 0)) == 0
