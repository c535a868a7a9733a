import copy
import inspect
import os
import pickle
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from mpboost import Callback
from mpboost.dask import (
    DaskMPBoostClassifier,
    DaskMPBoostRegressor,
    DaskMPGradientBoostingClassifier,
    DaskMPGradientBoostingRegressor,
)
from mpboost.dask.prediction import make_light
from mpboost.estimators.row_attributes import ROW_SOURCE, list_row_attributes
from tests.support.datasets import QUICK, make_mixed, make_numbers, save_bytes
from tests.support.rules import Costs, Hedge, Tilted

da = pytest.importorskip("dask.array", reason="mpboost[dask] is not installed")
dd = pytest.importorskip("dask.dataframe", reason="mpboost[dask] is not installed")

CLASSIFIERS = (DaskMPBoostClassifier, DaskMPGradientBoostingClassifier)
ESTIMATORS = (*CLASSIFIERS, DaskMPBoostRegressor, DaskMPGradientBoostingRegressor)
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)


def make_tables(estimator, n_classes=2):
    """Make a table, targets and weights, some of them 0."""
    X, values = make_numbers()
    y = np.digitize(values, np.quantile(values, np.arange(1, n_classes) / n_classes))
    weights = np.random.default_rng(1).integers(0, 3, 200).astype(np.float64)
    return X, (y if estimator in CLASSIFIERS else values), weights


def as_arrays(*tables, chunks=(90, 0, 70, 40)):
    return [None if each is None else da.from_array(each, chunks=(chunks, *each.shape[1:])) for each in tables]


@each_estimator
def test_parameters_are_those_of_the_local_estimator(estimator):
    local = inspect.signature(estimator._local_class).parameters
    found = inspect.signature(estimator).parameters
    assert [*found] == [*local, "client", "placement"]
    assert all(found[name] == local[name] for name in local)
    model = estimator(n_estimators=7)
    assert model.get_params()["n_estimators"] == 7
    assert repr(model) == f"{estimator.__name__}(n_estimators=7)"
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_trees'"):
        estimator(n_trees=7)


@each_estimator
def test_kind_of_estimator_is_that_of_the_local_one(estimator):
    assert is_classifier(estimator()) == is_classifier(estimator._local_class())
    assert is_regressor(estimator()) == is_regressor(estimator._local_class())


@each_estimator
def test_model_is_that_of_a_fit_in_memory(client, estimator):
    X, y, weights = make_tables(estimator)
    model = estimator(**QUICK).fit(*as_arrays(X, y, weights))
    local = estimator._local_class(**QUICK).fit(X, y, weights)
    assert model.placement_ == "one"
    assert save_bytes(model.to_local()) == save_bytes(local)
    rows = list_row_attributes(estimator._local_class)
    for name in [name for name in vars(local) if name.endswith("_")]:
        value = getattr(model, name)
        if name in rows:
            assert value.chunks[0] == (90, 0, 70, 40)
            value = value.compute()
        assert type(value) is type(getattr(local, name))
    (table,) = as_arrays(X)
    np.testing.assert_array_equal(model.predict(table).compute(), local.predict(X))


@each_estimator
@pytest.mark.parametrize("way", ["attribute", "to_local", "pickle"])
def test_what_is_about_rows_is_computed_when_asked_for(client, estimator, way):
    X, y, weights = make_tables(estimator)
    model = estimator(**QUICK, placement="sharded").fit(*as_arrays(X, y, weights))
    local = estimator._local_class(**QUICK).fit(X, y, weights)
    rows = list_row_attributes(estimator._local_class)
    assert not set(rows) & set(vars(model._local))
    assert ROW_SOURCE not in vars(make_light(model._local))
    assert ROW_SOURCE not in vars(model._local.truncate(2))
    if way == "pickle":
        model = pickle.loads(pickle.dumps(model))
    values = model.to_local() if way == "to_local" else model
    for name in rows:
        value = vars(values)[name] if way == "to_local" else getattr(model._local if name[0] == "_" else model, name)
        np.testing.assert_array_equal(value, getattr(local, name), err_msg=name)
        assert ROW_SOURCE not in vars(model._local)


