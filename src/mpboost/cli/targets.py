"""Read the column to predict, and decide between classification and regression."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from mpboost.cli.choices import TargetKind
from mpboost.cli.features import ColumnKind, as_numbers, infer_column_kind
from mpboost.cli.formatting import count
from mpboost.cli.tables import get_column

#: A target with more distinct whole numbers than this is not taken for classes.
MAX_CLASSES = 20


def read_target(table: pa.Table, name: str, path: Path) -> NDArray[Any]:
    """Read the target column as an array of labels or numbers."""
    values = get_column(table, name, path)
    kind = infer_column_kind(values.type)
    if types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    if values.null_count:
        raise ValueError(
            f"The target {name!r} is missing in {count(values.null_count, 'row')} of {path}: fill in the values or "
            "remove these rows."
        )
    if kind not in (ColumnKind.NUMBER, ColumnKind.CATEGORY):
        raise ValueError(f"The target {name!r} contains {kind}: only numbers and classes can be predicted.")
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return np.asarray(values.to_pylist()) if kind is ColumnKind.CATEGORY else as_numbers(values).to_numpy()


def choose_target_kind(wanted: TargetKind, y: NDArray[Any], name: str) -> tuple[TargetKind, str]:
    """Choose classification or regression; if it was decided by the values, also say why."""
    if y.dtype.kind not in "iuf":
        if wanted is TargetKind.REGRESSION:
            raise ValueError(f"The target {name!r} contains text, not numbers: use --task classification.")
        return TargetKind.CLASSIFICATION, ""
    if wanted is not TargetKind.AUTO:
        return wanted, ""
    n_values = len(np.unique(y))
    if n_values <= MAX_CLASSES and np.all(y == np.floor(y)):
        return TargetKind.CLASSIFICATION, f"{n_values} distinct whole numbers; use --task regression for numbers"
    return TargetKind.REGRESSION, f"{count(n_values, 'distinct number')}; use --task classification for classes"


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Convert whole numbers to integers, so that class 1.0 is called 1."""
    is_whole = y.dtype.kind == "f" and np.all(y == np.floor(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64) if is_whole else y
