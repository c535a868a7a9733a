"""The native grower against the naive one: whole trees, split by split."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.cases import list_cases
from tests.support.native.naive_grower import assert_same_tree, grow_arrays, grow_tree
from tests.support.native.naive_tree import MISSING, as_columns
from tests.support.native.patches import WEIGHTS, Patch, list_small

PATCHES = {
    "tiny": Patch(rows=tuple(range(1, 20)) * 2, n_features=3),
    "tiny, few codes": Patch(rows=tuple(range(1, 20)) * 3, n_features=2, n_codes=3),
    "pairs": Patch(rows=(100, 126, 127, 60, 31, 33), n_features=12),
    "pairs or bins": Patch(rows=(127, 128, 129, 64, 255, 257), n_features=8),
    "one feature": Patch(rows=(1, 2, 50, 700), n_features=1, n_codes=100),
    "two groups of lanes": Patch(rows=(40, 300), n_features=33),
    "32 features": Patch(rows=(40, 300), n_features=32),
    "three groups of lanes": Patch(rows=(500, 90), n_features=70),
    "two codes": Patch(rows=(10, 100, 1000), n_features=10, n_codes=2),
    "16 codes": Patch(rows=(10, 100, 1000), n_features=10, n_codes=16),
    "255 codes": Patch(rows=(10, 100, 1500), n_features=10),
    "blocks of bins": Patch(rows=(66, 100, 150, 200, 254, 255, 256, 600), n_features=31, noise=0.3),
    "blocks of bins, the last not whole": Patch(rows=(150, 255, 400), n_features=9, n_codes=66, noise=0.4),
    "blocks of bins, pure noise": Patch(rows=(120, 255), n_features=6, noise=0.5),
    "blocks of bins, missing": Patch(rows=(90, 150, 200, 255, 500), n_features=10, missing=0.1, noise=0.3),
    "blocks of bins, mostly missing": Patch(rows=(200, 255, 300), n_features=33, missing=0.8, noise=0.3),
    "blocks of bins, leaves of 20": Patch(
        rows=(100, 255, 400), n_features=7, noise=0.3, options={"min_samples_leaf": 20}
    ),
    "blocks of bins, leaves of 60, missing": Patch(
        rows=(130, 255), n_features=7, missing=0.3, noise=0.3, options={"min_samples_leaf": 60}
    ),
    "blocks of bins, many nodes wait": Patch(rows=(2500,), n_features=3, noise=0.5),
    "pure noise": Patch(rows=(800,), n_features=5, noise=0.5),
    "missing": Patch(rows=(5, 90, 600, 130), n_features=12, n_codes=60, missing=0.2),
    "mostly missing": Patch(rows=(5, 90, 600, 130), n_features=34, n_codes=20, missing=0.9),
    "missing in tiny": Patch(rows=tuple(range(2, 20)) * 3, n_features=3, n_codes=5, missing=0.3),
    "depth 1": Patch(rows=(30, 500), n_features=6, options={"max_depth": 1}),
    "depth 4, missing": Patch(rows=(30, 500), n_features=6, missing=0.1, options={"max_depth": 4}),
    "leaves of 2": Patch(rows=(3, 4, 60, 400), n_features=6, options={"min_samples_leaf": 2}),
    "leaves of 25, missing": Patch(
        rows=(49, 50, 51, 120, 700), n_features=6, n_codes=40, missing=0.2, options={"min_samples_leaf": 25}
    ),
    "ties vote -1": Patch(rows=(2, 7, 60), n_features=1, n_codes=3, options={"tie_value": -1.0}),
    "4096 rows": Patch(rows=(4096,), n_features=3, options={"max_depth": 5}),
    "4097 rows": Patch(rows=(4097,), n_features=3, options={"max_depth": 5}),
    "6000 rows, missing": Patch(rows=(6000,), n_features=33, missing=0.05, options={"max_depth": 4}),
    "categories": Patch(rows=(10, 100, 600), n_features=8, n_categorical=5, n_categories=12),
    "categories alone": Patch(rows=tuple(range(1, 20)) * 2, n_features=3, n_categorical=6, n_categories=4),
    "255 categories": Patch(rows=(40, 900), n_features=4, n_categorical=3),
    "two categories": Patch(rows=(5, 40, 500), n_features=7, n_categorical=5, n_categories=2),
    "categories, missing": Patch(rows=(5, 60, 400), n_features=7, n_categorical=5, n_categories=9, missing=0.3),
    "categories in two groups of lanes": Patch(rows=(150,), n_features=75, n_categorical=40, n_categories=7),
    "categories, leaves of 8": Patch(
        rows=(15, 16, 400), n_features=5, n_categorical=4, n_categories=20, missing=0.1, options={"min_samples_leaf": 8}
    ),
    "categories, depth 2": Patch(rows=(5000,), n_features=5, n_categorical=4, options={"max_depth": 2}),
    **{
        f"weights: {kind}": Patch(rows=(1, 2, 9, 60, 300), n_features=5, weigh=weigh) for kind, weigh in WEIGHTS.items()
    },
    "weights, tiny": Patch(rows=tuple(range(1, 20)) * 3, n_features=2, n_codes=3, weigh=WEIGHTS["two kinds"]),
    "weights, pairs or bins": Patch(rows=(*range(46, 60), 257), n_features=8, weigh=WEIGHTS["uniform"]),
    "weights, 16 codes": Patch(rows=(10, 100, 1000), n_features=33, n_codes=16, weigh=WEIGHTS["uniform"]),
    "weights, missing": Patch(rows=(5, 40, 600), n_features=35, n_codes=60, missing=0.2, weigh=WEIGHTS["uniform"]),
    "weights, missing in tiny": Patch(
        rows=tuple(range(2, 20)) * 3, n_features=3, n_codes=5, missing=0.3, weigh=WEIGHTS["two kinds"]
    ),
    "weights, leaves of 9, missing": Patch(
        rows=(17, 18, 19, 45, 500),
        n_features=6,
        missing=0.2,
        options={"min_samples_leaf": 9},
        weigh=WEIGHTS["24 decades"],
    ),
    "weights, 5000 rows": Patch(rows=(5000,), n_features=3, options={"max_depth": 5}, weigh=WEIGHTS["uniform"]),
    "weights and categories": Patch(
        rows=(2, 9, 60, 400), n_features=8, n_categorical=6, n_categories=11, missing=0.1, weigh=WEIGHTS["uniform"]
    ),
    "weights and categories, leaves of 5": Patch(
        rows=(30, 400), n_features=8, n_categorical=6, options={"min_samples_leaf": 5}, weigh=WEIGHTS["24 decades"]
    ),
}


@pytest.mark.parametrize("patch", list_cases(PATCHES, list_small(PATCHES)))
def test_grower_matches_naive_twin(kernels, patch):
    rng = np.random.default_rng(7)
    options = {"max_depth": 0, "min_samples_leaf": 1, "tie_value": 1.0, **patch.options}
    grower = _native.BinaryGrower(**options)
    for n_rows in patch.rows:
        codes, *rest = patch.draw(rng, n_rows)
        grown = grower.grow(as_columns(codes), *rest)
        assert_same_tree(grown, grow_tree(codes, *rest, **options))


@pytest.mark.parametrize("missing", [0.0, 0.2], ids=["no missing values", "missing values"])
@pytest.mark.parametrize("min_samples_leaf", [1, 15], ids="leaves of {}".format)
@pytest.mark.parametrize("n_rows", [200, 300], ids=["counts in bytes", "counts in 16 bits"])
def test_grower_matches_naive_twin_where_many_splits_tie(kernels, n_rows, min_samples_leaf, missing):
    rng = np.random.default_rng(9)
    for n_values in range(2, 12, 3):  # few values, far apart: most bins are empty, and features are alike
        codes = rng.integers(n_values, size=(4, n_rows)) * (254 // (n_values - 1))
        codes = np.where(rng.random(codes.shape) < missing, MISSING, codes)[rng.integers(4, size=10)].astype(np.uint8)
        labels = rng.choice(np.array([-1, 1], dtype=np.int8), n_rows)
        rows, features = np.arange(n_rows), np.arange(10)
        grown = _native.BinaryGrower(0, min_samples_leaf, 1.0).grow(as_columns(codes), rows, features, labels)
        assert_same_tree(grown, grow_tree(codes, rows, features, labels, min_samples_leaf=min_samples_leaf))


@pytest.mark.parametrize("weigh", [None, WEIGHTS["uniform"]], ids=["no weights", "weights"])
def test_grower_splits_nodes_of_min_samples_split_rows_or_more(kernels, weigh):
    patch = Patch(rows=(), n_features=6, n_categorical=3, n_categories=9, missing=0.1, weigh=weigh)
    rng = np.random.default_rng(8)
    grower, sizes = _native.BinaryGrower(0, 1, 1.0), []
    codes, *rest = patch.draw(rng, 150)
    for limit in (2, 40, 3, 150, 151, 2):  # the limit is that of one tree
        grown = grower.grow(as_columns(codes), *rest, limit)
        assert_same_tree(grown, grow_tree(codes, *rest, min_samples_split=limit))
        sizes.append(len(grown.tree.leaf_values))
    assert sizes[0] == sizes[-1] > sizes[2] > sizes[1] > sizes[3] == 2 > sizes[4] == 1


@pytest.mark.parametrize("n_rows", [4, 200], ids=["pairs", "bins"])
@pytest.mark.parametrize("n_copies", [2, 32, 40])
def test_grower_breaks_ties_by_position_in_patch(kernels, n_rows, n_copies):
    column = np.arange(n_rows) // (n_rows // 4)
    labels = np.where(column < 2, -1, 1)
    mirrored = 3 - column
    splits, _, importances = grow_arrays([mirrored, *[column] * n_copies], labels, features=range(n_copies, -1, -1))
    assert splits["feature"].tolist() == [n_copies]
    assert importances.tolist() == [1.0] + [0.0] * n_copies


@pytest.mark.parametrize("repeat", [1, 50], ids=["pairs", "bins"])
def test_grower_breaks_ties_by_lower_bin(kernels, repeat):
    splits, _, _ = grow_arrays([np.repeat([0, 10, 20, 30], repeat)], np.repeat([1, -1, -1, 1], repeat), max_depth=1)
    assert splits["bin"].tolist() == [5]


@pytest.mark.parametrize("repeat", [1, 50], ids=["pairs", "bins"])
def test_grower_breaks_ties_by_missing_on_the_right(kernels, repeat):
    # {0 | 10, missing} leaves one positive row apart and {0, missing | 10} one negative row: the same score.
    codes, labels = np.repeat([0, 10, MISSING, MISSING], repeat), np.repeat([1, -1, 1, -1], repeat)
    splits, _, _ = grow_arrays([codes], labels, max_depth=1)
    assert splits["missing_left"].tolist() == [0]


@pytest.mark.parametrize("lowest", [0, 1, 40], ids="lowest code {}".format)
@pytest.mark.parametrize("repeat", [1, 100], ids=["pairs", "bins"])
def test_grower_splits_missing_from_the_rest_with_missing_on_the_right(kernels, repeat, lowest):
    codes = np.repeat([lowest, lowest + 1, MISSING, MISSING], repeat)
    splits, leaf_values, _ = grow_arrays([codes], np.repeat([-1, -1, 1, 1], repeat))
    assert splits[["bin", "missing_left"]].tolist() == [(254, 0)]
    assert leaf_values.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("codes", "labels", "missing_left"),
    [
        pytest.param([0, 0, 0, 9, 9], [1, 1, 1, -1, -1], 1, id="left is larger"),
        pytest.param([0, 0, 9, 9, 9], [1, 1, -1, -1, -1], 0, id="right is larger"),
        pytest.param([0, 0, 9, 9], [1, 1, -1, -1], 0, id="equal"),
    ],
)
def test_grower_sends_unseen_missing_values_to_the_larger_child(kernels, codes, labels, missing_left):
    splits, _, _ = grow_arrays([codes], labels)
    assert splits[["bin", "missing_left"]].tolist() == [(4, missing_left)]


def test_grower_takes_splits_without_gain_towards_pure_leaves(kernels):
    # Exclusive or: the first split gains nothing, yet the tree must end pure.
    splits, leaf_values, importances = grow_arrays([[0, 0, 1, 1], [0, 1, 0, 1]], [-1, 1, 1, -1])
    assert len(splits) == 3
    assert sorted(leaf_values) == [-1, -1, 1, 1]
    assert importances.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("tie_value", [-1.0, 1.0])
@pytest.mark.parametrize("n_rows", [2, 60, 400])
def test_grower_makes_a_leaf_of_equal_rows_with_contradictory_labels(kernels, n_rows, tie_value):
    labels = np.where(np.arange(n_rows) % 2, 1, -1)
    splits, leaf_values, importances = grow_arrays(np.full((40, n_rows), 3), labels, tie_value=tie_value)
    assert len(splits) == 0
    assert leaf_values.tolist() == [tie_value]
    assert not importances.any()


def test_grower_leaves_are_pure_where_rows_differ(kernels):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.permutation(250), rng.integers(4, size=250)]).astype(np.uint8)
    labels = rng.choice([-1, 1], 250).astype(np.int8)
    columns, threads = as_columns(codes), _native.Threads(1)
    grown = _native.BinaryGrower(0, 1, 1.0).grow(columns, np.arange(250), np.arange(2), labels)
    votes = np.empty(250, dtype=np.int8)
    grown.tree.apply_votes(columns, votes, threads)
    np.testing.assert_array_equal(votes, labels)


@pytest.mark.parametrize("label", [-1, 1])
def test_grower_makes_a_leaf_of_a_one_class_patch(kernels, label):
    splits, leaf_values, importances = grow_arrays([[0, 1, 2]], [label] * 3, tie_value=-label)
    assert (len(splits), leaf_values.tolist(), importances.tolist()) == (0, [label], [0.0])


def test_grower_makes_a_leaf_of_a_patch_without_features(kernels):
    splits, leaf_values, importances = grow_arrays(np.zeros((2, 3)), [1, 1, -1], features=np.empty(0, dtype=np.int64))
    assert (len(splits), leaf_values.tolist(), len(importances)) == (0, [1.0], 0)


def test_grower_takes_rows_and_features_more_than_once(kernels):
    rng = np.random.default_rng(0)
    codes = rng.integers(255, size=(3, 30), dtype=np.uint8)
    labels = rng.choice([-1, 1], 30).astype(np.int8)
    rows, features = rng.integers(30, size=90), np.array([2, 0, 2, 2])
    grown = _native.BinaryGrower(0, 1, 1.0).grow(as_columns(codes), rows, features, labels)
    assert_same_tree(grown, grow_tree(codes, rows, features, labels))


def test_grower_does_not_depend_on_the_order_of_rows(kernels):
    rng = np.random.default_rng(0)
    codes, rows, features, labels, _, _ = PATCHES["missing"].draw(rng, 300)
    columns, grower = as_columns(codes), _native.BinaryGrower(0, 1, 1.0)
    first = grower.grow(columns, rows, features, labels)
    second = grower.grow(columns, rng.permutation(rows), features, labels)
    np.testing.assert_array_equal(first.tree.splits, second.tree.splits)
    np.testing.assert_array_equal(first.tree.leaf_values, second.tree.leaf_values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"rows": np.array([0, 10])}, "row that does not exist", id="row too large"),
        pytest.param({"rows": np.array([-1])}, "row that does not exist", id="negative row"),
        pytest.param({"rows": np.array([2**62])}, "row that does not exist", id="huge row"),
        pytest.param({"rows": np.empty(0, dtype=np.int64)}, "between 1 and", id="no rows"),
        pytest.param({"features": np.array([3])}, "column that does not exist", id="feature too large"),
        pytest.param({"features": np.array([-1])}, "column that does not exist", id="negative feature"),
        pytest.param({"labels": np.ones(9, dtype=np.int8)}, "one entry per row", id="few labels"),
        pytest.param({"labels": np.ones(11, dtype=np.int8)}, "one entry per row", id="many labels"),
    ],
)
def test_grower_rejects_wrong_patches(change, message):
    columns = as_columns(np.zeros((3, 10), dtype=np.uint8))
    patch = {"rows": np.arange(10), "features": np.arange(3), "labels": np.ones(10, dtype=np.int8), **change}
    with pytest.raises(ValueError, match=message):
        _native.BinaryGrower(0, 1, 1.0).grow(columns, **patch)


@pytest.mark.parametrize(("max_depth", "min_samples_leaf"), [(-1, 1), (0, 0), (0, -5)])
def test_grower_rejects_wrong_options(max_depth, min_samples_leaf):
    with pytest.raises(ValueError, match="max_depth must be >= 0"):
        _native.BinaryGrower(max_depth, min_samples_leaf, 1.0)
