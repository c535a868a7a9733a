"""Columns over memory that someone else owns: the same results, no copy, no harm from wrong codes."""

import gc
import weakref

import numpy as np
import pytest

from mpboost import MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier, _native, learners
from tests.support.native.naive_tree import find_leaves, make_random_codes, make_random_splits, make_tree

N_ROWS, N_COLUMNS = 1000, 6
BLOCK = 128


def pad(codes, filler=0):
    """Lay codes out as a view has them: whole blocks of 128 rows."""
    n_rows = codes.shape[1]
    return np.pad(codes, [(0, 0), (0, -n_rows % BLOCK)], constant_values=filler)


def view(codes, n_rows=N_ROWS, n_bins=255, *, has_missing=True, is_checked=True):
    n_columns = len(codes)
    return _native.BinnedColumns.view(
        codes, n_rows, np.full(n_columns, n_bins), np.full(n_columns, has_missing), is_checked
    )


def view_of(columns):
    """Make a view of a copy of columns, read-only, with other bytes behind the last row."""
    codes = pad(columns.codes, filler=77)
    codes.flags.writeable = False
    features = range(columns.n_columns)
    n_bins = np.array([columns.n_bins(j) for j in features], dtype=np.int64)
    return _native.BinnedColumns.view(
        codes, columns.n_rows, n_bins, np.array([columns.has_missing(j) for j in features], dtype=bool)
    )


@pytest.fixture
def codes():
    return make_random_codes(np.random.default_rng(0), N_COLUMNS, N_ROWS)


@pytest.mark.parametrize("n_splits", [0, 40, 700])
@pytest.mark.parametrize("offset", [0, 1, 13])
def test_trees_find_the_same_leaves_at_any_address(kernels, threads, codes, n_splits, offset):
    padded = pad(codes, filler=200)
    memory = np.empty(padded.size + offset, dtype=np.uint8)
    memory[offset:] = padded.ravel()
    columns = view(memory[offset:].reshape(padded.shape))
    splits = make_random_splits(np.random.default_rng(n_splits), n_splits, N_COLUMNS)
    leaves = np.empty(N_ROWS, dtype=np.int32)
    make_tree(splits, np.ones(n_splits + 1), N_COLUMNS).apply_leaves(columns, leaves, threads)
    np.testing.assert_array_equal(leaves, find_leaves(splits, codes))


def test_view_of_a_mapped_file(tmp_path, threads, codes):
    pad(codes).tofile(tmp_path / "codes")
    mapped = np.memmap(tmp_path / "codes", dtype=np.uint8, mode="r").reshape(N_COLUMNS, -1)
    np.testing.assert_array_equal(view(mapped).codes, codes)


def test_view_copies_nothing_and_keeps_its_memory(codes):
    padded = pad(codes)
    columns, memory = view(padded), weakref.ref(padded)
    assert np.shares_memory(columns.codes, padded)
    del padded
    gc.collect()
    np.testing.assert_array_equal(columns.codes, codes)
    del columns
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize(
    "model",
    [
        MPBoostClassifier(n_estimators=20, random_state=0),
        MPBoostClassifier(n_estimators=20, random_state=0, importance="permutation"),
        MPBoostRegressor(n_estimators=20, random_state=0),
        MPGradientBoostingClassifier(n_estimators=20, random_state=0),
    ],
    ids=["votes", "permutation", "values", "gradients"],
)
def test_models_are_the_same_on_a_view(monkeypatch, cancer, model):
    X, y = cancer
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    expected, viewed = model.fit(X, y).predict(X), []

    def make_viewed_data(columns):
        viewed.append(view_of(columns))
        return make_binned_data(viewed[-1])

    make_binned_data = learners.trees.make_binned_data
    monkeypatch.setattr(learners.trees, "make_binned_data", make_viewed_data)
    importances = model.feature_importances_
    model.fit(X, y)
    assert viewed
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.feature_importances_, importances)


