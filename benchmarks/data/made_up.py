"""Tables of any size, made up on the spot."""

import numpy as np
from numpy.typing import NDArray


def make_table(n_rows: int, n_columns: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Make up a table of uniform numbers, and labels that depend on its first columns and on much noise.

    No temporary is as large as the table, so that a measurement of memory sees none.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns), dtype=np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    noise = rng.random(n_rows, dtype=np.float32)
    return X, np.where(signal + noise > 1.25, 1, -1).astype(np.int8)
