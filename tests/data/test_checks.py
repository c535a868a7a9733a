"""From what users pass to a table and weights: arrays, sparse matrices, sample_weight and validation data."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mpboost import MPBoostClassifier
from mpboost.data.checks import check_table, check_training_data, check_validation_data
from mpboost.data.tables import DenseTable, SparseTable
from tests.support.inputs import check, fit, read

NAN = np.nan


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
    with pytest.raises(ValueError, match="not a number"):
        check(pd.DataFrame({"a": [decimal.Decimal("sNaN"), 1.0]}, dtype=object))


def test_check_training_data_makes_infinities_of_what_is_beyond_float64():
    X = np.array([[np.longdouble("1e4000"), -np.longdouble("1e4000")]])
    assert check(X, y=[0]).table.array.tolist() == [[np.inf, -np.inf]]


BAD_TABLES = {
    "dates": (np.array([["2020-01-01", "NaT"]] * 2, dtype="datetime64[s]"), TypeError, "convert it to numbers"),
    "durations": (np.ones((2, 2), dtype="timedelta64[s]"), TypeError, "convert it to numbers"),
    "complex": (np.ones((2, 2)) + 0j, ValueError, "[Cc]omplex"),
    "words": (np.array([["a"], ["b"]]), ValueError, "strings|convert"),
    "word-among-objects": (np.array([["a"], [1]], dtype=object), ValueError, "convert"),
    "ragged": ([[1.0], [1.0, 2.0]], ValueError, "inhomogeneous"),
    "huge": ([[10**400, 1], [1, 1]], ValueError, "fit in float64"),
    "huge-in-a-frame": (pd.DataFrame([[10**400, 1], [1, 1]]), ValueError, "fit in float64"),
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
    "huge": ([10**400, 1], "fit in float64"),
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
    "no-labels": (np.ones((2, 2)), None, None, "passed together"),
    "weights": (np.ones((2, 2)), [0, 1], [1], "expected"),
}


@pytest.mark.parametrize(("X", "y", "weights", "word"), BAD_VALIDATION.values(), ids=BAD_VALIDATION.keys())
def test_check_validation_data_refuses(X, y, weights, word):
    with pytest.raises(ValueError, match=word):
        check_validation_data(MPBoostClassifier(), check(np.eye(2)).known, X, y, weights)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_check_training_data_reads_masked_cells_as_missing(dtype):
    X = np.ma.masked_array(np.array([[1, 0], [0, 1]], dtype=dtype), mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(read(X, y=[0, 1]), [[1, NAN], [0, 1]])
