"""Arrays of forests that describe no trees, and odd ones that do."""

import numpy as np
import pytest

from mpboost import _native
from mpboost.learners.splits import SPLIT_DTYPE
from tests.support.native.forests import N_FEATURES, make_arrays, make_forest, sum_votes, take_tree
from tests.support.native.naive_tree import (
    as_columns,
    is_valid_tree,
    make_random_codes,
    make_random_sets,
    make_random_splits,
    make_tree,
    pack_sets,
)


# A tree of four splits: 0 has the splits 1 and 2 below it, and 2 the split 3; 1 and 3 are of categories.
#      0
#    1   2
#   a b 3 e
#      c d
@pytest.mark.parametrize(
    ("split", "field", "value"),
    [
        pytest.param(0, "left", 4, id="child beyond the splits"),
        pytest.param(0, "left", 2**31 - 1, id="child far beyond the splits"),
        pytest.param(0, "left", 2, id="left child is the right one"),
        pytest.param(0, "right", 1, id="right child is the left one"),
        pytest.param(0, "left", 0, id="child is its own parent"),
        pytest.param(2, "right", 0, id="child is the root"),
        pytest.param(1, "left", 2, id="two parents"),
        pytest.param(0, "right", ~2, id="split that nobody reaches"),
        pytest.param(1, "left", ~1, id="leaves out of order"),
        pytest.param(1, "right", ~0, id="one leaf twice"),
        pytest.param(2, "right", ~5, id="leaf beyond the leaves"),
        pytest.param(2, "right", -(2**31), id="leaf far beyond the leaves"),
        pytest.param(1, "feature", -1, id="negative feature"),
        pytest.param(1, "feature", 6, id="feature beyond the features"),
        pytest.param(1, "feature", 2**31 - 1, id="feature far beyond the features"),
        pytest.param(0, "bin", 255, id="bin of missing values"),
        pytest.param(1, "bin", 255, id="bin of missing values beside categories"),
        pytest.param(0, "missing_left", 2, id="side that is neither"),
        pytest.param(1, "categories", 1, id="set that is not the next"),
        pytest.param(3, "categories", 0, id="one set twice"),
        pytest.param(3, "categories", 2, id="set beyond the sets"),
        pytest.param(3, "categories", 2**31 - 1, id="set far beyond the sets"),
        pytest.param(3, "categories", -1, id="set that nobody uses"),
        pytest.param(3, "categories", -2, id="neither a set nor none"),
        pytest.param(0, "categories", -2, id="neither none nor a set"),
        pytest.param(0, "categories", -(2**31), id="far from none"),
        pytest.param(0, "categories", 0, id="set of another split"),
        pytest.param(1, "missing_left", 0, id="missing values right, but in the set"),
        pytest.param(3, "missing_left", 1, id="missing values left, but not in the set"),
        pytest.param(1, "missing_left", 255, id="missing values in the set, but side that is neither"),
    ],
)
def test_forest_rejects_wrong_splits(split, field, value):
    splits = np.array(
        [(0, 1, 2, -1, 9, 0, 0), (1, ~0, ~1, 0, 0, 1, 0), (5, 3, ~4, -1, 254, 0, 0), (5, ~2, ~3, 1, 0, 0, 0)],
        dtype=SPLIT_DTYPE,
    )
    arrays = splits, np.ones(5), np.array([0, 4]), make_random_sets(np.random.default_rng(0), splits)
    make_forest(*arrays)
    splits[split][field] = value
    with pytest.raises(ValueError, match="valid trees"):
        make_forest(*arrays)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s, v, o, c: (s[:-1], v, o, c), id="a split less"),
        pytest.param(lambda s, v, o, c: (s, v[:-1], o, c), id="a leaf less"),
        pytest.param(lambda s, v, o, c: (s, np.append(v, 1.0), o, c), id="a leaf more"),
        pytest.param(lambda s, v, o, c: (s, v, o[:-1], c), id="an offset less"),
        pytest.param(lambda s, v, o, c: (s, v, o[1:], c), id="no offset of the first tree"),
        pytest.param(lambda s, v, o, c: (s, v, o[:0], c), id="no offsets"),
        pytest.param(lambda s, v, o, c: (s, v, o[::-1].copy(), c), id="offsets backwards"),
        pytest.param(lambda s, v, o, c: (s, v, np.where(o == o[3], -1, o), c), id="negative offset"),
        pytest.param(lambda s, v, o, c: (s, v, np.where(o == o[3], 2**62, o), c), id="huge offset"),
        pytest.param(lambda s, v, o, c: (s, v, np.where(o == o[3], o + 1, o), c), id="offset inside a tree"),
        pytest.param(lambda s, v, o, c: (s[::-1].copy(), v, o, c), id="splits backwards"),
        pytest.param(lambda s, v, o, c: (s, v, o, c[:-1]), id="a set less"),
        pytest.param(lambda s, v, o, c: (s, v, o, np.vstack([c, c[:1]])), id="a set more"),
        pytest.param(lambda s, v, o, c: (s, v, o, c[:0]), id="no sets"),
        pytest.param(lambda s, v, o, c: (s, v, o, c ^ (np.arange(256) == 255)), id="all missing values elsewhere"),
    ],
)
def test_forest_rejects_arrays_that_do_not_match(change):
    with pytest.raises(ValueError, match="valid trees"):
        make_forest(*change(*make_arrays()))


