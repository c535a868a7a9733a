"""Data to measure on: real sets from a folder, and tables made up on the spot."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PROJECT = Path(__file__).resolve().parent.parent


class DataNotFoundError(Exception):
    """A data set is not where it was looked for; the message says what to do."""


@dataclass(frozen=True)
class Problem:
    """Rows to learn from and rows to be judged by."""

    name: str
    X_train: NDArray[Any]
    y_train: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]


def data_folder() -> Path:
    """Find the folder of the data sets: ``MPBOOST_DATA``, or ``../shared/data`` from the project's root."""
    return Path(os.environ.get("MPBOOST_DATA", PROJECT.parent / "shared" / "data"))


def find_file(name: str) -> Path:
    """Find the file of a data set, which must be there."""
    path = data_folder() / f"{name}.npz"
    if not path.is_file():
        raise DataNotFoundError(
            f"There is no {path}. Set the environment variable MPBOOST_DATA to the folder that holds {path.name}, "
            "a file of numpy.savez with the arrays X and y, or X_train, y_train, X_test and y_test."
        )
    return path


def load_arrays(name: str) -> dict[str, NDArray[Any]]:
    """Load all arrays of a data set: X and y, or X_train, y_train, X_test and y_test where a split is official."""
    with np.load(find_file(name), allow_pickle=False) as arrays:
        return dict(arrays)


def mnist_3_vs_8() -> Problem:
    """Load the paper's case study: handwritten digits, 3 (-1) against 8 (+1), 784 pixels."""
    arrays = load_arrays("mnist")
    X_train, y_train = _pick_digits(arrays["X_train"], arrays["y_train"], negative=3, positive=8)
    X_test, y_test = _pick_digits(arrays["X_test"], arrays["y_test"], negative=3, positive=8)
    return Problem("MNIST 3 vs 8", X_train, y_train, X_test, y_test)


def make_table(n_rows: int, n_columns: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Make up a table of uniform numbers, and labels that depend on its first columns and on much noise.

    No temporary is as large as the table, so that a measurement of memory sees none.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns), dtype=np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    noise = rng.random(n_rows, dtype=np.float32)
    return X, np.where(signal + noise > 1.25, 1, -1).astype(np.int8)


def _pick_digits(
    X: NDArray[np.uint8], digits: NDArray[np.uint8], *, negative: int, positive: int
) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    kept = np.isin(digits, (negative, positive))
    return X[kept], np.where(digits[kept] == positive, 1, -1).astype(np.int8)
