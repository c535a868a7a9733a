"""Pipelines with models of mpboost, converted by skl2onnx."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import mpboost
from benchmarks.export.subjects import make_table
from mpboost.export import register_skl2onnx

skl2onnx = pytest.importorskip("skl2onnx", reason="pipelines are converted by skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX models are run by onnxruntime")

pytestmark = pytest.mark.filterwarnings("ignore")  # of skl2onnx and the libraries that it uses

PARAMS = {"n_estimators": 12, "random_state": 0}
CASES = {
    "MPBoostClassifier, two": ("MPBoostClassifier", lambda score: np.where(score > 0, "yes", "no")),
    "MPBoostClassifier, many": ("MPBoostClassifier", lambda score: np.digitize(score, [-0.5, 0.5])),
    "MPGradientBoostingClassifier, two": ("MPGradientBoostingClassifier", lambda score: score > 0),
    "MPGradientBoostingClassifier, many": (
        "MPGradientBoostingClassifier",
        lambda score: np.digitize(score, [-0.5, 0.5]),
    ),
    "MPBoostRegressor": ("MPBoostRegressor", lambda score: score),
    "MPGradientBoostingRegressor": ("MPGradientBoostingRegressor", lambda score: score),
}
#: Models of scikit-learn that are made of others, which are given. Of one against the rest, skl2onnx compares
#: probabilities where scikit-learn compares decisions; those of votes have another order.
META = {
    "stacking": lambda bases: StackingClassifier([("votes", bases[0]), ("gradient", bases[1])], cv=2),
    "voting": lambda bases: VotingClassifier(
        [("votes", bases[0]), ("gradient", bases[1])], voting="soft", flatten_transform=False
    ),
    "bagging": lambda bases: BaggingClassifier(bases[1], n_estimators=2, random_state=0),
    "one against the rest": lambda bases: OneVsRestClassifier(bases[1]),
    "search": lambda bases: GridSearchCV(bases[0], {"n_estimators": [5]}, cv=2),
}


def check_agrees(model, exported, X, feed):
    results = onnxruntime.InferenceSession(exported.SerializeToString()).run(None, feed)
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(results[0], model.predict(X))
        np.testing.assert_allclose(results[1], model.predict_proba(X), atol=1e-6)
    else:
        np.testing.assert_allclose(results[0][:, 0], model.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("float_type", ["float64", "float32"])
@pytest.mark.parametrize(("estimator", "make_target"), CASES.values(), ids=CASES)
def test_skl2onnx_converts_a_model(estimator, make_target, float_type):
    register_skl2onnx()
    X, score = make_table(300, 0, has_categories=False)
    X = X.astype(float_type)
    model = getattr(mpboost, estimator)(**PARAMS).fit(X, make_target(score))
    options = {"zipmap": False} if hasattr(model, "classes_") else None
    check_agrees(model, skl2onnx.to_onnx(model, X[:1], options=options), X, {"X": X})


def test_skl2onnx_converts_a_pipeline():
    register_skl2onnx()
    X, score = make_table(300, 0, has_categories=False)
    table = pd.DataFrame(X, columns=[f"n{j}" for j in range(5)]).assign(
        word=np.array(["a", "b", "c"])[np.arange(300) % 3]
    )
    steps = make_column_transformer((StandardScaler(), ["n0", "n1"]), (OneHotEncoder(sparse_output=False), ["word"]))
    model = make_pipeline(steps, mpboost.MPGradientBoostingClassifier(**PARAMS)).fit(table, score > 0)
    exported = skl2onnx.to_onnx(model, table[:1], options={"zipmap": False})
    feed = {name: table[[name]].to_numpy() for name in table}
    check_agrees(model, exported, table, feed | {"word": feed["word"].astype(object)})


@pytest.mark.parametrize(
    ("estimator", "make_target", "params"),
    [*((*case, {}) for case in list(CASES.values())[:4]), (*CASES["MPBoostClassifier, many"], {"multiclass": "oc"})],
    ids=[*list(CASES)[:4], "oc"],
)
def test_skl2onnx_converts_what_uses_decisions_of_a_model(estimator, make_target, params):
    """Calibration by scikit-learn reads the decision function. (skl2onnx only approximates its isotonic one.)"""
    register_skl2onnx()
    X, score = make_table(300, 0, has_categories=False)
    base = getattr(mpboost, estimator)(**PARAMS, **params)
    model = CalibratedClassifierCV(base, cv=2).fit(X, make_target(score))
    check_agrees(model, skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}), X, {"X": X})


@pytest.mark.parametrize("make_meta", META.values(), ids=META)
def test_skl2onnx_converts_models_of_models(make_meta):
    register_skl2onnx()
    X, score = make_table(300, 0, has_categories=False)
    y = np.digitize(score, [-0.5, 0.5])
    bases = [getattr(mpboost, name)(**PARAMS) for name in ("MPBoostClassifier", "MPGradientBoostingClassifier")]
    model = make_meta(bases).fit(np.nan_to_num(X), y)
    check_agrees(model, skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}), X, {"X": X})


@pytest.mark.parametrize("name", ["MPBoostClassifier", "MPGradientBoostingClassifier"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_skl2onnx_gives_decisions_if_asked(name, n_classes):
    register_skl2onnx()
    X, score = make_table(300, 0, has_categories=False)
    model = getattr(mpboost, name)(**PARAMS).fit(X, np.digitize(score, [-0.5, 0.5][: n_classes - 1]))
    exported = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False, "raw_scores": True})
    labels, decisions = onnxruntime.InferenceSession(exported.SerializeToString()).run(None, {"X": X})
    expected = model.decision_function(X)
    expected = np.column_stack([-expected, expected]) if n_classes == 2 else expected
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(decisions, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("zipmap", [True, "columns", False])
def test_skl2onnx_gives_truth_values_as_whole_numbers(zipmap):
    """As it does of scikit-learn's classifiers: maps of probabilities cannot have truth values as keys."""
    register_skl2onnx()
    X, score = make_table(300, 0, has_categories=False)
    X = X.astype(np.float32)
    model = mpboost.MPGradientBoostingClassifier(**PARAMS).fit(X, score > 0)
    exported = skl2onnx.to_onnx(model, X[:1], options={"zipmap": zipmap})
    labels, *shares = onnxruntime.InferenceSession(exported.SerializeToString()).run(None, {"X": X})
    found = [[row[0], row[1]] for row in shares[0]] if zipmap is True else np.column_stack(shares)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-6)


