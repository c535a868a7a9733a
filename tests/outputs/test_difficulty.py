"""How hard rows are: by votes, shares or residuals of learners that never saw them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost.outputs import difficulty
from mpboost.outputs.difficulty import judge_residuals, judge_shares, judge_votes


@pytest.mark.slow
@given(st.data(), st.integers(2, 5), st.integers(1, 20))
def test_judge_votes_follows_the_votes(data, n_classes, n_rows):
    count = st.integers(0, 3) | st.integers(0, 1000)
    counts = np.array([[data.draw(count) for _ in range(n_classes)] for _ in range(n_rows)], dtype=np.uint16)
    labels = np.array([data.draw(st.integers(0, n_classes - 1)) for _ in range(n_rows)], dtype=np.uint16)
    difficulty = judge_votes(counts, labels)
    assert np.all((difficulty > 0) & (difficulty < 1))
    own = counts[np.arange(n_rows), labels].astype(int)
    rivals = np.where(np.arange(n_classes) == labels[:, None], -1, counts.astype(int)).max(axis=1)
    np.testing.assert_array_equal(np.sign(difficulty - 0.5), np.sign(rivals - own))
    turned = judge_votes(counts[:, ::-1], (n_classes - 1 - labels).astype(np.uint16))
    np.testing.assert_array_equal(turned, difficulty)


def test_judge_votes_judges_rows_in_batches(monkeypatch):
    rng = np.random.default_rng(0)
    counts, labels = rng.integers(0, 50, (100, 3)), rng.integers(0, 3, 100).astype(np.uint16)
    expected = judge_votes(counts, labels)
    monkeypatch.setattr(difficulty, "BATCH_ROWS", 7)
    np.testing.assert_array_equal(judge_votes(counts, labels), expected)


def test_judge_votes_trusts_many_votes_more_than_few():
    counts = np.array([[0, 0], [0, 1], [0, 10], [0, 60_000], [60_000, 0]], dtype=np.uint16)
    difficulty = judge_votes(counts, np.zeros(5, dtype=np.uint16))
    np.testing.assert_allclose(difficulty, [1 / 2, 2 / 3, 11 / 12, 60001 / 60002, 1 / 60002])


@pytest.mark.parametrize(
    ("residuals", "weights", "expected"),
    [
        ([-1.0, 2.0, 6.0], None, [1 / 3, 1 / 2, 3 / 4]),
        ([1.0, 2.0, 6.0], [1.0, 1.0, 5.0], [1 / 7, 1 / 4, 1 / 2]),
        ([0.0, 0.0, 0.0, 4.0], None, [0.0, 0.0, 0.0, 4 / 5]),
        ([0.0, 0.0], None, [0.0, 0.0]),
        ([np.nan, 1.0, 3.0], None, [0.5, 1 / 3, 3 / 5]),
        ([np.nan, np.nan], None, [0.5, 0.5]),
        ([1e100, 1e-300, 1e100], None, [0.5, 0.0, 0.5]),
    ],
    ids=["beside the median", "weights", "median of zero", "all exact", "an unseen row", "all unseen", "extremes"],
)
def test_judge_residuals(residuals, weights, expected):
    weights = None if weights is None else np.array(weights)
    np.testing.assert_allclose(judge_residuals(np.array(residuals), weights), expected, atol=1e-300)


def test_judge_shares_compares_the_label_with_its_strongest_rival():
    shares = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(judge_shares(shares, np.array([2, 0, 0], dtype=np.uint16)), [0.625, 1.0, 0.0])
    assert judge_shares(np.zeros((1, 2)), np.array([0], dtype=np.uint16)).tolist() == [0.5]
