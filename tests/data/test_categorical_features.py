"""Categorical features of frames and arrays: how they are found, and coded alike whoever made the table."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mpboost import MPBoostClassifier
from mpboost.data.checks import check_table
from mpboost.data.sources import read_source
from tests.support.inputs import check, each_frame, fit

NAN = np.nan


def make_category_frames(words, categories=None):
    """Make frames of every library and type that says that a column is categorical."""
    kept = sorted({word for word in words if word is not None}) if categories is None else categories
    as_arrow = pa.array(words, pa.string())
    return {
        "pandas-category": pd.DataFrame({"c": pd.Categorical(words, categories=kept)}),
        "pandas-str": pd.DataFrame({"c": pd.Series(words, dtype="str")}),
        "pandas-object": pd.DataFrame({"c": pd.Series(words, dtype=object)}),
        "pandas-string": pd.DataFrame({"c": pd.Series(words, dtype="string")}),
        "pandas-arrow": pd.DataFrame({"c": pd.Series(words, dtype=pd.ArrowDtype(pa.string()))}),
        "pandas-arrow-dictionary": pd.DataFrame(
            {"c": pd.Series(words, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))}
        ),
        "polars-string": pl.DataFrame({"c": words}, schema={"c": pl.String}),
        "polars-categorical": pl.DataFrame({"c": words}, schema={"c": pl.Categorical}),
        "polars-enum": pl.DataFrame({"c": words}, schema={"c": pl.Enum(kept)}),
        "arrow-string": pa.table({"c": as_arrow}),
        "arrow-large-string": pa.table({"c": as_arrow.cast(pa.large_string())}),
        "arrow-string-view": pa.table({"c": as_arrow.cast(pa.string_view())}),
        "arrow-dictionary": pa.table({"c": as_arrow.dictionary_encode()}),
        "arrow-chunks": pa.table(
            {"c": pa.chunked_array([as_arrow[:1].dictionary_encode(), as_arrow[1:].dictionary_encode()])}
        ),
    }


TRAIN = ["b", None, "c", "a", "b"]
TEST = ["c", "new", "a", None, "b", "b"]
KINDS = list(make_category_frames(TRAIN))


@pytest.mark.parametrize("kind", KINDS)
def test_check_training_data_finds_categories_by_type(kind):
    data = check(make_category_frames(TRAIN)[kind], y=[0, 1, 0, 1, 0])
    assert data.known["is_categorical_"].tolist() == [True]
    assert data.known["categories_"] == [["a", "b", "c"]]
    assert data.known["has_other_category_"].tolist() == [False]
    assert data.table.n_codes == [3]
    np.testing.assert_array_equal(data.table.to_array()[:, 0], [1, NAN, 2, 0, 1])


@pytest.mark.parametrize("fit_kind", ["pandas-category", "polars-enum", "arrow-chunks"])
@pytest.mark.parametrize("kind", KINDS)
def test_check_table_codes_categories_by_their_values(fit_kind, kind):
    model = fit(make_category_frames(TRAIN, categories=["c", "a", "b"])[fit_kind], y=[0, 1, 0, 1, 0])
    frame = make_category_frames(TEST, categories=["new", "b", "x", "c", "a"])[kind]
    np.testing.assert_array_equal(check_table(model, frame).to_array()[:, 0], [2, NAN, 0, NAN, 1, 1])


def test_check_table_codes_a_frame_whose_categories_were_made_by_another_frame():
    # Polars numbers categories across frames, by who came first.
    pl.Series(["zz", "c", "yy"], dtype=pl.Categorical)
    model = fit(make_category_frames(TRAIN)["pandas-str"], y=[0, 1, 0, 1, 0])
    frame = pl.DataFrame({"c": pl.Series(["zz", "b", "yy", "a"], dtype=pl.Categorical)})[1:]
    np.testing.assert_array_equal(check_table(model, frame).to_array()[:, 0], [1, NAN, 0])


@each_frame
def test_check_training_data_codes_the_features_that_are_named(make_frame):
    frame = make_frame({"n": [0.5, 1.5, 2.5], "i": [7, 3, 7], "s": ["x", "y", None], "b": [True, False, True]})
    for chosen in (["i", "s", "b"], [1, 2, 3], [False, True, True, True]):
        data = check(frame, y=[0, 1, 0], categorical_features=chosen)
        assert data.known["categories_"] == [None, [3, 7], ["x", "y"], [False, True]]
        np.testing.assert_array_equal(data.table.to_array(), [[0.5, 1, 0, 1], [1.5, 0, 1, 0], [2.5, 1, NAN, 1]])


MANY = [f"word {i}" for i in range(1000)]
FEW_OF_MANY = {
    "pandas": lambda words: pd.DataFrame({"a": pd.Categorical(words, categories=MANY)}),
    "polars": lambda words: pl.DataFrame({"a": pl.Series([*MANY, *words]).cast(pl.Categorical)})[len(MANY) :],
    "polars-enum": lambda words: pl.DataFrame({"a": pl.Series(words, dtype=pl.Enum(MANY))}),
    "pyarrow": lambda words: pa.table({"a": pa.array([*MANY, *words]).dictionary_encode()})[len(MANY) :],
}


@pytest.mark.parametrize("make", FEW_OF_MANY.values(), ids=FEW_OF_MANY.keys())
@pytest.mark.parametrize("words", [["word 7", None, "word 3", "word 7"], ["word 999"], [None]], ids=str)
def test_read_factors_looks_at_categories_that_occur(make, words):
    factors = read_source(MPBoostClassifier(), make(words), reset=True, has_categories=False).read_factors(0)
    assert len(factors.values) <= len(words) + 1
    assert [None if place < 0 else factors.values[place] for place in factors.positions] == words


ARRAYS_WITH_CATEGORIES = {
    "floats": (np.array([[7.0, 0.5], [3.0, 1.5], [NAN, 2.5]]), [3, 7]),
    "objects": (np.array([["y", 0.5], ["x", 1.5], [None, 2.5]], dtype=object), ["x", "y"]),
    "lists": ([["y", 0.5], ["x", 1.5], [None, 2.5]], ["x", "y"]),
    "words": (np.array([["y", "0.5"], ["x", "1.5"], ["x", "2.5"]]), ["x", "y"]),
}


@pytest.mark.parametrize(("X", "values"), ARRAYS_WITH_CATEGORIES.values(), ids=ARRAYS_WITH_CATEGORIES.keys())
def test_check_training_data_codes_columns_of_arrays(X, values):
    data = check(X, categorical_features=[0])
    assert data.known["categories_"] == [values, None]
    assert data.table.to_array()[:2].tolist() == [[1, 0.5], [0, 1.5]]
    model = fit(X, categorical_features=[0])
    np.testing.assert_array_equal(check_table(model, X).to_array(), data.table.to_array())
    assert data.table.to_array()[2, 1] == 2.5


def test_check_training_data_takes_words_in_arrays_for_an_error_unless_told():
    with pytest.raises(ValueError, match="could not convert"):
        check(np.array([["x"], ["y"]], dtype=object))
    with pytest.raises(ValueError, match="could not convert"):
        check(np.array([["x", "a"], ["y", "b"]], dtype=object), categorical_features=[0])


@pytest.mark.parametrize("chosen", [[], [False, False]], ids=["empty", "mask"])
def test_check_training_data_refuses_words_in_arrays_if_no_feature_is_chosen(chosen):
    with pytest.raises(ValueError, match="X contains text: list its columns in categorical_features"):
        check(np.array([["1", "2"], ["3", "4"]]), categorical_features=chosen)


def test_check_training_data_codes_other_things_by_their_text():
    days = pd.Categorical(pd.to_datetime(["2020-01-02", "2020-01-01"]))
    X = pd.DataFrame({"interval": pd.cut([0.5, 1.5], [0, 1, 2]), "day": days})
    assert check(X).known["categories_"] == [["(0, 1]", "(1, 2]"], ["2020-01-01 00:00:00", "2020-01-02 00:00:00"]]
    as_instants = pl.DataFrame({"day": [datetime.datetime(2020, 1, 2), None]})
    known = check(as_instants, y=[0, 1], categorical_features=["day"]).known
    assert known["categories_"] == [["2020-01-02 00:00:00"]]


def test_check_training_data_lets_rare_categories_share_a_code():
    words = ["a"] * 3 + ["b"] * 2 + ["c", "d"]
    data = check(pd.DataFrame({"c": words}), max_bins=3)
    assert data.known["categories_"] == [["a", "b"]]
    assert data.known["has_other_category_"].tolist() == [True]
    assert data.table.n_codes == [3]
    model = fit(pd.DataFrame({"c": words}), max_bins=3)
    frame = pd.DataFrame({"c": ["d", "b", "new", None]})
    np.testing.assert_array_equal(check_table(model, frame).to_array()[:, 0], [2, 1, 2, NAN])


def test_check_training_data_learns_no_categories_from_rows_without_weight():
    frame = pd.DataFrame({"c": ["a", "b", "c", "b"]})
    data = check(frame, sample_weight=[1, 0, 2, 0])
    assert data.known["categories_"] == [["a", "c"]]
    np.testing.assert_array_equal(data.table.to_array()[:, 0], [0, NAN, 1, NAN])


def test_check_table_refuses_text_in_a_column_of_numbers():
    model = fit(pd.DataFrame({"a": [1, 2], "c": ["x", "y"]}))
    with pytest.raises(TypeError, match="Column 'a' of X contains String"):
        check_table(model, pd.DataFrame({"a": ["1", "2"], "c": ["x", "y"]}))


@pytest.mark.parametrize(("seen", "given"), [([1, 2], ["1", "2"]), (["1", "2"], [1, 2])], ids=["numbers", "words"])
def test_check_table_warns_of_words_for_numbers(seen, given):
    model = fit(pd.DataFrame({"c": pd.Categorical(seen)}), y=[0, 1])
    with pytest.warns(UserWarning, match="'c'.*missing"):
        table = check_table(model, pd.DataFrame({"c": pd.Categorical(given)}))
    np.testing.assert_array_equal(table.to_array(), [[NAN], [NAN]])


@pytest.mark.parametrize("kind", KINDS)
def test_check_table_warns_where_all_categories_are_new(kind):
    model = fit(make_category_frames(TRAIN)[kind], y=[0, 1, 0, 1, 0])
    with pytest.warns(UserWarning, match="'c' has no category that occurred in training"):
        table = check_table(model, make_category_frames(["new", None, "other"])[kind])
    np.testing.assert_array_equal(table.to_array()[:, 0], [NAN, NAN, NAN])


def test_check_table_warns_of_new_categories_by_the_number_of_a_feature_without_a_name():
    model = fit(np.array([[0.0, 5], [0, 6]]), y=[0, 1], categorical_features=[1])
    with pytest.warns(UserWarning, match="Feature 1 has no category"):
        check_table(model, np.array([[0.0, 7]]))


@pytest.mark.parametrize(
    "given",
    [["a", "new"], [None, None], pd.Categorical(["a", "a"], categories=["new", "a"])],
    ids=["some", "none", "unused"],
)
def test_check_table_is_silent_where_some_categories_are_known_or_all_are_missing(given):
    check_table(fit(pd.DataFrame({"c": pd.Categorical(["a", "b"])}), y=[0, 1]), pd.DataFrame({"c": given}))


def test_check_table_is_silent_about_new_categories_where_rare_ones_share_a_code():
    model = fit(pd.DataFrame({"c": ["a", "a", "b", "b", "rare"]}), y=[0, 1, 0, 1, 0], max_bins=3)
    np.testing.assert_array_equal(check_table(model, pd.DataFrame({"c": ["rare"]})).to_array(), [[2]])


def test_check_table_is_silent_where_training_had_no_category():
    model = fit(pd.DataFrame({"c": pd.Categorical([None, None], categories=["a"])}), y=[0, 1])
    check_table(model, pd.DataFrame({"c": pd.Categorical(["a", "b"])}))