def test_model_of_a_frame_is_that_of_a_fit_in_memory(client):
    X, y = make_mixed()
    frame = dd.from_pandas(X.assign(y=y, w=np.arange(200) % 3), npartitions=3)
    whole = frame.compute()
    local = DaskMPGradientBoostingClassifier._local_class(**QUICK)
    expected = save_bytes(local.fit(whole.drop(columns=["y", "w"]), whole["y"], whole["w"]))
    by_name = DaskMPGradientBoostingClassifier(**QUICK).fit(frame, "y", "w")
    assert save_bytes(by_name.to_local()) == expected
    apart = DaskMPGradientBoostingClassifier(**QUICK).fit(frame.drop(columns=["y", "w"]), frame["y"], frame["w"])
    assert save_bytes(apart.to_local()) == expected
    labels = by_name.predict(frame)
    assert labels.divisions == frame.divisions
    computed = labels.compute()
    assert computed.index.equals(whole.index)
    assert computed.dtype == labels.dtype
    assert computed.tolist() == local.predict(whole.drop(columns=["y", "w"])).tolist()


def test_model_of_a_frame_of_partitions_in_any_order_is_that_of_its_rows(client):
    X, y = make_mixed()
    frame = dd.from_pandas(X.assign(y=y), npartitions=4).partitions[[2, 0, 3, 1]]
    whole = frame.compute()
    local = DaskMPBoostClassifier._local_class(**QUICK).fit(whole.drop(columns="y"), whole["y"])
    model = DaskMPBoostClassifier(**QUICK).fit(frame, "y")
    assert save_bytes(model.to_local()) == save_bytes(local)


def test_model_of_unknown_chunks_is_that_of_a_fit_in_memory(client):
    X, y, _ = make_tables(DaskMPBoostClassifier, n_classes=4)
    X = np.nan_to_num(X)
    table, labels = as_arrays(X, y)
    kept = X[:, 0] > 0
    model = DaskMPBoostClassifier(**QUICK).fit(table[table[:, 0] > 0], labels[table[:, 0] > 0])
    local = DaskMPBoostClassifier._local_class(**QUICK).fit(X[kept], y[kept])
    assert save_bytes(model.to_local()) == save_bytes(local)


@pytest.mark.parametrize("as_frame", [False, True], ids=["array", "frame"])
def test_validation_rows_are_scored(client, as_frame):
    params = QUICK | {"stopping": "patience", "n_iter_no_change": 3, "n_estimators": 20, "scoring": "log_loss"}
    X, y = make_mixed()
    X, y, weights = (X, y, None) if as_frame else make_tables(DaskMPBoostClassifier)
    local = DaskMPGradientBoostingClassifier._local_class(**params)
    model = DaskMPGradientBoostingClassifier(**params)
    if as_frame:
        frame = dd.from_pandas(X.assign(y=y), npartitions=3)
        whole = frame.compute()
        features, labels = whole.drop(columns="y"), whole["y"]
        local.fit(features, labels, X_val=features[:90], y_val=labels[:90])
        model.fit(frame, "y", X_val=dd.from_pandas(whole[:90], npartitions=2))
    else:
        local.fit(X, y, X_val=X[:90], y_val=y[:90], sample_weight_val=weights[:90])
        parts = as_arrays(X[:90], y[:90], weights[:90], chunks=(40, 50))
        model.fit(*as_arrays(X, y), **dict(zip(("X_val", "y_val", "sample_weight_val"), parts, strict=True)))
    assert save_bytes(model.to_local()) == save_bytes(local)
    np.testing.assert_array_equal(model.validation_scores_, local.validation_scores_)


