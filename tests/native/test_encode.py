"""Columns that are coded piece by piece hold what the whole table gives."""

import os

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.naive_binning import DTYPES, LAYOUTS, edges_of, find_codes, make_table

N_ROWS, N_COLUMNS = 700, 19


def cut(rng, n, n_pieces):
    """Cut [0, n) at random places."""
    return np.sort(np.concatenate([[0, n], rng.integers(0, n, size=n_pieces - 1, endpoint=True)]))


def describe(columns):
    """Tell all that is known of columns but their codes."""
    return [(columns.n_bins(j), columns.has_missing(j)) for j in range(columns.n_columns)]


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lay_out", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_encode_of_pieces_in_any_order_is_transform(dtype, lay_out, n_threads):
    threads = _native.Threads(n_threads)
    rng = np.random.default_rng(n_threads)
    table = lay_out(make_table(dtype, N_ROWS, N_COLUMNS))
    mapper = _native.BinMapper.fit(table, 255, threads)
    columns = _native.BinnedColumns(N_ROWS, N_COLUMNS)
    row_cuts, column_cuts = cut(rng, N_ROWS, 5), cut(rng, N_COLUMNS, 3)
    for piece in rng.permutation([(i, j) for i in range(5) for j in range(3)]):
        (top, bottom), (left, right) = row_cuts[piece[0] :][:2], column_cuts[piece[1] :][:2]
        mapper.encode(table[top:bottom, left:right], columns, top, left, threads)
    whole = mapper.transform(table, threads)
    np.testing.assert_array_equal(columns.codes, whole.codes)
    assert describe(columns) == describe(whole)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_encode_of_large_pieces_is_exact(dtype, n_threads):
    threads = _native.Threads(n_threads)
    table = make_table(dtype, 20_011, 11)
    mapper = _native.BinMapper.fit(table, 255, threads)
    columns = _native.BinnedColumns(*table.shape)
    for first in (13_003, 0):
        mapper.encode(table[first : first + 13_003], columns, first, 0, threads)
    for j in range(11):
        expected = np.minimum(table[:, j], 254) if dtype == "uint8" else find_codes(table[:, j], edges_of(mapper, j))
        np.testing.assert_array_equal(columns.codes[j], expected)


@pytest.mark.parametrize("n_rows", [15, 16, 17, 127, 128, 129, 2047, 2048, 2063, 2064])
@pytest.mark.parametrize("n_columns", [15, 16, 17, 31, 32, 41])
def test_encode_of_bytes_keeps_them_up_to_the_last_bin(kernels, n_rows, n_columns):
    # Many are turned by tiles of 16 rows and columns, of which the last ones may reach back.
    rng = np.random.default_rng(n_rows)
    most = rng.integers(0, 255, n_columns, endpoint=True)
    mapper = _native.BinMapper.fit(np.arange(256)[:, None].clip(max=most).astype(np.uint8), 255, _native.Threads(1))
    wide = rng.integers(0, 256, (n_rows + 2, n_columns + 3), dtype=np.uint8)
    for table in (wide[1:-1, 2:-1], wide[-2:0:-1, 2:-1], np.ascontiguousarray(wide[2:, 3:])):
        for n_threads in (1, 2):
            codes = mapper.transform(table, _native.Threads(n_threads)).codes
            np.testing.assert_array_equal(codes, np.minimum(table, most.clip(max=254)).T)


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 127, 128, 129, 253, 254])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 600])
def test_encode_counts_the_edges_below_each_value(kernels, threads, n_rows, n_edges):
    # A few values are looked up in another way than many.
    mapper = _native.BinMapper(np.arange(float(n_edges)), np.array([0, n_edges]))
    probes = np.concatenate([np.arange(-1.0, 257.0, 0.5), [np.nan, np.inf, -np.inf]])
    for dtype in ("float32", "float64"):
        for first in range(0, len(probes), n_rows):
            values = probes[first : first + n_rows].astype(dtype)
            codes = mapper.transform(values[:, None], threads).codes[0]
            np.testing.assert_array_equal(codes, find_codes(values, np.arange(n_edges)))


