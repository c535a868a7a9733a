"""The forest: votes of many trees, a round trip through its arrays, and arrays that describe no trees."""

import numpy as np
import pytest

from mpboost import _native
from mpboost.ensemble import SPLIT_DTYPE

from .naive_tree import (
    as_columns,
    find_votes,
    is_valid_tree,
    make_random_codes,
    make_random_splits,
    make_tree,
    read_splits,
)

N_FEATURES = 6
SIZES = (0, 1, 5, 40, 0, 200, 17)


def make_arrays(seed=0, sizes=SIZES):
    rng = np.random.default_rng(seed)
    trees = [make_random_splits(rng, size, N_FEATURES) for size in sizes]
    splits = np.concatenate([np.empty(0, dtype=SPLIT_DTYPE), *trees])
    leaf_values = rng.choice([-1.0, 1.0], len(splits) + len(sizes))
    return splits, leaf_values, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def make_forest(splits, leaf_values, offsets, n_features=N_FEATURES):
    return _native.Forest(splits.view(np.uint8), leaf_values, offsets, n_features)


def sum_votes(splits, leaf_values, offsets, codes, trees):
    total = np.zeros(codes.shape[1], dtype=np.int32)
    for t in trees:
        begin, end = offsets[t], offsets[t + 1]
        total += find_votes(splits[begin:end], leaf_values[begin + t : end + t + 1], codes)
    return total


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 127, 128, 129, 1000])
def test_forest_adds_the_votes_of_all_trees(kernels, threads, n_rows):
    rng = np.random.default_rng(0)
    arrays, codes = make_arrays(), make_random_codes(rng, N_FEATURES, n_rows)
    total = rng.integers(-50, 50, n_rows).astype(np.int32)
    expected = total + sum_votes(*arrays, codes, range(len(SIZES)))
    make_forest(*arrays).add_votes(as_columns(codes), 0, len(SIZES), total, threads)
    np.testing.assert_array_equal(total, expected)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_forest_votes_are_the_same_for_any_number_of_threads(kernels, n_threads):
    arrays, codes = make_arrays(), make_random_codes(np.random.default_rng(0), N_FEATURES, 40_000)
    total = np.zeros(40_000, dtype=np.int32)
    make_forest(*arrays).add_votes(as_columns(codes), 0, len(SIZES), total, _native.Threads(n_threads))
    np.testing.assert_array_equal(total, sum_votes(*arrays, codes, range(len(SIZES))))


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (0, 1), (2, 5), (6, 7), (7, 7)])
def test_forest_adds_the_votes_of_some_trees(kernels, threads, begin, end):
    arrays, codes = make_arrays(), make_random_codes(np.random.default_rng(0), N_FEATURES, 100)
    total = np.zeros(100, dtype=np.int32)
    make_forest(*arrays).add_votes(as_columns(codes), begin, end, total, threads)
    np.testing.assert_array_equal(total, sum_votes(*arrays, codes, range(begin, end)))


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


def test_forest_round_trips_through_its_arrays():
    splits, leaf_values, offsets = make_arrays()
    forest = make_forest(splits, leaf_values, offsets)
    assert len(forest) == len(SIZES)
    np.testing.assert_array_equal(read_splits(forest), splits)
    np.testing.assert_array_equal(forest.leaf_values, leaf_values)
    np.testing.assert_array_equal(forest.split_offsets, offsets)


def test_forest_is_built_tree_by_tree():
    splits, leaf_values, offsets = make_arrays()
    whole, grown = make_forest(splits, leaf_values, offsets), _native.Forest()
    assert len(grown) == 0
    for t in range(len(SIZES)):
        grown.append(whole.tree(t))
    assert len(grown) == len(SIZES)
    np.testing.assert_array_equal(read_splits(grown), splits)
    np.testing.assert_array_equal(grown.leaf_values, leaf_values)
    np.testing.assert_array_equal(grown.split_offsets, offsets)


def test_forest_gives_each_tree():
    splits, leaf_values, offsets = make_arrays()
    forest = make_forest(splits, leaf_values, offsets)
    for t in range(len(SIZES)):
        begin, end = offsets[t], offsets[t + 1]
        np.testing.assert_array_equal(read_splits(forest.tree(t)), splits[begin:end])
        np.testing.assert_array_equal(forest.tree(t).leaf_values, leaf_values[begin + t : end + t + 1])


