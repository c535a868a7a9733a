"""Importances by the splits of a tree on rows that it never saw, held to a naive twin."""

import threading

import numpy as np
import pytest

from mpboost import _native
from mpboost.learners.splits import SPLIT_DTYPE
from tests.support.native.naive_importance import credit_splits, judge_splits, normalise, sum_gains
from tests.support.native.naive_tree import (
    MISSING,
    as_columns,
    make_random_codes,
    make_random_sets,
    make_random_splits,
    make_tree,
    read_sets,
    read_splits,
)

pytestmark = pytest.mark.slow


def draw_signs(rng, signal):
    return np.where(signal + rng.normal(scale=40, size=len(signal)) > 250, 1, -1).astype(np.int8)


def draw_classes(rng, signal):
    return np.where(rng.random(len(signal)) < 0.2, rng.integers(4, size=len(signal)), signal // 130).astype(np.uint16)


def draw_numbers(rng, signal):
    return signal / 100 + rng.normal(size=len(signal))


KINDS = {
    "signs": (draw_signs, lambda: _native.BinaryGrower(0, 1, 1.0)),
    "classes": (draw_classes, lambda: _native.ClassGrower(0, 1, np.arange(4, dtype=np.uint16))),
    "numbers": (draw_numbers, lambda: _native.ValueGrower(0, 1)),
}
all_kinds = pytest.mark.parametrize(("draw", "make_grower"), KINDS.values(), ids=KINDS.keys())


def make_patch(draw, rng, n_rows=60, n_all=200, n_unseen=70, missing=0.15):
    """Make codes, labels, the rows and features of a minipatch, and rows outside it."""
    codes = make_random_codes(rng, 5, n_all, missing)
    labels = draw(rng, codes[1].astype(int) + codes[2])
    order = rng.permutation(n_all)
    return codes, labels, order[:n_rows], np.array([2, 0, 1, 4]), order[n_rows : n_rows + n_unseen]


def measure(tree, codes, labels, rows=None, features=None, unseen=None, weights=None):
    everything = np.arange(codes.shape[1])
    rows, unseen = (everything if chosen is None else chosen for chosen in (rows, unseen))
    features = np.arange(len(codes)) if features is None else features
    return _native.unseen_importances(tree, as_columns(codes), rows, features, labels, unseen, weights)[0]


def measure_sizes(tree, codes, labels, rows, unseen, weights=None):
    """Measure gains by the size of nodes."""
    features = np.empty(0, dtype=np.int64)
    return _native.unseen_importances(tree, as_columns(codes), rows, features, labels, unseen, weights)[1]


@all_kinds
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
@pytest.mark.parametrize("is_categorical", [None, np.array([True, False, True, True, True])], ids=["numbers", "sets"])
def test_unseen_importances_of_grown_trees_match_naive_twin(draw, make_grower, weighted, is_categorical):
    rng = np.random.default_rng(0)
    signs = np.zeros(2, dtype=int)
    for _ in range(10):
        codes, labels, rows, features, unseen = make_patch(draw, rng)
        if is_categorical is not None:
            codes = np.where(codes == MISSING, MISSING, codes // 40).astype(np.uint8)
        weights = 10.0 ** rng.uniform(-1, 1, len(rows)) if weighted else None
        tree = make_grower().grow(as_columns(codes), rows, features, labels, weights, is_categorical).tree
        assert (len(tree.category_sets) > 0) == (is_categorical is not None)
        credits = measure(tree, codes, labels, rows, features, unseen, weights)
        naive = judge_splits(read_splits(tree), codes, rows, labels, unseen, weights, read_sets(tree))
        np.testing.assert_allclose(credits, credit_splits(naive, features), rtol=1e-9, atol=1e-9)
        sizes = measure_sizes(tree, codes, labels, rows, unseen, weights)
        np.testing.assert_allclose(sizes, sum_gains(naive), rtol=1e-9, atol=1e-9)
        # What the grower knows of the tree changes no bit.
        patch = as_columns(codes), rows, features, labels, weights, is_categorical, 2
        _, measured = make_grower().grow_round([(*patch, unseen)], _native.Threads(1))[0]
        np.testing.assert_array_equal(measured[0], credits)
        np.testing.assert_array_equal(measured[1], sizes)
        signs += (credits < 0).any(), (credits > 0).any()
    assert (signs > 0).all()  # there was something to tell apart


@all_kinds
@pytest.mark.parametrize("n_threads", [1, 3])
def test_grow_round_grows_the_trees_of_grow_side_by_side(draw, make_grower, n_threads):
    rng = np.random.default_rng(0)
    grower, threads = make_grower(), _native.Threads(n_threads)
    codes, labels, *_ = make_patch(draw, rng)
    columns, draws = as_columns(codes), [make_patch(draw, rng)[2:] for _ in range(7)]
    patches = [(columns, rows, features, labels, None, None, 2, unseen) for rows, features, unseen in draws]
    patches[3] = (*patches[3][:-1], np.empty(0, dtype=np.int64))
    for place, (grown, measured) in enumerate(grower.grow_round(patches, threads)):
        rows, features, unseen = draws[place]
        expected = grower.grow(columns, rows, features, labels)
        np.testing.assert_array_equal(grown.tree.splits, expected.tree.splits)
        np.testing.assert_array_equal(grown.importances, expected.importances)
        assert (measured is None) == (place == 3)
        if measured is not None:
            np.testing.assert_array_equal(measured[0], measure(grown.tree, codes, labels, rows, features, unseen))


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, None, "columns"),
        (1, np.array([200]), "row that does not exist"),
        (2, np.array([5]), "column that does not exist"),
        (3, np.ones(3, dtype=np.int8), "one entry per row"),
        (4, np.ones(3), "one entry per row"),
        (7, np.array([200]), "unseen row"),
    ],
    ids=["columns", "row", "feature", "labels", "weights", "unseen"],
)
def test_grow_round_rejects_wrong_arguments(threads, place, wrong, message):
    codes, labels, rows, features, unseen = make_patch(draw_signs, np.random.default_rng(0))
    right = as_columns(codes), rows, features, labels, None, None, 2, unseen
    with pytest.raises(ValueError, match=message):
        _native.BinaryGrower(0, 1, 1.0).grow_round([right, (*right[:place], wrong, *right[place + 1 :])], threads)


