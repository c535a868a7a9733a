"""Tables of codes: rows are taken, and decoded as far as bins tell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost import BinnedDataset, _native
from mpboost.datasets.coded_table import Bin, compute_middles
from tests.support.datasets import build_cut, make_mixed

X, Y = make_mixed(300)


@pytest.fixture(scope="module")
def table():
    return build_cut(X, Y).table


@pytest.mark.parametrize(
    "rows",
    [slice(0, 128), slice(128, 300), slice(5, 70), slice(0, 0), slice(None, None, 7), np.array([3, 3, 299, 0])],
    ids=str,
)
def test_rows_are_taken(table, rows):
    assert table.take_rows(rows).columns.codes.tolist() == table.columns.codes[:, rows].tolist()


def test_rows_are_split(table):
    parts = [part.columns.codes for part in table.split_rows(130)]
    assert [part.shape[1] for part in parts] == [130, 130, 40]
    assert np.concatenate(parts, axis=1).tolist() == table.columns.codes.tolist()


def test_decoded_numbers_have_the_codes_that_they_came_from(table, threads):
    codes = table.known.mapper.transform(table.to_array(), threads).codes
    assert codes.tolist() == table.columns.codes.tolist()


numbers = st.floats(allow_nan=False)


@given(st.lists(numbers, min_size=1, max_size=12))
def test_middles_are_in_their_bins(values):
    threads = _native.Threads(1)
    mapper = _native.BinMapper.fit(np.array(values)[:, None], 255, threads)
    middles = compute_middles(mapper.edges)
    assert np.searchsorted(mapper.edges, middles).tolist() == list(range(len(mapper.edges) + 1))


def test_whole_numbers_are_the_middles_of_their_bins():
    dataset = BinnedDataset.from_arrays(np.array([[3, 0], [4, 1], [5, 1], [6, 0]]))
    assert dataset.table.to_array().tolist() == [[3, 0], [4, 1], [5, 1], [6, 0]]


def test_values_are_decoded_to_bins_and_categories(table):
    rows = np.array([0, 5, 9])
    for value, given_value in zip(table.decode(rows, 0), X["height"].iloc[rows], strict=True):
        assert value is None if np.isnan(given_value) else value.low < given_value <= value.high
    assert table.decode(rows, 3) == [value if isinstance(value, str) else None for value in X["colour"].iloc[rows]]
    constant = BinnedDataset.from_arrays(np.ones((3, 1))).table
    assert constant.decode(rows[:1], 0) == [Bin(-np.inf, np.inf)]


def test_rare_categories_are_decoded_to_others():
    table = build_cut(X.assign(colour=[f"n{k}" for k in range(len(X))]), Y, max_bins=5).table
    assert table.decode(np.array([0, 299]), 3) == ["n0", "(other)"]
    assert table.to_array(features=np.array([3]))[[0, 299], 0].tolist() == [0.0, 4.0]