def test_skl2onnx_gives_codes_of_classes_if_asked():
    register_skl2onnx()
    X, score = make_table(300, 0, has_categories=False)
    model = mpboost.MPBoostClassifier(**PARAMS).fit(X, np.where(score > 0, "yes", "no"))
    exported = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False, "nocl": True})
    labels, _ = onnxruntime.InferenceSession(exported.SerializeToString()).run(None, {"X": X})
    np.testing.assert_array_equal(model.classes_[labels], model.predict(X))


def test_skl2onnx_refuses_categories_of_text():
    register_skl2onnx()
    X = pd.DataFrame({"word": ["a", "b"] * 30})
    model = mpboost.MPBoostClassifier(**PARAMS).fit(X, np.arange(60) % 2)
    kinds = [("X", skl2onnx.common.data_types.DoubleTensorType([None, 1]))]
    with pytest.raises(ValueError, match="in a pipeline, encode them before the model"):
        skl2onnx.to_onnx(model, initial_types=kinds)


def test_skl2onnx_reads_whole_numbers():
    register_skl2onnx()
    X = np.random.default_rng(0).integers(0, 9, size=(200, 3))
    model = mpboost.MPBoostClassifier(**PARAMS).fit(X, X[:, 0] > 4)
    check_agrees(model, skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}), X, {"X": X})
