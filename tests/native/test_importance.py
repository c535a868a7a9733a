"""Importances by shuffling a feature among the rows of a minipatch."""

import numpy as np
import pytest

from mpboost import _native
from mpboost.learners.splits import SPLIT_DTYPE
from tests.support.native.naive_tree import (
    MISSING,
    as_columns,
    find_leaves,
    find_votes,
    make_tree,
    read_sets,
    read_splits,
)


def make_stump(feature, n_features, bin=0):
    splits = np.array([(feature, ~0, ~1, -1, bin, 0, 0)], dtype=SPLIT_DTYPE)
    return make_tree(splits, np.array([-1.0, 1.0]), n_features)


def measure(tree, codes, labels, rows=None, features=None, seed=0, iteration=0, weights=None):
    rows = np.arange(codes.shape[1]) if rows is None else rows
    features = np.arange(len(codes)) if features is None else features
    return _native.permutation_importances(tree, as_columns(codes), rows, features, labels, seed, iteration, weights)


def test_permutation_credits_nothing_to_features_that_are_not_used():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(5, 60), dtype=np.uint8)
    labels = np.where(codes[3], 1, -1).astype(np.int8)
    losses = measure(make_stump(3, 5), codes, labels)
    assert (losses != 0).tolist() == [False, False, False, True, False]
    assert losses[3] > 0


def test_permutation_credits_nothing_in_a_tree_without_splits():
    codes = np.zeros((2, 5), dtype=np.uint8)
    tree = make_tree(np.empty(0, dtype=SPLIT_DTYPE), np.ones(1), 2)
    assert measure(tree, codes, np.array([1, 1, -1, 1, -1], dtype=np.int8)).tolist() == [0.0, 0.0]


def test_permutation_expects_the_loss_of_a_perfect_stump():
    # A row that gets the code of a random row is still right with probability a^2 + b^2, for shares a + b = 1.
    n_positive, n_rows, n_draws = 12, 40, 2000
    codes = (np.arange(n_rows) < n_positive).astype(np.uint8)[None]
    labels = np.where(codes[0], 1, -1).astype(np.int8)
    tree = make_stump(0, 1)
    losses = [measure(tree, codes, labels, iteration=t)[0] for t in range(n_draws)]
    a = n_positive / n_rows
    assert np.mean(losses) == pytest.approx(2 * a * (1 - a), abs=4 * np.std(losses) / np.sqrt(n_draws))
    assert np.std(losses) > 0


@pytest.mark.slow
@pytest.mark.parametrize("is_categorical", [None, np.array([True, False, True, True])], ids=["numbers", "categories"])
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
def test_permutation_agrees_with_naive_twin_on_average(weighted, is_categorical):
    rng = np.random.default_rng(0)
    n_rows, n_draws = 80, 400
    codes = rng.integers(200, size=(4, 120), dtype=np.uint8)
    labels = np.where(codes[1].astype(int) + codes[2] > 200, 1, -1).astype(np.int8)
    labels[rng.random(120) < 0.2] *= -1
    if is_categorical is not None:
        codes //= 40  # few enough categories to be worth a split
    codes[rng.random(codes.shape) < 0.1] = MISSING
    rows, features = rng.permutation(120)[:n_rows], np.array([2, 0, 1])
    weights = 10.0 ** rng.uniform(-1, 1, n_rows) if weighted else np.ones(n_rows)
    optional_weights = weights if weighted else None
    patch = rows, features, labels, optional_weights, is_categorical
    tree = _native.BinaryGrower(3, 3, 1.0).grow(as_columns(codes), *patch).tree
    assert (len(tree.category_sets) > 0) == (is_categorical is not None)

    def weigh_right(codes):
        votes = find_votes(read_splits(tree), tree.leaf_values, codes[:, rows], read_sets(tree))
        return np.average(votes == labels[rows], weights=weights)

    naive = np.empty((n_draws, 3))
    for k, feature in enumerate(features):
        for t in range(n_draws):
            shuffled = codes.copy()
            shuffled[feature, rows] = codes[feature, rng.permutation(rows)]
            naive[t, k] = weigh_right(codes) - weigh_right(shuffled)
    native = np.array([measure(tree, codes, labels, rows, features, 1, t, optional_weights) for t in range(n_draws)])
    error = np.sqrt((naive.var(axis=0) + native.var(axis=0)) / n_draws)
    assert (np.abs(naive.mean(axis=0) - native.mean(axis=0)) <= 4 * error).all()
    np.testing.assert_allclose(native.std(axis=0), naive.std(axis=0), rtol=0.15)


def test_permutation_shuffles_the_same_whatever_the_weights():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=(1, 64), dtype=np.uint8)
    labels = rng.choice([-1, 1], 64).astype(np.int8)
    for t in range(10):
        plain = measure(make_stump(0, 1), codes, labels, iteration=t)
        np.testing.assert_array_equal(
            measure(make_stump(0, 1), codes, labels, iteration=t, weights=np.full(64, 0.5)), plain
        )


def test_permutation_counts_the_loss_of_a_heavy_row():
    # Whoever is shuffled, nearly all of the weight is in row 0, right at first: the loss is about 0 or about 1.
    codes, labels = np.array([[0, 1, 1, 1]], dtype=np.uint8), np.array([-1, 1, 1, 1], dtype=np.int8)
    weights = np.array([1e9, 1.0, 1.0, 1.0])
    losses = np.array([measure(make_stump(0, 1), codes, labels, iteration=t, weights=weights)[0] for t in range(40)])
    assert set(np.round(losses, 6)) == {0.0, 1.0}


