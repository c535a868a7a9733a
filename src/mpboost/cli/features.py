"""Turn the columns of a table into features: choose columns, leave out useless ones, split dates into numbers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from mpboost.cli.formatting import list_names, suggest_name
from mpboost.cli.tables import get_column
from mpboost.estimators.base import MinipatchBooster

#: Text with more distinct values than this, and than half of the rows, looks like an identifier.
MIN_IDENTIFIER_VALUES = 50

#: Fewer whole numbers than this may be sorted by chance.
MIN_ORDERED_ROWS = 10

DAY = 86_400_000_000  # in microseconds


class ColumnKind(StrEnum):
    """What a column contains; the values appear in messages."""

    NUMBER = "numbers"
    CATEGORY = "categories"
    DATE = "dates"
    MOMENT = "dates with times"
    TIME = "times of day"
    NOTHING = "nothing"
    OTHER = "unsupported values"


#: The parts of dates and times that become features, and their units.
PARTS: dict[str, str] = {
    "days": "days since 1970-01-01",
    "month": "1 to 12",
    "weekday": "Monday is 0",
    "hour": "0 to 23",
}
PARTS_OF = {
    ColumnKind.DATE: ("days", "month", "weekday"),
    ColumnKind.MOMENT: ("days", "month", "weekday", "hour"),
    ColumnKind.TIME: ("hour",),
}


@dataclass(frozen=True)
class Column:
    """A column of a table, and the features made from it.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : ColumnKind
        What it contains.
    features : tuple of str
        Names of the features made from it; empty if it is left out.
    reason : str
        Why it is left out; empty if it is used.
    n_missing, n_values : int
        Number of missing values; number of distinct categories.
    """

    name: str
    kind: ColumnKind
    features: tuple[str, ...] = ()
    reason: str = ""
    n_missing: int = 0
    n_values: int = 0


def infer_column_kind(dtype: pa.DataType) -> ColumnKind:
    """Infer what a column contains from its Arrow type."""
    tests: dict[ColumnKind, Callable[[pa.DataType], bool]] = {
        ColumnKind.NUMBER: lambda kind: types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind),
        ColumnKind.CATEGORY: _is_categorical,
        ColumnKind.DATE: types.is_date,
        ColumnKind.MOMENT: types.is_timestamp,
        ColumnKind.TIME: types.is_time,
        ColumnKind.NOTHING: types.is_null,
    }
    return next((kind for kind, holds in tests.items() if holds(dtype)), ColumnKind.OTHER)


def choose_features(table: pa.Table, *, target: str, keep: Collection[str], drop: Collection[str]) -> list[Column]:
    """Choose the features of each column but the target; leave out identifiers and constants unless kept."""
    columns = []
    for name in table.column_names:
        if name == target:
            continue
        values = table[name]
        kind = infer_column_kind(values.type)
        reason = "dropped by --drop" if name in drop else _explain_exclusion(values, kind, is_kept=name in keep)
        features = () if reason else tuple(derive_features(name, values, kind))
        n_values = _count_values(values) if kind is ColumnKind.CATEGORY and features else 0
        columns.append(Column(name, kind, features, reason, values.null_count, n_values))
    return columns


def make_training_features(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Make a table of the chosen features."""
    features: dict[str, pa.ChunkedArray] = {}
    for column in columns:
        derived = derive_features(column.name, table[column.name], column.kind) if column.features else {}
        features |= {name: derived[name] for name in column.features}
    return pa.table(features)


def derive_features(name: str, values: pa.ChunkedArray, kind: ColumnKind) -> dict[str, pa.ChunkedArray]:
    """Make the features of a column: numbers, text, or the parts of a date that are not constant."""
    if kind not in PARTS_OF:
        return {name: _as_text(values) if kind is ColumnKind.CATEGORY else as_numbers(values)}
    parts = {part: _compute_part(values, part) for part in PARTS_OF[kind]}
    return {f"{name}:{part}": numbers for part, numbers in parts.items() if not _is_constant(numbers)}


