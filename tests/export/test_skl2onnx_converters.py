"""Pipelines with models of mpboost, converted by skl2onnx."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
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


def test_skl2onnx_reads_whole_numbers():
    register_skl2onnx()
    X = np.random.default_rng(0).integers(0, 9, size=(200, 3))
    model = mpboost.MPBoostClassifier(**PARAMS).fit(X, X[:, 0] > 4)
    check_agrees(model, skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}), X, {"X": X})
