"""Metrics are the numbers of scikit-learn's scorers, computed from predictions that are known already."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import (
    average_precision_score,
    fbeta_score,
    get_scorer,
    log_loss,
    make_scorer,
    roc_auc_score,
)

from mpboost.outputs.metrics import SHORT_NAMES, Metric, check_scoring, name_score, name_scoring
from mpboost.outputs.predictions import NumberPredictions, VotePredictions
from mpboost.outputs.quick_metrics import choose_quick_metric
from mpboost.tasks.losses import RawPredictions

N = 300
RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(0.1, 3.0, N)
OF_CLASSES = ["accuracy", "balanced_accuracy", "neg_log_loss", "neg_brier_score", "f1_macro", "matthews_corrcoef"]
OF_TWO_CLASSES = ["roc_auc", "average_precision", "f1", "recall"]
OF_NUMBERS = [
    "r2",
    "neg_mean_absolute_error",
    "neg_mean_squared_error",
    "neg_root_mean_squared_error",
    "neg_median_absolute_error",
]


class Known(ClassifierMixin, BaseEstimator):
    """A classifier that knows its log odds."""

    def __init__(self, raw, classes):
        self.raw, self.classes_ = raw, np.asarray(classes)

    def predict(self, X):
        return self.classes_[RawPredictions("log_loss", self.raw).predict()]

    def decision_function(self, X):
        return self.raw

    def predict_proba(self, X):
        return RawPredictions("log_loss", self.raw).estimate()


def make_raw(n_classes):
    codes = RNG.integers(0, n_classes, N)
    if n_classes == 2:
        return codes, np.round(RNG.normal(size=N) + 2 * codes - 1, 1)  # ties
    return codes, RNG.normal(size=(N, n_classes)) + 2.0 * np.eye(n_classes)[codes]


weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


@weighted
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", [*OF_CLASSES, *OF_TWO_CLASSES])
def test_metric_of_classes_is_that_of_scikit_learn(name, n_classes, weights):
    if n_classes > 2 and name in (*OF_TWO_CLASSES, "neg_brier_score"):
        pytest.skip("for two classes")
    codes, raw = make_raw(n_classes)
    labels = codes.astype(np.int8) * 2 - 1 if n_classes == 2 else codes.astype(np.uint16)
    score = Metric(name, np.arange(n_classes)).compute(RawPredictions("log_loss", raw), labels, weights)
    model = Known(raw, np.arange(n_classes))
    expected = get_scorer(name)(model, np.empty((N, 0)), codes, sample_weight=weights)
    assert score == pytest.approx(expected, rel=1e-12)


@weighted
def test_metric_of_many_classes_is_the_mean_over_the_classes(weights):
    codes, raw = make_raw(4)
    predictions, is_class = RawPredictions("log_loss", raw), np.eye(4)[codes]
    probabilities = predictions.estimate()
    found = [
        Metric(name, np.arange(4)).compute(predictions, codes.astype(np.uint16), weights)
        for name in ("roc_auc_ovr", "average_precision_ovr", "neg_brier_score")
    ]
    expected = [
        roc_auc_score(is_class, probabilities, sample_weight=weights),
        average_precision_score(is_class, probabilities, sample_weight=weights),
        -np.average(((probabilities - is_class) ** 2).sum(axis=1), weights=weights),
    ]
    assert found == pytest.approx(expected, rel=1e-12)


@weighted
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_metric_of_numbers_is_that_of_scikit_learn(name, weights):
    y = RNG.normal(size=N)
    predicted = y + RNG.normal(size=N)

    class Numbers(RegressorMixin, BaseEstimator):
        def predict(self, X):
            return predicted

    expected = get_scorer(name)(Numbers(), np.empty((N, 0)), y, sample_weight=weights)
    assert Metric(name, None).compute(NumberPredictions(predicted), y, weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "neg_log_loss"])
def test_metric_takes_text_as_classes_with_the_last_one_positive(name):
    codes, raw = make_raw(2)
    signs = (2 * codes - 1).astype(np.int8)
    scores = [
        Metric(name, np.array(c)).compute(RawPredictions("log_loss", raw), signs, None) for c in ([0, 1], ["a", "b"])
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_metric_of_rows_without_positives_is_nan(name):
    metric = Metric(name, np.array([0, 1]))
    assert np.isnan(metric.compute(RawPredictions("log_loss", np.zeros(3)), np.full(3, -1, dtype=np.int8), None))


def test_metric_of_no_rows_is_nan():
    assert np.isnan(Metric("r2", None).compute(NumberPredictions(np.empty(0)), np.empty(0), None))


@weighted
def test_metric_calls_a_function_with_labels_predictions_and_weights(weights):
    seen = []

    def count(y, predicted, given):
        seen.append((y, predicted, given))
        return 7

    codes = np.array([0, 1, 1])
    metric = Metric(count, np.array(["no", "yes"]))
    given = None if weights is None else weights[:3]
    assert metric.compute(RawPredictions("log_loss", np.array([-1.0, 2.0, -3.0])), codes, given) == 7.0
    y, predicted, got = seen[0]
    assert y.tolist() == ["no", "yes", "yes"]
    assert predicted.tolist() == ["no", "yes", "no"]
    assert got is given
    assert metric.name == "count"


def test_metric_takes_scorers_of_scikit_learn():
    codes, raw = make_raw(2)
    classes = np.array(["no", "yes"])
    by_label = make_scorer(fbeta_score, beta=2, pos_label="no")
    by_probability = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")
    for scorer in (by_label, by_probability):
        expected = scorer(Known(raw, classes), np.empty((N, 0)), classes[codes])
        score = Metric(scorer, classes).compute(RawPredictions("log_loss", raw), codes.astype(np.uint16), None)
        assert score == pytest.approx(expected, rel=1e-12)


def test_metric_that_cannot_be_computed_says_so():
    y = RNG.normal(size=5)
    with pytest.raises(ValueError, match="scoring='accuracy' cannot be computed"):
        Metric("accuracy", None).compute(NumberPredictions(y), y, None)

    huge = np.array([1e300, -1e300, 0.5])  # scikit-learn casts them to integers, and numpy would warn
    with pytest.raises(ValueError, match="scoring='f1_macro' cannot be computed"):
        Metric("f1_macro", None).compute(NumberPredictions(huge), huge, None)

    def takes_no_weights(y, predicted):
        return 0.0

    with pytest.raises(TypeError, match="takes_no_weights"):
        Metric(takes_no_weights, None).compute(NumberPredictions(y), y, None)


@pytest.mark.parametrize(
    ("name", "best"), [("accuracy", 1.0), ("roc_auc_ovr", 1.0), ("log_loss", 0.0), ("max_error", np.inf)]
)
def test_metric_knows_its_best_value(name, best):
    name = "explained_variance" if name == "max_error" else name
    assert Metric(name, None if name == "explained_variance" else np.arange(2)).best == best


def test_short_names_are_those_of_scorers():
    for short, name in SHORT_NAMES.items():
        check_scoring(short)
        assert name_scoring(short) == name == name_score(short, are_classes=True)


def test_metric_that_is_too_large_for_a_float_says_so():
    def huge(y, predicted, weights):
        return 10**400

    with pytest.raises(ValueError, match="scoring='huge' cannot be computed"):
        Metric(huge, None).compute(NumberPredictions(np.zeros(5)), np.zeros(5), None)


def test_check_scoring_proposes_a_name():
    with pytest.raises(ValueError, match="Did you mean 'roc_auc'"):
        check_scoring("roc_aucc")
    with pytest.raises(ValueError, match="get_scorer_names"):
        check_scoring("xyzzy")


def test_quick_metrics_are_chosen_by_the_kind_of_labels():
    assert choose_quick_metric("accuracy", None) is None
    assert choose_quick_metric("r2", 2) is None
    assert choose_quick_metric("roc_auc", 2) is not None


def test_vote_predictions_compare_rows_with_different_numbers_of_votes():
    counts = np.array([[1, 3], [10, 30], [5, 5], [0, 1]])
    votes = VotePredictions(counts, np.array([0, 1], dtype=np.uint16), lambda: None)
    assert votes.decide().tolist() == [0.5, 0.5, 0.05, 1.0]
    assert votes.predict().tolist() == [1, 1, 1, 1]
    many = VotePredictions(np.array([[1, 3, 0], [10, 30, 0]]), np.arange(3, dtype=np.uint16), lambda: None)
    assert many.decide()[0].tolist() == many.decide()[1].tolist() == [0.25, 0.75, 0.0]