def make_model_features(table: pa.Table, model: MinipatchBooster, path: Path) -> pa.Table | NDArray[Any]:
    """Make the features that a fitted model expects; raise an error if a column is missing or of another kind."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return _make_features_by_position(table, model, path)
    sources = {name: _split_feature_name(name, table.column_names) for name in names}
    missing = dict.fromkeys(source for source, _ in sources.values() if source not in table.column_names)
    if missing:
        others = [name for name in table.column_names if name not in names]
        hint = suggest_name(next(iter(missing)), others) if others else "."
        raise ValueError(
            f"{path} lacks {'columns' if len(missing) > 1 else 'column'} {list_names(map(repr, missing))} that the "
            f"model needs{hint}"
        )
    return pa.table(
        {
            name: _make_model_feature(table[source], name, source, part, model, path)
            for name, (source, part) in sources.items()
        }
    )


def list_text_columns(model: MinipatchBooster) -> set[str]:
    """List the columns to read as text, since the model knows text such as "12" that looks like a number."""
    names, categories = getattr(model, "feature_names_in_", []), getattr(model, "categories_", None) or []
    known = dict(zip(names, categories, strict=False))
    known[getattr(model, "target_name_", None)] = getattr(model, "classes_", None)
    return {
        name for name, values in known.items() if name and values is not None and any(map(_is_numeric_text, values))
    }


def parse_column_names(wanted: Sequence[str], table: pa.Table, path: Path) -> list[str]:
    """Split and check column names from the command line: one per option, or several separated by commas."""
    names: list[str] = []
    for each in wanted:
        names += [each] if each in table.column_names else [name.strip() for name in each.split(",")]
    for name in names:
        get_column(table, name, path)
    return names


def _explain_exclusion(values: pa.ChunkedArray, kind: ColumnKind, *, is_kept: bool) -> str:
    """Explain why a column is left out; empty if it is used."""
    n_rows = len(values)
    if kind is ColumnKind.OTHER:
        return f"contains unsupported values ({values.type})"
    if values.null_count == n_rows:
        return "has no values"
    if is_kept:
        return ""
    if _is_constant(values):
        return f"is always {values[0].as_py()}"
    if kind is ColumnKind.CATEGORY and _count_values(values) > max(MIN_IDENTIFIER_VALUES, n_rows / 2):
        return "looks like an identifier: text with few repeated values"
    if types.is_integer(values.type) and n_rows >= MIN_ORDERED_ROWS and _is_sorted(values):
        return "looks like an identifier: sorted whole numbers without repeats"
    return ""


def _make_model_feature(
    values: pa.ChunkedArray, name: str, source: str, part: str, model: MinipatchBooster, path: Path
) -> pa.ChunkedArray:
    """Make one feature of the kind that the model was trained on."""
    kind = infer_column_kind(values.type)
    position = list(model.feature_names_in_).index(name)
    categories = (getattr(model, "categories_", None) or [None] * (position + 1))[position]
    is_text = bool(categories) and all(isinstance(value, str) for value in categories)
    if kind is ColumnKind.NOTHING:
        return values.cast(pa.string() if is_text else pa.float64())
    if part:
        allowed, wanted = {each for each, parts in PARTS_OF.items() if part in parts}, f"dates ({name})"
    elif is_text:
        allowed, wanted = {ColumnKind.CATEGORY}, f"categories ({list_names(categories, 3)})"
    else:
        allowed, wanted = {ColumnKind.NUMBER}, "numbers"
    if kind not in allowed and not (types.is_boolean(values.type) and wanted == "numbers"):
        raise ValueError(f"Column {source!r} of {path} contains {kind}, but the model was trained on {wanted}.")
    return _compute_part(values, part) if part else _as_text(values) if is_text else as_numbers(values)


def _make_features_by_position(table: pa.Table, model: MinipatchBooster, path: Path) -> NDArray[Any]:
    """Make an array for a model that was trained without feature names: all columns but the target, in order."""
    target = getattr(model, "target_name_", "y")
    names = [name for name in table.column_names if name != target]
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"The model was trained on {model.n_features_in_} features without names, but {path} has {len(names)} "
            f"columns besides the target {target!r}."
        )
    return np.column_stack([as_numbers(table[name]).to_numpy() for name in names])


def _split_feature_name(name: str, known: Collection[str]) -> tuple[str, str]:
    """Split the name of a feature into its column and, if it was made from a date, the part of the date."""
    source, _, part = name.rpartition(":")
    return (source, part) if name not in known and source and part in PARTS else (name, "")


def _is_categorical(dtype: pa.DataType) -> bool:
    is_text = types.is_string(dtype) or types.is_large_string(dtype) or str(dtype) == "string_view"
    return is_text or types.is_boolean(dtype) or types.is_dictionary(dtype)


def _as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return values if types.is_large_string(values.type) else values.cast(pa.string())


def as_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert decimals and half floats to types that estimators read."""
    if types.is_decimal(values.type):
        return values.cast(pa.float64())
    if not types.is_float16(values.type):
        return values
    try:
        return values.cast(pa.float32())
    except pa.ArrowNotImplementedError:  # pyarrow < 15
        return pa.chunked_array(
            [[None if value is None else float(value) for value in values.to_pylist()]], pa.float32()
        )


def _compute_part(values: pa.ChunkedArray, part: str) -> pa.ChunkedArray:
    """Compute a part of dates or times, in their own time zone."""
    if types.is_time(values.type):
        return pc.hour(values)
    if types.is_timestamp(values.type) and values.type.tz is not None:
        values = pc.local_timestamp(values)
    if part == "days":
        since = values.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        return pc.divide(since.cast(pa.float64()), float(DAY))
    return {"month": pc.month, "weekday": pc.day_of_week, "hour": pc.hour}[part](values)


def _count_values(values: pa.ChunkedArray) -> int:
    return len(pc.unique(values.drop_null()))


def _is_constant(values: pa.ChunkedArray) -> bool:
    return values.null_count == 0 and _count_values(values) == 1


def _is_sorted(values: pa.ChunkedArray) -> bool:
    if values.null_count:
        return False
    numbers = values.to_numpy()
    return bool(np.all(numbers[1:] > numbers[:-1]) or np.all(numbers[1:] < numbers[:-1]))


def _is_numeric_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False
