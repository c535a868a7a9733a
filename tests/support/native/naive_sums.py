"""Sums over rows as the engine makes them: of pieces of rows, joined by a binary tree; and cuts of rows into parts."""

import itertools
import pickle

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mpboost import _native


def join_naively(sums: list) -> NDArray:
    """Join the sums of pieces by a binary tree over their numbers; one without a sibling goes up unchanged."""
    while len(sums) > 1:
        pairs = itertools.zip_longest(sums[::2], sums[1::2])
        sums = [left if right is None else left + right for left, right in pairs]
    return sums[0]


def sum_naively(is_right: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> float:
    """Add up weights one by one: those of 1024 rows at a time, then the sums as a tree; or count rows."""
    if weights is None:
        return float(is_right.sum())
    pieces = [np.where(is_right, weights, 0.0)[first : first + 1024] for first in range(0, len(weights), 1024)]
    return float(join_naively([np.cumsum(piece)[-1] for piece in pieces]))


def draw_cuts(n_rows: int):
    """Strategy: bounds of 1 to 7 parts of the rows, some of them empty, that begin at whole chunks."""
    n_chunks = -(-n_rows // _native.CHUNK_ROWS)
    cuts = st.lists(st.integers(0, n_chunks), max_size=6)
    return cuts.map(lambda some: [0, *(min(cut * _native.CHUNK_ROWS, n_rows) for cut in sorted(some)), n_rows])


def sum_parts(bounds: list[int], call, is_joined: bool):
    """Call a function that sums on parts of the rows, and return the sums of all.

    ``call`` is given a slice of the rows and ``sums``. With ``is_joined`` each part has sums of its own, as if on
    machines of their own, which are joined in the end; else the sums go from part to part.
    """
    total = _native.RowSums()
    parts = []
    for start, end in itertools.pairwise(bounds):
        if is_joined and start < end:
            parts.append(_native.RowSums(start))
        call(slice(start, end), parts[-1] if is_joined and start < end else total)
    for part in parts:
        total.append(pickle.loads(pickle.dumps(part)))
    return total.total()