@pytest.mark.parametrize("which", ["splits", "sets"])
@pytest.mark.parametrize("n_lost", [1, 16])
def test_forest_rejects_records_of_other_sizes(which, n_lost):
    splits, leaf_values, offsets, sets = make_arrays()
    records = {"splits": splits.view(np.uint8), "sets": pack_sets(sets)}
    records[which] = records[which][:-n_lost]
    with pytest.raises(ValueError, match="20 bytes each and category sets 32"):
        _native.Forest(records["splits"], leaf_values, offsets, records["sets"], N_FEATURES)


@pytest.mark.parametrize("n_features", [-1, 0, 5])
def test_forest_rejects_trees_of_more_features(n_features):
    with pytest.raises(ValueError, match="valid trees"):
        make_forest(*make_arrays(), n_features=n_features)


def mutate(rng, splits, leaf_values, offsets, sets):
    """Damage arrays in one to three places: a byte, a field, an exchange of fields or sets, an offset or a flag."""
    splits, leaf_values, offsets, sets = splits.copy(), leaf_values.copy(), offsets.copy(), sets.copy()
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(9)
        a, b = rng.integers(len(splits), size=2)
        field = rng.choice(["feature", "left", "right", "categories", "bin", "missing_left"])
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
        elif kind == 5:
            child = splits[a][rng.choice(["left", "right"])]
            splits[b][rng.choice(["left", "right"])] = child
        elif kind == 6:
            sets[rng.integers(len(sets)), rng.choice([0, 7, 100, 254, 255])] ^= True
        elif kind == 7:
            sets = sets[rng.permutation(len(sets))]
        else:
            sets = sets[rng.integers(len(sets), size=len(sets) + rng.integers(-1, 2))]
            if not len(sets):
                return splits, leaf_values, offsets, sets
    return splits, leaf_values, offsets, sets


def describes_trees(splits, leaf_values, offsets, sets):
    if offsets[0] != 0 or offsets[-1] != len(splits) or (np.diff(offsets) < 0).any():
        return False
    arrays = splits, leaf_values, offsets, sets
    if len(leaf_values) != len(splits) + len(offsets) - 1 or np.sum(splits["categories"] >= 0) != len(sets):
        return False
    trees = (take_tree(t, *arrays) for t in range(len(offsets) - 1))
    return all(is_valid_tree(splits, len(leaf_values), N_FEATURES, sets) for splits, leaf_values, sets in trees)


@pytest.mark.slow
def test_forest_takes_mutated_arrays_only_if_they_describe_trees(threads):
    rng = np.random.default_rng(0)
    codes = make_random_codes(rng, N_FEATURES, 70)
    columns = as_columns(codes)
    sound = make_arrays(sizes=(3, 0, 1, 8))
    n_valid, n_mutations = 0, 4000
    for _ in range(n_mutations):
        arrays = mutate(rng, *sound)
        if not describes_trees(*arrays):
            with pytest.raises(ValueError, match="valid trees"):
                make_forest(*arrays)
            continue
        n_valid += 1
        total = np.zeros(70, dtype=np.int32)
        make_forest(*arrays).add_votes(columns, 0, 4, total, threads)
        np.testing.assert_array_equal(total, sum_votes(arrays, codes, range(4)))
    assert 0.05 < n_valid / n_mutations < 0.95  # both kinds must have been tried


@pytest.mark.parametrize("n_sets", [0, 1, 3])
@pytest.mark.parametrize("n_splits", [0, 1, 3, 10])
def test_forest_survives_random_bytes(n_splits, n_sets):
    rng = np.random.default_rng(0)
    leaf_values, offsets = np.ones(n_splits + 1), np.array([0, n_splits])
    for _ in range(300):
        splits = rng.integers(256, size=20 * n_splits, dtype=np.uint8).view(SPLIT_DTYPE)
        arrays = splits, leaf_values, offsets, rng.random((n_sets, 256)) < 0.5
        if describes_trees(*arrays):
            assert len(make_forest(*arrays)) == 1
        else:
            with pytest.raises(ValueError, match="valid trees"):
                make_forest(*arrays)


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
