"""Thresholds in float32, and numbers in parts that float32 adds up exactly."""

import numpy as np
import pytest

from mpboost.export.description import LeafSums
from mpboost.export.onnx_trees import N_PARTS, part_weights, round_down

THRESHOLDS = np.concatenate(
    [
        np.random.default_rng(0).normal(size=1000),
        10.0 ** np.random.default_rng(1).uniform(-50, 50, size=1000),
        -(10.0 ** np.random.default_rng(2).uniform(-50, 50, size=1000)),
        [0.0, -0.0, np.inf, -np.inf, 1e300, -1e300, 5e-324, -5e-324, 0.5, 2.0**24 + 1],
    ]
)


@pytest.mark.filterwarnings("ignore:overflow")
def test_round_down_keeps_float32_rows_on_their_side():
    nearest = THRESHOLDS.astype(np.float32)
    below, above = (np.nextafter(nearest, np.float32(limit)) for limit in (-np.inf, np.inf))
    rounded = round_down(THRESHOLDS)
    for values in (nearest, below, above, np.full(len(nearest), np.inf, np.float32)):
        np.testing.assert_array_equal(values <= rounded, values.astype(np.float64) <= THRESHOLDS)


def test_round_down_gives_float32_numbers():
    rounded = round_down(THRESHOLDS)
    np.testing.assert_array_equal(rounded.astype(np.float32), rounded)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e30])
def test_part_weights_add_up_exactly_in_float32(scale):
    n_trees, n_leaves = 700, 5
    weights = scale * np.random.default_rng(0).normal(size=n_trees * n_leaves)
    leaves = np.arange(len(weights))
    parted = part_weights(LeafSums(1, leaves, np.zeros_like(leaves), weights), n_trees)
    parts = parted.weights.reshape(-1, N_PARTS)
    np.testing.assert_array_equal(parts.sum(axis=1), weights)
    # The first leaf of each tree is a row: float32 adds all parts but the last one without an error, in any order.
    exact, single = parts[::n_leaves].sum(axis=0), parts[::n_leaves].astype(np.float32)
    for order in (slice(None), slice(None, None, -1)):
        totals = np.cumsum(single[order], axis=0, dtype=np.float32)[-1]
        np.testing.assert_array_equal(totals[:-1], exact[:-1])
        assert abs(totals.astype(np.float64).sum() - exact.sum()) < 1e-13 * np.abs(weights).max()


def test_part_weights_takes_zeros():
    parted = part_weights(LeafSums(1, np.arange(2), np.zeros(2, int), np.zeros(2)), 1)
    np.testing.assert_array_equal(parted.weights, np.zeros(2 * N_PARTS))
