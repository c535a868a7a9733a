"""Trees whose leaves hold several numbers, and forests of them."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.forests import (
    LARGE_SIZES,
    N_FEATURES,
    SIZES,
    make_arrays,
    make_forest,
    read_arrays,
    take_tree,
)
from tests.support.native.naive_tree import (
    as_columns,
    find_leaves,
    make_random_codes,
    make_random_sets,
    make_random_splits,
    make_tree,
    read_sets,
    read_splits,
)

SIZES_AND_OUTPUTS = [(0, 3), (1, 2), (33, 3), (298, 10), (299, 2), (600, 3)]  # swept, and walked from 300 leaves on


def make_vectors(seed=0, n_outputs=3, sizes=SIZES):
    """Make the arrays of trees whose leaves hold random vectors."""
    splits, values, offsets, sets = make_arrays(seed, sizes)
    return splits, np.random.default_rng(seed).normal(size=(len(values), n_outputs)), offsets, sets


def assert_equal_arrays(ones, others):
    for one, other in zip(ones, others, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_rows", [1, 64, 127, 129, 1000])
@pytest.mark.parametrize(("n_splits", "n_outputs"), SIZES_AND_OUTPUTS)
def test_vector_tree_matches_naive_walk(kernels, threads, n_rows, n_splits, n_outputs):
    rng = np.random.default_rng(n_splits)
    splits = make_random_splits(rng, n_splits, N_FEATURES, categorical=0.3)
    sets, values = make_random_sets(rng, splits), rng.normal(size=(n_splits + 1, n_outputs))
    codes = make_random_codes(rng, N_FEATURES, n_rows)
    tree, columns, expected = (
        make_tree(splits, values, N_FEATURES, sets),
        as_columns(codes),
        find_leaves(splits, codes, sets),
    )
    room = np.full((n_rows + 2, n_outputs), 99.0)
    tree.apply_values(columns, room[1:-1], threads)
    np.testing.assert_array_equal(room[1:-1], values[expected])
    assert (room[[0, -1]] == 99).all()  # rows of its own only
    leaves = np.full(n_rows, -1, dtype=np.int32)
    tree.apply_leaves(columns, leaves, threads)
    np.testing.assert_array_equal(leaves, expected)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_vector_tree_is_the_same_for_any_number_of_threads(n_threads):
    splits, values, _, sets = arrays = make_vectors(sizes=(40,))
    codes, out = make_random_codes(np.random.default_rng(0), N_FEATURES, 40_000), np.empty((40_000, 3))
    make_forest(*arrays).tree(0).apply_values(as_columns(codes), out, _native.Threads(n_threads))
    np.testing.assert_array_equal(out, values[find_leaves(splits, codes, sets)])


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize(("begin", "end"), [(0, 5), (2, 3), (4, 4)])
@pytest.mark.parametrize("n_rows", [1, 129, 5000])
@pytest.mark.parametrize("n_outputs", [2, 7])
def test_vector_forest_adds_the_values_of_trees_in_their_order(kernels, n_threads, begin, end, n_rows, n_outputs):
    rng = np.random.default_rng(0)
    arrays, codes = make_vectors(0, n_outputs, LARGE_SIZES), make_random_codes(rng, N_FEATURES, n_rows)
    totals = rng.normal(size=(n_rows, n_outputs))
    expected = totals.copy()
    for t in range(begin, end):
        splits, values, sets = take_tree(t, *arrays)
        expected += values[find_leaves(splits, codes, sets)]
    make_forest(*arrays).add_values(as_columns(codes), begin, end, totals, _native.Threads(n_threads))
    np.testing.assert_array_equal(totals, expected)  # to the last bit


def test_vector_forest_round_trips_through_its_arrays():
    arrays = make_vectors()
    forest = make_forest(*arrays)
    assert forest.n_outputs == 3
    assert_equal_arrays(read_arrays(forest), arrays)


def test_vector_forest_is_built_tree_by_tree():
    arrays = make_vectors()
    whole, grown = make_forest(*arrays), _native.Forest()
    assert grown.n_outputs == 1
    for t in range(len(SIZES)):
        tree = whole.tree(t)
        assert tree.n_outputs == 3
        assert_equal_arrays((read_splits(tree), tree.leaf_values, read_sets(tree)), take_tree(t, *arrays))
        grown.append(tree)
    assert grown.n_outputs == 3
    assert_equal_arrays(read_arrays(grown), arrays)


@pytest.mark.parametrize("n_trees", [0, 1, 4, 7])
def test_vector_forest_is_cut_to_its_first_trees(n_trees):
    arrays = make_vectors()
    first = make_forest(*arrays).first(n_trees)
    assert (len(first), first.n_outputs) == (n_trees, 3)
    n_splits = arrays[2][n_trees]
    np.testing.assert_array_equal(first.leaf_values, arrays[1][: n_splits + n_trees])


def test_forest_takes_trees_of_one_kind_only():
    scalar, vector = make_forest(*make_arrays()), make_forest(*make_vectors())
    for forest, others in ((scalar, vector), (vector, scalar), (vector, make_forest(*make_vectors(n_outputs=2)))):
        before = read_arrays(forest)
        with pytest.raises(ValueError, match="same number of outputs"):
            forest.append(others.tree(2))
        assert_equal_arrays(read_arrays(forest), before)
    emptied = vector.first(0)
    emptied.append(scalar.tree(2))
    assert emptied.n_outputs == 1


def test_narrow_vector_trees_keep_their_values(threads):
    arrays = make_vectors()
    arrays[0]["feature"][arrays[0]["feature"] == 0] = 5  # a feature that is not used
    codes, forest = make_random_codes(np.random.default_rng(0), N_FEATURES, 300), make_forest(*arrays)
    whole, narrow = np.zeros((300, 3)), np.zeros((300, 3))
    forest.add_values(as_columns(codes), 0, len(SIZES), whole, threads)
    forest.narrow().add_values(as_columns(codes[forest.features]), 0, len(SIZES), narrow, threads)
    np.testing.assert_array_equal(narrow, whole)
    tree = forest.tree(2)
    tree.apply_values(as_columns(codes), whole, threads)
    tree.narrow().apply_values(as_columns(codes[tree.features]), narrow, threads)
    np.testing.assert_array_equal(narrow, whole)
    renamed = tree.narrow().with_features(tree.features)
    assert renamed.leaf_values.tolist() == tree.leaf_values.tolist()


@pytest.mark.parametrize("before", [1, 3])
@pytest.mark.parametrize(("shape", "n_outputs"), [((41,), 1), ((41, 1), 1), ((41, 2), 2)])
def test_tree_with_other_values_is_otherwise_the_same(before, shape, n_outputs):
    rng = np.random.default_rng(0)
    arrays = make_vectors(0, before, sizes=(40,))
    tree = make_forest(*arrays).tree(0)
    old, values = tree.leaf_values, rng.normal(size=shape)
    other = tree.with_values(values)
    assert other.n_outputs == n_outputs
    np.testing.assert_array_equal(other.leaf_values, values if n_outputs > 1 else values.ravel())
    assert_equal_arrays((read_splits(other), read_sets(other)), (arrays[0], arrays[3]))
    assert tree.n_outputs == before
    np.testing.assert_array_equal(tree.leaf_values, old)
    values[:] = 0.0
    assert other.leaf_values.all()  # a copy


#: Shapes of leaf values that do not fit 32 leaves; 32 times the outputs of the last one are none in 64 bits.
WRONG_SHAPES = [(31,), (33,), (0,), (31, 3), (33, 3), (3, 32), (32, 0), (0, 3), (32, 3, 1), (), (0, 2**59)]


@pytest.mark.parametrize("shape", WRONG_SHAPES, ids=str)
def test_tree_and_forest_reject_leaf_values_of_other_shapes(shape):
    arrays = make_vectors(sizes=(31,))
    splits, _, offsets, sets = arrays
    with pytest.raises(ValueError, match="each leaf"):
        make_forest(*arrays).tree(0).with_values(np.zeros(shape))
    with pytest.raises(ValueError, match=r"valid trees|each leaf"):
        make_forest(splits, np.zeros(shape), offsets, sets)


@pytest.mark.parametrize(
    ("n_outputs", "shape", "message"),
    [
        pytest.param(1, (100, 1), "one entry per row", id="column"),
        pytest.param(1, (99,), "one entry per row", id="few rows"),
        pytest.param(3, (100,), "column per output", id="no columns"),
        pytest.param(3, (300,), "column per output", id="flat"),
        pytest.param(3, (99, 3), "column per output", id="few rows of columns"),
        pytest.param(3, (101, 3), "column per output", id="many rows"),
        pytest.param(3, (100, 2), "column per output", id="few columns"),
        pytest.param(3, (100, 4), "column per output", id="many columns"),
        pytest.param(3, (3, 100), "column per output", id="transposed"),
        pytest.param(3, (100, 3, 1), "column per output", id="three dimensions"),
    ],
)
def test_values_are_not_written_to_other_shapes(threads, n_outputs, shape, message):
    columns, out = as_columns(np.zeros((N_FEATURES, 100), dtype=np.uint8)), np.zeros(shape)
    forest = make_forest(*make_vectors(n_outputs=n_outputs))
    with pytest.raises(ValueError, match=message):
        forest.add_values(columns, 0, len(SIZES), out, threads)
    with pytest.raises(ValueError, match=message):
        forest.tree(2).apply_values(columns, out, threads)


@pytest.mark.parametrize(
    "out",
    [
        pytest.param(np.zeros((100, 3), dtype=np.float32), id="other type"),
        pytest.param(np.zeros((3, 100)).T, id="by columns"),
        pytest.param(np.broadcast_to(0.0, (100, 3)), id="read-only"),
    ],
)
def test_values_are_not_written_where_they_cannot_be(threads, out):
    columns, forest = as_columns(np.zeros((N_FEATURES, 100), dtype=np.uint8)), make_forest(*make_vectors())
    with pytest.raises(TypeError):
        forest.add_values(columns, 0, len(SIZES), out, threads)
    with pytest.raises(TypeError):
        forest.tree(2).apply_values(columns, out, threads)


def test_vector_trees_neither_vote_nor_have_importances_of_votes(threads):
    columns = as_columns(np.zeros((N_FEATURES, 100), dtype=np.uint8))
    splits, values, offsets, sets = make_vectors()
    forest = make_forest(splits, np.zeros_like(values), offsets, sets)
    tree, rows, labels = forest.tree(2), np.arange(50), np.zeros(100)
    patch = columns, rows, np.arange(N_FEATURES), labels
    for refused in (
        lambda: tree.apply_votes(columns, np.empty(100, dtype=np.int8), threads),
        lambda: tree.apply_classes(columns, np.empty(100, dtype=np.uint16), threads),
        lambda: forest.add_votes(columns, 0, 7, np.zeros(100, dtype=np.int32), threads),
        lambda: forest.add_class_votes(columns, 0, 7, np.zeros((100, 3), dtype=np.int32), threads),
        lambda: _native.permutation_importances(tree, *patch, 0, 0),
        lambda: _native.unseen_importances(tree, *patch, rows),
    ):
        with pytest.raises(ValueError, match="must have one output"):
            refused()