@pytest.mark.slow
@all_kinds
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
@pytest.mark.parametrize("shape", ["random", "left", "right"])
def test_unseen_importances_of_foreign_trees_match_naive_twin(draw, make_grower, weighted, shape):
    # Trees that were not grown on the minipatch: many splits have all of its rows on one side.
    rng = np.random.default_rng(1)
    n_credited = 0
    for _ in range(20):
        codes, labels, rows, features, unseen = make_patch(draw, rng)
        splits = make_random_splits(rng, int(rng.integers(1, 40)), 5, shape, categorical=0.4)
        sets = make_random_sets(rng, splits)
        tree = make_tree(splits, np.ones(len(splits) + 1), 5, sets)
        weights = 10.0 ** rng.uniform(-1, 1, len(rows)) if weighted else None
        credits = measure(tree, codes, labels, rows, features, unseen, weights)
        naive = judge_splits(splits, codes, rows, labels, unseen, weights, sets)
        np.testing.assert_allclose(credits, credit_splits(naive, features), rtol=1e-9, atol=1e-9)
        sizes = measure_sizes(tree, codes, labels, rows, unseen, weights)
        np.testing.assert_allclose(sizes, sum_gains(naive), rtol=1e-9, atol=1e-9)
        n_credited += credits.any()
    assert n_credited > 5


@all_kinds
def test_unseen_importances_on_the_minipatch_itself_are_the_impurity_importances(draw, make_grower):
    rng = np.random.default_rng(2)
    for _ in range(20):
        codes, labels, rows, features, _ = make_patch(draw, rng)
        grown = make_grower().grow(as_columns(codes), rows, features, labels)
        credits = measure(grown.tree, codes, labels, rows, features, rows)
        assert credits.min() >= -1e-9
        np.testing.assert_allclose(normalise(credits), grown.importances, rtol=1e-6, atol=1e-9)


@all_kinds
def test_splits_keep_on_the_minipatch_itself_what_they_promise(draw, make_grower):
    rng = np.random.default_rng(2)
    codes, labels, rows, features, _ = make_patch(draw, rng, missing=0.0)
    tree = make_grower().grow(as_columns(codes), rows, features, labels).tree
    promised, kept, squares = measure_sizes(tree, codes, labels, rows, rows).T
    assert np.flatnonzero(promised).tolist() == [1, 2, 3, 4, 5]  # nodes of 2 to 60 rows
    np.testing.assert_allclose(kept, promised, rtol=1e-9, atol=1e-12)
    assert (squares[1:6] > 0).all()


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-200, 2.0**200, 2.0**300, -1.0], ids=str)
def test_shares_that_splits_keep_do_not_depend_on_the_unit_of_numbers(unit):
    rng = np.random.default_rng(4)
    codes, labels, rows, features, unseen = make_patch(draw_numbers, rng)
    tree = KINDS["numbers"][1]().grow(as_columns(codes), rows, features, labels).tree
    one, other = (measure_sizes(tree, codes, y, rows, unseen)[1:6] for y in (labels, unit * labels))
    for k in (1, 2):
        np.testing.assert_allclose(one[:, k] / one[:, 0] ** k, other[:, k] / other[:, 0] ** k, rtol=1e-9)


