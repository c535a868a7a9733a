"""Tables that the engine reads: dense, of columns, and sparse."""

import numpy as np
import pytest
from scipy import sparse

from mpboost import _native
from mpboost.data import tables
from mpboost.data.tables import ColumnTable, DenseTable, SparseTable


def make_numbers(n_rows=700, n_columns=150, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, size=(n_rows, n_columns)).astype(dtype)
    X[rng.random(X.shape) < 0.5] = 0
    return X


def make_holed_numbers():
    X = make_numbers()
    X[::7, 3], X[::11, 5], X[1, 5] = np.nan, np.inf, -np.inf
    return X


MAKERS = {
    "dense": DenseTable,
    "columns": lambda X: ColumnTable(list(X.T), [None] * X.shape[1]),
    "sparse": lambda X: SparseTable.from_matrix(sparse.csr_array(X)),
}


def each_kind(test):
    return pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())(test)


def read_codes(table, mapper, threads):
    columns = table.bin(mapper, threads)
    if isinstance(columns, _native.SparseColumns):
        dense = _native.BinnedColumns(table.n_rows, table.n_columns)
        columns.expand(np.arange(table.n_columns), dense, threads)
        columns = dense
    return columns.codes


@pytest.fixture
def short_calls(monkeypatch):
    """Let every call of the engine do very little."""
    for name in ("CELLS_PER_CALL", "SORTED_PER_CALL", "BYTES_PER_CALL"):
        monkeypatch.setattr(tables, name, 1)


@each_kind
@pytest.mark.parametrize("max_bins", [7, 255])
@pytest.mark.usefixtures("short_calls")
def test_table_has_the_bins_of_the_array_in_one_call(threads, make, max_bins):
    X = make_holed_numbers()
    expected = _native.BinMapper.fit(X, max_bins, threads)
    table = make(X)
    mapper = table.fit_mapper(max_bins, threads)
    np.testing.assert_array_equal(mapper.offsets, expected.offsets)
    np.testing.assert_array_equal(mapper.edges, expected.edges)
    np.testing.assert_array_equal(read_codes(table, mapper, threads), expected.transform(X, threads).codes)


@pytest.mark.parametrize("make", [MAKERS["dense"], MAKERS["columns"]], ids=["dense", "columns"])
@pytest.mark.parametrize("max_bins", [7, 255])
@pytest.mark.usefixtures("short_calls")
def test_table_of_bytes_has_the_bins_of_the_array_in_one_call(threads, make, max_bins):
    X = make_numbers(dtype=np.uint8)
    expected = _native.BinMapper.fit(X, max_bins, threads)
    table = make(X)
    mapper = table.fit_mapper(max_bins, threads)
    np.testing.assert_array_equal(mapper.offsets, expected.offsets)
    np.testing.assert_array_equal(mapper.edges, expected.edges)
    np.testing.assert_array_equal(read_codes(table, mapper, threads), expected.transform(X, threads).codes)


@each_kind
def test_table_of_many_rows_has_the_bins_of_a_sample(threads, monkeypatch, make):
    n_rows = 260_000
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    X[X < 0.5] = 0.0
    expected = _native.BinMapper.fit(X, 255, threads, _native.sample_rows(0, n_rows, n_rows))
    monkeypatch.setattr(tables, "SORTED_PER_CALL", 1)
    np.testing.assert_array_equal(make(X).fit_mapper(255, threads).edges, expected.edges)


@each_kind
@pytest.mark.parametrize(
    "rows", [slice(10, 300), slice(None), np.array([5, 2, 2, 690])], ids=["slice", "all", "numbers"]
)
def test_table_takes_rows(threads, make, rows):
    X = make_holed_numbers()
    table = make(X)
    taken = table.take_rows(rows)
    assert (taken.n_rows, taken.n_columns) == X[rows].shape
    np.testing.assert_array_equal(taken.to_array(), X[rows])
    mapper = table.fit_mapper(255, threads)
    np.testing.assert_array_equal(
        read_codes(taken, mapper, threads), mapper.transform(np.ascontiguousarray(X[rows]), threads).codes
    )


@each_kind
@pytest.mark.parametrize("rows", [None, slice(3, 40, 2), np.array([9, 2, 2])], ids=["all", "slice", "numbers"])
@pytest.mark.parametrize("features", [None, np.array([8, 1, 100])], ids=["all", "some"])
def test_table_gives_an_array_of_rows_and_features(make, rows, features):
    X = make_holed_numbers()
    expected = X[slice(None) if rows is None else rows]
    expected = expected if features is None else expected[:, features]
    np.testing.assert_array_equal(make(X).to_array(rows, features), expected)


def test_column_table_gives_numbers_of_the_type_that_holds_all(threads):
    table = ColumnTable([np.array([2**60 + 1, 0]), np.array([True, False])], [None, None])
    assert table.to_array().dtype == np.int64
    assert table.to_array(features=np.array([1])).dtype == bool


def test_column_table_bins_each_column_by_its_type(threads):
    # As floats these would be the same number.
    table = ColumnTable([np.array([2**60, 2**60 + 512]), np.array([0.0, 1.0])], [None, None])
    assert read_codes(table, table.fit_mapper(255, threads), threads).tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("n_codes", [0, 1, 2, 100, 255])
