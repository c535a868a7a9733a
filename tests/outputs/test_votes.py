"""How votes are read: ranks, counts, winners and ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost.outputs.votes import break_ties, count_votes, pick_winners, rank_classes, share_votes


@st.composite
def ballots(draw):
    """Counts with many ties, and ranks."""
    n_classes = draw(st.integers(2, 6))
    row = st.lists(st.integers(0, 4), min_size=n_classes, max_size=n_classes)
    counts = np.array(draw(st.lists(row, min_size=1, max_size=20)))
    return counts, np.array(draw(st.permutations(range(n_classes))), dtype=np.uint16)


@pytest.mark.parametrize(
    ("codes", "weights", "expected"),
    [
        ([0, 1, 1, 2, 2, 2], None, [0, 1, 2]),
        ([0, 0, 0, 1, 1, 2], None, [2, 1, 0]),
        ([0, 1, 2], None, [0, 1, 2]),
        ([0, 0, 1, 3, 3], None, [2, 1, 0, 3]),
        ([0, 1, 2], [3.0, 1.0, 2.0], [2, 0, 1]),
        ([0, 0, 0, 1, 2], [0.1, 0.1, 0.1, 0.3, 0.2], [1, 2, 0]),
    ],
    ids=["rising", "falling", "all alike: the later wins", "a class without rows", "weights", "alike but for rounding"],
)
def test_rank_classes_goes_by_weight_then_by_code(codes, weights, expected):
    weights = None if weights is None else np.array(weights)
    ranks = rank_classes(np.array(codes, dtype=np.uint16), len(expected), weights)
    assert ranks.dtype == np.uint16
    assert ranks.tolist() == expected


def test_count_votes_reads_sums_of_signs():
    assert count_votes(np.array([-3, -1, 1, 3]), 3).tolist() == [[3, 0], [2, 1], [1, 2], [0, 3]]


def test_count_votes_leaves_counts_alone():
    counts = np.array([[1, 2, 3]])
    assert count_votes(counts, 6) is counts


@given(ballots())
def test_pick_winners_takes_the_most_votes_then_the_highest_rank(ballot):
    counts, ranks = ballot
    expected = [max(range(len(ranks)), key=lambda k: (row[k], ranks[k])) for row in counts.tolist()]
    assert pick_winners(counts, ranks).tolist() == expected


@given(ballots())
def test_break_ties_sets_winners_half_a_vote_apart(ballot):
    counts, ranks = ballot
    broken, winners = break_ties(counts, ranks)
    np.testing.assert_array_equal(winners, pick_winners(counts, ranks))
    for before, after, winner in zip(counts, broken, winners, strict=True):
        n_tied = np.count_nonzero(before == before[winner])
        others = np.delete(after, winner)
        assert after[winner] - others.max() == (0.5 if n_tied > 1 else before[winner] - np.delete(before, winner).max())
        assert np.count_nonzero(after != before) == (n_tied if n_tied > 1 else 0)
        assert np.abs(after - before).max() <= 0.25


def test_break_ties_does_not_change_its_argument():
    counts = np.array([[2, 2]])
    break_ties(counts, np.array([0, 1], dtype=np.uint16))
    assert counts.tolist() == [[2, 2]]


def test_share_votes_of_colours_sums_to_one_though_votes_count_for_many_classes():
    shares = share_votes(np.array([[2, 2, 1, 0], [0, 0, 0, 5]]))
    assert shares.tolist() == [[0.4, 0.4, 0.2, 0.0], [0.0, 0.0, 0.0, 1.0]]
