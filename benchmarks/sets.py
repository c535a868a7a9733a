"""The data sets in the form in which they are learned, and how they are split."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Problem, load_arrays

Table = NDArray[Any]

#: Columns of Adult that hold codes of categories.
CATEGORICAL = (1, 3, 5, 6, 7, 8, 9, 13)


@dataclass(frozen=True)
class DataSet:
    """A file, what is learned from it, how its columns are mended, and which of them hold codes of categories.

    ``label`` turns the labels of the file into those that are learned; -1 leaves a row out.
    """

    file: str
    label: Callable[[Table], Table] = lambda y: y
    mend: Callable[[Table], Table] = lambda X: X
    categorical: tuple[int, ...] = ()


TWO_CLASSES = {
    "adult": DataSet("adult", categorical=CATEGORICAL),
    "magic": DataSet("magic"),
    "spambase": DataSet("spambase"),
    "jasmine": DataSet("jasmine"),
    "dna, 2 or not": DataSet("dna", lambda y: (y == 2).astype(int)),
    "madelon": DataSet("madelon"),
    "higgs": DataSet("higgs_kaggle_22889", mend=lambda X: np.where(X == -999, np.nan, X)),
    "relathe": DataSet("relathe"),
    "hill-valley": DataSet("hill_valley", mend=lambda X: X / X.max(axis=1, keepdims=True)),
    "gas drift, < 3": DataSet("gas_drift_partial", lambda y: (y < 3).astype(int)),
    "MNIST 3 vs 8": DataSet("mnist", lambda y: np.select([y == 3, y == 8], [0, 1], -1)),
    "MNIST odd/even": DataSet("mnist", lambda y: y % 2),
    "CIFAR truck/car": DataSet("cifar10_truck_car"),
    "covertype, 1 or not": DataSet("covertype", lambda y: (y == 1).astype(int)),
}
MANY_CLASSES = {
    "letter": DataSet("letter"),
    "MNIST": DataSet("mnist"),
    "dna": DataSet("dna"),
    "gas drift": DataSet("gas_drift_partial"),
}
REGRESSION = {
    "california housing": DataSet("california_housing"),
    "bike sharing": DataSet("bike_sharing"),
    "cpu act": DataSet("cpu_act"),
}
SETS = {**TWO_CLASSES, **MANY_CLASSES, **REGRESSION}


def load_set(name: str) -> dict[str, Table]:
    """Load the arrays of a set in its form: X and y, or X_train, y_train, X_test and y_test."""
    data, arrays = SETS[name], load_arrays(SETS[name].file)
    loaded = {}
    for part in [""] if "X" in arrays else ["_train", "_test"]:
        y = data.label(arrays[f"y{part}"])
        kept = y != -1
        loaded[f"X{part}"], loaded[f"y{part}"] = data.mend(arrays[f"X{part}"][kept]), y[kept]
    return loaded


def split(name: str, arrays: dict[str, Table], seed: int, n_rows: int | None = None) -> Problem:
    """Split as is official, or else at random with four fifths to learn from; keep at most so many rows of each."""
    if "X" in arrays:
        order = np.random.default_rng(seed).permutation(len(arrays["X"]))
        train, test = np.split(order, [int(0.8 * len(order))])
        parts = [(arrays["X"], arrays["y"], rows) for rows in (train, test)]
    else:
        parts = [(arrays[f"X_{part}"], arrays[f"y_{part}"], slice(None)) for part in ("train", "test")]
    (X_train, y_train), (X_test, y_test) = ((X[rows][:n_rows], y[rows][:n_rows]) for X, y, rows in parts)
    return Problem(name, X_train, y_train, X_test, y_test)


def hold_out(problem: Problem, seed: int, n_rows: int) -> Problem:
    """Split the rows to learn from once more, so that choices are made without the test rows; cap both parts."""
    order = np.random.default_rng([seed, 1]).permutation(len(problem.y_train))
    train, held_out = (rows[:n_rows] for rows in np.split(order, [int(0.8 * len(order))]))
    X, y = problem.X_train, problem.y_train
    return Problem(problem.name, X[train], y[train], X[held_out], y[held_out])
