"""Weights of the classifier: of classes, and in p; support/battery/weights.py has what every estimator must meet."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from mpboost import MPBoostClassifier, MPGradientBoostingClassifier
from tests.support.battery import CLASSIFIER
from tests.support.helpers import as_votes

make = CLASSIFIER.make


def make_unbalanced(n_samples=600, seed=0):
    """Make two classes that overlap, one of them a tenth of the rows."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_samples) < 0.1).astype(int)
    return rng.normal(size=(n_samples, 3)) + 1.2 * y[:, None], y


CLASS_WEIGHTS = {"balanced": "balanced", "dict": {0: 1.0, 1: 7.0}, "half-a-dict": {1: 7.0}}


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS.values(), ids=CLASS_WEIGHTS.keys())
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3)], ids=["native", "scikit-learn"])
def test_class_weight_trains_like_the_same_weights_of_rows(class_weight, estimator):
    X, y = make_unbalanced()
    weights = compute_sample_weight(class_weight, y)
    model = make(estimator=estimator, class_weight=class_weight, stopping=None).fit(X, y)
    expected = make(estimator=estimator, stopping=None).fit(X, y, sample_weight=weights)
    assert_same_training(model, expected, X)


def test_class_weight_multiplies_sample_weight():
    X, y = make_unbalanced()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    model = make(class_weight={0: 1.0, 1: 4.0}, stopping=None).fit(X, y, sample_weight=weights)
    expected = make(stopping=None).fit(X, y, sample_weight=np.where(y == 1, 4.0, 1.0) * weights)
    assert_same_training(model, expected, X)


def assert_same_training(model, expected, X):
    for name in ("observation_probabilities_", "feature_probabilities_", "oop_decision_function_", "oop_counts_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize("cls", [MPBoostClassifier, MPGradientBoostingClassifier])
@pytest.mark.parametrize("has_weights", [False, True], ids=["plain", "weights"])
def test_class_weight_is_no_part_of_the_scores(cls, has_weights):
    X, y = make_unbalanced()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X)) if has_weights else None
    model = cls(n_estimators=60, class_weight="balanced", random_state=0).fit(X, y, sample_weight=weights)
    judged = np.flatnonzero(model.oop_counts_)
    is_right = np.sign(model.oop_decision_function_[judged]) == 2 * y[judged] - 1  # votes at a tie count as wrong
    expected = np.average(is_right, weights=None if weights is None else weights[judged])
    assert model.oop_scores_[model.best_iteration_ - 1] == pytest.approx(expected, rel=1e-12)


def test_class_weight_does_not_end_training_at_once():
    # The weighted score and loss have their best after a few learners: a few rows decide them.
    X, y = make_classification(
        6000, 15, n_informative=8, n_clusters_per_class=3, weights=[0.98], flip_y=0.0, random_state=0
    )
    for cls, least in ((MPBoostClassifier, 100), (MPGradientBoostingClassifier, 200)):
        model = cls(class_weight="balanced", random_state=0).fit(X[:3000], y[:3000])
        assert model.best_iteration_ > least
        assert model.oop_score_ == pytest.approx(model.score(X[3000:], y[3000:]), abs=0.01)


def test_class_weight_balances_the_rows_that_weigh_something():
    X, y = make_unbalanced()
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    there = weights > 0
    model = make(class_weight="balanced").fit(X, y, sample_weight=weights)
    expected = make(class_weight="balanced").fit(X[there], y[there])
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_class_weight_names_classes_by_their_labels():
    X, y = make_unbalanced()
    model = make(class_weight={"rare": 5.0}).fit(X, np.array(["common", "rare"])[y])
    np.testing.assert_array_equal(
        model.decision_function(X), make(class_weight={1: 5.0}).fit(X, y).decision_function(X)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [{"learning_rate": 0.03}, {"weighting": "hard_logistic"}, {"adaptive_observations": False}],
    ids=["small-learning-rate", "hard-weighting", "uniform"],
)
def test_class_weight_moves_recall(parameters):
    # At a learning rate of 1 a weight is made up for by log(weight) votes out of hundreds, and hardly moves anything.
    data, (X, y) = make_unbalanced(2000), make_unbalanced(2000, seed=1)
    parameters = {"n_estimators": 200, "max_samples": 200, **parameters}
    models = [make(class_weight=each, **parameters).fit(*data) for each in (None, "balanced", {1: 0.2})]
    plain, balanced, timid = (recall_score(y, model.predict(X)) for model in models)
    assert balanced > plain + 0.1
    assert timid < plain - 0.05


@pytest.mark.parametrize(
    ("class_weight", "word"),
    [({1: -1.0}, "negative"), ({1: np.nan}, "finite"), ({1: np.inf}, "finite"), ({0: 0.0}, "one class")],
    ids=["negative", "nan", "infinite", "class-without-weight"],
)
def test_class_weight_that_is_no_weight_is_refused(class_weight, word):
    with pytest.raises(ValueError, match=word):
        make(class_weight=class_weight).fit(*make_unbalanced())


def test_sample_weight_must_leave_two_classes():
    X, y = make_unbalanced()
    with pytest.raises(ValueError, match="one class"):
        make().fit(X, y, sample_weight=y)


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "uniform"])
def test_observation_probabilities_are_weights_times_weighting(adaptive):
    X, y = make_unbalanced()
    weights = np.random.default_rng(0).uniform(0.0, 3.0, size=len(X))
    weights[::10] = 0.0
    model = make(learning_rate=0.3, adaptive_observations=adaptive).fit(X, y, sample_weight=weights)
    margins = np.where(y == 1, 1, -1) * 0.3 * as_votes(model.decision_function(X), 0.3)
    expected = weights / (1.0 + np.exp(margins)) if adaptive else weights
    np.testing.assert_allclose(model.observation_probabilities_, expected / expected.sum(), rtol=1e-9)


def test_tie_goes_to_the_class_of_more_weight():
    # Patches of one row give constant learners; two of them, of different classes, are a tie.
    X, y = np.zeros((40, 1)), np.arange(40) % 4 == 0
    for weights, expected in ((None, False), (np.where(y, 10.0, 1.0), True)):
        n_ties = 0
        for seed in range(40):
            model = MPBoostClassifier(n_estimators=2, max_samples=1, stopping=None, random_state=seed)
            if model.fit(X, y, sample_weight=weights).predict_vote_share(X[:1])[0, 0] == 0.5:
                n_ties += 1
                assert model.predict(X[:1]).tolist() == [expected]
        assert n_ties > 5


@pytest.mark.parametrize("weak", [None, DecisionTreeClassifier(max_depth=2)], ids=["native", "scikit-learn"])
def test_weights_reach_a_learner_that_sees_all_rows(weak):
    # With all rows in every patch p decides nothing: only weights in training can make the difference.
    X, y = np.zeros((40, 1)), np.arange(40) % 4 == 0
    for weights, expected in ((None, False), (np.where(y, 10.0, 1.0), True)):
        model = MPBoostClassifier(weak, n_estimators=3, max_samples=1.0, stopping=None, random_state=0)
        assert model.fit(X, y, sample_weight=weights).predict(X[:1]).tolist() == [expected]