def test_column_table_has_a_bin_for_each_category_that_may_occur(threads, n_codes):
    codes = np.full(1000, 255, dtype=np.uint8)
    codes[:3] = max(n_codes - 1, 0) if n_codes else 255
    table = ColumnTable([np.arange(1000.0), codes], [None, n_codes])
    mapper = table.fit_mapper(2, threads)  # whatever max_bins is
    assert mapper.edges[mapper.offsets[1] :].tolist() == [code + 0.5 for code in range(n_codes - 1)]
    np.testing.assert_array_equal(read_codes(table, mapper, threads)[1], codes)
    everything = ColumnTable([np.arange(256.0), np.arange(256, dtype=np.uint8)], [None, 255])
    expected = np.minimum(np.arange(255), max(n_codes - 1, 0))
    np.testing.assert_array_equal(read_codes(everything, mapper, threads)[1], [*expected, 255])


def test_column_table_gives_categories_as_codes_and_nan():
    table = ColumnTable([np.array([0, 254, 255], dtype=np.uint8)], [255])
    np.testing.assert_array_equal(table.to_array(), [[0], [254], [np.nan]])


def make_messy_matrix(make=sparse.csc_array):
    """Make a matrix whose rows do not ascend, with an entry that is there twice."""
    return make((np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(3, 2))


def test_sparse_table_sums_and_sorts_without_touching_the_matrix(threads):
    matrix = make_messy_matrix()
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    flags = dict(vars(matrix))
    table = SparseTable.from_matrix(matrix)
    assert table.to_array().tolist() == [[2, 0], [0, 4], [4, 0]]
    mapper = table.fit_mapper(255, threads)
    assert read_codes(table, mapper, threads).tolist() == [[1, 0, 2], [0, 1, 0]]
    for part, held in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(part, held)
    assert vars(matrix).keys() == flags.keys()


def test_sparse_table_does_not_copy_columns_that_are_in_order():
    matrix = sparse.csc_array(np.eye(3))
    table = SparseTable.from_matrix(matrix)
    assert np.shares_memory(table.matrix.data, matrix.data)
    assert np.shares_memory(table.matrix.indices, matrix.indices)
    assert np.shares_memory(SparseTable.from_matrix(sparse.csc_matrix(matrix)).matrix.data, matrix.data)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(("part", "value"), [("indices", 10**6), ("indices", -1), ("indptr", 10**6), ("indptr", -1)])
def test_sparse_table_refuses_damaged_matrices(kind, part, value):
    matrix = sparse.coo_array(np.eye(4)).asformat(kind)
    getattr(matrix, part)[2] = value
    with pytest.raises(ValueError, match=r"ind(ex|ices|ptr)"):
        SparseTable.from_matrix(matrix)


DAMAGES = {
    "coo-column": ("coo", lambda matrix: matrix.col.__setitem__(2, 10**6)),
    "coo-row": ("coo", lambda matrix: matrix.row.__setitem__(2, -1)),
    "coo-lengths": ("coo", lambda matrix: setattr(matrix, "data", matrix.data[:2])),
    "dia-lengths": ("dia", lambda matrix: setattr(matrix, "offsets", np.array([0, 1]))),
    "lil-column": ("lil", lambda matrix: matrix.rows[2].__setitem__(0, 10**6)),
    "lil-values": ("lil", lambda matrix: matrix.data[2].extend([1.0] * 1000)),
    "lil-columns": ("lil", lambda matrix: matrix.rows[2].append(1)),
    "csr-no-cells": ("csr", lambda matrix: matrix.indptr.__setitem__(slice(None), [0, 10**6, 0, 0, 0])),
}


@pytest.mark.parametrize(("kind", "damage"), DAMAGES.values(), ids=DAMAGES.keys())
def test_sparse_table_refuses_damage_that_conversions_of_scipy_do_not_survive(kind, damage):
    matrix = sparse.coo_array(np.eye(4)).asformat(kind)
    damage(matrix)
    with pytest.raises(ValueError, match=r"ind(ex|ices|ptr)|damaged|offsets|length"):
        SparseTable.from_matrix(matrix)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_table_reads_indices_of_either_size(threads, index):
    matrix = sparse.csc_array(np.diag([1.0, 2.0, np.nan]))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    table = SparseTable.from_matrix(matrix)
    codes = read_codes(table, table.fit_mapper(255, threads), threads)
    assert codes.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 255]]


class Recorder:
    """Stands for a mapper of two columns and notes the pieces that it is given."""

    def __init__(self):
        self.pieces = []
        self.offsets = np.zeros(3, dtype=np.int64)

    def encode(self, piece, columns, first_row, first_column, threads):
        self.pieces.append((piece.shape, first_row, first_column))


def test_table_is_coded_in_pieces_between_which_an_interrupt_is_noticed(threads):
    n_rows = 3 * tables.CELLS_PER_CALL // 2
    X = np.broadcast_to(np.uint8(0), (n_rows, 2))
    half = tables.CELLS_PER_CALL // 2
    recorder = Recorder()
    DenseTable(X).bin(recorder, threads)
    assert recorder.pieces == [((half, 2), row, 0) for row in (0, half, 2 * half)]
    recorder = Recorder()
    ColumnTable([X[:, 0], X[:, 1]], [None, None]).bin(recorder, threads)
    assert recorder.pieces == [
        ((rows, 1), row, column) for column in (0, 1) for rows, row in ((2 * half, 0), (half, 2 * half))
    ]
