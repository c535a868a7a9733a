"""warm_start: to go on is the same as never to have stopped, and whatever would differ is refused."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from mpboost import MPBoostClassifier
from mpboost.data.tables import SparseTable
from tests.support.helpers import SMALL, StopAt, describe_model, make_integers


def extend(model, X, y, n_estimators):
    return model.set_params(n_estimators=n_estimators).fit(X, y)


@pytest.mark.parametrize("stopping", [None, "patience", "paper"])
def test_warm_start_equals_one_long_fit(stopping):
    X, y = make_classification(1500, 20, flip_y=0.05, random_state=0)
    parameters = {"stopping": stopping, "max_samples": 50, "max_features": 4, "random_state": 0}
    whole = MPBoostClassifier(n_estimators=60, **parameters).fit(X, y)
    model = MPBoostClassifier(n_estimators=30, warm_start=True, **parameters).fit(X, y)
    assert model.n_iter_ == 30
    assert describe_model(extend(model, X, y, 60)) == describe_model(whole)


def test_warm_start_set_after_the_first_fit_starts_anew():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, stopping=None, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="starts over"):
        model.set_params(n_estimators=20, warm_start=True, random_state=1).fit(X, y)
    expected = MPBoostClassifier(n_estimators=20, stopping=None, random_state=1).fit(X, y)
    assert describe_model(model) == describe_model(expected)


def test_warm_start_with_fewer_estimators_is_refused():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=20, warm_start=True, stopping=None, random_state=0).fit(X, y)
    before = describe_model(model)
    with pytest.raises(ValueError, match="n_estimators=10"):
        extend(model, X, y, 10)
    assert describe_model(model) == before


def change_labels(X, y):
    return X, 1 - y


def drop_rows(X, y):
    return X[:-1], y[:-1]


def drop_a_feature(X, y):
    return X[:, :-1], y


def change_values(X, y):
    return X + 1, y


@pytest.mark.parametrize("change", [change_labels, drop_rows, drop_a_feature, change_values])
def test_warm_start_on_other_data_is_refused(change):
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, warm_start=True, stopping=None, random_state=0).fit(X, y)
    before = describe_model(model)
    with pytest.raises(ValueError, match="same X, y"):
        extend(model, *change(X, y), 20)
    assert describe_model(model) == before


def test_warm_start_leaves_a_run_ended_that_its_rule_has_stopped(cancer):
    X, y = cancer
    model = MPBoostClassifier(n_estimators=500, n_iter_no_change=10, warm_start=True, random_state=0).fit(X, y)
    assert model.n_iter_ < 500
    before = describe_model(model)
    assert describe_model(extend(model, X, y, 1000)) == before


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3)], ids=["native", "scikit-learn"])
def test_warm_start_accepts_a_copy_of_the_same_data(estimator):
    X, y = make_integers()
    X = np.where(X == 7, np.nan, X)
    parameters = {"stopping": None, "random_state": 0}
    model = MPBoostClassifier(estimator, n_estimators=5, warm_start=True, **parameters).fit(X, y)
    extend(model, X.copy(), y.copy(), 10)
    whole = MPBoostClassifier(estimator, n_estimators=10, **parameters).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize("change", [change_labels, drop_rows, drop_a_feature, change_values])
def test_warm_start_of_another_weak_learner_on_other_data_is_refused(change):
    X, y = make_integers()
    model = MPBoostClassifier(DecisionTreeClassifier(), n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="same X, y"):
        extend(model, *change(X, y), 5)


@pytest.mark.parametrize("convert", [sparse.csr_array, sparse.csc_array])
def test_warm_start_of_another_weak_learner_compares_sparse_matrices_as_they_are(convert, monkeypatch):
    X, y = make_integers()
    X = np.where(X < 30, 0.0, X)
    X[3, 2] = np.nan
    monkeypatch.setattr(SparseTable, "to_array", check_features(SparseTable.to_array))
    parameters = {"estimator": DecisionTreeClassifier(), "stopping": None, "random_state": 0}
    model = MPBoostClassifier(n_estimators=3, warm_start=True, **parameters).fit(convert(X), y)
    extend(model, convert(X), y, 5)
    whole = MPBoostClassifier(n_estimators=5, **parameters).fit(convert(X), y)
    np.testing.assert_array_equal(model.decision_function(convert(X)), whole.decision_function(convert(X)))
    for other in (X + (X == 40), np.where(X == 0, 1, X), X[:, ::-1]):
        with pytest.raises(ValueError, match="same X, y"):
            extend(model, convert(other), y, 7)


def check_features(to_array):
    def checked(self, rows=None, features=None):
        assert features is not None, "the whole matrix was made dense"
        return to_array(self, rows, features)

    return checked


@pytest.mark.parametrize(
    "changed",
    [
        {"learning_rate": 0.1},
        {"weighting": "exponential"},
        {"max_samples": 17},
        {"max_depth": 1},
        {"estimator": DecisionTreeClassifier()},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_warm_start_does_not_ignore_a_changed_parameter(changed):
    # A run goes on as it began: to change the learning rate for the old votes and not for p would be worse than no.
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL, warm_start=True, stopping=None).fit(X, y)
    before = describe_model(model)
    with pytest.raises(ValueError, match=next(iter(changed))):
        extend(model.set_params(**changed), X, y, 40)
    assert describe_model(model) == before


@pytest.mark.parametrize("make", [np.array, pd.Series, pl.Series, list], ids=["numpy", "pandas", "polars", "list"])
def test_warm_start_compares_parameters_that_are_arrays(make):
    X, y = make_integers(60)
    model = MPBoostClassifier(**SMALL, warm_start=True, categorical_features=make([0, 1])).fit(X, y)
    extend(model.set_params(categorical_features=make([0, 1])), X, y, SMALL["n_estimators"] + 2)
    with pytest.raises(ValueError, match="categorical_features"):
        extend(model.set_params(categorical_features=make([0, 1, 1])), X, y, SMALL["n_estimators"] + 4)


def test_warm_start_with_as_many_estimators_changes_nothing():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, warm_start=True, stopping=None, random_state=0).fit(X, y)
    before = describe_model(model)
    assert describe_model(model.fit(X, y)) == before


def test_warm_start_switched_off_starts_anew():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, warm_start=True, stopping=None, random_state=0).fit(X, y)
    model.set_params(warm_start=False, n_estimators=5).fit(X, y)
    expected = MPBoostClassifier(n_estimators=5, stopping=None, random_state=0).fit(X, y)
    assert describe_model(model) == describe_model(expected)


def test_warm_start_of_a_copy_does_not_move_the_original():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, warm_start=True, stopping=None, random_state=0).fit(X, y)
    before = describe_model(model)
    with pytest.warns(UserWarning, match="starts over"):
        extend(copy.deepcopy(model), X, y, 20)
    assert describe_model(model) == before
    whole = MPBoostClassifier(n_estimators=20, stopping=None, random_state=0).fit(X, y)
    assert describe_model(extend(model, X, y, 20)) == describe_model(whole)


def test_warm_start_goes_on_after_a_callback_stopped_it():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=30, warm_start=True, stopping=None, random_state=0, callbacks=[StopAt(7)])
    assert model.fit(X, y).n_iter_ == 7
    whole = MPBoostClassifier(n_estimators=20, stopping=None, random_state=0).fit(X, y)
    assert describe_model(extend(model.set_params(callbacks=None), X, y, 20)) == describe_model(whole)


def test_warm_start_does_not_ignore_a_change_inside_the_weak_learner():
    X, y = make_integers()
    weak = DecisionTreeClassifier(max_depth=3)
    model = MPBoostClassifier(weak, n_estimators=3, warm_start=True, stopping=None, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="estimator__max_depth"):
        model.set_params(estimator__max_depth=1, n_estimators=6).fit(X, y)
