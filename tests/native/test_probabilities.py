"""Step 4b of Algorithm 1 in native code: the distribution over features and the weights of its draws."""

import numpy as np
import pytest

from mpboost import _native


def move(q, items, targets, momentum, exploration=0.0):
    log_weights = np.full(len(q), -99.0)
    _native.move_probabilities(q, log_weights, np.asarray(items), np.asarray(targets), momentum, exploration)
    return log_weights


@pytest.mark.parametrize("exploration", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("momentum", [0.0, 0.25, 1.0])
def test_move_probabilities_matches_naive_twin(momentum, exploration):
    rng = np.random.default_rng(0)
    for n in (1, 2, 10, 300):
        q = rng.dirichlet(np.ones(n))
        items = rng.permutation(n)[: max(1, n // 3)]
        targets = rng.dirichlet(np.ones(len(items)))
        expected = q.copy()
        for k, j in enumerate(items):
            expected[j] = (1 - momentum) * q[j] + momentum * q[items].sum() * targets[k]
        log_weights = move(q, items, targets, momentum, exploration)
        np.testing.assert_allclose(q, expected, rtol=1e-14)
        drawn_from = (1 - exploration) * expected + exploration / n
        np.testing.assert_allclose(log_weights[items], np.log(drawn_from[items]), rtol=1e-13, atol=1e-14)
        assert (np.delete(log_weights, items) == -99.0).all()


def test_move_probabilities_gives_no_weight_to_what_is_lost():
    q = np.array([0.5, 0.5])
    assert move(q, [0, 1], [1.0, 0.0], momentum=1.0).tolist() == [0.0, -np.inf]
    assert q.tolist() == [1.0, 0.0]


def test_move_probabilities_does_nothing_if_all_targets_are_zero():
    q = np.array([0.5, 0.3, 0.2])
    assert move(q, [0, 2], [0.0, 0.0], momentum=0.5).tolist() == [-99.0, -99.0, -99.0]
    assert q.tolist() == [0.5, 0.3, 0.2]


def test_move_probabilities_takes_no_items():
    q = np.array([0.5, 0.5])
    assert move(q, np.empty(0, dtype=np.int64), np.empty(0), 0.5).tolist() == [-99.0, -99.0]
    assert q.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"log_weights": np.zeros(2)}, "one size", id="few log-weights"),
        pytest.param({"targets": np.zeros(1)}, "needs a target", id="few targets"),
        pytest.param({"targets": np.zeros(3)}, "needs a target", id="many targets"),
        pytest.param({"items": np.array([0, 3])}, "no such item", id="item too large"),
        pytest.param({"items": np.array([0, -1])}, "no such item", id="negative item"),
    ],
)
def test_move_probabilities_rejects_wrong_arguments(change, message):
    arguments = {
        "probabilities": np.full(3, 1 / 3),
        "log_weights": np.zeros(3),
        "items": np.array([0, 1]),
        "targets": np.array([0.5, 0.5]),
        "momentum": 0.5,
        "exploration": 0.0,
    }
    with pytest.raises(ValueError, match=message):
        _native.move_probabilities(**(arguments | change))


# Importances that are remembered


def remember_naively(items, importances, sums, counts):
    if not importances.any():
        return np.zeros(len(items))
    sums[items] += importances
    counts[items] += 1
    means = np.maximum(sums[items] / counts[items], 0.0)
    return means / means.sum() if means.sum() > 0 else means


def test_move_to_means_matches_naive_twin():
    rng = np.random.default_rng(0)
    q, log_weights = np.full(20, 1 / 20), np.full(20, -99.0)
    sums, counts = np.zeros(20), np.zeros(20, dtype=np.int64)
    naive = [array.copy() for array in (q, log_weights, sums, counts)]
    for _ in range(50):
        items = np.sort(rng.choice(20, 9, replace=False))
        importances = rng.normal(-0.2, size=9) * rng.integers(2)
        _native.move_to_means(q, log_weights, items, importances, sums, counts, 0.3, 0.1)
        targets = remember_naively(items, importances, *naive[2:])
        _native.move_probabilities(*naive[:2], items, targets, 0.3, 0.1)
        for array, expected in zip((q, log_weights), naive[:2], strict=True):
            np.testing.assert_allclose(array, expected, rtol=1e-13)
        np.testing.assert_array_equal(sums, naive[2])
        np.testing.assert_array_equal(counts, naive[3])


def test_move_to_means_stays_if_no_mean_is_positive():
    q, log_weights = np.full(3, 1 / 3), np.zeros(3)
    sums, counts = np.zeros(3), np.zeros(3, dtype=np.int64)
    _native.move_to_means(q, log_weights, np.array([0, 2]), np.array([-1.0, 0.0]), sums, counts, 0.5, 0.0)
    assert (q.tolist(), log_weights.tolist()) == ([1 / 3] * 3, [0.0] * 3)
    assert (sums.tolist(), counts.tolist()) == ([-1.0, 0.0, 0.0], [1, 0, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": np.array([0, 3])}, "no such item"),
        ({"importances": np.ones(3)}, "needs an importance"),
        ({"counts": np.zeros(2, dtype=np.int64)}, "one size"),
        ({"sums": np.zeros(2)}, "one size"),
        ({"log_weights": np.zeros(2)}, "one size"),
    ],
    ids=["item", "importances", "counts", "sums", "log-weights"],
)
def test_move_to_means_rejects_wrong_arguments(change, message):
    arguments = {"items": np.array([0, 2]), "importances": np.ones(2), "sums": np.zeros(3)}
    arguments |= {"probabilities": np.full(3, 1 / 3), "log_weights": np.zeros(3), "momentum": 0.5, "exploration": 0.0}
    with pytest.raises(ValueError, match=message):
        _native.move_to_means(**({"counts": np.zeros(3, dtype=np.int64)} | arguments | change))


def test_add_to_adds_values_to_the_sums_of_their_items():
    sums = np.array([1.0, 2.0, 3.0, 4.0])
    _native.add_to(sums, np.array([3, 0]), np.array([0.5, -1.0]))
    assert sums.tolist() == [0.0, 2.0, 3.0, 4.5]


@pytest.mark.parametrize(
    ("items", "values", "message"),
    [
        pytest.param([0, 1], [1.0], "needs a value", id="few values"),
        pytest.param([0, 4], [1.0, 1.0], "no such item", id="item too large"),
        pytest.param([-1], [1.0], "no such item", id="negative item"),
    ],
)
def test_add_to_rejects_what_does_not_match(items, values, message):
    with pytest.raises(ValueError, match=message):
        _native.add_to(np.zeros(4), np.array(items), np.array(values))
