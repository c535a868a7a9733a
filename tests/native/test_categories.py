"""Splits of categorical features: the best of all subsets, and where codes go that a node has not seen."""

from itertools import chain, combinations

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.naive_grower import grow_arrays, grow_both
from tests.support.native.naive_tree import MISSING, as_columns, read_sets, read_splits


def measure_impurity(goes_left, labels, weights):
    """Sum up the Gini impurity of both sides."""
    impurity = 0.0
    for side in (goes_left, ~goes_left):
        total, positive = weights[side].sum(), weights[side & (labels > 0)].sum()
        impurity += 2 * positive * (total - positive) / total
    return impurity


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_categories", [2, 3, 5, 8])
def test_categories_are_split_as_well_as_by_any_subset(kernels, n_categories, missing, weighted):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(12, 120))
        x = rng.permutation(255)[:n_categories][rng.integers(n_categories, size=n_rows)].astype(np.uint8)
        labels = np.where(rng.random(n_rows) < rng.random(256)[x], 1, -1).astype(np.int8)
        x[rng.random(n_rows) < missing] = MISSING
        weights = rng.uniform(0.1, 3.0, n_rows) if weighted else np.ones(n_rows)
        if len(np.unique(x)) == 1 or len(np.unique(labels)) == 1:
            continue
        grown = grow_both([x], labels, None, weights if weighted else None, [True], max_depth=1)
        seen = np.unique(x).tolist()
        subsets = chain.from_iterable(combinations(seen, size) for size in range(1, len(seen)))
        best = min(measure_impurity(np.isin(x, subset), labels, weights) for subset in subsets)
        assert measure_impurity(read_sets(grown.tree)[0][x], labels, weights) == pytest.approx(best, rel=1e-6)


def test_categories_that_are_scattered_are_split_at_once(kernels):
    x = np.repeat(np.arange(40), 3)
    labels = np.where(x % 2, 1, -1)
    grown = grow_both([x], labels, is_categorical=[True])
    assert len(read_splits(grown.tree)) == 1
    assert np.flatnonzero(read_sets(grown.tree)[0][:40]).tolist() == list(range(0, 40, 2))
    assert len(read_splits(grow_both([x], labels, is_categorical=[False]).tree)) == 39


@pytest.mark.parametrize(
    ("codes", "labels", "goes_left"),
    [
        pytest.param([3, 3, 3, 9, 9], [-1, -1, -1, 1, 1], True, id="left is larger"),
        pytest.param([3, 3, 9, 9, 9], [-1, -1, 1, 1, 1], False, id="right is larger"),
        pytest.param([3, 3, 9, 9], [-1, -1, 1, 1], False, id="equal"),
    ],
)
def test_categories_that_were_not_seen_go_with_the_larger_part(kernels, codes, labels, goes_left):
    grown = grow_both([codes], labels, is_categorical=[True])
    expected = np.full(256, goes_left)
    expected[[3, 9]] = True, False
    np.testing.assert_array_equal(read_sets(grown.tree), [expected])
    assert read_splits(grown.tree)["missing_left"].tolist() == [goes_left]


@pytest.mark.parametrize(
    ("labels", "missing_left"),
    [
        pytest.param([-1, 1, -1, 1], 1, id="with the negative category"),
        pytest.param([-1, 1, 1, 1], 0, id="with the positive category"),
    ],
)
@pytest.mark.parametrize("n_more", [0, 5])
def test_missing_values_are_one_more_category(kernels, labels, missing_left, n_more):
    # Category 9, the larger part or not, has no say in where missing values go that were seen.
    codes = [3, 9, MISSING, 9] + [9] * n_more
    grown = grow_both([codes], labels + [1] * n_more, is_categorical=[True])
    split = read_splits(grown.tree)
    assert split["missing_left"].tolist() == [missing_left]
    assert read_sets(grown.tree)[0][[3, 9, MISSING]].tolist() == [True, False, bool(missing_left)]


def test_missing_values_can_be_all_that_is_split_off(kernels):
    grown = grow_both([[3, 9, MISSING, MISSING]], [1, 1, -1, -1], is_categorical=[True])
    assert len(read_splits(grown.tree)) == 1
    assert read_sets(grown.tree)[0][[3, 9, MISSING]].tolist() == [True, True, False]


def test_categories_of_equal_shares_are_taken_by_their_codes(kernels):
    grown = grow_both([[5, 2, 8, 5, 2, 8]], [1, 1, 1, -1, -1, -1], is_categorical=[True], max_depth=1)
    assert read_sets(grown.tree)[0][[2, 5, 8]].tolist() == [True, False, False]


def test_categories_of_one_row_each_lose_against_a_feature_that_tells_something(kernels):
    # By its own rows alone a category per row is always right; the number is so for seven of eight.
    codes = [np.arange(8), [0, 0, 0, 1, 1, 1, 1, 1]]
    labels = [-1, -1, -1, -1, 1, 1, 1, 1]
    splits, _, _ = grow_arrays(codes, labels, is_categorical=[True, False], max_depth=1)
    assert splits["feature"].tolist() == [1]
    splits, _, _ = grow_arrays(codes[:1], labels, is_categorical=[True])
    assert len(splits) == 1


@pytest.mark.parametrize("is_categorical", [[False, True], [True, False]])
def test_numeric_features_win_ties_over_categories(kernels, is_categorical):
    splits, _, importances = grow_arrays([[0, 0, 1, 1]] * 2, [-1, -1, 1, 1], is_categorical=is_categorical)
    assert splits["feature"].tolist() == [is_categorical.index(False)]
    assert importances.tolist() == [float(not flag) for flag in is_categorical]


def test_categories_and_numbers_share_a_tree(kernels):
    rng = np.random.default_rng(0)
    codes = rng.integers(12, size=(4, 400), dtype=np.uint8)
    labels = np.where((codes[0] % 2 == 0) ^ (codes[2] > 5), 1, -1).astype(np.int8)
    splits, _, _ = grow_arrays(codes, labels, is_categorical=[True, False, False, True])
    of_categories = np.isin(splits["feature"], [0, 3])
    np.testing.assert_array_equal(splits["categories"] >= 0, of_categories)
    assert splits["categories"][of_categories].tolist() == list(range(of_categories.sum()))
    assert {0, 2} <= set(splits["feature"])


@pytest.mark.parametrize("n_flags", [0, 2, 4])
def test_grower_rejects_flags_of_other_numbers(n_flags):
    columns = as_columns(np.zeros((3, 10), dtype=np.uint8))
    patch = np.arange(10), np.arange(2), np.ones(10, dtype=np.int8)
    with pytest.raises(ValueError, match="one entry per column"):
        _native.BinaryGrower(0, 1, 1.0).grow(columns, *patch, None, np.zeros(n_flags, dtype=bool))
