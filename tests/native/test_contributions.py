"""Contributions of features: against Shapley values by their definition, and what must hold for any tree."""

import numpy as np
import pytest

from mpboost import _native
from mpboost.learners.splits import SPLIT_DTYPE
from tests.support.native.naive_contributions import explain
from tests.support.native.naive_tree import (
    as_columns,
    find_leaves,
    make_random_codes,
    make_random_sets,
    make_random_splits,
    pack_sets,
    read_sets,
    read_splits,
)

N_COLUMNS = 6


def make_covered_tree(rng, n_splits, *, n_outputs=1, values=None, categorical=0.3, covers=None, n_columns=N_COLUMNS):
    splits = make_random_splits(rng, n_splits, n_columns, categorical=categorical)
    sets = make_random_sets(rng, splits)
    shape = (n_splits + 1, n_outputs) if n_outputs > 1 else n_splits + 1
    values = rng.normal(size=shape) if values is None else values
    covers = rng.uniform(0.5, 20.0, n_splits + 1) if covers is None else covers
    return make_covered(splits, values, sets, covers, n_columns)


def make_covered(splits, values, sets, covers, n_columns=N_COLUMNS):
    offsets = np.array([0, len(splits)])
    packed = splits.view(np.uint8), values, offsets, pack_sets(sets)
    return _native.Forest(*packed, n_columns, covers.astype(np.float32))


def contribute(forest, codes, threads, kind="values", n_outputs=1, background=None, factors=None):
    columns = as_columns(codes)
    others = None if background is None else as_columns(background)
    out = np.zeros((codes.shape[1], n_outputs, len(codes) + 1))
    _native.add_contributions(forest, columns, others, kind, out, threads, factors)
    return out


@pytest.mark.parametrize("has_background", [False, True], ids=["covers", "background"])
@pytest.mark.parametrize("n_splits", [0, 1, 2, 3, 7, 15, 30])
def test_contributions_are_shapley_values(kernels, threads, n_splits, has_background):
    rng = np.random.default_rng(n_splits)
    forest = make_covered_tree(rng, n_splits)
    codes = make_random_codes(rng, N_COLUMNS, 5)
    background = make_random_codes(rng, N_COLUMNS, 9) if has_background else None
    found = contribute(forest, codes, threads, background=background)[:, 0]
    expected = explain(forest.tree(0), codes, forest.leaf_values, background)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("has_background", [False, True], ids=["covers", "background"])
