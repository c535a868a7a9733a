"""Confidence intervals of scores: as wide as scores of new rows differ."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, r2_score

from mpboost.outputs.calibration import VoteCalibration
from mpboost.outputs.intervals import count_effective, estimate_interval
from mpboost.outputs.metrics import Metric
from mpboost.outputs.predictions import ConstantClass, NumberPredictions, VotePredictions

CLASSES = np.array([0, 1])


def make_votes(n_rows, seed, n_learners=20):
    """Draw labels, and votes that are right more often than not."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n_rows)
    votes = rng.binomial(n_learners, np.where(codes == 1, 0.58, 0.42))
    calibration = VoteCalibration([3.0, 3.0])
    counts = np.column_stack([n_learners - votes, votes])
    return VotePredictions(counts, np.array([0, 1], dtype=np.uint16), lambda: calibration), codes


def make_numbers(n_rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    return NumberPredictions(y + 0.5 * rng.standard_t(8, size=n_rows)), y


@pytest.mark.parametrize(
    ("scoring", "make"),
    [
        *((name, make_votes) for name in ("accuracy", "log_loss", "balanced_accuracy", "roc_auc", "average_precision")),
        ("neg_brier_score", make_votes),
        *((name, make_numbers) for name in ("r2", "absolute_error", "squared_error", "neg_root_mean_squared_error")),
    ],
)
@pytest.mark.parametrize("n_rows", [60, 600])
def test_interval_holds_the_score_of_many_rows_about_as_often_as_it_says(scoring, make, n_rows):
    metric = Metric(scoring, CLASSES if make is make_votes else None)
    truth = metric.compute(*make(200_000, 0), None)
    held = []
    for seed in range(1, 201):
        predictions, labels = make(n_rows, seed)
        low, high = estimate_interval(metric, metric.compute(predictions, labels, None), predictions, labels, None)
        held.append(low <= truth <= high)
    assert 0.88 <= np.mean(held) <= 0.99


def test_interval_of_accuracy_is_that_of_wilson():
    predictions, codes = make_votes(100, 0)
    metric = Metric("accuracy", CLASSES)
    low, high = estimate_interval(metric, 0.9, predictions, codes, None)
    assert (low, high) == pytest.approx((0.826, 0.945), abs=5e-4)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "roc_auc"])
def test_interval_of_a_perfect_share_has_a_width(scoring):
    codes = np.repeat([0, 1], 20)
    counts = np.where(codes[:, None] == CLASSES, 9, 0)
    predictions = VotePredictions(counts, np.array([0, 1], dtype=np.uint16), lambda: VoteCalibration([1.0, 1.0]))
    low, high = estimate_interval(Metric(scoring, CLASSES), 1.0, predictions, codes, None)
    assert 0.85 < low < 0.95
    assert high == 1.0


@pytest.mark.parametrize("scoring", ["r2", "absolute_error", "neg_root_mean_squared_error"])
def test_interval_counts_rows_of_weight_zero_as_none(scoring):
    predictions, y = make_numbers(400, 0)
    metric, weights = Metric(scoring, None), np.repeat([1.0, 0.0], 200)
    half = NumberPredictions(predictions.predict()[:200])
    expected = estimate_interval(metric, metric.compute(half, y[:200], None), half, y[:200], None)
    found = estimate_interval(metric, metric.compute(predictions, y, weights), predictions, y, weights)
    np.testing.assert_allclose(found, expected, rtol=0.4 if "root" in scoring else 1e-9)


def test_interval_of_many_rows_is_estimated_on_a_sample(monkeypatch):
    predictions, codes = make_votes(6000, 0)
    metric = Metric("f1", CLASSES)
    score = metric.compute(predictions, codes, None)
    assert score == pytest.approx(f1_score(codes, predictions.predict()))
    whole = estimate_interval(metric, score, predictions, codes, None)
    monkeypatch.setattr("mpboost.outputs.intervals.MAX_ROWS", 2000)
    sampled = estimate_interval(metric, score, predictions, codes, None)
    assert sampled != whole
    assert np.diff(sampled) == pytest.approx(np.diff(whole), rel=0.5)


def test_interval_of_r2_does_not_exceed_one():
    y = np.linspace(0, 1, 5)
    predictions = NumberPredictions(y + 0.1 * (y == 1))
    metric = Metric("r2", None)
    low, high = estimate_interval(metric, r2_score(y, predictions.predict()), predictions, y, None)
    assert low < high == 1.0


@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_interval_of_an_unknown_score_is_unknown(score):
    predictions, y = make_numbers(50, 0)
    assert np.isnan(estimate_interval(Metric("r2", None), score, predictions, y, None)).all()


def test_interval_of_one_row_is_unknown():
    predictions, y = make_numbers(1, 0)
    assert np.isnan(estimate_interval(Metric("absolute_error", None), -1.0, predictions, y, None)).all()


def test_interval_is_unknown_if_a_metric_fails_without_some_rows():
    def fail_on_less(y, predicted, weights):
        if len(y) < 50:
            raise ValueError("too few")
        return 0.5

    predictions, y = make_numbers(50, 0)
    assert np.isnan(estimate_interval(Metric(fail_on_less, None), 0.5, predictions, y, None)).all()


@pytest.mark.parametrize(("weights", "expected"), [(np.ones(5), 5), (np.full(5, 1e300), 5), (np.eye(5)[0], 1)])
def test_count_effective_counts_equal_weights_as_rows(weights, expected):
    assert count_effective(5, weights) == pytest.approx(expected)


def test_constant_class_is_the_largest_one():
    constant = ConstantClass(np.array([1.0, 3.0]), 4)
    assert constant.predict().tolist() == [1] * 4
    assert constant.estimate().tolist() == [[0.25, 0.75]] * 4
    assert Metric("roc_auc", CLASSES).compute(constant, np.array([0, 1, 1, 1]), None) == 0.5
