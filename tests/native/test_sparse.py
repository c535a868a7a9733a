"""Sparse tables: the edges and codes of the dense table, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

from mpboost import _native
from tests.support.native.naive_binning import DTYPES, INTEGERS, MISSING, edges_of, find_codes, find_edges

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, 1.0]


def make_sparse(dtype, n_rows, n_columns, density, seed=0):
    """Make a dense table and its CSC form, which also stores some of the zeros."""
    rng = np.random.default_rng(seed)
    shape = (n_rows, n_columns)
    if dtype == "bool":
        values = rng.random(shape) < 0.7
    elif dtype in INTEGERS:
        limits = np.iinfo(dtype)
        values = rng.integers(limits.min, limits.max, size=shape, dtype=dtype, endpoint=True)
        values[rng.random(shape) < 0.5] %= 5
    else:
        values = rng.normal(size=shape)
        values = np.where(rng.random(shape) < 0.3, rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0], shape), values)
        values = values.astype(dtype)
    is_stored = rng.random(shape) < density
    is_stored[:, 0] = False
    if n_columns > 2:
        is_stored[:, 1] = True
        if dtype.startswith("float"):
            values[:, 1] = np.nan
    return np.where(is_stored, values, values.dtype.type(0)), as_csc(values, is_stored)


def as_csc(values, is_stored):
    """Lay out the cells that are stored, zeros too, as indptr, indices, data and the number of rows."""
    columns, rows = np.nonzero(is_stored.T)
    indptr = np.searchsorted(columns, np.arange(values.shape[1] + 1)).astype(np.int64)
    return indptr, rows.astype(np.int32), values[rows, columns], len(values)


def expand_all(columns, threads):
    out = _native.BinnedColumns(columns.n_rows, columns.n_columns)
    columns.expand(np.arange(columns.n_columns), out, threads)
    return out


def assert_same_columns(found, expected):
    np.testing.assert_array_equal(found.codes, expected.codes)
    for j in range(found.n_columns):
        assert (found.n_bins(j), found.has_missing(j)) == (expected.n_bins(j), expected.has_missing(j))


def assert_like_dense(dense, csc, max_bins, threads, rows=None):
    mapper = _native.BinMapper.fit_sparse(*csc, max_bins, threads, rows)
    expected = _native.BinMapper.fit(dense, max_bins, threads, rows)
    np.testing.assert_array_equal(mapper.offsets, expected.offsets)
    assert mapper.edges.tobytes() == expected.edges.tobytes()
    columns = mapper.transform_sparse(*csc, threads)
    assert (columns.n_rows, columns.n_columns, columns.n_stored) == (*dense.shape, len(csc[1]))
    assert_same_columns(expand_all(columns, threads), mapper.transform(dense, threads))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("max_bins", [2, 7, 255])
@pytest.mark.parametrize("density", [0.0, 0.03, 0.6, 1.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse_tables_are_binned_like_dense_ones(dtype, density, max_bins, n_threads):
    dense, csc = make_sparse(dtype, 700, 19, density)
    assert_like_dense(dense, csc, max_bins, _native.Threads(n_threads))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("max_bins", [5, 255])
def test_sparse_tables_are_binned_like_naive_ones(threads, dtype, max_bins):
    dense, csc = make_sparse(dtype, 900, 5, 0.4)
    mapper = _native.BinMapper.fit_sparse(*csc, max_bins, threads)
    codes = expand_all(mapper.transform_sparse(*csc, threads), threads).codes
    for j in range(5):
        edges = edges_of(mapper, j)
        np.testing.assert_array_equal(edges, find_edges(dense[:, j], max_bins))
        np.testing.assert_array_equal(codes[j], find_codes(dense[:, j], edges))


@pytest.mark.slow
@pytest.mark.parametrize("max_bins", [2, 4, 255])
@given(data=st.data())
def test_sparse_tables_of_any_numbers_are_binned_like_dense_ones(threads, max_bins, data):
    shape = data.draw(st.tuples(st.integers(0, 12), st.integers(0, 4)))
    values = data.draw(npst.arrays(np.float64, shape, elements=st.floats() | st.sampled_from(SPECIAL)))
    is_stored = data.draw(npst.arrays(bool, shape))
    assert_like_dense(np.where(is_stored, values, 0.0), as_csc(values, is_stored), max_bins, threads)


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 1.0])
def test_sparse_tables_of_given_rows_are_binned_like_dense_ones(threads, dtype, share):
    dense, csc = make_sparse(dtype, 3000, 3, 0.2)
    rows = np.flatnonzero(np.random.default_rng(0).random(3000) < share)
    assert_like_dense(dense, csc, 100, threads, rows)
    assert_like_dense(dense, csc, 255, threads, rows)


@pytest.mark.parametrize("rows", [[-1], [0, 4], [1, 1], [2, 1]])
def test_sparse_tables_reject_wrong_rows(threads, rows):
    with pytest.raises(ValueError, match="rows must ascend"):
        _native.BinMapper.fit_sparse(np.array([0, 1]), np.array([0]), np.ones(1), 4, 255, threads, np.array(rows))


@pytest.mark.parametrize("n_rows", [1, 127, 128, 129, 255, 256, 257, 5000])
def test_sparse_columns_code_every_entry_of_odd_blocks(threads, n_rows):
    assert_like_dense(*make_sparse("float32", n_rows, 3, 1.0), 50, threads)


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("lay_out", [np.asarray, lambda a: np.repeat(a, 3)[::3], lambda a: a[::-1].copy()[::-1]])
def test_sparse_tables_are_read_from_any_arrays(threads, index_dtype, lay_out):
    dense, (indptr, indices, data, n_rows) = make_sparse("float64", 300, 9, 0.3)
    assert_like_dense(dense, (indptr, lay_out(indices.astype(index_dtype)), lay_out(data), n_rows), 255, threads)


def test_sparse_tables_of_scipy_are_read(threads):
    table = sparse.csc_array(sparse.random(400, 30, density=0.1, format="csr", random_state=0))
    csc = (table.indptr.astype(np.int64), table.indices, table.data, table.shape[0])
    assert_like_dense(table.toarray(), csc, 255, threads)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (5, 2)])
def test_sparse_tables_may_store_nothing(threads, shape):
    table = np.zeros(shape)
    assert_like_dense(table, as_csc(table, table != 0), 255, threads)


def test_sparse_tables_code_unseen_numbers_and_zeros(threads):
    # Zero is below, between and above what was fitted.
    fitted = np.array([[3.0, -2.0, -4.0], [4.0, 1.0, -3.0]])
    mapper = _native.BinMapper.fit(fitted, 255, threads)
    table = np.array([[0.0, 0.0, 0.0], [9.0, np.nan, np.inf], [0.0, -np.inf, -9.0]])
    columns = mapper.transform_sparse(*as_csc(table, table != 0), threads)
    assert expand_all(columns, threads).codes.tolist() == [[0, 1, 0], [1, MISSING, 0], [1, 1, 0]]


def test_expand_writes_the_named_columns_in_their_order(threads):
    dense, csc = make_sparse("float64", 300, 9, 0.3)
    mapper = _native.BinMapper.fit(dense, 255, threads)
    columns = mapper.transform_sparse(*csc, threads)
    out = _native.BinnedColumns(300, 5)
    features = np.array([7, 0, 7, 3])
    columns.expand(features, out, threads)
    np.testing.assert_array_equal(out.codes[:4], mapper.transform(dense, threads).codes[features])
    assert not out.codes[4].any()


def test_expand_forgets_what_the_columns_held(threads):
    rng = np.random.default_rng(0)
    dense, csc = make_sparse("float64", 300, 9, 0.3)
    mapper = _native.BinMapper.fit(dense, 40, threads)
    whole = mapper.transform(dense, threads)
    columns = mapper.transform_sparse(*csc, threads)
    out = _native.BinnedColumns(300, 3)
    for _ in range(30):
        features = rng.integers(9, size=3)
        columns.expand(features, out, threads)
        np.testing.assert_array_equal(out.codes, whole.codes[features])
        for k, j in enumerate(features):
            assert (out.n_bins(k), out.has_missing(k)) == (whole.n_bins(j), whole.has_missing(j))


def test_sparse_columns_show_what_they_store(threads):
    table = np.array([[0.0, 2.0], [0.0, 0.0], [3.0, np.nan]])
    indptr, indices, data, n_rows = as_csc(table, table != 0)
    columns = _native.BinMapper.fit(table, 255, threads).transform_sparse(indptr, indices, data, n_rows, threads)
    assert columns.indptr.tolist() == [0, 1, 3]
    assert columns.rows.tolist() == [2, 0, 2]
    assert columns.codes.tolist() == [1, 1, MISSING]
    for array in (columns.indptr, columns.rows, columns.codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("cell", "value"), [((0, 0), 1.0), ((4, 1), np.nan), ((2, 2), 0.0)], ids=["stored", "missing", "not stored"]
)
def test_sparse_columns_equal_only_the_same_table(threads, cell, value):
    table = np.arange(15.0).reshape(5, 3) - 7.0
    mapper = _native.BinMapper.fit(table, 255, threads)
    columns, same = (mapper.transform_sparse(*as_csc(table, table != 0), threads) for _ in range(2))
    assert columns.equals(same)
    table[cell] = value
    assert not columns.equals(mapper.transform_sparse(*as_csc(table, table != 0), threads))


@pytest.mark.parametrize("shape", [(6, 3), (5, 4)])
def test_sparse_columns_differ_from_larger_ones(threads, shape):
    columns = [
        _native.BinMapper.fit(table, 255, threads).transform_sparse(*as_csc(table, table != 0), threads)
        for table in (np.zeros((5, 3)), np.zeros(shape))
    ]
    assert not columns[0].equals(columns[1])


def fit_sparse(indptr, indices, data, n_rows, threads):
    _native.BinMapper.fit_sparse(indptr, indices, data, n_rows, 255, threads)


def transform_sparse(indptr, indices, data, n_rows, threads):
    mapper = _native.BinMapper(np.empty(0), np.zeros(max(len(indptr), 1), dtype=np.int64))
    mapper.transform_sparse(indptr, indices, data, n_rows, threads)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("use", [fit_sparse, transform_sparse])
@pytest.mark.parametrize(
    ("indptr", "indices", "n_data", "n_rows"),
    [
        pytest.param([], [], 0, 4, id="no indptr"),
        pytest.param([1, 3], [0, 1, 2], 3, 4, id="indptr starts late"),
        pytest.param([-1, 3], [0, 1, 2], 3, 4, id="indptr starts early"),
        pytest.param([0, 2], [0, 1, 2], 3, 4, id="indptr ends early"),
        pytest.param([0, 4], [0, 1, 2], 3, 4, id="indptr ends late"),
        pytest.param([0, 3, 2, 3], [0, 1, 2], 3, 4, id="indptr descends"),
        pytest.param([0, 2**62, 3], [0, 1, 2], 3, 4, id="indptr is huge"),
        pytest.param([0, 3], [0, 1, 2], 2, 4, id="too few data"),
        pytest.param([0, 3], [0, 1, 2], 4, 4, id="too many data"),
        pytest.param([0, 3], [-1, 1, 2], 3, 4, id="negative row"),
        pytest.param([0, 3], [0, 1, 4], 3, 4, id="row beyond the last"),
        pytest.param([0, 3], [0, 1, 2**31 - 1], 3, 4, id="huge row"),
        pytest.param([0, 3], [0, 2, 1], 3, 4, id="rows descend"),
        pytest.param([0, 3], [0, 1, 1], 3, 4, id="row twice"),
        pytest.param([0, 0, 1], [0], 1, 0, id="entry without rows"),
        pytest.param([0, 3], [0, 1, 2], 3, -1, id="negative number of rows"),
        pytest.param([0, 3], [0, 1, 2], 3, 2**31, id="too many rows"),
    ],
)
def test_sparse_tables_that_contradict_themselves_are_rejected(use, n_threads, indptr, indices, n_data, n_rows):
    arrays = (np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int32), np.ones(n_data))
    with pytest.raises(ValueError, match="sparse"):
        use(*arrays, n_rows, _native.Threads(n_threads))


def test_sparse_tables_with_one_wrong_row_are_rejected(threads):
    _, (indptr, indices, data, n_rows) = make_sparse("float64", 500, 40, 0.5)
    wrong = np.random.default_rng(0).choice(len(indices), 50, replace=False)
    for entry in wrong:
        damaged = indices.astype(np.int64)
        damaged[entry] = -1 if entry % 2 else 2**40
        for use in (fit_sparse, transform_sparse):
            with pytest.raises(ValueError, match="sparse"):
                use(indptr, damaged, data, n_rows, _native.Threads(2))


@pytest.mark.parametrize("use", [fit_sparse, transform_sparse])
@pytest.mark.parametrize(
    ("indices", "data"),
    [
        pytest.param(np.zeros(1, dtype=np.int16), np.ones(1), id="short indices"),
        pytest.param(np.zeros(1, dtype=np.uint64), np.ones(1), id="unsigned indices"),
        pytest.param(np.zeros(1), np.ones(1), id="real indices"),
        pytest.param(np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.float16), id="float16"),
        pytest.param(np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.complex64), id="complex"),
        pytest.param(np.zeros(1, dtype=np.int32), np.ones((1, 1)), id="data of two dimensions"),
        pytest.param(np.zeros(1, dtype=np.int32), None, id="no data"),
    ],
)
def test_sparse_tables_of_other_types_are_rejected(threads, use, indices, data):
    with pytest.raises(TypeError):
        use(np.array([0, 1]), indices, data, 4, threads)


@pytest.mark.parametrize("max_bins", [-1, 0, 1, 256])
def test_sparse_tables_reject_wrong_numbers_of_bins(threads, max_bins):
    with pytest.raises(ValueError, match="max_bins"):
        _native.BinMapper.fit_sparse(np.array([0, 1]), np.array([0]), np.ones(1), 4, max_bins, threads)


@pytest.mark.parametrize(("n_columns", "first_feature"), [(3, 0), (2, 1), (0, 3), (1, -1), (1, 2**62)])
def test_sparse_tables_need_columns_that_are_features(threads, n_columns, first_feature):
    mapper = _native.BinMapper.fit(np.ones((4, 2)), 255, threads)
    nothing = np.zeros(n_columns + 1, dtype=np.int64), np.empty(0, np.int32), np.empty(0)
    with pytest.raises(ValueError, match="no features of the mapper"):
        mapper.transform_sparse(*nothing, 4, threads, first_feature)


@pytest.mark.parametrize("n_first", [0, 1, 2, 5])
def test_sparse_tables_of_some_columns_append_to_the_whole(threads, n_first):
    table, _ = make_sparse("float64", 60, 5, 0.4)
    whole = as_csc(table, table != 0)
    mapper = _native.BinMapper.fit_sparse(*whole, 255, threads)
    parts = [as_csc(part, part != 0) for part in (table[:, :n_first], table[:, n_first:])]
    joined = _native.BinMapper.fit_sparse(*parts[0], 255, threads)
    joined.append(_native.BinMapper.fit_sparse(*parts[1], 255, threads))
    np.testing.assert_array_equal(joined.edges, mapper.edges)
    np.testing.assert_array_equal(joined.offsets, mapper.offsets)
    columns = mapper.transform_sparse(*parts[0], threads)
    columns.append(mapper.transform_sparse(*parts[1], threads, n_first))
    assert columns.equals(mapper.transform_sparse(*whole, threads))


def test_sparse_tables_of_other_rows_are_not_appended(threads):
    mapper = _native.BinMapper.fit(np.ones((4, 1)), 255, threads)
    one, other = (
        mapper.transform_sparse(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0), n, threads) for n in (4, 5)
    )
    with pytest.raises(ValueError, match="number of rows"):
        one.append(other)


@pytest.mark.parametrize(
    ("features", "shape", "message"),
    [
        pytest.param([-1], (4, 2), "does not exist", id="negative feature"),
        pytest.param([0, 3], (4, 2), "does not exist", id="feature beyond the last"),
        pytest.param([2**62], (4, 2), "does not exist", id="huge feature"),
        pytest.param([0, 1, 2], (4, 2), "output", id="too few columns"),
        pytest.param([0], (3, 2), "output", id="too few rows"),
        pytest.param([0], (5, 2), "output", id="too many rows"),
    ],
)
def test_expand_rejects_what_does_not_fit(threads, features, shape, message):
    table = np.ones((4, 3))
    columns = _native.BinMapper.fit(table, 255, threads).transform_sparse(*as_csc(table, table > 0), threads)
    with pytest.raises(ValueError, match=message):
        columns.expand(np.array(features), _native.BinnedColumns(*shape), threads)