@pytest.mark.parametrize("n_bins", [1, 5, 64, 255])
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("is_categorical", [False, True])
def test_wrong_codes_do_no_harm(kernels, threads, codes, n_bins, has_missing, is_categorical):
    """All bytes occur, whatever the columns promise; the address sanitizer sees what is read and written."""
    columns = view(pad(codes), n_bins=n_bins, has_missing=has_missing, is_checked=False)
    rng = np.random.default_rng(0)
    rows, features = np.arange(0, N_ROWS, 2), np.arange(N_COLUMNS)
    flags = np.full(N_COLUMNS, is_categorical)
    signs = rng.choice([-1, 1], N_ROWS).astype(np.int8)
    classes = rng.integers(3, size=N_ROWS).astype(np.uint16)
    weights, ranks = rng.random(len(rows)) + 0.5, np.arange(3, dtype=np.uint16)
    grown = [
        _native.BinaryGrower(0, 1, 1.0).grow(columns, rows, features, signs, None, flags).tree,
        _native.BinaryGrower(0, 1, 1.0).grow(columns, rows, features, signs, weights, flags).tree,
        _native.ClassGrower(0, 1, ranks).grow(columns, rows, features, classes, None, flags).tree,
        _native.ValueGrower(0, 1).grow(columns, rows, features, rng.normal(size=N_ROWS), None, flags).tree,
    ]
    derivatives = rng.normal(size=len(rows)), np.ones(len(rows))
    grower = _native.GradientGrower(31, 0, 1, 1.0, 64)
    grown.append(grower.grow(columns, rows, features, *derivatives, 0, 0, flags).tree)
    _native.unseen_importances(grown[0], columns, rows, features, signs, rows + 1)
    _native.permutation_importances(grown[0], columns, rows, features, signs, 0, 0)
    out = np.empty(N_ROWS, dtype=np.int32)
    for tree in grown:
        tree.apply_leaves(columns, out, threads)
        assert out.min() >= 0
        assert out.max() < len(tree.leaf_values)


@pytest.mark.parametrize("n_bins", [1, 5, 64, 200])
def test_histograms_put_wrong_codes_into_the_last_bin(codes, n_bins):
    rng = np.random.default_rng(0)
    patch = np.arange(N_ROWS), np.arange(N_COLUMNS), rng.normal(size=N_ROWS), np.ones(N_ROWS), 0, 0
    right = np.where(codes == 255, codes, np.minimum(codes, n_bins - 1))
    grower = _native.GradientGrower(31, 0, 1, 1.0, 255)
    tree = grower.grow(view(pad(codes), n_bins=n_bins, is_checked=False), *patch).tree
    expected = grower.grow(view(pad(right), n_bins=n_bins), *patch).tree
    np.testing.assert_array_equal(tree.splits, expected.splits)
    np.testing.assert_array_equal(tree.leaf_values, expected.leaf_values)


@pytest.mark.parametrize(
    ("n_bins", "has_missing", "code", "is_right"),
    [
        (255, True, 255, True),
        (255, False, 255, False),
        (255, False, 254, True),
        (3, True, 2, True),
        (3, True, 3, False),
        (3, True, 254, False),
        (3, True, 255, True),
    ],
)
def test_codes_are_checked_where_rows_are(n_bins, has_missing, code, is_right):
    codes = np.zeros((2, 200), dtype=np.uint8)
    codes[1, 199] = code
    padded = pad(codes, filler=254)
    assert view(padded, 200, n_bins, has_missing=has_missing, is_checked=False).n_columns == 2
    if is_right:
        assert view(padded, 200, n_bins, has_missing=has_missing).n_rows == 200
    else:
        with pytest.raises(ValueError, match="codes beyond its bins"):
            view(padded, 200, n_bins, has_missing=has_missing)


@pytest.mark.parametrize(
    ("shape", "n_rows", "n_bins", "message"),
    [
        pytest.param((2, 256), 128, 3, "multiple of 128", id="long"),
        pytest.param((2, 128), 129, 3, "multiple of 128", id="short"),
        pytest.param((2, 200), 200, 3, "multiple of 128", id="not padded"),
        pytest.param((2, 128), -1, 3, "negative", id="negative"),
        pytest.param((2, 128), 128, 0, "numbers of bins", id="no bins"),
        pytest.param((2, 128), 128, 256, "numbers of bins", id="many bins"),
    ],
)
def test_view_rejects_wrong_arguments(shape, n_rows, n_bins, message):
    with pytest.raises(ValueError, match=message):
        view(np.zeros(shape, dtype=np.uint8), n_rows, n_bins)


def test_view_needs_facts_about_each_column():
    codes = np.zeros((2, 128), dtype=np.uint8)
    with pytest.raises(ValueError, match="number of bins for each"):
        _native.BinnedColumns.view(codes, 128, np.ones(1, dtype=np.int64), np.zeros(2, dtype=bool))
    with pytest.raises(ValueError, match="values are missing"):
        _native.BinnedColumns.view(codes, 128, np.ones(2, dtype=np.int64), np.zeros(1, dtype=bool))


@pytest.mark.parametrize(
    "codes",
    [
        pytest.param(np.zeros((2, 128), dtype=np.int8), id="other type"),
        pytest.param(np.zeros((2, 256), dtype=np.uint8)[:, ::2], id="strided"),
        pytest.param(np.zeros((128, 2), dtype=np.uint8).T, id="row by row"),
    ],
)
def test_view_never_copies_what_it_cannot_see(codes):
    with pytest.raises(TypeError):
        view(codes, 128)


def test_views_are_not_written_to(threads):
    columns = view(np.zeros((1, 128), dtype=np.uint8), 128)
    mapper = _native.BinMapper(np.array([0.5]), np.array([0, 1]))
    for some in (columns, columns.slice(0, 128), _native.BinnedColumns(128, 1).slice(0, 128)):
        with pytest.raises(ValueError, match="cannot be written"):
            mapper.encode(np.ones((128, 1)), some, 0, 0, threads)
        with pytest.raises(ValueError, match="cannot be written"):
            some.put(0, 0, np.ones(5, dtype=np.uint8), 3)
        assert not some.codes.any()


