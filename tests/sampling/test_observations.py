"""The distributions: sizes of minipatches, the update of q, and draws."""

from collections import Counter
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from mpboost import _native
from mpboost.sampling.draws import probabilities_from_logs
from mpboost.sampling.features import FeatureSampler
from mpboost.sampling.observations import ObservationSampler
from mpboost.sampling.questions import Labels
from mpboost.sampling.sizes import (
    CLASSIFIER_SIZES,
    REGRESSOR_SIZES,
    AutoFeatures,
    AutoRows,
    count_most_rows,
    count_patch_features,
    count_patch_rows,
)


def ask(log_weights, sample_weights=None):
    """Ask about numbers, of which any rows will do."""
    return Labels(np.zeros(len(log_weights)), log_weights, sample_weights, are_classes=False)


def make_sampler(n_features=6, n_drawn=3, *, momentum=0.5, exploration=0.0, adaptive=True, seed=0):
    return FeatureSampler(n_features, n_drawn, momentum=momentum, exploration=exploration, adaptive=adaptive, seed=seed)


@pytest.mark.parametrize(
    ("max_samples", "n_samples", "expected"),
    [
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
def test_count_patch_rows_follows_the_table(max_samples, n_samples, expected):
    rows = count_patch_rows(max_samples, n_samples)
    assert (type(rows), rows) == (int, expected)


ROOTS, SHARE = AutoRows(roots=8.0, most=2000, growth=4), AutoRows(share=0.3, most=500)


@pytest.mark.parametrize(
    ("auto", "n_samples", "expected", "most"),
    [
        pytest.param(ROOTS, 1, 1, 1, id="never less than one"),
        pytest.param(ROOTS, 2, 1, 1, id="one of two"),
        pytest.param(ROOTS, 199, 59, 99, id="three tenths, and at most half, of 199"),
        pytest.param(ROOTS, 400, 120, 200, id="three tenths, and at most half"),
        pytest.param(ROOTS, 10_000, 800, 2000, id="eight roots, and at most 2000"),
        pytest.param(ROOTS, 3600, 480, 1800, id="eight roots, and at most half of 3600"),
        pytest.param(AutoRows(roots=8.0, growth=4), 10_000, 800, 3200, id="eight roots, and four times as many"),
        pytest.param(ROOTS, 10**9, 2000, 2000, id="at most 2000"),
        pytest.param(SHARE, 3, 1, 1, id="a share is at least one"),
        pytest.param(SHARE, 1000, 300, 300, id="a share does not grow"),
        pytest.param(SHARE, 10**6, 500, 500, id="a share of at most 500"),
    ],
)
def test_count_patch_rows_by_itself_stays_within_bounds(auto, n_samples, expected, most):
    rows = count_patch_rows("auto", n_samples, auto), count_most_rows(n_samples, auto)
    assert (type(rows[0]), type(rows[1]), rows) == (int, int, (expected, most))


@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [
        pytest.param("sqrt", 784, 28, id="sqrt"),
        pytest.param(0.5, 5, 2, id="share rounds down"),
        pytest.param(0.01, 5, 1, id="a share is at least one feature"),
        pytest.param(5, 5, 5, id="all as a number"),
    ],
)
def test_count_patch_features_follows_the_table(max_features, n_features, expected):
    features = count_patch_features(max_features, n_features)
    assert (type(features), features) == (int, expected)


@pytest.mark.parametrize(
    ("n_features", "expected"),
    [
        pytest.param(1, 1, id="one"),
        pytest.param(8, 8, id="all of 8"),
        pytest.param(15, 8, id="8 of a few more"),
        pytest.param(31, 15, id="half of 31"),
        pytest.param(90, 20, id="at least 20"),
        pytest.param(180, 36, id="a fifth"),
        pytest.param(1000, 60, id="at most 60"),
    ],
)
def test_count_patch_features_by_itself_stays_within_bounds(n_features, expected):
    features = count_patch_features("auto", n_features, AutoFeatures(0.2, least=20, least_share=0.5, most=60))
    assert (type(features), features) == (int, expected)


@pytest.mark.parametrize("sizes", [CLASSIFIER_SIZES, REGRESSOR_SIZES], ids=["classifier", "regressor"])
def test_count_patch_sizes_grow_with_the_data(sizes):
    rows = [count_patch_rows("auto", n, sizes.rows) for n in range(1, 100_000, 17)]
    features = [count_patch_features("auto", n, sizes.features) for n in range(1, 2000)]
    assert all(1 <= small <= large for small, large in pairwise(rows))
    assert all(1 <= small <= large for small, large in pairwise(features))
    assert all(size <= n for n, size in enumerate(features, start=1))
    assert all(size <= max(1, n // 2) for n, size in zip(range(1, 100_000, 17), rows, strict=True))


@pytest.mark.parametrize(("find", "name"), [(count_patch_rows, "max_samples"), (count_patch_features, "max_features")])
def test_count_patch_rejects_more_than_there_are(find, name):
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
    sampler, question = ObservationSampler(5, seed=0), ask(log_weights)
    assert sampler.sample(1, question, threads).rows.tolist() != [10, 20, 30, 40, 50]
    log_weights[[10, 20, 30, 40, 50]] = 1000.0
    assert sampler.sample(1, question, threads).rows.tolist() == [10, 20, 30, 40, 50]


def test_observation_sampler_gives_rows_that_are_sure_to_be_drawn_their_weights(threads):
    log_weights, weights = np.array([0.0, -2000.0, 0.0]), np.array([2.0, 1e-300, 0.5])
    draw = ObservationSampler(3, seed=0).sample(1, ask(log_weights, weights), threads)
    assert draw.weights[[0, 2]].tolist() == [2.0, 0.5]


def test_observation_sampler_ends_a_draw_when_so_many_copies_are_in(threads):
    weights = np.array([20.0] * 10 + [1e-9] * 90)
    sampler, question = ObservationSampler(50, seed=0), ask(np.log(weights), weights)
    for t in range(1, 20):
        rows = sampler.sample(t, question, threads).rows
        assert 3 <= len(rows) <= 10  # no light row is there to fill up
        assert rows.max() < 10
        assert sorted({*rows}) == rows.tolist()


def test_observation_sampler_of_light_and_heavy_rows_draws_copies_at_even_rates(threads):
    weights = np.array([3.0] * 100 + [1.0] * 300)
    sampler, question = ObservationSampler(80, seed=0), ask(np.log(weights), weights)
    sums = np.zeros(2)
    for t in range(300):
        draw = sampler.sample(t, question, threads)
        np.add.at(sums, (draw.rows >= 100).astype(int), draw.weights)
    assert sums.sum() / 300 == pytest.approx(80, abs=1.5)
    assert sums[0] / sums[1] == pytest.approx(1.0, abs=0.05)


def test_observation_sampler_keeps_weights_within_nine_digits(threads):
    weights = np.array([1.0, 1e-300])
    draw = ObservationSampler(2, seed=0).sample(1, ask(np.log(weights), weights), threads)
    assert draw.rows.tolist() == [0, 1]  # all rows, where all are asked for
    assert draw.weights.tolist() == pytest.approx([1.0, 1e-9])


@pytest.mark.parametrize(
    ("n_drawn", "n_samples", "n_unseen"),
    [
        pytest.param(1, 2, 1, id="one of two"),
        pytest.param(10, 100, 10, id="as many again"),
        pytest.param(50, 100, 50, id="all others"),
        pytest.param(70, 100, 30, id="all that are left"),
        pytest.param(100, 100, 0, id="none is left"),
    ],
)
def test_observation_sampler_draws_as_many_unseen_rows_as_are_left(threads, n_drawn, n_samples, n_unseen):
    question = ask(np.random.default_rng(0).normal(size=n_samples))
    alone, both = (ObservationSampler(n_drawn, seed=7, draws_unseen=each) for each in (False, True))
    for t in range(30):
        rows, unseen, weights = both.sample(t, question, threads)
        assert (len(rows), len(unseen)) == (n_drawn, n_unseen)
        assert (np.diff(rows) > 0).all()
        assert (np.diff(unseen) > 0).all()
        assert not set(rows) & set(unseen)
        expected = alone.sample(t, question, threads)
        assert (rows.tolist(), expected.unseen.tolist()) == (expected.rows.tolist(), [])
        assert weights is None


@pytest.mark.parametrize("n_drawn", [1, 20, 60, 90, 100])
def test_observation_sampler_draws_unseen_rows_of_weights(threads, n_drawn):
    weights = 10.0 ** np.random.default_rng(0).uniform(-2, 2, 100)
    log_weights = np.log(weights) + np.random.default_rng(1).normal(size=100)
    alone, both = (ObservationSampler(n_drawn, 7, each) for each in (False, True))
    question, n_short = ask(log_weights, weights), 0
    for t in range(30):
        rows, unseen, patch_weights = both.sample(t, question, threads)
        assert 1 <= len(rows) <= n_drawn
        assert len(unseen) == min(len(rows), 100 - len(rows))
        assert not set(rows) & set(unseen)
        arrivals = _native.log_arrivals(log_weights, np.arange(100), 7, t, _native.Purpose.OBSERVATIONS)
        order = np.argsort(arrivals)
        assert [*rows, *unseen] == [*np.sort(order[: len(rows)]), *np.sort(order[len(rows) : 2 * len(rows)])]
        expected = alone.sample(t, question, threads)
        assert rows.tolist() == expected.rows.tolist()
        assert patch_weights.tolist() == expected.weights.tolist()
        n_short += len(rows) < n_drawn
    assert (n_short > 0) == (1 < n_drawn < 100)


def chance_of(drawn, weights):
    """Give the probability that these are the first to arrive among all that have weights."""
    total, chance = sum(weights.values()), 0.0
    for order in permutations(drawn):
        left, product = total, 1.0
        for i in order:
            product *= weights[i] / left
            left -= weights[i]
        chance += product
    return chance


def test_observation_sampler_draws_unseen_rows_as_a_fresh_draw_from_the_rest(threads):
    weights = dict(enumerate([1.0, 2.0, 3.0, 4.0, 1.5, 0.8]))
    sampler, question = ObservationSampler(2, seed=0, draws_unseen=True), ask(np.log(list(weights.values())))
    n_draws = 20_000
    drawn = [sampler.sample(t, question, threads) for t in range(n_draws)]
    counts = Counter((tuple(draw.rows.tolist()), tuple(draw.unseen.tolist())) for draw in drawn)
    fresh, uniform, observed = [], [], []
    for rows in combinations(range(6), 2):
        rest = {i: weight for i, weight in weights.items() if i not in rows}
        for unseen in combinations(rest, 2):
            fresh.append(n_draws * chance_of(rows, weights) * chance_of(unseen, rest))
            uniform.append(n_draws * chance_of(rows, weights) / 6)
            observed.append(counts[rows, unseen])
    assert sum(observed) == n_draws
    assert min(fresh) > 5
    assert chisquare(observed, fresh).pvalue > 0.001
    assert chisquare(observed, uniform).pvalue < 1e-9  # so that the test has the power to fail


@pytest.mark.parametrize("seed", range(20))
def test_observation_sampler_completes_classes_and_judges_by_others(threads, seed):
    labels, log_weights = np.repeat([-1, 1], [19, 1]).astype(np.int8), np.zeros(20)
    sampler = ObservationSampler(4, seed=seed, draws_unseen=True)
    whatever, classes = (Labels(labels, log_weights, None, are_classes) for are_classes in (False, True))
    drawn, completed = (sampler.sample(1, question, threads) for question in (whatever, classes))
    assert len(completed.rows) == 4
    assert 19 in completed.rows
    assert not set(completed.rows) & set(completed.unseen)
    if 19 in drawn.rows:
        assert completed.rows.tolist() == drawn.rows.tolist()
    else:
        assert len(set(completed.rows) - set(drawn.rows)) == 1
        assert set(completed.unseen) == set(drawn.unseen) - {19}


def test_samplers_draw_by_their_own_purposes(threads):
    rows, question = ObservationSampler(10, seed=4), ask(np.zeros(50))
    features = make_sampler(50, 10, seed=4)
    for t in (1, 2):
        drawn = rows.sample(t, question, threads).rows.tolist(), features.sample(t, threads).tolist()
        purposes = _native.Purpose.OBSERVATIONS, _native.Purpose.FEATURES
        assert drawn == tuple(_native.race(np.zeros(50), 10, 4, t, each, threads).tolist() for each in purposes)
        assert drawn[0] != drawn[1]


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
