"""The weighting of Table I: its logarithm, and the table of weights by margins."""

import numpy as np
import pytest

from mpboost.tasks.weightings import WeightTable, log_weighting
from tests.support.oracle import TABLE_I, WEIGHTINGS


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_log_weighting_is_the_logarithm_of_table_i(weighting):
    margins = np.array([-30.0, -2.5, -1.0, -1e-3, 0.0, 1e-3, 1.0, 2.5, 30.0])
    expected = np.log(TABLE_I[weighting](1, margins))
    np.testing.assert_allclose(log_weighting(weighting, margins), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(log_weighting(weighting, margins), np.log(TABLE_I[weighting](-1, -margins)), atol=1e-12)


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [
        ("exponential", [2.0, 0.0, -2.0]),
        ("logistic", [-np.log1p(np.exp(-2.0)), -np.log(2.0), -2.0 - np.log1p(np.exp(-2.0))]),
        ("hard_exponential", [1.0, 0.0, -1.0]),
        ("hard_logistic", [-np.log1p(np.exp(-1.0)), -np.log(2.0), -1.0 - np.log1p(np.exp(-1.0))]),
    ],
)
def test_log_weighting_at_margins_of_minus_two_zero_and_two(weighting, expected):
    np.testing.assert_allclose(log_weighting(weighting, np.array([-2.0, 0.0, 2.0])), expected, rtol=1e-14)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_log_weighting_is_finite_at_any_margin(weighting):
    margins = np.array([-1e308, -1e5, 1e5, 1e308])
    logs = log_weighting(weighting, margins)
    assert np.isfinite(logs).all()
    assert (np.diff(logs) <= 0).all()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_weight_table_holds_log_l_of_every_margin(weighting):
    table = WeightTable(weighting, n_votes=3)
    # Twice the same, another rate, more votes, fewer again, and both at once: no answer must be kept too long.
    for rate, n_votes in [(0.5, 2), (0.5, 3), (0.25, 3), (0.25, 4), (0.5, 1), (0.125, 50), (0.125, 2)]:
        entries = table.look_up(rate, n_votes)
        middle = len(entries) // 2
        assert len(entries) == 2 * middle + 1
        assert middle >= n_votes
        np.testing.assert_array_equal(entries, log_weighting(weighting, rate * np.arange(-middle, middle + 1.0)))


def test_weight_table_is_made_anew_only_when_it_must():
    table = WeightTable("logistic", n_votes=4)
    first = table.look_up(0.5, 1)
    assert table.look_up(0.5, 4) is first
    second = table.look_up(0.5, 5)
    assert len(second) > len(first)
    for n_votes in range(5, len(second) // 2 + 1):
        assert table.look_up(0.5, n_votes) is second
