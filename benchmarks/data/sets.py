"""The data sets in the form in which they are learned, and how they are split."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.files import load_arrays
from benchmarks.data.split_set import SplitSet

Table = NDArray[Any]

#: Columns of Adult that hold codes of categories.
CATEGORICAL = (1, 3, 5, 6, 7, 8, 9, 13)


@dataclass(frozen=True)
class DataSet:
    """A file, what is learned from it, how its columns are mended, and which of them hold codes of categories.

    ``label`` turns the labels of the file into those that are learned; -1 leaves a row out. ``n_train`` rows are for
    learning where there is no official split, by default four fifths. ``is_regression`` tells that numbers are learned.
    """

    file: str
    label: Callable[[Table], Table] = lambda y: y
    mend: Callable[[Table], Table] = lambda X: X
    categorical: tuple[int, ...] = ()
    n_train: int | None = None
    is_regression: bool = False


def mark_missing(X: Table) -> Table:
    """Mend the table of the Higgs boson, where -999 stands for what has no value."""
    return np.where(X == -999, np.nan, X)


def divide_by_maximum(X: Table) -> Table:
    """Mend the table of hills and valleys: their heights are told apart by their shape, whatever their size."""
    return X / X.max(axis=1, keepdims=True)


def take_lower_half(y: Table) -> Table:
    """Make two classes of many, whose numbers start at 0: the lower half (1) against the rest (0).

    The paper "partitions all classes into two" and gives no form but for its digits.
    """
    return (y < (y.max() + 1) // 2).astype(int)


TWO_CLASSES = {
    "adult": DataSet("adult", categorical=CATEGORICAL),
    "magic": DataSet("magic"),
    "spambase": DataSet("spambase"),
    "jasmine": DataSet("jasmine"),
    "dna, 2 or not": DataSet("dna", lambda y: (y == 2).astype(int)),
    "madelon": DataSet("madelon"),
    "higgs": DataSet("higgs_kaggle_22889", mend=mark_missing),
    "relathe": DataSet("relathe"),
    "hill-valley": DataSet("hill_valley", mend=divide_by_maximum),
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
    "california housing": DataSet("california_housing", is_regression=True),
    "bike sharing": DataSet("bike_sharing", is_regression=True),
    "cpu act": DataSet("cpu_act", is_regression=True),
}
SETS = {**TWO_CLASSES, **MANY_CLASSES, **REGRESSION}
#: Sets that one benchmark alone takes: another form of a set above, generated, or not among the files that all need.
SPECIAL = {
    "covertype": DataSet("covertype"),
    "cones": DataSet("cones"),
    "hill-valley, 1000 rows": DataSet("hill_valley", mend=divide_by_maximum, n_train=1000),
    "christine": DataSet("christine"),
    "philippine": DataSet("philippine"),
    "SensIT vehicle, lower half": DataSet("sensit_vehicle", take_lower_half),
    "higgs, all rows": DataSet("higgs_kaggle", mend=mark_missing),
    "gas drift, all rows, < 3": DataSet("gas_drift", take_lower_half),
    "volkert, lower half": DataSet("volkert", take_lower_half),
    "fabert, lower half": DataSet("fabert", take_lower_half),
}
#: Sets of a few or very few rows, most of them wide, and more numbers; for benchmarks over all of the data folder.
MORE_SETS = {
    **{name: DataSet(name) for name in ("waveform", "mfeat_factors", "cnae_9", "arrhythmia", "vehicle", "libras")},
    **{name: DataSet(name) for name in ("musk", "lymphoma", "warp_pie10p", "glioma", "prostate_ge", "allaml", "colon")},
    **{name: DataSet(name, is_regression=True) for name in ("naval", "puma_32h", "parkinsons", "bank_32nh")},
}
ALL_SETS = {**SETS, **SPECIAL, **MORE_SETS}


@dataclass(frozen=True)
class PaperSet:
    """A row of the paper's tables: the set in ``ALL_SETS``, and the sizes of the paper's appendix.

    A set that is not complete is a part of the paper's, so that numbers measured on it are not the paper's.
    """

    name: str
    n_train: int
    n_features: int
    n_test: int
    is_complete: bool = True


PAPER_SETS = {
    "Cones": PaperSet("cones", 20000, 500, 5000),
    "Hill-Valley": PaperSet("hill-valley, 1000 rows", 1000, 100, 200),
    "Christine": PaperSet("christine", 4300, 1636, 1100),
    "Jasmine": PaperSet("jasmine", 2400, 144, 600),
    "Philippine": PaperSet("philippine", 4700, 308, 1100),
    "SensIT Vehicle": PaperSet("SensIT vehicle, lower half", 78800, 100, 19700),
    "Higgs Boson": PaperSet("higgs, all rows", 200000, 30, 50000),
    "Higgs Boson (partial)": PaperSet("higgs", 200000, 30, 50000, is_complete=False),
    "MNIST 3 vs 8": PaperSet("MNIST 3 vs 8", 12000, 784, 2000),
    "MNIST odd/even": PaperSet("MNIST odd/even", 60000, 784, 10000),
    "CIFAR truck/car": PaperSet("CIFAR truck/car", 10000, 3072, 2000),
    "Gas Drift": PaperSet("gas drift, all rows, < 3", 11100, 128, 2800),
    "Gas Drift (partial)": PaperSet("gas drift, < 3", 11100, 128, 2800, is_complete=False),
    "DNA": PaperSet("dna, 2 or not", 2600, 180, 600),  # the paper prints 6000 test rows, of a set of 3186
    "Volkert": PaperSet("volkert, lower half", 46600, 180, 11700),
    "Fabert": PaperSet("fabert, lower half", 6600, 800, 1600),
}


def load_set(name: str) -> dict[str, Table]:
    """Load the arrays of a set in its form: X and y, or X_train, y_train, X_test and y_test."""
    data = ALL_SETS[name]
    arrays = load_arrays(data.file)
    loaded = {}
    for part in [""] if "X" in arrays else ["_train", "_test"]:
        y = data.label(arrays[f"y{part}"])
        kept = y != -1
        loaded[f"X{part}"], loaded[f"y{part}"] = data.mend(arrays[f"X{part}"][kept]), y[kept]
    return loaded


def split(name: str, arrays: dict[str, Table], seed: int, n_rows: int | None = None) -> SplitSet:
    """Split as is official, or else at random as the set says; keep at most so many rows of each part."""
    data = ALL_SETS.get(name, DataSet(name))
    if "X" in arrays:
        order = np.random.default_rng(seed).permutation(len(arrays["X"]))
        train, test = np.split(order, [data.n_train or int(0.8 * len(order))])
        parts = [(arrays["X"], arrays["y"], rows) for rows in (train, test)]
    else:
        parts = [(arrays[f"X_{part}"], arrays[f"y_{part}"], slice(None)) for part in ("train", "test")]
    (X_train, y_train), (X_test, y_test) = ((X[rows][:n_rows], y[rows][:n_rows]) for X, y, rows in parts)
    return SplitSet(name, X_train, y_train, X_test, y_test, data.categorical, data.is_regression)


def hold_out(split_set: SplitSet, seed: int, n_rows: int) -> SplitSet:
    """Split the rows to learn from once more, so that choices are made without the test rows; cap both parts."""
    order = np.random.default_rng([seed, 1]).permutation(len(split_set.y_train))
    train, held_out = (rows[:n_rows] for rows in np.split(order, [int(0.8 * len(order))]))
    X, y = split_set.X_train, split_set.y_train
    return replace(split_set, X_train=X[train], y_train=y[train], X_test=X[held_out], y_test=y[held_out])


def load_case_study() -> SplitSet:
    """Load the paper's case study: handwritten digits, 3 (-1) against 8 (+1), 784 pixels."""
    split_set = split("MNIST 3 vs 8", load_set("MNIST 3 vs 8"), seed=0)
    y_train, y_test = ((2 * y - 1).astype(np.int8) for y in (split_set.y_train, split_set.y_test))
    return replace(split_set, y_train=y_train, y_test=y_test)
