"""Binning in plain NumPy, and tables of every type and layout to try it on."""

import numpy as np

from ..helpers import make_read_only

MISSING = 255
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, "float32", "float64"]


def make_table(dtype: str, n_rows: int, n_columns: int, seed: int = 0):
    """Make random numbers over the range of a type; floats with missing ones."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random((n_rows, n_columns)) < 0.3
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, size=(n_rows, n_columns), dtype=dtype, endpoint=True)
    table = rng.normal(size=(n_rows, n_columns)).astype(dtype)
    table[rng.random(table.shape) < 0.1] = np.nan
    return table


def lay_out_in_gaps(table):
    wide = np.zeros((3 * table.shape[0], 2 * table.shape[1]), dtype=table.dtype)
    wide[::3, ::2] = table
    return wide[::3, ::2]


LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": lay_out_in_gaps,
    "rows backwards": lambda table: np.ascontiguousarray(table[::-1])[::-1],
    "columns backwards": lambda table: np.ascontiguousarray(table[:, ::-1])[:, ::-1],
    "read-only": make_read_only,
    "one row for all": lambda table: np.broadcast_to(table[:1], table.shape),
}


def edges_of(mapper, feature=0):
    return mapper.edges[mapper.offsets[feature] : mapper.offsets[feature + 1]]


def find_codes(values, edges):
    """Count the edges below each value."""
    values = np.asarray(values).astype(np.float64)
    return np.where(np.isnan(values), MISSING, np.sum(edges < values[:, None], axis=1))


def assert_codes_are_exact(mapper, table, codes):
    for j in range(table.shape[1]):
        np.testing.assert_array_equal(codes[j], find_codes(table[:, j], edges_of(mapper, j)))


def find_midpoint(low, high):
    """Find a number in [low, high), half-way where it can be; an infinity is parted from all finite numbers."""
    if high == np.inf:
        return 0.0 if low == -np.inf else np.finfo(np.float64).max
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def find_edges(values, max_bins):
    """Find the edges of a column."""
    values = np.asarray(values).astype(np.float64) + 0.0
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    changes = np.cumsum(counts)[:-1]
    if len(distinct) > max_bins:
        shares = np.arange(1, max_bins) * counts.sum() // max_bins
        places = np.unique(np.searchsorted(changes, shares))
        places = places[places < len(changes)]
    else:
        places = range(len(changes))
    return np.array([find_midpoint(distinct[place], distinct[place + 1]) for place in places])
