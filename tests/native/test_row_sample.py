"""Samples of rows: the rows with low draws, the same however rows are cut into parts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost import _native
from tests.support.native.naive_row_sample import draw_53_bits, sample_naively

MAX_ROWS = 200_000


@pytest.mark.parametrize(
    ("first_row", "n_rows", "n_total"),
    [
        (0, 1000, 200_001),
        (199_000, 1001, 200_001),
        (0, 3000, 10**6),
        (2**32 - 500, 1000, 2**32 + 500),
        (10**12, 2000, 10**13),
        (2**63 - 1001, 1000, 2**63 - 1),
    ],
)
def test_sample_rows_agrees_with_its_twin(first_row, n_rows, n_total):
    expected = sample_naively(first_row, n_rows, n_total, MAX_ROWS)
    assert _native.sample_rows(first_row, n_rows, n_total).tolist() == expected


@given(first_row=st.integers(0, 2**62), n_rows=st.integers(0, 50), data=st.data())
def test_sample_rows_agrees_with_its_twin_for_any_size(first_row, n_rows, data):
    n_total = data.draw(st.integers(first_row + n_rows, 2**63 - 1))
    max_rows = data.draw(st.integers(n_total // 8 + 1, n_total // 2 + 1) | st.just(MAX_ROWS))
    expected = sample_naively(first_row, n_rows, n_total, max_rows)
    assert _native.sample_rows(first_row, n_rows, n_total, max_rows).tolist() == expected


def test_sample_rows_is_exact_at_the_limit():
    # A row is in as long as its draw, times the number of rows, is less than 2^53 times the size of the sample.
    row = 5
    most = (1000 * 2**53 - 1) // draw_53_bits(row)
    assert row in _native.sample_rows(0, 10, most, 1000)
    assert row not in _native.sample_rows(0, 10, most + 1, 1000)


@pytest.mark.parametrize("n_total", [0, 1, 1000, MAX_ROWS])
def test_sample_rows_of_a_small_table_are_all(n_total):
    np.testing.assert_array_equal(_native.sample_rows(0, n_total, n_total), np.arange(n_total))
    half = n_total // 2
    np.testing.assert_array_equal(_native.sample_rows(half, n_total - half, n_total), np.arange(half, n_total))


@pytest.mark.parametrize("n_total", [MAX_ROWS + 1, 450_000, 3_000_000])
def test_sample_rows_has_about_so_many_from_all_over(n_total):
    rows = _native.sample_rows(0, n_total, n_total)
    assert rows.dtype == np.int64
    assert abs(len(rows) - MAX_ROWS) < 5 * np.sqrt(MAX_ROWS)
    counts = np.histogram(rows, bins=10, range=(0, n_total))[0]
    assert np.ptp(counts) < 10 * np.sqrt(MAX_ROWS / 10)
    np.testing.assert_array_equal(rows, np.unique(rows))


def test_sample_rows_of_parts_are_those_of_the_whole():
    n_total = 700_001
    whole = _native.sample_rows(0, n_total, n_total)
    parts = [_native.sample_rows(a, b - a, n_total) for a, b in pairwise([0, 1, 1, 131_072, 500_000, n_total])]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_sample_rows_of_a_stream_are_left_of_those_kept_so_far():
    # Whoever reads a stream keeps the sample of the rows so far, and filters what was kept when all have been read.
    kept = np.empty(0, dtype=np.int64)
    for first, last in pairwise([0, 150_000, 250_000, 600_000, 1_000_000]):
        kept = kept[np.isin(kept, _native.sample_rows(0, first, last))]
        kept = np.append(kept, _native.sample_rows(first, last - first, last))
    np.testing.assert_array_equal(kept, _native.sample_rows(0, 1_000_000, 1_000_000))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 5, 10), "rows of the table"),
        ((0, -1, 10), "rows of the table"),
        ((0, 11, 10), "rows of the table"),
        ((6, 5, 10), "rows of the table"),
        ((2**63 - 1, 2**63 - 1, 2**63 - 1), "rows of the table"),
        ((0, 0, -1), "rows of the table"),
        ((0, 5, 10, 0), "at least one"),
    ],
)
def test_sample_rows_rejects_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        _native.sample_rows(*arguments)
