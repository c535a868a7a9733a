"""The covers of leaves: the weights of the rows of a minipatch that reach them, whatever grows the tree."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.forests import N_FEATURES, make_arrays
from tests.support.native.naive_tree import (
    as_columns,
    find_leaves,
    make_random_codes,
    pack_sets,
    read_sets,
    read_splits,
)

N_ROWS = 700
GROWERS = {
    "two classes": lambda **limits: _native.BinaryGrower(limits.get("max_depth", 0), 1, 1.0),
    "many classes": lambda **limits: _native.ClassGrower(limits.get("max_depth", 0), 1, np.arange(3, dtype=np.uint16)),
    "numbers": lambda **limits: _native.ValueGrower(limits.get("max_depth", 0), 1),
}
LABELS = {
    "two classes": lambda rng: rng.choice([-1, 1], N_ROWS).astype(np.int8),
    "many classes": lambda rng: rng.integers(3, size=N_ROWS).astype(np.uint16),
    "numbers": lambda rng: rng.normal(size=N_ROWS),
}


def make_patch(seed=0):
    rng = np.random.default_rng(seed)
    codes = make_random_codes(rng, 5, N_ROWS)
    rows, is_categorical = np.sort(rng.permutation(N_ROWS)[:500]), np.arange(5) == 3
    return rng, codes, rows, rng.uniform(0.1, 9.0, len(rows)), is_categorical


def sum_covers(tree, codes, rows, weights):
    leaves = find_leaves(read_splits(tree), codes[:, rows], read_sets(tree))
    return np.bincount(leaves, weights, minlength=len(tree.leaf_values))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", GROWERS)
def test_covers_are_the_weights_of_rows_in_leaves(kind, weighted):
    rng, codes, rows, weights, is_categorical = make_patch()
    given = weights if weighted else None
    grower = GROWERS[kind](max_depth=6)
    grown = grower.grow(as_columns(codes), rows, np.arange(5), LABELS[kind](rng), given, is_categorical)
    assert len(grown.tree.leaf_covers) == len(grown.tree.leaf_values) > 20
    np.testing.assert_allclose(grown.tree.leaf_covers, sum_covers(grown.tree, codes, rows, given), rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", [(31, 0, 1), (400, 0, 1), (64, 3, 1), (500, 0, 40), (2, 0, 1)], ids=str)
def test_covers_of_gradient_trees_are_the_weights_of_rows_in_leaves(kernels, limits, weighted):
    rng, codes, rows, weights, is_categorical = make_patch(1)
    given = weights if weighted else None
    grown = _native.GradientGrower(*limits, 0.0, 64).grow(
        as_columns(codes), rows, np.arange(5), rng.normal(size=500), np.ones(500), 0, 0, is_categorical, weights=given
    )
    assert len(grown.tree.leaf_covers) == len(grown.tree.leaf_values) > 1
    np.testing.assert_allclose(grown.tree.leaf_covers, sum_covers(grown.tree, codes, rows, given), rtol=1e-6)


def make_covered_forest(leaf_covers=None):
    splits, values, offsets, sets = make_arrays()
    covers = np.arange(len(values), dtype=np.float32) if leaf_covers is None else leaf_covers(len(values))
    return _native.Forest(splits.view(np.uint8), values, offsets, pack_sets(sets), N_FEATURES, covers), covers


def test_forest_keeps_covers():
    forest, covers = make_covered_forest()
    grown = _native.Forest()
    for t in range(len(forest)):
        grown.append(forest.tree(t))
    assert grown.has_covers
    np.testing.assert_array_equal(grown.leaf_covers, covers)
    first, tree = forest.first(3), forest.tree(3)
    np.testing.assert_array_equal(first.leaf_covers, covers[: len(first.leaf_values)])
    for same in (tree.narrow(), tree.with_values(tree.leaf_values + 1), tree.with_features(np.arange(N_FEATURES))):
        np.testing.assert_array_equal(same.leaf_covers, tree.leaf_covers)
    np.testing.assert_array_equal(forest.narrow().leaf_covers, covers)


def test_forest_with_a_tree_of_unknown_covers_has_none():
    forest, _ = make_covered_forest()
    bare, _ = make_covered_forest(lambda n: np.empty(0, np.float32))
    assert not bare.has_covers
    assert not len(bare.tree(3).leaf_covers)
    forest.append(bare.tree(3))
    bare.append(forest.tree(0))
    for each in (forest, bare):
        assert not each.has_covers
        assert not len(each.leaf_covers)


@pytest.mark.parametrize(
    "covers",
    [
        pytest.param(lambda n: np.ones(n - 1, np.float32), id="a cover less"),
        pytest.param(lambda n: np.full(n, -1, np.float32), id="negative"),
        pytest.param(lambda n: np.full(n, np.nan, np.float32), id="nan"),
        pytest.param(lambda n: np.full(n, np.inf, np.float32), id="infinite"),
    ],
)
def test_forest_rejects_impossible_covers(covers):
    with pytest.raises(ValueError, match="valid trees"):
        make_covered_forest(covers)
