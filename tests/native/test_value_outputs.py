"""Sums of predictions, their errors, and weights by residuals, against naive twins."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native import naive_value_outputs as naive
from tests.support.native.everywhere import assert_all_equal, call_everywhere
from tests.support.native.naive_sums import join_naively

each_weighting = pytest.mark.parametrize("weighting", naive.RESIDUAL_WEIGHTINGS)
plain_or_weighted = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def make_rows(n_rows, weighted, seed=0):
    rng = np.random.default_rng(seed)
    labels, sums = rng.normal(size=n_rows), rng.normal(size=n_rows)
    return labels, sums, rng.uniform(0.1, 3.0, n_rows) if weighted else None


def to_whole(weights):
    return None if weights is None else np.rint(1000 * weights).astype(np.int64)


def weigh(weighting, labels, sums, n_learners, rows, weights, threads, exploration=0.2):
    log_weights = np.full(len(labels), np.nan)
    total = float(len(labels)) if weights is None else weights.sum()
    log_sample_weights = None if weights is None else np.log(weights)
    median_weights = to_whole(None if weights is None else weights[rows])
    means = labels, sums, n_learners
    scale = _native.median_residual(_native.find_residuals(*means, rows), median_weights)
    if scale == 0.0:
        scale = _native.sum_residuals(*means, weights, threads) / total or 1.0
    mean = _native.weigh_residuals(weighting, scale, *means, weights, log_weights, threads) / total or 1.0
    _native.to_log_weights(log_weights, mean, exploration, log_sample_weights, threads)
    return log_weights


@plain_or_weighted
@pytest.mark.parametrize("n_rows", [1, 7, 1024, 40_000])
def test_add_values_matches_its_twin(threads, n_rows, weighted):
    rng = np.random.default_rng(1)
    labels, _, weights = make_rows(n_rows, weighted)
    state = sums, oop_sums, oop_counts = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows, dtype=np.int32)
    for t in range(1, 4):
        patch = np.flatnonzero(rng.random(n_rows) < (1.0 if t == 1 else 0.3))
        values = rng.normal(size=n_rows)
        *expected, errors = naive.add_values(values, patch, labels, weights, *state, t, 0.25)
        found = _native.add_values(values, patch, labels, weights, sums, oop_sums, oop_counts, t, 0.25, threads)
        for array, other in zip(state, expected, strict=True):
            np.testing.assert_array_equal(array, other)
        np.testing.assert_allclose(found, errors, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [0, 1, 1025, 40_000])
def test_add_values_sums_errors_by_a_tree(threads, n_rows):
    labels, values, weights = make_rows(n_rows, True)

    def add(rows):
        n = len(labels[rows])
        state = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int32)
        patch = np.flatnonzero(np.arange(n_rows)[rows] % 3 == 0)
        return np.array(_native.add_values(values[rows], patch, labels[rows], weights[rows], *state, 1, 0.25, threads))

    pieces = [add(slice(first, first + 1024)) for first in range(0, n_rows, 1024)]
    np.testing.assert_array_equal(add(slice(None)), join_naively(pieces or [np.zeros(2)]))


@each_weighting
@plain_or_weighted
@pytest.mark.parametrize("n_rows", [1, 2, 9, 500])
@pytest.mark.parametrize("exploration", [0.0, 0.2])
def test_weigh_residuals_matches_its_twin(kernels, threads, weighting, weighted, n_rows, exploration):
    labels, sums, weights = make_rows(n_rows, weighted)
    rows = np.arange(0, n_rows, 3)
    median_weights = to_whole(None if weights is None else weights[rows])
    expected = naive.weigh_residuals(weighting, exploration, labels, sums, 4, rows, median_weights, weights)
    found = weigh(weighting, labels, sums, 4, rows, weights, threads, exploration)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@plain_or_weighted
@pytest.mark.parametrize("n_right", [6, 10])
def test_weigh_residuals_takes_the_mean_where_the_median_is_zero(threads, weighted, n_right):
    labels, _, weights = make_rows(10, weighted)
    if weighted:
        weights[:6] = 3.0
    sums = labels + np.where(np.arange(10) < n_right, 0.0, 2.0)
    rows = np.arange(10)
    expected = naive.weigh_residuals("linear", 0.2, labels, sums, 1, rows, to_whole(weights), weights)
    np.testing.assert_allclose(weigh("linear", labels, sums, 1, rows, weights, threads), expected, rtol=1e-12)


def test_weigh_residuals_takes_residuals_whose_mean_is_rounded_to_zero(threads):
    sums = np.where(np.arange(10) < 7, 0.0, 5e-324)
    expected = naive.weigh_residuals("linear", 0.2, np.zeros(10), sums, 1, np.arange(10), None, None)
    np.testing.assert_allclose(weigh("linear", np.zeros(10), sums, 1, np.arange(10), None, threads), expected)


def test_weigh_residuals_stays_finite_where_predictions_overflow(threads):
    sums = np.array([np.inf, -np.inf, 1e300, 0.0, 0.0, 0.0, 1.0])
    log_weights = weigh("linear", np.zeros(7), sums, 1, np.arange(7), None, threads)
    assert np.isfinite(log_weights).all()
    assert log_weights.argmax() == 0


def test_weigh_residuals_takes_residuals_that_are_not_numbers(threads):  # a user's estimator may give anything
    sums = np.where(np.arange(1000) % 3 == 0, np.nan, np.arange(1000.0))
    for weights in (None, np.ones(1000)):
        log_weights = weigh("linear", np.zeros(1000), sums, 1, np.arange(1000), weights, threads)
        assert log_weights.shape == (1000,)


@each_weighting
@plain_or_weighted
def test_values_have_the_same_bits_with_all_kernels_and_threads(weighting, weighted):
    labels, start, weights = make_rows(70_001, weighted)
    patch, rows = np.arange(0, 70_001, 5), _native.sample_rows(0, 70_001, 70_001, 5000)

    def run(threads):
        state = start.copy(), np.zeros(70_001), np.zeros(70_001, dtype=np.int32)
        errors = _native.add_values(labels, patch, labels, weights, *state, 2, 0.5, threads)
        return *state, errors, weigh(weighting, labels, state[0], 2, rows, weights, threads)

    assert_all_equal(call_everywhere(run))


def test_value_kernels_reject_what_does_not_fit(threads):
    labels, sums, _ = make_rows(5, False)
    state = np.zeros(5), np.zeros(5), np.zeros(5, dtype=np.int32)
    with pytest.raises(ValueError, match="one entry per row"):
        _native.add_values(sums[:4], np.array([0]), labels, None, *state, 1, 0.0, threads)
    with pytest.raises(ValueError, match="does not exist"):
        _native.add_values(sums, np.array([5]), labels, None, *state, 1, 0.0, threads)
    with pytest.raises(ValueError, match="ascending"):
        _native.add_values(sums, np.array([1, 0]), labels, None, *state, 1, 0.0, threads)
    with pytest.raises(ValueError, match="no such weighting"):
        weigh("cubic", labels, sums, 1, np.arange(5), None, threads)
    with pytest.raises(ValueError, match="no such row"):
        weigh("linear", labels, sums, 1, np.array([5]), None, threads)
    with pytest.raises(ValueError, match="every residual needs a weight"):
        _native.median_residual(labels, np.ones(4, dtype=np.int64))


def test_median_residual_of_no_rows_is_zero():
    assert _native.median_residual(np.empty(0), None) == 0.0
