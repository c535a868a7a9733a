"""The grower of trees for many classes: split by split against all that could be split, and against the binary one."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.cases import list_cases
from tests.support.native.naive_sorted_grower import Gini, check_tree, grow_classes
from tests.support.native.naive_tree import MISSING, as_columns, find_leaves, make_tree, read_sets, read_splits
from tests.support.native.patches import SORTED_PATCHES, WEIGHTS, Patch, list_small

pytestmark = pytest.mark.slow

patches = pytest.mark.parametrize("patch", list_cases(SORTED_PATCHES, list_small(SORTED_PATCHES)))
other_numbers = [pytest.param(n_classes, marks=pytest.mark.slow) for n_classes in (2, 26, 300)]


def draw(patch: Patch, rng: np.random.Generator, n_rows: int, n_classes: int):
    """Draw a patch whose classes follow its first columns, but for noise; some may be absent."""
    codes, rows, features, _, weights, is_categorical = patch.draw(rng, n_rows)
    signal = codes[:3].astype(int).sum(axis=0)
    classes = rng.permutation(n_classes)[np.argsort(np.argsort(signal)) * min(n_classes, 40) // len(signal)]
    noise = rng.random(len(signal)) < patch.noise
    labels = np.where(noise, rng.integers(n_classes, size=len(signal)), classes).astype(np.uint16)
    return codes, rows, features, labels, weights, is_categorical


@patches
@pytest.mark.parametrize("n_classes", [3, *other_numbers])
def test_class_grower_matches_naive_twin(patch, n_classes):
    rng = np.random.default_rng(7)
    options = {"max_depth": 0, "min_samples_leaf": 1, **patch.options}
    ranks = rng.permutation(n_classes).astype(np.uint16)
    grower = _native.ClassGrower(**options, ranks=ranks)
    for n_rows in patch.rows:
        codes, *rest = draw(patch, rng, n_rows, n_classes)
        check_tree(grower.grow(as_columns(codes), *rest), Gini(ranks), codes, *rest, **options)


def test_class_grower_splits_nodes_of_min_samples_split_rows_or_more():
    codes, rows, features, labels, *rest = Patch(rows=(), n_features=4, n_categorical=2, n_categories=9).draw(
        np.random.default_rng(8), 150
    )
    classes, ranks = (labels > 0).astype(np.uint16) + (codes[0] > 120), np.arange(3, dtype=np.uint16)
    patch, sizes = (rows, features, classes.astype(np.uint16), *rest), []
    grower = _native.ClassGrower(0, 1, ranks)
    for limit in (2, 40, 3, 150, 151, 2):  # the limit is that of one tree
        grown = grower.grow(as_columns(codes), *patch, limit)
        check_tree(grown, Gini(ranks), codes, *patch, min_samples_split=limit)
        sizes.append(len(grown.tree.leaf_values))
    assert sizes[0] == sizes[-1] > sizes[2] > sizes[1] > sizes[3] == 2 > sizes[4] == 1


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_categorical", [0, 3])
@pytest.mark.parametrize("options", [{}, {"max_depth": 2}, {"min_samples_leaf": 3}], ids=str)
def test_class_grower_agrees_with_the_grower_for_two_classes(options, n_categorical, missing):
    patch = Patch(rows=(), n_features=5, n_codes=30, missing=missing, n_categorical=n_categorical, n_categories=7)
    rng = np.random.default_rng(0)
    options = {"max_depth": 0, "min_samples_leaf": 1, **options}
    for n_rows in (1, 2, 3, 5, 10, 20, 40, 60) * 3:
        codes, rows, features, labels, weights, is_categorical = patch.draw(rng, n_rows)
        columns, rank = as_columns(codes), int(rng.integers(2))
        binary = _native.BinaryGrower(**options, tie_value=2.0 * rank - 1)
        one = binary.grow(columns, rows, features, labels, weights, is_categorical)
        many = _native.ClassGrower(**options, ranks=np.array([1 - rank, rank], dtype=np.uint16))
        classes = (labels > 0).astype(np.uint16)
        other = many.grow(columns, rows, features, classes, weights, is_categorical)
        np.testing.assert_array_equal(read_splits(one.tree), read_splits(other.tree))
        np.testing.assert_array_equal(read_sets(one.tree), read_sets(other.tree))
        assert one.tree.leaf_values.tolist() == (2 * other.tree.leaf_values - 1).tolist()
        np.testing.assert_allclose(one.importances, other.importances, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("flags", [[True, False, False], [False, True, False], [True, True, False]])
def test_class_grower_breaks_ties_by_numeric_features_first(flags):
    grown = grow_classes([[0, 0, 1, 1]] * 3, [0, 0, 1, 1], is_categorical=flags)
    assert read_splits(grown.tree)["feature"].tolist() == [flags.index(False)]


@pytest.mark.parametrize("is_categorical", [False, True])
def test_class_grower_breaks_ties_by_position_in_patch(is_categorical):
    column = np.repeat([0, 1, 2], 4)
    labels = np.repeat([0, 5, 2], 4)
    codes = [2 - column, column, column]
    grown = grow_classes(codes, labels, features=[2, 0, 1], is_categorical=[is_categorical] * 3)
    assert set(read_splits(grown.tree)["feature"]) == {2}
    assert grown.importances.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("weigh", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_class_grower_breaks_ties_by_position_in_patch_whatever_the_weights(weigh):
    # The same cuts by each feature, in one direction or the other.
    rng = np.random.default_rng(0)
    for n_rows in (2, 3, 10, 200):
        column, features = rng.permutation(n_rows), rng.permutation(4)
        codes = np.array([column, n_rows - 1 - column, column, 254 - column])
        labels = rng.integers(5, size=n_rows)
        labels[:2] = 0, 1
        grown = grow_classes(codes, labels, features, weigh(rng, n_rows))
        assert set(read_splits(grown.tree)["feature"]) == {features[0]}


def test_class_grower_breaks_ties_by_lower_bin():
    grown = grow_classes([[0, 10, 20, 30]], [0, 1, 1, 0], max_depth=1)
    assert read_splits(grown.tree)["bin"].tolist() == [5]


def test_class_grower_breaks_ties_by_missing_on_the_right():
    grown = grow_classes([[0, 10, MISSING, MISSING]], [0, 1, 0, 1], max_depth=1)
    assert read_splits(grown.tree)["missing_left"].tolist() == [0]


@pytest.mark.parametrize(("ranks", "value"), [([0, 1, 2, 3], 3), ([0, 2, 3, 1], 2), ([3, 2, 0, 1], 1)])
def test_class_grower_breaks_ties_of_leaves_by_rank(ranks, value):
    # Class 0, of the highest rank at last, is not in the leaf as often as the others.
    grown = grow_classes([[7] * 7], [1, 1, 2, 2, 3, 3, 0], ranks=ranks)
    assert grown.tree.leaf_values.tolist() == [value]


def test_class_grower_weighs_the_classes_of_a_leaf():
    grown = grow_classes([[7] * 4], [0, 0, 0, 1], weights=[1.0, 1.0, 1.0, 3.5])
    assert grown.tree.leaf_values.tolist() == [1.0]


@pytest.mark.parametrize(("n_left", "missing_left"), [(3, 1), (2, 0), (1, 0)])
@pytest.mark.parametrize("is_categorical", [False, True])
def test_class_grower_sends_unseen_values_with_the_larger_part(is_categorical, n_left, missing_left):
    codes = [0] * n_left + [9] * 2
    grown = grow_classes([codes], [0] * n_left + [1] * 2, is_categorical=[is_categorical])
    # Of categories those with the lower share of the higher class go left.
    assert read_splits(grown.tree)["missing_left"].tolist() == [missing_left]


def test_class_grower_takes_splits_without_gain_towards_pure_leaves():
    grown = grow_classes([[0, 0, 1, 1], [0, 1, 0, 1]], [0, 1, 1, 0])
    assert len(read_splits(grown.tree)) == 3
    assert grown.importances.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("labels", [[4], [2, 2, 2]], ids=["one row", "one class"])
def test_class_grower_makes_a_leaf_of_what_is_pure(labels):
    grown = grow_classes([np.arange(len(labels))], labels)
    assert grown.tree.leaf_values.tolist() == [labels[0]]
    assert grown.importances.tolist() == [0.0]


def test_class_grower_makes_a_leaf_of_constant_features():
    grown = grow_classes(np.full((3, 5), 4), [0, 1, 2, 1, 0], ranks=[2, 1, 0])
    assert grown.tree.leaf_values.tolist() == [0.0]
    assert grown.importances.tolist() == [0.0] * 3


@pytest.mark.parametrize("n_categorical", [0, 2])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_class_grower_leaves_are_pure_where_rows_differ(weights, n_categorical):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.permutation(250), rng.integers(4, size=250), rng.integers(9, size=250)]).astype(np.uint8)
    labels = rng.integers(7, size=250).astype(np.uint16)
    is_categorical = np.arange(3) >= 3 - n_categorical
    patch = np.arange(250), np.arange(3), labels, weights(rng, 250), is_categorical
    grown = _native.ClassGrower(0, 1, np.arange(7, dtype=np.uint16)).grow(as_columns(codes), *patch)
    splits, sets, values = read_splits(grown.tree), read_sets(grown.tree), grown.tree.leaf_values
    make_tree(splits, values, 3, sets)  # or it raises
    np.testing.assert_array_equal(values[find_leaves(splits, codes, sets)], labels)
    assert grown.importances.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n_classes", [3, 8])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_class_grower_finds_a_planted_set_of_categories(missing, n_classes):
    # Some categories have the lower half of the classes, the others the upper half; the numbers are noise.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.permutation(255)[:30][rng.integers(30, size=600)]
        planted = rng.random(256) < 0.5
        half = n_classes // 2
        labels = np.where(planted[x], rng.integers(half, size=600), rng.integers(half, n_classes, size=600))
        x[rng.random(600) < missing] = MISSING
        codes = np.stack([rng.integers(255, size=600), x])
        grown = grow_classes(codes, labels, is_categorical=[False, True], max_depth=1)
        assert read_splits(grown.tree)["feature"].tolist() == [1]
        seen = np.unique(x[x != MISSING])
        found = read_sets(grown.tree)[0][seen]
        assert found.tolist() in (planted[seen].tolist(), (~planted[seen]).tolist())


def test_class_grower_leaves_categories_of_one_row_each_to_better_features():
    codes = [np.arange(9), [0, 0, 0, 1, 1, 1, 1, 1, 1]]
    grown = grow_classes(codes, np.repeat([0, 1, 2], 3), is_categorical=[True, False], max_depth=1)
    assert read_splits(grown.tree)["feature"].tolist() == [1]


def test_class_grower_keeps_nothing_from_one_patch_to_the_next():
    rng = np.random.default_rng(0)
    ranks = np.arange(26, dtype=np.uint16)
    grower = _native.ClassGrower(0, 1, ranks)
    names = ["255 codes", "missing", "weights and categories", "tiny", "categories, missing", "weights: uniform"]
    for name in names * 2:
        for n_rows in (300, 7, 60):
            codes, *rest = draw(SORTED_PATCHES[name], rng, n_rows, int(rng.integers(1, 27)))
            kept, fresh = (g.grow(as_columns(codes), *rest) for g in (grower, _native.ClassGrower(0, 1, ranks)))
            np.testing.assert_array_equal(kept.tree.splits, fresh.tree.splits)
            np.testing.assert_array_equal(kept.tree.category_sets, fresh.tree.category_sets)
            np.testing.assert_array_equal(kept.tree.leaf_values, fresh.tree.leaf_values)
            np.testing.assert_array_equal(kept.importances, fresh.importances)


def test_class_grower_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    codes, rows, features, labels, _, _ = draw(SORTED_PATCHES["missing"], rng, 300, 9)
    columns, grower = as_columns(codes), _native.ClassGrower(0, 1, np.arange(9, dtype=np.uint16))
    first, second = (grower.grow(columns, r, features, labels) for r in (rows, rng.permutation(rows)))
    np.testing.assert_array_equal(first.tree.splits, second.tree.splits)
    np.testing.assert_array_equal(first.tree.leaf_values, second.tree.leaf_values)


def test_class_grower_takes_rows_and_features_more_than_once():
    rng = np.random.default_rng(0)
    codes = rng.integers(255, size=(3, 30), dtype=np.uint8)
    ranks = np.arange(4, dtype=np.uint16)
    patch = rng.integers(30, size=90), np.array([2, 0, 2, 2]), rng.integers(4, size=30).astype(np.uint16)
    check_tree(_native.ClassGrower(0, 1, ranks).grow(as_columns(codes), *patch), Gini(ranks), codes, *patch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"labels": np.array([0, 1, 3, 0], dtype=np.uint16)}, "out of range", id="label too large"),
        pytest.param({"labels": np.zeros(3, dtype=np.uint16)}, "one entry per row", id="few labels"),
        pytest.param({"features": np.empty(0, dtype=np.int64)}, "needs a feature", id="no features"),
        pytest.param({"features": np.array([2])}, "column that does not exist", id="feature too large"),
        pytest.param({"rows": np.empty(0, dtype=np.int64)}, "between 1 and", id="no rows"),
        pytest.param({"rows": np.array([4])}, "row that does not exist", id="row too large"),
        pytest.param({"weights": np.array([1.0, 0.0, 1.0, 1.0])}, "positive", id="zero weight"),
        pytest.param({"is_categorical": np.zeros(3, dtype=bool)}, "one entry per column", id="flags"),
    ],
)
def test_class_grower_rejects_wrong_patches(change, message):
    columns = as_columns(np.zeros((2, 4), dtype=np.uint8))
    patch = {"rows": np.arange(4), "features": np.arange(2), "labels": np.zeros(4, dtype=np.uint16), **change}
    with pytest.raises(ValueError, match=message):
        _native.ClassGrower(0, 1, np.arange(3, dtype=np.uint16)).grow(columns, **patch)


def test_class_grower_does_not_look_at_labels_outside_the_patch():
    columns = as_columns(np.zeros((1, 3), dtype=np.uint8))
    labels = np.array([0, 9, 1], dtype=np.uint16)
    grown = _native.ClassGrower(0, 1, np.arange(2, dtype=np.uint16)).grow(
        columns, np.array([0, 2]), np.arange(1), labels
    )
    assert grown.tree.leaf_values.tolist() == [1.0]


@pytest.mark.parametrize(("max_depth", "min_samples_leaf"), [(-1, 1), (0, 0), (0, -5)])
def test_class_grower_rejects_wrong_options(max_depth, min_samples_leaf):
    with pytest.raises(ValueError, match="max_depth must be >= 0"):
        _native.ClassGrower(max_depth, min_samples_leaf, np.arange(3, dtype=np.uint16))