def test_permutation_losses_count_rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=(1, 30), dtype=np.uint8)
    labels = rng.choice([-1, 1], 30).astype(np.int8)
    losses = np.array([measure(make_stump(0, 1), codes, labels, iteration=t)[0] for t in range(50)])
    np.testing.assert_allclose(losses * 30, np.round(losses * 30), atol=1e-9)


def test_permutation_gives_negative_losses_to_a_feature_that_misleads():
    codes = np.array([[0, 1] * 20], dtype=np.uint8)
    assert measure(make_stump(0, 1), codes, np.array([1, -1] * 20, dtype=np.int8))[0] < 0


def test_permutation_shuffles_among_the_given_rows_only():
    # Inside the rows the feature is constant: no shuffle can change a vote. Outside it is not.
    codes = np.array([[0] * 20 + [1] * 20], dtype=np.uint8)
    labels = np.array([1, -1] * 20, dtype=np.int8)
    for t in range(20):
        assert measure(make_stump(0, 1), codes, labels, rows=np.arange(20), iteration=t).tolist() == [0.0]


def test_permutation_depends_on_seed_and_iteration_alone():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(1, 400), dtype=np.uint8)
    labels = np.where(codes[0], 1, -1).astype(np.int8)
    draws = [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1)]
    eight_times = np.zeros(8, dtype=np.int64)
    losses = [
        tuple(measure(make_stump(0, 1), codes, labels, features=eight_times, seed=s, iteration=t)) for s, t in draws
    ]
    assert losses[0] == losses[1]
    assert len(set(losses)) == 4
    assert len(set(losses[0])) > 1  # each feature has a shuffle of its own


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"rows": np.array([0, 10])}, "row that does not exist", id="row too large"),
        pytest.param({"rows": np.array([-1])}, "row that does not exist", id="negative row"),
        pytest.param({"rows": np.empty(0, dtype=np.int64)}, "between 1 and", id="no rows"),
        pytest.param({"features": np.array([2])}, "column that does not exist", id="feature too large"),
        pytest.param({"labels": np.ones(9, dtype=np.int8)}, "one entry per row", id="few labels"),
        pytest.param({"weights": np.ones(9)}, "one entry per row of the patch", id="few weights"),
        pytest.param({"weights": np.zeros(10)}, "positive", id="zero weights"),
        pytest.param({"weights": np.full(10, np.inf)}, "finite", id="infinite weights"),
    ],
)
def test_permutation_rejects_wrong_arguments(change, message):
    arguments = {"tree": make_stump(0, 1), "codes": np.zeros((2, 10), dtype=np.uint8), "labels": np.ones(10, np.int8)}
    with pytest.raises(ValueError, match=message):
        measure(**(arguments | change))


def test_permutation_rejects_a_tree_of_more_columns():
    with pytest.raises(ValueError, match="column that does not exist"):
        measure(make_stump(2, 3), np.zeros((2, 10), dtype=np.uint8), np.ones(10, dtype=np.int8))


def draw_classes(rng, signal):
    return np.where(rng.random(len(signal)) < 0.2, rng.integers(4, size=len(signal)), signal // 100).astype(np.uint16)


def draw_numbers(rng, signal):
    return signal / 100 + rng.normal(size=len(signal))


KINDS = {
    "classes": (draw_classes, lambda: _native.ClassGrower(3, 3, np.arange(6, dtype=np.uint16)), np.equal),
    "numbers": (draw_numbers, lambda: _native.ValueGrower(3, 3), lambda value, label: -((value - label) ** 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
@pytest.mark.parametrize(("draw", "make_grower", "judge"), KINDS.values(), ids=KINDS.keys())
def test_permutation_judges_classes_and_numbers_as_the_naive_twin_on_average(draw, make_grower, judge, weighted):
    rng = np.random.default_rng(0)
    n_rows, n_draws = 80, 400
    codes = rng.integers(200, size=(4, 120), dtype=np.uint8)
    labels = draw(rng, codes[1].astype(int) + codes[2])
    codes[rng.random(codes.shape) < 0.1] = MISSING
    rows, features = rng.permutation(120)[:n_rows], np.array([2, 0, 1])
    weights = 10.0 ** rng.uniform(-1, 1, n_rows) if weighted else None
    tree = make_grower().grow(as_columns(codes), rows, features, labels, weights).tree
    splits, values = read_splits(tree), tree.leaf_values

    def average(codes):
        return np.average(judge(values[find_leaves(splits, codes[:, rows])], labels[rows]), weights=weights)

    naive = np.empty((n_draws, 3))
    for k, feature in enumerate(features):
        for t in range(n_draws):
            shuffled = codes.copy()
            shuffled[feature, rows] = codes[feature, rng.permutation(rows)]
            naive[t, k] = average(codes) - average(shuffled)
    native = np.array([measure(tree, codes, labels, rows, features, 1, t, weights) for t in range(n_draws)])
    error = np.sqrt((naive.var(axis=0) + native.var(axis=0)) / n_draws)
    assert (np.abs(naive.mean(axis=0) - native.mean(axis=0)) <= 4 * error).all()
    assert (naive.mean(axis=0)[[0, 2]] > 10 * error[[0, 2]]).all()
