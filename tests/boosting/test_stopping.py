"""Stopping rules: Algorithm 2 by hand and against a transcription, patience by tables; what a stopped fit leaves."""

import math

import numpy as np
import pytest

from mpboost import PAPER, MPBoostClassifier
from mpboost.boosting.stopping import NoStopping, PaperStopping, PatienceStopping, make_stopping
from tests.support.helpers import StopAt
from tests.support.stopping_oracle import follow_algorithm_2


def follow(rule, scores):
    """Feed scores until the rule halts; return the iteration that it halts at (None if never) and its best one."""
    for t, score in enumerate(scores, start=1):
        if rule.halts(t, score):
            return t, rule.best_iteration
    return None, rule.best_iteration


# N = 8: log N = 2.08, so A has 3 entries and v must reach 3. n = 4: gamma = 1 + log(4) / 8 = 1.173.
GAMMA = 1.0 + math.log(4) / 8

# Each case lists what Algorithm 2 does at each t: A before the step -> v after it.
PAPER_CASES = [
    # t=1..3: min(A) is 0, so v stays 0 and A fills up. t=4,5,6: 0.5 < 0.587, v = 1, 2, 3. t=7: v = 3 > 2.08, halt.
    # Only t=1 exceeded max(A).
    pytest.param([0.5] * 20, (7, 1), id="constant: three to fill A, three stalls, halt at the seventh"),
    # As above, but step 1 comes before step 2: the halting iteration is the best one if it has the best score.
    pytest.param([0.5] * 6 + [0.9], (7, 7), id="best score at the halting iteration counts"),
    # t=6 has 0.5 < 0.587 no longer: 0.9 resets v to 0 and gives A = [0.9, 0.5, 0.5]. Then t=7,8,9 stall (v = 1, 2, 3)
    # and t=10 halts.
    pytest.param([0.5] * 5 + [0.9] + [0.5] * 10, (10, 6), id="progress sets the stalls back to zero"),
    # 0.58 < 0.587: no progress, although it is a new maximum. T moves, v does not go back: t=4,5,6 stall, t=7 halts.
    # A is [0.5, 0.5, 0.58] after t=4, so min(A) stays 0.5.
    pytest.param([0.5, 0.5, 0.5, 0.58, 0.5, 0.5, 0.5], (7, 4), id="a new maximum below gamma min(A) stalls"),
    # gamma * min(A) itself is not less than itself: v = 0 at t=4. A = [g, 0.5, 0.5]; stalls at t=5,6,7; halt at t=8.
    pytest.param([0.5, 0.5, 0.5, GAMMA * 0.5] + [0.5] * 9, (8, 4), id="exactly gamma min(A) is progress"),
    # min(A) is 0 for ever: 0 < gamma * 0 is false, v never grows; 0 > max(A) is false, T keeps its first value.
    pytest.param([0.0] * 50, (None, 1), id="all zero: never a stall, T stays 1"),
    # Each score is 1.2 times the one before, and min(A) is two scores back: always progress.
    pytest.param([0.001 * 1.2**t for t in range(30)], (None, 30), id="growth by 1.2 goes on"),
    # Scores fall: t=1..3 fill A = [0.9, 0.8, 0.7]; t=4: 0.6 < 0.82, v=1; t=5: v=2; t=6: v=3; t=7 halts.
    pytest.param([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], (7, 1), id="falling scores"),
    # A keeps the three largest, not the last three. t=1..3: A = [0.1, 0.5, 0.5]. t=4: 0.5 >= 0.117, v=0, 0.5 replaces
    # 0.1. t=5,6,7 stall against 0.587; halt at t=8.
    pytest.param([0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], (8, 2), id="the smallest entry of A is replaced"),
    # t=4: 0.2 is not above min(A) = 0.5 and must not enter A: else min(A) would be 0.2, and 0.5 no stall.
    pytest.param([0.5, 0.5, 0.5, 0.2, 0.5, 0.5, 0.5], (7, 1), id="scores below min(A) stay out of A"),
]


@pytest.mark.parametrize(("scores", "expected"), PAPER_CASES)
def test_paper_stopping_follows_algorithm_2_by_hand(scores, expected):
    assert follow(PaperStopping(n_samples=8, patch_size=4), scores) == expected