def test_contributions_of_forests_are_sums_over_trees_of_each_output(threads, has_background):
    rng = np.random.default_rng(5)
    trees = [make_covered_tree(rng, n, n_outputs=3).tree(0) for n in (4, 0, 9)]
    forest = _native.Forest()
    for tree in trees:
        forest.append(tree)
    codes = make_random_codes(rng, N_COLUMNS, 4)
    background = make_random_codes(rng, N_COLUMNS, 3) if has_background else None
    found = contribute(forest, codes, threads, n_outputs=3, background=background)
    for output in range(3):
        expected = sum(explain(tree, codes, tree.leaf_values[:, output], background) for tree in trees)
        np.testing.assert_allclose(found[:, output], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("has_background", [False, True], ids=["covers", "background"])
def test_contributions_of_classes_are_those_of_indicators(threads, has_background):
    rng = np.random.default_rng(6)
    values = rng.integers(4, size=13).astype(float)
    forest = make_covered_tree(rng, 12, values=values)
    codes = make_random_codes(rng, N_COLUMNS, 4)
    background = make_random_codes(rng, N_COLUMNS, 3) if has_background else None
    found = contribute(forest, codes, threads, "classes", 5, background)
    for output in range(5):
        expected = explain(forest.tree(0), codes, (values == output).astype(float), background)
        np.testing.assert_allclose(found[:, output], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("has_background", [False, True], ids=["covers", "background"])
def test_contributions_of_signs_count_by_the_factors_of_trees(threads, has_background):
    rng = np.random.default_rng(7)
    forest = make_covered_tree(rng, 10)
    codes, factors = make_random_codes(rng, N_COLUMNS, 4), np.array([[1.0, -1.0, 0.5]])
    background = make_random_codes(rng, N_COLUMNS, 3) if has_background else None
    found = contribute(forest, codes, threads, "signs", 3, background, factors)
    expected = explain(forest.tree(0), codes, np.where(forest.leaf_values > 0, 1.0, -1.0), background)
    for output, factor in enumerate(factors[0]):
        np.testing.assert_allclose(found[:, output], factor * expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("covers", [np.zeros(16), np.where(np.arange(16) % 3, 0.0, 1e30)], ids=["none", "few"])
def test_contributions_cope_with_leaves_that_no_row_reached(threads, covers):
    rng = np.random.default_rng(8)
    forest = make_covered_tree(rng, 15, covers=covers)
    codes = make_random_codes(rng, N_COLUMNS, 5)
    expected = explain(forest.tree(0), codes, forest.leaf_values)
    np.testing.assert_allclose(contribute(forest, codes, threads)[:, 0], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("has_background", [False, True], ids=["covers", "background"])
@pytest.mark.parametrize("n_splits", [40, 400])
def test_contributions_add_up_and_have_the_same_bits_everywhere(n_splits, has_background):
    rng = np.random.default_rng(n_splits)
    n_columns, n_rows = 40, 531  # up to some dozens of features on a path
    forest = make_covered_tree(rng, n_splits, n_columns=n_columns)
    codes = make_random_codes(rng, n_columns, n_rows)
    background = make_random_codes(rng, n_columns, 20) if has_background else None
    found = []
    for name in _native.available_kernels():
        _native.use_kernels(name)
        found += [contribute(forest, codes, _native.Threads(n), background=background) for n in (1, 3)]
    _native.use_kernels(_native.available_kernels()[0])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    tree = forest.tree(0)
    leaves = find_leaves(read_splits(tree), codes, read_sets(tree))
    np.testing.assert_allclose(found[0].sum(axis=(1, 2)), forest.leaf_values[leaves], rtol=0, atol=1e-12)


def make_chain(n_features):
    """Make a tree that is one long path, with another feature at each split."""
    splits = np.zeros(n_features, dtype=SPLIT_DTYPE)
    splits["feature"], splits["categories"], splits["bin"] = np.arange(n_features), -1, 100
    splits["left"], splits["right"] = np.arange(1, n_features + 1), ~np.arange(n_features, 0, -1)
    splits["left"][-1] = ~0
    values = np.random.default_rng(0).normal(size=n_features + 1)
    return make_covered(splits, values, np.empty((0, 256), bool), np.ones(n_features + 1), n_features)


def test_contributions_of_a_long_path_add_up(threads):
    forest = make_chain(300)
    codes = np.random.default_rng(1).integers(0, 105, size=(300, 40), dtype=np.uint8)
    leaves = find_leaves(read_splits(forest), codes)
    totals = contribute(forest, codes, threads).sum(axis=(1, 2))
    np.testing.assert_allclose(totals, forest.leaf_values[leaves], rtol=0, atol=1e-11)
    with pytest.raises(ValueError, match="more than 64 features"):
        contribute(forest, codes, threads, background=codes[:, :2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "votes"}, "values, signs or classes"),
        ({"n_outputs": 2}, "row per output"),
        ({"kind": "signs", "n_outputs": 2}, "need factors"),
        ({"kind": "classes", "n_outputs": 3}, "no class"),
        ({"factors": np.ones((1, 1))}, "only signs"),
        ({"kind": "signs", "factors": np.ones((2, 1))}, "row per tree"),
        ({"background": np.empty((N_COLUMNS, 0), np.uint8)}, "needs a row"),
        ({"background": np.zeros((1, 3), np.uint8)}, "does not exist"),
        ({"codes": np.zeros((1, 3), np.uint8)}, "does not exist"),
    ],
)
def test_contributions_refuse_arrays_that_do_not_match(threads, change, message):
    forest = make_covered_tree(np.random.default_rng(0), 20)
    with pytest.raises(ValueError, match=message):
        contribute(forest, **({"codes": np.zeros((N_COLUMNS, 3), np.uint8), "threads": threads} | change))


def test_contributions_need_covers_or_a_background(threads):
    forest = make_covered_tree(np.random.default_rng(0), 3, covers=np.empty(0))
    codes = np.zeros((N_COLUMNS, 2), np.uint8)
    with pytest.raises(ValueError, match="covers of leaves are unknown"):
        contribute(forest, codes, threads)
    assert contribute(forest, codes, threads, background=codes)[0, 0, -1] != 0
