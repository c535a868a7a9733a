"""Reads the splits of native trees as records."""

import numpy as np
from numpy.typing import NDArray

from mpboost import _native

#: Memory layout of a split; see native/include/mpboost/tree.hpp.
SPLIT_DTYPE = np.dtype(
    [
        ("feature", "<i4"),
        ("left", "<i4"),
        ("right", "<i4"),
        ("categories", "<i4"),
        ("bin", "u1"),
        ("missing_left", "u1"),
        ("reserved", "<u2"),
    ]
)


def read_splits(tree: _native.Tree) -> NDArray[np.void]:
    """Read the splits of a tree as an array of records."""
    return np.frombuffer(tree.splits.tobytes(), dtype=SPLIT_DTYPE)
