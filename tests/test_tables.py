"""Tables that the engine reads, and what the classifier accepts as X and y: types, layouts, frames, labels."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import SMALL, describe_model, make_integers, make_read_only
from scipy import sparse

from mpboost import MPBoostClassifier, _native, tables
from mpboost.tables import ColumnTable, DenseTable, SparseTable

# Tables


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
    expected = _native.BinMapper.fit(X, max_bins, 0, threads)
    table = make(X)
    mapper = table.fit_mapper(max_bins, 0, threads)
    np.testing.assert_array_equal(mapper.offsets, expected.offsets)
    np.testing.assert_array_equal(mapper.edges, expected.edges)
    np.testing.assert_array_equal(read_codes(table, mapper, threads), expected.transform(X, threads).codes)


@pytest.mark.parametrize("make", [MAKERS["dense"], MAKERS["columns"]], ids=["dense", "columns"])
@pytest.mark.parametrize("max_bins", [7, 255])
@pytest.mark.usefixtures("short_calls")
def test_table_of_bytes_has_the_bins_of_the_array_in_one_call(threads, make, max_bins):
    X = make_numbers(dtype=np.uint8)
    expected = _native.BinMapper.fit(X, max_bins, 0, threads)
    table = make(X)
    mapper = table.fit_mapper(max_bins, 0, threads)
    np.testing.assert_array_equal(mapper.offsets, expected.offsets)
    np.testing.assert_array_equal(mapper.edges, expected.edges)
    np.testing.assert_array_equal(read_codes(table, mapper, threads), expected.transform(X, threads).codes)


def test_table_of_many_rows_has_the_bins_of_the_array_in_one_call(threads, monkeypatch):
    X = np.random.default_rng(0).normal(size=(tables.SAMPLE_ROWS + 1000, 3))
    expected = _native.BinMapper.fit(X, 255, 3, threads)  # looks at a sample of the rows
    monkeypatch.setattr(tables, "SORTED_PER_CALL", 1)
    np.testing.assert_array_equal(DenseTable(X).fit_mapper(255, 3, threads).edges, expected.edges)


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
    mapper = table.fit_mapper(255, 0, threads)
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
    assert read_codes(table, table.fit_mapper(255, 0, threads), threads).tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("n_codes", [0, 1, 2, 100, 255])
def test_column_table_has_a_bin_for_each_category_that_may_occur(threads, n_codes):
    codes = np.full(1000, 255, dtype=np.uint8)
    codes[:3] = max(n_codes - 1, 0) if n_codes else 255
    table = ColumnTable([np.arange(1000.0), codes], [None, n_codes])
    mapper = table.fit_mapper(2, 0, threads)  # whatever max_bins is
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
    mapper = table.fit_mapper(255, 0, threads)
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
    matrix = sparse.eye_array(4, format=kind)
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
    matrix = sparse.eye_array(4, format=kind)
    damage(matrix)
    with pytest.raises(ValueError, match=r"ind(ex|ices|ptr)|damaged|offsets"):
        SparseTable.from_matrix(matrix)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_table_reads_indices_of_either_size(threads, index):
    matrix = sparse.csc_array(np.diag([1.0, 2.0, np.nan]))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    table = SparseTable.from_matrix(matrix)
    codes = read_codes(table, table.fit_mapper(255, 0, threads), threads)
    assert codes.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 255]]


class Recorder:
    """Stands for a mapper and notes the pieces that it is given."""

    def __init__(self):
        self.pieces = []

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


# Types and layouts of X


NATIVE_TYPES = ["i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "g"]
FOREIGN_TYPES = [">i2", ">i4", ">i8", ">u2", ">u4", ">f2", ">f4", ">f8"]


@pytest.mark.parametrize("dtype", [*NATIVE_TYPES, *FOREIGN_TYPES, "O"])
def test_fit_gives_the_same_model_for_every_type_of_number(dtype):
    X, y = make_integers()
    expected = MPBoostClassifier(**SMALL).fit(X.astype(np.float64), y)
    model = MPBoostClassifier(**SMALL).fit(X.astype(dtype), y)
    assert describe_model(model) == describe_model(expected)


@pytest.mark.parametrize("dtype", [*NATIVE_TYPES, *FOREIGN_TYPES, "u1", "O"])
def test_predict_gives_the_same_decisions_for_every_type_of_number(dtype):
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X, y)
    X_new, _ = make_integers(seed=1)
    np.testing.assert_array_equal(
        model.decision_function(X_new.astype(dtype)), model.decision_function(X_new.astype(np.float64))
    )


def test_fit_on_bytes_learns_what_it_learns_from_floats():
    X, y = make_integers()
    X[:60] = np.arange(60)[:, None]  # each value occurs, so that the bins of both are the same
    as_bytes = MPBoostClassifier(**SMALL).fit(X.astype(np.uint8), y)
    as_floats = MPBoostClassifier(**SMALL).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(as_bytes.decision_function(X), as_floats.decision_function(X))
    np.testing.assert_array_equal(as_bytes.feature_probabilities_, as_floats.feature_probabilities_)
    np.testing.assert_array_equal(as_bytes.oop_scores_, as_floats.oop_scores_)


def test_predict_of_a_byte_model_judges_bytes_and_floats_alike():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(500, 4), dtype=np.uint8)
    y = X[:, 0] > 200
    model = MPBoostClassifier(**SMALL).fit(X, y)
    X_new = rng.integers(0, 256, size=(500, 4), dtype=np.uint8)
    np.testing.assert_array_equal(model.decision_function(X_new), model.decision_function(X_new.astype(np.float64)))


def test_fit_on_bools_equals_fit_on_zeros_and_ones():
    X = np.random.default_rng(0).random((300, 6)) < 0.5
    y = X[:, 0] & X[:, 1] | X[:, 2]
    model = MPBoostClassifier(**SMALL).fit(X, y)
    assert describe_model(model) == describe_model(MPBoostClassifier(**SMALL).fit(X.astype(np.float64), y))
    assert model.score(X, y) > 0.95


def test_fit_on_float32_and_float64_of_the_same_values_gives_the_same_model():
    X = np.random.default_rng(0).normal(size=(2000, 5)).astype(np.float32)
    y = X[:, 0] * X[:, 1] > 0
    single, double = (MPBoostClassifier(**SMALL).fit(X.astype(dtype), y) for dtype in (np.float32, np.float64))
    assert describe_model(single) == describe_model(double)


def put_into_records(X):
    """Lay the numbers five bytes apart, so that most of them are not aligned."""
    records = np.zeros(X.shape, dtype=np.dtype([("tag", "u1"), ("value", X.dtype)]))
    records["value"] = X
    return records["value"]


def put_into_every_other_cell(X):
    wide = np.full((2 * X.shape[0], 2 * X.shape[1]), -1, dtype=X.dtype)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def lay_out_backwards(X):
    return X[::-1, ::-1].copy()[::-1, ::-1]


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": put_into_every_other_cell,
    "backwards": lay_out_backwards,
    "read-only": make_read_only,
    "records": put_into_records,
    "slice-of-fortran": lambda X: np.asfortranarray(np.vstack([X, X]))[: len(X)],
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("lay_out", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_fit_and_predict_do_not_depend_on_the_layout(lay_out):
    X, y = make_integers()
    X = X.astype(np.float32)
    expected = MPBoostClassifier(**SMALL).fit(X, y)
    model = MPBoostClassifier(**SMALL).fit(lay_out(X), y)
    assert describe_model(model) == describe_model(expected)
    np.testing.assert_array_equal(model.decision_function(lay_out(X)), expected.decision_function(X))


def test_fit_and_predict_read_memory_mapped_files(tmp_path):
    X, y = make_integers()
    X = X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = MPBoostClassifier(**SMALL).fit(mapped, y)
    expected = MPBoostClassifier(**SMALL).fit(X, y)
    assert describe_model(model) == describe_model(expected)
    np.testing.assert_array_equal(model.predict(mapped), expected.predict(X))


def test_fit_leaves_its_input_as_it_was():
    X, y = make_integers()
    X_before, y_before = X.copy(), y.copy()
    MPBoostClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def test_fit_keeps_the_names_of_a_data_frame():
    X, y = make_integers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = MPBoostClassifier(**SMALL).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(
        model.decision_function(frame), MPBoostClassifier(**SMALL).fit(X, y).decision_function(X)
    )


def test_fit_on_an_array_forgets_the_names_of_an_earlier_data_frame():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(pd.DataFrame(X, columns=list("abcde")), y)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_fit_reads_data_frames_of_mixed_columns():
    X, y = make_integers()
    frame = pd.DataFrame({"int": X[:, 0], "float": X[:, 1] / 2, "bool": X[:, 2] > 30, "nullable": X[:, 3]})
    frame["nullable"] = frame["nullable"].astype("Int64")
    frame.loc[::7, "nullable"] = pd.NA
    plain = frame.astype(np.float64).to_numpy()
    expected = MPBoostClassifier(**SMALL).fit(plain, y)
    model = MPBoostClassifier(**SMALL).fit(frame, y)
    np.testing.assert_array_equal(model.decision_function(frame), expected.decision_function(plain))


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_fit_reads_frames_of_every_library(make):
    X, y = make_integers()
    frame = make({"int": X[:, 0], "float": X[:, 1] / 2, "byte": X[:, 2].astype(np.uint8), "bool": X[:, 3] > 30})
    pandas = pd.DataFrame(
        {"int": X[:, 0], "float": X[:, 1] / 2, "byte": X[:, 2].astype(np.uint8), "bool": X[:, 3] > 30}
    )
    expected = MPBoostClassifier(**SMALL).fit(pandas, y)
    model = MPBoostClassifier(**SMALL).fit(frame, y)
    assert describe_model(model) == describe_model(expected)
    np.testing.assert_array_equal(model.decision_function(pandas), expected.decision_function(frame))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_fit_learns_from_words(make):
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "black"])[rng.integers(0, 4, size=400)]
    y = np.isin(words, ["red", "black"])
    frame = make({"noise": rng.normal(size=400), "colour": words.tolist()})
    model = MPBoostClassifier(**{**SMALL, "max_features": 2}).fit(frame, y)
    assert model.categories_ == [None, ["black", "blue", "green", "red"]]
    assert model.score(frame, y) == 1.0
    shuffled = pd.DataFrame(
        {"noise": 0.0, "colour": pd.Categorical(words, categories=["red", "blue", "green", "black"])}
    )
    assert (model.predict(shuffled) == y).all()


def test_fit_on_a_sparse_matrix_equals_fit_on_its_dense_form():
    X, y = make_integers()
    X = np.where(X < 30, 0, X).astype(np.float64)
    expected = MPBoostClassifier(**SMALL).fit(X, y)
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        model = MPBoostClassifier(**SMALL).fit(make(X), y)
        assert describe_model(model) == describe_model(expected)
        np.testing.assert_array_equal(model.decision_function(make(X)), expected.decision_function(X))
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(make(X)))


# Missing values


def test_fit_learns_from_missingness_itself():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.random(400) < 0.5
    X[y, 1] = np.nan
    model = MPBoostClassifier(**SMALL).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) == 1.0


@pytest.mark.parametrize("missing_class", [0, 1])
def test_fit_learns_which_way_missing_values_go(missing_class):
    # The feature tells the classes apart, and missing values belong to one of them.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=600)
    X = (y + rng.uniform(0.0, 0.9, size=600))[:, None]
    X[(y == missing_class) & (rng.random(600) < 0.5)] = np.nan
    model = MPBoostClassifier(n_estimators=11, max_samples=100, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) == 1.0


def test_predict_takes_missing_values_that_fit_never_saw():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X.astype(np.float64), y)
    holed = X.astype(np.float64)
    holed[:, 4] = np.nan  # says nothing about y
    assert model.score(holed, y) > 0.8
    assert np.isin(model.predict(np.full((3, 5), np.nan)), model.classes_).all()


def test_fit_gives_no_credit_to_features_that_are_all_missing_or_constant():
    X, y = make_integers()
    X = np.column_stack([np.full(len(X), np.nan), X, np.ones(len(X))])
    model = MPBoostClassifier(n_estimators=60, max_samples=60, max_features=7, random_state=0).fit(X, y)
    assert model.feature_importances_[[0, -1]].tolist() == [0.0, 0.0]
    assert model.feature_probabilities_[[0, -1]].max() < 1e-6


# Labels


LABELS = {
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "bools": np.array([False, True]),
    "signs": np.array([-1, 1]),
    "integers": np.array([-1000, 70000]),
    "bytes": np.array([254, 255], dtype=np.uint8),
    "whole-floats": np.array([2.0, 5.0]),
}


@pytest.mark.parametrize("classes", LABELS.values(), ids=LABELS.keys())
def test_predict_answers_in_the_labels_of_y(classes):
    X, y = make_integers()
    expected = MPBoostClassifier(**SMALL).fit(X, y).predict(X)
    model = MPBoostClassifier(**SMALL).fit(X, classes[y])
    np.testing.assert_array_equal(model.classes_, classes)
    assert model.classes_.dtype == classes.dtype
    np.testing.assert_array_equal(model.predict(X), classes[expected])
    assert model.predict(X).dtype == classes.dtype


def test_fit_sorts_classes_whatever_comes_first():
    X, y = make_integers()
    labels = np.array(["z", "a"])[y]
    model = MPBoostClassifier(**SMALL).fit(X, labels)
    assert model.classes_.tolist() == ["a", "z"]
    assert model.score(X, labels) > 0.85
    assert ((model.decision_function(X) > 0) <= (model.predict(X) == "z")).all()


@pytest.mark.parametrize("make", [pd.Series, pd.Categorical, list], ids=["series", "categorical", "list"])
def test_fit_takes_string_labels_in_other_containers(make):
    X, y = make_integers()
    labels = np.array(["no", "yes"])[y]
    model = MPBoostClassifier(**SMALL).fit(X, make(labels))
    np.testing.assert_array_equal(model.predict(X), MPBoostClassifier(**SMALL).fit(X, labels).predict(X))