@pytest.mark.parametrize(
    ("n_samples", "patch_size", "expected"),
    [
        # log 2 = 0.69: one entry, v must exceed 0.69. t=1 fills, t=2 stalls (v=1), t=3 halts.
        pytest.param(2, 2, 3, id="N=2: one entry, one stall"),
        # log 7 = 1.95: two entries and v >= 2. t=1,2 fill, t=3,4 stall, t=5 halts.
        pytest.param(7, 2, 5, id="N=7: two entries, two stalls"),
        # log 20 = 2.996: three entries and v >= 3: halt at t=7.
        pytest.param(20, 2, 7, id="N=20: three entries, three stalls"),
        # log 21 = 3.04: four entries and v >= 4: t=1..4 fill, t=5..8 stall, t=9 halts.
        pytest.param(21, 2, 9, id="N=21: four entries, four stalls"),
        # log 11982 = 9.39: ten entries, ten stalls, halt at t=21.
        pytest.param(11_982, 500, 21, id="N=11982: ten entries, ten stalls"),
        # n = 1: gamma = 1, and 0.5 < 0.5 is false: a constant score is progress enough, for ever.
        pytest.param(20, 1, None, id="n=1: gamma is 1"),
    ],
)
def test_paper_stopping_measures_stalls_by_log_n(n_samples, patch_size, expected):
    assert follow(PaperStopping(n_samples, patch_size), [0.5] * 100)[0] == expected


@pytest.mark.slow
@pytest.mark.parametrize(("N", "n"), [(2, 2), (8, 4), (20, 5), (300, 40), (12_000, 500)])
def test_paper_stopping_matches_a_transcription(N, n):
    rng = np.random.default_rng(N)
    halted = 0
    for _ in range(200):
        # Curves that rise towards a ceiling, in whole numbers of rows, more or less noisy.
        t = np.arange(1, 200)
        curve = rng.uniform(0.5, 1.0) * (1 - np.exp(-t / rng.uniform(1, 60)))
        noise = rng.normal(scale=rng.uniform(0, 0.05), size=len(t))
        scores = np.round(np.clip(curve + noise, 0, 1) * N) / N
        expected = follow_algorithm_2(scores, N, n)
        assert follow(PaperStopping(N, n), scores) == expected
        halted += expected[0] is not None
    assert halted > 20


# Patience 4: the best iteration is sought from iteration 2 on.
PATIENCE_CASES = [
    pytest.param([0.5, 0.6, 0.7, 0.8, 0.9], (None, 5), id="growing"),
    pytest.param([0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6], (6, 2), id="equal is not better: halts 4 after the best"),
    pytest.param([0.5, 0.6, 0.5, 0.5, 0.5, 0.5, 0.61], (6, 2), id="better in the fifth after the best is too late"),
    pytest.param([0.5, 0.6, 0.5, 0.5, 0.5, 0.61] + [0.5] * 5, (10, 6), id="better in the fourth is in time"),
    pytest.param([0.9, 0.5, 0.6, 0.5, 0.5, 0.5, 0.5], (7, 3), id="a lucky first iteration is not the best"),
    pytest.param([0.9, 0.5], (None, 2), id="the best among the first ones is the last of them"),
    pytest.param([0.9], (None, 1), id="one iteration"),
    pytest.param([0.0] * 10, (6, 2), id="all zero"),
]


@pytest.mark.parametrize(("scores", "expected"), PATIENCE_CASES)
def test_patience_stopping_follows_the_table(scores, expected):
    assert follow(PatienceStopping(4), scores) == expected


@pytest.mark.parametrize(
    ("patience", "expected"),
    [
        pytest.param(1, (2, 1), id="1: the first iteration counts"),
        pytest.param(2, (3, 1), id="2: the first iteration counts"),
        pytest.param(3, (4, 1), id="3: the first iteration counts"),
        pytest.param(10, (15, 5), id="10: sought from 5 on"),
        pytest.param(100, (150, 50), id="100: sought from 50 on"),
    ],
)
def test_patience_stopping_seeks_the_best_after_half_its_patience(patience, expected):
    assert follow(PatienceStopping(patience), np.linspace(0.9, 0.1, 300)) == expected


# Patience 10: the best iteration is sought from iteration 5 on, by the mean of the last two scores.
MEAN_CASES = [
    # 0.9 makes two means of 0.7; the first one counts. Halts 10 later.
    pytest.param([0.5] * 5 + [0.9] + [0.5] * 20, (16, 6), id="a lucky score counts half, and the first mean of equals"),
    # Means 0.5 at 5, 0.6 at 6 and 8, and 0.65 at 9.
    pytest.param([0.5] * 5 + [0.7, 0.5, 0.7, 0.6] + [0.5] * 20, (19, 9), id="two good scores beat a better one"),
    # At 5 the mean is of iterations 4 and 5: a score from before the search still counts in it.
    pytest.param([0.1, 0.1, 0.1, 0.9, 0.5, 0.8, 0.5, 0.8] + [0.5] * 20, (15, 5), id="the window reaches back"),
    # The mean of iterations 5 and 6 is 0.6; no other mean exceeds it.
    pytest.param([0.9, 0.9, 0.9, 0.2, 0.4, 0.8, 0.4, 0.8] + [0.3] * 20, (16, 6), id="equal means are not better"),
    pytest.param([0.01 * t for t in range(40)], (None, 40), id="growing"),
    pytest.param([0.9, 0.1, 0.5], (None, 3), id="the best among the first ones is the last of them"),
]