def test_given_weak_learner_is_trained_on_the_values(client):
    X, y, weights = make_tables(DaskMPBoostClassifier)
    X = np.nan_to_num(X)
    tree = DecisionTreeClassifier(max_depth=2)
    model = DaskMPBoostClassifier(tree, **QUICK).fit(*as_arrays(X, y, weights))
    local = DaskMPBoostClassifier._local_class(tree, **QUICK).fit(X, y, weights)
    np.testing.assert_array_equal(model.oop_scores_, local.oop_scores_)
    np.testing.assert_array_equal(model.predict_proba(*as_arrays(X)).compute(), local.predict_proba(X))


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_losses_without_sums_are_trained_on_one_worker(client, loss):
    X, y, _ = make_tables(DaskMPGradientBoostingRegressor)
    model = DaskMPGradientBoostingRegressor(loss=loss, **QUICK).fit(*as_arrays(X, y))
    assert save_bytes(model.to_local()) == save_bytes(model._local_class(loss=loss, **QUICK).fit(X, y))
    with pytest.raises(ValueError, match=f"loss='{loss}' needs all rows in one place: choose placement='one'"):
        clone(model).set_params(placement="sharded").fit(*as_arrays(X, y))


def test_rules_of_users_see_the_rows_on_one_worker(client):
    X, y, weights = make_tables(DaskMPBoostClassifier)
    rules = {"weighting": Tilted(), "importance": Costs(), "feature_update": Hedge()}
    model = DaskMPBoostClassifier(**rules, **QUICK).fit(*as_arrays(X, y, weights))
    local = DaskMPBoostClassifier._local_class(**rules, **QUICK).fit(X, y, weights)
    np.testing.assert_array_equal(model.observation_probabilities_, local.observation_probabilities_)
    np.testing.assert_array_equal(model.feature_probabilities_, local.feature_probabilities_)
    with pytest.raises(ValueError, match=r"weighting=Tilted, a rule of your own, .* choose placement='one'"):
        clone(model).set_params(placement="sharded").fit(*as_arrays(X, y))


def test_clone_and_pickle_do_without_the_client(client):
    X, y, _ = make_tables(DaskMPBoostClassifier)
    model = DaskMPBoostClassifier(client=client, **QUICK)
    assert clone(model).client is client
    table, labels = as_arrays(X, y)
    model.fit(table, labels)
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(table).compute(), model.predict(table).compute())
    assert again.placement_ == "one"
    assert copy.copy(model).to_local().n_iter_ == model.n_iter_


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"warm_start": True}, "warm_start=True is not possible on a cluster"),
        ({"placement": "two"}, "placement must be 'auto', 'one' or 'sharded', not 'two'"),
        ({"n_estimators": 0}, "The 'n_estimators' parameter"),
        ({"class_weight": {0: 0, 1: 1}}, "class_weight gives class 0 a weight of 0"),
        (
            {"estimator": DecisionTreeClassifier(), "placement": "sharded"},
            "cannot be trained on rows in several places: choose",
        ),
    ],
)
def test_parameters_that_are_not_possible_are_refused(client, params, words):
    X, y, _ = make_tables(DaskMPBoostClassifier)
    with pytest.raises(ValueError, match=words):
        DaskMPBoostClassifier(**QUICK | params).fit(*as_arrays(X, y))


def test_errors_of_workers_name_the_partition(client):
    X, y = make_mixed()
    pieces = [X[:100].assign(y=y[:100]), X[100:].assign(y=y[100:], height="tall")]
    meta = pieces[0][:0]
    frame = dd.from_map(lambda number: pieces[number], range(2), meta=meta, enforce_metadata=False)
    model = DaskMPBoostClassifier(**QUICK)
    with pytest.raises(ValueError, match="Partition 1: column 'height' contains categories, but contained numbers"):
        model.fit(frame, "y")
    with pytest.raises(NotFittedError):
        model.predict(frame)
    assert not hasattr(model, "classes_")


def test_targets_that_differ_in_length_from_the_table_are_refused(client):
    X, y, _ = make_tables(DaskMPBoostClassifier)
    table, labels = as_arrays(X, y)
    with pytest.raises(ValueError, match=r"Partition \d: X has \d+ rows, but y has \d+: X and y must"):
        DaskMPBoostClassifier(**QUICK).fit(table, labels[labels > 0])


