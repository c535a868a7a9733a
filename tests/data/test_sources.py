"""Data frames of all libraries as X: their numbers and their names."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mpboost.data import sources
from mpboost.data.checks import check_table
from mpboost.data.sources import view_as_block
from mpboost.data.tables import ColumnTable, DenseTable
from tests.support.inputs import check, each_frame, fit, read

NAN = np.nan


# Numbers


@each_frame
def test_check_training_data_reads_numbers_of_frames(make_frame):
    frame = make_frame({"i": [1, 2, 3], "f": [0.5, 1.5, 2.5], "b": [True, False, True]})
    data = check(frame, y=[0, 1, 0])
    assert isinstance(data.table, ColumnTable)
    assert [column.dtype for column in data.table.columns] == [np.int64, np.float64, bool]
    assert data.table.to_array().tolist() == [[1, 0.5, 1], [2, 1.5, 0], [3, 2.5, 1]]
    assert data.known["n_features_in_"] == 3
    assert data.known["feature_names_in_"].tolist() == ["i", "f", "b"]
    assert data.known["feature_names_in_"].dtype == object


@each_frame
def test_check_training_data_reads_missing_numbers_of_frames_as_nan(make_frame):
    frame = make_frame({"i": [1, None, 3], "f": [0.5, None, 2.5], "b": [True, None, False]})
    np.testing.assert_array_equal(read(frame, y=[0, 1, 0]), [[1, 0.5, 1], [NAN, NAN, NAN], [3, 2.5, 0]])


@pytest.mark.parametrize("order", "CF")
def test_check_training_data_finds_the_one_array_of_a_frame(order):
    X = np.asarray(np.random.default_rng(0).normal(size=(7, 5)), order=order)
    for frame in (pd.DataFrame(X, copy=False), pd.DataFrame(X, copy=False).iloc[1:, ::2].iloc[:, ::-1]):
        table = check(frame).table
        assert isinstance(table, DenseTable)
        assert np.shares_memory(table.array, X)
        np.testing.assert_array_equal(table.array, frame.to_numpy())


@pytest.fixture
def by_columns(monkeypatch):
    """Read frames column by column, however small they are."""
    monkeypatch.setattr(sources, "CELLS_AT_ONCE", 0)


NUMERIC_FRAMES = {
    **{f"pandas-{dtype}": pd.DataFrame({"a": [1, 0], "b": [0, 1]}, dtype=dtype) for dtype in ("f8", "f4", "i8", "u1")},
    "pandas-bool": pd.DataFrame({"a": [True, False], "b": [False, False]}),
    "pandas-nan": pd.DataFrame({"a": [1.0, NAN], "b": [np.inf, -0.0]}),
    "polars": pl.DataFrame({"a": [1.5, None], "b": [NAN, np.inf]}),
    "polars-f4": pl.DataFrame({"a": [1.5, None], "b": [0.1, 2]}, schema={"a": pl.Float32, "b": pl.Float32}),
}


@pytest.mark.parametrize("frame", NUMERIC_FRAMES.values(), ids=NUMERIC_FRAMES.keys())
def test_check_training_data_reads_small_frames_at_once(frame, monkeypatch):
    table = check(frame, y=[0, 1]).table
    assert isinstance(table, DenseTable)
    monkeypatch.setattr(sources, "CELLS_AT_ONCE", 0)
    by_columns = read(frame, y=[0, 1])
    np.testing.assert_array_equal(table.array, by_columns)
    assert table.array.dtype == by_columns.dtype


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_check_training_data_knows_the_columns_of_small_frames(make):
    known = check(make({"a": [1.0, 2.0], "b": [3.0, 4.0]}), y=[0, 1], categorical_features=["b"]).known
    assert known["feature_names_in_"].tolist() == ["a", "b"]
    assert known["categories_"] == [None, [3.0, 4.0]]


@pytest.mark.usefixtures("by_columns")
def test_check_training_data_finds_no_one_array_where_columns_are_apart():
    X = np.random.default_rng(0).normal(size=(7, 5))
    frame = pd.DataFrame(X, columns=list("abcde"), copy=False)
    for parts in (frame.assign(z=0.0), frame.assign(z=1)):
        table = check(parts).table
        assert isinstance(table, ColumnTable)
        np.testing.assert_array_equal(table.to_array(), parts.to_numpy())
    apart = {"gap": [X[:, 0], X[:, 1], X[:, 3]], "slice": [X[:-1, 0], X[::2, 1]], "type": [X[:, 0], X.view("i8")[:, 1]]}
    assert {name: view_as_block(columns) for name, columns in apart.items()} == dict.fromkeys(apart)


def test_check_training_data_keeps_whole_numbers_exact():
    large = [2**53 + 1, 2**62 + 1]
    for X in (
        pd.DataFrame({"a": large}),
        pd.DataFrame({"a": large}, dtype="Int64"),
        pd.DataFrame({"a": large}, dtype="int64[pyarrow]"),
        pl.DataFrame({"a": large}),
        pa.table({"a": large}),
    ):
        array = check(X, y=[0, 1]).table.to_array()
        assert array.dtype == np.int64
        assert array.ravel().tolist() == large


TYPES = {
    "i1": pa.int8(),
    "i2": pa.int16(),
    "i4": pa.int32(),
    "u1": pa.uint8(),
    "u2": pa.uint16(),
    "u4": pa.uint32(),
    "u8": pa.uint64(),
    "f4": pa.float32(),
}


@pytest.mark.parametrize("dtype", TYPES.keys())
def test_check_training_data_keeps_the_type_of_each_column(dtype):
    table = pa.table({"a": pa.array([1, 2], TYPES[dtype])})
    missing = pa.table({"a": pa.array([1, None], TYPES[dtype])})
    for convert in (
        lambda table: table,
        pl.from_arrow,
        lambda table: table.to_pandas(),
        lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    ):
        assert check(convert(table), y=[0, 1]).table.to_array().dtype == np.dtype(dtype)
        np.testing.assert_array_equal(read(convert(missing), y=[0, 1]), [[1], [NAN]])


ODD_NUMBERS = {
    "decimals-polars": pl.DataFrame({"a": [decimal.Decimal("1.5"), None]}),
    "decimals-arrow": pa.table({"a": [decimal.Decimal("1.5"), None]}),
    "decimal-objects": pd.DataFrame({"a": [decimal.Decimal("1.5"), None]}, dtype=object),
    "int128": pl.DataFrame({"a": [1.5, None]}).select(2 * pl.col("a").cast(pl.Int128) - 0.5),
    "float16": pd.DataFrame({"a": [1.5, NAN]}, dtype=np.float16),
    "longdouble": pd.DataFrame({"a": np.array([1.5, NAN], dtype=np.longdouble)}),
    "objects": pd.DataFrame({"a": [1.5, None]}, dtype=object),
    "objects-with-na": pd.DataFrame({"a": [1.5, pd.NA]}, dtype=object),
    "sparse-column": pd.DataFrame({"a": pd.arrays.SparseArray([1.5, NAN])}),
    "chunks": pa.table({"a": pa.chunked_array([[1.5], [None]])}),
    "large-u8": pa.table({"a": pa.array([2**64 - 1, None], pa.uint64())}),
}


@pytest.mark.parametrize("X", ODD_NUMBERS.values(), ids=ODD_NUMBERS.keys())
def test_check_training_data_reads_odd_numbers(X):
    first, second = read(X, y=[0, 1])[:, 0]
    assert first in (1.5, float(2**64))
    assert np.isnan(second)


ALL_MISSING = {
    "polars": pl.DataFrame({"a": [None, None]}),
    "pyarrow": pa.table({"a": pa.nulls(2)}),
    "pandas-arrow": pd.DataFrame({"a": pd.array([None, None], dtype=pd.ArrowDtype(pa.null()))}),
    "pandas": pd.DataFrame({"a": [None, None]}, dtype=object),
    "floats": pd.DataFrame({"a": [NAN, NAN]}),
}


@pytest.mark.parametrize("X", ALL_MISSING.values(), ids=ALL_MISSING.keys())
def test_check_training_data_reads_columns_that_are_all_missing(X):
    assert np.isnan(read(X, y=[0, 1])).all()
    assert np.isnan(read(X, y=[0, 1], categorical_features=None)).all()
    assert np.isnan(read(X, y=[0, 1], categorical_features=[0])).all()


BAD_COLUMNS = {
    "duration": pa.array([datetime.timedelta(1), None]),
    "list": pa.array([[1], None]),
    "struct": pa.array([{"x": 1}, None]),
    "binary": pa.array([b"1", None]),
}


@pytest.mark.parametrize("column", BAD_COLUMNS.values(), ids=BAD_COLUMNS.keys())
def test_check_training_data_names_columns_that_are_no_numbers(column):
    table = pa.table({"fine": [1, 2], "bad": column})
    for X in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype), table.to_pandas()):
        for options in ({}, {"categorical_features": None}):
            with pytest.raises(TypeError, match=r"Column 'bad' of X.*(drop it|convert it to numbers)"):
                check(X, y=[0, 1], **options)


PANDAS_COLUMNS = {
    "complex": [1j, 2.0],
    "period": pd.period_range("2020", periods=2),
    "interval": pd.interval_range(0, 2),
    "mixed": np.array(["a", 1], dtype=object),
}


@pytest.mark.parametrize("column", PANDAS_COLUMNS.values(), ids=PANDAS_COLUMNS.keys())
def test_check_training_data_names_columns_of_pandas_that_are_no_numbers(column):
    with pytest.raises(TypeError, match="Column 'bad' of X"):
        check(pd.DataFrame({"fine": [1, 2], "bad": column}), y=[0, 1])


@each_frame
def test_check_training_data_refuses_text_where_nothing_is_categorical(make_frame):
    frame = make_frame({"fine": [1, 2], "bad": ["x", "y"]})
    for nothing in (None, [], [False, False], ["fine"]):
        with pytest.raises(TypeError, match=r"Column 'bad' of X contains String.*categorical_features"):
            check(frame, y=[0, 1], categorical_features=nothing)


def test_check_training_data_refuses_empty_frames():
    for X in (pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), pa.table({"a": pa.array([], pa.int64())})):
        with pytest.raises(ValueError, match="0 sample"):
            check(X, y=[])
    for X in (pd.DataFrame(index=[0, 1]), pl.DataFrame(), pa.table({})):
        with pytest.raises(ValueError, match=r"0 (sample|feature)"):
            check(X, y=[0, 1])


# Names


def test_check_training_data_refuses_names_that_occur_twice():
    for X in (
        pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]),
        pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["a", "a"]),
    ):
        with pytest.raises(ValueError, match="more than one column named"):
            check(X, y=[0, 1])


def test_check_training_data_refuses_names_of_several_types():
    with pytest.raises(TypeError, match="string names"):
        check(pd.DataFrame(np.ones((2, 2)), columns=["a", 1]))


def test_check_training_data_has_no_names_where_they_are_numbers():
    data = check(pd.DataFrame(np.eye(2)))
    assert data.known["feature_names_in_"] is None
    assert data.table.to_array().tolist() == [[1, 0], [0, 1]]


@each_frame
def test_check_table_compares_names(make_frame):
    model = fit(make_frame({"a": [1, 2], "b": [3, 4]}), y=[0, 1])
    assert check_table(model, make_frame({"a": [5], "b": [6]})).to_array().tolist() == [[5, 6]]
    with pytest.raises(ValueError, match="same order"):
        check_table(model, make_frame({"b": [5], "a": [6]}))
    with pytest.raises(ValueError, match="unseen at fit time"):
        check_table(model, make_frame({"a": [5], "c": [6]}))
    with pytest.raises(ValueError, match="now missing"):
        check_table(model, make_frame({"a": [5]}))
    with pytest.warns(UserWarning, match="valid feature names"):
        check_table(model, np.ones((2, 2)))


@each_frame
def test_check_table_warns_of_names_that_fit_did_not_see(make_frame):
    model = fit(np.ones((3, 2)))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        check_table(model, make_frame({"b": [5], "a": [6]}))
    with (
        pytest.warns(UserWarning, match="fitted without feature names"),
        pytest.raises(ValueError, match="expecting 2 features"),
    ):
        check_table(model, make_frame({"b": [5]}))
