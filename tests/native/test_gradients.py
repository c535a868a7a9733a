"""Gradients by leaves: sums and quantiles against plain NumPy."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.everywhere import assert_all_equal, call_everywhere
from tests.support.native.naive_tree import (
    as_columns,
    find_leaves,
    make_random_codes,
    make_random_sets,
    make_random_splits,
    make_tree,
)

N_FEATURES = 9


def make_leaf_problem(n_rows, n_splits, shape, seed=0):
    rng = np.random.default_rng(seed)
    splits = make_random_splits(rng, n_splits, N_FEATURES, categorical=0.2)
    sets = make_random_sets(rng, splits)
    codes = make_random_codes(rng, N_FEATURES, n_rows)
    gradients = rng.normal(size=(n_rows, *shape)).astype(np.float32)
    hessians = rng.random((n_rows, *shape), dtype=np.float32)
    gradients[::3], hessians[::3] = 0, 0  # reserved rows
    tree = make_tree(splits, np.zeros(n_splits + 1), N_FEATURES, sets)
    return tree, as_columns(codes), gradients, hessians, find_leaves(splits, codes, sets)


@pytest.mark.parametrize("n_rows", [1, 7, 127, 128, 129, 1000, 40_001])
@pytest.mark.parametrize(
    ("n_splits", "shape"),
    [(0, ()), (30, ()), (255, ()), (256, (1,)), (30, (1,)), (3, (2,)), (30, (7,)), (400, (30,)), (5000, (3,))],
)
def test_sum_leaves_matches_naive_sums(kernels, threads, n_rows, n_splits, shape):
    tree, columns, gradients, hessians, expected = make_leaf_problem(n_rows, n_splits, shape)
    leaves = np.full(n_rows, 65_535, dtype=np.uint16)
    (sums,) = _native.sum_leaves([(tree, columns, gradients, hessians, leaves)], threads)
    np.testing.assert_array_equal(leaves, expected)
    naive = np.zeros((n_splits + 1, *(shape or (1,)), 2))
    np.add.at(naive[..., 0], expected, gradients.reshape(n_rows, -1))
    np.add.at(naive[..., 1], expected, hessians.reshape(n_rows, -1))
    assert sums.shape == naive.shape
    np.testing.assert_allclose(sums, naive, rtol=1e-12, atol=1e-9)
    numbers = np.full(n_rows, 65_535, dtype=np.uint16)
    tree.apply_leaf_numbers(columns, numbers, threads)
    np.testing.assert_array_equal(numbers, expected)


@pytest.mark.parametrize(("n_splits", "shape"), [(30, ()), (30, (7,)), (2000, (3,))])
def test_sum_leaves_has_the_same_bits_everywhere(n_splits, shape):
    tree, columns, gradients, hessians, expected = make_leaf_problem(100_003, n_splits, shape)

    def call(threads):
        leaves = np.empty(len(expected), dtype=np.uint16)
        return *_native.sum_leaves([(tree, columns, gradients, hessians, leaves)], threads), leaves

    assert_all_equal(call_everywhere(call))


@pytest.mark.parametrize("n_rows", [100, 5000, 40_001])
def test_sum_leaves_sums_several_trees_as_if_each_were_alone(kernels, threads, n_rows):
    problems = [
        make_leaf_problem(n_rows, n_splits, shape, seed)
        for seed, (n_splits, shape) in enumerate([(30, ()), (7, ()), (400, ()), (5, (3,))])
    ]

    def call(problems):
        leaves = [np.empty(n_rows, dtype=np.uint16) for _ in problems]
        trees = [(*problem[:4], numbers) for problem, numbers in zip(problems, leaves, strict=True)]
        return [*_native.sum_leaves(trees, threads), *leaves]

    alone = [call([problem]) for problem in problems]
    together = call(problems)
    assert_all_equal([together, [of[0] for of in alone] + [of[1] for of in alone]])


def test_sum_leaves_of_no_rows_is_zero(threads):
    tree, columns, gradients, hessians, _ = make_leaf_problem(0, 3, ())
    (sums,) = _native.sum_leaves([(tree, columns, gradients, hessians, np.empty(0, np.uint16))], threads)
    np.testing.assert_array_equal(sums, np.zeros((4, 1, 2)))


def test_sum_leaves_rejects_sums_that_do_not_belong_to_trees(threads):
    tree, columns, gradients, hessians, _ = make_leaf_problem(10, 3, ())
    trees = [(tree, columns, gradients, hessians, np.zeros(10, np.uint16))]
    with pytest.raises(ValueError, match="sums of its own"):
        _native.sum_leaves(trees, threads, [_native.RowSums(), _native.RowSums()])


def fit_newton_naively(sums, l2, factor):
    hessians = sums[..., 1] + l2
    return np.divide(-sums[..., 0], hessians, out=np.zeros(hessians.shape), where=hessians > 0) * factor


@pytest.mark.parametrize(("l2", "factor"), [(0.0, 1.0), (1.5, 1.0), (0.5, 0.75)])
def test_fit_newton_matches_naive_steps(l2, factor):
    rng = np.random.default_rng(0)
    sums = rng.normal(size=(20, 3, 2))
    sums[..., 1] = np.abs(sums[..., 1])
    sums[4:7] = 0.0
    trees = [sums, sums[::-1].copy()]
    for fitted, given in zip(_native.fit_newton(trees, l2, factor), trees, strict=True):
        np.testing.assert_array_equal(fitted, fit_newton_naively(given, l2, factor))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_make_steps_scales_values_and_gives_them_to_the_tree(n_outputs):
    tree, *_ = make_leaf_problem(1, 20, ())
    values = np.random.default_rng(0).normal(size=(21, n_outputs))
    step, moved = _native.make_steps([(tree, values, 0.1)], 1e30, 0.3)[0]
    expected = (0.1 * values).astype(np.float32)
    np.testing.assert_array_equal(step, expected if n_outputs > 1 else expected[:, 0])
    np.testing.assert_array_equal(moved.leaf_values, step.astype(np.float64) * 0.3)
    np.testing.assert_array_equal(moved.splits, tree.splits)
    np.testing.assert_array_equal(moved.category_sets, tree.category_sets)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 11.0, -11.0])
def test_make_steps_refuses_steps_that_are_too_large(value):
    tree, *_ = make_leaf_problem(1, 20, ())
    values = np.zeros((21, 1))
    values[3] = value
    assert _native.make_steps([(tree, values, 1.0)], 10.0, 1.0) is None


@pytest.mark.parametrize("shape", [(20, 1), (21, 0)])
def test_make_steps_rejects_values_of_other_leaves(shape):
    tree, *_ = make_leaf_problem(1, 20, ())
    with pytest.raises(ValueError, match="row for each leaf"):
        _native.make_steps([(tree, np.zeros(shape), 1.0)], 10.0, 1.0)


@pytest.mark.slow
def test_sum_leaves_rejects_trees_whose_leaves_need_more_than_16_bits(threads):
    tree, columns, gradients, hessians, _ = make_leaf_problem(10, 65_536, ())
    leaves = np.empty(10, dtype=np.uint16)
    with pytest.raises(ValueError, match="more than 65536 leaves"):
        _native.sum_leaves([(tree, columns, gradients, hessians, leaves)], threads)
    with pytest.raises(ValueError, match="more than 65536 leaves"):
        tree.apply_leaf_numbers(columns, leaves, threads)
    tree, columns, *_, expected = make_leaf_problem(500, 65_535, ())
    leaves = np.empty(500, dtype=np.uint16)
    tree.apply_leaf_numbers(columns, leaves, threads)
    np.testing.assert_array_equal(leaves, expected)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param({"gradients": np.zeros(9, np.float32)}, "one entry per row", id="few gradients"),
        pytest.param({"hessians": np.zeros(11, np.float32)}, "one entry per row", id="many hessians"),
        pytest.param({"hessians": np.zeros((10, 2), np.float32)}, "one shape", id="other shape"),
        pytest.param({"gradients": np.zeros((10, 0), np.float32)}, "must be an output", id="no output"),
        pytest.param({"gradients": np.zeros((10, 1, 1), np.float32)}, "dimension", id="three dimensions"),
        pytest.param({"leaves": np.zeros(9, np.uint16)}, "one entry per row", id="few leaves"),
    ],
)
def test_sum_leaves_rejects_wrong_arguments(threads, wrong, message):
    tree, columns, gradients, hessians, _ = make_leaf_problem(10, 20, ())
    arguments = {"columns": columns, "gradients": gradients, "hessians": hessians, "leaves": np.zeros(10, np.uint16)}
    with pytest.raises(ValueError, match=message):
        _native.sum_leaves([(tree, *(arguments | wrong).values())], threads)


def test_sum_leaves_rejects_columns_that_are_too_few(threads):
    tree, _, gradients, hessians, _ = make_leaf_problem(10, 20, ())
    columns = as_columns(np.zeros((1, 10), dtype=np.uint8))
    with pytest.raises(ValueError, match="column that does not exist"):
        _native.sum_leaves([(tree, columns, gradients, hessians, np.zeros(10, np.uint16))], threads)


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_sum_rows_matches_naive_sums(shape, is_weighted):
    rng = np.random.default_rng(0)
    leaves = rng.integers(5, size=100).astype(np.uint16)
    gradients, hessians = (rng.normal(size=(100, *shape)).astype(np.float32) for _ in range(2))
    rows = np.sort(rng.choice(100, 40, replace=False))
    weights = rng.random(40) if is_weighted else None
    expected = np.zeros((6, *(shape or (1,)), 2))  # the last leaf has no row
    for row, weight in zip(rows, np.ones(40) if weights is None else weights, strict=True):
        expected[leaves[row], :, 0] += weight * gradients[row].astype(np.float64)
        expected[leaves[row], :, 1] += weight * hessians[row].astype(np.float64)
    np.testing.assert_array_equal(_native.sum_rows(rows, weights, leaves, gradients, hessians, 6), expected)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": np.array([10])}, "no such row"),
        ({"rows": np.array([-1])}, "no such row"),
        ({"weights": np.ones(2)}, "one entry per row"),
        ({"n_leaves": 1}, "a leaf that does not exist"),
        ({"gradients": np.zeros(9, dtype=np.float32)}, "one entry per row"),
        ({"hessians": np.zeros((10, 2), dtype=np.float32)}, "one shape"),
    ],
)
def test_sum_rows_rejects_wrong_arguments(wrong, message):
    right = {
        "rows": np.arange(10),
        "weights": None,
        "leaves": np.arange(10, dtype=np.uint16) % 2,
        "gradients": np.zeros(10, dtype=np.float32),
        "hessians": np.zeros(10, dtype=np.float32),
        "n_leaves": 2,
    }
    with pytest.raises(ValueError, match=message):
        _native.sum_rows(**right | wrong)


def find_quantiles_naively(leaves, residuals, weights, alpha, n_leaves):
    quantiles = np.zeros(n_leaves)
    for leaf in range(n_leaves):
        chosen = (leaves == leaf) & (weights > 0)
        if chosen.any():
            r, w = residuals[chosen], weights[chosen].astype(np.float64)
            quantiles[leaf] = next(x for x in np.sort(r) if w[r <= x].sum() >= alpha * w.sum())
    return quantiles


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 30, 1000])
@pytest.mark.parametrize("n_values", [3, 10**6])
def test_leaf_quantiles_match_naive_twin(n_rows, n_values, alpha):
    rng = np.random.default_rng(n_rows)
    leaves = rng.choice([0, 1, 4, 6], n_rows, p=[0.1, 0.1, 0.1, 0.7]).astype(np.uint16)
    residuals = rng.integers(-n_values, n_values, n_rows).astype(np.float32)
    for weights in (None, rng.integers(4, size=n_rows).astype(np.float32)):  # whole: sums are exact
        w = np.ones(n_rows) if weights is None else weights
        expected = find_quantiles_naively(leaves, residuals, w, alpha, 8)
        for n_threads in (1, 2, 3):
            quantiles = _native.leaf_quantiles(leaves, residuals, weights, alpha, 8, _native.Threads(n_threads))
            np.testing.assert_array_equal(quantiles, expected)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param({"leaves": np.full(5, 3, np.uint16)}, "leaf that does not exist", id="leaf"),
        pytest.param({"residuals": np.zeros(4, np.float32)}, "one entry per row", id="residuals"),
        pytest.param({"residuals": np.full(5, np.nan, np.float32)}, "no number", id="nan"),
        pytest.param({"weights": np.zeros(4, np.float32)}, "one entry per row", id="weights"),
        pytest.param({"alpha": 1.1}, "alpha", id="alpha"),
        pytest.param({"n_leaves": -1}, "65536", id="negative"),
        pytest.param({"n_leaves": 65_537}, "65536", id="many"),
    ],
)
def test_leaf_quantiles_reject_wrong_arguments(threads, wrong, message):
    arguments = {"leaves": np.zeros(5, np.uint16), "residuals": np.zeros(5, np.float32), "weights": None}
    with pytest.raises(ValueError, match=message):
        _native.leaf_quantiles(**(arguments | {"alpha": 0.5, "n_leaves": 3} | wrong), threads=threads)
