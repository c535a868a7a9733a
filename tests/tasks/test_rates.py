"""The learning rate: fixed, or as much as the labels can bear."""

import numpy as np
import pytest

from mpboost.tasks.rates import (
    GAIN,
    MAX_AUTO_RATE,
    MAX_WRONG_SHARE,
    MIN_AUTO_RATE,
    N_WARM_UP,
    LearningRate,
    count_sides,
)
from tests.support.oracle import find_rate


def make_margins(n_wrong, n_right, n_ties=0):
    return np.repeat([-3, 2, 0], [n_wrong, n_right, n_ties]).astype(np.int32)


ALL_WRONG, ALL_RIGHT = make_margins(20, 0), make_margins(0, 20)


def adapt(rate, *patches):
    for margins in patches:
        rate.adapt(*count_sides(margins))
    return rate.value


@pytest.mark.parametrize("value", [1, 0.03, 1e-300, 1e6, np.float32(0.5)])
def test_learning_rate_that_is_fixed_stays(value):
    rate = LearningRate(value)
    assert (type(rate.value), rate.value) == (float, float(value))
    assert adapt(rate, *[ALL_WRONG] * 50, *[ALL_RIGHT] * 50) == value


def test_learning_rate_starts_at_the_largest():
    assert LearningRate("auto").value == MAX_AUTO_RATE


def test_learning_rate_waits_for_votes():
    rate = LearningRate("auto")
    assert adapt(rate, *[ALL_WRONG] * N_WARM_UP) == MAX_AUTO_RATE
    assert adapt(rate, ALL_WRONG) == pytest.approx(MAX_AUTO_RATE * (1 - GAIN * (1 - MAX_WRONG_SHARE)))


def test_learning_rate_falls_while_too_many_rows_are_wrong():
    rate = LearningRate("auto")
    patch = make_margins(45, 55)
    values = [adapt(rate, patch) for _ in range(100)]
    assert values[:N_WARM_UP] == [MAX_AUTO_RATE] * N_WARM_UP
    assert (np.diff(values[N_WARM_UP - 1 :]) < 0).all()
    # A constant share is its own mean: the rate falls by the same factor each time.
    factor = 1 - GAIN * (0.45 - MAX_WRONG_SHARE)
    assert values[-1] == pytest.approx(MAX_AUTO_RATE * factor ** (100 - N_WARM_UP), rel=1e-9)


def test_learning_rate_stays_where_the_share_is_just_right():
    patch = make_margins(round(1000 * MAX_WRONG_SHARE), round(1000 * (1 - MAX_WRONG_SHARE)))
    assert adapt(LearningRate("auto"), *[patch] * 100) == pytest.approx(MAX_AUTO_RATE, rel=1e-9)


def test_learning_rate_rises_again_but_not_above_the_largest():
    rate = LearningRate("auto")
    low = adapt(rate, *[ALL_WRONG] * 10)
    assert low < MAX_AUTO_RATE / 5
    values = np.array([adapt(rate, ALL_RIGHT) for _ in range(100)])
    turn = values.argmin()  # the share has a memory, so the rate falls on for a while
    assert 0 < turn < 20
    assert (np.diff(values[turn:]) >= 0).all()
    assert values[turn + 1] > values[turn]
    assert values[-1] == values.max() == MAX_AUTO_RATE


def test_learning_rate_has_a_floor():
    # Even where every row of every minipatch is wrong: a file could not hold a model whose votes weigh nothing.
    assert adapt(LearningRate("auto"), *[ALL_WRONG] * 5000) == MIN_AUTO_RATE


def test_learning_rate_counts_no_ties():
    with_ties, without = LearningRate("auto"), LearningRate("auto")
    for n_wrong in (9, 3, 8, 7, 6, 9, 2, 8, 9, 9, 10, 4):
        adapt(with_ties, make_margins(n_wrong, 10 - n_wrong, n_ties=500))
        adapt(without, make_margins(n_wrong, 10 - n_wrong))
    assert with_ties.value == without.value < MAX_AUTO_RATE


def test_learning_rate_ignores_minipatches_of_ties():
    # They are no part of the warm-up either: the first minipatches consist of rows without a vote.
    rate = LearningRate("auto")
    ties = make_margins(0, 0, 30)
    assert adapt(rate, *[ties, ALL_WRONG] * N_WARM_UP, ties, ties) == MAX_AUTO_RATE
    before = adapt(rate, *[ALL_WRONG] * 3)
    assert adapt(rate, ties, make_margins(0, 0)) == before < MAX_AUTO_RATE


def test_learning_rate_matches_a_transcription():
    rng = np.random.default_rng(0)
    for _ in range(20):
        rate, shares = LearningRate("auto"), []
        level = rng.uniform(0.2, 0.7)
        for _ in range(200):
            margins = np.where(rng.random(30) < level, -1, 1) * rng.integers(3, size=30)
            rate.adapt(*count_sides(margins))
            n_wrong, n_right = (margins < 0).sum(), (margins > 0).sum()
            shares.append(n_wrong / (n_wrong + n_right))
            assert rate.value == pytest.approx(find_rate(shares), rel=1e-12)
