"""Read the columns with targets and weights."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from mpboost._wording import count
from mpboost.cli.features import ColumnKind, as_features, get_column, infer_column_kind
from mpboost.table_files.reading import TableReading


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
