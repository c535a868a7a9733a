"""C sources, compiled by the system's compiler and held to ``predict``."""

import ctypes
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from benchmarks.export.subjects import NAMES, make_rows
from mpboost import MPBoostClassifier
from mpboost.export import encode_rows, to_c
from tests.support.cases import list_cases
from tests.support.exports import fit_model

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

DOUBLES = ctypes.POINTER(ctypes.c_double)
FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")


def compile_library(source, folder, *flags):
    folder.joinpath("model.c").write_text(source, encoding="ascii")
    command = [COMPILER, *FLAGS, *flags, str(folder / "model.c"), "-o", str(folder / "model.so"), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "model.so"))


def predict_by(library, model, rows):
    """Predict codes of classes and probabilities, or numbers."""
    rows = np.ascontiguousarray(rows)
    pointers = [row.ctypes.data_as(DOUBLES) for row in rows]
    function = library.model_predict
    if not hasattr(model, "classes_"):
        function.argtypes, function.restype = [DOUBLES], ctypes.c_double
        return np.array([function(row) for row in pointers]), None
    function.argtypes, function.restype = [DOUBLES, DOUBLES], ctypes.c_int
    shares = np.empty((len(rows), len(model.classes_)))
    codes = [function(row, each.ctypes.data_as(DOUBLES)) for row, each in zip(pointers, shares, strict=True)]
    return model.classes_[codes], shares


@pytest.mark.parametrize("name", list_cases({name: name for name in NAMES}, quick=["two classes", "numbers +"]))
def test_c_agrees_with_predict(name, tmp_path):
    model = fit_model(name)
    rows = make_rows(model, 3000)
    values, shares = predict_by(compile_library(to_c(model), tmp_path), model, encode_rows(model, rows))
    if shares is None:
        np.testing.assert_allclose(values, model.predict(rows), rtol=1e-15)
    else:
        np.testing.assert_array_equal(values, model.predict(rows))
        np.testing.assert_allclose(shares, model.predict_proba(rows), rtol=0, atol=1e-15)


def test_c_has_bits_of_predict_where_nothing_but_sums_is_computed(tmp_path):
    model = fit_model("gradient, squared error")
    rows = make_rows(model, 1000)
    values, _ = predict_by(compile_library(to_c(model), tmp_path), model, rows)
    np.testing.assert_array_equal(values, model.predict(rows))


def test_c_looks_up_codes_of_categories(tmp_path):
    model = fit_model("two classes +")
    library = compile_library(to_c(model), tmp_path)
    library.model_category.restype = ctypes.c_double
    few, many = model.categories_[5], model.categories_[6]
    found = [library.model_category(5, word.encode()) for word in [*few, "unseen"]]
    np.testing.assert_array_equal(found, [*range(len(few)), np.nan])
    assert library.model_category(6, b"unseen") == len(many)  # too many words: unseen ones are like rare ones
    assert library.model_category(7, b"3") == model.categories_[7].index(3)


def test_c_names_features_and_classes(tmp_path):
    model = fit_model("two classes +")
    library = compile_library(to_c(model, name="mood"), tmp_path)
    features = (ctypes.c_char_p * 8).in_dll(library, "mood_features")
    classes = (ctypes.c_char_p * 2).in_dll(library, "mood_classes")
    assert [name.decode() for name in features] == model.feature_names_in_.tolist()
    assert list(classes) == [b"no", b"yes"]


def test_c_of_trees_without_splits_compiles(tmp_path):
    X = np.ones((40, 1))
    model = MPBoostClassifier(n_estimators=3, random_state=0).fit(X, np.arange(40) % 2)
    values, _ = predict_by(compile_library(to_c(model), tmp_path), model, X)
    np.testing.assert_array_equal(values, model.predict(X))


def test_c_survives_odd_names(tmp_path):
    model = fit_model("two classes +")
    model.target_name_ = "*/ \\ \n why??/"
    source = to_c(model)
    del model.target_name_
    compile_library(source, tmp_path)


def test_c_of_a_feature_without_categories_compiles(tmp_path):
    """All of its values were missing in training."""
    X = pd.DataFrame({"word": pd.Categorical([None] * 40, categories=["a"]), "x": np.arange(40.0)})
    model = MPBoostClassifier(n_estimators=3, random_state=0).fit(X, X["x"] > 20)
    source = to_c(model)
    folder = tmp_path / "optimised"
    folder.mkdir()
    compile_library(source, folder, "-O2")  # which finds more to warn of
    values, _ = predict_by(compile_library(source, tmp_path), model, encode_rows(model, X))
    np.testing.assert_array_equal(values, model.predict(X))


@pytest.mark.parametrize("name", ["used", "edge", "category", "n"])
def test_c_tables_of_its_own_do_not_clash_with_a_name(name, tmp_path):
    compile_library(to_c(fit_model("two classes +"), name=name), tmp_path)


def test_c_refuses_a_name_that_c_does_not_allow():
    with pytest.raises(ValueError, match="begin with a letter"):
        to_c(fit_model("two classes"), name="my model")
