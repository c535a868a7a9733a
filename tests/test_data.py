"""From what users pass as X, y and sample_weight to a table, labels and weights; frames of all libraries."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from mpboost import MPBoostClassifier
from mpboost.data import check_table, check_training_data, check_validation_data, encode_labels
from mpboost.sources import _find_block
from mpboost.tables import ColumnTable, DenseTable, SparseTable

NAN = np.nan

FRAMES = {
    "pandas": pd.DataFrame,
    "pandas-nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas-arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}


def each_frame(test):
    return pytest.mark.parametrize("make_frame", FRAMES.values(), ids=FRAMES.keys())(test)


def check(X, y=None, sample_weight=None, **options):
    y = np.arange(len(X)) % 2 if y is None else y
    return check_training_data(MPBoostClassifier(), X, y, sample_weight, **options)


def fit(X, **options):
    """Make an estimator that knows the features of X, as a fit would."""
    model = MPBoostClassifier()
    for name, value in check(X, **options).known.items():
        if value is not None:
            setattr(model, name, value)
    return model


def read(X, **options):
    return check(X, **options).table.to_array()


# Arrays


ARRAYS = {
    **{dtype: np.array([[1, 0], [0, 1], [3, 2]]).astype(dtype) for dtype in "?bhilBHILefdg"},
    "big-endian": np.array([[1.5, 2.0], [3.0, 4.0]], dtype=">f8"),
    "lists": [[1, 2.5], [3, 4]],
    "objects": np.array([[1, None], [2.5, True]], dtype=object),
    "infinite": np.array([[np.inf, -np.inf], [NAN, 0.0]]),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(3, 2)),
    "reversed": np.arange(6.0).reshape(3, 2)[::-1, ::-1],
}


@pytest.mark.parametrize("X", ARRAYS.values(), ids=ARRAYS.keys())
def test_check_training_data_keeps_the_numbers_of_an_array(X):
    data = check(X)
    assert isinstance(data.table, DenseTable)
    assert data.table.array.dtype.isnative
    np.testing.assert_array_equal(data.table.to_array(), np.array(X, dtype=np.float64))
    assert data.known.pop("n_features_in_") == 2
    assert set(data.known.values()) == {None}


@pytest.mark.parametrize("dtype", ["u1", "?", "i8", "f4", "f8"])
def test_check_training_data_does_not_copy_an_array(dtype):
    X = np.ones((3, 2), dtype=dtype)
    X.flags.writeable = False
    assert np.shares_memory(check(X).table.array, X)


def test_check_training_data_does_not_copy_a_memory_mapped_array(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((3, 2)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(check(X).table.array, X)


def test_check_training_data_makes_infinities_of_objects_beyond_float64():
    X = pd.DataFrame({"a": [np.longdouble("1e4000"), 1.0]}, dtype=object)
    assert read(X, y=[0, 1]).tolist() == [[np.inf], [1.0]]


def test_check_training_data_refuses_signalling_nan_of_decimals():
    with pytest.raises(ValueError, match="none"):
        check(pd.DataFrame({"a": [decimal.Decimal("sNaN"), 1.0]}, dtype=object))


def test_check_training_data_makes_infinities_of_what_is_beyond_float64():
    X = np.array([[np.longdouble("1e4000"), -np.longdouble("1e4000")]])
    assert check(X, y=[0]).table.array.tolist() == [[np.inf, -np.inf]]


BAD_TABLES = {
    "dates": (np.array([["2020-01-01", "NaT"]] * 2, dtype="datetime64[s]"), TypeError, "convert dates"),
    "durations": (np.ones((2, 2), dtype="timedelta64[s]"), TypeError, "convert dates"),
    "complex": (np.ones((2, 2)) + 0j, ValueError, "[Cc]omplex"),
    "words": (np.array([["a"], ["b"]]), ValueError, "strings|convert"),
    "word-among-objects": (np.array([["a"], [1]], dtype=object), ValueError, "convert"),
    "ragged": ([[1.0], [1.0, 2.0]], ValueError, "inhomogeneous"),
    "huge": ([[10**400, 1], [1, 1]], ValueError, "beyond"),
    "huge-in-a-frame": (pd.DataFrame([[10**400, 1], [1, 1]]), ValueError, "beyond"),
    "1d": (np.ones(2), ValueError, "2D"),
    "3d": (np.ones((2, 2, 2)), ValueError, "dim 3"),
    "scalar": (3.0, ValueError, "2D"),
    "none": (None, ValueError, "2D"),
    "no-rows": (np.ones((0, 2)), ValueError, "0 sample"),
    "no-columns": (np.ones((2, 0)), ValueError, "0 feature"),
    "pandas-series": (pd.Series([1.0, 2.0]), ValueError, "2"),
    "polars-series": (pl.Series([1.0, 2.0]), ValueError, "2D"),
    "polars-structs": (pl.Series([{"a": 1.0, "b": 2.0}] * 2), ValueError, "column"),
    "arrow-array": (pa.chunked_array([[1.0, 2.0]]), ValueError, "2D"),
    "lazy": (pl.LazyFrame({"a": [1.0, 2.0]}), TypeError, r"collect\(\)"),
    "1d-sparse": (sparse.coo_array([1.0, 2.0]), ValueError, "2 dim"),
    "sparse-complex": (sparse.csr_array(np.ones((2, 2)) + 0j), ValueError, "[Cc]omplex"),
    "sparse-no-rows": (sparse.csr_array((0, 2)), ValueError, "0 sample"),
    "sparse-no-columns": (sparse.csr_array((2, 0)), ValueError, "0 feature"),
}


@pytest.mark.parametrize(("X", "error", "word"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_check_training_data_refuses(X, error, word):
    with pytest.raises(error, match=word):
        check(X, y=[0, 1])


@pytest.mark.parametrize(("X", "error", "word"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_check_table_refuses(X, error, word):
    with pytest.raises(error, match=word):
        check_table(fit(np.ones((3, 2))), X)


def test_check_training_data_leaves_the_estimator_alone():
    model = fit(pd.DataFrame({"a": ["x", "y"]}))
    held = dict(vars(model))
    check_training_data(model, np.ones((3, 2)), [0, 1, 0])
    assert vars(model) == held


# Frames: numbers


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


def test_check_training_data_finds_no_one_array_where_columns_are_apart():
    X = np.random.default_rng(0).normal(size=(7, 5))
    frame = pd.DataFrame(X, columns=list("abcde"), copy=False)
    for parts in (frame.assign(z=0.0), frame.assign(z=1), frame[["a"]]):
        table = check(parts).table
        assert isinstance(table, ColumnTable)
        np.testing.assert_array_equal(table.to_array(), parts.to_numpy())
    apart = {"gap": [X[:, 0], X[:, 1], X[:, 3]], "slice": [X[:-1, 0], X[::2, 1]], "type": [X[:, 0], X.view("i8")[:, 1]]}
    assert {name: _find_block(columns) for name, columns in apart.items()} == dict.fromkeys(apart)


def test_check_training_data_keeps_whole_numbers_exact():
    large = [2**53 + 1, 2**62 + 1]
    for X in (
        pd.DataFrame({"a": large}),
        pd.DataFrame({"a": large}, dtype="Int64"),
        pd.DataFrame({"a": large}, dtype="int64[pyarrow]"),
        pl.DataFrame({"a": large}),
        pa.table({"a": large}),
    ):
        (column,) = check(X, y=[0, 1]).table.columns
        assert column.dtype == np.int64
        assert column.tolist() == large


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
        (column,) = check(convert(table), y=[0, 1]).table.columns
        assert column.dtype == np.dtype(dtype)
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


DAY = datetime.date(2020, 1, 1)
BAD_COLUMNS = {
    "date": pa.array([DAY, None]),
    "time": pa.array([datetime.time(1), None]),
    "duration": pa.array([datetime.timedelta(1), None]),
    "instant": pa.array([datetime.datetime(2020, 1, 1), None]),
    "list": pa.array([[1], None]),
    "struct": pa.array([{"x": 1}, None]),
    "binary": pa.array([b"1", None]),
}


@pytest.mark.parametrize("column", BAD_COLUMNS.values(), ids=BAD_COLUMNS.keys())
def test_check_training_data_names_columns_that_are_no_numbers(column):
    table = pa.table({"fine": [1, 2], "bad": column})
    for X in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype), table.to_pandas()):
        for options in ({}, {"categorical_features": None}):
            with pytest.raises(TypeError, match=r"Column 'bad' of X.*(leave it out|converted)"):
                check(X, y=[0, 1], **options)


PANDAS_COLUMNS = {
    "complex": [1j, 2.0],
    "period": pd.period_range("2020", periods=2),
    "interval": pd.interval_range(0, 2),
    "zone": pd.date_range("2020", periods=2, tz="UTC"),
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
        with pytest.raises(TypeError, match=r"Column 'bad' of X holds String.*categorical_features"):
            check(frame, y=[0, 1], categorical_features=nothing)


def test_check_training_data_refuses_empty_frames():
    for X in (pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), pa.table({"a": pa.array([], pa.int64())})):
        with pytest.raises(ValueError, match="0 sample"):
            check(X, y=[])
    for X in (pd.DataFrame(index=[0, 1]), pl.DataFrame(), pa.table({})):
        with pytest.raises(ValueError, match=r"0 (sample|feature)"):
            check(X, y=[0, 1])


# Frames: names


def test_check_training_data_refuses_names_that_occur_twice():
    for X in (
        pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]),
        pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["a", "a"]),
    ):
        with pytest.raises(ValueError, match="unique column names"):
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


# Sparse matrices


SPARSE = [
    *(getattr(sparse, f"{kind}_array") for kind in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")),
    *(getattr(sparse, f"{kind}_matrix") for kind in ("csr", "csc", "coo")),
]


@pytest.mark.parametrize("make", SPARSE, ids=lambda make: make.__name__)
def test_check_training_data_reads_sparse_matrices(make):
    X = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]])
    data = check(make(X), y=[0, 1, 0])
    assert isinstance(data.table, SparseTable)
    assert data.table.to_array().tolist() == X.tolist()
    assert data.known["n_features_in_"] == 2
    assert check_table(fit(X), make(X)).to_array().tolist() == X.tolist()
    with pytest.raises(ValueError, match="expecting 3 features"):
        check_table(fit(np.ones((2, 3))), make(X))


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f4", "f8", "g"])
def test_check_training_data_reads_sparse_matrices_of_any_type(dtype):
    X = np.array([[0, 1], [3, 0]]).astype(dtype)
    assert check(sparse.csr_array(X), y=[0, 1]).table.to_array().tolist() == X.tolist()


@pytest.mark.parametrize("chosen", [[0], [True, False]], ids=["numbers", "mask"])
def test_check_training_data_refuses_categories_in_sparse_matrices(chosen):
    with pytest.raises(ValueError, match="sparse X cannot have categorical"):
        check(sparse.csr_array(np.eye(2)), y=[0, 1], categorical_features=chosen)


def test_check_table_refuses_sparse_matrices_where_features_are_categorical():
    model = fit(np.eye(2), categorical_features=[0])
    with pytest.raises(ValueError, match="sparse X cannot have categorical"):
        check_table(model, sparse.csr_array(np.eye(2)))


# Categories


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
    with pytest.raises(ValueError, match="strings"):
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
    with pytest.raises(TypeError, match="Column 'a' of X holds String"):
        check_table(model, pd.DataFrame({"a": ["1", "2"], "c": ["x", "y"]}))


def test_check_table_takes_numbers_in_a_column_of_words_for_new_categories():
    model = fit(pd.DataFrame({"c": ["1", "2"]}))
    assert np.isnan(check_table(model, pd.DataFrame({"c": [1, 2]})).to_array()).all()


# Labels


LABELS = {
    "list": ["no", "yes"],
    "words": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "bools": np.array([False, True]),
    "u8": np.array([2**63, 2**64 - 1], dtype=np.uint64),
    "object-bools": np.array([False, True], dtype=object),
    "object-ints": np.array([2, 5], dtype=object),
    "pandas": pd.Series(["no", "yes"]),
    "pandas-index": pd.Index([3, 4]),
    "pandas-categorical": pd.Categorical(["no", "yes"]),
    "pandas-category": pd.Series(["no", "yes"], dtype="category"),
    "pandas-category-of-ints": pd.Series([3, 4], dtype="category"),
    "pandas-nullable": pd.Series([3, 4], dtype="Int64"),
    "pandas-boolean": pd.Series([False, True], dtype="boolean"),
    "pandas-arrow": pd.Series(["no", "yes"], dtype=pd.ArrowDtype(pa.string())),
    "pandas-arrow-bool": pd.Series([False, True], dtype="bool[pyarrow]"),
    "polars": pl.Series([3, 4]),
    "polars-bools": pl.Series([False, True]),
    "polars-int128": pl.Series([3, 4], dtype=pl.Int128),
    "polars-words": pl.Series(["no", "yes"]),
    "polars-categorical": pl.Series(["no", "yes"], dtype=pl.Categorical),
    "polars-enum": pl.Series(["no", "yes"], dtype=pl.Enum(["yes", "no"])),
    "arrow": pa.chunked_array([[3], [4]]),
    "arrow-words": pa.chunked_array([["no"], ["yes"]]),
    "arrow-dictionary": pa.chunked_array([pa.array(["no", "yes"]).dictionary_encode()]),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS.keys())
def test_check_training_data_reads_labels_of_any_kind(y):
    labels = check(np.eye(2), y=y).y
    classes, codes = encode_labels(labels)
    assert labels.shape == (2,)
    assert classes.tolist() == (y.to_pylist() if isinstance(y, pa.ChunkedArray) else list(y))
    assert codes.tolist() == [-1, 1]


COLUMNS = {
    "numpy": np.array([[0], [1]]),
    "pandas": pd.DataFrame({"y": ["no", "yes"]}),
    "polars": pl.DataFrame({"y": ["no", "yes"]}),
    "pyarrow": pa.table({"y": [0, 1]}),
}


@pytest.mark.parametrize("y", COLUMNS.values(), ids=COLUMNS.keys())
def test_check_training_data_warns_of_labels_in_a_column(y):
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert check(np.eye(2), y=y).y.shape == (2,)


MISSING_LABELS = {
    "nan": [0.0, NAN],
    "none": [0, None],
    "word-none": ["a", None],
    "none-word": [None, "a"],
    "na": [True, pd.NA],
    "object-nan": np.array(["a", NAN], dtype=object),
    "pandas": pd.Series(["a", None]),
    "pandas-category": pd.Series(["a", None], dtype="category"),
    "pandas-nullable": pd.Series([1, None], dtype="Int64"),
    "pandas-boolean": pd.Series([True, None], dtype="boolean"),
    "polars": pl.Series([1, None]),
    "polars-bools": pl.Series([True, None]),
    "polars-words": pl.Series(["a", None]),
    "arrow-dictionary": pa.chunked_array([pa.array(["a", None]).dictionary_encode()]),
    "frame": pl.DataFrame({"y": ["a", None]}),
}


@pytest.mark.parametrize("y", MISSING_LABELS.values(), ids=MISSING_LABELS.keys())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_check_training_data_refuses_missing_labels(y):
    with pytest.raises(ValueError, match="NaN"):
        check(np.eye(2), y=y)


BAD_LABELS = {
    "signalling-nan": ([decimal.Decimal("sNaN"), 1], ValueError, "beyond|none"),
    "two-columns": (pd.DataFrame({"a": [0, 1], "b": [0, 1]}), ValueError, "1d"),
    "scalar": (1, (TypeError, ValueError), "1d|array"),
    "infinite": ([0.0, np.inf], ValueError, "infinity"),
    "complex": ([0, 1j], ValueError, "[Cc]omplex"),
    "sparse": (sparse.csr_array([[0, 1]]), TypeError, "[Ss]parse"),
    "lazy": (pl.LazyFrame({"y": [0, 1]}), TypeError, r"collect\(\)"),
    "shorter": ([0], ValueError, "inconsistent"),
    "ragged": ([[0], [0, 1]], ValueError, "inhomogeneous"),
}


@pytest.mark.parametrize(("y", "error", "word"), BAD_LABELS.values(), ids=BAD_LABELS.keys())
def test_check_training_data_refuses_labels(y, error, word):
    with pytest.raises(error, match=word):
        check(np.eye(2), y=y)


def test_check_training_data_needs_labels():
    with pytest.raises(ValueError, match="MPBoostClassifier requires y to be passed, but the target y is None"):
        check_training_data(MPBoostClassifier(), np.eye(2), None)


# Weights


WEIGHTS = {
    "list": [1, 2],
    "integers": np.array([1, 2], dtype=np.uint8),
    "float32": np.array([1, 2], dtype=np.float32),
    "pandas": pd.Series([1, 2], index=[5, 6]),
    "pandas-nullable": pd.Series([1, 2], dtype="Float64"),
    "pandas-arrow": pd.Series([1, 2], dtype="int64[pyarrow]"),
    "polars": pl.Series([1.0, 2.0]),
    "decimals": pl.Series([decimal.Decimal(1), decimal.Decimal(2)]),
    "arrow": pa.chunked_array([[1], [2]]),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_check_training_data_reads_weights(weights):
    checked = check(np.eye(2), sample_weight=weights).sample_weight
    assert checked.dtype == np.float64
    assert checked.tolist() == [1, 2]


def test_check_training_data_keeps_no_weights():
    assert check(np.eye(2)).sample_weight is None


BAD_WEIGHTS = {
    "negative": ([1, -1], "[Nn]egative"),
    "nan": ([1, NAN], "NaN"),
    "null": (pl.Series([1, None]), "NaN"),
    "na": (pd.Series([1, None], dtype="Int64"), "NaN"),
    "infinite": ([1, np.inf], "infinity"),
    "all-zero": ([0, 0], "non-zero"),
    "zero": (0, "non-zero"),
    "one-nan": (NAN, "NaN"),
    "one-infinity": (np.inf, "infinity"),
    "shorter": ([1], "expected"),
    "two-dimensions": ([[1, 2]], "1D"),
    "words": (["a", "b"], "convert"),
    "huge": ([10**400, 1], "beyond"),
}


@pytest.mark.parametrize(("weights", "word"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS.keys())
def test_check_training_data_refuses_weights(weights, word):
    with pytest.raises(ValueError, match=word):
        check(np.eye(2), sample_weight=weights)


# Validation data


def test_check_validation_data_reads_as_the_training_data_were_read():
    model = fit(pd.DataFrame({"old": [1.0, 2.0]}))
    held = dict(vars(model))
    known = check(pd.DataFrame({"a": [1, 2, 3], "c": ["y", "x", "z"]}), y=[0, 1, 0]).known
    table, y, weights = check_validation_data(
        model, known, pl.DataFrame({"a": [5, 6], "c": ["z", "new"]}), ["no", "yes"], [1, 0]
    )
    np.testing.assert_array_equal(table.to_array(), [[5, 2], [6, NAN]])
    assert y.tolist() == ["no", "yes"]
    assert weights.tolist() == [1.0, 0.0]
    assert vars(model) == held


def test_check_validation_data_knows_nothing_of_an_earlier_fit():
    model = fit(pd.DataFrame({"a": ["x", "y"]}))
    known = check(np.eye(2)).known
    table, _, weights = check_validation_data(model, known, np.eye(2), [0, 1])
    assert table.to_array().tolist() == [[1, 0], [0, 1]]
    assert weights is None


BAD_VALIDATION = {
    "features": (np.ones((2, 3)), [0, 1], None, "expecting 2 features"),
    "lengths": (np.ones((2, 2)), [0], None, "inconsistent"),
    "no-labels": (np.ones((2, 2)), None, None, "requires y"),
    "weights": (np.ones((2, 2)), [0, 1], [1], "expected"),
}


@pytest.mark.parametrize(("X", "y", "weights", "word"), BAD_VALIDATION.values(), ids=BAD_VALIDATION.keys())
def test_check_validation_data_refuses(X, y, weights, word):
    with pytest.raises(ValueError, match=word):
        check_validation_data(MPBoostClassifier(), check(np.eye(2)).known, X, y, weights)
