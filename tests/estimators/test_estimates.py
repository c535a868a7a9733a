"""What fits say about new rows: corrected scores, intervals, and models that are no better than a constant."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mpboost import (
    PAPER,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)
from mpboost.outputs.votes import FEEDBACK, correct_votes

CLASSIFIERS = [MPBoostClassifier, MPGradientBoostingClassifier]
REGRESSORS = [MPBoostRegressor, MPGradientBoostingRegressor]
X, Y = make_classification(1200, 10, n_informative=5, flip_y=0.2, random_state=0)
NUMBERS = make_regression(600, 10, n_informative=5, noise=20.0, random_state=0)


def make(cls, **parameters):
    return cls(**{"n_estimators": 60, "random_state": 0, "n_jobs": 1} | parameters)


def get_data(cls):
    return (X, Y) if cls in CLASSIFIERS else NUMBERS


def read_literal(model):
    return model.oop_scores_[model.best_iteration_ - 1]


# Intervals


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_oop_interval_holds_the_score(cls, scoring):
    model = make(cls, scoring=scoring if cls in REGRESSORS else scoring and "roc_auc").fit(*get_data(cls))
    low, high = model.oop_interval_
    assert low < model.oop_score_ < high
    assert model.constant_score_ < low


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_oop_interval_is_unknown_where_there_is_no_score(cls):
    none = {"oop_size": 0} if "Gradient" in cls.__name__ else {"max_samples": 1.0}
    model = make(cls, stopping=None, n_estimators=3, **none).fit(*get_data(cls))
    assert np.isnan(model.oop_score_)
    assert np.isnan(model.oop_interval_).all()
    assert np.isnan(model.constant_score_)


def test_oop_interval_is_wider_for_unequal_weights():
    weights = np.where(np.arange(len(Y)) % 10, 0.1, 10.0)
    plain, weighted = (make(MPGradientBoostingClassifier).fit(X, Y, each) for each in (None, weights))
    assert np.diff(weighted.oop_interval_) > 1.5 * np.diff(plain.oop_interval_)


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_str_of_a_fitted_model_tells_its_score_and_repr_does_not(cls):
    model = make(cls)
    assert str(model) == repr(model)
    model.fit(*get_data(cls))
    assert repr(model) == repr(clone(model))
    first, second = str(model).rsplit("\n", 1)
    low, high = model.oop_interval_
    assert first == repr(model)
    name = "accuracy" if cls in CLASSIFIERS else "r2"
    assert second == f"out-of-patch {name}: {model.oop_score_:.4g} (95 %: {low:.4g} to {high:.4g})"
    assert "out-of-patch" not in repr(make_pipeline(StandardScaler(), model))


# Corrected votes


def test_correct_votes_moves_votes_to_rows_that_are_drawn_often():
    counts = np.array([[6, 4, 0], [6, 4, 0], [30, 2, 0]])
    corrected = correct_votes(counts, np.array([1, 0, 0]), counts.sum(axis=1), 40)
    moved = 0.5 * FEEDBACK * 10 * np.log(0.75 / np.mean([0.75, 0.75, 0.2]))
    np.testing.assert_allclose(corrected - counts, [[-moved, moved, 0], [moved, -moved, 0], [0, 0, 0]], atol=1e-12)


def test_correct_votes_takes_no_more_than_there_are():
    counts = np.array([[0, 2], [900, 0]])
    corrected = correct_votes(counts, np.array([1, 0]), np.array([2, 900]), 1000)
    np.testing.assert_array_equal(corrected, counts)


def test_correct_votes_changes_nothing_if_all_learners_judge_all_rows():
    counts = np.array([[3, 7], [5, 5]])
    np.testing.assert_array_equal(correct_votes(counts, np.array([0, 1]), np.array([10, 10]), 10), counts)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_oop_score_of_votes_is_that_of_corrected_votes(n_classes):
    labels = Y if n_classes == 2 else Y + 2 * (X[:, 0] > 0)
    model = make(MPBoostClassifier, learning_rate=0.1).fit(X, labels)
    votes = np.rint(model.oop_decision_function_ / model.learning_rate_)
    counts = votes if n_classes > 2 else np.column_stack([model.oop_counts_ - votes, model.oop_counts_ + votes]) / 2
    corrected = correct_votes(counts, labels, model.oop_counts_, model.best_iteration_)
    assert (corrected.argmax(axis=1) == labels).mean() == pytest.approx(model.oop_score_, abs=3 / len(labels))  # ties
    assert model.oop_score_ > read_literal(model)


@pytest.mark.parametrize("parameters", [PAPER, {"adaptive_observations": False}], ids=["paper", "uniform"])
def test_oop_score_is_literal_with_the_stopping_of_the_paper_and_with_uniform_p(parameters):
    model = make(MPBoostClassifier, **parameters).fit(X, Y)
    assert model.oop_score_ == read_literal(model)


@pytest.mark.slow
def test_oop_score_is_nearer_to_the_score_of_new_rows_than_the_literal_one():
    gaps = []
    for seed in range(10):
        features, y = make_classification(6000, 10, n_informative=5, flip_y=0.2, random_state=seed)
        model = MPBoostClassifier(random_state=seed).fit(features[:2000], y[:2000])
        gaps.append(np.abs(np.array([model.oop_score_, read_literal(model)]) - model.score(features[2000:], y[2000:])))
    corrected, literal = np.mean(gaps, axis=0)
    assert corrected < 0.8 * literal


# Useless models

USELESS = "no better than a constant prediction"


def make_noise(n_rows=1000, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, 4))


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_fit_warns_of_a_model_that_is_no_better_than_a_constant(cls):
    rng = np.random.default_rng(1)
    y = rng.random(1000) < 0.4 if cls in CLASSIFIERS else rng.normal(size=1000)
    with pytest.warns(UserWarning, match=USELESS):
        model = make(cls).fit(make_noise(), y)
    assert model.oop_interval_[0] <= model.constant_score_


def make_rare(rng):
    features = make_noise(4000)
    return features, features[:, 0] + 1.5 * rng.normal(size=4000) > 4.2


def make_outliers(rng):
    features = make_noise(1000)
    return features, features[:, 0] + 1e6 * (np.arange(1000) == 7)


@pytest.mark.parametrize(
    ("cls", "make_target", "parameters"),
    [
        (MPBoostClassifier, make_rare, {}),
        (MPGradientBoostingClassifier, make_rare, {}),
        (MPGradientBoostingClassifier, make_rare, {"class_weight": "balanced"}),
        (MPBoostRegressor, make_outliers, {}),
        (MPGradientBoostingRegressor, lambda rng: (make_noise(), rng.normal(size=1000)), {"loss": "quantile"}),
        (MPBoostClassifier, lambda rng: (make_noise(200), rng.integers(0, 2, 200)), {}),
        (MPBoostClassifier, lambda rng: (make_noise(), rng.integers(0, 2, 1000)), {"n_estimators": 20}),
        (MPBoostRegressor, lambda rng: (make_noise(), np.full(1000, 7.0)), {}),
    ],
    ids=["rare", "rare-gradient", "class-weight", "outlier", "quantile", "few-rows", "few-learners", "constant"],
)
def test_fit_does_not_warn_where_the_score_cannot_tell(cls, make_target, parameters):
    features, y = make_target(np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(cls, **parameters).fit(features, y)
