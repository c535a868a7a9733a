"""Draws of rows: their weights, unseen rows beside them, and classes that must not be missing."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from mpboost import _native
from mpboost.sampling.observations import ObservationSampler, complete_classes
from mpboost.sampling.questions import Labels
from mpboost.sampling.weights import LogWeights


def ask(log_weights, sample_weights=None):
    """Ask about numbers, of which any rows will do."""
    return Labels(np.zeros(len(log_weights)), LogWeights(log_weights), sample_weights, are_classes=False)


def test_observation_sampler_sees_changes_of_its_weights(threads):
    log_weights = np.zeros(100)
    sampler, question = ObservationSampler(5, seed=0), ask(log_weights)
    assert sampler.sample(range(1, 2), [question], threads)[0].rows.tolist() != [10, 20, 30, 40, 50]
    log_weights[[10, 20, 30, 40, 50]] = 1000.0
    assert sampler.sample(range(1, 2), [question], threads)[0].rows.tolist() == [10, 20, 30, 40, 50]


def test_observation_sampler_gives_rows_that_are_sure_to_be_drawn_their_weights(threads):
    log_weights, weights = np.array([0.0, -2000.0, 0.0]), np.array([2.0, 1e-300, 0.5])
    draw = ObservationSampler(3, seed=0).sample(range(1, 2), [ask(log_weights, weights)], threads)[0]
    assert draw.weights[[0, 2]].tolist() == [2.0, 0.5]


def test_observation_sampler_ends_a_draw_when_so_many_copies_are_in(threads):
    weights = np.array([20.0] * 10 + [1e-9] * 90)
    sampler, question = ObservationSampler(50, seed=0), ask(np.log(weights), weights)
    for t in range(1, 20):
        rows = sampler.sample(range(t, t + 1), [question], threads)[0].rows
        assert 3 <= len(rows) <= 10  # no light row is there to fill up
        assert rows.max() < 10
        assert sorted({*rows}) == rows.tolist()


def test_observation_sampler_of_light_and_heavy_rows_draws_copies_at_even_rates(threads):
    weights = np.array([3.0] * 100 + [1.0] * 300)
    sampler, question = ObservationSampler(80, seed=0), ask(np.log(weights), weights)
    sums = np.zeros(2)
    for t in range(300):
        draw = sampler.sample(range(t, t + 1), [question], threads)[0]
        np.add.at(sums, (draw.rows >= 100).astype(int), draw.weights)
    assert sums.sum() / 300 == pytest.approx(80, abs=1.5)
    assert sums[0] / sums[1] == pytest.approx(1.0, abs=0.05)


def test_observation_sampler_keeps_weights_within_nine_digits(threads):
    weights = np.array([1.0, 1e-300])
    draw = ObservationSampler(2, seed=0).sample(range(1, 2), [ask(np.log(weights), weights)], threads)[0]
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
        rows, unseen, weights = both.sample(range(t, t + 1), [question], threads)[0]
        assert (len(rows), len(unseen)) == (n_drawn, n_unseen)
        assert (np.diff(rows) > 0).all()
        assert (np.diff(unseen) > 0).all()
        assert not set(rows) & set(unseen)
        expected = alone.sample(range(t, t + 1), [question], threads)[0]
        assert (rows.tolist(), expected.unseen.tolist()) == (expected.rows.tolist(), [])
        assert weights is None


@pytest.mark.parametrize("n_drawn", [1, 20, 60, 90, 100])
def test_observation_sampler_draws_unseen_rows_of_weights(threads, n_drawn):
    weights = 10.0 ** np.random.default_rng(0).uniform(-2, 2, 100)
    log_weights = np.log(weights) + np.random.default_rng(1).normal(size=100)
    alone, both = (ObservationSampler(n_drawn, 7, each) for each in (False, True))
    question, n_short = ask(log_weights, weights), 0
    for t in range(30):
        rows, unseen, patch_weights = both.sample(range(t, t + 1), [question], threads)[0]
        assert 1 <= len(rows) <= n_drawn
        assert len(unseen) == min(len(rows), 100 - len(rows))
        assert not set(rows) & set(unseen)
        arrivals = _native.log_arrivals(log_weights, np.arange(100), 7, t, _native.Purpose.OBSERVATIONS)
        order = np.argsort(arrivals)
        assert [*rows, *unseen] == [*np.sort(order[: len(rows)]), *np.sort(order[len(rows) : 2 * len(rows)])]
        expected = alone.sample(range(t, t + 1), [question], threads)[0]
        assert rows.tolist() == expected.rows.tolist()
        assert patch_weights.tolist() == expected.weights.tolist()
        n_short += len(rows) < n_drawn
    assert (n_short > 0) == (1 < n_drawn < 100)


@pytest.mark.parametrize("draws_unseen", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("are_classes", [False, True])
def test_observation_sampler_draws_a_round_as_its_iterations(threads, are_classes, weighted, draws_unseen):
    rng = np.random.default_rng(0)
    weights = 10.0 ** rng.uniform(-1, 1, 200) if weighted else None
    labels = np.where(rng.random(200) < 0.02, 1, -1).astype(np.int8)
    question = Labels(labels, LogWeights(rng.normal(size=200)), weights, are_classes)
    sampler = ObservationSampler(20, 3, draws_unseen)
    iterations = range(4, 9)
    for t, draw in zip(iterations, sampler.sample(iterations, [question] * 5, threads), strict=True):
        (expected,) = sampler.sample(range(t, t + 1), [question], threads)
        assert draw.rows.tolist() == expected.rows.tolist()
        assert draw.unseen.tolist() == expected.unseen.tolist()
        assert (draw.weights is None) == (not weighted)
        np.testing.assert_array_equal(draw.weights, expected.weights)


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
    drawn = [sampler.sample(range(t, t + 1), [question], threads)[0] for t in range(n_draws)]
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
    whatever, classes = (Labels(labels, LogWeights(log_weights), None, are_classes) for are_classes in (False, True))
    drawn, completed = (sampler.sample(range(1, 2), [question], threads)[0] for question in (whatever, classes))
    assert len(completed.rows) == 4
    assert 19 in completed.rows
    assert not set(completed.rows) & set(completed.unseen)
    if 19 in drawn.rows:
        assert completed.rows.tolist() == drawn.rows.tolist()
    else:
        assert len(set(completed.rows) - set(drawn.rows)) == 1
        assert set(completed.unseen) == set(drawn.unseen) - {19}


def test_complete_classes_breaks_ties_by_numbers_that_rows_draw():
    # A row's number does not depend on which other rows are tied.
    labels = np.repeat([1, -1], [3, 40]).astype(np.int8)
    rows, all_rows = np.arange(3), np.arange(43)
    for iteration in range(50):
        log_weights = np.zeros(43)
        draws = _native.log_arrivals(log_weights, all_rows, 0, iteration, _native.Purpose.COMPLETION)
        fewer = np.sort(np.random.default_rng(iteration).permutation(np.arange(3, 43))[:10])
        log_weights[fewer] = 1.0  # only these are the likeliest
        completed = complete_classes(rows, Labels(labels, log_weights), 0, iteration)
        kept = np.delete(rows, draws[rows].argmin())
        assert completed.tolist() == [*kept, fewer[draws[fewer].argmin()]]
