"""From tables to codes: every type and layout, and `code <= b` exactly where `value <= edges[b]`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mpboost import _native
from tests.support.native.naive_binning import (
    DTYPES,
    INTEGERS,
    LAYOUTS,
    MISSING,
    assert_codes_are_exact,
    edges_of,
    find_edges,
    make_table,
)


@pytest.mark.parametrize("max_bins", [7, 255])
@pytest.mark.parametrize("lay_out", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", DTYPES)
def test_binning_reads_every_type_and_layout(kernels, threads, dtype, lay_out, max_bins):
    table = lay_out(make_table(dtype, 700, 19))
    mapper = _native.BinMapper.fit(table, max_bins, threads)
    plain = _native.BinMapper.fit(np.array(table, order="C"), max_bins, threads)
    np.testing.assert_array_equal(mapper.edges, plain.edges)
    np.testing.assert_array_equal(mapper.offsets, plain.offsets)
    columns = mapper.transform(table, threads)
    assert (columns.n_rows, columns.n_columns) == table.shape
    assert_codes_are_exact(mapper, table, columns.codes)


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 127, 128, 129, 1023, 1025])
def test_binning_codes_every_row_of_odd_blocks(threads, n_rows):
    table = make_table("float32", n_rows, 17)
    mapper = _native.BinMapper.fit(table, 50, threads)
    assert_codes_are_exact(mapper, table, mapper.transform(table, threads).codes)


@pytest.mark.parametrize("n_distinct", [1, 2, 3, 100])
@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
def test_binning_gives_each_of_few_values_its_bin(threads, dtype, n_distinct):
    rng = np.random.default_rng(1)
    distinct = np.sort(rng.choice(120, n_distinct, replace=False)).astype(dtype)
    ranks = np.concatenate([np.arange(n_distinct), rng.integers(n_distinct, size=500)])
    mapper = _native.BinMapper.fit(distinct[ranks][:, None], 100, threads)
    assert len(mapper.edges) == n_distinct - 1
    np.testing.assert_array_equal(mapper.transform(distinct[ranks][:, None], threads).codes[0], ranks)


def test_binning_puts_edges_half_way(threads):
    table = np.array([[0.0], [1.0], [4.0], [4.0], [np.nan]])
    assert _native.BinMapper.fit(table, 255, threads).edges.tolist() == [0.5, 2.5]


@pytest.mark.parametrize(("n_distinct", "n_bins"), [(254, 254), (255, 255), (256, 255), (300, 255)])
def test_binning_uses_255_bins_at_most(threads, n_distinct, n_bins):
    table = np.random.default_rng(0).permutation(np.arange(float(n_distinct)))[:, None]
    mapper = _native.BinMapper.fit(table, 255, threads)
    codes = mapper.transform(table, threads).codes[0]
    assert len(np.unique(codes)) == n_bins
    assert codes.max() == n_bins - 1


@pytest.mark.parametrize("max_bins", [2, 10, 200, 255])
def test_binning_balances_many_values(threads, max_bins):
    table = np.random.default_rng(0).lognormal(sigma=3.0, size=(20_000, 1))
    codes = _native.BinMapper.fit(table, max_bins, threads).transform(table, threads).codes[0]
    counts = np.bincount(codes)
    assert len(counts) == max_bins
    np.testing.assert_allclose(counts, len(table) / max_bins, rtol=0.02)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_binning_balances_around_frequent_values(threads, dtype):
    # Half of the rows are zero: they fill a bin of their own and the others share the rest.
    rng = np.random.default_rng(0)
    values = np.where(rng.random(20_000) < 0.5, 0, rng.integers(1, 10_000, size=20_000))
    table = values.astype(dtype)[:, None]
    codes = _native.BinMapper.fit(table, 20, threads).transform(table, threads).codes[0]
    counts = np.bincount(codes)
    assert len(counts) <= 20
    assert codes[values == 0].max() == 0
    assert codes[values > 0].min() == 1
    assert counts[1:].max() <= 2 * len(values) / 20


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binning_codes_missing_values_as_255(threads, dtype):
    table = np.array([[np.nan, 1.0, np.nan], [2.0, np.nan, np.nan], [-np.nan, 3.0, np.nan]], dtype=dtype)
    mapper = _native.BinMapper.fit(table, 255, threads)
    codes = mapper.transform(table, threads).codes
    assert codes.tolist() == [[255, 0, 255], [0, 255, 1], [255, 255, 255]]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("max_bins", [2, 5, 255])
@given(data=st.data())
def test_binning_agrees_with_edges_on_any_numbers(threads, dtype, max_bins, data):
    width = np.dtype(dtype).itemsize * 8
    numbers = st.floats(allow_nan=False, width=width)
    fitted = data.draw(npst.arrays(dtype, st.integers(1, 40), elements=numbers))
    assert_binned_exactly(threads, fitted, max_bins)


@pytest.mark.parametrize(
    "fitted",
    [
        pytest.param([-1e308, 1e308], id="huge"),
        pytest.param([-np.finfo(float).max, 0.0, np.finfo(float).max], id="largest"),
        pytest.param([0.0, 5e-324, 1e-323, 1.5e-323, 2e-323], id="denormal"),
        pytest.param([-5e-324, -0.0, 0.0, 5e-324], id="signs of zero"),
        pytest.param(np.nextafter(1.0, [0.0, 1.0, 2.0]), id="neighbours of 1"),
        pytest.param(1e308 + np.spacing(1e308) * np.arange(20), id="huge neighbours"),
        pytest.param(0.5 + np.spacing(np.float32(0.5)) * np.arange(8.0), id="float32 neighbours"),
        pytest.param([-np.inf, -1.0, 1.0, np.inf], id="infinite"),
        pytest.param([-np.inf, np.inf], id="both infinities"),
        pytest.param([np.finfo(float).max, np.inf], id="largest and infinite"),
        pytest.param([-np.inf] * 7 + [*range(9)] + [np.inf] * 5, id="often infinite"),
    ],
)
@pytest.mark.parametrize("max_bins", [2, 3, 255])
def test_binning_agrees_with_edges_on_extreme_numbers(kernels, threads, fitted, max_bins):
    assert_binned_exactly(threads, np.asarray(fitted, dtype=np.float64), max_bins)


def assert_binned_exactly(threads, fitted, max_bins):
    """Check codes of the fitted numbers, of the edges and of the neighbours of both in either precision."""
    mapper = _native.BinMapper.fit(fitted[:, None], max_bins, threads)
    edges = mapper.edges
    np.testing.assert_array_equal(edges, find_edges(fitted, max_bins))
    assert (edges[:-1] < edges[1:]).all()
    assert (edges < np.inf).all()
    assert len(edges) < max_bins
    if len(np.unique(fitted)) <= max_bins:
        assert len(edges) == len(np.unique(fitted)) - 1
    probes = np.concatenate([fitted.astype(np.float64), edges, [0.0, np.inf, -np.inf]])
    with np.errstate(all="ignore"):
        probes = np.concatenate([probes, np.nextafter(probes, np.inf), np.nextafter(probes, -np.inf)])
        singles = probes.astype(np.float32)
        singles = np.concatenate(
            [singles, np.nextafter(singles, np.float32(np.inf)), np.nextafter(singles, np.float32(-np.inf))]
        )
    # Many values are looked up in another way than few.
    for values in (probes, singles, np.resize(probes, 1000), np.resize(singles, 1000)):
        codes = mapper.transform(values[:, None], threads).codes[0]
        np.testing.assert_array_equal(
            codes[:, None] <= np.arange(len(edges)), values.astype(np.float64)[:, None] <= edges
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binning_parts_infinities_from_all_finite_numbers(threads, dtype):
    mapper = _native.BinMapper.fit(np.array([[-np.inf], [0.0], [np.inf]], dtype=dtype), 255, threads)
    largest = np.finfo(np.float64).max
    table = np.array([-np.inf, -largest, 0.0, largest, np.inf, np.nan])[:, None]
    assert mapper.transform(table, threads).codes[0].tolist() == [0, 1, 1, 1, 2, MISSING]


@pytest.mark.parametrize("max_bins", [2, 9, 100])
def test_binning_finds_the_edges_of_many_values(threads, max_bins):
    rng = np.random.default_rng(max_bins)
    values = rng.choice([-np.inf, np.inf, 0.0, -0.0, 1.0], 5000)
    values[::3] = rng.lognormal(sigma=3.0, size=len(values[::3]))
    mapper = _native.BinMapper.fit(values[:, None], max_bins, threads)
    np.testing.assert_array_equal(mapper.edges, find_edges(values, max_bins))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("max_bins", [3, 255])
def test_binning_finds_the_edges_of_sparse_tables(threads, max_bins, order):
    rng = np.random.default_rng(max_bins)
    table = np.zeros((700, 50), dtype=np.float32, order=order)
    cells = tuple(rng.integers(size, size=400) for size in table.shape)  # most rows have none in 16 columns
    table[cells] = rng.choice([-0.0, np.nan, -2.0, 1.0, 2.0, 3.0], 400)
    mapper = _native.BinMapper.fit(table, max_bins, threads)
    for j in range(table.shape[1]):
        np.testing.assert_array_equal(edges_of(mapper, j), find_edges(table[:, j], max_bins))


@pytest.mark.parametrize("max_bins", [7, 254])
@pytest.mark.parametrize("dtype", DTYPES)
def test_binning_finds_the_edges_of_every_type(threads, dtype, max_bins):
    table = make_table(dtype, 900, 35)
    table[::3, 1:] = 0
    table[1::3, 2:] = table[1, 0]
    rows = np.arange(0, len(table), 2)
    mapper = _native.BinMapper.fit(table, max_bins, threads, rows)
    for j in range(table.shape[1]):
        np.testing.assert_array_equal(edges_of(mapper, j), find_edges(table[rows, j], max_bins))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_binning_treats_large_integers_as_doubles(threads, dtype):
    limits = np.iinfo(dtype)
    table = np.array([limits.min, 0, 2**53, 2**53 + 1, 2**53 + 2, limits.max - 1, limits.max], dtype=dtype)[:, None]
    mapper = _native.BinMapper.fit(table, 255, threads)
    np.testing.assert_array_equal(mapper.edges, find_edges(table[:, 0], 255))
    assert_codes_are_exact(mapper, table, mapper.transform(table, threads).codes)


def test_binning_keeps_bytes(threads):
    rng = np.random.default_rng(0)
    maxima = np.array([0, 1, 7, 128, 253, 254, 255])
    table = rng.integers(0, maxima, size=(500, 7), endpoint=True).astype(np.uint8)
    table[0] = maxima
    mapper = _native.BinMapper.fit(table, 255, threads)
    np.testing.assert_array_equal(mapper.transform(table, threads).codes, np.minimum(table, 254).T)
    beyond = rng.integers(256, size=(500, 7), dtype=np.uint8)
    expected = np.minimum(np.minimum(beyond, maxima), 254)
    np.testing.assert_array_equal(mapper.transform(beyond, threads).codes, expected.T)


def test_binning_keeps_bytes_of_all_rows(threads):
    # The largest value is in a row that is not among those that other bins are computed from.
    table = np.zeros((203, 2), dtype=np.uint8)
    table[-1] = [9, 200]
    assert np.diff(_native.BinMapper.fit(table, 255, threads, np.arange(200)).offsets).tolist() == [9, 200]


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_binning_codes_bytes_and_other_types_alike(threads, dtype):
    table = np.random.default_rng(0).integers(256, size=(300, 3), dtype=np.uint8)
    mapper = _native.BinMapper.fit(table, 255, threads)
    np.testing.assert_array_equal(
        mapper.transform(table, threads).codes, mapper.transform(table.astype(dtype), threads).codes
    )


@pytest.mark.parametrize(
    "fitted",
    [
        pytest.param([0.0, 1.0, 2.0, 3.0], id="edges between bytes"),
        pytest.param([0.4, 0.6, 0.8, 4.2], id="edges 0.5 0.7 2.5"),
        pytest.param([-1.1, 2.1, 2.3, 2.7], id="edges 0.5 2.2 2.5"),
    ],
)
def test_binning_codes_bytes_by_the_edges_of_floats(threads, fitted):
    mapper = _native.BinMapper.fit(np.array(fitted)[:, None], 255, threads)
    table = np.arange(6, dtype=np.uint8)[:, None]
    assert_codes_are_exact(mapper, table, mapper.transform(table, threads).codes)


@pytest.mark.parametrize("dtype", DTYPES)
def test_binning_gives_constant_columns_one_bin(threads, dtype):
    table = np.ones((100, 2), dtype=dtype)
    mapper = _native.BinMapper.fit(table, 254, threads)
    assert len(mapper.edges) == 0
    assert not mapper.transform(table, threads).codes.any()


def test_binning_codes_values_beyond_the_fitted_ones(threads):
    mapper = _native.BinMapper.fit(np.arange(10.0)[:, None], 255, threads)
    table = np.array([-np.inf, -1e308, -1.0, 9.5, 1e308, np.inf, np.nan])[:, None]
    assert mapper.transform(table, threads).codes[0].tolist() == [0, 0, 0, 9, 9, 9, MISSING]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("lay_out", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", DTYPES)
def test_binning_of_given_rows_is_that_of_their_table(dtype, lay_out, n_threads):
    threads = _native.Threads(n_threads)
    table = lay_out(make_table(dtype, 700, 5))
    rows = np.flatnonzero(np.random.default_rng(0).random(700) < 0.4)
    for chosen in (rows, rows[:1], np.arange(700)):
        mapper = _native.BinMapper.fit(table, 50, threads, chosen)
        expected = _native.BinMapper.fit(np.ascontiguousarray(table[chosen]), 50, threads)
        np.testing.assert_array_equal(mapper.offsets, expected.offsets)
        np.testing.assert_array_equal(mapper.edges, expected.edges)


def test_binning_of_no_rows_has_one_bin(threads):
    assert len(_native.BinMapper.fit(np.arange(9.0)[:, None], 50, threads, np.empty(0, dtype=np.int64)).edges) == 0


@pytest.mark.parametrize("rows", [[-1], [0, 4], [1, 1], [2, 1], [2**62]])
def test_binning_rejects_wrong_rows(threads, rows):
    for table in (np.ones((4, 2)), np.ones((4, 2), dtype=np.uint8)):
        with pytest.raises(ValueError, match="rows must ascend"):
            _native.BinMapper.fit(table, 255, threads, np.array(rows))


def test_binning_balances_all_rows_by_a_sample(threads):
    # Sorted rows: a sample that left out a stretch of them would leave a gap between the edges.
    n_rows = 450_000
    table = np.arange(n_rows, dtype=np.float64)[:, None]
    mapper = _native.BinMapper.fit(table, 100, threads, _native.sample_rows(0, n_rows, n_rows))
    counts = np.bincount(mapper.transform(table, threads).codes[0])
    assert len(counts) == 100
    np.testing.assert_allclose(counts, n_rows / 100, rtol=0.1)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
@pytest.mark.parametrize("n_threads", [2, 4])
def test_binning_is_the_same_for_any_number_of_threads(threads, dtype, n_threads):
    table = make_table(dtype, 10_007, 37)
    several = _native.Threads(n_threads)
    mapper, mapper_of_several = (_native.BinMapper.fit(table, 255, t) for t in (threads, several))
    np.testing.assert_array_equal(mapper.edges, mapper_of_several.edges)
    np.testing.assert_array_equal(mapper.offsets, mapper_of_several.offsets)
    np.testing.assert_array_equal(mapper.transform(table, threads).codes, mapper.transform(table, several).codes)


def test_binning_same_for_threads_on_wide_bytes(threads):
    # Maxima of bytes are shared out by columns, 1024 at a time.
    table = np.random.default_rng(0).integers(200, size=(30, 5000), dtype=np.uint8)
    mapper, mapper_of_several = (_native.BinMapper.fit(table, 255, t) for t in (threads, _native.Threads(3)))
    np.testing.assert_array_equal(np.diff(mapper.offsets), table.max(axis=0))
    np.testing.assert_array_equal(mapper.edges, mapper_of_several.edges)


def test_mapper_round_trips_through_its_arrays(threads):
    table = make_table("float64", 1000, 5)
    mapper = _native.BinMapper.fit(table, 40, threads)
    again = _native.BinMapper(mapper.edges, mapper.offsets)
    assert again.n_features == 5
    np.testing.assert_array_equal(again.transform(table, threads).codes, mapper.transform(table, threads).codes)


@pytest.mark.parametrize(
    ("edges", "offsets"),
    [
        pytest.param([], [], id="no offsets"),
        pytest.param([1.0], [0], id="edges without a feature"),
        pytest.param([1.0, 2.0], [1, 2], id="offsets start late"),
        pytest.param([1.0, 2.0], [0, 1], id="offsets end early"),
        pytest.param([1.0, 2.0], [0, 3], id="offsets end late"),
        pytest.param([1.0, 2.0], [0, 3, 2], id="offsets descend"),
        pytest.param([1.0, 2.0], [0, -1, 2], id="negative offset"),
        pytest.param([1.0, 2.0], [0, 2**62, 2], id="huge offset"),
        pytest.param(range(255), [0, 255], id="255 edges"),
        pytest.param([2.0, 1.0], [0, 2], id="edges descend"),
        pytest.param([np.nan], [0, 1], id="edge is not a number"),
        pytest.param([1.0, np.inf], [0, 2], id="edge is infinite"),
    ],
)
def test_mapper_rejects_wrong_arrays(edges, offsets):
    with pytest.raises(ValueError, match="edges"):
        _native.BinMapper(np.array(edges, dtype=np.float64), np.array(offsets, dtype=np.int64))


def test_mapper_takes_254_edges_and_features_without_any(threads):
    mapper = _native.BinMapper(np.arange(254.0), np.array([0, 0, 254, 254]))
    assert mapper.transform(np.full((1, 3), 1000.0), threads).codes.ravel().tolist() == [0, 254, 0]


@pytest.mark.parametrize("n_columns", [0, 1, 3])
def test_mapper_rejects_another_number_of_columns(threads, n_columns):
    mapper = _native.BinMapper.fit(np.ones((4, 2)), 255, threads)
    with pytest.raises(ValueError, match="number of columns"):
        mapper.transform(np.ones((4, n_columns)), threads)


@pytest.mark.parametrize("max_bins", [-1, 0, 1, 256, 2**31 - 1])
def test_mapper_rejects_wrong_numbers_of_bins(threads, max_bins):
    with pytest.raises(ValueError, match="max_bins"):
        _native.BinMapper.fit(np.ones((4, 2)), max_bins, threads)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(np.ones((2, 2), dtype=np.float16), id="float16"),
        pytest.param(np.ones((2, 2), dtype=np.complex128), id="complex"),
        pytest.param(np.ones((2, 2), dtype=">f8"), id="foreign byte order"),
        pytest.param(np.array([["a"]]), id="text"),
        pytest.param(np.array([[object()]]), id="objects"),
        pytest.param(np.ones(4), id="one dimension"),
        pytest.param(np.ones((2, 2, 2)), id="three dimensions"),
        pytest.param(None, id="nothing"),
    ],
)
def test_mapper_rejects_other_tables(threads, table):
    with pytest.raises(TypeError):
        _native.BinMapper.fit(table, 255, threads)


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_binning_takes_empty_tables(threads, dtype, shape):
    table = np.empty(shape, dtype=dtype)
    columns = _native.BinMapper.fit(table, 255, threads).transform(table, threads)
    assert columns.codes.shape == shape[::-1]


def test_codes_are_read_only(threads):
    table = np.ones((4, 2))
    codes = _native.BinMapper.fit(table, 255, threads).transform(table, threads).codes
    with pytest.raises(ValueError, match="read-only"):
        codes[0, 0] = 1
