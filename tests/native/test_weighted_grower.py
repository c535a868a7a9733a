"""Trees of rows that have weights: what weights mean, besides what the naive twin says (test_grower.py)."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.naive_grower import grow_arrays, grow_both
from tests.support.native.naive_tree import MISSING, as_columns, find_votes, make_tree, read_sets, read_splits


def make_patch(seed, n_rows, n_codes=255, missing=0.0, n_categorical=0):
    """Make noisy data of five columns, all of whose rows and columns are the minipatch."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_codes, size=(5, n_rows), dtype=np.uint8)
    signal = codes[:2].astype(int).sum(axis=0) + rng.integers(n_codes // 2 + 1, size=n_rows)
    labels = np.where(signal > np.median(signal), 1, -1).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = MISSING
    return codes, labels, np.arange(5) < n_categorical


def grow(codes, labels, is_categorical=None, *, rows=None, weights=None, min_samples_leaf=1, max_depth=0):
    grower = _native.BinaryGrower(max_depth, min_samples_leaf, 1.0)
    rows = np.arange(codes.shape[1]) if rows is None else rows
    return grower.grow(as_columns(codes), rows, np.arange(len(codes)), labels, weights, is_categorical)


def assert_equal_trees(one, other, rtol=0.0):
    np.testing.assert_array_equal(one.tree.splits, other.tree.splits)
    np.testing.assert_array_equal(one.tree.category_sets, other.tree.category_sets)
    np.testing.assert_array_equal(one.tree.leaf_values, other.tree.leaf_values)
    np.testing.assert_allclose(one.importances, other.importances, rtol=rtol)


# Powers of two, so that equal weights are not rounded: splits that tie without weights tie with them.
SHAPES = {
    "16 rows": {"n_rows": 16},
    "16 rows, 4 codes": {"n_rows": 16, "n_codes": 4},
    "256 rows": {"n_rows": 256},
    "256 rows, missing": {"n_rows": 256, "missing": 0.2},
    "256 rows, 9 codes, categories": {"n_rows": 256, "n_codes": 9, "missing": 0.1, "n_categorical": 3},
}
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


@shapes
@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-300, 1e300])
def test_weights_that_are_equal_give_the_tree_of_none(kernels, shape, weight):
    codes, labels, is_categorical = make_patch(0, **shape)
    weights = np.full(len(labels), weight)
    # Scores without weights are rounded to single precision.
    assert_equal_trees(
        grow(codes, labels, is_categorical, weights=weights), grow(codes, labels, is_categorical), rtol=1e-5
    )


@shapes
@pytest.mark.parametrize("factor", [2.0**-900, 0.5, 4.0, 2.0**900])
def test_weights_count_by_their_ratios(kernels, shape, factor):
    codes, labels, is_categorical = make_patch(0, **shape)
    weights = np.random.default_rng(1).uniform(0.1, 2.0, len(labels))
    one, other = (grow(codes, labels, is_categorical, weights=w) for w in (weights, weights * factor))
    assert_equal_trees(one, other)


