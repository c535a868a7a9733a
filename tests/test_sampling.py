"""The distributions: sizes of minipatches, the update of q, and draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost import _native
from mpboost.sampling import (
    REGRESSOR_SIZES,
    FeatureSampler,
    ObservationSampler,
    find_patch_features,
    find_patch_rows,
    probabilities_from_logs,
)


def make_sampler(n_features=6, n_drawn=3, *, momentum=0.5, exploration=0.0, adaptive=True, seed=0):
    return FeatureSampler(n_features, n_drawn, momentum=momentum, exploration=exploration, adaptive=adaptive, seed=seed)


@pytest.mark.parametrize(
    ("max_samples", "n_samples", "expected"),
    [
        pytest.param("auto", 1, 1, id="auto: never less than one"),
        pytest.param("auto", 2, 1, id="auto: half of two"),
        pytest.param("auto", 199, 99, id="auto: half of 199"),
        pytest.param("auto", 200, 100, id="auto: half of 200"),
        pytest.param("auto", 999, 499, id="auto: half of 999"),
        pytest.param("auto", 4999, 500, id="auto: at least 500"),
        pytest.param("auto", 5010, 501, id="auto: a tenth"),
        pytest.param("auto", 50_000, 5000, id="auto: a tenth of 50 000"),
        pytest.param("auto", 10**9, 5000, id="auto: at most 5000"),
        pytest.param("sqrt", 99, 9, id="sqrt rounds down"),
        pytest.param("sqrt", 1, 1, id="sqrt of one"),
        pytest.param(0.25, 100, 25, id="share"),
        pytest.param(0.001, 100, 1, id="a share is at least one row"),
        pytest.param(1.0, 100, 100, id="all as a share"),
        pytest.param(np.float64(0.25), 100, 25, id="share as a NumPy double"),
        pytest.param(np.float32(0.25), 100, 25, id="share as a NumPy single"),
        pytest.param(1, 100, 1, id="the number 1 is one row"),
        pytest.param(100, 100, 100, id="all as a number"),
        pytest.param(np.int32(7), 100, 7, id="NumPy integer"),
    ],
)
def test_find_patch_rows_follows_the_table(max_samples, n_samples, expected):
    rows = find_patch_rows(max_samples, n_samples)
    assert (type(rows), rows) == (int, expected)


@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [
        pytest.param("auto", 1, 1, id="auto: one"),
        pytest.param("auto", 8, 8, id="auto: all of 8"),
        pytest.param("auto", 39, 8, id="auto: at least 8"),
        pytest.param("auto", 49, 9, id="auto: a fifth rounds down"),
        pytest.param("auto", 180, 36, id="auto: a fifth"),
        pytest.param("auto", 501, 100, id="auto: at most 100"),
        pytest.param("auto", 100_000, 100, id="auto: at most 100, of very many"),
        pytest.param("sqrt", 784, 28, id="sqrt"),
        pytest.param(0.5, 5, 2, id="share rounds down"),
        pytest.param(0.01, 5, 1, id="a share is at least one feature"),
        pytest.param(5, 5, 5, id="all as a number"),
    ],
)
def test_find_patch_features_follows_the_table(max_features, n_features, expected):
    features = find_patch_features(max_features, n_features)
    assert (type(features), features) == (int, expected)


@pytest.mark.parametrize(("n_samples", "expected"), [(1, 1), (3, 1), (10, 3), (1000, 300), (10**6, 20_000)])
def test_find_patch_rows_of_a_regressor_is_three_tenths(n_samples, expected):
    assert find_patch_rows("auto", n_samples, REGRESSOR_SIZES.rows) == expected


@pytest.mark.parametrize(("n_features", "expected"), [(1, 1), (25, 25), (60, 25), (90, 30), (10**4, 100)])
def test_find_patch_features_of_a_regressor_is_a_third(n_features, expected):
    assert find_patch_features("auto", n_features, REGRESSOR_SIZES.features) == expected


@pytest.mark.parametrize(("find", "name"), [(find_patch_rows, "max_samples"), (find_patch_features, "max_features")])
def test_find_patch_rejects_more_than_there_are(find, name):
    with pytest.raises(ValueError, match=f"{name}=11 is more than the 10"):
        find(11, 10)


def test_feature_sampler_starts_uniform():
    assert make_sampler(8).probabilities.tolist() == [1 / 8] * 8


def test_feature_sampler_moves_q_as_step_4_says():
    # r = 3/6, and q_j = 0.75 / 6 + 0.25 r I_j inside the patch.
    sampler = make_sampler(momentum=0.25)
    sampler.update(np.array([0, 2, 5]), np.array([0.6, 0.4, 0.0]))
    expected = [0.125 + 0.075, 1 / 6, 0.125 + 0.05, 1 / 6, 1 / 6, 0.125]
    np.testing.assert_allclose(sampler.probabilities, expected, rtol=1e-15)


@given(
    st.lists(st.tuples(st.permutations(range(6)), st.lists(st.floats(0, 1), min_size=3, max_size=3)), max_size=30),
    st.floats(0, 1),
)
def test_feature_sampler_keeps_the_mass_of_the_patch(updates, momentum):
    sampler = make_sampler(momentum=momentum)
    for order, weights in updates:
        features, importances = np.sort(order[:3]), np.array(weights)
        total = importances.sum()
        importances = importances / total if total > 1e-300 else np.zeros(3)
        before = sampler.probabilities.copy()
        sampler.update(features, importances)
        after = sampler.probabilities
        assert after[features].sum() == pytest.approx(before[features].sum(), abs=1e-14)
        np.testing.assert_array_equal(np.delete(after, features), np.delete(before, features))
        assert (after >= 0).all()


def test_feature_sampler_without_momentum_stays():
    sampler = make_sampler(momentum=0.0)
    sampler.update(np.array([0, 1, 2]), np.array([1.0, 0.0, 0.0]))
    assert sampler.probabilities.tolist() == [1 / 6] * 6


def test_feature_sampler_with_full_momentum_takes_the_importances():
    sampler = make_sampler(momentum=1.0)
    sampler.update(np.array([0, 1, 2]), np.array([0.75, 0.25, 0.0]))
    np.testing.assert_allclose(sampler.probabilities, [0.375, 0.125, 0.0, 1 / 6, 1 / 6, 1 / 6], rtol=1e-15)


@pytest.mark.parametrize("momentum", [0.5, 1.0])
def test_feature_sampler_leaves_q_alone_without_importances(momentum):
    sampler = make_sampler(momentum=momentum)
    sampler.update(np.array([0, 1, 2]), np.zeros(3))
    assert sampler.probabilities.tolist() == [1 / 6] * 6


def test_feature_sampler_stays_uniform_if_it_does_not_adapt(threads):
    sampler, fresh = make_sampler(adaptive=False), make_sampler()
    sampler.update(np.array([0, 1, 2]), np.array([1.0, 0.0, 0.0]))
    assert sampler.probabilities.tolist() == [1 / 6] * 6
    for t in range(20):
        assert sampler.sample(t, threads).tolist() == fresh.sample(t, threads).tolist()


def count_draws(sampler, threads, n_draws=4000):
    counts = np.zeros(len(sampler.probabilities))
    for t in range(n_draws):
        counts[sampler.sample(t, threads)] += 1
    return counts / n_draws


def test_feature_sampler_draws_single_features_from_q(threads):
    sampler = make_sampler(4, 1, momentum=1.0)
    sampler.update(np.arange(4), np.array([0.6, 0.3, 0.1, 0.0]))
    np.testing.assert_allclose(count_draws(sampler, threads), [0.6, 0.3, 0.1, 0.0], atol=0.03)


def test_feature_sampler_explores_uniformly(threads):
    sampler = make_sampler(4, 1, momentum=1.0, exploration=0.4)
    sampler.update(np.arange(4), np.array([0.6, 0.3, 0.1, 0.0]))
    np.testing.assert_allclose(count_draws(sampler, threads), [0.46, 0.28, 0.16, 0.1], atol=0.03)
    np.testing.assert_allclose(sampler.probabilities, [0.6, 0.3, 0.1, 0.0], atol=1e-15)


def test_feature_sampler_draws_uniformly_at_full_exploration(threads):
    sampler, fresh = make_sampler(exploration=1.0, momentum=1.0), make_sampler()
    sampler.update(np.array([0, 1, 2]), np.array([1.0, 0.0, 0.0]))
    for t in range(20):
        assert sampler.sample(t, threads).tolist() == fresh.sample(t, threads).tolist()


def test_feature_sampler_fills_the_patch_when_q_has_collapsed(threads):
    sampler = make_sampler(6, 3, momentum=1.0)
    for features in ([0, 1, 2], [0, 3, 4], [0, 1, 5]):
        sampler.update(np.array(features), np.array([1.0, 0.0, 0.0]))
    assert sampler.probabilities.tolist() == pytest.approx([1.0, 0, 0, 0, 0, 0])
    counts = count_draws(sampler, threads, 1000)
    assert counts[0] == 1.0
    np.testing.assert_allclose(counts[1:], 0.4, atol=0.08)


def test_feature_sampler_survives_probabilities_below_the_normal_ones(threads):
    sampler = make_sampler(6, 3, momentum=0.9)
    for _ in range(400):
        sampler.update(np.array([0, 1, 2]), np.array([1.0, 0.0, 0.0]))
    assert 0.0 <= sampler.probabilities[1] < np.finfo(float).tiny
    assert sampler.sample(1, threads).tolist() in ([0, 3, 4], [0, 3, 5], [0, 4, 5], [3, 4, 5])


def test_observation_sampler_sees_changes_of_its_weights(threads):
    log_weights = np.zeros(100)
    sampler = ObservationSampler(log_weights, 5, seed=0)
    assert sampler.sample(1, threads).tolist() != [10, 20, 30, 40, 50]
    log_weights[[10, 20, 30, 40, 50]] = 1000.0
    assert sampler.sample(1, threads).tolist() == [10, 20, 30, 40, 50]


def test_observation_sampler_gives_rows_that_are_sure_to_be_drawn_their_weights(threads):
    log_weights, weights = np.array([0.0, -2000.0, 0.0]), np.array([2.0, 1e-300, 0.5])
    sampler = ObservationSampler(log_weights, 3, seed=0, sample_weights=weights)
    rows = sampler.sample(1, threads)
    assert sampler.weigh(rows)[[0, 2]].tolist() == [2.0, 0.5]


def test_observation_sampler_ends_a_draw_when_so_many_copies_are_in(threads):
    weights = np.array([20.0] * 10 + [1e-9] * 90)
    sampler = ObservationSampler(np.log(weights), 50, seed=0, sample_weights=weights)
    for t in range(1, 20):
        rows = sampler.sample(t, threads)
        assert 3 <= len(rows) <= 10  # no light row is there to fill up
        assert rows.max() < 10
        assert sorted({*rows}) == rows.tolist()


def test_observation_sampler_of_light_and_heavy_rows_draws_copies_at_even_rates(threads):
    weights = np.array([3.0] * 100 + [1.0] * 300)
    sampler = ObservationSampler(np.log(weights), 80, seed=0, sample_weights=weights)
    sums = np.zeros(2)
    for t in range(300):
        rows = sampler.sample(t, threads)
        np.add.at(sums, (rows >= 100).astype(int), sampler.weigh(rows))
    assert sums.sum() / 300 == pytest.approx(80, abs=1.5)
    assert sums[0] / sums[1] == pytest.approx(1.0, abs=0.05)


def test_observation_sampler_keeps_weights_within_nine_digits(threads):
    weights = np.array([1.0, 1e-300])
    sampler = ObservationSampler(np.log(weights), 2, seed=0, sample_weights=weights)
    rows = sampler.sample(1, threads)
    assert rows.tolist() == [0, 1]  # all rows, where all are asked for
    assert sampler.weigh(rows).tolist() == pytest.approx([1.0, 1e-9])


def test_samplers_draw_by_their_own_purposes(threads):
    rows = ObservationSampler(np.zeros(50), 10, seed=4)
    features = make_sampler(50, 10, seed=4)
    for t in (1, 2):
        for sampler, purpose in [(rows, _native.Purpose.OBSERVATIONS), (features, _native.Purpose.FEATURES)]:
            expected = _native.race(np.zeros(50), 10, 4, t, purpose, threads)
            assert sampler.sample(t, threads).tolist() == expected.tolist()
        assert rows.sample(t, threads).tolist() != features.sample(t, threads).tolist()


@pytest.mark.parametrize(
    ("log_weights", "expected"),
    [
        pytest.param([0.0, 0.0, 0.0, 0.0], [0.25] * 4, id="equal"),
        pytest.param([np.log(3.0), 0.0], [0.75, 0.25], id="three to one"),
        pytest.param([5000.0 + np.log(3.0), 5000.0], [0.75, 0.25], id="beyond overflow"),
        pytest.param([-5000.0 + np.log(3.0), -5000.0], [0.75, 0.25], id="below underflow"),
        pytest.param([0.0, -5000.0], [1.0, 0.0], id="far apart"),
    ],
)
def test_probabilities_from_logs_normalises(log_weights, expected):
    np.testing.assert_allclose(probabilities_from_logs(np.array(log_weights)), expected, rtol=1e-12)
