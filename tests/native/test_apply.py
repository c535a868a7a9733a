"""Where rows end up in trees: many rows at a time against a walk of one row at a time."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.naive_tree import (
    NO_SETS,
    as_columns,
    find_leaves,
    find_votes,
    make_random_codes,
    make_random_sets,
    make_random_splits,
    make_tree,
)

N_FEATURES = 9
METHODS = {"apply_leaves": np.int32, "apply_votes": np.int8, "apply_classes": np.uint16, "apply_values": np.float64}


def make_leaf_values(rng, n_leaves):
    return rng.choice([-1.0, 1.0], n_leaves)


def assert_walks_agree(splits, leaf_values, codes, threads, sets=NO_SETS):
    tree = make_tree(splits, leaf_values, N_FEATURES, sets)
    columns, n_rows = as_columns(codes), codes.shape[1]
    leaves = np.full(n_rows, -1, dtype=np.int32)
    tree.apply_leaves(columns, leaves, threads)
    expected = find_leaves(splits, codes, sets)
    np.testing.assert_array_equal(leaves, expected)
    votes = np.zeros(n_rows, dtype=np.int8)
    tree.apply_votes(columns, votes, threads)
    np.testing.assert_array_equal(votes, find_votes(splits, leaf_values, codes, sets))
    rng = np.random.default_rng(len(splits))
    real_values = rng.normal(size=len(leaf_values))
    values = np.full(n_rows, np.nan)
    make_tree(splits, real_values, N_FEATURES, sets).apply_values(columns, values, threads)
    np.testing.assert_array_equal(values, real_values[expected])
    for n_classes in (1, 2, 10, 257, 65_536):
        codes_of_leaves = rng.integers(n_classes, size=len(leaf_values))
        classes = np.full(n_rows, 65_535, dtype=np.uint16)
        tree = make_tree(splits, codes_of_leaves.astype(np.float64), N_FEATURES, sets)
        tree.apply_classes(columns, classes, threads)
        np.testing.assert_array_equal(classes, codes_of_leaves[expected])


@pytest.mark.parametrize("n_splits", [0, 1, 2, 15, 17, 33, 254, 255, 256, 257, 600, 3000])
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 127, 128, 129, 1000])
def test_apply_matches_naive_walk(kernels, threads, n_rows, n_splits):
    rng = np.random.default_rng(n_rows + n_splits)
    splits = make_random_splits(rng, n_splits, N_FEATURES)
    assert_walks_agree(splits, make_leaf_values(rng, n_splits + 1), make_random_codes(rng, N_FEATURES, n_rows), threads)


@pytest.mark.parametrize("n_splits", [1, 2, 31, 33, 300, 3000])
@pytest.mark.parametrize("categorical", [0.3, 1.0])
@pytest.mark.parametrize(("n_rows", "missing"), [(1, 0.0), (65, 0.5), (127, 0.0), (1000, 0.15), (1000, 0.0)])
def test_apply_matches_naive_walk_over_categories(kernels, threads, n_rows, missing, categorical, n_splits):
    rng = np.random.default_rng(n_rows + n_splits)
    splits = make_random_splits(rng, n_splits, N_FEATURES, categorical=categorical)
    sets = make_random_sets(rng, splits)
    codes = make_random_codes(rng, N_FEATURES, n_rows, missing)
    assert_walks_agree(splits, make_leaf_values(rng, n_splits + 1), codes, threads, sets)


@pytest.mark.parametrize("n_features", [250, 600])  # parted and, of more columns than are laid out by rows, walked
@pytest.mark.parametrize("categorical", [0.0, 0.4])
def test_apply_matches_naive_walk_over_many_columns(kernels, threads, categorical, n_features):
    rng = np.random.default_rng(n_features)
    splits = make_random_splits(rng, 900, n_features, categorical=categorical)
    sets, codes = make_random_sets(rng, splits), make_random_codes(rng, n_features, 500)
    leaves = np.empty(500, dtype=np.int32)
    make_tree(splits, np.ones(901), n_features, sets).apply_leaves(as_columns(codes), leaves, threads)
    np.testing.assert_array_equal(leaves, find_leaves(splits, codes, sets))


@pytest.mark.parametrize("n_splits", [0, 7, 300])
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_apply_is_the_same_for_any_number_of_threads(kernels, n_threads, n_splits):
    rng = np.random.default_rng(0)
    splits = make_random_splits(rng, n_splits, N_FEATURES)
    assert_walks_agree(
        splits,
        make_leaf_values(rng, n_splits + 1),
        make_random_codes(rng, N_FEATURES, 40_000),
        _native.Threads(n_threads),
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["left", "right"])
@pytest.mark.parametrize("n_splits", [14, 15, 16, 17, 31, 32, 33, 63, 2000])
def test_apply_matches_naive_walk_down_chains(kernels, threads, shape, n_splits):
    rng = np.random.default_rng(0)
    splits = make_random_splits(rng, n_splits, N_FEATURES, shape)
    # Few rows leave the chain at each split, so that all numbers of rows below a split occur.
    splits["bin"] = rng.integers(240, 250, n_splits) if shape == "left" else rng.integers(5, 15, n_splits)
    splits["missing_left"] = shape == "left"
    assert_walks_agree(splits, make_leaf_values(rng, n_splits + 1), make_random_codes(rng, N_FEATURES, 500), threads)


@pytest.mark.parametrize("missing", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("missing_left", [0, 1])
def test_apply_sends_missing_values_where_the_split_says(kernels, threads, missing_left, missing):
    rng = np.random.default_rng(0)
    splits = make_random_splits(rng, 60, N_FEATURES)
    splits["missing_left"] = missing_left
    assert_walks_agree(splits, make_leaf_values(rng, 61), make_random_codes(rng, N_FEATURES, 300, missing), threads)


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("b", [0, 1, 127, 128, 253, 254])
def test_apply_compares_every_code_with_the_bin(kernels, threads, b, missing_left):
    splits = make_random_splits(np.random.default_rng(0), 1, 1)
    splits["bin"], splits["missing_left"] = b, missing_left
    codes = np.arange(256, dtype=np.uint8)[None]
    leaves = np.empty(256, dtype=np.int32)
    make_tree(splits, np.array([1.0, -1.0]), 1).apply_leaves(as_columns(codes), leaves, threads)
    assert leaves.tolist() == [int(code > b) for code in range(255)] + [1 - missing_left]


@pytest.mark.parametrize("seed", range(5))
def test_apply_looks_every_code_up_in_the_set(kernels, threads, seed):
    rng = np.random.default_rng(seed)
    splits = make_random_splits(rng, 1, 1, categorical=1.0)
    sets = make_random_sets(rng, splits)
    leaves = np.empty(256, dtype=np.int32)
    codes = rng.permutation(256).astype(np.uint8)
    make_tree(splits, np.array([1.0, -1.0]), 1, sets).apply_leaves(as_columns(codes[None]), leaves, threads)
    assert leaves.tolist() == [int(not sets[0, code]) for code in codes]


@pytest.mark.parametrize(
    ("value", "vote"), [(1.0, 1), (0.25, 1), (1e-300, 1), (0.0, -1), (-0.0, -1), (-3.0, -1), (np.nan, -1)]
)
def test_apply_votes_gives_signs_of_leaf_values(kernels, threads, value, vote):
    splits = make_random_splits(np.random.default_rng(0), 0, 1)
    votes = np.zeros(70, dtype=np.int8)
    tree = make_tree(splits, np.array([value]), 1)
    tree.apply_votes(as_columns(np.zeros((1, 70), dtype=np.uint8)), votes, threads)
    assert votes.tolist() == [vote] * 70


@pytest.mark.parametrize("value", [-1.0, 0.5, 65_536.0, 1e300, np.nan, np.inf])
def test_apply_classes_rejects_leaf_values_that_are_no_classes(threads, value):
    tree = make_tree(make_random_splits(np.random.default_rng(0), 1, 1), np.array([0.0, value]), 1)
    with pytest.raises(ValueError, match="no class"):
        tree.apply_classes(as_columns(np.zeros((1, 5), dtype=np.uint8)), np.empty(5, dtype=np.uint16), threads)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_splits", [30, 400])
@pytest.mark.parametrize("n_rows", [1, 70, 128, 200])
def test_apply_writes_its_rows_only(kernels, threads, method, n_splits, n_rows):
    rng, dtype = np.random.default_rng(0), METHODS[method]
    tree = make_tree(make_random_splits(rng, n_splits, N_FEATURES), np.ones(n_splits + 1), N_FEATURES)
    margin = 256
    room = np.full(n_rows + 2 * margin, 99, dtype=dtype)
    getattr(tree, method)(
        as_columns(make_random_codes(rng, N_FEATURES, n_rows)), room[margin : margin + n_rows], threads
    )
    assert (room[:margin] == 99).all()
    assert (room[margin + n_rows :] == 99).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("n_columns", "n_entries", "message"),
    [
        pytest.param(9, 99, "one entry per row", id="short output"),
        pytest.param(9, 101, "one entry per row", id="long output"),
        pytest.param(9, 0, "one entry per row", id="no output"),
        pytest.param(3, 100, "column that does not exist", id="few columns"),
    ],
)
def test_apply_rejects_wrong_arguments(threads, method, n_columns, n_entries, message):
    splits = make_random_splits(np.random.default_rng(0), 1, 9)
    splits["feature"] = 8
    tree = make_tree(splits, np.ones(2), 9)
    out = np.empty(n_entries, dtype=METHODS[method])
    with pytest.raises(ValueError, match=message):
        getattr(tree, method)(as_columns(np.zeros((n_columns, 100), dtype=np.uint8)), out, threads)


@pytest.mark.parametrize(
    "out",
    [
        pytest.param(np.empty(100, dtype=np.int64), id="other type"),
        pytest.param(np.empty(200, dtype=np.int32)[::2], id="strided"),
        pytest.param(np.empty((100, 1), dtype=np.int32), id="two dimensions"),
        pytest.param(np.broadcast_to(np.int32(0), 100), id="read-only"),
    ],
)
def test_apply_leaves_rejects_outputs_that_it_cannot_write(threads, out):
    tree = make_tree(make_random_splits(np.random.default_rng(0), 0, 1), np.ones(1), 1)
    with pytest.raises(TypeError):
        tree.apply_leaves(as_columns(np.zeros((1, 100), dtype=np.uint8)), out, threads)


def test_tree_names_the_features_that_it_uses():
    splits = make_random_splits(np.random.default_rng(0), 4, 9)
    splits["feature"] = [7, 2, 7, 0]
    assert make_tree(splits, np.ones(5), 9).features.tolist() == [0, 2, 7]
    assert make_tree(splits[:0], np.ones(1), 9).features.tolist() == []


def test_tree_with_other_features_walks_as_the_columns_it_was_made_for(kernels, threads):
    rng = np.random.default_rng(0)
    splits = make_random_splits(rng, 40, 4, categorical=0.4)
    tree = make_tree(splits, make_leaf_values(rng, 41), 4, make_random_sets(rng, splits))
    codes = make_random_codes(rng, N_FEATURES, 300)
    features = np.array([8, 0, 3, 5])
    renamed = tree.with_features(features)
    picked, whole = np.empty(300, dtype=np.int32), np.empty(300, dtype=np.int32)
    tree.apply_leaves(as_columns(codes[features]), picked, threads)
    renamed.apply_leaves(as_columns(codes), whole, threads)
    np.testing.assert_array_equal(whole, picked)
    np.testing.assert_array_equal(tree.splits, splits.view(np.uint8))  # the tree itself stays as it was
    assert renamed.features.tolist() == sorted(features)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        pytest.param([0, 1], "column that does not exist", id="few"),
        pytest.param([0, 1, -1], "numbers below", id="negative"),
        pytest.param([0, 1, 2**31], "numbers below", id="too large"),
    ],
)
def test_tree_rejects_wrong_features(features, message):
    splits = make_random_splits(np.random.default_rng(0), 1, 3)
    splits["feature"] = 2
    with pytest.raises(ValueError, match=message):
        make_tree(splits, np.ones(2), 3).with_features(np.array(features))
