"""The manners of scikit-learn: its own checks, its tools, and copies of all kinds."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from helpers import run_script
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from mpboost import FeatureProbabilityRecorder, MPBoostClassifier


@parametrize_with_checks(
    [
        MPBoostClassifier(n_estimators=20),
        MPBoostClassifier(n_estimators=20, stopping=None),
        MPBoostClassifier(n_estimators=20, stopping="paper"),
        MPBoostClassifier(n_estimators=20, importance="permutation"),
        MPBoostClassifier(n_estimators=20, warm_start=True),
        MPBoostClassifier(n_estimators=20, n_jobs=2),
        MPBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=20),
    ]
)
def test_estimator_passes_scikit_learn(estimator, check):
    check(estimator)


def make_model(**parameters):
    return MPBoostClassifier(**{"n_estimators": 40, "random_state": 0, **parameters})


# Tools


def test_grid_search_finds_the_better_setting(cancer):
    search = GridSearchCV(make_model(), {"n_estimators": [1, 40], "max_samples": [10, 100]}, cv=3).fit(*cancer)
    assert search.best_params_ == {"n_estimators": 40, "max_samples": 100}
    assert search.best_score_ > 0.93


def test_grid_search_reaches_into_the_weak_learner(cancer):
    model = make_model(estimator=DecisionTreeClassifier(), n_estimators=10)
    search = GridSearchCV(model, {"estimator__max_depth": [1, 4]}, cv=2).fit(*cancer)
    assert search.best_params_ == {"estimator__max_depth": 4}


def test_grid_search_in_parallel_equals_one_after_the_other(cancer):
    scores = [
        GridSearchCV(make_model(n_jobs=2), {"max_samples": [10, 50]}, cv=2, n_jobs=n_jobs)
        .fit(*cancer)
        .cv_results_["mean_test_score"]
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)


def test_pipeline_passes_data_through(cancer):
    X, y = cancer
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), make_model()).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(pipeline.predict(X), make_model().fit(scaled, y).predict(scaled))


def test_pipeline_can_hand_over_frames_with_names(cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), make_model())
    pipeline.fit(pd.DataFrame(X, columns=[f"f{j}" for j in range(30)]), y)
    assert pipeline[-1].feature_names_in_[0] == "f0"


def test_cross_val_score_is_good_on_breast_cancer(cancer):
    assert cross_val_score(make_model(n_estimators=200), *cancer, cv=5).mean() > 0.94


def test_cross_val_score_by_area_under_the_curve_uses_the_decision_function(cancer):
    assert cross_val_score(make_model(), *cancer, cv=3, scoring="roc_auc").mean() > 0.97


def test_calibrated_classifier_makes_better_probabilities(cancer):
    X_train, X_test, y_train, y_test = train_test_split(*cancer, random_state=0)
    calibrated = CalibratedClassifierCV(make_model(), cv=3).fit(X_train, y_train)
    raw = make_model().fit(X_train, y_train)
    brier = [np.mean((model.predict_proba(X_test)[:, 1] - y_test) ** 2) for model in (calibrated, raw)]
    assert brier[0] < 0.05
    assert brier[0] < brier[1]


def test_permutation_importance_finds_the_feature():
    X = np.random.default_rng(0).normal(size=(400, 4))
    y = X[:, 2] > 0
    result = permutation_importance(make_model().fit(X, y), X, y, n_repeats=3, random_state=0)
    assert np.argmax(result.importances_mean) == 2
    assert result.importances_mean[2] > 0.3


def test_select_from_model_reads_feature_importances():
    X = np.random.default_rng(0).normal(size=(400, 10))
    selector = SelectFromModel(make_model(), max_features=2, threshold=-np.inf).fit(X, X[:, 2] + X[:, 7] > 0)
    assert selector.get_support(indices=True).tolist() == [2, 7]


def test_one_versus_rest_gives_many_classes():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(OneVsRestClassifier(make_model()), X, y, cv=3).mean() > 0.9


def test_out_of_patch_score_agrees_with_cross_validation(cancer):
    X, y = cancer
    model = make_model(n_estimators=200, stopping=None)
    validated = np.mean(cross_val_predict(model, X, y, cv=10) == y)
    assert model.fit(X, y).oop_score_ == pytest.approx(validated, abs=0.03)


# Tags and parameters


def test_tags_tell_what_the_classifier_can_do():
    tags = get_tags(make_model())
    assert is_classifier(make_model())
    assert tags.input_tags.allow_nan
    assert not tags.input_tags.sparse
    assert not tags.classifier_tags.multi_class


def test_get_params_returns_what_was_set():
    values = {"max_samples": 0.3, "learning_rate": 0.1, "stopping": None, "callbacks": [], "n_jobs": 2}
    parameters = MPBoostClassifier(**values).get_params()
    assert {name: parameters[name] for name in values} == values


def test_set_params_changes_the_next_fit(cancer):
    model = make_model().fit(*cancer)
    assert model.set_params(n_estimators=7) is model
    assert model.n_iter_ == 40
    assert model.fit(*cancer).n_iter_ == 7


def test_set_params_refuses_unknown_names():
    with pytest.raises(ValueError, match="n_trees"):
        make_model().set_params(n_trees=3)


def test_fit_leaves_parameters_as_they_were(cancer):
    model = make_model(max_samples=0.2, callbacks=[FeatureProbabilityRecorder([0])])
    before = model.get_params()
    model.fit(*cancer)
    after = model.get_params()
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_clone_is_unfitted_and_learns_the_same(cancer):
    X, y = cancer
    model = make_model(max_samples=50).fit(X, y)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not [name for name in vars(copied) if name.endswith("_")]
    np.testing.assert_array_equal(copied.fit(X, y).decision_function(X), model.decision_function(X))


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(MPBoostClassifier(max_samples=7)) == "MPBoostClassifier(max_samples=7)"


# Copies


def copy_by_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


def copy_by_mapped_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib", mmap_mode="r")


COPIES = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "old-pickle": lambda model, folder: pickle.loads(pickle.dumps(model, protocol=2)),
    "joblib": copy_by_joblib,
    "mapped-joblib": copy_by_mapped_joblib,
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "copy": lambda model, folder: copy.copy(model),
    "copy-of-a-copy": lambda model, folder: copy.deepcopy(pickle.loads(pickle.dumps(model))),
}


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3)], ids=["native", "scikit-learn"])
@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES.keys())
def test_copy_predicts_as_the_original(cancer, tmp_path, make_copy, estimator):
    X, y = cancer
    model = make_model(estimator=estimator).fit(X, y)
    copied = make_copy(model, tmp_path)
    for method in ("decision_function", "predict", "predict_proba"):
        assert getattr(copied, method)(X).tobytes() == getattr(model, method)(X).tobytes()
    for one, other in zip(copied.staged_decision_function(X), model.staged_decision_function(X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES.keys())
def test_copy_keeps_all_fitted_attributes(cancer, tmp_path, make_copy):
    model = make_model().fit(*cancer)
    copied = make_copy(model, tmp_path)
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert fitted.keys() == {name for name in vars(copied) if name.endswith("_")}
    for name, value in fitted.items():
        np.testing.assert_array_equal(getattr(copied, name), value)


@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES.keys())
def test_copy_of_an_unfitted_estimator_can_be_fitted(cancer, tmp_path, make_copy):
    X, y = cancer
    copied = make_copy(make_model(), tmp_path)
    np.testing.assert_array_equal(copied.fit(X, y).predict(X), make_model().fit(X, y).predict(X))


def test_copy_outlives_the_original(cancer):
    X, y = cancer
    model = make_model().fit(X, y)
    expected = model.decision_function(X)
    copied = copy.copy(model)
    model.set_params(random_state=1).fit(X[:, :3], y)
    np.testing.assert_array_equal(copied.decision_function(X), expected)


def test_pickle_is_read_by_a_fresh_process(cancer, tmp_path):
    X, y = cancer
    model = make_model().fit(X, y)
    joblib.dump((model, X), tmp_path / "model.joblib")
    script = f"import joblib; m, X = joblib.load({str(tmp_path / 'model.joblib')!r}); print(joblib.hash(m.predict(X)))"
    assert run_script(script).strip() == joblib.hash(model.predict(X))


def test_pickle_does_not_carry_the_training_data(cancer):
    X, y = cancer
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    sizes = [len(pickle.dumps(make_model(warm_start=warm).fit(X, y))) for warm in (False, True)]
    assert sizes[1] < 1.01 * sizes[0]
    assert sizes[0] < 60 * len(X)
