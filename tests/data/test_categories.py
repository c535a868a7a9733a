"""Which features are categorical, and the codes of their categories."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost.data.categories import (
    MISSING,
    Categories,
    Factors,
    as_keys,
    factorise,
    learn_categories,
    make_categorical_mask,
)


def make_objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def learn(values, max_codes=255, rows=None):
    return learn_categories(factorise(make_objects(values)), max_codes, rows)


def encode(categories, values):
    return categories.encode(factorise(make_objects(values))).tolist()


# Keys


MISSING_VALUES = [None, np.nan, float("nan"), np.float32("nan"), pd.NA, pd.NaT]


@pytest.mark.parametrize("value", MISSING_VALUES, ids=lambda value: type(value).__name__)
def test_as_keys_knows_missing_values(value):
    assert as_keys([value]) == [None]


PLAIN_KEYS = {
    "word": ("a", "a"),
    "numpy-word": (np.str_("a"), "a"),
    "bool": (True, True),
    "numpy-bool": (np.True_, True),
    "int": (2**63, 2**63),
    "numpy-int": (np.uint64(2**63), 2**63),
    "float": (1.5, 1.5),
    "numpy-float": (np.float32(1.5), 1.5),
    "infinity": (-np.inf, -np.inf),
    "empty-word": ("", ""),
    "timestamp": (pd.Timestamp("2020-01-02"), "2020-01-02 00:00:00"),
    "date": (datetime.date(2020, 1, 2), "2020-01-02"),
    "interval": (pd.Interval(0, 1), "(0, 1]"),
    "tuple": (("a", 1), "('a', 1)"),
    "list": ([1, 2], "[1, 2]"),
    "array": (np.array([1, 2]), "[1 2]"),
    "decimal": (decimal.Decimal("1.50"), "1.50"),
}


@pytest.mark.parametrize(("value", "key"), PLAIN_KEYS.values(), ids=PLAIN_KEYS.keys())
def test_as_keys_makes_values_that_a_file_can_hold(value, key):
    (made,) = as_keys([value])
    assert made == key
    assert type(made) is type(key)


# Codes


def test_learn_categories_sorts_values():
    assert learn(["b", None, "c", "a", "b"]).values == ["a", "b", "c"]
    assert learn([10, 9, 2.5, True]).values == [True, 2.5, 9, 10]


def test_learn_categories_sorts_words_among_numbers_by_type_and_text():
    assert learn(["b", 2, "a", 1.5, 10]).values == [1.5, 10, 2, "a", "b"]


def test_learn_categories_leaves_out_what_does_not_occur():
    factors = Factors(["a", "b", "c", None], np.array([2, 0, -1, 3, 2]))
    assert learn_categories(factors, 255).values == ["a", "c"]


def test_learn_categories_looks_at_the_given_rows_alone():
    assert learn(["a", "b", "c"], rows=np.array([True, False, True])).values == ["a", "c"]


def test_learn_categories_counts_values_with_the_same_key_together():
    factors = Factors(["x", "b", "x", "c"], np.array([0, 1, 1, 2, 2, 3, 3]))
    assert learn_categories(factors, 2) == Categories(["x"], has_other=True)


@pytest.mark.parametrize("values", [[], [None, None], [np.nan]], ids=["no-rows", "none", "nan"])
def test_learn_categories_of_nothing_finds_none(values):
    categories = learn(values)
    assert categories == Categories([])
    assert categories.n_codes == 0
    assert encode(categories, ["a", None]) == [MISSING, MISSING]


def test_learn_categories_keeps_the_most_frequent_where_they_are_too_many():
    categories = learn(["d"] * 3 + ["a"] * 2 + ["c"] * 4 + ["b"] * 2 + ["e"], max_codes=4)
    assert categories == Categories(["a", "c", "d"], has_other=True)  # of a and b, which are as frequent, the first
    assert categories.n_codes == 4
    assert encode(categories, ["a", "b", "c", "d", "e", "new", None]) == [0, 3, 1, 2, 3, 3, MISSING]


@pytest.mark.parametrize("n_categories", [254, 255, 256, 1000])
def test_encode_uses_at_most_as_many_codes_as_there_are_bins(n_categories):
    values = [f"{k:04}" for k in range(n_categories)]
    categories = learn(values)
    codes = encode(categories, values)
    assert categories.has_other == (n_categories > 255)
    assert codes == [min(k, 254) for k in range(n_categories)]


def test_encode_gives_unseen_and_missing_values_the_missing_code():
    assert encode(learn(["b", "a"]), ["a", "b", "c", None, np.nan, pd.NA, ""]) == [0, 1] + [MISSING] * 5


def test_encode_tells_values_apart_as_a_dict_does():
    categories = learn([1, 0, 2.5, "1"])
    assert encode(categories, [True, 1.0, np.int8(1), False, "1", "0"]) == [
        *[categories.values.index(1)] * 3,
        categories.values.index(0),
        categories.values.index("1"),
        MISSING,
    ]


keys = st.one_of(st.none(), st.text(max_size=3), st.booleans(), st.integers(-3, 3), st.floats(-2, 2))


@given(st.lists(keys, max_size=30), st.lists(keys, max_size=30), st.integers(2, 6))
def test_encode_agrees_with_a_plain_lookup(train, test, max_codes):
    categories = learn(train, max_codes)
    assert categories.n_codes <= max_codes
    assert set(categories.values) <= set(train)
    distinct = set(train) - {None}
    assert categories.has_other == (len(distinct) > max_codes)
    other = len(categories.values) if categories.has_other else MISSING
    expected = [
        MISSING if value is None else categories.values.index(value) if value in categories.values else other
        for value in test
    ]
    assert encode(categories, test) == expected


@pytest.mark.parametrize("dtype", ["i1", "i8", "u8", "f4", "f8", "?", "U2", "O"])
def test_factorise_gives_back_each_value(dtype):
    column = np.array([3, 1, 1, 0, 3]).astype(dtype)
    factors = factorise(column)
    assert [factors.values[position] for position in factors.positions] == column.tolist()
    assert len(set(factors.values)) == len(factors.values)


def test_factorise_finds_missing_numbers():
    factors = factorise(np.array([np.nan, 1.0, np.nan]))
    assert [factors.values[position] for position in factors.positions] == [None, 1.0, None]


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(np.array([5, 0, 4095, 5, 7], dtype="u2"), id="small"),
        pytest.param(np.array([-0.0, 3.0, 0.0, 7.0], dtype="f4"), id="negative zero"),
        pytest.param(np.array([5, 0, 4096]), id="large"),
        pytest.param(np.array([-1, 3, 3], dtype="i1"), id="negative"),
        pytest.param(np.array([1.0, 1.5, 1.0]), id="fractions"),
        pytest.param(np.array([2.0, np.nan, 1.0, np.nan], dtype="f4"), id="small and missing"),
        pytest.param(np.array([2.5, np.inf, np.nan, -np.inf]), id="infinite"),
        pytest.param(np.array([np.nan, np.nan]), id="missing"),
        pytest.param(np.array([True, False, True]), id="bool"),
        pytest.param(np.empty(0), id="empty"),
    ],
)
def test_factorise_sorts_distinct_numbers(column):
    distinct, positions = np.unique(column, return_inverse=True)
    factors = factorise(column)
    assert factors.values == as_keys(distinct.tolist())
    assert [type(value) for value in factors.values] == [type(value) for value in as_keys(distinct.tolist())]
    np.testing.assert_array_equal(factors.positions, positions)


# Which features


NAMES = ["a", "b", "c"]
CHOICES = {
    "none": (None, None),
    "from-dtype": ("from_dtype", [False, True, False]),
    "mask": ([True, False, True], [True, False, True]),
    "numpy-mask": (np.array([True, False, True]), [True, False, True]),
    "empty-mask": ([False] * 3, None),
    "numbers": ([2, 0], [True, False, True]),
    "repeated": ([1, 1], [False, True, False]),
    "unsigned": (np.array([1], dtype=np.uint8), [False, True, False]),
    "names": (["c"], [False, False, True]),
    "index": (pd.Index(["a", "b"]), [True, True, False]),
    "tuple": (("a",), [True, False, False]),
    "nothing": ([], None),
}


@pytest.mark.parametrize(("wanted", "expected"), CHOICES.values(), ids=CHOICES.keys())
def test_make_categorical_mask_reads_every_way_to_name_features(wanted, expected):
    mask = make_categorical_mask(wanted, NAMES, 3, np.array([False, True, False]))
    assert (None if mask is None else mask.tolist()) == expected


def test_make_categorical_mask_is_none_where_no_type_is_categorical():
    assert make_categorical_mask("from_dtype", NAMES, 3, np.zeros(3, dtype=bool)) is None


BAD_CHOICES = {
    "another-word": ("by_dtype", NAMES, "from_dtype"),
    "short-mask": ([True, False], NAMES, "mask for 2 features, but X has 3"),
    "too-large": ([3], NAMES, "from 0 to 2"),
    "negative": ([-1], NAMES, "from 0 to 2"),
    "unknown-name": (["a", "z"], NAMES, r"\['z'\]"),
    "names-of-an-array": (["a"], None, "X has no column names"),
    "number-among-names": (np.array(["a", 1], dtype=object), NAMES, "names that X does not have"),
    "floats": ([0.0], NAMES, "float64"),
    "two-dimensions": ([[0, 1]], NAMES, "one-dimensional"),
    "scalar": (1, NAMES, "one-dimensional"),
}


@pytest.mark.parametrize(("wanted", "names", "word"), BAD_CHOICES.values(), ids=BAD_CHOICES.keys())
def test_make_categorical_mask_refuses(wanted, names, word):
    with pytest.raises(ValueError, match=word):
        make_categorical_mask(wanted, names, 3, np.zeros(3, dtype=bool))
