"""Rows as numbers: codes of categories, NaN for missing values."""

import numpy as np
import pytest

import mpboost
from benchmarks.export.subjects import make_rows
from mpboost.export import encode_rows
from tests.support.exports import fit_model


def test_encode_rows_writes_codes_of_categories():
    model = fit_model("two classes +")
    table = make_rows(model, 4).assign(
        few=["red", None, "unseen", "red"],
        many=["w0", None, "unseen", "w1"],
        whole=[3.0, np.nan, 77.0, 0.0],
    )
    few, many, whole = (model.categories_[feature] for feature in (5, 6, 7))
    rows = encode_rows(model, table)
    red = few.index("red")
    np.testing.assert_array_equal(rows[:, 5], [red, np.nan, np.nan, red])
    # Too many words: those that are unseen share one more code with rare ones.
    np.testing.assert_array_equal(rows[:, 6], [many.index("w0"), np.nan, len(many), many.index("w1")])
    np.testing.assert_array_equal(rows[:, 7], [whole.index(3), np.nan, np.nan, whole.index(0)])


def test_encode_rows_keeps_numbers_as_they_are():
    model = fit_model("two classes")
    rows = make_rows(model, 100)
    np.testing.assert_array_equal(encode_rows(model, rows), rows)


def test_encode_rows_refuses_a_dataset():
    X = make_rows(fit_model("two classes"), 50)
    dataset = mpboost.BinnedDataset.from_arrays(X)
    with pytest.raises(TypeError, match="pass the table that it was built from"):
        encode_rows(fit_model("two classes"), dataset)