def own(codes):
    """Make columns that own a copy of codes."""
    columns = _native.BinnedColumns(codes.shape[1], len(codes))
    for j, column in enumerate(codes):
        columns.put(j, 0, column, 255)
    return columns


@pytest.fixture(params=["owned", "viewed", "sliced"])
def whole(request, codes):
    if request.param == "owned":
        return own(codes)
    if request.param == "viewed":
        return view(pad(codes))
    return view(pad(np.pad(codes, [(0, 0), (256, 100)]), filler=9), 1356).slice(256, N_ROWS)


@pytest.mark.parametrize(("first_row", "n_rows"), [(0, N_ROWS), (0, 0), (896, 104), (128, 700), (512, 1), (384, 128)])
def test_slice_has_some_rows_and_the_facts_of_all(whole, codes, first_row, n_rows):
    part = whole.slice(first_row, n_rows)
    assert (part.n_rows, part.n_columns) == (n_rows, N_COLUMNS)
    np.testing.assert_array_equal(part.codes, codes[:, first_row : first_row + n_rows])
    assert n_rows == 0 or np.shares_memory(part.codes, whole.codes)
    assert [part.n_bins(j) for j in range(N_COLUMNS)] == [whole.n_bins(j) for j in range(N_COLUMNS)]
    assert all(part.has_missing(j) for j in range(N_COLUMNS))


@pytest.mark.parametrize("n_splits", [0, 40, 700])
@pytest.mark.parametrize(("first_row", "n_rows"), [(0, 500), (128, 872), (256, 130), (640, 3)])
def test_trees_find_the_same_leaves_in_a_slice(kernels, threads, whole, codes, n_splits, first_row, n_rows):
    splits = make_random_splits(np.random.default_rng(n_splits), n_splits, N_COLUMNS)
    leaves = np.empty(n_rows, dtype=np.int32)
    tree = make_tree(splits, np.ones(n_splits + 1), N_COLUMNS)
    tree.apply_leaves(whole.slice(first_row, n_rows), leaves, threads)
    np.testing.assert_array_equal(leaves, find_leaves(splits, codes[:, first_row : first_row + n_rows]))


def test_growers_grow_the_same_trees_on_a_slice(kernels, whole, codes):
    """The sizes of minipatches and of the columns make all kernels read up to the end of a slice."""
    rng = np.random.default_rng(0)
    first_row, n_rows = 256, 744
    part, copied = whole.slice(first_row, n_rows), own(np.ascontiguousarray(codes[:, first_row:]))
    patch = np.arange(0, n_rows, 2), np.arange(N_COLUMNS)
    signs = rng.choice([-1, 1], n_rows).astype(np.int8)
    numbers, gradients = rng.normal(size=n_rows), rng.normal(size=n_rows // 2)
    hessians, ranks = np.ones(n_rows // 2), np.arange(2, dtype=np.uint16)
    for grow in (
        lambda columns: _native.BinaryGrower(0, 1, 1.0).grow(columns, *patch, signs),
        lambda columns: _native.ClassGrower(0, 1, ranks).grow(columns, *patch, (signs > 0).astype(np.uint16)),
        lambda columns: _native.ValueGrower(0, 1).grow(columns, *patch, numbers),
        lambda columns: _native.GradientGrower(31, 0, 1, 1.0, 64).grow(columns, *patch, gradients, hessians, 0, 0),
    ):
        tree, expected = grow(part).tree, grow(copied).tree
        np.testing.assert_array_equal(tree.splits, expected.splits)
        np.testing.assert_array_equal(tree.leaf_values, expected.leaf_values)


def test_slice_keeps_what_it_is_a_view_of(codes):
    padded = pad(codes)
    memory = weakref.ref(padded)
    part = view(padded).slice(128, 500).slice(128, 200)
    del padded
    gc.collect()
    np.testing.assert_array_equal(part.codes, codes[:, 256:456])
    owned = own(codes).slice(128, 200)
    gc.collect()
    np.testing.assert_array_equal(owned.codes, codes[:, 128:328])
    del part
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize(
    ("first_row", "n_rows", "message"),
    [
        (1, 10, "multiple of 128"),
        (-128, 10, "beyond"),
        (0, -1, "beyond"),
        (0, N_ROWS + 1, "beyond"),
        (128, N_ROWS - 127, "beyond"),
        (1024, 0, "beyond"),
        (2**62, 2**62, "beyond"),
    ],
)
def test_slice_rejects_wrong_rows(whole, first_row, n_rows, message):
    with pytest.raises(ValueError, match=message):
        whole.slice(first_row, n_rows)
