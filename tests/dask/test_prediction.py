from itertools import islice

import numpy as np
import pandas as pd
import pytest

from mpboost import MPBoostClassifier
from mpboost.dask.prediction import Outlook, make_light, predict_lazily, share_model
from tests.support.datasets import QUICK, make_mixed, make_numbers
from tests.support.rules import Costs, Hedge, Tilted

da = pytest.importorskip("dask.array", reason="mpboost[dask] is not installed")
dd = pytest.importorskip("dask.dataframe", reason="mpboost[dask] is not installed")


def fit_classes(**params):
    X, values = make_numbers()
    y = np.digitize(values, [-1.0, 0.5])
    return MPBoostClassifier(**QUICK | params).fit(X, y), X


def predict_here(lazy):
    return lazy.compute(scheduler="sync")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "predict_vote_share"])
def test_predictions_of_arrays_keep_chunks(method):
    model, X = fit_classes()
    columns = None if method == "predict" else model.classes_
    outlook = Outlook(model.classes_ if columns is None else np.empty(1), columns)
    table = da.from_array(X, chunks=((90, 0, 110), 3))
    lazy = predict_lazily(share_model(None, make_light(model)), table, method, outlook)
    expected = getattr(model, method)(X)
    assert lazy.chunks[0] == (90, 0, 110)
    assert lazy.shape == expected.shape
    assert lazy.dtype == expected.dtype
    np.testing.assert_array_equal(predict_here(lazy), expected)


def test_predictions_of_frames_keep_index_and_divisions():
    X, y = make_mixed()
    model = MPBoostClassifier(**QUICK).fit(X, y)
    X.index = np.arange(200) * 3
    frame = dd.from_pandas(X, npartitions=3)
    outlook = Outlook(np.empty(1), model.classes_)
    lazy = predict_lazily(share_model(None, model), frame[frame["count"] < 8], "predict_proba", outlook)
    found = predict_here(lazy)
    kept = X[X["count"] < 8]
    assert lazy.divisions == frame.divisions
    assert list(found.columns) == ["no", "yes"]
    pd.testing.assert_index_equal(found.index, kept.index)
    np.testing.assert_array_equal(found, model.predict_proba(kept))


def test_empty_partitions_have_empty_predictions():
    model, X = fit_classes()
    table = da.from_array(X, chunks=(50, 5))
    lazy = predict_lazily(share_model(None, model), table[table[:, 0] > 100], "predict", Outlook(model.classes_))
    assert predict_here(lazy).shape == (0,)


@pytest.mark.parametrize("multiclass", ["margin", "oc"])
def test_predictions_of_some_learners_are_a_stage(multiclass):
    model, X = fit_classes(multiclass=multiclass)
    shared, table = share_model(None, make_light(model)), da.from_array(X, chunks=(50, 5))
    for n_estimators, shares in islice(enumerate(model.staged_predict_proba(X), start=1), 3):
        lazy = predict_lazily(shared, table, "predict_proba", Outlook(np.empty(1), model.classes_), n_estimators)
        np.testing.assert_array_equal(predict_here(lazy), shares)


def test_dask_estimators_predict_with_some_learners(client):
    from mpboost.dask import DaskMPBoostClassifier, DaskMPGradientBoostingRegressor

    X, y = make_numbers()
    table, values = da.from_array(X, chunks=(50, 5)), da.from_array(y, chunks=50)
    model = DaskMPGradientBoostingRegressor(**QUICK, client=client).fit(table, values)
    np.testing.assert_array_equal(
        model.predict(table, n_estimators=2).compute(), model.to_local().truncate(2).predict(X)
    )
    model = DaskMPBoostClassifier(**QUICK, client=client).fit(table, values > 0)
    small = model.to_local().truncate(2)
    for method in ("predict", "predict_proba", "decision_function", "predict_vote_share"):
        found = getattr(model, method)(table, n_estimators=2).compute()
        np.testing.assert_array_equal(found, getattr(small, method)(X))
        with pytest.raises(ValueError, match="must be a whole number between 1 and"):
            getattr(model, method)(table, n_estimators=0)


def test_light_model_has_nothing_about_training_rows():
    model, X = fit_classes()
    light = make_light(model)
    assert "_targets" not in vars(light)
    assert "observation_probabilities_" not in vars(light)
    np.testing.assert_array_equal(light.predict(X), model.predict(X))


def test_light_model_has_no_rules_of_the_user():
    rules = {"weighting": Tilted(), "importance": Costs(), "feature_update": Hedge()}
    model, X = fit_classes(**rules)
    light, defaults = make_light(model), MPBoostClassifier()
    for name, rule in rules.items():
        assert getattr(light, name) == getattr(defaults, name)
        assert getattr(model, name) is rule
    np.testing.assert_array_equal(light.predict(X), model.predict(X))
    named = make_light(fit_classes(weighting="exponential", importance="impurity")[0])
    assert (named.weighting, named.importance) == ("exponential", "impurity")


def test_model_is_sent_to_the_cluster_once(client):
    from mpboost.dask import DaskMPBoostClassifier

    X, values = make_numbers()
    table, labels = da.from_array(X, chunks=(50, 5)), da.from_array(values > 0, chunks=50)
    model = DaskMPBoostClassifier(**QUICK).fit(table, labels)
    first, second = model.predict(table), model.predict_proba(table)
    assert model._share() is model._share()
    assert len(client.who_has([model._share()])[model._share().key]) == 2
    np.testing.assert_array_equal(second.compute().argmax(axis=1), first.compute())
    stages = list(model.staged_predict(table))
    assert len(stages) == model.best_iteration_
    local = model.to_local()
    np.testing.assert_array_equal(stages[2].compute(), list(local.staged_predict(X))[2])
    assert model.score(table, labels) == local.score(X, values > 0)