def test_no_rows_are_refused(client):
    table, labels = as_arrays(np.empty((0, 2)), np.empty(0), chunks=(0, 0))
    with pytest.raises(ValueError, match="There are no rows: all partitions are empty"):
        DaskMPBoostClassifier(**QUICK).fit(table, labels)


def test_warnings_of_the_fit_reach_the_client(client):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000)
    params = QUICK | {"n_estimators": 60}
    words = "This model is no better than a constant prediction"
    with pytest.warns(UserWarning, match=words) as local:
        DaskMPBoostClassifier._local_class(**params).fit(X, y)
    with pytest.warns(UserWarning, match=words) as found:
        DaskMPBoostClassifier(**params).fit(*as_arrays(X, y, chunks=(500, 500)))
    assert [str(each.message) for each in found] == [str(each.message) for each in local]
    assert found[0].filename == __file__


class StopAtThree(Callback):
    def on_iteration_end(self, run):
        return run.iteration == 3


def test_callbacks_stop_the_fit(client):
    X, y, _ = make_tables(DaskMPBoostClassifier)
    model = DaskMPBoostClassifier(callbacks=[StopAtThree()], **QUICK).fit(*as_arrays(X, y))
    assert model.n_iter_ == 3
    assert model.stop_reason_ == "stopped by StopAtThree"


class PressControlC(Callback):
    def on_iteration_end(self, run):
        if run.iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("placement", ["one", "sharded"])
def test_interrupt_leaves_the_model_so_far(client, placement):
    X, values = make_numbers(20_000)
    model = DaskMPBoostClassifier(
        n_estimators=10**6, stopping=None, callbacks=[PressControlC()], placement=placement, random_state=0
    )
    with pytest.warns(RuntimeWarning, match=r"The fit was interrupted after \d+ iterations; the model learned so far"):
        model.fit(*as_arrays(X, values > 0, chunks=(12_000, 8000)))
    assert model.stop_reason_ == "interrupted"
    assert 3 <= model.n_iter_ < 100


@pytest.mark.parametrize("placement", ["one", "sharded"])
def test_time_limit_stops_the_fit(client, placement):
    X, values = make_numbers(20_000)
    model = DaskMPBoostClassifier(n_estimators=10**6, stopping=None, time_limit=0.3, placement=placement)
    model.fit(*as_arrays(X, values > 0, chunks=(12_000, 8000)))
    assert model.stop_reason_ == "time_limit reached"


def test_progress_is_shown_at_the_client(client, capsys):
    X, y, _ = make_tables(DaskMPBoostClassifier)
    DaskMPBoostClassifier(verbose=1, **QUICK).fit(*as_arrays(X, y))
    shown = capsys.readouterr()
    assert "8/8" in shown.out + shown.err


@pytest.mark.slow
@each_estimator
def test_model_on_shards_is_that_of_a_fit_in_memory(client, estimator):
    X, y = make_mixed(20_000)
    y = make_numbers(20_000)[1] if estimator not in CLASSIFIERS else y
    frame = dd.from_pandas(X.assign(y=y, w=np.arange(20_000) % 7), npartitions=5)
    whole = frame.compute()
    params = QUICK | {"n_estimators": 4, "placement": "sharded"}
    model = estimator(**params).fit(frame, "y", "w")
    local = model._make_local().fit(whole.drop(columns=["y", "w"]), whole["y"], whole["w"])
    assert model.placement_ == "sharded"
    assert save_bytes(model.to_local()) == save_bytes(local)


def test_frames_of_pandas_are_refused():
    with pytest.raises(TypeError, match="X must be a Dask array or a Dask data frame, not DataFrame"):
        DaskMPBoostClassifier().fit(pd.DataFrame({"a": [1]}), "a")
    with pytest.raises(ValueError, match="DaskMPBoostClassifier requires y to be passed"):
        DaskMPBoostClassifier().fit(da.ones((3, 3)))
