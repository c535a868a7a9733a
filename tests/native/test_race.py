"""Weighted draws without replacement: held to a twin with the same random numbers, and to their law."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mpboost import _native
from tests.support.native.naive_race import MASK, make_uniforms, race_naively

OBSERVATIONS, FEATURES = _native.Purpose.OBSERVATIONS, _native.Purpose.FEATURES


def draw(log_weights, n, *, seed=0, iteration=0, purpose=OBSERVATIONS, threads=None):
    log_weights = np.asarray(log_weights, dtype=np.float64)
    return _native.race(log_weights, n, seed, [iteration], purpose, threads or _native.Threads(1))[0]


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
    "some infinite": lambda rng, size: np.where(rng.random(size) < 0.5, np.inf, rng.normal(size=size)),
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
        assert items.tolist() == sorted(race_naively(log_weights, seed, iteration, purpose)[:n].tolist())


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize(
    ("size", "n_first", "n_next"),
    [(1, 1, 0), (1, 0, 1), (5, 2, 3), (100, 30, 70), (1000, 0, 50), (1000, 400, 10), (50_000, 500, 500)],
)
def test_race_round_tells_the_first_items_from_the_next(kernels, threads, weights, size, n_first, n_next):
    log_weights = weights(np.random.default_rng(0), size)
    iterations = np.array([3, 0, 10**9])
    for seed, purpose in [(0, OBSERVATIONS), (MASK, FEATURES)]:
        races = _native.race_round(log_weights, n_first, n_next, seed, iterations, purpose, threads)
        assert len(races) == 3
        for iteration, (first, following) in zip(iterations, races, strict=True):
            order = race_naively(log_weights, seed, int(iteration), 1 if purpose == OBSERVATIONS else 2)
            assert first.tolist() == sorted(order[:n_first].tolist())
            assert following.tolist() == sorted(order[n_first : n_first + n_next].tolist())


def test_race_round_of_no_iterations_is_empty(threads):
    assert _native.race_round(np.zeros(5), 1, 1, 0, np.empty(0, dtype=np.int64), OBSERVATIONS, threads) == []


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_race_round_is_the_same_for_any_number_of_threads_and_iterations(threads, weights):
    log_weights = weights(np.random.default_rng(0), 100_001)  # four ranges of at most 32 768
    iterations = np.arange(1, 9)
    single = [_native.race_round(log_weights, 700, 400, 5, np.array([t]), OBSERVATIONS, threads)[0] for t in iterations]
    for n_threads in (1, 2, 4):
        races = _native.race_round(log_weights, 700, 400, 5, iterations, OBSERVATIONS, _native.Threads(n_threads))
        for race, expected in zip(races, single, strict=True):
            assert [items.tolist() for items in race] == [items.tolist() for items in expected]


def make_votes(seed, n_rows, dtype, n_votes):
    """Make labels, votes and a table of log-weights for all margins."""
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1, 1], n_rows).astype(np.int8)
    return labels, rng.integers(-n_votes, n_votes + 1, n_rows).astype(dtype), rng.normal(0.0, 3.0, 2 * n_votes + 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "n_votes"), [(np.int16, 20), (np.int32, 20), (np.int32, 70_000)])
@pytest.mark.parametrize(("size", "n_first", "n_next"), [(1, 1, 0), (700, 30, 70), (700, 700, 0), (100_001, 500, 500)])
def test_race_of_votes_is_that_of_their_weights(kernels, size, n_first, n_next, dtype, n_votes, weighted):
    labels, votes, table = make_votes(size, size, dtype, n_votes)
    if n_votes == 20:
        table[[3, 30]] = -np.inf, np.nan  # margins of no weight
    own = np.random.default_rng(1).normal(size=size) if weighted else None
    log_weights = table[n_votes + labels * votes.astype(np.int64)] + (0.0 if own is None else own)
    draw = n_first, n_next, 7, np.array([1, 2, 3]), OBSERVATIONS
    for n_threads in (1, 3):
        threads = _native.Threads(n_threads)
        races = _native.race_votes(labels, votes, table, own, *draw, threads)
        for race, expected in zip(races, _native.race_round(log_weights, *draw, threads), strict=True):
            assert [items.tolist() for items in race] == [items.tolist() for items in expected]


@pytest.mark.parametrize("vote", [-3, 3, 127, -32_768])
@pytest.mark.parametrize("row", [0, 3, 999])
def test_race_of_votes_rejects_a_table_that_is_too_short(threads, vote, row):
    votes = np.zeros(1000, dtype=np.int16)
    votes[row] = vote
    for own in (None, np.zeros(1000)):
        arguments = votes, np.zeros(5), own, 500, 0, 0, np.array([1]), OBSERVATIONS, threads
        with pytest.raises(ValueError, match="table of weights is too short"):
            _native.race_votes(np.ones(1000, dtype=np.int8), *arguments)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("labels", np.ones(9, dtype=np.int8), "one entry per row"),
        ("log_sample_weights", np.zeros(11), "one entry per row"),
        ("table", np.zeros(4), "middle"),
        ("n_first", -1, "more items than there are"),
        ("n_next", 6, "more items than there are"),
        ("n_next", -1, "more items than there are"),
        ("n_next", 2**63 - 1, "more items than there are"),
    ],
)
def test_race_of_votes_rejects_wrong_arguments(threads, name, wrong, message):
    state = {
        "labels": np.ones(10, dtype=np.int8),
        "votes": np.zeros(10, dtype=np.int16),
        "table": np.zeros(3),
        "log_sample_weights": np.zeros(10),
        "n_first": 5,
        "n_next": 5,
        "seed": 0,
        "iterations": np.array([1]),
        "purpose": OBSERVATIONS,
    }
    assert len(_native.race_votes(**state, threads=threads)) == 1
    with pytest.raises(ValueError, match=message):
        _native.race_votes(**(state | {name: wrong}), threads=threads)


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
        np.testing.assert_array_equal(_native.race(log_weights, n, seed, [iteration], purpose, threads)[0], winners)


def test_log_arrivals_do_not_depend_on_who_is_asked_about(kernels):
    log_weights = np.random.default_rng(0).normal(size=300)
    arrivals = _native.log_arrivals(log_weights, np.arange(300), 1, 2, OBSERVATIONS)
    items = np.random.default_rng(1).integers(300, size=77)
    np.testing.assert_array_equal(_native.log_arrivals(log_weights[items], items, 1, 2, OBSERVATIONS), arrivals[items])
    assert len(_native.log_arrivals(log_weights[:0], items[:0], 1, 2, OBSERVATIONS)) == 0


def test_log_arrivals_of_no_weight_are_never():
    assert _native.log_arrivals(np.array([-np.inf]), np.array([1]), 1, 2, OBSERVATIONS).tolist() == [np.inf]


@pytest.mark.parametrize("n_weights", [0, 1, 3])
def test_log_arrivals_reject_other_numbers_of_weights(n_weights):
    with pytest.raises(ValueError, match="every item needs a weight"):
        _native.log_arrivals(np.zeros(n_weights), np.array([0, 1]), 1, 2, OBSERVATIONS)


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
        items = _native.race(log_weights, n, 17, [t], OBSERVATIONS, threads)[0]
        counts[tuple(items.tolist())] += 1
    result = stats.chisquare(list(counts.values()), n_draws * np.array(list(expected.values())))
    assert result.pvalue > 1e-3


def test_race_has_the_same_law_over_seeds(threads):
    weights = [0.5, 0.25, 0.15, 0.07, 0.03]
    expected = find_successive_probabilities(weights, 2)
    counts = dict.fromkeys(expected, 0)
    for seed in range(20_000):
        counts[tuple(_native.race(np.log(weights), 2, seed, [1], FEATURES, threads)[0].tolist())] += 1
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
    counts = [is_heavy[_native.race(log_weights, n, 5, [t], OBSERVATIONS, several)[0]].sum() for t in range(n_draws)]
    law = stats.nchypergeom_wallenius(size, n_heavy, n, odds)
    assert abs(np.mean(counts) - law.mean()) < 4 * law.std() / math.sqrt(n_draws)
    spread = np.var(counts) / law.var() * n_draws
    assert stats.chi2(n_draws - 1).cdf(spread) == pytest.approx(0.5, abs=0.499)


@pytest.mark.parametrize("log_weight", [0.0, -5000.0, 1e10, 1e20, -1e20, -np.inf, np.nan])
def test_race_is_uniform_over_equal_items(threads, log_weight):
    size, n, n_draws = 500, 25, 4000
    counts = np.zeros(size)
    for t in range(n_draws):
        counts[_native.race(np.full(size, log_weight), n, 11, [t], OBSERVATIONS, threads)[0]] += 1
    share = n / size
    statistic = np.sum((counts - n_draws * share) ** 2) / (n_draws * share * (1 - share)) * (size - 1) / size
    assert 1e-3 < stats.chi2(size - 1).cdf(statistic) < 1 - 1e-3


def test_race_draws_zero_weights_uniformly_once_the_others_are_in(threads):
    log_weights = np.array([-np.inf, 2.0, np.nan, -7.0, -np.inf, -np.inf])
    counts = np.zeros(6)
    for t in range(8000):
        counts[_native.race(log_weights, 3, 1, [t], OBSERVATIONS, threads)[0]] += 1
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
    draws = [_native.race(np.zeros(200), 20, 3, [t], OBSERVATIONS, threads)[0] for t in range(4001)]
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


def race_in_parts(bounds, n, seed, iterations, race_part):
    """Race each part of the items alone; join their arrivals: those of all items, first to last."""
    found = []
    for first, end in itertools.pairwise(bounds):
        parts = race_part(slice(first, end), min(n, end - first), first, seed, iterations)
        found.append([(items + first, times) for items, times in parts])
    joined = []
    for of_iteration in zip(*found, strict=True):
        items, times = (np.concatenate(arrays) for arrays in zip(*of_iteration, strict=True))
        joined.append(items[np.lexsort((items, *times.T[::-1]))][:n])
    return joined


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("n", [1, 700, 40_000])
def test_race_part_finds_the_arrivals_of_all_items(kernels, threads, weights, n):
    log_weights, chunk = weights(np.random.default_rng(0), 50_000), _native.CHUNK_ROWS
    iterations = np.array([3, 10**9])

    def race_part(part, n_part, first, seed, iterations):
        return _native.race_part(log_weights[part], n_part, first, seed, iterations, OBSERVATIONS, threads)

    for bounds in ([0, 50_000], [0, chunk, 3 * chunk, 50_000]):
        for iteration, order in zip(iterations, race_in_parts(bounds, n, 5, iterations, race_part), strict=True):
            assert np.sort(order).tolist() == draw(log_weights, n, seed=5, iteration=int(iteration)).tolist()


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_race_part_of_votes_is_that_of_their_weights(threads, dtype, weighted):
    rng, chunk, iterations = np.random.default_rng(0), _native.CHUNK_ROWS, np.array([7])
    labels, votes = rng.choice([-1, 1], 20_000).astype(np.int8), rng.integers(-30, 31, 20_000).astype(dtype)
    table, own = -0.1 * np.arange(-40, 41), rng.normal(size=20_000) if weighted else None
    log_weights = table[40 + labels * votes] + (0.0 if own is None else own)
    arguments = 300, 2 * chunk, 5, iterations, OBSERVATIONS, threads
    ((items, times),) = _native.race_part_of_votes(labels, votes, table, own, *arguments)
    ((expected, expected_times),) = _native.race_part(log_weights, *arguments)
    np.testing.assert_array_equal(items, expected)
    np.testing.assert_array_equal(times, expected_times)


def test_race_part_rejects_what_does_not_fit(threads):
    with pytest.raises(ValueError, match="whole chunks"):
        _native.race_part(np.zeros(5), 1, 100, 0, np.array([1]), OBSERVATIONS, threads)
    with pytest.raises(ValueError, match="more items"):
        _native.race_part(np.zeros(5), 6, 0, 0, np.array([1]), OBSERVATIONS, threads)
