"""What scikit-learn expects of the classifier alone; support/battery/contract.py has what it expects of them all."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from mpboost import MPBoostClassifier
from tests.support.battery.contract import COPIES


def make_model(**parameters):
    return MPBoostClassifier(**{"n_estimators": 40, "random_state": 0, **parameters})


# Tools


def test_grid_search_reaches_into_the_weak_learner(cancer):
    model = make_model(estimator=DecisionTreeClassifier(), n_estimators=10)
    search = GridSearchCV(model, {"estimator__max_depth": [1, 4]}, cv=2).fit(*cancer)
    assert search.best_params_ == {"estimator__max_depth": 4}


@pytest.mark.slow
def test_grid_search_in_parallel_equals_one_after_the_other(cancer):
    scores = [
        GridSearchCV(make_model(n_jobs=2), {"max_samples": [10, 50]}, cv=2, n_jobs=n_jobs)
        .fit(*cancer)
        .cv_results_["mean_test_score"]
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.slow
def test_cross_val_score_is_good_on_breast_cancer(cancer):
    assert cross_val_score(make_model(n_estimators=200), *cancer, cv=5).mean() > 0.94


def test_cross_val_score_by_area_under_the_curve_uses_the_decision_function(cancer):
    assert cross_val_score(make_model(), *cancer, cv=3, scoring="roc_auc").mean() > 0.97


@pytest.mark.slow
def test_calibrated_classifier_makes_good_probabilities(cancer):
    X_train, X_test, y_train, y_test = train_test_split(*cancer, random_state=0)
    calibrated = CalibratedClassifierCV(make_model(), cv=3).fit(X_train, y_train)
    assert np.mean((calibrated.predict_proba(X_test)[:, 1] - y_test) ** 2) < 0.05


def test_select_from_model_reads_feature_importances():
    X = np.random.default_rng(0).normal(size=(400, 10))
    selector = SelectFromModel(make_model(), max_features=2, threshold=-np.inf).fit(X, X[:, 2] + X[:, 7] > 0)
    assert selector.get_support(indices=True).tolist() == [2, 7]


@pytest.mark.slow
def test_one_versus_rest_gives_many_classes():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(OneVsRestClassifier(make_model()), X, y, cv=3).mean() > 0.9


@pytest.mark.slow
def test_out_of_patch_score_agrees_with_cross_validation(cancer):
    X, y = cancer
    model = make_model(n_estimators=200, stopping=None)
    validated = np.mean(cross_val_predict(model, X, y, cv=10) == y)
    assert model.fit(X, y).oop_score_ == pytest.approx(validated, abs=0.03)


# Copies


@pytest.mark.slow
@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES.keys())
def test_copy_of_a_model_of_weak_learners_predicts_as_the_original(cancer, tmp_path, make_copy):
    X, y = cancer
    model = make_model(estimator=DecisionTreeClassifier(max_depth=3)).fit(X, y)
    copied = make_copy(model, tmp_path)
    for method in ("decision_function", "predict", "predict_proba"):
        assert getattr(copied, method)(X).tobytes() == getattr(model, method)(X).tobytes()


# Validation data


def test_validation_labels_must_be_known(cancer):
    X, y = cancer
    model = make_model().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="labels that y does not have: 2"):
        model.fit(X, y, X_val=X[:3], y_val=[0, 1, 2])
    assert all(value is before[name] for name, value in vars(model).items())


def test_validation_labels_may_be_of_one_class(cancer):
    X, y = cancer
    model = make_model().fit(X, y, X_val=X[y == 1], y_val=y[y == 1])
    assert model.validation_score_ == model.score(X[y == 1], y[y == 1])
