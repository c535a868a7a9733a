"""A slice of the fuzzer of fit and predict, and whether it would notice anything."""

import pickle
import re
import warnings
from collections import Counter

import numpy as np
import pytest
from sklearn.base import is_classifier

from fuzz import inputs, streams
from mpboost import MPBoostClassifier, MPBoostRegressor

pytestmark = pytest.mark.slow

OUTCOMES = {"fitted", "ValueError", "TypeError", "LieError"}


@pytest.mark.slow
def test_generated_input_is_fitted_or_refused():
    outcomes = [(case, *inputs.run_case(case)) for case in range(400)]
    assert [outcome for outcome in outcomes if outcome[1] not in OUTCOMES] == []
    counts = Counter(kind for _, kind, _ in outcomes)
    assert counts["fitted"] >= 80, "hardly any input gets through"
    assert min(counts["ValueError"], counts["TypeError"]) >= 20, "hardly any input is wrong"


def test_generated_input_is_of_all_kinds():
    modules = Counter(type(inputs.make_case(case).X).__module__.split(".")[0] for case in range(300))
    assert {"numpy", "pandas", "polars", "pyarrow", "scipy", "builtins", "fuzz"} <= modules.keys()


def test_generated_targets_are_of_all_kinds():
    cases = [inputs.make_case(case) for case in range(200)]
    assert {case.estimator for case in cases} == set(inputs.PARAMETERS)
    labels = [case.y for case in cases if is_classifier(case.estimator()) and isinstance(case.y, np.ndarray)]
    n_classes = [len(np.unique(y)) for y in labels if y.dtype.kind in "biuf"]
    assert n_classes.count(2) >= 10
    assert sum(count > 2 for count in n_classes) >= 10


def test_generated_losses_are_of_all_kinds():
    cases = [inputs.make_case(case) for case in range(1500)]
    losses = [case.params["loss"] for case in cases if "loss" in case.params]
    assert {type(loss).__name__ for loss in losses} >= {"str", "SquaredLoss", "FullLoss", "OddLoss"}


def test_case_is_the_same_every_time():
    first, again, other = (
        [re.sub("0x[0-9a-fA-F]+", "", repr((case.params, case.X, case.y))) for case in map(inputs.make_case, cases)]
        for cases in (range(40, 50), range(40, 50), range(50, 60))
    )
    assert first == again != other


def wrap(method, change):
    return lambda self, *args, **kwargs: change(self, method(self, *args, **kwargs))


def raise_key_error(model, result):
    raise KeyError("x")


def fail_half_way(self, *args, **kwargs):
    self.classes_ = np.array([0, 1])
    raise ValueError("too late")


def warn(model, result):
    warnings.warn_explicit("overflow", RuntimeWarning, f"{inputs.PACKAGE}/sampling.py", 1)
    return result


def publish_no_distribution(model, result):
    model.feature_probabilities_ = 2 * model.feature_probabilities_
    return model


DEFECTS = {
    "exception-in-fit": ("fit", raise_key_error, "KeyError"),
    "exception-in-predict": ("predict", raise_key_error, "KeyError"),
    "warning": ("fit", warn, "RuntimeWarning"),
    "distribution": ("fit", publish_no_distribution, "feature_probabilities_ sums to"),
    "labels": ("predict", lambda model, labels: np.full(len(labels), "?"), "labels"),
    "shape": ("decision_function", lambda model, decisions: decisions[:-1], "shapes"),
    "not-finite": ("decision_function", lambda model, decisions: decisions * np.nan, "decisions"),
    "shares": ("predict_proba", lambda model, shares: shares + 0.1, "shares"),
    "other-labels": (
        "predict",
        lambda model, labels: model.classes_[(labels == model.classes_[0]).astype(int)],
        "labels",
    ),
}
NUMBER_DEFECTS = {
    "exception-in-fit": ("fit", raise_key_error, "KeyError"),
    "distribution": ("fit", publish_no_distribution, "feature_probabilities_ sums to"),
    "shape": ("predict", lambda model, numbers: numbers[:-1], "predictions"),
    "not-finite": ("predict", lambda model, numbers: numbers * np.nan, "predictions"),
    "stages": ("predict", lambda model, numbers: numbers + 1, "last stage"),
}


