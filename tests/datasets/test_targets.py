"""Targets of batches: united to one type, missing ones refused."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mpboost import BinnedDataset, MPBoostClassifier, MPBoostRegressor
from mpboost.datasets import targets
from tests.support.datasets import QUICK, build_cut, make_numbers, save_bytes

X, VALUES = make_numbers(90)


def build(*parts):
    pairs = [(X[k * 30 : k * 30 + 30], part) for k, part in enumerate(parts)]
    return BinnedDataset.from_batches(lambda: pairs)


FEW = (np.arange(30) % 3).astype(np.int64)


@pytest.mark.parametrize(
    "parts",
    [
        (FEW, FEW.astype(np.float32), FEW),
        (FEW.astype(np.int8), FEW, FEW.astype(np.uint8)),
        (FEW.astype(np.float32), FEW.astype(np.float32), FEW.astype(np.float32)),
        (FEW.astype(str), np.array(["a long label"] * 30), FEW.astype(str)),
        (pd.Series(FEW.astype(str), dtype="category"), pd.Series(["x", "y"] * 15, dtype="category"), FEW.astype(str)),
        (pd.Series(FEW.astype(str)), pd.Series(FEW.astype(str)), pd.Series(["z"] * 30)),
        (FEW > 0, FEW > 1, FEW > 0),
    ],
    ids=["int and float", "ints", "float32", "words", "categories", "series", "bools"],
)
def test_labels_are_united_as_by_pandas(parts):
    is_array = all(isinstance(part, np.ndarray) for part in parts)
    whole = np.concatenate(parts) if is_array else pd.concat(map(pd.Series, parts), ignore_index=True)
    dataset = build(*parts)
    assert dataset.y.tolist() == whole.tolist()
    model = MPBoostClassifier(**QUICK)
    assert save_bytes(model.fit(dataset)) == save_bytes(model.fit(X, whole))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((FEW, FEW > 0, FEW), "Batch 1: y is true or false in some batches, and numbers in others"),
        ((FEW, FEW.astype(str), FEW), "y contains text and numbers"),
        ((FEW, [None, *["a"] * 29], FEW), "Batch 1: the target is missing in 1 of 30 rows"),
        ((FEW, FEW, np.where(FEW > 0, np.nan, 1.0)), "Batch 2: the target is missing in 20 of 30 rows"),
        ((FEW, pd.Series([1, None] * 15, dtype="Int64"), FEW), "Batch 1: .*missing"),
        ((FEW, pd.Series(["a", None] * 15, dtype="category"), FEW), "Batch 1: the target is missing in 15 of 30"),
        ((FEW, pl.Series(["a", None] * 15), FEW), "Batch 1: the target is missing in 15 of 30"),
        ((FEW, pl.Series(["a", None] * 15, dtype=pl.Categorical), FEW), "Batch 1: the target is missing in 15 of 30"),
        ((FEW, np.array(["2024-01-01"] * 30, dtype="datetime64[D]"), FEW), "Batch 1: "),
        ((FEW, FEW.reshape(15, 2), FEW), "Batch 1: "),
        ((FEW, [[1]] * 29 + [[1, 2]], FEW), "Batch 1: "),
        ((FEW, FEW.astype(complex), FEW), "Batch 1: "),
        ((FEW, np.array([Decimal("1.5"), 2] * 15), FEW), r"y contains Decimal\('1.5'\) of type Decimal: convert it"),
    ],
)
def test_labels_that_do_not_go_together_are_refused(parts, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build(*parts)


def test_column_of_targets_may_have_two_dimensions():
    assert build(FEW[:, None], FEW[:, None], FEW[:, None]).y.tolist() == [*FEW, *FEW, *FEW]


@pytest.fixture
def few_values(monkeypatch):
    monkeypatch.setattr(targets, "MAX_VALUES", 50)


@pytest.mark.usefixtures("few_values")
def test_many_numbers_are_stored_as_they_are():
    for y in (VALUES, VALUES.astype(np.float32), np.arange(90), np.arange(90).astype(np.uint8)):
        dataset = build_cut(X, y, places=(30, 60))
        assert dataset.y.dtype == y.dtype
        assert dataset.y.tolist() == y.tolist()
        assert not isinstance(dataset.targets, targets.TargetSurvey)
        model = MPBoostRegressor(**QUICK)
        assert save_bytes(model.fit(dataset)) == save_bytes(model.fit(X, y))


@pytest.mark.usefixtures("few_values")
def test_types_of_many_numbers_are_united():
    dataset = build_cut(X, np.arange(90), places=(60,))
    mixed = BinnedDataset.from_batches(lambda: [(X[:60], np.arange(60)), (X[60:], np.arange(60.0, 90.0))])
    assert dataset.y.tolist() == mixed.y.tolist()
    assert mixed.y.dtype == np.float64


@pytest.mark.usefixtures("few_values")
def test_very_many_words_are_refused():
    with pytest.raises(ValueError, match="the target has more than 50 different values that are no numbers"):
        build_cut(X, np.arange(90).astype(str), places=(60,))
    with pytest.raises(ValueError, match="the target has more than 50 different values that are no numbers"):
        BinnedDataset.from_batches(lambda: [(X[:60], np.arange(60)), (X[60:], np.array(["a"] * 30))])


@pytest.mark.parametrize("n_values", [256, 257])
def test_codes_have_one_byte_or_two(n_values):
    table, y = np.arange(600.0)[:, None], np.arange(600) % n_values
    dataset = BinnedDataset.from_arrays(table, y)
    assert dataset.targets.codes.dtype == (np.uint8 if n_values == 256 else np.uint16)
    assert dataset.y.tolist() == y.tolist()


@pytest.mark.parametrize("make", [MPBoostRegressor, MPBoostClassifier])
def test_negative_zeros_stay(make):
    y = np.where(FEW > 0, FEW, -0.0)
    y = np.concatenate([y, abs(y), y])
    dataset = build_cut(X, y, places=(30, 60))
    assert np.signbit(dataset.y).tolist() == np.signbit(y).tolist()
    assert save_bytes(make(**QUICK).fit(dataset)) == save_bytes(make(**QUICK).fit(X, y))


def test_weights_have_one_dimension_or_are_one_number():
    with pytest.raises(ValueError, match="sample_weight should be a 1d array"):
        build_cut(X, VALUES, np.ones((90, 1)), places=(30,))
    dataset = BinnedDataset.from_arrays(X, VALUES, 2.5)
    assert dataset.sample_weight.tolist() == [2.5] * 90
