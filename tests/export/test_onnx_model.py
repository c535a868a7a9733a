"""ONNX models, held to ``predict`` by onnxruntime."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.export.subjects import NAMES, make_feed, make_rows
from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)
from mpboost.export import to_onnx
from tests.support.exports import fit_model

onnx = pytest.importorskip("onnx", reason="ONNX models are made by onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX models are run by onnxruntime")

#: How far probabilities may be from those of predict_proba.
TOLERANCES = {"float64": 1e-12, "float32": 1e-6}


def run(exported, feed):
    onnx.checker.check_model(exported)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(exported.SerializeToString(), options).run(None, feed)


def check_agrees(model, exported, rows, feed, tolerance):
    results = run(exported, feed)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(results[0], model.predict(rows))
        np.testing.assert_allclose(results[1], model.predict_proba(rows), rtol=0, atol=tolerance)
    else:
        np.testing.assert_allclose(results[0][:, 0], model.predict(rows), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("float_type", TOLERANCES)
@pytest.mark.parametrize("name", NAMES)
def test_onnx_agrees_with_predict(name, float_type):
    model = fit_model(name)
    rows = make_rows(model, 3000, float_type)
    exported = to_onnx(model, float_type=float_type)
    check_agrees(model, exported, rows, make_feed(rows, float_type), TOLERANCES[float_type])


@pytest.mark.parametrize("float_type", TOLERANCES)
@pytest.mark.parametrize("name", ["two classes +", "many classes", "numbers +", "gradient, two classes +"])
def test_onnx_agrees_in_the_old_version(name, float_type):
    model = fit_model(name)
    rows = make_rows(model, 3000, float_type)
    exported = to_onnx(model, float_type=float_type, ml_opset=3)
    assert {each.domain: each.version for each in exported.opset_import}["ai.onnx.ml"] == 3
    check_agrees(model, exported, rows, make_feed(rows, float_type), TOLERANCES[float_type])


def test_onnx_refuses_a_version_that_cannot_hold_the_leaves():
    with pytest.raises(ValueError, match="choose 3"):
        to_onnx(fit_model("gradient, many classes"), ml_opset=5)


@pytest.mark.parametrize("name", ["two classes", "gradient, many classes"])
def test_onnx_reads_columns_if_asked(name):
    model = fit_model(name)
    rows = make_rows(model, 500)
    feed = {f"x{j}": rows[:, [j]] for j in range(rows.shape[1])}
    check_agrees(model, to_onnx(model, inputs="columns"), rows, feed, 1e-12)


@pytest.mark.parametrize(
    "names",
    [["label", "probabilities", "prediction"], ["constant_0", "constant_0_", "LabelEncoder_0_out"], ["X", "a b", "\n"]],
    ids=["outputs", "operators", "odd"],
)
@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPBoostRegressor])
def test_onnx_keeps_the_names_of_features_that_it_uses_itself(estimator, names):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {names[0]: rng.normal(size=200), names[1]: rng.choice(["a", "b"], 200), names[2]: rng.normal(size=200)}
    )
    model = estimator(n_estimators=5, random_state=0).fit(X, (X[names[0]] > 0) ^ (X[names[1]] == "a"))
    exported = to_onnx(model)
    assert [each.name for each in exported.graph.input] == names
    check_agrees(model, exported, X, {name: X[[name]].to_numpy() for name in names}, 1e-12)


@pytest.mark.parametrize(("others", "made"), [("x", "x0"), (["x0"], "x0_"), (["x0", "x0_"], "x0__")])
def test_onnx_makes_a_name_for_a_feature_that_has_none(others, made):
    """Inputs of ONNX must have names; the first column of a file with row numbers often has none."""
    X = pd.DataFrame({"": np.arange(60.0)} | dict.fromkeys(others, ["a", "b"] * 30))
    model = MPBoostClassifier(n_estimators=2, random_state=0).fit(X, np.arange(60) % 2)
    exported = to_onnx(model)
    assert [each.name for each in exported.graph.input] == [made, *others]
    feed = {made: X[[""]].to_numpy()} | {name: X[[name]].to_numpy(dtype=object) for name in others}
    check_agrees(model, exported, X, feed, 1e-12)


def test_onnx_refuses_inputs_of_the_same_name():
    """No frame that is fitted has such names, but they can be changed."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    model = MPBoostClassifier(n_estimators=2, random_state=0).fit(X, X["a"] > 0)
    model.feature_names_in_ = np.array(["a", "a"], dtype=object)
    with pytest.raises(ValueError, match="Two features have the same name"):
        to_onnx(model, inputs="columns")