@pytest.mark.parametrize("n_trees", range(len(SIZES) + 1))
def test_forest_is_cut_to_its_first_trees(n_trees):
    splits, leaf_values, offsets = make_arrays()
    first = make_forest(splits, leaf_values, offsets).first(n_trees)
    assert len(first) == n_trees
    np.testing.assert_array_equal(read_splits(first), splits[: offsets[n_trees]])
    np.testing.assert_array_equal(first.leaf_values, leaf_values[: offsets[n_trees] + n_trees])
    np.testing.assert_array_equal(first.split_offsets, offsets[: n_trees + 1])


@pytest.mark.parametrize("index", [-1, 7, 2**62])
def test_forest_rejects_numbers_of_trees_that_it_lacks(index):
    forest = make_forest(*make_arrays())
    with pytest.raises(ValueError, match="no such tree"):
        forest.tree(index)
    with pytest.raises(ValueError, match="fewer trees"):
        forest.first(index if index != 7 else 8)


def test_forest_of_no_trees_takes_its_own_arrays():
    empty = _native.Forest()
    assert len(_native.Forest(empty.splits, empty.leaf_values, empty.split_offsets, 0)) == 0


# A tree of three splits: 0 has the splits 1 and 2 below it, and these have two leaves each.
#      0
#    1   2
#   a b c d
@pytest.mark.parametrize(
    ("split", "field", "value"),
    [
        pytest.param(0, "left", 3, id="child beyond the splits"),
        pytest.param(0, "left", 2**31 - 1, id="child far beyond the splits"),
        pytest.param(0, "left", 2, id="left child is the right one"),
        pytest.param(0, "right", 1, id="right child is the left one"),
        pytest.param(0, "left", 0, id="child is its own parent"),
        pytest.param(2, "right", 0, id="child is the root"),
        pytest.param(1, "left", 2, id="two parents"),
        pytest.param(0, "right", ~2, id="split that nobody reaches"),
        pytest.param(1, "left", ~1, id="leaves out of order"),
        pytest.param(1, "right", ~0, id="one leaf twice"),
        pytest.param(2, "right", ~4, id="leaf beyond the leaves"),
        pytest.param(2, "right", -(2**31), id="leaf far beyond the leaves"),
        pytest.param(1, "feature", -1, id="negative feature"),
        pytest.param(1, "feature", 6, id="feature beyond the features"),
        pytest.param(1, "feature", 2**31 - 1, id="feature far beyond the features"),
        pytest.param(1, "bin", 255, id="bin of missing values"),
        pytest.param(1, "missing_left", 2, id="side that is neither"),
    ],
)
def test_forest_rejects_wrong_splits(split, field, value):
    splits = np.array(
        [(0, 1, 2, 9, 0, 0), (1, ~0, ~1, 9, 1, 0), (5, ~2, ~3, 254, 0, 0)],
        dtype=SPLIT_DTYPE,
    )
    make_forest(splits, np.ones(4), np.array([0, 3]))
    splits[split][field] = value
    with pytest.raises(ValueError, match="valid trees"):
        make_forest(splits, np.ones(4), np.array([0, 3]))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s, v, o: (s[:-1], v, o), id="a split less"),
        pytest.param(lambda s, v, o: (s, v[:-1], o), id="a leaf less"),
        pytest.param(lambda s, v, o: (s, np.append(v, 1.0), o), id="a leaf more"),
        pytest.param(lambda s, v, o: (s, v, o[:-1]), id="an offset less"),
        pytest.param(lambda s, v, o: (s, v, o[1:]), id="no offset of the first tree"),
        pytest.param(lambda s, v, o: (s, v, o[:0]), id="no offsets"),
        pytest.param(lambda s, v, o: (s, v, o[::-1].copy()), id="offsets backwards"),
        pytest.param(lambda s, v, o: (s, v, np.where(o == o[3], -1, o)), id="negative offset"),
        pytest.param(lambda s, v, o: (s, v, np.where(o == o[3], 2**62, o)), id="huge offset"),
        pytest.param(lambda s, v, o: (s, v, np.where(o == o[3], o + 1, o)), id="offset inside a tree"),
        pytest.param(lambda s, v, o: (s[::-1].copy(), v, o), id="splits backwards"),
    ],
)
def test_forest_rejects_arrays_that_do_not_match(change):
    with pytest.raises(ValueError, match="valid trees"):
        make_forest(*change(*make_arrays()))


