"""What splits of gradient boosting are credited with on rows that are given by sums of gradients."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.gradient_problems import make_problem, predict, problems
from tests.support.native.naive_gradient_tree import read_tree
from tests.support.native.naive_tree import find_leaves, read_sets, read_splits


def credit_naively(problem, grown, gradients):
    """Credit features with what their splits move the loss by, to first order, with other gradients."""
    credits = dict.fromkeys(sorted(problem.features.tolist()), 0.0)
    for node in read_tree(problem, grown)[1]:
        for child in node.children:
            credits[node.feature] -= gradients[child.rows].sum() * (child.value - node.value)
    return np.array(list(credits.values()))


def sum_by_leaf(problem, grown, gradients):
    leaves = find_leaves(read_splits(grown.tree), problem.patch_codes, read_sets(grown.tree))
    return np.bincount(leaves, gradients, minlength=len(grown.tree.leaf_values))


@problems
def test_credit_matches_naive_twin(options):
    problem = make_problem(5, **options)
    grown, features = problem.grow(), np.sort(problem.features)
    gradients = np.random.default_rng(1).normal(size=len(problem.rows))
    credits = grown.credit(sum_by_leaf(problem, grown, gradients), features)
    np.testing.assert_allclose(credits, credit_naively(problem, grown, gradients), rtol=1e-10, atol=1e-10)
    root = read_tree(problem, grown)[0]
    change = (gradients * (predict(problem, grown) - root.value)).sum()
    np.testing.assert_allclose(credits.sum(), -change, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_credit_is_zero_in_the_mean_on_rows_that_tell_nothing():
    problem = make_problem(0, max_leaf_nodes=20)
    grown, rng = problem.grow(), np.random.default_rng(0)
    sums = (sum_by_leaf(problem, grown, rng.normal(size=200)) for _ in range(2000))
    credits = np.array([grown.credit(s, problem.features) for s in sums])
    used = np.unique(read_splits(grown.tree)["feature"])
    assert (np.abs(credits.mean(axis=0)) < 4 * credits.std(axis=0) / np.sqrt(2000) + 1e-15).all()
    own = grown.credit(sum_by_leaf(problem, grown, problem.gradients), problem.features)
    assert (own[used] > 4 * np.abs(credits.mean(axis=0)[used])).all()


def test_credit_rejects_wrong_sums_and_features():
    grown = make_problem().grow()
    with pytest.raises(ValueError, match="one sum per leaf"):
        grown.credit(np.zeros(len(grown.gains)), np.arange(6))
    with pytest.raises(ValueError, match="another feature"):
        grown.credit(np.zeros(len(grown.gains) + 1), np.arange(1))


@problems
def test_chance_matches_naive_twin(options):
    problem = make_problem(5, **options)
    grown = problem.grow()
    hessians = np.random.default_rng(1).random(len(problem.rows))
    variance = sum(
        hessians[child.rows].sum() * (child.value - node.value) ** 2
        for node in read_tree(problem, grown)[1]
        for child in node.children
    )
    np.testing.assert_allclose(grown.chance(sum_by_leaf(problem, grown, hessians)), np.sqrt(variance), rtol=1e-9)


@pytest.mark.slow
def test_chance_is_the_spread_of_credits_by_chance():
    problem = make_problem(0, max_leaf_nodes=20)
    grown, rng = problem.grow(), np.random.default_rng(0)
    sums = (sum_by_leaf(problem, grown, rng.normal(size=200)) for _ in range(4000))
    credits = np.array([grown.credit(s, problem.features) for s in sums])
    # Credits of one feature's splits add up, with signs, so that their variances need not: a factor of two is near.
    spread = np.sqrt(credits.var(axis=0).sum())
    assert 0.5 < spread / grown.chance(sum_by_leaf(problem, grown, np.ones(200))) < 2.0


def test_chance_rejects_wrong_sums():
    with pytest.raises(ValueError, match="one sum per leaf"):
        make_problem().grow().chance(np.zeros(1))


def make_unseen(n_outputs, n_trees=3, n_rows=200):
    """Trees with derivatives of all rows, as ``credit_unseen`` takes them."""
    rng, trees = np.random.default_rng(0), []
    shape = n_rows if n_outputs == 1 else (n_rows, n_outputs)
    direction = None if n_outputs == 1 else rng.choice([-1.0, 1.0], n_outputs)
    for seed in range(n_trees):
        problem = make_problem(seed, max_leaf_nodes=20)
        grown, features = problem.grow(), np.sort(problem.features)
        gradients, hessians = (numbers.astype(np.float32) for numbers in (rng.normal(size=shape), rng.random(shape)))
        leaves = rng.integers(len(grown.tree.leaf_values), size=n_rows).astype(np.uint16)
        rows = np.sort(rng.choice(n_rows, 60, replace=False))
        sums = np.zeros((len(grown.tree.leaf_values), n_outputs, 2))
        np.add.at(sums, leaves, np.stack([gradients, hessians], -1).reshape(n_rows, n_outputs, 2).astype(float))
        trees.append((grown, sums, rows, leaves, gradients, hessians, direction, features))
    return trees


@pytest.mark.parametrize("n_outputs", [1, 2, 26])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 6])
def test_credit_unseen_credits_by_the_rows_outside_the_minipatch(kernels, n_outputs, n_threads):
    trees = make_unseen(n_outputs)
    credited = _native.credit_unseen(trees, _native.Threads(n_threads))
    alone = [_native.credit_unseen([tree], _native.Threads(1))[0] for tree in trees]
    for (grown, sums, rows, leaves, *derivatives, direction, features), (importances, credits), expected in zip(
        trees, credited, alone, strict=True
    ):
        unseen = np.setdiff1d(np.arange(len(leaves)), rows)
        factors = np.ones(n_outputs) if direction is None else direction
        gradients, hessians = (numbers.reshape(len(leaves), n_outputs).astype(float) for numbers in derivatives)
        of_leaves = [
            np.bincount(leaves[unseen], numbers[unseen], len(sums))
            for numbers in (gradients @ factors, hessians.sum(1))
        ]
        np.testing.assert_allclose(credits, grown.credit(of_leaves[0], features), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(importances, credits / grown.chance(of_leaves[1]), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal((importances, credits), expected)


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, None, "a tree"),
        (1, np.zeros((1, 1, 2)), "shape"),
        (2, np.array([200]), "row that does not exist"),
        (3, np.full(200, 20, dtype=np.uint16), "leaf that does not exist"),
        (3, np.zeros(3, dtype=np.uint16), "one leaf per row"),
        (5, np.zeros(3, dtype=np.float32), "one shape"),
        (7, np.arange(1), "another feature"),
    ],
    ids=["tree", "sums", "row", "leaf", "leaves", "hessians", "features"],
)
def test_credit_unseen_rejects_wrong_arguments(threads, place, wrong, message):
    tree = make_unseen(1)[0]
    with pytest.raises(ValueError, match=message):
        _native.credit_unseen([(*tree[:place], wrong, *tree[place + 1 :])], threads)
