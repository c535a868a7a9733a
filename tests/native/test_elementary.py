"""Logarithms and exponentials in plain arithmetic, and what log odds say by them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost import _native
from tests.support.native.everywhere import assert_all_equal, call_everywhere
from tests.support.native.naive_sums import join_naively

INF, NAN = math.inf, math.nan

#: Errors of up to 2.5 units in the last place, of ours and of the C library together; two of subnormal numbers.
EXACT = {"rtol": 6e-16, "atol": 1e-323}


def logistic(x):
    return 1.0 / (1.0 + math.exp(-x)) if x > 0 else math.exp(x) / (1.0 + math.exp(x))


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def make_numbers(*ranges):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.uniform(low, high, 2001) for low, high in ranges])


REALS = make_numbers((-745.0, 709.0), (-40.0, 40.0), (-2.0, 2.0), (-1e-5, 1e-5), (-1e-300, 1e-300))
EXPONENTS = np.repeat(np.arange(-1074, 1024), 5)
POSITIVES = np.concatenate(
    [
        np.ldexp(make_numbers(*[(1.0, 2.0)] * 6)[: len(EXPONENTS)], EXPONENTS),
        *[centre + np.arange(-1000, 1001) * np.spacing(centre) for centre in (1.0, math.sqrt(2.0), math.sqrt(0.5))],
    ]
)

#: The functions, the C library's, and numbers to try.
FUNCTIONS = {
    "log_of": (math.log, POSITIVES),
    "log1p_of": (math.log1p, np.concatenate([make_numbers((-0.999, 3.0), (-1e-9, 1e-9), (0.0, 1e9)), POSITIVES])),
    "exp_of": (math.exp, REALS),
    "expm1_of": (math.expm1, REALS),
    "logistic_of": (logistic, REALS),
    "softplus_of": (softplus, REALS),
}

#: What they give at the limits.
LIMITS = {
    "log_of": {0.0: -INF, -5e-324: NAN, -INF: NAN, INF: INF, NAN: NAN, 1.0: 0.0},
    "log1p_of": {0.0: 0.0, -1.0: -INF, -1.5: NAN, -INF: NAN, INF: INF, NAN: NAN, 5e-324: 5e-324, -5e-324: -5e-324},
    "exp_of": {0.0: 1.0, INF: INF, -INF: 0.0, NAN: NAN, 709.8: INF, 1e308: INF, -745.2: 0.0, -1e308: 0.0},
    "expm1_of": {0.0: 0.0, INF: INF, -INF: -1.0, NAN: NAN, 709.8: INF, -60.0: -1.0, 5e-324: 5e-324, -1e308: -1.0},
    "logistic_of": {0.0: 0.5, INF: 1.0, -INF: 0.0, NAN: NAN, 1e308: 1.0, -1e308: 0.0},
    "softplus_of": {INF: INF, -INF: 0.0, NAN: NAN, 1e308: 1e308, -1e308: 0.0},
}

each_function = pytest.mark.parametrize("name", FUNCTIONS)


@each_function
def test_functions_are_exact_to_the_last_bits(kernels, name):
    library, x = FUNCTIONS[name]
    np.testing.assert_allclose(getattr(_native, name)(x), [library(value) for value in x.tolist()], **EXACT)


@each_function
def test_functions_are_right_at_limits(kernels, name):
    x, expected = np.array(list(LIMITS[name])), list(LIMITS[name].values())
    np.testing.assert_array_equal(getattr(_native, name)(x), expected)


@each_function
def test_functions_have_the_same_bits_with_all_kernels_and_one_by_one(name):
    x = FUNCTIONS[name][1][::7]
    function = getattr(_native, name)
    assert_all_equal(call_everywhere(lambda _: [function(x).view(np.int64)]))
    np.testing.assert_array_equal([function(value) for value in x.tolist()], function(x))


def test_functions_take_numbers_and_arrays_of_any_shape():
    assert isinstance(_native.exp_of(0.0), float)
    assert _native.exp_of(np.float64(0.0)) == 1.0
    cube = np.arange(24.0).reshape(2, 3, 4)
    for x in (cube, cube.T, cube[:, ::2], cube.astype(np.float32), np.empty(0), np.empty((3, 0)), np.arange(3)):
        np.testing.assert_allclose(_native.exp_of(x), np.exp(x.astype(np.float64)), rtol=1e-15)
        assert _native.exp_of(x).shape == x.shape
    before = cube.copy()
    _native.exp_of(cube)
    np.testing.assert_array_equal(cube, before)


@given(st.floats(allow_nan=False))
def test_exp_of_undoes_log_of(x):
    if x > 0 and x < INF:
        assert _native.exp_of(_native.log_of(x)) == pytest.approx(x, rel=2e-13)


# Log odds


@pytest.mark.parametrize("n_classes", [1, 2, 3, 10, 700, 1500])
def test_softmax_of_gives_shares(kernels, n_classes):
    raw = 5.0 * np.random.default_rng(0).normal(size=(37, n_classes))
    odds = np.exp(raw)
    np.testing.assert_allclose(_native.softmax_of(raw), odds / odds.sum(axis=1, keepdims=True), rtol=1e-13)


def test_softmax_of_takes_huge_numbers():
    shares = _native.softmax_of(np.array([[1e308, -1e308, 0.0], [1e300, 1e300, -INF]]))
    np.testing.assert_array_equal(shares, [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])


@pytest.mark.parametrize("n_rows", [0, 1, 1025, 40_000])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_sum_log_losses_sums_losses_and_right_rows(kernels, n_rows, weighted, n_classes):
    rng = np.random.default_rng(n_rows)
    raw = 3.0 * rng.normal(size=(n_rows, n_classes))
    labels = rng.integers(0, n_classes, size=n_rows)
    weights = rng.random(n_rows) if weighted else None
    if n_classes == 2:
        raw = raw[:, 0]
        raw[::7] = 0.0  # stands for the second class
        losses = np.logaddexp(0.0, np.where(labels == 1, -raw, raw))
        is_right = (raw >= 0) == (labels == 1)
        labels = (2 * labels - 1).astype(np.int8)
    else:
        raw[::7, 2] = raw[::7, 4] = 9.0  # the first of them wins
        losses = np.log(np.exp(raw).sum(axis=1)) - raw[np.arange(n_rows), labels]
        is_right = raw.argmax(axis=1) == labels
        labels = labels.astype(np.uint16)
    w = np.ones(n_rows) if weights is None else weights
    loss, n_right = _native.sum_log_losses(raw, labels, weights)
    assert loss == pytest.approx((losses * w).sum(), rel=1e-12)
    assert n_right == pytest.approx((is_right * w).sum(), rel=1e-12)


def test_sum_log_losses_joins_pieces_by_a_tree():
    rng = np.random.default_rng(0)
    raw, labels = rng.normal(size=(5000, 5)), rng.integers(0, 5, size=5000).astype(np.uint16)
    pieces = [slice(first, first + 1024) for first in range(0, 5000, 1024)]
    sums = [_native.sum_log_losses(raw[rows], labels[rows], None)[0] for rows in pieces]
    assert _native.sum_log_losses(raw, labels, None)[0] == join_naively(sums)


def test_sum_log_losses_has_the_same_bits_with_all_kernels():
    rng = np.random.default_rng(0)
    raw, labels = rng.normal(size=(20_000, 5)), rng.integers(0, 5, size=20_000).astype(np.uint16)
    signs = np.where(labels > 2, 1, -1).astype(np.int8)
    column = np.ascontiguousarray(raw[:, 0])
    assert len(set(call_everywhere(lambda _: _native.sum_log_losses(raw, labels, None)))) == 1
    assert len(set(call_everywhere(lambda _: _native.sum_log_losses(column, signs, None)))) == 1


def test_sum_log_losses_rejects_what_does_not_fit():
    raw = np.zeros((3, 2))
    with pytest.raises(ValueError, match="every row needs a label"):
        _native.sum_log_losses(raw, np.zeros(2, dtype=np.uint16), None)
    with pytest.raises(ValueError, match="every row needs a weight"):
        _native.sum_log_losses(raw, np.zeros(3, dtype=np.uint16), np.ones(2))
    with pytest.raises(ValueError, match="there is a class that does not exist"):
        _native.sum_log_losses(raw, np.full(3, 2, dtype=np.uint16), None)