@pytest.mark.parametrize("dtype", ["int16", "int32", "uint32", "int64", "uint64", "float32"])
def test_encode_of_numbers_beside_edges_is_exact(kernels, threads, dtype):
    # Edges that the type does not have, numbers that double precision does not have.
    rng = np.random.default_rng(0)
    limits = np.finfo(dtype) if dtype == "float32" else np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)
    edges = np.unique(rng.uniform(low / 2 - 1, high / 2 + 1, 200))
    edges = np.unique([*edges, -0.5, 0.5, low - 1.0, *(edges[::9] + 1e-9), *np.round(edges[::7])])[:254]
    mapper = _native.BinMapper(edges, np.array([0, len(edges)]))
    near = np.clip(edges, low, high / 2)
    values = np.concatenate(
        [near.astype(dtype), np.round(near).astype(dtype), np.array([limits.min, limits.max], dtype)]
    )
    one = np.array(1, dtype)
    with np.errstate(over="ignore"):
        values = np.concatenate(
            [values, values + one, values - one, np.nextafter(values.astype("f4"), 0).astype(dtype)]
        )
    codes = mapper.transform(values[:, None], threads).codes[0]
    np.testing.assert_array_equal(codes, find_codes(values, edges))


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_encode_leaves_all_else_alone(threads, dtype):
    table = np.arange(1, 61, dtype=dtype).reshape(10, 6)
    mapper = _native.BinMapper.fit(np.vstack([np.zeros_like(table[:1]), table]), 255, threads)
    columns = _native.BinnedColumns(10, 6)
    mapper.encode(table[3:8, 2:5], columns, 3, 2, threads)
    inside = np.zeros((6, 10), dtype=bool)
    inside[2:5, 3:8] = True
    np.testing.assert_array_equal(columns.codes > 0, inside)
    assert [columns.n_bins(j) > 1 for j in range(6)] == inside.any(axis=1).tolist()


def test_encode_remembers_missing_values_of_other_rows(threads):
    table = np.array([[np.nan, 1.0], [2.0, 3.0], [4.0, np.nan], [5.0, 6.0]])
    mapper = _native.BinMapper.fit(table, 255, threads)
    columns = _native.BinnedColumns(4, 2)
    known = []
    for first in (3, 0, 2, 1):
        mapper.encode(table[first : first + 1], columns, first, 0, threads)
        known.append([columns.has_missing(j) for j in range(2)])
    assert known == [[False, False], [True, False], [True, True], [True, True]]


def test_encode_of_whole_columns_forgets_what_was_there(threads):
    mapper = _native.BinMapper.fit(np.arange(8.0).reshape(4, 2), 255, threads)
    columns = mapper.transform(np.full((4, 2), np.nan), threads)
    mapper.encode(np.ones((4, 1)), columns, 0, 1, threads)
    assert [columns.has_missing(j) for j in range(2)] == [True, False]


@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (0, 0)])
def test_encode_takes_empty_pieces(threads, shape):
    mapper = _native.BinMapper.fit(np.arange(8.0).reshape(4, 2), 255, threads)
    columns = mapper.transform(np.full((4, 2), 4.0), threads)
    before = columns.codes.copy()
    mapper.encode(np.empty(shape), columns, 4 - shape[0], 2 - shape[1], threads)
    np.testing.assert_array_equal(columns.codes, before)


@pytest.mark.parametrize(
    ("first_row", "first_column"),
    [(-1, 0), (0, -1), (3, 0), (0, 2), (2**62, 0), (0, 2**62), (-(2**63), 0), (2**63 - 1, 2**63 - 1)],
)
def test_encode_rejects_pieces_beyond_the_columns(threads, first_row, first_column):
    mapper = _native.BinMapper.fit(np.ones((4, 3)), 255, threads)
    with pytest.raises(ValueError, match="beyond"):
        mapper.encode(np.ones((2, 2)), _native.BinnedColumns(4, 3), first_row, first_column, threads)


@pytest.mark.parametrize("shape", [(5, 1), (1, 4)])
def test_encode_rejects_larger_pieces(threads, shape):
    mapper = _native.BinMapper.fit(np.ones((4, 3)), 255, threads)
    with pytest.raises(ValueError, match="beyond"):
        mapper.encode(np.ones(shape), _native.BinnedColumns(4, 3), 0, 0, threads)


@pytest.mark.parametrize("n_columns", [0, 2, 4])
def test_encode_rejects_columns_of_another_table(threads, n_columns):
    mapper = _native.BinMapper.fit(np.ones((4, 3)), 255, threads)
    with pytest.raises(ValueError, match="number of columns"):
        mapper.encode(np.ones((4, 0)), _native.BinnedColumns(4, n_columns), 0, 0, threads)


