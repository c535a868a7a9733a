"""Weighted draws without replacement: held to a twin with the same random numbers, and to their law."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mpboost import _native

OBSERVATIONS, FEATURES = _native.Purpose.OBSERVATIONS, _native.Purpose.FEATURES
MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def mix(z: np.ndarray) -> np.ndarray:
    """Finalize as splitmix64 does; z is an array of uint64, which wraps around silently."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def make_uniforms(n_items: int, seed: int, iteration: int, purpose: int) -> np.ndarray:
    """Make the numbers in (0, 1) that items get; a function of seed, iteration, purpose and item."""

    def as_array(*numbers: int) -> np.ndarray:
        return np.array([number & MASK for number in numbers], dtype=np.uint64)

    state = mix(as_array(seed + STEP))
    state = mix(state + as_array(iteration + STEP))
    state = mix(state + as_array(purpose))
    bits = mix(state + np.arange(1, n_items + 1, dtype=np.uint64) * np.uint64(STEP))
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def race_naively(log_weights: np.ndarray, n: int, seed: int, iteration: int, purpose: int) -> list[int]:
    """Take the n items with the smallest Exp(1) / weight, compared by their logarithms; weight zero comes last."""
    u = make_uniforms(len(log_weights), seed, iteration, purpose)
    log_times = np.log(-np.log(u))
    is_zero = ~(log_weights > -np.inf)
    keys = np.where(is_zero, log_times, log_times - np.where(is_zero, 0.0, log_weights))
    return sorted(np.lexsort((keys, is_zero))[:n].tolist())


def draw(log_weights, n, *, seed=0, iteration=0, purpose=OBSERVATIONS, threads=None):
    log_weights = np.asarray(log_weights, dtype=np.float64)
    return _native.race(log_weights, n, seed, iteration, purpose, threads or _native.Threads(1))


