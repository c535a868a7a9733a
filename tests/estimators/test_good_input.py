"""What the classifier accepts as X and y: types, layouts, frames, missing values, labels."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mpboost import MPBoostClassifier
from tests.support.helpers import SMALL, describe_model, make_integers, make_read_only

# Types and layouts of X


NATIVE_TYPES = ["i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "g"]
FOREIGN_TYPES = [">i2", ">i4", ">i8", ">u2", ">u4", ">f2", ">f4", ">f8"]


@pytest.mark.parametrize("dtype", [*NATIVE_TYPES, *FOREIGN_TYPES, "O"])
def test_fit_gives_the_same_model_for_every_type_of_number(dtype):
    X, y = make_integers()
    expected = MPBoostClassifier(**SMALL).fit(X.astype(np.float64), y)
    model = MPBoostClassifier(**SMALL).fit(X.astype(dtype), y)
    assert describe_model(model) == describe_model(expected)


@pytest.mark.parametrize("dtype", [*NATIVE_TYPES, *FOREIGN_TYPES, "u1", "O"])
def test_predict_gives_the_same_decisions_for_every_type_of_number(dtype):
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X, y)
    X_new, _ = make_integers(seed=1)
    np.testing.assert_array_equal(
        model.decision_function(X_new.astype(dtype)), model.decision_function(X_new.astype(np.float64))
    )


def test_fit_on_bytes_learns_what_it_learns_from_floats():
    X, y = make_integers()
    X[:60] = np.arange(60)[:, None]  # each value occurs, so that the bins of both are the same
    as_bytes = MPBoostClassifier(**SMALL).fit(X.astype(np.uint8), y)
    as_floats = MPBoostClassifier(**SMALL).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(as_bytes.decision_function(X), as_floats.decision_function(X))
    np.testing.assert_array_equal(as_bytes.feature_probabilities_, as_floats.feature_probabilities_)
    np.testing.assert_array_equal(as_bytes.oop_scores_, as_floats.oop_scores_)


def test_predict_of_a_byte_model_judges_bytes_and_floats_alike():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(500, 4), dtype=np.uint8)
    y = X[:, 0] > 200
    model = MPBoostClassifier(**SMALL).fit(X, y)
    X_new = rng.integers(0, 256, size=(500, 4), dtype=np.uint8)
    np.testing.assert_array_equal(model.decision_function(X_new), model.decision_function(X_new.astype(np.float64)))


def test_fit_on_bools_equals_fit_on_zeros_and_ones():
    X = np.random.default_rng(0).random((300, 6)) < 0.5
    y = X[:, 0] & X[:, 1] | X[:, 2]
    parameters = SMALL | {"feature_momentum": 0.5}  # finds the features that count within a few iterations
    model = MPBoostClassifier(**parameters).fit(X, y)
    assert describe_model(model) == describe_model(MPBoostClassifier(**parameters).fit(X.astype(np.float64), y))
    assert model.score(X, y) > 0.95


def test_fit_on_float32_and_float64_of_the_same_values_gives_the_same_model():
    X = np.random.default_rng(0).normal(size=(2000, 5)).astype(np.float32)
    y = X[:, 0] * X[:, 1] > 0
    single, double = (MPBoostClassifier(**SMALL).fit(X.astype(dtype), y) for dtype in (np.float32, np.float64))
    assert describe_model(single) == describe_model(double)


def put_into_records(X):
    """Lay the numbers five bytes apart, so that most of them are not aligned."""
    records = np.zeros(X.shape, dtype=np.dtype([("tag", "u1"), ("value", X.dtype)]))
    records["value"] = X
    return records["value"]


def put_into_every_other_cell(X):
    wide = np.full((2 * X.shape[0], 2 * X.shape[1]), -1, dtype=X.dtype)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def lay_out_backwards(X):
    return X[::-1, ::-1].copy()[::-1, ::-1]


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": put_into_every_other_cell,
    "backwards": lay_out_backwards,
    "read-only": make_read_only,
    "records": put_into_records,
    "slice-of-fortran": lambda X: np.asfortranarray(np.vstack([X, X]))[: len(X)],
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("lay_out", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_fit_and_predict_do_not_depend_on_the_layout(lay_out):
    X, y = make_integers()
    X = X.astype(np.float32)
    expected = MPBoostClassifier(**SMALL).fit(X, y)
    model = MPBoostClassifier(**SMALL).fit(lay_out(X), y)
    assert describe_model(model) == describe_model(expected)
    np.testing.assert_array_equal(model.decision_function(lay_out(X)), expected.decision_function(X))


def test_fit_and_predict_read_memory_mapped_files(tmp_path):
    X, y = make_integers()
    X = X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = MPBoostClassifier(**SMALL).fit(mapped, y)
    expected = MPBoostClassifier(**SMALL).fit(X, y)
    assert describe_model(model) == describe_model(expected)
    np.testing.assert_array_equal(model.predict(mapped), expected.predict(X))


def test_fit_leaves_its_input_as_it_was():
    X, y = make_integers()
    X_before, y_before = X.copy(), y.copy()
    MPBoostClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def test_fit_keeps_the_names_of_a_data_frame():
    X, y = make_integers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = MPBoostClassifier(**SMALL).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(
        model.decision_function(frame), MPBoostClassifier(**SMALL).fit(X, y).decision_function(X)
    )


def test_fit_on_an_array_forgets_the_names_of_an_earlier_data_frame():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(pd.DataFrame(X, columns=list("abcde")), y)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_fit_reads_data_frames_of_mixed_columns():
    X, y = make_integers()
    frame = pd.DataFrame({"int": X[:, 0], "float": X[:, 1] / 2, "bool": X[:, 2] > 30, "nullable": X[:, 3]})
    frame["nullable"] = frame["nullable"].astype("Int64")
    frame.loc[::7, "nullable"] = pd.NA
    plain = frame.astype(np.float64).to_numpy()
    expected = MPBoostClassifier(**SMALL).fit(plain, y)
    model = MPBoostClassifier(**SMALL).fit(frame, y)
    np.testing.assert_array_equal(model.decision_function(frame), expected.decision_function(plain))


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_fit_reads_frames_of_every_library(make):
    X, y = make_integers()
    frame = make({"int": X[:, 0], "float": X[:, 1] / 2, "byte": X[:, 2].astype(np.uint8), "bool": X[:, 3] > 30})
    pandas = pd.DataFrame(
        {"int": X[:, 0], "float": X[:, 1] / 2, "byte": X[:, 2].astype(np.uint8), "bool": X[:, 3] > 30}
    )
    expected = MPBoostClassifier(**SMALL).fit(pandas, y)
    model = MPBoostClassifier(**SMALL).fit(frame, y)
    assert describe_model(model) == describe_model(expected)
    np.testing.assert_array_equal(model.decision_function(pandas), expected.decision_function(frame))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_fit_learns_from_words(make):
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "black"])[rng.integers(0, 4, size=400)]
    y = np.isin(words, ["red", "black"])
    frame = make({"noise": rng.normal(size=400), "colour": words.tolist()})
    model = MPBoostClassifier(**{**SMALL, "max_features": 2}).fit(frame, y)
    assert model.categories_ == [None, ["black", "blue", "green", "red"]]
    assert model.score(frame, y) == 1.0
    shuffled = pd.DataFrame(
        {"noise": 0.0, "colour": pd.Categorical(words, categories=["red", "blue", "green", "black"])}
    )
    assert (model.predict(shuffled) == y).all()


def test_fit_on_a_sparse_matrix_equals_fit_on_its_dense_form():
    X, y = make_integers()
    X = np.where(X < 30, 0, X).astype(np.float64)
    expected = MPBoostClassifier(**SMALL).fit(X, y)
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        model = MPBoostClassifier(**SMALL).fit(make(X), y)
        assert describe_model(model) == describe_model(expected)
        np.testing.assert_array_equal(model.decision_function(make(X)), expected.decision_function(X))
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(make(X)))


# Missing values


def test_fit_learns_from_missingness_itself():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.random(400) < 0.5
    X[y, 1] = np.nan
    model = MPBoostClassifier(**SMALL).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) == 1.0


@pytest.mark.parametrize("missing_class", [0, 1])
def test_fit_learns_which_way_missing_values_go(missing_class):
    # The feature tells the classes apart, and missing values belong to one of them.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=600)
    X = (y + rng.uniform(0.0, 0.9, size=600))[:, None]
    X[(y == missing_class) & (rng.random(600) < 0.5)] = np.nan
    model = MPBoostClassifier(n_estimators=11, max_samples=100, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) == 1.0


def test_predict_takes_missing_values_that_fit_never_saw():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X.astype(np.float64), y)
    holed = X.astype(np.float64)
    holed[:, 4] = np.nan  # says nothing about y
    assert model.score(holed, y) > 0.8
    assert np.isin(model.predict(np.full((3, 5), np.nan)), model.classes_).all()


def test_fit_gives_no_credit_to_features_that_are_all_missing_or_constant():
    X, y = make_integers()
    X = np.column_stack([np.full(len(X), np.nan), X, np.ones(len(X))])
    model = MPBoostClassifier(
        n_estimators=60, max_samples=60, max_features=7, feature_momentum=0.5, random_state=0
    ).fit(X, y)
    assert model.feature_importances_[[0, -1]].tolist() == [0.0, 0.0]
    assert model.feature_probabilities_[[0, -1]].max() < 1e-6


# Labels


LABELS = {
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "bools": np.array([False, True]),
    "signs": np.array([-1, 1]),
    "integers": np.array([-1000, 70000]),
    "bytes": np.array([254, 255], dtype=np.uint8),
    "whole-floats": np.array([2.0, 5.0]),
}


@pytest.mark.parametrize("classes", LABELS.values(), ids=LABELS.keys())
def test_predict_answers_in_the_labels_of_y(classes):
    X, y = make_integers()
    expected = MPBoostClassifier(**SMALL).fit(X, y).predict(X)
    model = MPBoostClassifier(**SMALL).fit(X, classes[y])
    np.testing.assert_array_equal(model.classes_, classes)
    assert model.classes_.dtype == classes.dtype
    np.testing.assert_array_equal(model.predict(X), classes[expected])
    assert model.predict(X).dtype == classes.dtype


def test_fit_sorts_classes_whatever_comes_first():
    X, y = make_integers()
    labels = np.array(["z", "a"])[y]
    model = MPBoostClassifier(**SMALL).fit(X, labels)
    assert model.classes_.tolist() == ["a", "z"]
    assert model.score(X, labels) > 0.85
    assert ((model.decision_function(X) > 0) <= (model.predict(X) == "z")).all()


@pytest.mark.parametrize("make", [pd.Series, pd.Categorical, list], ids=["series", "categorical", "list"])
def test_fit_takes_string_labels_in_other_containers(make):
    X, y = make_integers()
    labels = np.array(["no", "yes"])[y]
    model = MPBoostClassifier(**SMALL).fit(X, make(labels))
    np.testing.assert_array_equal(model.predict(X), MPBoostClassifier(**SMALL).fit(X, labels).predict(X))