@pytest.mark.parametrize(("scores", "expected"), MEAN_CASES)
def test_patience_stopping_watches_the_mean_of_the_last_scores(scores, expected):
    assert follow(PatienceStopping(10), scores) == expected


@pytest.mark.parametrize(("patience", "window"), [(1, 1), (4, 1), (9, 1), (10, 2), (14, 2), (15, 3), (100, 20)])
def test_patience_stopping_takes_the_mean_of_a_fifth_of_its_patience(patience, window):
    # One score of 1 among zeros makes a mean of 1 / window. As it leaves the window, scores settle at a level that is a
    # little lower, or higher: with a longer window the lower ones would win, with a shorter one none.
    first = max(1, patience // 2)
    lower, higher = np.zeros((2, 300))
    lower[first - 1] = higher[first - 1] = 1.0
    lower[first + window - 1 :], higher[first + window - 1 :] = 0.99 / window, 1.01 / window
    assert follow(PatienceStopping(patience), lower) == (first + patience, first)
    assert follow(PatienceStopping(patience), higher)[1] > first


def test_patience_stopping_of_losses_may_be_best_at_once():
    losses = [3.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    assert follow(PatienceStopping(4, window=1, burn_in=0), [-loss for loss in losses]) == (6, 2)
    assert follow(PatienceStopping(4, window=2, burn_in=0), [-loss for loss in losses]) == (7, 3)  # means 3, 2, 1.5, 2


def test_patience_stopping_matches_a_plain_search():
    rng = np.random.default_rng(0)
    halted = 0
    for _ in range(200):
        patience = int(rng.integers(1, 30))
        scores = np.round(rng.random(150).cumsum() / np.arange(1, 151), 2)
        first, window = max(1, patience // 2), max(1, patience // 5)
        means = [math.fsum(scores[max(0, t - window) : t]) / min(t, window) for t in range(1, 151)]
        for t in range(1, 151):
            best = t if t <= first else first + int(np.argmax(means[first - 1 : t]))
            expected = (None, best)
            if t - best >= patience:
                expected = (t, best)
                break
        assert follow(PatienceStopping(patience), scores) == expected
        halted += expected[0] is not None
    assert halted > 100


def test_no_stopping_never_halts_and_cuts_nothing():
    assert follow(NoStopping(), [0.9] + [0.1] * 1000) == (None, None)


@pytest.mark.parametrize(
    ("kind", "rule"), [("paper", PaperStopping), ("patience", PatienceStopping), (None, NoStopping)]
)
def test_make_stopping_makes_the_rule_that_is_named(kind, rule):
    assert type(make_stopping(kind, 100, 10, 5, "score")) is rule


def test_make_stopping_passes_its_numbers_on():
    assert follow(make_stopping("paper", 8, 4, 1, "score"), [0.5] * 20) == (7, 1)
    assert follow(make_stopping("patience", 8, 4, 3, "score"), [0.5, 0.4, 0.3, 0.2, 0.1]) == (4, 1)
    assert (
        make_stopping("patience", 8, 4, 3, "validation score").reason == "no better validation score for 3 iterations"
    )


def test_make_stopping_averages_fewer_scores_if_they_are_computed_less_often():
    scores = [0.1, 0.2, 0.9, 0.8]
    means = make_stopping("patience", 8, 4, 25, "score")
    single = make_stopping("patience", 8, 4, 25, "score", every=5)
    assert [rule.halts(t, score) for rule in (means, single) for t, score in enumerate(scores, 26)] == [False] * 8
    assert (means.best_iteration, single.best_iteration) == (29, 28)


@pytest.mark.parametrize(("relative", "absolute"), [(0.01, 0.0), (0.0, 0.01)], ids=["relative", "absolute"])
def test_patience_stopping_is_not_prolonged_by_tiny_gains(relative, absolute):
    scores = 1.0 + 0.0001 * np.arange(400)
    patient = PatienceStopping(20, window=1, burn_in=0)
    assert follow(patient, scores) == (None, 400)
    strict = PatienceStopping(20, window=1, burn_in=0, relative_tolerance=relative, tolerance=absolute)
    assert follow(strict, scores) == (21, 21)  # the model is still cut to the best iteration
    steep = 1.0 + 0.001 * np.arange(400)
    strict = PatienceStopping(20, window=1, burn_in=0, relative_tolerance=relative, tolerance=absolute)
    assert follow(strict, steep) == (None, 400)


@pytest.mark.parametrize("value", [0.7, 1.0])
def test_patience_stopping_ends_if_the_score_settles(value):
    rule = PatienceStopping(20, "accuracy", settled_after=10)
    scores = [*np.linspace(0.1, 0.6, 5), *[value] * 100]
    n_done = next(t for t, score in enumerate(scores, 1) if rule.halts(t, score, is_perfect=score == 1.0))
    assert n_done == 15 if value == 1.0 else 16
    assert rule.reason == ("a perfect accuracy" if value == 1.0 else "the accuracy no longer changes")


def test_patience_stopping_ends_if_the_score_is_perfect_while_the_loss_falls():
    rule = PatienceStopping(20, "loss", window=1, burn_in=0, settled_after=10)
    losses = 1.0 / np.arange(1, 100)
    n_done = next(t for t, loss in enumerate(losses, 1) if rule.halts(t, -loss, is_perfect=t > 30))
    assert (n_done, rule.best_iteration) == (40, 40)


# What a stopped fit leaves


def test_stop_reason_names_the_limit(cancer):
    model = MPBoostClassifier(n_estimators=12, random_state=0).fit(*cancer)
    assert "n_estimators" in model.stop_reason_
    assert model.n_iter_ == 12


def test_stopping_by_patience_waits_that_long_after_the_best(cancer):
    model = MPBoostClassifier(n_iter_no_change=15, round_size=1, random_state=0).fit(*cancer)
    assert "15 iterations" in model.stop_reason_
    assert model.n_iter_ - model.best_iteration_ == 15
    assert model.n_iter_ < 1000


def test_stopping_by_patience_keeps_the_first_best_after_the_early_iterations(cancer):
    model = MPBoostClassifier(n_iter_no_change=30, random_state=0).fit(*cancer)
    early, window = 15, 6
    means = [math.fsum(model.oop_scores_[t - window : t]) / window for t in range(early, model.n_iter_ + 1)]
    assert model.best_iteration_ == early + np.argmax(means)


def test_stopping_of_the_paper_keeps_the_first_best(cancer):
    model = MPBoostClassifier(**PAPER, max_samples=60, max_features=5, random_state=0).fit(*cancer)
    assert "Algorithm 2" in model.stop_reason_
    assert model.n_iter_ < 1000
    assert model.best_iteration_ == 1 + np.argmax(model.oop_scores_)


def test_stopping_by_a_callback_names_it(cancer):
    model = MPBoostClassifier(callbacks=[StopAt(7)], random_state=0).fit(*cancer)
    assert model.stop_reason_ == "stopped by StopAt"
    assert model.n_iter_ == 7


def test_stopping_none_keeps_all_learners(cancer):
    model = MPBoostClassifier(n_estimators=150, n_iter_no_change=5, stopping=None, random_state=0).fit(*cancer)
    assert (model.n_iter_, model.best_iteration_) == (150, 150)


@pytest.mark.parametrize("n_iter_no_change", [1, 2, 3, 10, 40])
def test_stopping_cuts_a_longer_run_to_the_same_model(cancer, n_iter_no_change):
    X, y = cancer
    stopped = MPBoostClassifier(n_iter_no_change=n_iter_no_change, random_state=0).fit(X, y)
    assert stopped.best_iteration_ < stopped.n_iter_
    full = MPBoostClassifier(n_estimators=stopped.best_iteration_, stopping=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(stopped.decision_function(X), full.decision_function(X))
    np.testing.assert_array_equal(stopped.feature_probabilities_, full.feature_probabilities_)
    np.testing.assert_array_equal(stopped.feature_importances_, full.feature_importances_)
    np.testing.assert_array_equal(stopped.observation_probabilities_, full.observation_probabilities_)


@pytest.mark.parametrize("score", [-1.7e308, -math.inf], ids=["lowest", "infinite"])
def test_patience_stopping_bears_scores_whose_sum_overflows(score):
    rule = PatienceStopping(10, window=4, burn_in=0)
    assert follow(rule, [score] * 5 + [0.5] * 20) == (19, 9)
