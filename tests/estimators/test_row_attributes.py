"""Models of very many rows: they do without attributes about single rows, and everything else stays as it is."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import mpboost
from mpboost.estimators import row_attributes
from mpboost.estimators.publishing import RowSource
from mpboost.estimators.row_attributes import list_row_attributes
from tests.support.model_files import load_changed, read_parts

SUBJECTS = [
    pytest.param(mpboost.MPBoostClassifier, load_breast_cancer, id="votes for two classes"),
    pytest.param(mpboost.MPBoostClassifier, load_iris, id="votes for many classes"),
    pytest.param(mpboost.MPBoostRegressor, load_diabetes, id="numbers"),
    pytest.param(mpboost.MPGradientBoostingClassifier, load_breast_cancer, id="gradients of two classes"),
    pytest.param(mpboost.MPGradientBoostingClassifier, load_iris, id="gradients of many classes"),
    pytest.param(mpboost.MPGradientBoostingRegressor, load_diabetes, id="gradients of numbers"),
]


@pytest.fixture
def make_models(monkeypatch):
    def make(estimator, load):
        X, y = load(return_X_y=True)
        usual = estimator(n_estimators=20, random_state=0).fit(X, y)
        monkeypatch.setattr(row_attributes, "MAX_ROWS", len(X) - 1)
        large = estimator(n_estimators=20, random_state=0).fit(X, y)
        return X, y, usual, large

    return make


@pytest.mark.parametrize(("estimator", "load"), SUBJECTS)
def test_large_models_have_all_but_what_is_about_rows(make_models, estimator, load):
    X, _, usual, large = make_models(estimator, load)
    about_rows = set(list_row_attributes(estimator))
    assert set(vars(usual)) - set(vars(large)) == about_rows
    assert large.n_samples_ == usual.n_samples_ == len(X)
    assert np.array_equal(large.predict(X), usual.predict(X))
    assert (large.oop_score_, large.stop_reason_) == (usual.oop_score_, usual.stop_reason_)
    if hasattr(usual, "predict_proba"):
        assert np.array_equal(large.predict_proba(X), usual.predict_proba(X))


@pytest.mark.parametrize(("estimator", "load"), SUBJECTS)
def test_large_models_say_why_an_attribute_is_not_there(make_models, estimator, load):
    X, _, _, large = make_models(estimator, load)
    for name in list_row_attributes(estimator):
        assert not hasattr(large, name)
        with pytest.raises(AttributeError, match=rf"no {name}: it was trained on {len(X)} rows"):
            getattr(large, name)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        large.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="it was trained on"):
        mpboost.find_label_issues(large)
    with pytest.raises(ValueError, match=r"it was trained on .* A report needs it"):
        mpboost.report(large, *load(return_X_y=True))


@pytest.mark.parametrize(("estimator", "load"), SUBJECTS)
def test_large_models_pass_through_a_file(make_models, tmp_path, estimator, load):
    X, y, usual, large = make_models(estimator, load)
    path = tmp_path / "model.mpb"
    mpboost.save_model(large, path)
    assert path.stat().st_size < 1e6
    loaded = mpboost.load_model(path)
    assert loaded.n_samples_ == len(X)
    assert not hasattr(loaded, "observation_probabilities_")
    assert np.array_equal(loaded.predict(X), usual.predict(X))
    assert mpboost.evaluate(loaded, X, y).n_rows == len(X)


GRADIENTS = [
    pytest.param(mpboost.MPGradientBoostingClassifier, load_breast_cancer, id="classes"),
    pytest.param(mpboost.MPGradientBoostingRegressor, load_diabetes, id="numbers"),
]


@pytest.mark.parametrize(("estimator", "load"), GRADIENTS)
@pytest.mark.parametrize("leaf_refit", [True, False])
def test_what_is_put_off_needs_nothing_of_scores(estimator, load, leaf_refit):
    def score(y, predicted, weights):  # pickle cannot save it
        return -np.abs(y - predicted).mean()

    X, y = load(return_X_y=True)
    parameters = {"n_estimators": 20, "leaf_refit": leaf_refit, "warm_start": True, "random_state": 0}
    for scoring in (None, score):
        model = estimator(**parameters, scoring=scoring).fit(X, y)
        run = model._run
        whole = RowSource(run.parts.task, run.best.task, run.best_iteration, run.params["loss"], None)
        source = pickle.loads(pickle.dumps(whole.without_scoring()))
        assert whole.task.out_of_patch._labels is not None  # the run may go on
        described = model._describe_rows(source)
        assert described.keys() == set(list_row_attributes(estimator))
        for name, values in described.items():
            np.testing.assert_array_equal(values, getattr(model, name), err_msg=name)


def test_file_with_some_of_what_is_about_rows_is_refused(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    model = mpboost.MPBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    saved = read_parts(model, tmp_path / "model.mpb")
    for name in ("observation_difficulty", "targets", "oop_decision_function", "observation_probabilities"):
        with pytest.raises(mpboost.ModelFileError, match=name):
            load_changed(saved, tmp_path / "changed.mpb", lambda header, arrays, name=name: arrays.pop(name))
