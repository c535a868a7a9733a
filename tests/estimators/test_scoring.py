"""The parameter ``scoring`` of all estimators: what scores are, and what a fit stops by."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import get_scorer, make_scorer, mean_pinball_loss, roc_auc_score

from mpboost import (
    PAPER,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    load_model,
    oop_tune,
    save_model,
)
from mpboost.inspection.judgement import compute_probabilities, judge
from mpboost.tasks import running_score
from tests.support.helpers import describe_model

X, Y = make_classification(1500, 10, n_informative=6, flip_y=0.1, random_state=0)
CLASS_X = X
MANY = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-1.0, 1.0])
NUMBERS = make_regression(1500, 10, n_informative=6, noise=20.0, random_state=0)
CLASSIFIERS = [MPBoostClassifier, MPGradientBoostingClassifier]
REGRESSORS = [MPBoostRegressor, MPGradientBoostingRegressor]
OF_CLASSES = ["accuracy", "balanced_accuracy", "log_loss", "neg_brier_score", "roc_auc", "average_precision", "f1"]
OF_NUMBERS = ["r2", "absolute_error", "squared_error", "neg_median_absolute_error"]


def make(cls, **parameters):
    return cls(**{"n_estimators": 60, "random_state": 0, "n_jobs": 1} | parameters)


class PublishedClasses(ClassifierMixin, BaseEstimator):
    """The out-of-patch predictions that a fitted classifier published."""

    def __init__(self, model):
        self.classes_ = model.classes_
        self.model, self.judgement = model, judge(model)

    def predict(self, X):
        return self.classes_[self.judgement.predicted]

    def predict_proba(self, X):
        return compute_probabilities(self.model, self.judgement)[1]

    def decision_function(self, X):
        decision = self.model.oop_decision_function_[self.judgement.rows]
        return decision / self.judgement.n_learners if hasattr(self.model, "_ranks") else decision


class PublishedNumbers(RegressorMixin, BaseEstimator):
    """The out-of-patch predictions that a fitted regressor published."""

    def __init__(self, model):
        self.judgement = judge(model)

    def predict(self, X):
        return self.judgement.predicted


def score_oop(model, scorer, y, weights=None):
    """Score the published out-of-patch predictions by scikit-learn."""
    published = PublishedClasses(model) if hasattr(model, "classes_") else PublishedNumbers(model)
    rows = published.judgement.rows
    keywords = {} if weights is None else {"sample_weight": weights[rows]}
    return scorer(published, X[rows], y[rows], **keywords)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("scoring", OF_CLASSES)
@pytest.mark.parametrize("has_weights", [False, True], ids=["plain", "weights"])
def test_oop_score_is_the_chosen_metric_of_classes(cls, scoring, has_weights):
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(Y)) if has_weights else None
    model = make(cls, scoring=scoring).fit(X, Y, sample_weight=weights)
    name = {"log_loss": "neg_log_loss"}.get(scoring, scoring)
    assert model.score_name_ == name
    # The calibration during a fit is fitted to fewer votes; without a metric, votes at a tie count as wrong.
    tolerance = 1e-2 if (cls, scoring) == (MPBoostClassifier, "accuracy") else 2e-4
    literal = model.oop_scores_[model.best_iteration_ - 1]
    assert literal == pytest.approx(score_oop(model, get_scorer(name), Y, weights), abs=tolerance)
    if cls is not MPBoostClassifier:  # votes are corrected
        assert model.oop_score_ == literal
    assert np.isfinite(model.train_scores_).all()


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize("scoring", OF_NUMBERS)
def test_oop_score_is_the_chosen_metric_of_numbers(cls, scoring):
    X, y = NUMBERS
    model = make(cls, scoring=scoring).fit(X, y)
    scorer = get_scorer(
        {"absolute_error": "neg_mean_absolute_error", "squared_error": "neg_mean_squared_error"}.get(scoring, scoring)
    )
    assert model.oop_score_ == pytest.approx(score_oop(model, scorer, y), rel=1e-9)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("scoring", ["balanced_accuracy", "log_loss", "roc_auc_ovr", "f1_macro"])
def test_oop_score_is_the_chosen_metric_of_many_classes(cls, scoring):
    model = make(cls, scoring=scoring).fit(X, MANY)
    assert 0.2 < model.oop_score_ < 1 or scoring == "log_loss"
    assert model.oop_scores_[-1] > model.oop_scores_[0]


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_scoring_takes_functions_and_scorers(cls):
    X, y = NUMBERS if cls in REGRESSORS else (CLASS_X, Y)
    calls = []

    def share_of_small_errors(y, predicted, weights):
        calls.append(weights)
        return np.average(np.abs(y - predicted) <= 10, weights=weights)

    model = make(cls, scoring=share_of_small_errors).fit(X, y)
    assert model.score_name_ == "share_of_small_errors"
    assert 0 <= model.oop_score_ <= 1
    assert calls[0] is None
    if cls in REGRESSORS:
        scorer = make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False)
        assert make(cls, scoring=scorer).fit(X, y).oop_score_ < 0


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_fit_stops_by_the_chosen_metric(cls):
    """The best iteration has the largest mean of the metric, whatever the default would stop by."""
    X, y = NUMBERS if cls in REGRESSORS else (CLASS_X, Y)
    ages = []

    def fall(y, predicted, weights):  # better until the hundredth call, then worse
        ages.append(len(ages))
        return -abs(ages[-1] - 100)

    parameters = {"n_models": 1} if "Gradient" in cls.__name__ else {}
    model = make(cls, scoring=fall, n_iter_no_change=20, n_estimators=2000, max_samples=200, **parameters).fit(X, y)
    # Two calls, out of patch and in training, for every fifth iteration.
    assert model.best_iteration_ == pytest.approx(5 * 100 / 2, abs=15)
    assert model.n_iter_ < 400
    assert model.stop_reason_ == "no better out-of-patch fall for 20 iterations"


def test_scores_are_computed_every_fifth_iteration_and_repeated_between():
    model = make(MPBoostClassifier, scoring="roc_auc", stopping=None, n_estimators=23).fit(X, Y)
    scores = model.oop_scores_
    assert len(set(scores[4:9])) == len(set(scores[9:14])) == 1
    assert scores[0] == scores[3] != scores[4] != scores[9]
    # The published score is that of the last iteration, although it was not due.
    assert scores[22] != scores[21]
    assert model.oop_score_ >= scores[22]


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_scores_of_many_rows_are_computed_on_a_sample(cls, monkeypatch):
    whole = make(cls, scoring="roc_auc", stopping=None).fit(X, Y)
    monkeypatch.setattr(running_score, "MAX_ROWS", 400)
    some = make(cls, scoring="roc_auc", stopping=None).fit(X, Y)
    assert some.train_scores_[-1] != whole.train_scores_[-1]
    assert some.train_scores_[-1] == pytest.approx(whole.train_scores_[-1], abs=0.05)
    assert some.oop_score_ == whole.oop_score_  # from all rows


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("scoring", ["roc_auc", "log_loss"])
def test_validation_scores_are_those_of_the_chosen_metric(cls, scoring):
    model = make(cls, scoring=scoring).fit(X[:1000], Y[:1000], X_val=X[1000:], y_val=Y[1000:])
    scorer = get_scorer({"log_loss": "neg_log_loss"}.get(scoring, scoring))
    assert model.validation_score_ == pytest.approx(scorer(model, X[1000:], Y[1000:]), abs=2e-3)
    assert not hasattr(model, "validation_losses_")


def test_scoring_by_the_default_metric_changes_nothing_for_votes():
    plain, named = make(MPBoostClassifier).fit(X, Y), make(MPBoostClassifier, scoring="accuracy").fit(X, Y)
    assert describe_model(plain) == describe_model(named)


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_warm_start_continues_with_a_metric(cls):
    (X, y), scoring = (NUMBERS, "absolute_error") if cls in REGRESSORS else ((CLASS_X, Y), "roc_auc")
    model = make(cls, scoring=scoring, warm_start=True, n_estimators=33, stopping=None).fit(X, y)
    model.set_params(n_estimators=60).fit(X, y)
    whole = make(cls, scoring=scoring, stopping=None).fit(X, y)
    assert model.oop_score_ == whole.oop_score_
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_oop_score_of_a_metric_estimates_that_of_new_rows():
    model = MPGradientBoostingClassifier(scoring="roc_auc", random_state=0).fit(X[:1000], Y[:1000])
    assert model.oop_score_ == pytest.approx(roc_auc_score(Y[1000:], model.decision_function(X[1000:])), abs=0.03)


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_files_keep_the_name_of_the_score(cls, tmp_path):
    (X, y), scoring = (NUMBERS, "squared_error") if cls in REGRESSORS else ((CLASS_X, Y), "log_loss")
    for each in (scoring, lambda y, predicted, weights: -5.0):
        model = make(cls, scoring=each).fit(X, y)
        save_model(model, tmp_path / "model.mpb")
        same = load_model(tmp_path / "model.mpb")
        assert (same.score_name_, same.oop_score_) == (model.score_name_, model.oop_score_)
        assert same.scoring == (each if isinstance(each, str) else None)


def test_paper_stopping_is_refused_with_another_metric():
    with pytest.raises(ValueError, match="stopping='paper'"):
        MPBoostClassifier(**PAPER, scoring="roc_auc").fit(X, Y)
    MPBoostClassifier(**PAPER, scoring="accuracy", n_estimators=5).fit(X, Y)


@pytest.mark.parametrize(("cls", "scoring"), [(MPBoostClassifier, "r2"), (MPBoostRegressor, "roc_auc")])
def test_metric_for_other_labels_is_refused(cls, scoring):
    y = np.array(["no", "yes"])[Y] if cls is MPBoostClassifier else NUMBERS[1]
    with pytest.raises(ValueError, match=f"scoring='{scoring}' cannot be computed"):
        make(cls, scoring=scoring).fit(X, y)


def test_oop_tune_compares_by_the_chosen_metric():
    found = oop_tune(make(MPBoostClassifier), X, Y, {"max_depth": [1, 6]}, scoring="roc_auc")
    assert found.best_estimator_.score_name_ == "roc_auc"
    assert found.best_score_ == pytest.approx(found.best_estimator_.oop_score_, abs=0.02)
    with pytest.raises(ValueError, match="Did you mean 'roc_auc'"):
        oop_tune(make(MPBoostClassifier), X, Y, {"max_depth": [1, 6]}, scoring="roc_auk")


def test_gradient_models_are_not_best_before_they_have_learned_anything():
    # With class weights, models that predict the same for all rows may be right about all rows of the common class.
    X, y = make_classification(4000, 10, n_informative=3, weights=[0.93], flip_y=0.1, class_sep=0.5, random_state=3)
    parameters = {"class_weight": "balanced", "scoring": "accuracy", "n_iter_no_change": 20}
    for seed in range(6):
        model = MPGradientBoostingClassifier(**parameters, random_state=seed).fit(X, y)
        assert model.best_iteration_ > 2 * model.n_models_
