"""Steps of gradient boosting, in which outputs move and losses are derived, against plain NumPy in double precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost import _native
from tests.support.native.everywhere import assert_all_equal, call_everywhere

LARGEST = np.finfo(np.float32).max
SIZES = [1, 7, 127, 128, 129, 1000, 40_001]
VALUE_LOSSES = {"squared": 0.0, "absolute": 0.0, "quantile": 0.3, "huber": 0.7, "poisson": 0.0, "gamma": 0.0}


def make_step(n_rows, shape=(), n_leaves=20, seed=0, scale=3.0, weighted=True, moved=True):
    rng = np.random.default_rng(seed)
    weights = rng.random(n_rows, dtype=np.float32)
    weights[::4] = 0
    return {
        "raw": (scale * rng.normal(size=(n_rows, *shape))).astype(np.float32),
        "leaves": rng.integers(n_leaves, size=n_rows).astype(np.uint16) if moved else None,
        "values": rng.normal(size=(n_leaves, *shape)).astype(np.float32) if moved else None,
        "weights": weights if weighted else None,
        "gradients": np.full((n_rows, *shape), np.nan, dtype=np.float32),
        "hessians": np.full((n_rows, *shape), np.nan, dtype=np.float32),
    }


def move_naively(state):
    F = state["raw"] if state["leaves"] is None else state["raw"] + state["values"][state["leaves"]]
    w = np.ones(len(F)) if state["weights"] is None else state["weights"].astype(np.float64)
    return F.copy(), F.astype(np.float64), w


def step_log_loss_naively(state):
    raw, F, w = move_naively(state)
    positive = state["labels"] > 0
    with np.errstate(over="ignore"):
        p, q = 1 / (1 + np.exp(-F)), 1 / (1 + np.exp(F))
    score = w[(F >= 0) == positive].sum()
    return score, raw, w * np.where(positive, -q, p), w * np.maximum(p * q, 1e-16)


def step_softmax_naively(state):
    raw, F, w = move_naively(state)
    e = np.exp(F - F.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    is_own = np.arange(F.shape[1]) == state["labels"][:, None]
    score = w[F.argmax(axis=1) == state["labels"]].sum()
    return score, raw, w[:, None] * (p - is_own), w[:, None] * np.maximum(p * (1 - p), 1e-16)


def step_values_naively(state):
    raw, F, w = move_naively(state)
    y, parameter, r = state["labels"].astype(np.float64), state["parameter"], raw - state["labels"]
    e, one = np.exp(np.clip(F, -80, 80)), np.ones(len(F))
    prediction = e if state["loss"] in ("poisson", "gamma") else F
    with np.errstate(divide="ignore", invalid="ignore"):
        gradients, hessians = {
            "squared": (F - y, one),
            "absolute": (np.sign(r), one),
            "quantile": (np.select([r > 0, r < 0], [1 - parameter, -parameter], 0.0), one),
            "huber": (np.clip(r, -parameter, parameter), np.minimum(1, parameter / np.abs(r))),
            "poisson": (e - y, e),
            "gamma": (1 - y / e, y / e),
        }[state["loss"]]
    return (w * (prediction - y) ** 2).sum(), raw, w * gradients, w * np.maximum(hessians, 1e-16)


def assert_steps_agree(step, naive, state, threads, atol=3e-7):
    expected = naive(state)
    score = step(**state, threads=threads)
    assert score == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_array_equal(state["raw"], expected[1])
    np.testing.assert_allclose(state["gradients"], expected[2], rtol=1e-6, atol=atol)
    np.testing.assert_allclose(state["hessians"], expected[3], rtol=2e-6, atol=atol)


STATES = {"weighted and moved": {}, "unweighted": {"weighted": False}, "not moved": {"moved": False}}


@pytest.mark.parametrize("options", STATES.values(), ids=STATES)
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("scale", [0.01, 3.0, 30.0])
def test_step_log_loss_matches_naive_twin(kernels, threads, n_rows, options, scale):
    state = make_step(n_rows, scale=scale, **options)
    state["labels"] = np.random.default_rng(1).choice([-1, 1], n_rows).astype(np.int8)
    assert_steps_agree(_native.step_log_loss, step_log_loss_naively, state, threads, atol=2e-38)


@pytest.mark.parametrize("options", STATES.values(), ids=STATES)
@pytest.mark.parametrize(
    ("n_rows", "n_classes"), [(n, k) for n in SIZES[:-1] for k in (1, 2, 3, 8, 30)] + [(40_001, 5)]
)
def test_step_softmax_matches_naive_twin(kernels, threads, n_rows, n_classes, options):
    state = make_step(n_rows, (n_classes,), **options)
    state["labels"] = np.random.default_rng(1).integers(n_classes, size=n_rows).astype(np.uint16)
    assert_steps_agree(_native.step_softmax, step_softmax_naively, state, threads, atol=1e-6)


def add_values_loss(state, loss, seed=1):
    labels = np.random.default_rng(seed).gamma(2.0, size=len(state["raw"])).astype(np.float32)
    labels[::5] = state["raw"][::5]  # some are met exactly
    if loss in ("poisson", "gamma"):
        labels = np.abs(labels)
    return state | {"loss": loss, "parameter": VALUE_LOSSES[loss], "labels": labels}


@pytest.mark.parametrize("options", STATES.values(), ids=STATES)
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("loss", VALUE_LOSSES)
def test_step_values_matches_naive_twin(kernels, threads, n_rows, options, loss):
    state = add_values_loss(make_step(n_rows, **options), loss)
    assert_steps_agree(_native.step_values, step_values_naively, state, threads)


def call_step(name, state, threads):
    """Call a step on copies; return what it returns and writes."""
    state = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in state.items()}
    score = getattr(_native, name)(**state, threads=threads)
    return score, state["raw"], state["gradients"], state["hessians"]


def make_all_steps(n_rows, **options):
    rng = np.random.default_rng(2)
    signs = {"labels": rng.choice([-1, 1], n_rows).astype(np.int8)}
    classes = {"labels": rng.integers(7, size=n_rows).astype(np.uint16)}
    steps = [("step_log_loss", make_step(n_rows, **options) | signs)]
    steps += [("step_softmax", make_step(n_rows, (7,), **options) | classes)]
    return steps + [("step_values", add_values_loss(make_step(n_rows, **options), loss)) for loss in VALUE_LOSSES]


@pytest.mark.parametrize("options", STATES.values(), ids=STATES)
@pytest.mark.parametrize("which", range(8))
def test_steps_have_the_same_bits_everywhere(which, options):
    name, state = make_all_steps(50_003, **options)[which]
    assert_all_equal(call_everywhere(lambda threads: call_step(name, state, threads)))


@pytest.mark.parametrize("weighted", [True, False])
def test_steps_never_make_what_is_no_number(kernels, threads, weighted):
    extremes = np.array([0, -0.0, 1e-45, -1e-45, 1, -1, 87, -89, 1e30, -1e30, LARGEST, -LARGEST], dtype=np.float32)
    for name, state in make_all_steps(len(extremes) ** 2, weighted=weighted):
        raw = np.repeat(extremes, len(extremes))
        state["raw"] = raw if name != "step_softmax" else np.stack([np.roll(raw, 13 * k) for k in range(7)], axis=1)
        state["values"][:10], state["values"][10:] = LARGEST, -LARGEST
        if name == "step_values":
            state["labels"] = np.tile(extremes, len(extremes))
        score, raw, gradients, hessians = call_step(name, state, threads)
        assert np.isfinite(score)
        for array in (raw, gradients, hessians):
            assert np.isfinite(array).all(), (name, state.get("loss"))
        weights = 1 if state["weights"] is None else state["weights"].reshape(-1, *[1] * (hessians.ndim - 1))
        if state.get("loss") != "gamma":  # whose second derivative has the sign of the label
            assert (hessians >= np.float32(1e-16) * weights).all()


@given(st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=40))
def test_step_log_loss_moves_towards_the_label(raw):
    raw = np.array(raw, dtype=np.float32)
    nothing, threads = np.empty_like(raw), _native.Threads(1)
    for label in (-1, 1):
        gradients = np.empty_like(raw)
        labels = np.full(len(raw), label, dtype=np.int8)
        n_right = _native.step_log_loss(raw, None, None, labels, None, gradients, nothing, threads)
        assert n_right == np.sum((raw >= 0) == (label > 0))
        assert (gradients * label <= 0).all()
        assert (np.abs(gradients) <= 1).all()


@pytest.mark.parametrize(("scores", "winner"), [([1, 1, 0], 0), ([0, 1, 1], 1), ([-5, -5, -5], 0), ([0, 0, 3], 2)])
def test_step_softmax_gives_ties_to_the_first_class(kernels, threads, scores, winner):
    raw = np.array([scores] * 3, dtype=np.float32)
    labels, weights = np.arange(3, dtype=np.uint16), np.array([1, 10, 100], dtype=np.float32)
    room = np.empty_like(raw)
    assert _native.step_softmax(raw, None, None, labels, weights, room, room.copy(), threads) == 10**winner


WRONG_STEPS = {
    "few raw": ({"raw": np.zeros(9, np.float32)}, "one entry per row"),
    "few gradients": ({"gradients": np.zeros(9, np.float32)}, "one entry per row"),
    "many hessians": ({"hessians": np.zeros((10, 2), np.float32)}, "shape of the outputs"),
    "few weights": ({"weights": np.zeros(9, np.float32)}, "one entry per row"),
    "few leaves": ({"leaves": np.zeros(9, np.uint16)}, "one entry per row"),
    "leaf without value": ({"leaves": np.full(10, 20, np.uint16)}, "leaf without value"),
    "no values": ({"values": np.zeros(0, np.float32)}, "leaf without value"),
    "values of more outputs": ({"values": np.zeros((20, 2), np.float32)}, "per leaf and output"),
    "leaves without values": ({"values": None}, "come together"),
}


@pytest.mark.parametrize(("wrong", "message"), WRONG_STEPS.values(), ids=WRONG_STEPS)
def test_steps_reject_wrong_arguments(threads, wrong, message):
    for name, state in make_all_steps(10):
        if name != "step_softmax":
            with pytest.raises(ValueError, match=message):
                getattr(_native, name)(**(state | wrong), threads=threads)


def test_step_softmax_rejects_classes_that_do_not_exist(threads):
    state = make_step(10, (3,)) | {"labels": np.full(10, 3, dtype=np.uint16)}
    with pytest.raises(ValueError, match="class that does not exist"):
        _native.step_softmax(**state, threads=threads)


@pytest.mark.parametrize(
    ("loss", "parameter", "message"),
    [
        ("cubic", 0.0, "no such loss"),
        ("quantile", 1.5, "quantile"),
        ("huber", 0.0, "huber"),
        ("huber", np.nan, "huber"),
    ],
)
def test_step_values_rejects_losses_that_it_does_not_know(threads, loss, parameter, message):
    state = add_values_loss(make_step(10), "squared") | {"loss": loss, "parameter": parameter}
    with pytest.raises(ValueError, match=message):
        _native.step_values(**state, threads=threads)


@pytest.mark.parametrize("name", ["raw", "gradients", "hessians"])
def test_steps_reject_outputs_that_they_cannot_write(threads, name):
    state = make_step(10) | {"labels": np.ones(10, dtype=np.int8)}
    state[name].flags.writeable = False
    with pytest.raises(TypeError):
        _native.step_log_loss(**state, threads=threads)