@pytest.mark.parametrize("scale", [1e-40, 1e40, 1e90])
@pytest.mark.parametrize("estimator", [MPBoostRegressor, MPGradientBoostingRegressor])
def test_onnx_adds_up_numbers_beyond_float32_in_the_old_version(estimator, scale):
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = estimator(n_estimators=9, random_state=0).fit(X, (X[:, 0] + X[:, 1]) * scale)
    found = run(to_onnx(model, ml_opset=3), {"X": X})[0][:, 0]
    expected = model.predict(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("max_bins", [255, 4], ids=["all known", "others"])
@pytest.mark.parametrize("categories", [[0, 3, 7, 250, 251, 252], [0.5, 0.1, -2.0, 1e30, 7.0, 9.0]])
def test_onnx_reads_categories_in_a_table_of_numbers(categories, max_bins):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.choice(categories, 300), rng.normal(size=300)])
    y = (X[:, 0] > 0) ^ np.isin(X[:, 1], categories[:3])
    params = {"categorical_features": [1], "max_bins": max_bins, "n_estimators": 9, "random_state": 0}
    model = MPBoostClassifier(**params, stopping=None).fit(X, y)
    rows = np.column_stack([X[:, 0], rng.choice([*categories, np.nan, 5.5, np.inf], 300), X[:, 2]])
    check_agrees(model, to_onnx(model, inputs="table"), rows, {"X": rows}, 1e-12)


@pytest.mark.parametrize("categories", [["a", "b"], [3, 4], [True, False]], ids=["text", "whole", "truth"])
def test_onnx_tells_missing_categories_from_others(categories):
    """Too many categories: unseen ones are like rare ones, missing ones are not."""
    rng = np.random.default_rng(0)
    many = [*categories, *([f"w{k}" for k in range(9)] if isinstance(categories[0], str) else range(10, 19))]
    if isinstance(categories[0], bool):
        many = categories
    column = pd.Categorical(np.array([*many, None], dtype=object)[rng.integers(len(many) + 1, size=400)])
    y = np.where(column.isna(), 0, column.codes % 2)
    X = pd.DataFrame({"word": column, "x": rng.normal(size=400)})
    model = MPGradientBoostingClassifier(n_estimators=10, max_bins=4, random_state=0, min_samples_leaf=1).fit(X, y)
    shown = [categories[0], categories[1], None, 99 if not isinstance(categories[0], str) else "unseen"]
    rows = pd.DataFrame({"word": np.array(shown, dtype=object), "x": 0.0})
    missing = "" if isinstance(categories[0], str) else np.iinfo(np.int64).min
    filled = [missing if value is None else value for value in shown]
    dtype = object if isinstance(categories[0], str) else np.int64
    feed = {"word": np.array(filled, dtype=dtype)[:, None], "x": np.zeros((4, 1))}
    check_agrees(model, to_onnx(model), rows, feed, 1e-12)


@pytest.mark.filterwarnings("ignore:the model")
@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_onnx_knows_trees_without_splits(estimator, n_classes):
    X = np.ones((60, 2))
    y = np.arange(60) % n_classes
    model = estimator(n_estimators=4, random_state=0).fit(X, y)
    check_agrees(model, to_onnx(model), X, {"X": X}, 1e-12)


