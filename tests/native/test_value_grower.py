"""The grower of trees for numbers: split by split against all that could be split."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.cases import list_cases
from tests.support.native.naive_sorted_grower import SquaredError, check_tree, grow_values
from tests.support.native.naive_tree import MISSING, as_columns, find_leaves, make_tree, read_sets, read_splits
from tests.support.native.patches import SORTED_PATCHES, WEIGHTS, Patch, list_small

pytestmark = pytest.mark.slow

TARGETS = {
    "around zero": lambda y: y,
    "far from zero": lambda y: y - 1e6,
    "five values": lambda y: np.round(y),
}


def draw(patch: Patch, rng: np.random.Generator, n_rows: int):
    """Draw a patch whose numbers follow its first columns, but for noise."""
    codes, rows, features, _, weights, is_categorical = patch.draw(rng, n_rows)
    signal = codes[:3].astype(float).mean(axis=0) / 100
    return codes, rows, features, signal + rng.normal(size=len(signal)), weights, is_categorical


def test_value_grower_splits_nodes_of_min_samples_split_rows_or_more():
    codes, *patch = draw(Patch(rows=(), n_features=4, n_categorical=2, n_categories=9), np.random.default_rng(8), 150)
    grower, sizes = _native.ValueGrower(0, 1), []
    for limit in (2, 40, 3, 150, 151, 2):  # the limit is that of one tree
        grown = grower.grow(as_columns(codes), *patch, limit)
        check_tree(grown, SquaredError(patch[2]), codes, *patch, min_samples_split=limit)
        sizes.append(len(grown.tree.leaf_values))
    assert sizes[0] == sizes[-1] > sizes[2] > sizes[1] > sizes[3] == 2 > sizes[4] == 1


@pytest.mark.parametrize("patch", list_cases(SORTED_PATCHES, list_small(SORTED_PATCHES)))
@pytest.mark.parametrize("change", list_cases(TARGETS, ["around zero"]))
def test_value_grower_matches_naive_twin(patch, change):
    rng = np.random.default_rng(7)
    options = {"max_depth": 0, "min_samples_leaf": 1, **patch.options}
    grower = _native.ValueGrower(**options)
    for n_rows in patch.rows:
        codes, rows, features, labels, *rest = draw(patch, rng, n_rows)
        data = rows, features, change(labels), *rest
        grown = grower.grow(as_columns(codes), *data)
        check_tree(grown, SquaredError(data[2][rows]), codes, *data, **options)


@pytest.mark.parametrize("factor", [2.0**900, 2.0**-900])
@pytest.mark.parametrize("name", ["255 codes", "weights, missing", "weights and categories"])
def test_value_grower_does_not_depend_on_the_unit(name, factor):
    codes, rows, features, labels, *rest = draw(SORTED_PATCHES[name], np.random.default_rng(0), 200)
    columns, grower = as_columns(codes), _native.ValueGrower(0, 2)
    one, other = (grower.grow(columns, rows, features, y, *rest) for y in (labels, factor * labels))
    np.testing.assert_array_equal(one.tree.splits, other.tree.splits)
    np.testing.assert_array_equal(factor * one.tree.leaf_values, other.tree.leaf_values)
    np.testing.assert_array_equal(one.importances, other.importances)


@pytest.mark.parametrize("label", [0.0, 0.1, -1e300, 5e-324])
def test_value_grower_makes_a_leaf_of_equal_numbers(label):
    grown = grow_values([[0, 1, 2]], [label] * 3)
    assert grown.tree.leaf_values.tolist() == [label]
    assert grown.importances.tolist() == [0.0]


def test_value_grower_makes_a_leaf_of_one_row():
    assert grow_values([[3]], [0.3]).tree.leaf_values.tolist() == [0.3]


def test_value_grower_makes_a_leaf_of_constant_features():
    grown = grow_values(np.full((3, 4), 4), [1.0, 2.0, 3.0, 6.0])
    assert grown.tree.leaf_values.tolist() == [3.0]
    assert grown.importances.tolist() == [0.0] * 3


def test_value_grower_weighs_the_mean_of_a_leaf():
    grown = grow_values([[7, 7]], [0.0, 1.0], weights=[1.0, 3.0])
    assert grown.tree.leaf_values.tolist() == [0.75]


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(1.7e308 * np.linspace(-1, 1, 40), id="as large as numbers get"),
        pytest.param(np.full(40, 1.7e308) - np.arange(40) % 7 * 1e307, id="whose sum is infinite"),
        pytest.param(np.arange(40) * 5e-324, id="as small as numbers get"),
        pytest.param(10.0 ** np.linspace(-300, 300, 40), id="600 decades"),
        pytest.param(np.where(np.arange(40) % 2, 1.0, 1.0 + 2**-52), id="next to each other"),
        pytest.param(np.where(np.arange(40) % 3, -0.0, 0.0), id="zeros of both signs"),
    ],
)
@pytest.mark.parametrize("weights", [None, *WEIGHTS.values()], ids=["no weights", *WEIGHTS.keys()])
@pytest.mark.parametrize("is_categorical", [[False, False], [True, False]], ids=["numbers", "categories"])
def test_value_grower_bears_all_finite_numbers(labels, weights, is_categorical):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(5, size=40), rng.permutation(40)]).astype(np.uint8)
    weights = None if weights is None else weights(rng, 40)
    patch = np.arange(40), np.arange(2), labels, weights, np.array(is_categorical)
    grown = _native.ValueGrower(0, 1).grow(as_columns(codes), *patch)
    splits, sets, values = read_splits(grown.tree), read_sets(grown.tree), grown.tree.leaf_values
    make_tree(splits, values, 2, sets)  # or it raises
    found = values[find_leaves(splits, codes, sets)]
    assert (np.abs(found / 4 - labels / 4) <= 1e-15 * np.abs(labels).max()).all()
    assert np.isfinite(grown.importances).all()
    assert grown.importances.sum() == pytest.approx(float(len(splits) > 0))


def test_value_grower_gives_back_the_numbers_of_pure_leaves():
    rng = np.random.default_rng(0)
    labels = np.round(rng.normal(size=200), 1) + 1000
    codes = rng.permutation(200).astype(np.uint8)[None]
    grown = grow_values(codes, labels)
    assert grown.tree.leaf_values[find_leaves(read_splits(grown.tree), codes)].tolist() == labels.tolist()


@pytest.mark.parametrize("flags", [[True, False, False], [False, True, False], [True, True, False]])
def test_value_grower_breaks_ties_by_numeric_features_first(flags):
    grown = grow_values([[0, 0, 1, 1]] * 3, [0.1, 0.1, 0.7, 0.7], is_categorical=flags)
    assert read_splits(grown.tree)["feature"].tolist() == [flags.index(False)]


@pytest.mark.parametrize("n_categorical", [0, 4])
def test_value_grower_breaks_ties_by_position_in_patch_whatever_the_rounding(n_categorical):
    # The same cuts by each feature, in one direction or the other.
    rng = np.random.default_rng(0)
    for n_rows in (2, 3, 10, 50):
        column = rng.permutation(n_rows)
        codes = np.array([column, n_rows - 1 - column, column, 2 * column])[rng.permutation(4)]
        is_categorical = np.arange(4) < n_categorical
        features = rng.permutation(4)
        grown = grow_values(codes, rng.normal(size=n_rows), features=features, is_categorical=is_categorical)
        assert set(read_splits(grown.tree)["feature"]) == {features[0]}


def test_value_grower_breaks_ties_by_lower_bin():
    grown = grow_values([[0, 10, 20, 30]], [0.1, 0.7, 0.7, 0.1], max_depth=1)
    assert read_splits(grown.tree)["bin"].tolist() == [5]


def test_value_grower_breaks_ties_by_missing_on_the_right():
    grown = grow_values([[0, 10, MISSING, MISSING]], [0.1, 0.7, 0.1, 0.7], max_depth=1)
    assert read_splits(grown.tree)["missing_left"].tolist() == [0]


def test_value_grower_takes_splits_without_gain_towards_pure_leaves():
    grown = grow_values([[0, 0, 1, 1], [0, 1, 0, 1]], [0.0, 1.0, 1.0, 0.0])
    assert len(read_splits(grown.tree)) == 3
    assert grown.importances.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_value_grower_finds_a_planted_set_of_categories(missing):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.permutation(255)[:30][rng.integers(30, size=600)]
        planted = rng.random(256) < 0.5
        labels = 3.0 * planted[x] + rng.normal(size=600)
        x[rng.random(600) < missing] = MISSING
        codes = np.stack([rng.integers(255, size=600), x])
        grown = grow_values(codes, labels, is_categorical=[False, True], max_depth=1)
        assert read_splits(grown.tree)["feature"].tolist() == [1]
        seen = np.unique(x[x != MISSING])
        np.testing.assert_array_equal(read_sets(grown.tree)[0][seen], ~planted[seen])


def test_value_grower_leaves_categories_of_one_row_each_to_better_features():
    codes = [np.arange(8), [0, 0, 0, 1, 1, 1, 1, 1]]
    grown = grow_values(codes, [0.0] * 4 + [1.0] * 4, is_categorical=[True, False], max_depth=1)
    assert read_splits(grown.tree)["feature"].tolist() == [1]


def test_value_grower_keeps_nothing_from_one_patch_to_the_next():
    rng = np.random.default_rng(0)
    grower = _native.ValueGrower(0, 1)
    names = ["255 codes", "missing", "weights and categories", "tiny", "categories, missing", "weights: uniform"]
    for name in names * 2:
        for n_rows in (300, 7, 60):
            codes, *rest = draw(SORTED_PATCHES[name], rng, n_rows)
            kept, fresh = (g.grow(as_columns(codes), *rest) for g in (grower, _native.ValueGrower(0, 1)))
            np.testing.assert_array_equal(kept.tree.splits, fresh.tree.splits)
            np.testing.assert_array_equal(kept.tree.category_sets, fresh.tree.category_sets)
            np.testing.assert_array_equal(kept.tree.leaf_values, fresh.tree.leaf_values)
            np.testing.assert_array_equal(kept.importances, fresh.importances)


def test_value_grower_takes_rows_and_features_more_than_once():
    rng = np.random.default_rng(0)
    codes = rng.integers(255, size=(3, 30), dtype=np.uint8)
    patch = rng.integers(30, size=90), np.array([2, 0, 2, 2]), rng.normal(size=30)
    check_tree(_native.ValueGrower(0, 1).grow(as_columns(codes), *patch), SquaredError(patch[2]), codes, *patch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"labels": np.array([0, 1, np.nan, 0])}, "out of range", id="NaN"),
        pytest.param({"labels": np.array([0, 1, -np.inf, 0])}, "out of range", id="infinite"),
        pytest.param({"labels": np.zeros(3)}, "one entry per row", id="few labels"),
        pytest.param({"features": np.empty(0, dtype=np.int64)}, "needs a feature", id="no features"),
        pytest.param({"rows": np.array([4])}, "row that does not exist", id="row too large"),
    ],
)
def test_value_grower_rejects_wrong_patches(change, message):
    columns = as_columns(np.zeros((2, 4), dtype=np.uint8))
    patch = {"rows": np.arange(4), "features": np.arange(2), "labels": np.zeros(4), **change}
    with pytest.raises(ValueError, match=message):
        _native.ValueGrower(0, 1).grow(columns, **patch)


@pytest.mark.parametrize(("max_depth", "min_samples_leaf"), [(-1, 1), (0, 0), (0, -5)])
def test_value_grower_rejects_wrong_options(max_depth, min_samples_leaf):
    with pytest.raises(ValueError, match="max_depth must be >= 0"):
        _native.ValueGrower(max_depth, min_samples_leaf)