@all_kinds
def test_unseen_importances_do_not_depend_on_the_order_of_rows(draw, make_grower):
    rng = np.random.default_rng(3)
    codes, labels, rows, features, unseen = make_patch(draw, rng)
    weights = 10.0 ** rng.uniform(-1, 1, len(rows))
    tree = make_grower().grow(as_columns(codes), rows, features, labels, weights).tree
    expected = measure(tree, codes, labels, rows, features, unseen, weights)
    for _ in range(10):
        order = rng.permutation(len(rows))
        credits = measure(tree, codes, labels, rows[order], features, rng.permutation(unseen), weights[order])
        np.testing.assert_allclose(credits, expected, rtol=1e-9, atol=1e-12)


@all_kinds
def test_unseen_importances_do_not_depend_on_the_scale_of_weights(draw, make_grower):
    rng = np.random.default_rng(4)
    codes, labels, rows, features, unseen = make_patch(draw, rng)
    weights = 10.0 ** rng.uniform(-1, 1, len(rows))
    tree = make_grower().grow(as_columns(codes), rows, features, labels, weights).tree
    patch = tree, codes, labels, rows, features, unseen
    expected = measure(*patch, weights)
    for scale in (1e-150, 0.25, 1e150):
        np.testing.assert_allclose(measure(*patch, scale * weights), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(measure(*patch, np.full(len(rows), 0.5)), measure(*patch), rtol=1e-9, atol=1e-12)


def test_unseen_importances_do_not_depend_on_the_unit_of_numbers():
    rng = np.random.default_rng(4)
    codes, labels, rows, features, unseen = make_patch(draw_numbers, rng)
    tree = KINDS["numbers"][1]().grow(as_columns(codes), rows, features, labels).tree
    credits = measure(tree, codes, labels, rows, features, unseen)
    for unit in (2.0**-1000, 2.0**-500, 2.0**-290, 2.0**300, -1.0):
        scaled = measure(tree, codes, unit * labels, rows, features, unseen)
        np.testing.assert_allclose(normalise(scaled), normalise(credits), rtol=1e-12)
    shifted = measure(tree, codes, labels + 1e6, rows, features, unseen)
    np.testing.assert_allclose(shifted, credits, rtol=1e-6, atol=1e-6)


def make_stump(feature=0, n_features=1, bin=0):
    splits = np.array([(feature, ~0, ~1, -1, bin, 0, 0)], dtype=SPLIT_DTYPE)
    return make_tree(splits, np.array([-1.0, 1.0]), n_features)


# Four rows of a minipatch, two on each side; then two unseen rows on the left and one on the right.
CODES = np.array([[0, 0, 1, 1, 0, 0, 1]], dtype=np.uint8)
BY_HAND = {
    # Means: 0 before, -1 and +1 after. Left: a move of 1 towards -1, twice; right: a move of 1 away from -1.
    "signs": (np.array([-1, -1, 1, 1, -1, -1, -1], dtype=np.int8), 2.0 - 1.0),
    # Means: 0.5 before, 0 and 1 after.
    "signs, one side mixed": (np.array([-1, 1, 1, 1, -1, 1, 1], dtype=np.int8), 0.5 - 0.5 + 0.5),
    # Shares of class 0: 1/2 before, 1 and 0 after; of class 5: 1/4 before, 0 and 1/2 after; of class 7 none.
    "classes": (np.array([0, 0, 5, 6, 0, 5, 7], dtype=np.uint16), 0.5 - 0.25 + 0.0),
    # Means: 3 before, 1 and 5 after. From 3, the mean of all: moves of -2, towards -3 and -2, and of 2, towards -1.
    "numbers": (np.array([0.0, 2.0, 4.0, 6.0, 0.0, 1.0, 2.0]), 6.0 + 4.0 - 2.0),
}


@pytest.mark.parametrize(("labels", "expected"), BY_HAND.values(), ids=BY_HAND.keys())
def test_unseen_importances_by_hand(labels, expected):
    credits = measure(make_stump(), CODES, labels, np.arange(4), unseen=np.arange(4, 7))
    assert credits.tolist() == [pytest.approx(expected, abs=1e-12)]


@all_kinds
def test_unseen_importances_without_unseen_rows_are_zero(draw, make_grower):
    codes, labels, rows, features, unseen = make_patch(draw, np.random.default_rng(5))
    tree = make_grower().grow(as_columns(codes), rows, features, labels).tree
    assert measure(tree, codes, labels, rows, features, unseen[:0]).tolist() == [0.0] * 4


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float64])
def test_unseen_importances_of_a_tree_without_splits_are_zero(dtype):
    tree = make_tree(np.empty(0, dtype=SPLIT_DTYPE), np.ones(1), 2)
    codes = np.zeros((2, 5), dtype=np.uint8)
    assert measure(tree, codes, np.ones(5, dtype=dtype), np.arange(3), unseen=np.arange(3, 5)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float64])