def is_good(case, estimator):
    made = inputs.make_case(case)
    return made.estimator is estimator and type(made.X) is np.ndarray and inputs.run_case(case)[0] == "fitted"


@pytest.fixture(scope="module")
def good_cases():
    """For each estimator a case with nothing odd about it, which is fitted."""
    estimators = MPBoostClassifier, MPBoostRegressor
    return {each: next(case for case in range(1000) if is_good(case, each)) for each in estimators}


@pytest.fixture
def good_case(good_cases):
    return good_cases[MPBoostClassifier]


@pytest.mark.parametrize(("method", "change", "word"), DEFECTS.values(), ids=DEFECTS.keys())
def test_case_notices(monkeypatch, good_case, method, change, word):
    monkeypatch.setattr(MPBoostClassifier, method, wrap(getattr(MPBoostClassifier, method), change))
    kind, detail = inputs.run_case(good_case)
    assert kind == "error"
    assert word in detail


@pytest.mark.parametrize(("method", "change", "word"), NUMBER_DEFECTS.values(), ids=NUMBER_DEFECTS.keys())
def test_case_notices_of_a_regressor(monkeypatch, good_cases, method, change, word):
    monkeypatch.setattr(MPBoostRegressor, method, wrap(getattr(MPBoostRegressor, method), change))
    kind, detail = inputs.run_case(good_cases[MPBoostRegressor])
    assert kind == "error"
    assert word in detail


def test_case_notices_a_failed_fit_that_leaves_traces(monkeypatch, good_case):
    monkeypatch.setattr(MPBoostClassifier, "fit", fail_half_way)
    assert "has changed ['classes_']" in inputs.run_case(good_case)[1]


def test_case_notices_input_that_was_changed(monkeypatch, good_case):
    fit = MPBoostClassifier.fit

    def change(self, X, *args, **kwargs):
        model = fit(self, X, *args, **kwargs)
        X.flat[0] += 1
        return model

    monkeypatch.setattr(MPBoostClassifier, "fit", change)
    case = inputs.make_case(good_case)
    case.X = np.random.default_rng(0).normal(size=case.X.shape)
    monkeypatch.setattr(inputs, "make_case", lambda number: case)
    assert "changed its input" in inputs.run_case(good_case)[1]


def test_case_notices_a_pickle_that_predicts_otherwise(monkeypatch, good_case):
    def change(data):
        model = loads(data)
        model.learning_rate_ *= 2
        return model

    loads = pickle.loads
    case = inputs.make_case(good_case)
    case.is_pickled = True
    monkeypatch.setattr(inputs, "make_case", lambda number: case)
    monkeypatch.setattr(inputs.pickle, "loads", change)
    assert "pickled model" in inputs.run_case(good_case)[1]


def test_replay_shows_the_input(capsys, good_case):
    assert inputs.replay(good_case) == 0
    output = capsys.readouterr().out
    assert "X: numpy.ndarray shape (" in output
    assert output.endswith("fitted: \n")


def test_generated_input_gives_the_same_model_as_a_dataset():
    outcomes = [(case, *streams.run_case(case)) for case in range(150)]
    assert [outcome for outcome in outcomes if outcome[1] not in ("same", "refused", "only here")] == []
    counts = Counter(kind for _, kind, _ in outcomes)
    assert counts["same"] >= 50, "hardly any input gets through"
    refused = [detail for _, kind, detail in outcomes if kind == "refused" and detail.startswith("only as a dataset")]
    assert len(refused) + counts["only here"] <= 5