@pytest.mark.parametrize("shape", [SHAPES[name] for name in SHAPES if "categories" not in name])
def test_weights_that_are_whole_stand_for_repeated_rows(kernels, shape):
    # Not so with categories: what they gain by chance depends on the number of rows.
    codes, labels, _ = make_patch(0, **shape)
    rng = np.random.default_rng(1)
    n_rows = len(labels)
    counts = 1 + np.bincount(rng.integers(n_rows, size=1024 - n_rows), minlength=n_rows)  # of which none is rounded
    assert counts.sum() == 1024
    weighted = grow(codes, labels, weights=counts.astype(float))
    repeated = rng.permutation(np.repeat(np.arange(n_rows), counts))
    assert_equal_trees(weighted, grow(codes, labels, rows=repeated, weights=np.ones(1024)))
    assert_equal_trees(weighted, grow(codes, labels, rows=repeated), rtol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("min_samples_leaf", [1, 3])
@pytest.mark.parametrize("weighted", [True, False], ids=["weights", "no weights"])
def test_pairs_and_bins_find_the_same_splits(kernels, weighted, min_samples_leaf, missing):
    # A column of one high code offers no split, but so many bins that all rows are compared with all rows.
    for seed in range(20):
        codes, labels, _ = make_patch(seed, n_rows=30, n_codes=6, missing=missing)
        weights = np.random.default_rng(seed).uniform(0.1, 2.0, 30) if weighted else None
        with_many_bins = np.vstack([codes, np.full(30, 254, dtype=np.uint8)])
        few, many = (
            grow(c, labels, weights=weights, min_samples_leaf=min_samples_leaf) for c in (codes, with_many_bins)
        )
        np.testing.assert_array_equal(few.tree.splits, many.tree.splits)
        np.testing.assert_array_equal(few.importances, many.importances[:5])


@pytest.mark.parametrize("is_categorical", [False, True])
def test_min_samples_leaf_counts_rows_not_weights(kernels, is_categorical):
    # One heavy row that a split would like to set apart; with leaves of two rows it takes a neighbour along.
    codes, labels = [[0, 1, 2, 3, 4, 5]], [1, -1, -1, -1, -1, -1]
    weights = [1e6, 1.0, 1.0, 1.0, 1.0, 1.0]
    for min_samples_leaf in (1, 2, 3):
        grown = grow_both(
            codes, labels, None, weights, [is_categorical], min_samples_leaf=min_samples_leaf, max_depth=1
        )
        leaves = np.empty(6, dtype=np.int32)
        grown.tree.apply_leaves(as_columns(np.array(codes, dtype=np.uint8)), leaves, _native.Threads(1))
        assert sorted(np.bincount(leaves)) == [min_samples_leaf, 6 - min_samples_leaf]
    assert len(read_splits(grow_both(codes, labels, None, weights, [is_categorical], min_samples_leaf=4).tree)) == 0


@pytest.mark.parametrize(
    ("weights", "value"),
    [
        pytest.param([3.0, 1.0, 1.0], -1.0, id="the heavier class wins"),
        pytest.param([1.0, 1.0, 1.0], 1.0, id="more rows win where all weigh the same"),
        pytest.param([2.0, 1.0, 1.0], 0.5, id="a tie by weight"),
    ],
)
def test_weights_decide_the_value_of_a_leaf(kernels, weights, value):
    _, leaf_values, _ = grow_arrays([[7, 7, 7]], [-1, 1, 1], weights=weights, tie_value=0.5)
    assert leaf_values.tolist() == [value]


def test_weights_decide_which_feature_is_split(kernels):
    # Each column puts one row on the wrong side: the one that is wrong about the lighter row is better.
    codes, labels = [[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, 1]], [-1, -1, -1, 1, 1, 1]
    for weights, feature in [([1, 1, 1, 1, 1, 5], 1), ([1, 1, 5, 1, 1, 1], 0)]:
        splits, _, _ = grow_arrays(codes, labels, weights=weights, max_depth=1)
        assert splits["feature"].tolist() == [feature]


@pytest.mark.parametrize("is_categorical", [False, True])
@pytest.mark.parametrize(("weights", "missing_left"), [([5, 1, 1, 1], 1), ([1, 1, 1, 5], 0), ([3, 1, 1, 1], 0)])
def test_weights_decide_where_unseen_values_go(kernels, weights, missing_left, is_categorical):
    splits, _, _ = grow_arrays([[0, 9, 9, 9]], [-1, 1, 1, 1], weights=weights, is_categorical=[is_categorical])
    assert splits["missing_left"].tolist() == [missing_left]


@pytest.mark.parametrize("n_rows", [4, 256], ids=["pairs", "bins"])
def test_weights_leave_ties_to_the_lower_bin(kernels, n_rows):
    column = np.arange(n_rows) // (n_rows // 4) * 10
    splits, _, _ = grow_arrays(
        [column], np.where((column == 0) | (column == 30), 1, -1), weights=np.ones(n_rows), max_depth=1
    )
    assert splits["bin"].tolist() == [5]


@pytest.mark.parametrize("n_rows", [30, 250])
@pytest.mark.parametrize("n_categorical", [0, 2])
def test_weights_of_any_size_give_valid_trees_with_pure_leaves(kernels, threads, n_categorical, n_rows):
    codes, labels, is_categorical = make_patch(3, n_rows=n_rows, n_codes=20, n_categorical=n_categorical)
    codes[4] = np.random.default_rng(0).permutation(n_rows)  # no two rows are the same
    for seed in range(10):
        weights = 10.0 ** np.random.default_rng(seed).uniform(-12, 12, n_rows)
        grown = grow(codes, labels, is_categorical, weights=weights)
        splits, sets = read_splits(grown.tree), read_sets(grown.tree)
        make_tree(splits, grown.tree.leaf_values, 5, sets)  # or it raises
        np.testing.assert_array_equal(find_votes(splits, grown.tree.leaf_values, codes, sets), labels)
        assert grown.importances.sum() == pytest.approx(1.0)
        assert (grown.importances >= 0).all()


def test_weights_do_not_stay_for_the_next_tree(kernels):
    codes, labels, _ = make_patch(0, n_rows=200)
    columns, grower = as_columns(codes), _native.BinaryGrower(0, 1, 1.0)
    patch = np.arange(200), np.arange(5), labels
    before = grower.grow(columns, *patch)
    weighted = grower.grow(columns, *patch, 10.0 ** np.random.default_rng(0).uniform(-3, 3, 200))
    assert weighted.tree.splits.tolist() != before.tree.splits.tolist()
    assert_equal_trees(grower.grow(columns, *patch), before)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        pytest.param([1.0, 0.0, 1.0], "positive", id="zero"),
        pytest.param([1.0, -0.0, 1.0], "positive", id="negative zero"),
        pytest.param([1.0, -1.0, 1.0], "positive", id="negative"),
        pytest.param([1.0, np.nan, 1.0], "positive", id="NaN"),
        pytest.param([1.0, np.inf, 1.0], "finite", id="infinite"),
        pytest.param([1.0, -np.inf, 1.0], "positive", id="minus infinite"),
        pytest.param([1e308, 1e308, 1.0], "finite", id="infinite sum"),
        pytest.param([1.0, 1.0], "one entry per row of the patch", id="few"),
        pytest.param([1.0] * 4, "one entry per row of the patch", id="as many as there are rows outside the patch"),
        pytest.param([], "one entry per row of the patch", id="none"),
    ],
)
def test_grower_rejects_wrong_weights(weights, message):
    columns = as_columns(np.zeros((1, 4), dtype=np.uint8))
    patch = np.arange(3), np.arange(1), np.ones(4, dtype=np.int8), np.array(weights, dtype=np.float64)
    with pytest.raises(ValueError, match=message):
        _native.BinaryGrower(0, 1, 1.0).grow(columns, *patch)