def test_unseen_importances_of_a_patch_of_one_class_are_zero(dtype):
    # Whatever the split, both sides say what the node said.
    labels = np.array([1, 1, 1, 1, 3, 1, 3], dtype=dtype)
    assert measure(make_stump(), CODES, labels, np.arange(4), unseen=np.arange(4, 7)).tolist() == [0.0]


def test_unseen_importances_say_nothing_where_the_minipatch_is_on_one_side():
    labels = np.array([-1, 1, -1, 1, -1, 1, 1], dtype=np.int8)
    assert measure(make_stump(), CODES, labels, np.array([0, 1]), unseen=np.arange(2, 7)).tolist() == [0.0]


def test_unseen_importances_count_only_the_features_that_are_asked_for():
    rng = np.random.default_rng(6)
    codes, labels, rows, features, unseen = make_patch(draw_signs, rng)
    tree = KINDS["signs"][1]().grow(as_columns(codes), rows, features, labels).tree
    every = measure(tree, codes, labels, rows, np.arange(5), unseen)
    assert every[3] == 0.0  # not in the minipatch
    some = np.array([4, 1, 1])
    assert measure(tree, codes, labels, rows, some, unseen).tolist() == every[some].tolist()


def test_unseen_importances_of_a_misleading_feature_are_negative():
    rng = np.random.default_rng(7)
    codes = rng.integers(2, size=(2, 100), dtype=np.uint8)
    labels = np.where(codes[0], 1, -1).astype(np.int8)
    labels[50:] *= -1
    credits = measure(make_stump(0, 2), codes, labels, np.arange(50), unseen=np.arange(50, 100))
    assert credits[0] < -10
    assert credits[1] == 0.0


def test_unseen_importances_expect_nothing_of_noise():
    # On the minipatch a tree finds fault with no split of its own; on other rows noise gains as often as it loses.
    rng = np.random.default_rng(8)
    seen, unseen = [], []
    for _ in range(300):
        codes = rng.integers(255, size=(1, 80), dtype=np.uint8)
        labels = rng.choice([-1, 1], 80).astype(np.int8)
        tree = _native.BinaryGrower(0, 1, 1.0).grow(as_columns(codes), np.arange(40), np.arange(1), labels).tree
        seen.append(measure(tree, codes, labels, np.arange(40), unseen=np.arange(40))[0])
        unseen.append(measure(tree, codes, labels, np.arange(40), unseen=np.arange(40, 80))[0])
    assert min(seen) > 20
    assert abs(np.mean(unseen)) < 4 * np.std(unseen) / np.sqrt(300)


@all_kinds
def test_unseen_importances_that_cancel_leave_no_rest_of_rounding(draw, make_grower):
    rng = np.random.default_rng(9)
    n_cancelled = 0
    for _ in range(100):
        codes = rng.integers(4, size=(3, 30), dtype=np.uint8)
        labels = rng.choice([-1, 1], 30) if draw is draw_signs else rng.integers(3, size=30)
        labels = labels.astype(draw(rng, np.zeros(1, dtype=int)).dtype)
        rows, unseen = np.arange(14), np.arange(14, 18)
        tree = make_grower().grow(as_columns(codes), rows, np.arange(3), labels).tree
        naive = credit_splits(judge_splits(read_splits(tree), codes, rows, labels, unseen), np.arange(3))
        credits = measure(tree, codes, labels, rows, unseen=unseen)
        used = np.unique(read_splits(tree)["feature"])
        assert (credits == 0).tolist() == (naive == 0).tolist()
        n_cancelled += np.count_nonzero(naive[used] == 0)
    assert n_cancelled > 10