WEIGHTS = {
    "equal": lambda rng, size: np.full(size, -3.0),
    "mild": lambda rng, size: rng.normal(size=size),
    "wide": lambda rng, size: rng.normal(scale=300.0, size=size),
    "sorted up": lambda rng, size: np.sort(rng.normal(scale=5.0, size=size)),
    "sorted down": lambda rng, size: -np.sort(rng.normal(scale=5.0, size=size)),
    "some zero": lambda rng, size: np.where(rng.random(size) < 0.5, -np.inf, rng.normal(size=size)),
    "some NaN": lambda rng, size: np.where(rng.random(size) < 0.5, np.nan, rng.normal(size=size)),
    "mostly zero": lambda rng, size: np.where(rng.random(size) < 0.97, -np.inf, rng.normal(size=size)),
    # Some items stand out where a sample of every k-th item would see them all, or none of them.
    "few heavy": lambda rng, size: np.where(rng.random(size) < 0.002, 12.0, rng.normal(size=size)),
    "every 16th heavy": lambda rng, size: np.where(np.arange(size) % 16 == 0, 9.0, rng.normal(size=size)),
    "every 16th light": lambda rng, size: np.where(np.arange(size) % 16 == 0, -90.0, rng.normal(size=size)),
    "every 16th zero": lambda rng, size: np.where(np.arange(size) % 16 == 0, -np.inf, rng.normal(size=size)),
    "one far above": lambda rng, size: np.where(np.arange(size) == size - 1, 1e6, rng.normal(size=size)),
    "one far below": lambda rng, size: np.where(np.arange(size) == 0, -1e6, rng.normal(size=size)),
    "one immense": lambda rng, size: np.where(np.arange(size) == size // 2, 1e308, rng.normal(size=size)),
    "two clusters": lambda rng, size: np.where(rng.random(size) < 0.1, 4000.0, 0.0) + rng.normal(size=size),
    "outputs of votes": lambda rng, size: -np.logaddexp(0.0, rng.integers(-300, 600, size=size)),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize(
    ("size", "n"),
    [(1, 1), (5, 2), (64, 64), (100, 63), (1000, 1), (1000, 100), (1000, 999), (50_000, 500), (50_000, 3000)],
)
def test_race_matches_naive_twin(kernels, threads, weights, size, n):
    log_weights = weights(np.random.default_rng(0), size)
    for seed, iteration, purpose in [(0, 0, 1), (2**63 + 5, 1, 2), (MASK, 10**9, 1)]:
        items = draw(log_weights, n, seed=seed, iteration=iteration, purpose=_native.Purpose(purpose), threads=threads)
        assert items.tolist() == race_naively(log_weights, n, seed, iteration, purpose)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("n", [1, 500, 5000])
def test_race_is_the_same_for_any_number_of_threads(threads, weights, n):
    log_weights = weights(np.random.default_rng(0), 100_001)  # four ranges of at most 32 768
    expected = draw(log_weights, n, threads=threads)
    for n_threads in (2, 4):
        np.testing.assert_array_equal(draw(log_weights, n, threads=_native.Threads(n_threads)), expected)


@pytest.mark.parametrize(
    "weights", [WEIGHTS[kind] for kind in ("equal", "mild", "wide", "two clusters", "outputs of votes")]
)
@pytest.mark.parametrize(("size", "n"), [(1, 1), (100, 63), (1000, 1), (50_000, 500)])
def test_log_arrivals_are_those_of_the_race(kernels, threads, weights, size, n):
    log_weights = weights(np.random.default_rng(0), size)
    for seed, iteration, purpose in [(0, 0, OBSERVATIONS), (2**63 + 5, 7, FEATURES)]:
        stream = seed, iteration, purpose
        arrivals = _native.log_arrivals(log_weights, np.arange(size), *stream)
        u = make_uniforms(size, seed, iteration, {OBSERVATIONS: 1, FEATURES: 2}[purpose])
        np.testing.assert_allclose(arrivals, np.log(-np.log(u)) - log_weights, rtol=1e-13, atol=1e-13)
        winners = np.sort(np.argsort(arrivals)[:n])
        np.testing.assert_array_equal(_native.race(log_weights, n, *stream, threads), winners)


def test_log_arrivals_do_not_depend_on_who_is_asked_about(kernels):
    log_weights = np.random.default_rng(0).normal(size=300)
    arrivals = _native.log_arrivals(log_weights, np.arange(300), 1, 2, OBSERVATIONS)
    items = np.random.default_rng(1).integers(300, size=77)
    np.testing.assert_array_equal(_native.log_arrivals(log_weights, items, 1, 2, OBSERVATIONS), arrivals[items])
    assert len(_native.log_arrivals(log_weights, items[:0], 1, 2, OBSERVATIONS)) == 0


def test_log_arrivals_of_no_weight_are_never():
    assert _native.log_arrivals(np.array([0.0, -np.inf]), np.array([1]), 1, 2, OBSERVATIONS).tolist() == [np.inf]


@pytest.mark.parametrize("item", [-1, 3, 2**62])
def test_log_arrivals_reject_items_that_do_not_exist(item):
    with pytest.raises(ValueError, match="no such item"):
        _native.log_arrivals(np.zeros(3), np.array([0, item]), 1, 2, OBSERVATIONS)


@given(
    st.lists(st.floats(), min_size=1, max_size=80),
    st.integers(0, 80),
    st.integers(0, MASK),
    st.integers(0, MASK),
    st.sampled_from([OBSERVATIONS, FEATURES]),
)
def test_race_draws_distinct_items_whatever_the_weights(log_weights, n, seed, iteration, purpose):
    n = min(n, len(log_weights))
    items = draw(log_weights, n, seed=seed, iteration=iteration, purpose=purpose)
    assert items.dtype == np.int64
    assert len(items) == n
    assert (np.diff(items) > 0).all()
    assert all(0 <= i < len(log_weights) for i in items)
    positive = np.flatnonzero(np.array(log_weights) > -np.inf)
    drawn_positive = np.isin(positive, items).sum()
    assert drawn_positive == min(n, len(positive))


@pytest.mark.parametrize("size", [1, 10, 1000, 40_000])
def test_race_draws_nothing_or_everything(threads, size):
    log_weights = np.random.default_rng(0).normal(size=size)
    assert draw(log_weights, 0, threads=threads).tolist() == []
    assert draw(log_weights, size, threads=threads).tolist() == list(range(size))


def test_race_takes_no_items():
    assert draw([], 0).tolist() == []


@pytest.mark.parametrize(("size", "n"), [(0, 1), (3, 4), (3, -1), (3, -(2**63)), (3, 2**63 - 1)])
def test_race_rejects_wrong_numbers(size, n):
    with pytest.raises(ValueError, match="more items than there are"):
        draw(np.zeros(size), n)


def find_successive_probabilities(weights, n):
    """Find the probability of each set of n items: the sum over all orders in which they can be drawn."""
    probabilities = dict.fromkeys(itertools.combinations(range(len(weights)), n), 0.0)
    for order in itertools.permutations(range(len(weights)), n):
        left = [sum(weights) - sum(weights[i] for i in order[:k]) for k in range(n)]
        probabilities[tuple(sorted(order))] += math.prod(weights[i] / rest for i, rest in zip(order, left, strict=True))
    return probabilities


@pytest.mark.parametrize("shift", [0.0, -3000.0, 3000.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_race_has_the_law_of_successive_draws(threads, n, shift):
    weights = [0.5, 0.25, 0.15, 0.07, 0.03]
    expected = find_successive_probabilities(weights, n)
    log_weights = np.log(weights) + shift
    n_draws = 20_000
    counts = dict.fromkeys(expected, 0)
    for t in range(n_draws):
        items = _native.race(log_weights, n, 17, t, OBSERVATIONS, threads)
        counts[tuple(items.tolist())] += 1
    result = stats.chisquare(list(counts.values()), n_draws * np.array(list(expected.values())))
    assert result.pvalue > 1e-3


def test_race_has_the_same_law_over_seeds(threads):
    weights = [0.5, 0.25, 0.15, 0.07, 0.03]
    expected = find_successive_probabilities(weights, 2)
    counts = dict.fromkeys(expected, 0)
    for seed in range(20_000):
        counts[tuple(_native.race(np.log(weights), 2, seed, 1, FEATURES, threads).tolist())] += 1
    assert stats.chisquare(list(counts.values()), 20_000 * np.array(list(expected.values()))).pvalue > 1e-3


@pytest.mark.parametrize(
    ("size", "n_heavy", "n", "odds", "n_draws", "n_threads"),
    [
        pytest.param(1000, 300, 100, 5.0, 3000, 1, id="1000 items"),
        pytest.param(1000, 50, 700, 2.0, 3000, 1, id="most items drawn"),
        pytest.param(100_000, 20_000, 1000, 3.0, 150, 2, id="100 000 items, two threads"),
    ],
)
def test_race_draws_heavy_items_as_often_as_successive_draws(size, n_heavy, n, odds, n_draws, n_threads):
    # With two weights the number of heavy items drawn one by one has Wallenius' distribution.
    log_weights = np.zeros(size)
    heavy = np.random.default_rng(0).permutation(size)[:n_heavy]
    log_weights[heavy] = math.log(odds)
    is_heavy = log_weights > 0
    several = _native.Threads(n_threads)
    counts = [is_heavy[_native.race(log_weights, n, 5, t, OBSERVATIONS, several)].sum() for t in range(n_draws)]
    law = stats.nchypergeom_wallenius(size, n_heavy, n, odds)
    assert abs(np.mean(counts) - law.mean()) < 4 * law.std() / math.sqrt(n_draws)
    spread = np.var(counts) / law.var() * n_draws
    assert stats.chi2(n_draws - 1).cdf(spread) == pytest.approx(0.5, abs=0.499)


@pytest.mark.parametrize("log_weight", [0.0, -5000.0, 1e10, 1e20, -1e20, -np.inf, np.nan])
def test_race_is_uniform_over_equal_items(threads, log_weight):
    size, n, n_draws = 500, 25, 4000
    counts = np.zeros(size)
    for t in range(n_draws):
        counts[_native.race(np.full(size, log_weight), n, 11, t, OBSERVATIONS, threads)] += 1
    share = n / size
    statistic = np.sum((counts - n_draws * share) ** 2) / (n_draws * share * (1 - share)) * (size - 1) / size
    assert 1e-3 < stats.chi2(size - 1).cdf(statistic) < 1 - 1e-3


def test_race_draws_zero_weights_uniformly_once_the_others_are_in(threads):
    log_weights = np.array([-np.inf, 2.0, np.nan, -7.0, -np.inf, -np.inf])
    counts = np.zeros(6)
    for t in range(8000):
        counts[_native.race(log_weights, 3, 1, t, OBSERVATIONS, threads)] += 1
    assert counts[[1, 3]].tolist() == [8000, 8000]
    assert stats.chisquare(counts[[0, 2, 4, 5]]).pvalue > 1e-3


STREAMS = {
    "iterations": ({"iteration": 1}, {"iteration": 2}),
    "seeds": ({"seed": 1}, {"seed": 2}),
    "distant seeds": ({"seed": 1}, {"seed": 2**63 + 1}),
    "purposes": ({"purpose": OBSERVATIONS}, {"purpose": FEATURES}),
    "seed and iteration exchanged": ({"seed": 1, "iteration": 2}, {"seed": 2, "iteration": 1}),
}


@pytest.mark.parametrize("streams", STREAMS.values(), ids=STREAMS.keys())
def test_race_draws_independently(streams):
    # Two independent draws share a number of items that is hypergeometric, with mean 250 and deviation 13.7.
    first, second = (draw(np.zeros(10_000), 1581, **stream) for stream in streams)
    n_shared = len(np.intersect1d(first, second))
    assert 1e-4 < stats.hypergeom(10_000, 1581, 1581).cdf(n_shared) < 1 - 1e-4


@pytest.mark.slow
def test_race_draws_of_successive_iterations_overlap_as_chance_says(threads):
    draws = [_native.race(np.zeros(200), 20, 3, t, OBSERVATIONS, threads) for t in range(4001)]
    shared = [len(np.intersect1d(a, b, assume_unique=True)) for a, b in itertools.pairwise(draws)]
    law = stats.hypergeom(200, 20, 20)
    assert abs(np.mean(shared) - law.mean()) < 4 * law.std() / math.sqrt(len(shared))


@pytest.mark.parametrize("iteration", range(20))
def test_race_always_draws_an_item_5000_nats_above(threads, iteration):
    log_weights = np.random.default_rng(iteration).normal(size=50_000)
    log_weights[[123, 49_999]] += 5000.0
    assert {123, 49_999} <= set(draw(log_weights, 2 + iteration, iteration=iteration, threads=threads).tolist())


@pytest.mark.parametrize(
    "log_weights",
    [
        pytest.param(np.linspace(-50_000, 50_000, 101), id="steps of 1000"),
        pytest.param(-np.logspace(3, 308, 306)[::-1], id="down to -1e308"),
        pytest.param(np.logspace(3, 308, 306), id="up to 1e308"),
        pytest.param(np.array([-np.inf, -1e308, -1.0, 1e4, 1e308]), id="mixed"),
    ],
)
def test_race_takes_the_heaviest_where_weights_are_far_apart(threads, log_weights):
    order = np.random.default_rng(0).permutation(len(log_weights))
    shuffled = log_weights[order]
    for n in range(len(log_weights) + 1):
        items = draw(shuffled, n, iteration=n, threads=threads)
        np.testing.assert_array_equal(np.sort(shuffled[items]), log_weights[len(log_weights) - n :])


@pytest.mark.parametrize("log_weight", [1e308, -1e308, 1.7e308, 5e-324])
def test_race_draws_from_equal_weights_of_any_size(threads, log_weight):
    items = draw(np.full(1000, log_weight), 100, threads=threads)
    assert len(np.unique(items)) == 100
