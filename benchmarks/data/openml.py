"""Where OpenML has the data sets, and how they take the form of the files of the data folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Source:
    """A set of OpenML: its id, the table that must come, and what is made of it.

    The first ``n_train`` rows are for learning where the split is official; of the classes, some may be ``kept``.
    """

    data_id: int
    n_rows: int
    n_columns: int
    dtype: str = "float32"
    n_train: int | None = None
    kept: Sequence[int] | None = None
    is_regression: bool = False


SOURCES = {
    "adult": Source(1590, 48842, 14, n_train=32561),
    "bike_sharing": Source(42712, 17379, 12, is_regression=True),
    "christine": Source(41142, 5418, 1636),
    "cifar10_truck_car": Source(40927, 60000, 3072, "uint8", n_train=50000, kept=(1, 9)),
    "covertype": Source(1596, 581012, 54),
    "cpu_act": Source(197, 8192, 21, is_regression=True),
    "dna": Source(40670, 3186, 180),
    "fabert": Source(41164, 8237, 800),
    "gas_drift": Source(1476, 13910, 128),
    "hill_valley": Source(1479, 1212, 100, "float64"),
    "jasmine": Source(41143, 2984, 144),
    "letter": Source(6, 20000, 16),
    "madelon": Source(1485, 2600, 500),
    "magic": Source(1120, 19020, 10),
    "mnist": Source(554, 70000, 784, "uint8", n_train=60000),
    "philippine": Source(41145, 5832, 308),
    "sensit_vehicle": Source(357, 98528, 100),
    "spambase": Source(44, 4601, 57),
    "volkert": Source(41166, 58310, 180),
}
_ATLAS = "doi.org/10.7483/OPENDATA.ATLAS.ZBP2.M5T8"
#: Sets that OpenML is not known to have, and where they come from.
ELSEWHERE = {
    "california_housing": "OpenML's 537 lacks its column of the distance to the ocean",
    "gas_drift_partial": "it is 8 of 10 batches; OpenML has the whole set, which is here as gas_drift",
    "higgs_kaggle": "no id of OpenML is known to be the 250000 rows for training of Kaggle's challenge of 2014 (45570 "
    f"is another set, of UCI); {_ATLAS} has them: the rows whose KaggleSet is t",
    "higgs_kaggle_22889": f"it is the first 22889 rows of Kaggle's challenge of 2014; {_ATLAS} has them",
    **dict.fromkeys(
        ("relathe", "colon", "glioma", "lymphoma", "prostate_ge", "warp_pie10p", "allaml"),
        "it comes from the feature selection repository of Arizona State University",
    ),
    **dict.fromkeys(
        ("arrhythmia", "vehicle", "libras", "musk", "waveform", "mfeat_factors", "cnae_9"),
        "no id of OpenML is known to be this table of the UCI repository, row by row",
    ),
    **dict.fromkeys(
        ("puma_32h", "bank_32nh", "naval", "parkinsons"),
        "no id of OpenML is known to be this table of numbers, row by row",
    ),
}


def fetch_arrays(name: str) -> dict[str, NDArray[Any]]:
    """Fetch a set from OpenML; an OSError, ValueError or ImportError says why it cannot be had."""
    from sklearn.datasets import fetch_openml  # where used: it takes long to import

    source = SOURCES[name]
    # No cache of scikit-learn's own beside ours; it checks the md5 sum of what it gets all the same.
    fetched = fetch_openml(data_id=source.data_id, as_frame="auto", parser="auto", cache=False)
    if fetched.data.shape != (source.n_rows, source.n_columns):
        expected = f"{source.n_rows} x {source.n_columns}"
        raise ValueError(f"OpenML's set {source.data_id} is {' x '.join(map(str, fetched.data.shape))}, not {expected}")
    X, y = _to_array(fetched.data, source.dtype), np.asarray(fetched.target)
    # Classes are numbered in the order of their names.
    y = y.astype(np.float64) if source.is_regression else np.unique(y.astype(str), return_inverse=True)[1]
    parts = {"": slice(None)}
    if source.n_train is not None:
        parts = {"_train": slice(source.n_train), "_test": slice(source.n_train, None)}
    arrays = {}
    for part, rows in parts.items():
        X_part, y_part = X[rows], y[rows]
        if source.kept is not None:
            kept = np.isin(y_part, source.kept)
            X_part, y_part = X_part[kept], np.searchsorted(source.kept, y_part[kept])
        arrays |= {f"X{part}": X_part, f"y{part}": y_part}
    return arrays


def _to_array(table: Any, dtype: str) -> NDArray[Any]:
    """Make an array of a frame or of a sparse matrix, which is what sparse sets of OpenML are."""
    if not hasattr(table, "columns"):
        return table.toarray().astype(dtype)
    array = np.empty(table.shape, dtype)
    for index, name in enumerate(table.columns):
        array[:, index] = _to_numbers(table[name])
    return array


def _to_numbers(column: Any) -> NDArray[np.float64]:
    """Make numbers of a column: of categories that are no numbers their codes; NaN where a value is unknown."""
    if column.dtype != "category":
        return column.to_numpy(np.float64, na_value=np.nan)
    try:
        values = column.cat.categories.to_numpy(np.float64)
    except ValueError:
        values = np.arange(len(column.cat.categories), dtype=np.float64)
    return np.append(values, np.nan)[column.cat.codes]  # the code of the unknown is -1
