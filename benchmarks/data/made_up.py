"""Tables of any size, made up on the spot."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.split_set import SplitSet

#: Columns that carry signal in tables of noisy classes, and the share of labels that are drawn at random.
N_INFORMATIVE, FLIPPED = 12, 0.05


def make_table(n_rows: int, n_columns: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Make up a table of uniform numbers, and labels that depend on its first columns and on much noise.

    No temporary is as large as the table, so that a measurement of memory sees none.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns), dtype=np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    noise = rng.random(n_rows, dtype=np.float32)
    return X, np.where(signal + noise > 1.25, 1, -1).astype(np.int8)


def make_noisy_classes(name: str, n_train: int, n_columns: int, n_test: int, seed: int = 0) -> SplitSet:
    """Make up two classes by ``make_classification``: twelve informative columns, the others noise, 5 % flipped."""
    from sklearn.datasets import make_classification  # where used: workloads that need no scikit-learn import this

    X, y = make_classification(
        n_train + n_test,
        n_columns,
        n_informative=min(N_INFORMATIVE, n_columns),
        n_redundant=0,
        flip_y=FLIPPED,
        random_state=seed,
    )
    X = X.astype(np.float32)
    return SplitSet(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])
