"""Limits of conformal prediction: their coverage in finite samples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost.outputs.conformal import count_needed, find_limit, find_limits

shares = st.floats(0.01, 0.99)


@given(st.integers(1, 60), shares, st.integers(0, 2**32 - 1))
def test_limit_covers_each_of_exchangeable_scores_as_often_as_asked(n_scores, coverage, seed):
    scores = np.random.default_rng(seed).permutation(n_scores + 1).astype(float)
    # The new score is equally likely to be any of the n + 1 scores.
    covered = [score <= find_limit(np.delete(scores, place), coverage) for place, score in enumerate(scores)]
    share = np.mean(covered)
    assert coverage - 1e-8 <= share < coverage + 1 / (n_scores + 1)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_limit_is_finite_with_just_as_many_scores_as_needed(coverage):
    n_needed = count_needed(coverage)
    assert find_limit(np.zeros(n_needed), coverage) == 0.0
    assert find_limit(np.zeros(n_needed - 1), coverage) == math.inf


def test_limit_of_a_round_share_is_not_moved_by_rounding():
    # 0.7 times 10 is a little more than 7 in floating point.
    assert find_limit(np.arange(1.0, 10.0), 0.7) == 7.0


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e6, 1e6)), max_size=50), shares)
def test_limits_of_groups_are_those_of_their_rows(pairs, coverage):
    groups = np.array([group for group, _ in pairs], dtype=np.intp)
    scores = np.array([score for _, score in pairs], dtype=float)
    found = find_limits(scores, groups, 4, coverage)
    assert found.tolist() == [find_limit(scores[groups == group], coverage) for group in range(4)]
