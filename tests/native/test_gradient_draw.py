"""Rows drawn by the sizes of their gradients, against what their places on a line say."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpboost import _native
from tests.support.native.everywhere import assert_all_equal, call_everywhere
from tests.support.native.naive_sums import draw_cuts, join_naively

CHUNK = _native.CHUNK_ROWS

LARGEST = np.finfo(np.float32).max


def make_draw(n_rows, shape=(), seed=0):
    rng = np.random.default_rng(seed)
    gradients = rng.normal(size=(n_rows, *shape)).astype(np.float32) ** 3
    hessians = rng.random((n_rows, *shape), dtype=np.float32)
    weights = rng.random(n_rows, dtype=np.float32)
    if n_rows > 1:
        for array in (gradients, hessians, weights):
            array[::3] = 0  # reserved rows
    return {"gradients": gradients, "hessians": hessians, "weights": weights, "smoothing": 0.1}


def draw(state, threads, exploration=0.2, n_drawn=500, seed=0, iteration=0):
    ((rows, weights),) = draw_several(state, threads, [iteration], exploration, n_drawn, seed)
    return rows, weights


def draw_several(state, threads, iterations, exploration=0.2, n_drawn=500, seed=0, chunks=None, first_row=0):
    line = make_line(state, iterations, chunks)
    size = exploration, n_drawn, seed
    return _native.draw_by_gradient([line], state.get("smoothing", 0.1), *size, threads, first_row)[0]


def make_line(state, iterations, chunks=None):
    return state["gradients"], state["hessians"], state["weights"], [*iterations], chunks


def find_lengths(state, exploration):
    """How long each row is on the line that points fall on."""
    g, h = (state[name].reshape(len(state[name]), -1).astype(np.float64) for name in ("gradients", "hessians"))
    sizes = np.sqrt((g**2 + state["smoothing"] * h**2).sum(axis=1))
    weights = np.ones(len(g)) if state["weights"] is None else state["weights"].astype(np.float64)
    if not sizes.any():
        sizes, exploration = np.ones(len(g)), 1.0
    return (1 - exploration) * sizes / sizes.mean() + exploration * weights / weights.mean()


@pytest.mark.parametrize("exploration", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("n_rows", "shape"), [(1, ()), (31, ()), (1000, (3,)), (5003, ()), (5003, (30,))])
@pytest.mark.parametrize("n_drawn", [1, 64, 2000])
@pytest.mark.parametrize("weighted", [True, False])
def test_draw_by_gradient_weighs_rows_by_their_lengths(kernels, threads, n_rows, shape, n_drawn, exploration, weighted):
    state = make_draw(n_rows, shape) | ({} if weighted else {"weights": None})
    lengths = find_lengths(state, exploration)
    rows, weights = draw(state, threads, exploration, n_drawn, seed=1, iteration=2)
    assert rows.dtype == np.int64
    assert (np.diff(rows) > 0).all()
    assert (lengths[rows] > 0).all()
    # Weights tell how many of the points fell on a row; that is within one of their expectation.
    expected = n_drawn * lengths / lengths.sum()
    counts = np.zeros(n_rows)
    counts[rows] = weights * expected[rows]
    np.testing.assert_allclose(counts, np.round(counts), rtol=1e-5)
    assert np.round(counts).sum() == n_drawn
    assert (np.abs(counts - expected) < 2).all()
    # Every part of the line has one point, so the n-th row drawn is where the line says.
    ends = np.cumsum(lengths) / lengths.sum() * n_drawn
    drawn = np.repeat(rows, np.round(counts[rows]).astype(int))
    assert (ends[drawn] > np.arange(n_drawn) - 1e-3).all()
    assert (ends[drawn] - expected[drawn] < np.arange(n_drawn) + 1 + 1e-3).all()


@pytest.mark.parametrize("exploration", [0.0, 0.5, 1.0])
def test_draw_by_gradient_is_unbiased(threads, exploration):
    state = make_draw(200)
    lengths, n_draws = find_lengths(state, exploration), 4000
    means = np.zeros(200)
    for iteration in range(n_draws):
        rows, weights = draw(state, threads, exploration, 50, iteration=iteration)
        means[rows] += weights / n_draws
    # A row that is drawn with probability q has a mean of 1 and a variance of 1 / q - 1 at most.
    q = np.minimum(1, 50 * lengths / lengths.sum())
    is_long = lengths > 0
    assert (np.abs(means - 1) < 5 / np.sqrt(np.maximum(q, 1e-300) * n_draws))[is_long & (q > 0.01)].all()
    assert (means[~is_long] == 0).all()


@pytest.mark.parametrize("shape", [(), (7,)])
def test_draw_by_gradient_has_the_same_bits_everywhere(shape):
    state = make_draw(50_003, shape)
    assert_all_equal(call_everywhere(lambda threads: draw(state, threads, n_drawn=5000)))


def test_draw_by_gradient_differs_by_seed_and_iteration(threads):
    state = make_draw(1000)
    draws = [draw(state, threads, seed=s, iteration=i)[0] for s, i in [(0, 0), (0, 1), (1, 0)]]
    assert len({tuple(rows) for rows in draws}) == 3


def test_draw_by_gradient_without_gradients_goes_by_weights(threads):
    state = make_draw(3000)
    by_weight = draw(state, threads, exploration=1.0)
    nothing = np.zeros(3000, dtype=np.float32)
    assert_all_equal([by_weight, draw(state | {"gradients": nothing, "hessians": nothing}, threads)])


def draw_naively(state, exploration, n_drawn, bits):
    """Lay rows end to end, chunk by chunk, block by block, and find the row of each point, in whole numbers."""
    shift = 51 - n_drawn.bit_length()
    rows = np.stack([np.abs(state["gradients"]), state["weights"]], axis=1).astype(np.float64)

    def add_lanes(block):  # as the kernel adds up 32 rows
        lanes = np.cumsum(np.pad(block, ((0, 32 - len(block)), (0, 0))).reshape(4, 8, 2), axis=0)[-1]
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))

    def cut(numbers, length):
        return [numbers[first : first + length] for first in range(0, len(numbers), length)]

    blocks = np.array([add_lanes(block) for block in cut(rows, 32)])
    chunks = np.array([np.cumsum(some, axis=0)[-1] for some in cut(blocks, CHUNK // 32)])
    total = join_naively([*chunks])
    length = float(n_drawn << shift)
    scale = [(1 - exploration) * length / total[0], exploration * length / total[1]]

    def lay(items, start, end):
        lengths = scale[0] * items[:, 0] + scale[1] * items[:, 1]
        ends = [min(start + int(x), end) for x in np.cumsum(np.rint(lengths))]
        for i in reversed(range(len(ends))):
            ends[i] = end
            if lengths[i] > 0:
                break
        return ends, lengths

    row_ends, row_lengths, start = [], [], 0
    chunk_ends, _ = lay(chunks, 0, n_drawn << shift)
    for chunk, chunk_end in enumerate(chunk_ends):
        block_ends, _ = lay(cut(blocks, CHUNK // 32)[chunk], start, chunk_end)
        for block, block_end in enumerate(block_ends):
            first = chunk * CHUNK + block * 32
            ends, lengths = lay(rows[first : first + 32], start, block_end)
            row_ends += ends
            row_lengths += [*lengths]
            start = block_end
    places = (np.arange(n_drawn) << shift) + (bits >> np.uint64(64 - shift)).astype(np.int64)
    drawn, counts = np.unique(np.searchsorted(row_ends, places, side="right"), return_counts=True)
    return drawn, counts * 2.0**shift / np.array(row_lengths)[drawn]


@pytest.mark.parametrize("exploration", [0.1, 0.9])
@pytest.mark.parametrize(("n_rows", "n_drawn"), [(1, 7), (31, 5), (33, 200), (5003, 60), (5003, 2000), (40_001, 9000)])
def test_draw_by_gradient_matches_naive_twin(kernels, threads, n_rows, n_drawn, exploration):
    state = make_draw(n_rows) | {"smoothing": 0.0}
    rows, weights = draw(state, threads, exploration, n_drawn, seed=5, iteration=3)
    expected = draw_naively(state, exploration, n_drawn, draw_bits(n_drawn, seed=5, iteration=3))
    assert_all_equal([(rows, weights), expected])


def draw_bits(n, seed, iteration):
    """The random bits of points: splitmix64 of a seed, an iteration and the purpose of the draw."""
    step = 0x9E3779B97F4A7C15

    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    state = mix((mix((mix((seed + step) % 2**64) + iteration + step) % 2**64) + 1) % 2**64)
    return np.array([mix((state + (j + 1) * step) % 2**64) for j in range(n)], dtype=np.uint64)


@pytest.mark.parametrize("n_drawn", [300, 30_000])
def test_draw_by_gradient_draws_each_iteration_as_if_alone(threads, n_drawn):
    state = make_draw(20_003)
    together = draw_several(state, threads, [7, 3, 5], n_drawn=n_drawn)
    alone = [draw(state, threads, iteration=iteration, n_drawn=n_drawn) for iteration in (7, 3, 5)]
    for several, single in zip(together, alone, strict=True):
        assert_all_equal([several, single])
    assert draw_several(state, threads, []) == []


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("n_drawn", [300, 30_000])
def test_draw_by_gradient_draws_from_each_line_as_if_alone(shape, n_drawn):
    states = [make_draw(20_003, shape, seed=seed) for seed in range(3)]
    states[1]["weights"] = None
    turns = [[1, 4, 7], [2], []]
    for n_threads in (1, 3):
        threads = _native.Threads(n_threads)
        lines = [make_line(state, iterations) for state, iterations in zip(states, turns, strict=True)]
        drawn = _native.draw_by_gradient(lines, 0.1, 0.2, n_drawn, 5, threads)
        for state, iterations, of_line in zip(states, turns, drawn, strict=True):
            alone = draw_several(state, threads, iterations, n_drawn=n_drawn, seed=5)
            assert len(of_line) == len(alone) == len(iterations)
            for several, single in zip(of_line, alone, strict=True):
                assert_all_equal([several, single])
    assert _native.draw_by_gradient([], 0.1, 0.2, n_drawn, 5, threads) == []


def test_draw_by_gradient_rejects_lines_of_unequal_length(threads):
    lines = [make_line(make_draw(n_rows), [1]) for n_rows in (10, 11)]
    with pytest.raises(ValueError, match="equally many rows"):
        _native.draw_by_gradient(lines, 0.1, 0.2, 5, 0, threads)


@settings(max_examples=25)
@given(bounds=draw_cuts(3 * CHUNK + 99), exploration=st.sampled_from([0.0, 0.2, 1.0]), n_drawn=st.integers(1, 9999))
def test_draw_by_gradient_is_the_same_for_any_parts_of_the_rows(bounds, exploration, n_drawn):
    state, threads = make_draw(3 * CHUNK + 99), _native.Threads(2)
    smoothing = {"smoothing": state.pop("smoothing")}
    parts = {
        start: {name: array[start:end] for name, array in state.items()} | smoothing
        for start, end in itertools.pairwise(bounds)
        if start % CHUNK == 0  # else it is an empty part behind the last row
    }
    measure = functools.partial(_native.measure_chunks, exploration=exploration, threads=threads)
    chunks = np.concatenate([measure(**part) for part in parts.values()])
    drawn = [
        draw_several(part, threads, [0, 1], exploration, n_drawn, chunks=chunks, first_row=start)
        for start, part in parts.items()
    ]
    for k, whole in enumerate(draw_several(state | smoothing, threads, [0, 1], exploration, n_drawn)):
        rows = [draws[k][0] + start for draws, start in zip(drawn, parts, strict=True)]
        assert_all_equal([whole, (np.concatenate(rows), np.concatenate([draws[k][1] for draws in drawn]))])


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e15, LARGEST])
def test_draw_by_gradient_takes_gradients_of_any_size(kernels, threads, scale):
    state = make_draw(1000) | {"smoothing": 0.0}
    state["gradients"] = np.where(np.arange(1000) % 10 == 1, scale, 0).astype(np.float32)
    rows, weights = draw(state, threads, exploration=0.0, n_drawn=700)
    np.testing.assert_array_equal(rows, np.arange(1, 1000, 10))
    assert weights.mean() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param({"gradients": np.zeros(0, np.float32)}, "row to draw", id="no rows"),
        pytest.param({"hessians": np.zeros(9, np.float32)}, "one entry per row", id="few hessians"),
        pytest.param({"hessians": np.zeros((10, 2), np.float32)}, "one shape", id="other shape"),
        pytest.param({"weights": np.zeros(9, np.float32)}, "one entry per row", id="few weights"),
        pytest.param({"weights": np.zeros(10, np.float32), "exploration": 1.0}, "no row can be drawn", id="no weight"),
        pytest.param({"gradients": np.full(10, np.nan, np.float32)}, "not finite", id="nan"),
        pytest.param({"smoothing": -1.0}, "smoothing", id="smoothing"),
        pytest.param({"exploration": 1.1}, "exploration", id="exploration"),
        pytest.param({"exploration": np.nan}, "exploration", id="exploration is nan"),
        pytest.param({"n_drawn": 0}, "n_drawn", id="none"),
        pytest.param({"n_drawn": 2**31}, "n_drawn", id="too many"),
        pytest.param({"first_row": CHUNK}, "chunks of all rows", id="part without chunks"),
        pytest.param({"first_row": 5, "chunks": np.ones((1, 2))}, "whole chunks", id="part inside a chunk"),
        pytest.param({"first_row": CHUNK, "chunks": np.ones((1, 2))}, "all chunks", id="few chunks"),
        pytest.param({"chunks": np.ones((1, 3))}, "all chunks", id="chunks of another shape"),
    ],
)
def test_draw_by_gradient_rejects_wrong_arguments(threads, wrong, message):
    arguments = make_draw(10) | {"exploration": 0.2, "n_drawn": 5, "seed": 0, "iterations": [0]} | wrong
    state = {name: arguments.pop(name) for name in ("gradients", "hessians", "weights", "smoothing")}
    with pytest.raises(ValueError, match=message):
        draw_several(state, threads, **arguments)
