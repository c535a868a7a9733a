"""Rows drawn by the sizes of their gradients, against what their places on a line say."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.everywhere import assert_all_equal, call_everywhere

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
    return _native.draw_by_gradient(
        **state, exploration=exploration, n_drawn=n_drawn, seed=seed, iteration=iteration, threads=threads
    )


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
    ],
)
def test_draw_by_gradient_rejects_wrong_arguments(threads, wrong, message):
    arguments = make_draw(10) | {"exploration": 0.2, "n_drawn": 5, "seed": 0, "iteration": 0}
    with pytest.raises(ValueError, match=message):
        _native.draw_by_gradient(**(arguments | wrong), threads=threads)
