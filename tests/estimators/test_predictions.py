"""Predictions in batches: labels and probabilities from one evaluation of the trees."""

import numpy as np
import pandas as pd
import pytest

from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)

SMALL = {"n_estimators": 12, "stopping": None, "random_state": 0}
N_ROWS = 300


def make_rows():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"a": rng.normal(size=N_ROWS), "b": rng.normal(size=N_ROWS), "c": rng.choice(["x", "y"], N_ROWS)}
    )


def fit_model(estimator, n_classes=2):
    X = make_rows()
    numbers = X["a"].to_numpy() + (X["c"] == "x").to_numpy()
    y = (
        numbers
        if "Regressor" in estimator.__name__
        else np.digitize(numbers, np.linspace(-0.5, 1.5, n_classes + 1)[1:-1])
    )
    return estimator(**SMALL).fit(X, y)


CASES = [
    pytest.param(MPBoostClassifier, 2, id="votes-two"),
    pytest.param(MPBoostClassifier, 4, id="votes-many"),
    pytest.param(MPGradientBoostingClassifier, 2, id="gradient-two"),
    pytest.param(MPGradientBoostingClassifier, 4, id="gradient-many"),
    pytest.param(MPBoostRegressor, 0, id="numbers"),
    pytest.param(MPGradientBoostingRegressor, 0, id="gradient-numbers"),
]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n_rows", [1, 129, N_ROWS, 1000])
@pytest.mark.parametrize(("estimator", "n_classes"), CASES)
def test_batches_have_the_predictions_and_probabilities_of_all_rows(estimator, n_classes, n_rows, n_jobs):
    model, X = fit_model(estimator, n_classes), make_rows()
    batches = list(model.set_params(n_jobs=n_jobs)._predict_in_batches(X, n_rows))
    assert [len(batch.values) for batch in batches[:-1]] == [n_rows] * (len(batches) - 1)
    np.testing.assert_array_equal(np.concatenate([batch.values for batch in batches]), model.predict(X))
    if n_classes:
        probabilities = np.concatenate([batch.probabilities for batch in batches])
        np.testing.assert_array_equal(probabilities, model.predict_proba(X))
    else:
        assert {batch.probabilities for batch in batches} == {None}


def test_batch_evaluates_the_trees_once(monkeypatch):
    model, calls = fit_model(MPBoostClassifier), []
    total = type(model._ensemble).total
    monkeypatch.setattr(type(model._ensemble), "total", lambda *given: calls.append(1) or total(*given))
    list(model._predict_in_batches(make_rows(), 100))
    assert len(calls) == 3


@pytest.mark.filterwarnings("error")
def test_batch_of_new_categories_is_not_taken_for_the_whole_table():
    model, X = fit_model(MPBoostClassifier), make_rows()
    X.loc[:99, "c"] = "new"
    assert len(list(model._predict_in_batches(X, 100))) == 3
