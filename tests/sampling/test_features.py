"""The distribution of features: its update, and draws from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost.sampling.features import FeatureSampler


def make_sampler(n_features=6, n_drawn=3, *, momentum=0.5, exploration=0.0, adaptive=True, seed=0):
    return FeatureSampler(n_features, n_drawn, momentum=momentum, exploration=exploration, adaptive=adaptive, seed=seed)


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
    np.testing.assert_array_equal(sampler.sample(range(20), threads), fresh.sample(range(20), threads))


def count_draws(sampler, threads, n_draws=4000):
    counts = np.zeros(len(sampler.probabilities))
    for features in sampler.sample(range(n_draws), threads):
        counts[features] += 1
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
    np.testing.assert_array_equal(sampler.sample(range(20), threads), fresh.sample(range(20), threads))


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
    assert sampler.sample(range(1, 2), threads)[0].tolist() in ([0, 3, 4], [0, 3, 5], [0, 4, 5], [3, 4, 5])
