"""Batches of other columns or types are united as pandas.concat unites frames, or refused by batch and column."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from mpboost import BinnedDataset, MPBoostClassifier
from tests.support.cases import list_cases
from tests.support.datasets import QUICK, make_mixed, make_numbers, save_bytes

X, Y = make_mixed(90)
NUMBERS, _ = make_numbers(90)
PARTS = [slice(0, 30), slice(30, 60), slice(60, 90)]


def split(frame, *changes):
    """Cut a frame into three batches, each of them changed."""
    return [change(frame[rows].copy()) for rows, change in zip(PARTS, changes, strict=True)]


def same(frame):
    return frame


def without(*names):
    return lambda frame: frame.drop(columns=list(names))


def as_type(dtype, *names):
    return lambda frame: frame.astype(dict.fromkeys(names or ("count",), dtype))


def filled(name, value):
    return lambda frame: frame.assign(**{name: value})


def reverse_columns(frame):
    return frame[frame.columns[::-1]]


WHOLE = X.assign(count=X["count"] % 7 * 3)
WIDE = X.assign(count=X["count"] % 7 * 3 + 1000.5)

#: Batches that pandas.concat unites to a table that a model can be trained on.
UNITED = {
    "order of columns": split(X, same, reverse_columns, same),
    "column missing in the middle": split(X, same, without("height"), same),
    "column missing at first": split(X, without("height"), same, same),
    "column missing at last": split(X, same, same, without("count")),
    "words missing": split(X, same, without("colour"), same),
    "words missing at first": split(X, without("colour", "shape"), without("colour"), same),
    "dates missing": split(X, same, without("when"), same),
    "dates missing at first": split(X, without("when"), same, same),
    "int and float": split(WHOLE, same, as_type(float), same),
    "float32 and float64": split(WIDE, as_type(np.float32), same, as_type(np.float32)),
    "int8 and int64": split(WHOLE, as_type(np.int8), same, same),
    "uint8 and int8": split(WHOLE, as_type(np.uint8), as_type(np.int8), as_type(np.uint8)),
    "uint8 and float32": split(WHOLE, as_type(np.uint8), as_type(np.float32), as_type(np.uint8)),
    "uint8 and missing": split(WHOLE, as_type(np.uint8), without("count"), as_type(np.uint8)),
    "uint8 and bool": split(WHOLE, as_type(np.uint8), as_type(bool), as_type(np.uint8)),
    "bool and uint8": split(WHOLE, as_type(bool), as_type(np.uint8), as_type(np.uint8)),
    "bool and float": split(X, same, as_type(float, "is_new"), same),
    "nullable": split(WHOLE, as_type("Int64"), same, as_type("Float32")),
    "all missing": split(X, filled("height", None), same, same),
    "all words missing": split(X, filled("colour", None), same, filled("colour", np.nan)),
    "all words missing as text": split(X, filled("colour", pd.array([None] * 30, "string")), same, same),
    "new categories": split(X, same, filled("colour", "violet"), filled("colour", "black")),
    "text and categories": split(X, as_type("category", "colour"), same, as_type("string", "colour")),
    "other categories": split(
        X, filled("shape", pd.Categorical(["cube"] * 30)), same, filled("shape", pd.Categorical(["round"] * 30))
    ),
    "float column of nothing, then words": split(X, filled("colour", np.nan), same, same),
    "nothing, then dates": split(X, filled("when", pd.NaT), same, same),
    "dates, then nothing": split(X, same, same, filled("when", None)),
    "dates and moments": split(X, same, filled("when", pd.Timestamp("2024-02-28 13:15")), same),
    "one date for each batch": split(
        X, *(filled("when", pd.Timestamp(day)) for day in ("2024-01-05", "2024-01-12", "2024-01-05"))
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*Where batches lack a column:UserWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("batches", list_cases(UNITED, UNITED))
def test_batches_are_united_as_by_pandas(batches):
    expected = MPBoostClassifier(**QUICK).fit(pd.concat(batches), Y)
    pairs = [(batch, Y[rows]) for batch, rows in zip(batches, PARTS, strict=True)]
    dataset = BinnedDataset.from_batches(lambda: pairs)
    assert save_bytes(MPBoostClassifier(**QUICK).fit(dataset)) == save_bytes(expected)


#: Batches that are refused, the number of the batch, and what the error says.
REFUSED = {
    "words, then numbers": (
        split(X, same, same, filled("colour", 5)),
        "Batch 2: column 'colour' contains numbers, but contained categories in earlier batches",
    ),
    "numbers, then words": (
        split(X, same, filled("count", "x"), same),
        "Batch 1: column 'count' contains categories, but contained numbers in earlier batches",
    ),
    "odd decimals": (split(X, same, filled("count", [Decimal("sNaN")] * 30), same), "Batch 1: .*not a number"),
    "lists": (split(X, same, filled("count", [[1]] * 30), same), "Batch 1: .*Column 'count'"),
    "words and numbers": (split(X, same, filled("colour", ["a", 5] * 15), same), "Batch 1: .*Column 'colour'"),
    "dates, then words": (split(X, same, filled("when", "2024-01-05"), same), "Batch 1: .*column 'when"),
    "words, then dates": (
        split(X, filled("when", "2024-01-05"), same, same), "Batch 1: .*column 'when"
    ),
    "arrays, then frames": ([NUMBERS[:30], X[30:60], X[60:]], "Batch 1: some batches are frames with names"),
    "frames, then arrays": ([X[:30], NUMBERS[30:60], X[60:]], "Batch 1: some batches are frames with names"),
    "fewer columns": ([NUMBERS[:30], NUMBERS[30:60], NUMBERS[60:, 1:]], "Batch 2: there are 4 columns, but 5"),
    "text in an array": ([NUMBERS[:30], NUMBERS[30:].astype(str), NUMBERS[:30]], "Batch 1: "),
    "two columns of a name": (
        split(X, same, lambda frame: frame.rename(columns={"count": "height"}), same),
        "Batch 1: .*more than one column named 'height'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("batches", "message"), REFUSED.values(), ids=REFUSED)
def test_batches_that_do_not_go_together_are_refused_by_number_and_name(batches, message):
    pairs = [(batch, np.arange(len(batch))) for batch in batches]
    with pytest.raises((ValueError, TypeError), match=message):
        BinnedDataset.from_batches(lambda: pairs)


def test_columns_that_batches_lack_are_warned_of_once():
    pairs = [(batch, Y[:30]) for batch in split(X, same, without("height"), same)]
    with pytest.warns(UserWarning, match="Batch 1: there is no column 'height'. Where batches lack") as caught:
        BinnedDataset.from_batches(lambda: pairs)
    assert len(caught) == 1
    pairs = [(batch, Y[:30]) for batch in split(X, without("colour"), same, same)]
    with pytest.warns(UserWarning, match="Batch 1: there is a new column 'colour'. Where batches lack") as caught:
        BinnedDataset.from_batches(lambda: pairs)
    assert len(caught) == 1


def test_chosen_categories_are_those_of_the_first_batch():
    batches = split(X.drop(columns="when"), same, reverse_columns, without("count"))
    pairs = [(batch, Y[rows]) for batch, rows in zip(batches, PARTS, strict=True)]
    chosen = ["colour", "shape", "count"]
    with pytest.warns(UserWarning, match="lack a column"):
        dataset = BinnedDataset.from_batches(lambda: pairs, categorical_features=chosen)
    expected = MPBoostClassifier(**QUICK, categorical_features=chosen).fit(pd.concat(batches), Y)
    model = MPBoostClassifier(**QUICK, categorical_features=chosen).fit(dataset)
    assert save_bytes(model) == save_bytes(expected)


def test_chosen_categories_of_integers_and_floats_are_one():
    table = X[["count", "height"]]
    batches = split(table, same, as_type(float), same)
    pairs = [(batch, Y[rows]) for batch, rows in zip(batches, PARTS, strict=True)]
    dataset = BinnedDataset.from_batches(lambda: pairs, categorical_features=["count"])
    model = MPBoostClassifier(**QUICK, categorical_features=["count"])
    assert save_bytes(model.fit(dataset)) == save_bytes(model.fit(pd.concat(batches), Y))


def test_unknown_categorical_features_are_refused():
    with pytest.raises(ValueError, match=r"Batch 0: .*names that X does not have: \['nothing'\]"):
        BinnedDataset.from_batches(lambda: [(X, Y)], categorical_features=["nothing"])


@pytest.mark.parametrize("chosen", [[3], np.arange(7) == 3], ids=["number", "mask"])
def test_numbers_of_categorical_features_do_not_go_with_dates(chosen):
    """Which parts of dates are features is known only when all rows are read."""
    with pytest.raises(ValueError, match="choose the categorical features by name"):
        BinnedDataset.from_arrays(X[["when", "height", "count"]], Y, categorical_features=chosen[:3])
