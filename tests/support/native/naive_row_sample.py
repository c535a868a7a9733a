"""Samples of rows in plain Python."""

import numpy as np

from .naive_race import MASK, STEP, mix

PURPOSE = 3


def draw_53_bits(row: int) -> int:
    """Draw the number that decides about a row."""

    def mix_one(z: int) -> int:
        return int(mix(np.array([z & MASK], dtype=np.uint64))[0])

    state = mix_one(mix_one(mix_one(STEP) + STEP) + PURPOSE)
    return mix_one(state + (row + 1) * STEP) >> 11


def sample_naively(first_row: int, n_rows: int, n_total: int, max_rows: int) -> list[int]:
    """List the rows of a range that are in the sample of a table."""
    rows = range(first_row, first_row + n_rows)
    return [row for row in rows if n_total <= max_rows or draw_53_bits(row) * n_total < max_rows * 2**53]
