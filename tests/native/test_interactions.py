"""Interactions of pairs of features: against their definition, and what must hold for any tree."""

import numpy as np
import pytest

from mpboost import _native
from tests.native.test_contributions import N_COLUMNS, make_chain, make_covered_tree
from tests.support.native.naive_contributions import explain_pairs
from tests.support.native.naive_tree import as_columns, make_random_codes


def interact(forest, codes, threads, kind="values", n_outputs=1, factors=None):
    out = np.zeros((codes.shape[1], n_outputs, len(codes) + 1, len(codes) + 1))
    _native.add_interactions(forest, as_columns(codes), kind, out, threads, factors)
    return out


@pytest.mark.parametrize("n_splits", [0, 1, 2, 3, 7, 15, 30])
def test_interactions_are_those_of_all_subsets(threads, n_splits):
    rng = np.random.default_rng(n_splits)
    forest = make_covered_tree(rng, n_splits)
    codes = make_random_codes(rng, N_COLUMNS, 20)
    found = interact(forest, codes, threads)[:, 0]
    np.testing.assert_allclose(found, explain_pairs(forest.tree(0), codes, forest.leaf_values), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(found, found.swapaxes(1, 2))
    assert n_splits < 3 or (found != 0).any()


def test_interactions_of_forests_are_sums_over_trees_of_each_output(threads):
    rng = np.random.default_rng(5)
    trees = [make_covered_tree(rng, n, n_outputs=3).tree(0) for n in (4, 0, 9)]
    forest = _native.Forest()
    for tree in trees:
        forest.append(tree)
    codes = make_random_codes(rng, N_COLUMNS, 4)
    found = interact(forest, codes, threads, n_outputs=3)
    for output in range(3):
        expected = sum(explain_pairs(tree, codes, tree.leaf_values[:, output]) for tree in trees)
        np.testing.assert_allclose(found[:, output], expected, rtol=0, atol=1e-13)


def test_interactions_of_classes_are_those_of_indicators(threads):
    rng = np.random.default_rng(6)
    values = rng.integers(4, size=13).astype(float)
    forest = make_covered_tree(rng, 12, values=values)
    codes = make_random_codes(rng, N_COLUMNS, 4)
    found = interact(forest, codes, threads, "classes", 5)
    for output in range(5):
        expected = explain_pairs(forest.tree(0), codes, (values == output).astype(float))
        np.testing.assert_allclose(found[:, output], expected, rtol=0, atol=1e-13)


def test_interactions_of_signs_count_by_the_factors_of_trees(threads):
    rng = np.random.default_rng(7)
    forest = make_covered_tree(rng, 10)
    codes, factors = make_random_codes(rng, N_COLUMNS, 4), np.array([[1.0, -1.0, 0.5]])
    found = interact(forest, codes, threads, "signs", 3, factors)
    expected = explain_pairs(forest.tree(0), codes, np.where(forest.leaf_values > 0, 1.0, -1.0))
    for output, factor in enumerate(factors[0]):
        np.testing.assert_allclose(found[:, output], factor * expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("covers", [np.zeros(16), np.where(np.arange(16) % 3, 0.0, 1e30)], ids=["none", "few"])
def test_interactions_cope_with_leaves_that_no_row_reached(threads, covers):
    rng = np.random.default_rng(8)
    forest = make_covered_tree(rng, 15, covers=covers)
    codes = make_random_codes(rng, N_COLUMNS, 5)
    expected = explain_pairs(forest.tree(0), codes, forest.leaf_values)
    np.testing.assert_allclose(interact(forest, codes, threads)[:, 0], expected, rtol=0, atol=1e-13)


def test_interactions_have_the_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    forest = make_covered_tree(rng, 200, n_columns=20)
    codes = make_random_codes(rng, 20, 531)
    np.testing.assert_array_equal(*(interact(forest, codes, _native.Threads(n)) for n in (1, 3)))


def test_interactions_on_a_long_path_are_integrals(threads):
    """The row takes the whole path, at whose end is the only leaf that has a value."""
    n_features = 80
    chain, values = make_chain(n_features), np.zeros(n_features + 1)
    values[0] = 1.0
    covers = np.ones(n_features + 1, np.float32)
    forest = _native.Forest(chain.splits, values, chain.split_offsets, chain.category_sets, n_features, covers)
    found = interact(forest, np.zeros((n_features, 1), np.uint8), threads)[0, 0, :-1, :-1]
    shares = np.arange(n_features, 0, -1) / np.arange(n_features + 1, 1, -1)  # of the leaves below, on the path
    points, weights = np.polynomial.legendre.leggauss(100)
    t = (points[:, None] + 1) / 2
    factors = t + shares * (1 - t)
    gains = (1 - shares) / factors
    expected = np.einsum("k,ki,kj->ij", weights / 4 * factors.prod(axis=1), gains, gains)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((3, 1, N_COLUMNS + 1, N_COLUMNS), {}, "must have the shape"),
        ((2, 1, N_COLUMNS + 1, N_COLUMNS + 1), {}, "must have the shape"),
        ((3, 2, N_COLUMNS + 1, N_COLUMNS + 1), {}, "row per output"),
        ((3, 1, N_COLUMNS + 1, N_COLUMNS + 1), {"kind": "votes"}, "values, signs or classes"),
    ],
)
def test_interactions_refuse_arrays_that_do_not_match(threads, shape, options, message):
    forest = make_covered_tree(np.random.default_rng(0), 20)
    columns = as_columns(np.zeros((N_COLUMNS, 3), np.uint8))
    with pytest.raises(ValueError, match=message):
        _native.add_interactions(
            forest, columns, **({"kind": "values"} | options), out=np.zeros(shape), threads=threads
        )


def test_interactions_need_covers(threads):
    forest = make_covered_tree(np.random.default_rng(0), 3, covers=np.empty(0))
    with pytest.raises(ValueError, match="covers of leaves are unknown"):
        interact(forest, np.zeros((N_COLUMNS, 2), np.uint8), threads)
