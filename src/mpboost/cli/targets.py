"""Read the column to predict, and decide between classification and regression."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from mpboost._wording import count
from mpboost.cli.choices import TargetKind
from mpboost.cli.features import ColumnKind, as_features, get_column, infer_column_kind
from mpboost.table_files.reading import TableReading

#: A target with more distinct whole numbers than this is not taken for classes.
MAX_CLASSES = 20


def read_target(reading: TableReading, name: str) -> NDArray[Any]:
    """Read the target column as an array of labels or numbers."""
    values = get_column(reading, name)
    kind = infer_column_kind(values.type)
    if types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    if values.null_count:
        raise ValueError(
            f"The target {name!r} is missing in {count(values.null_count, 'row')} of {reading.name}: fill in the "
            "values or remove these rows."
        )
    if kind not in (ColumnKind.NUMBER, ColumnKind.CATEGORY):
        raise ValueError(f"The target {name!r} contains {kind}: only numbers and classes can be predicted.")
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if types.is_decimal(values.type):
        values = values.cast(pa.float64())
    is_text = kind is ColumnKind.CATEGORY or types.is_boolean(values.type)
    return np.asarray(values.to_pylist()) if is_text else as_features(values).to_numpy()


def read_weights(reading: TableReading, name: str) -> NDArray[np.float64]:
    """Read the column of weights of rows."""
    values = get_column(reading, name)
    kind = infer_column_kind(values.type)
    if kind is not ColumnKind.NUMBER:
        raise ValueError(f"The column of weights {name!r} of {reading.name} contains {kind}, not numbers.")
    if values.null_count:
        raise ValueError(f"The weight {name!r} is missing in {count(values.null_count, 'row')} of {reading.name}.")
    return np.asarray(values.cast(pa.float64()).to_numpy())


def choose_target_kind(wanted: TargetKind, y: NDArray[Any], name: str, obstacle: str = "") -> tuple[TargetKind, str]:
    """Choose classification or regression; if it was decided by the values, also say why.

    ``obstacle`` tells why a column that looks like numbers could not be read as such.
    """
    if y.dtype.kind not in "iuf":
        if wanted is TargetKind.REGRESSION or (obstacle and wanted is TargetKind.AUTO):
            advice = f"{obstacle}; or use --task classification" if obstacle else "use --task classification"
            raise ValueError(f"The target {name!r} contains text, not numbers: {advice}.")
        return TargetKind.CLASSIFICATION, ""
    if wanted is not TargetKind.AUTO:
        return wanted, ""
    n_values = len(np.unique(y))
    if n_values <= MAX_CLASSES and np.all(y == np.floor(y)):
        return TargetKind.CLASSIFICATION, f"{n_values} distinct whole numbers; use --task regression for numbers"
    return TargetKind.REGRESSION, f"{count(n_values, 'distinct number')}; use --task classification for classes"


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Convert whole numbers to integers, so that class 1.0 is called 1, and objects that are text to text."""
    if y.dtype.kind == "O" and all(isinstance(label, str) for label in y.tolist()):
        return y.astype(np.str_)
    is_whole = y.dtype.kind == "f" and np.all(y == np.floor(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64) if is_whole else y