def test_forest_rejects_splits_of_other_sizes():
    splits, leaf_values, offsets = make_arrays()
    with pytest.raises(ValueError, match="16 bytes"):
        _native.Forest(splits.view(np.uint8)[:-1], leaf_values, offsets, N_FEATURES)


@pytest.mark.parametrize("n_features", [-1, 0, 5])
def test_forest_rejects_trees_of_more_features(n_features):
    with pytest.raises(ValueError, match="valid trees"):
        make_forest(*make_arrays(), n_features=n_features)


def mutate(rng, splits, leaf_values, offsets):
    """Damage arrays in one to three places: a byte, a field, an exchange of fields or an offset."""
    splits, leaf_values, offsets = splits.copy(), leaf_values.copy(), offsets.copy()
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(6)
        a, b = rng.integers(len(splits), size=2)
        field = rng.choice(["feature", "left", "right", "bin", "missing_left"])
        if kind == 0:
            splits.view(np.uint8)[rng.integers(splits.nbytes)] = rng.integers(256)
        elif kind == 1:
            limits = np.iinfo(splits.dtype[field])
            splits[a][field] = np.clip(int(splits[a][field]) + rng.integers(-3, 4), limits.min, limits.max)
        elif kind == 2:
            splits[field][[a, b]] = splits[field][[b, a]]
        elif kind == 3:
            splits["left"][a], splits["right"][a] = splits["right"][a], splits["left"][a]
        elif kind == 4:
            offsets[rng.integers(len(offsets))] += rng.integers(-2, 3)
        else:
            child = splits[a][rng.choice(["left", "right"])]
            splits[b][rng.choice(["left", "right"])] = child
    return splits, leaf_values, offsets


def describes_trees(splits, leaf_values, offsets):
    if offsets[0] != 0 or offsets[-1] != len(splits) or (np.diff(offsets) < 0).any():
        return False
    sizes = np.diff(offsets)
    if len(leaf_values) != len(splits) + len(sizes):
        return False
    return all(
        is_valid_tree(splits[begin : begin + size], size + 1, N_FEATURES)
        for begin, size in zip(offsets, sizes, strict=False)
    )


def test_forest_takes_mutated_arrays_only_if_they_describe_trees(threads):
    rng = np.random.default_rng(0)
    codes = make_random_codes(rng, N_FEATURES, 70)
    columns = as_columns(codes)
    sound = make_arrays(sizes=(3, 0, 1, 8))
    n_valid, n_mutations = 0, 3000
    for _ in range(n_mutations):
        arrays = mutate(rng, *sound)
        if not describes_trees(*arrays):
            with pytest.raises(ValueError, match="valid trees"):
                make_forest(*arrays)
            continue
        n_valid += 1
        total = np.zeros(70, dtype=np.int32)
        make_forest(*arrays).add_votes(columns, 0, 4, total, threads)
        np.testing.assert_array_equal(total, sum_votes(*arrays, codes, range(4)))
    assert 0.05 < n_valid / n_mutations < 0.95  # both kinds must have been tried


@pytest.mark.parametrize("n_bytes", [0, 16, 48, 160])
def test_forest_survives_random_bytes(n_bytes):
    rng = np.random.default_rng(0)
    n_splits = n_bytes // 16
    for _ in range(300):
        splits = rng.integers(256, size=n_bytes, dtype=np.uint8)
        offsets = np.array([0, n_splits])
        if describes_trees(splits.view(SPLIT_DTYPE), np.ones(n_splits + 1), offsets):
            assert len(_native.Forest(splits, np.ones(n_splits + 1), offsets, N_FEATURES)) == 1
        else:
            with pytest.raises(ValueError, match="valid trees"):
                _native.Forest(splits, np.ones(n_splits + 1), offsets, N_FEATURES)


def test_forest_takes_very_deep_trees(kernels, threads):
    n_splits = 50_000
    splits = make_random_splits(np.random.default_rng(0), n_splits, 1, "left")
    splits["bin"], splits["missing_left"] = 200, 0
    leaf_values = np.full(n_splits + 1, -1.0)
    leaf_values[0] = 1.0
    votes = np.empty(256, dtype=np.int8)
    tree = make_tree(splits, leaf_values, 1)
    tree.apply_votes(as_columns(np.arange(256, dtype=np.uint8)[None]), votes, threads)
    assert votes.tolist() == [1] * 201 + [-1] * 55
