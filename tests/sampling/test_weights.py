"""Weights of rows: arrays of logarithms, or votes and a table, are the same to whom reads them."""

import numpy as np
import pytest

from mpboost.sampling.weights import BATCH_ROWS, LogWeights, VoteWeights, compute_logs, count_effective

N_ROWS = BATCH_ROWS + 1000


def make_pair(dtype, weighted):
    """Make weights by votes, and the same as an array."""
    rng = np.random.default_rng(0)
    labels, votes = rng.choice([-1, 1], N_ROWS).astype(np.int8), rng.integers(-9, 10, N_ROWS).astype(dtype)
    table, own = rng.normal(size=19), rng.normal(size=N_ROWS) if weighted else None
    logs = table[9 + labels.astype(int) * votes] + (0.0 if own is None else own)
    return VoteWeights(labels, votes, table, own), LogWeights(logs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_weights_by_votes_are_those_of_an_array(threads, dtype, weighted):
    by_votes, by_logs = make_pair(dtype, weighted)
    assert len(by_votes) == len(by_logs) == N_ROWS
    np.testing.assert_array_equal(compute_logs(by_votes), by_logs.logs)
    for rows in (np.array([5, 3, N_ROWS - 1]), slice(10, 20)):
        np.testing.assert_array_equal(by_votes.take(rows), by_logs.take(rows))
    assert count_effective(by_votes) == pytest.approx(count_effective(by_logs), rel=1e-12)
    draw = 50, 30, 3, np.array([1, 7]), threads
    for race, expected in zip(by_votes.race(*draw), by_logs.race(*draw), strict=True):
        assert [rows.tolist() for rows in race] == [rows.tolist() for rows in expected]


def test_compute_logs_makes_a_new_array():
    logs = np.zeros(3)
    assert not np.shares_memory(compute_logs(LogWeights(logs)), logs)


@pytest.mark.parametrize("shift", [0.0, 5000.0, -5000.0])
def test_count_effective_is_one_over_the_sum_of_squares(shift):
    logs = np.random.default_rng(0).normal(size=N_ROWS)
    p = np.exp(logs) / np.exp(logs).sum()
    assert count_effective(LogWeights(logs + shift)) == pytest.approx(1 / np.sum(p**2), rel=1e-9)
