"""Labels: what is read as y, and what is refused."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from mpboost import MPBoostClassifier
from mpboost.data.checks import check_training_data, encode_labels, list_classes
from tests.support.inputs import check

NAN = np.nan

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
if hasattr(np.dtypes, "StringDType"):  # numpy >= 2
    LABELS["words-of-any-length"] = np.array(["no", "yes"], dtype=np.dtypes.StringDType())


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS.keys())
def test_check_training_data_reads_labels_of_any_kind(y):
    labels = check(np.eye(2), y=y).y
    classes = list_classes(labels)
    assert labels.shape == (2,)
    assert classes.tolist() == (y.to_pylist() if isinstance(y, pa.ChunkedArray) else list(y))
    assert encode_labels(labels, classes).tolist() == [-1, 1]


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


def test_list_classes_refuses_numbers_too_large_for_integers_without_a_warning():
    with pytest.raises(ValueError, match="continuous"):
        list_classes(np.array([1.7e308, -1.7e308]))


BAD_LABELS = {
    "signalling-nan": ([decimal.Decimal("sNaN"), 1], ValueError, "not a number"),
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