@pytest.mark.parametrize(
    "classes",
    [np.array(["no", "yes"]), np.array([False, True]), np.array([-1, 7]), np.array([1.0, 2.0])],
    ids=lambda classes: str(classes.dtype),
)
def test_onnx_has_labels_of_the_type_of_classes(classes):
    X = np.arange(40.0)[:, None]
    y = classes[(X[:, 0] > 19).astype(int)]
    model = MPBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    labels = run(to_onnx(model), {"X": X})[0]
    np.testing.assert_array_equal(labels, model.predict(X))
    assert labels.dtype.kind == ("O" if classes.dtype.kind == "U" else classes.dtype.kind)


def test_onnx_has_names_and_facts():
    model = fit_model("two classes +")
    exported = to_onnx(model)
    assert [each.name for each in exported.graph.input] == model.feature_names_in_.tolist()
    assert [each.name for each in exported.graph.output] == ["label", "probabilities"]
    facts = {each.key: each.value for each in exported.metadata_props}
    assert facts["estimator"] == "MPBoostClassifier"
    assert json.loads(facts["classes"]) == ["no", "yes"]
    assert json.loads(facts["categories"])["few"] == model.categories_[5]
    assert exported.producer_name == "mpboost"


def test_onnx_warns_where_float32_is_too_coarse():
    rng = np.random.default_rng(0)
    times = 1.7e9 + rng.integers(0, 60, 300)  # seconds: float32 knows them to 128
    X = np.column_stack([times, rng.normal(size=300)])
    model = MPBoostClassifier(n_estimators=5, random_state=0).fit(X, times % 60 > 30)
    with pytest.warns(UserWarning, match="too coarse for 1 feature \\('x0'\\)"):
        to_onnx(model, float_type="float32")


@pytest.mark.parametrize("value", [1e300, 3e-310], ids=["huge", "tiny"])
def test_onnx_warns_where_float32_cannot_hold_a_threshold(value):
    """With a single threshold, no two of them become one number."""
    X = np.array([[value], [2 * value]] * 30)
    model = MPBoostClassifier(n_estimators=2, random_state=0).fit(X, np.arange(60) % 2)
    with pytest.warns(UserWarning, match="too coarse for 1 feature \\('x0'\\)"):
        to_onnx(model, float_type="float32")


@pytest.mark.parametrize(
    ("categories", "inputs", "warns"),
    [
        ([0.5, 0.1], "auto", True),
        ([2**24, 2**24 + 1], "table", True),
        ([2**24 + 1, 5], "columns", False),
        ([0.5, 3.0], "auto", False),
    ],
    ids=["fractions", "whole numbers in a table", "whole numbers in columns", "exact"],
)
def test_onnx_warns_of_categories_that_float32_does_not_know(categories, inputs, warns, recwarn):
    X = pd.DataFrame({"kind": pd.Categorical(categories * 30)})
    model = MPBoostClassifier(n_estimators=2, random_state=0).fit(X, np.arange(60) % 2)
    to_onnx(model, float_type="float32", inputs=inputs)
    assert [str(each.message)[:45] for each in recwarn] == [
        "float32 is too coarse for 1 feature ('kind'): "[:45]
    ] * warns


def test_onnx_refuses_text_in_a_table():
    with pytest.raises(ValueError, match='choose inputs="columns"'):
        to_onnx(fit_model("two classes +"), inputs="table")


def test_onnx_refuses_categories_of_text_and_numbers():
    words = np.array([1, "a"] * 30, dtype=object)[:, None]
    model = MPBoostClassifier(n_estimators=2, categorical_features=[0], random_state=0).fit(words, np.arange(60) % 2)
    with pytest.raises(ValueError, match="text and numbers"):
        to_onnx(model)


@pytest.mark.parametrize("params", [{"float_type": "float16"}, {"inputs": "rows"}, {"ml_opset": 4}])
def test_onnx_refuses_unknown_parameters(params):
    with pytest.raises(ValueError, match="must be"):
        to_onnx(fit_model("two classes"), **params)