@pytest.mark.parametrize("table", [np.ones(4), np.array([["a"]]), None], ids=["one dimension", "text", "nothing"])
def test_encode_rejects_other_tables(threads, table):
    mapper = _native.BinMapper.fit(np.ones((4, 1)), 255, threads)
    with pytest.raises(TypeError):
        mapper.encode(table, _native.BinnedColumns(4, 1), 0, 0, threads)


def test_encode_needs_columns(threads):
    mapper = _native.BinMapper.fit(np.ones((4, 1)), 255, threads)
    with pytest.raises(TypeError):
        mapper.encode(np.ones((4, 1)), None, 0, 0, threads)


@pytest.mark.parametrize("n_bins", [1, 2, 100, 254, 255])
@pytest.mark.parametrize("first_row", [0, 1, 44])
def test_put_stores_codes_up_to_the_last_bin(n_bins, first_row):
    codes = np.random.default_rng(0).permutation(np.arange(256, dtype=np.uint8))
    columns = _native.BinnedColumns(300, 3)
    columns.put(1, first_row, codes, n_bins)
    expected = np.zeros((3, 300), dtype=np.uint8)
    expected[1, first_row : first_row + 256] = np.where(codes == 255, 255, np.minimum(codes, n_bins - 1))
    np.testing.assert_array_equal(columns.codes, expected)
    assert describe(columns) == [(1, False), (n_bins, True), (1, False)]


def test_put_of_whole_columns_forgets_what_was_there():
    columns = _native.BinnedColumns(4, 1)
    known = []
    for first_row, codes in [(1, [0, 1]), (0, [255]), (2, [3, 4]), (0, [0, 1, 2, 3]), (0, [1, 255, 0, 0])]:
        columns.put(0, first_row, np.array(codes, dtype=np.uint8), 5)
        known.append(columns.has_missing(0))
    assert known == [False, True, True, False, True]


@pytest.mark.parametrize(
    ("column", "first_row", "n", "n_bins", "message"),
    [
        (-1, 0, 1, 5, "beyond"),
        (2, 0, 1, 5, "beyond"),
        (2**62, 0, 1, 5, "beyond"),
        (0, -1, 1, 5, "beyond"),
        (0, 4, 1, 5, "beyond"),
        (0, 0, 5, 5, "beyond"),
        (0, 2**63 - 1, 4, 5, "beyond"),
        (0, 0, 1, 0, "bins"),
        (0, 0, 1, 256, "bins"),
    ],
)
def test_put_rejects_wrong_arguments(column, first_row, n, n_bins, message):
    columns = _native.BinnedColumns(4, 2)
    with pytest.raises(ValueError, match=message):
        columns.put(column, first_row, np.ones(n, dtype=np.uint8), n_bins)
    assert not columns.codes.any()


@pytest.mark.parametrize("codes", [np.ones(4, dtype=np.int64), np.ones(8, dtype=np.uint8)[::2], np.ones((4, 1), "u1")])
def test_put_takes_bytes_alone(codes):
    with pytest.raises(TypeError):
        _native.BinnedColumns(4, 1).put(0, 0, codes, 5)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (127, 3), (129, 300)])
def test_columns_start_with_zeros_of_one_bin(shape):
    columns = _native.BinnedColumns(*shape)
    assert (columns.n_rows, columns.n_columns) == shape
    assert columns.codes.shape == shape[::-1]
    assert not columns.codes.any()
    assert describe(columns) == [(1, False)] * shape[1]
    if columns.codes.size:
        assert columns.codes.ctypes.data % 64 == 0


@pytest.mark.parametrize(
    "shape",
    [(-1, 2), (2, -1), (-(2**63), 1), (2**63 - 1, 1), (2**63 - 1, 2**63 - 1), (2**62, 2), (1, 2**57), (0, 2**62)],
)
def test_columns_reject_impossible_shapes(shape):
    with pytest.raises(ValueError, match="rows and columns"):
        _native.BinnedColumns(*shape)


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="the address sanitizer ends the process")
@pytest.mark.parametrize("shape", [(2**55, 2), (2**40, 2**20), (0, 2**60)])
def test_columns_too_large_for_memory_are_an_error(shape):
    with pytest.raises(MemoryError):
        _native.BinnedColumns(*shape)


@pytest.mark.parametrize("column", [-1, 2, 2**62])
def test_columns_know_nothing_of_others(column):
    columns = _native.BinnedColumns(3, 2)
    for ask in (columns.n_bins, columns.has_missing):
        with pytest.raises(ValueError, match="column"):
            ask(column)
