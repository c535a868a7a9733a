"""What splits of gradient boosting are credited with on rows that are given by sums of gradients."""

import numpy as np
import pytest

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