@pytest.mark.slow
def test_unseen_importances_of_a_deep_chain_need_no_deep_stack():
    # Every split takes one row off; each feature does so for 254 of them. Only the last row is 1, and so is the unseen
    # one, which follows it: the mean of k rows is 1 / k, and moves telescope.
    n_features = 79
    depth = 254 * n_features
    assert depth > 20_000
    codes = np.full((n_features, depth + 2), 254, dtype=np.uint8)
    levels = np.arange(depth)
    codes[levels // 254, levels] = levels % 254
    splits = np.zeros(depth, dtype=SPLIT_DTYPE)
    splits["feature"], splits["bin"], splits["categories"] = levels // 254, levels % 254, -1
    splits["left"], splits["right"] = ~levels, np.append(levels[1:], ~depth)
    tree = make_tree(splits, np.zeros(depth + 1), n_features)
    labels = np.zeros(depth + 2)
    labels[-2:] = 1.0
    results = []

    def run():
        results.append(measure(tree, codes, labels, np.arange(depth + 1), unseen=np.array([depth + 1])))

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    means = 1 / (depth + 1 - 254 * np.arange(n_features + 1))
    np.testing.assert_allclose(results[0], (means[1:] - means[:-1]) * (1 - means[0]), rtol=1e-6, atol=1e-12)


GOOD = {
    "codes": np.zeros((2, 10), dtype=np.uint8),
    "labels": np.ones(10, dtype=np.int8),
    "unseen": np.array([3]),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"unseen": np.array([0, 10])}, "no such unseen row", id="unseen row too large"),
        pytest.param({"unseen": np.array([-1])}, "no such unseen row", id="negative unseen row"),
        pytest.param({"rows": np.array([0, 10])}, "row that does not exist", id="row too large"),
        pytest.param({"rows": np.array([-1])}, "row that does not exist", id="negative row"),
        pytest.param({"rows": np.empty(0, dtype=np.int64)}, "between 1 and", id="no rows"),
        pytest.param({"features": np.array([2])}, "column that does not exist", id="feature too large"),
        pytest.param({"features": np.array([-1])}, "column that does not exist", id="negative feature"),
        pytest.param({"labels": np.ones(9, dtype=np.int8)}, "one entry per row", id="few labels"),
        pytest.param({"weights": np.ones(9)}, "one entry per row of the patch", id="few weights"),
        pytest.param({"weights": np.zeros(10)}, "positive", id="zero weights"),
        pytest.param({"weights": np.full(10, np.nan)}, "positive", id="weights that are no numbers"),
        pytest.param({"weights": np.full(10, np.inf)}, "finite", id="infinite weights"),
    ],
)
def test_unseen_importances_reject_wrong_arguments(change, message):
    measure(make_stump(0, 2), **GOOD)
    with pytest.raises(ValueError, match=message):
        measure(make_stump(0, 2), **(GOOD | change))


def test_unseen_importances_reject_a_tree_of_more_columns():
    with pytest.raises(ValueError, match="column that does not exist"):
        measure(make_stump(2, 3), **GOOD)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8, bool])
def test_unseen_importances_reject_labels_of_another_type(dtype):
    with pytest.raises(TypeError):
        measure(make_stump(0, 2), **(GOOD | {"labels": np.ones(10, dtype=dtype)}))


@all_kinds
@pytest.mark.parametrize("kind", ["categories", "missing"])
def test_unseen_importances_of_noise_cancel_out(draw, make_grower, kind):
    # Labels are skewed, so that a side that is heavier is often purer, too: rows that go with it as their category, or
    # their missing value, was not among the rows of the minipatch must not be to its credit.
    rng = np.random.default_rng(1)
    credits = []
    for _ in range(300):
        labels = draw(rng, rng.integers(200, 400, size=400))
        codes = rng.integers(200, size=(1, 400), dtype=np.uint8)
        if kind == "missing":
            codes[:, 40:][rng.random((1, 360)) < 0.5] = MISSING
        rows, unseen, features = np.arange(40), np.arange(40, 400), np.zeros(1, dtype=np.int64)
        is_categorical = np.array([kind == "categories"])
        tree = make_grower().grow(as_columns(codes), rows, features, labels, None, is_categorical).tree
        credits.append(measure(tree, codes, labels, rows, features, unseen)[0])
    assert abs(np.mean(credits)) < 4 * np.std(credits) / np.sqrt(len(credits))
