"""The column to predict: classes or numbers."""

from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from mpboost.cli.features import Kind, as_numbers, find_kind
from mpboost.cli.tables import get_column
from mpboost.cli.wording import count

#: At most so many different whole numbers are taken for classes.
MANY_CLASSES = 20


class Task(StrEnum):
    """What to learn."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


def read_target(table: pa.Table, name: str, path: Path) -> NDArray[Any]:
    """Read the labels or numbers of all rows."""
    values = get_column(table, name, path)
    kind = find_kind(values.type)
    if types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    if values.null_count:
        raise ValueError(
            f"The target {name!r} is missing in {count(values.null_count, 'row')} of {path}: fill it in, or remove "
            "these rows."
        )
    if kind not in (Kind.NUMBER, Kind.CATEGORY):
        raise ValueError(f"The target {name!r} holds {kind}: only numbers and classes can be predicted.")
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return np.asarray(values.to_pylist()) if kind is Kind.CATEGORY else as_numbers(values).to_numpy()


def choose_task(task: Task, y: NDArray[Any], name: str) -> tuple[Task, str]:
    """Tell what to learn, and why if nobody said."""
    if y.dtype.kind not in "iuf":
        if task is Task.REGRESSION:
            raise ValueError(f"The target {name!r} holds words, not numbers: --task classification.")
        return Task.CLASSIFICATION, ""
    if task is not Task.AUTO:
        return task, ""
    n_values = len(np.unique(y))
    if n_values <= MANY_CLASSES and np.all(y == np.floor(y)):
        return Task.CLASSIFICATION, f"{n_values} different whole numbers; --task regression predicts numbers"
    return Task.REGRESSION, f"{count(n_values, 'different number')}; --task classification takes them for classes"


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Write whole numbers as such, so that class 1.0 is called 1."""
    is_whole = y.dtype.kind == "f" and np.all(y == np.floor(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64) if is_whole else y
