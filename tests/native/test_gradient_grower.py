"""The leaf-wise grower of gradient boosting: against its naive twin, and what must hold for any tree."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost import _native
from tests.support.native.gradient_problems import PROBLEMS, make_problem, predict, problems
from tests.support.native.naive_gradient_tree import Problem, check_tree, describe, grow_naively, read_tree
from tests.support.native.naive_tree import (
    MISSING,
    as_columns,
    is_valid_tree,
    make_random_codes,
    read_sets,
    read_splits,
)

LIMITS = ("max_leaf_nodes", "max_depth", "min_samples_leaf", "l2_regularization", "max_bins")


def assert_equal_trees(one, other):
    np.testing.assert_array_equal(one.tree.splits, other.tree.splits)
    np.testing.assert_array_equal(one.tree.category_sets, other.tree.category_sets)
    for name in ("gains", "split_values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.tree.leaf_values, other.tree.leaf_values)


@problems
def test_gradient_grower_matches_naive_twin(options):  # all kernels give the same bits, see below
    for seed in range(2):
        problem = make_problem(seed, exact=True, **options)
        grown = problem.grow()
        check_tree(problem, grown)
        splits, sets = read_splits(grown.tree), read_sets(grown.tree)
        assert is_valid_tree(splits, len(grown.tree.leaf_values), len(problem.codes), sets)
        assert describe(read_tree(problem, grown)[0]) == describe(grow_naively(problem))


@problems
def test_gradient_grower_gives_the_same_bits_with_all_kernels(options):
    problem = make_problem(7, **options)
    grown = []
    for name in _native.available_kernels():
        _native.use_kernels(name)
        grown.append(problem.grow())
    _native.use_kernels(_native.available_kernels()[0])
    for other in grown[1:]:
        assert_equal_trees(grown[0], other)


@problems
def test_gradient_grower_adds_leaves_to_smaller_trees(options):
    before = {}
    for k in range(2, 9):
        problem = make_problem(3, **(options | {"max_leaf_nodes": k}))
        after = describe(read_tree(problem, problem.grow())[0])
        assert len(after) <= k - 1
        assert before.items() <= after.items()
        before = after


def test_gradient_grower_keeps_nothing_from_one_patch_to_the_next():
    grower = Problem(np.zeros((1, 1), dtype=np.uint8), np.ones(1), np.ones(1)).make_grower()
    for options in [*PROBLEMS.values()] * 2:
        problem = make_problem(1, **{name: value for name, value in options.items() if name not in LIMITS})
        assert_equal_trees(problem.grow(grower), problem.grow())


DERIVATIVES = {
    "gradients of a few values": lambda rng, n: (rng.choice([-1.0, 0.0, 1.0], n), np.ones(n)),
    "gradients of one value": lambda rng, n: (np.full(n, 0.1), np.full(n, 0.7)),
    "gradients all zero": lambda rng, n: (np.zeros(n), np.ones(n)),
    "hessians all zero": lambda rng, n: (rng.normal(size=n), np.zeros(n)),
    "hessians mostly zero": lambda rng, n: (rng.normal(size=n), (rng.random(n) < 0.1).astype(float)),
    "one gradient": lambda rng, n: (np.eye(1, n)[0], np.ones(n)),
    "one hessian": lambda rng, n: (rng.normal(size=n), np.eye(1, n)[0]),
    "all of one sign": lambda rng, n: (rng.exponential(size=n), 0.01 + rng.exponential(size=n)),
    "small": lambda rng, n: (1e-30 * rng.normal(size=n), 1e-30 * rng.uniform(0.5, 1, n)),
    "large": lambda rng, n: (1e30 * rng.normal(size=n), 1e30 * rng.uniform(0.5, 1, n)),
    "small beside large": lambda rng, n: (1e30 * rng.normal(size=n), 1e-30 * rng.uniform(0.5, 1, n)),
}


@pytest.mark.slow
@pytest.mark.parametrize("derivatives", DERIVATIVES.values(), ids=DERIVATIVES.keys())
@pytest.mark.parametrize("l2", [0.0, 1e-12, 1.0], ids="l2={}".format)
@pytest.mark.parametrize("categorical", [0, 3])
def test_gradient_grower_bears_unusual_derivatives(derivatives, l2, categorical):
    for seed, n_rows in enumerate([1, 2, 9, 12, 60, 150]):
        problem = make_problem(seed, n_rows, missing=0.1, n_codes=20, categorical=categorical, l2_regularization=l2)
        gradients, hessians = derivatives(np.random.default_rng(seed), n_rows)
        problem = replace(problem, gradients=gradients, hessians=hessians)
        grown = problem.grow()
        assert np.isfinite(grown.tree.leaf_values).all()
        assert (grown.gains > 0).all()
        check_tree(problem, grown)


@pytest.mark.parametrize("categorical", [0, 3])
def test_gradient_grower_tells_more_than_256_leaves_apart(kernels, categorical):
    problem = make_problem(0, 900, n_codes=20, missing=0.1, categorical=categorical, max_leaf_nodes=400)
    grown = problem.grow()
    assert len(grown.tree.leaf_values) > 300
    check_tree(problem, grown)


@pytest.mark.slow
def test_gradient_grower_makes_histograms_anew_where_not_all_can_be_kept():
    few = make_problem(0, 400, n_columns=5, n_codes=255, categorical=1, max_leaf_nodes=60)
    n_copies = 400  # one histogram has about half a million words, and 32 of these are kept
    flags = np.tile(few.is_categorical, n_copies)
    many = replace(
        few,
        codes=np.tile(few.codes, (n_copies, 1)),
        features=np.arange(5 * n_copies),
        is_categorical=flags,
        monotonic=np.zeros(len(flags), dtype=np.int8),
    )
    assert_equal_trees(many.grow(), few.grow())


@pytest.mark.parametrize("name", ["gradients of one value", "gradients all zero", "hessians all zero"])
def test_gradient_grower_makes_a_leaf_where_nothing_is_gained(name):
    problem = make_problem(0, 1000)
    gradients, hessians = DERIVATIVES[name](np.random.default_rng(0), 1000)
    assert len(replace(problem, gradients=gradients, hessians=hessians).grow().gains) == 0


def test_gradient_grower_stops_at_rows_with_equal_derivatives():
    # As in the first tree of a classifier: whatever rounding does, leaves of one class are not split.
    rng = np.random.default_rng(0)
    codes = rng.integers(100, size=(5, 3000), dtype=np.uint8)
    gradients = np.where(codes[0] < 30, 0.3, -0.7)
    grown = Problem(codes, gradients, np.full(3000, 0.21), max_leaf_nodes=100).grow()
    assert read_splits(grown.tree)[["feature", "bin"]].tolist() == [(0, 29)]
    np.testing.assert_allclose(grown.tree.leaf_values, [-0.3 / 0.21, 0.7 / 0.21], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-320, 1e-300, 1e-100, 1e100, 1e200])
def test_gradient_grower_bears_any_unit(factor):
    problem = make_problem()
    grown = replace(problem, gradients=factor * problem.gradients).grow()
    value = -problem.gradients.sum() / problem.hessians.sum() * (factor > 1e-310)
    expected = factor * (predict(problem, problem.grow()) if 1e-150 < factor < 1e150 else value)
    np.testing.assert_allclose(predict(problem, grown), np.broadcast_to(expected, 200), rtol=1e-4, atol=1e-5 * factor)
    assert np.isfinite(grown.gains).all()


def test_gradient_grower_finds_the_row_that_is_larger_than_all():
    for l2 in (0.0, 1.0):
        problem = make_problem(0, missing=0.1, l2_regularization=l2, max_leaf_nodes=8)
        problem.gradients[17] = 1e12
        _, splits, leaves = read_tree(problem, problem.grow())
        assert len(splits) > 0
        alone = min((leaf for leaf in leaves if 17 in leaf.rows), key=lambda leaf: len(leaf.rows))
        np.testing.assert_allclose(alone.value, -1e12 / (problem.hessians[alone.rows].sum() + l2), rtol=1e-5)


@pytest.mark.slow
def test_gradient_grower_keeps_sums_of_large_patches():
    # Fields have fewer bits, and each row is rounded more: see what the check allows.
    problem = make_problem(0, 100_000, n_columns=3, missing=0.05, n_codes=30, categorical=1, max_leaf_nodes=8)
    grown = problem.grow()
    assert len(grown.gains) == 7
    check_tree(problem, grown)
    _, splits, leaves = read_tree(problem, grown)
    exact = [-problem.gradients[node.rows].sum() / problem.hessians[node.rows].sum() for node in (*splits, *leaves)]
    np.testing.assert_allclose([node.value for node in (*splits, *leaves)], exact, rtol=1e-2, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_gradient_grower_does_not_overflow_with_as_many_rows_as_it_takes(sign):
    # All bits are in use: gradients of one sign, so that sums are as large as they get, one unit of rounding at a time.
    n_rows = 1 << 22
    codes = np.repeat(np.arange(2, dtype=np.uint8), n_rows // 2)[None]
    gradients = sign * np.where(codes[0], 3.0, 1.0)
    grown = Problem(codes, gradients, np.ones(n_rows), max_leaf_nodes=4).grow()
    assert read_splits(grown.tree)["bin"].tolist() == [0]
    np.testing.assert_allclose(grown.split_values, -2 * sign, rtol=1e-4)
    np.testing.assert_allclose(grown.tree.leaf_values, [-sign, -3 * sign], rtol=1e-4)
    np.testing.assert_allclose(grown.gains, n_rows, rtol=1e-3)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.data())
def test_gradient_grower_passes_over_no_better_split(seed, data):
    n_columns = data.draw(st.integers(1, 10), "columns")
    sets = st.lists(st.integers(0, n_columns - 1), max_size=4).map(tuple)
    problem = make_problem(
        seed,
        n_rows=data.draw(st.integers(1, 80), "rows"),
        n_columns=n_columns,
        n_codes=data.draw(st.sampled_from([1, 2, 5, 33, 255]), "codes"),
        missing=data.draw(st.sampled_from([0.0, 0.2, 1.0]), "missing"),
        categorical=data.draw(st.integers(0, 2), "categorical"),
        monotonic=np.array(data.draw(st.lists(st.integers(-1, 1), min_size=n_columns, max_size=n_columns)), np.int8),
        interactions=data.draw(st.none() | st.lists(sets, min_size=1, max_size=3).map(tuple), "interactions"),
        iteration=data.draw(st.integers(0, 5), "iteration"),
        max_leaf_nodes=data.draw(st.integers(2, 20), "leaves"),
        max_depth=data.draw(st.integers(0, 4), "depth"),
        min_samples_leaf=data.draw(st.integers(1, 10), "samples"),
        l2_regularization=data.draw(st.sampled_from([0.0, 0.1, 10.0]), "l2"),
        max_bins=data.draw(st.sampled_from([2, 7, 32, 255]), "bins"),
    )
    check_tree(problem, problem.grow())


def test_gradient_grower_merges_other_bins_in_each_tree():
    problem = make_problem(n_codes=255, n_rows=2000, max_bins=16, max_leaf_nodes=30)
    offsets = set()
    for iteration in range(40):
        bins = read_splits(replace(problem, iteration=iteration).grow().tree)
        cuts = {(split["feature"], (split["bin"] + 1) % 16) for split in bins if split["bin"] < 254}
        assert len(cuts) == len({feature for feature, _ in cuts})
        offsets |= {offset for _, offset in cuts}
    assert offsets == set(range(16))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(5))
def test_gradient_grower_is_monotone_in_all_codes(seed, missing):
    directions = np.array([1, -1, 0, 1, -1, 0], dtype=np.int8)
    problem = make_problem(seed, 400, missing=missing, categorical=1, monotonic=directions, max_leaf_nodes=60)
    grown = problem.grow()
    others = make_random_codes(np.random.default_rng(seed), 6, 50) % 40
    used = set(read_splits(grown.tree)["feature"])
    assert used >= {1, 3, 4}
    for column in (1, 3, 4):
        grid = np.repeat(others[:, :, None], 255, axis=2)
        grid[column] = np.arange(255)
        values = predict(problem, grown, grid.reshape(6, -1)).reshape(50, 255)
        assert (directions[column] * np.diff(values, axis=1) >= 0).all()
        assert np.ptp(values) > 0


@pytest.mark.parametrize("flags", [[True, False, False], [False, True, False], [True, True, False]])
def test_gradient_grower_breaks_ties_by_numeric_features_first(kernels, flags):
    codes = np.tile(np.array([0, 0, 1, 1], dtype=np.uint8), (3, 30))
    problem = Problem(codes, np.tile([0.1, 0.1, 0.7, 0.7], 30), np.ones(120), is_categorical=np.array(flags))
    assert read_splits(problem.grow().tree)["feature"].tolist() == [flags.index(False)]


@pytest.mark.parametrize("features", [[2, 9, 4], [9, 2, 4], [*range(10, 0, -1)]])
def test_gradient_grower_breaks_ties_by_position_in_patch(kernels, features):
    column = np.random.default_rng(0).permutation(50).astype(np.uint8)
    codes = np.stack([column if j % 2 else 49 - column for j in range(11)])
    rng = np.random.default_rng(1)
    hessians = 10.0 ** rng.uniform(-6, 0, 50)  # small sides beside large ones
    problem = Problem(codes, rng.normal(size=50), hessians, features=np.array(features))
    assert set(read_splits(problem.grow().tree)["feature"]) == {features[0]}


def test_gradient_grower_breaks_ties_by_lower_bin(kernels):
    problem = Problem(np.array([[0, 10, 20, 30]], np.uint8), np.array([1.0, 0, 0, 1]), np.ones(4), max_leaf_nodes=2)
    assert read_splits(problem.grow().tree)["bin"].tolist() == [0]


def test_gradient_grower_breaks_ties_by_missing_on_the_right(kernels):
    codes = np.array([[0, 10, MISSING, MISSING]], np.uint8)
    problem = Problem(codes, np.array([0.0, 1, 0, 1]), np.ones(4), max_leaf_nodes=2)
    assert read_splits(problem.grow().tree)[["bin", "missing_left"]].tolist() == [(0, 0)]


@pytest.mark.parametrize("gradient", [-5.0, 5.0])
def test_gradient_grower_sends_missing_values_where_they_belong(kernels, gradient):
    codes = np.array([[0, 1, 2, 3, MISSING]] * 2, np.uint8).repeat(10, axis=1)
    problem = Problem(codes, np.array([-5.0, -5, 5, 5, gradient]).repeat(10), np.ones(50))
    splits = read_splits(problem.grow().tree)
    assert splits[["bin", "missing_left"]].tolist() == [(1, gradient < 0)]


def test_gradient_grower_finds_a_planted_set_of_categories():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.integers(30, size=1500, dtype=np.uint8)
        planted = rng.random(30) < 0.5
        gradients = 3.0 * planted[x] + rng.normal(size=1500)
        codes = np.stack([rng.integers(255, size=1500, dtype=np.uint8), x])
        grown = Problem(
            codes, gradients, np.ones(1500), is_categorical=np.array([False, True]), max_leaf_nodes=2
        ).grow()
        assert read_splits(grown.tree)["feature"].tolist() == [1]
        np.testing.assert_array_equal(read_sets(grown.tree)[0, :30], ~planted)


@pytest.mark.parametrize("n_codes", [30, 100, 250])
def test_gradient_grower_seldom_splits_by_categories_of_noise(n_codes):
    n_splits = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codes = rng.integers(n_codes, size=(1, 2000), dtype=np.uint8)
        weights = rng.exponential(size=2000)
        noise = Problem(codes, weights * rng.normal(size=2000), weights, is_categorical=np.array([True]))
        n_splits.append(len(read_splits(noise.grow().tree)))
    assert np.mean(n_splits) < 3  # of 30; all of them, if nothing is taken off


def test_gradient_grower_takes_rows_and_features_more_than_once():
    problem = make_problem(exact=True)
    rng = np.random.default_rng(0)
    rows = rng.integers(200, size=500)
    problem = replace(problem, rows=rows, features=np.array([2, 0, 2, 2]))
    problem = replace(problem, gradients=problem.gradients[rows], hessians=problem.hessians[rows])
    check_tree(problem, problem.grow())


WRONG_PATCHES = {
    "no rows": ({"rows": np.empty(0, dtype=np.int64)}, "1 to 4194304 rows"),
    "too many rows": ({"rows": np.zeros(2**22 + 1, dtype=np.int64)}, "1 to 4194304 rows"),
    "row too large": ({"rows": np.array([0, 1, 2, 4])}, "row that does not exist"),
    "row too small": ({"rows": np.array([0, 1, 2, -1])}, "row that does not exist"),
    "no features": ({"features": np.empty(0, dtype=np.int64)}, "needs a feature"),
    "feature too large": ({"features": np.array([2])}, "column that does not exist"),
    "feature too small": ({"features": np.array([-1])}, "column that does not exist"),
    "few gradients": ({"gradients": np.zeros(3)}, "gradients must have one entry per row of the patch"),
    "many hessians": ({"hessians": np.zeros(5)}, "hessians must have one entry per row of the patch"),
    "gradient NaN": ({"gradients": np.array([0, np.nan, 0, 0])}, "must be finite"),
    "gradient infinite": ({"gradients": np.array([0, -np.inf, 0, 0])}, "must be finite"),
    "gradients of infinite sum": ({"gradients": np.full(4, 1e308)}, "must be finite"),
    "hessian NaN": ({"hessians": np.array([0, np.nan, 0, 0])}, "must be finite"),
    "hessian infinite": ({"hessians": np.array([0, np.inf, 0, 0])}, "must be finite"),
    "hessian negative": ({"hessians": np.array([0, 0, -1e-9, 0])}, "must not be negative"),
    "few flags": ({"is_categorical": np.zeros(1, dtype=bool)}, "is_categorical must have one entry per column"),
    "few directions": ({"monotonic": np.zeros(1, dtype=np.int8)}, "monotonic must have one entry per column"),
    "no direction": ({"monotonic": np.array([0, 2], dtype=np.int8)}, "entries -1, 0 and 1"),
    "offsets alone": ({"interaction_members": None}, "offsets and members"),
    "members alone": ({"interaction_offsets": None}, "offsets and members"),
    "no offsets": ({"interaction_offsets": np.empty(0, dtype=np.int64)}, "must ascend from 0"),
    "offsets from 1": ({"interaction_offsets": np.array([1, 2])}, "must ascend from 0"),
    "negative offsets": ({"interaction_offsets": np.array([-1, 2])}, "must ascend from 0"),
    "offsets that fall": ({"interaction_offsets": np.array([0, 2, 1, 2])}, "must ascend from 0"),
    "offsets that end early": ({"interaction_offsets": np.array([0, 1])}, "end with the number of members"),
    "offsets that end late": ({"interaction_offsets": np.array([0, 3])}, "end with the number of members"),
    "member too large": ({"interaction_members": np.array([0, 2])}, "column that does not exist"),
    "member too small": ({"interaction_members": np.array([-1, 1])}, "column that does not exist"),
}


@pytest.mark.parametrize(("change", "message"), WRONG_PATCHES.values(), ids=WRONG_PATCHES.keys())
def test_gradient_grower_rejects_wrong_patches(change, message):
    patch = {"rows": np.arange(4), "features": np.arange(2), "gradients": np.zeros(4), "hessians": np.ones(4)}
    sets = {"interaction_offsets": np.array([0, 2]), "interaction_members": np.array([0, 1])}
    columns = as_columns(np.zeros((2, 4), dtype=np.uint8))
    grower = _native.GradientGrower(2, 0, 1, 0.0, 255)
    with pytest.raises(ValueError, match=message):
        grower.grow(columns, **(patch | sets | change), seed=0, iteration=0)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((1, 0, 1, 0.0, 255), "max_leaf_nodes must be >= 2"),
        ((65_537, 0, 1, 0.0, 255), "65536 leaves at most"),
        ((2, -1, 1, 0.0, 255), "max_depth >= 0"),
        ((2, 0, 0, 0.0, 255), "min_samples_leaf >= 1"),
        ((2, 0, 1, -1.0, 255), "l2_regularization must be finite and not negative"),
        ((2, 0, 1, np.nan, 255), "l2_regularization must be finite and not negative"),
        ((2, 0, 1, np.inf, 255), "l2_regularization must be finite and not negative"),
        ((2, 0, 1, 0.0, 1), "max_bins must be between 2 and 255"),
        ((2, 0, 1, 0.0, 256), "max_bins must be between 2 and 255"),
    ],
)
def test_gradient_grower_rejects_wrong_limits(limits, message):
    with pytest.raises(ValueError, match=message):
        _native.GradientGrower(*limits)


def test_threads_grow_the_same_tree():
    rng = np.random.default_rng(0)
    codes = rng.integers(60, size=(40, 5000)).astype(np.uint8)
    patch = as_columns(codes), np.arange(5000), np.arange(40), rng.normal(size=5000), np.ones(5000), 0, 1
    trees = [
        _native.GradientGrower(31, 0, 5, 1.0, 64).grow(*patch, threads=threads).tree
        for threads in (None, _native.Threads(1), _native.Threads(3))
    ]
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.splits, trees[0].splits)
        np.testing.assert_array_equal(tree.leaf_values, trees[0].leaf_values)


@problems
def test_gradient_tree_can_be_pickled(options):
    grown = make_problem(7, **options).grow()
    assert_equal_trees(pickle.loads(pickle.dumps(grown)), grown)


def test_gradient_grower_merges_bins_by_the_numbers_of_features(threads):
    # The columns of a minipatch alone, as shards and sparse tables have them, give the tree of the whole table.
    codes, features = make_random_codes(np.random.default_rng(3), 9, 500), np.array([1, 4, 8])
    slopes = np.random.default_rng(4).normal(size=500), np.ones(500)
    grower = _native.GradientGrower(20, 0, 3, 1.0, 16)
    whole = grower.grow(as_columns(codes), np.arange(500), features, *slopes, 5, 6)
    alone = as_columns(np.ascontiguousarray(codes[features])), np.arange(500), np.arange(3), *slopes, 5, 6
    assert_equal_trees(grower.grow(*alone, numbers=features).with_features(features), whole)
    assert grower.grow(*alone).with_features(features).tree.splits.tolist() != whole.tree.splits.tolist()


def gather_naively(slopes, rows, weights):
    """Combine the derivatives of some rows along the direction of a tree, times weights."""
    gradients, hessians, direction, labels, row_weights = slopes
    g, h = gradients[rows].astype(np.float64), hessians[rows].astype(np.float64)
    if direction is None:
        return g * weights, h * weights
    g, h = g @ direction, h.sum(axis=1)
    if labels is not None:  # the variance of a variable of -1 or +1
        own = np.ones(len(rows)) if row_weights is None else row_weights[rows].astype(np.float64)
        h = own * np.maximum(1 - (g / own + direction[labels[rows]]) ** 2, 1e-16)
    return g * weights, h * weights


def make_slopes(kind, n_rows):
    rng = np.random.default_rng(3)
    shape = n_rows if kind == "one output" else (n_rows, 4)
    gradients, hessians = (rng.uniform(*ends, shape).astype(np.float32) for ends in ((-0.2, 0.2), (0.1, 1.0)))
    direction = None if kind == "one output" else np.array([1.0, -1.0, -1.0, 1.0])
    labels = rng.integers(4, size=n_rows, dtype=np.uint16) if kind.startswith("classes") else None
    row_weights = rng.uniform(0.5, 2.0, n_rows).astype(np.float32) if kind == "classes with weights" else None
    return gradients, hessians, direction, labels, row_weights


def make_round(kind, n_patches=3):
    """Minipatches of one table, as ``grow_round`` takes them."""
    rng = np.random.default_rng(1)
    columns = as_columns(rng.integers(30, size=(5, 300), dtype=np.uint8))
    slopes, patches = make_slopes(kind, 300), []
    for iteration in range(1, n_patches + 1):
        rows, features = np.sort(rng.choice(300, 120, replace=False)), np.array([0, 2, 3])
        constraints = None, None, None, None
        weights = rng.uniform(0.5, 3.0, len(rows))
        patches.append((columns, rows, features, *slopes, iteration, *constraints, weights, features))
    return patches


@pytest.mark.parametrize("kind", ["one output", "four outputs", "classes", "classes with weights"])
@pytest.mark.parametrize("n_patches", [1, 3])
def test_grow_round_matches_grow_on_gathered_derivatives(threads, kind, n_patches):
    grower, patches = _native.GradientGrower(15, 0, 1, 0.0, 64), make_round(kind, n_patches)
    round_grown = grower.grow_round(patches, 5, threads)
    assert len(round_grown) == n_patches
    for (columns, rows, features, *patch), grown in zip(patches, round_grown, strict=True):
        slopes, settings, weights = patch[:5], patch[5:], patch[-2]
        gathered = _native.gather_slopes(*slopes[:2], rows, weights, *slopes[2:])
        for numbers, expected in zip(gathered, gather_naively(slopes, rows, weights), strict=True):
            np.testing.assert_allclose(numbers, expected, rtol=1e-12)
        expected = grower.grow(columns, rows, features, *gathered, 5, *settings)
        assert len(grown.gains) > 3
        assert_equal_trees(grown, expected)
        np.testing.assert_array_equal(grown.tree.leaf_covers, expected.tree.leaf_covers)


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (1, np.array([0, 300]), "row that does not exist"),
        (1, np.array([-1, 1]), "row that does not exist"),
        (13, np.ones(3), "one entry per row"),
        (13, -np.ones(120), "must not be negative"),
        (4, np.ones(9, np.float32), "one shape"),
        (7, np.ones(9, np.float32), "one weight per row"),
        (0, None, "columns"),
    ],
    ids=["beyond", "before", "weights", "negative", "hessians", "row weights", "columns"],
)
def test_grow_round_rejects_wrong_arguments(threads, place, wrong, message):
    patches = make_round("one output")
    patches[1] = (*patches[1][:place], wrong, *patches[1][place + 1 :])
    with pytest.raises(ValueError, match=message):
        _native.GradientGrower(4, 0, 1, 0.0, 64).grow_round(patches, 0, threads)
