"""Choose the columns of a table that a model learns from, and those that a model knows."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from mpboost._wording import list_names, suggest_name
from mpboost.data.dates import name_source, split_dates
from mpboost.table_files.numbers import cast_numbers
from mpboost.table_files.reading import TableReading

#: Text with more distinct values than this, and than half of the rows, looks like an identifier.
MIN_IDENTIFIER_VALUES = 50

#: Names that pandas gives an index in a file.
EXPORTED_INDEX = re.compile(r"Unnamed: 0|__index_level_\d+__|index")

#: Fewer whole numbers than this may be sorted by chance.
MIN_ORDERED_ROWS = 10


class ColumnKind(StrEnum):
    """What a column contains; the values appear in messages."""

    NUMBER = "numbers"
    CATEGORY = "words"
    DATE = "dates"
    TIME = "times of day"
    NOTHING = "nothing"
    OTHER = "unsupported values"


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
        ColumnKind.NUMBER: _is_numeric,
        ColumnKind.CATEGORY: _is_categorical,
        ColumnKind.DATE: lambda kind: types.is_date(kind) or types.is_timestamp(kind),
        ColumnKind.TIME: types.is_time,
        ColumnKind.NOTHING: types.is_null,
    }
    return next((kind for kind, holds in tests.items() if holds(dtype)), ColumnKind.OTHER)


def get_column(reading: TableReading, name: str) -> pa.ChunkedArray:
    """Return a column; if there is none of this name, suggest a similar one."""
    check_column_name(name, reading.table.column_names, reading.name)
    return reading.table[name]


def check_column_name(name: str, columns: Sequence[str], table: str) -> None:
    """Raise an error if a table has no column of this name, and suggest a similar one."""
    if name not in columns:
        raise ValueError(f"{table} has no column {name!r}{suggest_name(name, columns)}")


def choose_features(
    reading: TableReading, *, target: str, weights: str | None = None, keep: Collection[str], drop: Collection[str]
) -> list[Column]:
    """Choose the features of each column but target and weights; leave out identifiers and constants unless kept."""
    columns = []
    for name in reading.table.column_names:
        if name in (target, weights):
            continue
        values = reading.table[name]
        kind = infer_column_kind(values.type)
        reason = "dropped by --drop" if name in drop else _explain_exclusion(name, values, kind, is_kept=name in keep)
        if name in reading.obstacles and "identifier" in reason:
            reason = f"{reason}, {reading.obstacles[name]}"
        features = () if reason else _name_features(name, values, kind)
        n_values = _count_values(values) if kind is ColumnKind.CATEGORY and features else 0
        columns.append(Column(name, kind, features, reason, values.null_count, n_values))
    return columns


def choose_features_by_type(
    schema: pa.Schema, *, target: str | None, weights: str | None, drop: Collection[str]
) -> list[Column]:
    """Choose the features of columns whose values are not looked at: all but those of unsupported types."""
    columns = []
    for field in schema:
        if field.name in (target, weights):
            continue
        kind = infer_column_kind(field.type)
        reason = "dropped by --drop" if field.name in drop else _explain_type(kind, field.type)
        columns.append(Column(field.name, kind, () if reason else (field.name,), reason))
    return columns


def make_training_features(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Make a table of the chosen columns; the estimators split dates into numbers."""
    return pa.table({column.name: as_features(table[column.name]) for column in columns if column.features})


def find_model_columns(model: Any, name: str, columns: Sequence[str]) -> list[tuple[str, str]] | None:
    """Find the column of each feature that a fitted model has, and the part of its date; None without names.

    ``name`` and ``columns`` are those of the table; if a column is missing, an error suggests a similar one.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    sources = [name_source(feature, columns) for feature in names]
    missing = dict.fromkeys(source for source, _ in sources if source not in columns)
    if missing:
        others = [each for each in columns if each not in names]
        hint = suggest_name(next(iter(missing)), others) if others else "."
        raise ValueError(
            f"{name} lacks {'columns' if len(missing) > 1 else 'column'} {list_names(map(repr, missing))} that "
            f"the model needs{hint}"
        )
    return sources


def make_model_features(reading: TableReading, model: Any) -> pa.Table | NDArray[Any]:
    """Choose the columns that a fitted model expects; raise an error if one is missing or of another kind."""
    sources = find_model_columns(model, reading.name, reading.table.column_names)
    if sources is None:
        return _make_features_by_position(reading, model)
    known = list_categories(model)
    columns = {source: _make_model_column(reading, source, part, known.get(source)) for source, part in sources}
    return split_dates(nw.from_native(pa.table(columns), eager_only=True), model.feature_names_in_).to_native()


def list_categories(model: Any) -> dict[str, list[Any]]:
    """List the features whose categories are words, and these."""
    categories = getattr(model, "categories_", None) or []
    known = zip(getattr(model, "feature_names_in_", []), categories, strict=False)
    return {name: words for name, words in known if words and all(isinstance(word, str) for word in words)}


def list_word_columns(model: Any, target: str | None) -> set[str]:
    """List the columns to read as words since the model knows them as such, though they may look like numbers."""
    classes = getattr(model, "classes_", None)
    has_word_classes = classes is not None and all(isinstance(label, str) for label in classes.tolist())
    return {*list_categories(model), *([target] if has_word_classes and target else [])}


def parse_column_names(wanted: Sequence[str], columns: Sequence[str], table: str) -> list[str]:
    """Split and check column names from the command line: one per option, or several separated by commas.

    ``columns`` are those that the table has, and ``table`` is its name.
    """
    names: list[str] = []
    for each in wanted:
        names += [each] if each in columns else [name.strip() for name in each.split(",")]
    for name in names:
        check_column_name(name, columns, table)
    return names


def _explain_exclusion(name: str, values: pa.ChunkedArray, kind: ColumnKind, *, is_kept: bool) -> str:
    """Explain why a column is left out; empty if it is used."""
    n_rows = len(values)
    if reason := _explain_type(kind, values.type):
        return reason
    if values.null_count == n_rows:
        return "has no values"
    if is_kept:
        return ""
    if _is_constant(values):
        return f"is always {values[0].as_py()}"
    if kind is ColumnKind.CATEGORY and _count_values(values) > max(MIN_IDENTIFIER_VALUES, n_rows / 2):
        return "looks like an identifier: text with few repeated values"
    if not types.is_integer(values.type) or n_rows < MIN_ORDERED_ROWS or values.null_count:
        return ""
    if _is_sorted(values):
        return "looks like an identifier: sorted whole numbers without repeats"
    if EXPORTED_INDEX.fullmatch(name) and _count_values(values) == n_rows:
        return "looks like an exported index: whole numbers without repeats"
    return ""


def _explain_type(kind: ColumnKind, dtype: pa.DataType) -> str:
    """Explain why a column is left out whatever its values are; empty if it is not."""
    if kind is ColumnKind.OTHER:
        return f"contains unsupported values ({dtype})"
    return "has no values" if kind is ColumnKind.NOTHING else ""


def _name_features(name: str, values: pa.ChunkedArray, kind: ColumnKind) -> tuple[str, ...]:
    """Name the features of a column: its own name, or the parts of its dates."""
    if kind not in (ColumnKind.DATE, ColumnKind.TIME):
        return (name,)
    return tuple(split_dates(nw.from_native(pa.table({name: values}), eager_only=True)).columns)


def _make_model_column(reading: TableReading, name: str, part: str, categories: list[str] | None) -> pa.ChunkedArray:
    """Make a column of the kind that the model was trained on."""
    values = reading.table[name]
    kind = infer_column_kind(values.type)
    if part == "hour":
        allowed = {ColumnKind.TIME} | ({ColumnKind.DATE} if types.is_timestamp(values.type) else set())
        wanted, empty = f"times ({name}:{part})", pa.timestamp("us")
    elif part:
        allowed, wanted, empty = {ColumnKind.DATE}, f"dates ({name}:{part})", pa.timestamp("us")
    elif categories:
        allowed, wanted, empty = {ColumnKind.CATEGORY}, f"words ({list_names(categories, 3)})", pa.string()
    else:
        allowed, wanted, empty = {ColumnKind.NUMBER}, "numbers", pa.float64()
    if kind is ColumnKind.NOTHING:
        return values.cast(empty)
    if categories and reading.is_text and _are_other_numbers(values, categories):
        kind = ColumnKind.NUMBER
    if kind not in allowed:
        why = f": {reading.obstacles[name]}" if name in reading.obstacles else ""
        example = values.drop_null()[0].as_py()
        raise ValueError(
            f"Column {name!r} of {reading.name} contains {kind} such as {example!r}, but the model was trained on "
            f"{wanted}{why}."
        )
    return as_features(values)


def _make_features_by_position(reading: TableReading, model: Any) -> NDArray[Any]:
    """Make an array for a model that was trained without feature names: all columns but the target, in order."""
    target = getattr(model, "target_name_", "y")
    names = [name for name in reading.table.column_names if name != target]
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"The model was trained on {model.n_features_in_} features without names, but {reading.name} has "
            f"{len(names)} columns besides the target {target!r}."
        )
    return np.column_stack([as_features(reading.table[name]).to_numpy() for name in names])


def _is_numeric(dtype: pa.DataType) -> bool:
    is_number = types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype)
    return is_number or types.is_boolean(dtype)


def _is_categorical(dtype: pa.DataType) -> bool:
    is_text = types.is_string(dtype) or types.is_large_string(dtype) or str(dtype) == "string_view"
    return is_text or types.is_dictionary(dtype)


def as_features(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert half floats and views of text to types that estimators read."""
    if str(values.type) == "string_view":
        return values.cast(pa.string())
    if not types.is_float16(values.type):
        return values
    try:
        return values.cast(pa.float32())
    except pa.ArrowNotImplementedError:  # pyarrow < 15
        return pa.chunked_array(
            [[None if value is None else float(value) for value in values.to_pylist()]], pa.float32()
        )


def _are_other_numbers(values: pa.ChunkedArray, categories: list[str]) -> bool:
    """Check whether a column that was read as words has only numbers, none of which is a known category."""
    if not types.is_string(values.type) or cast_numbers(values) is None:
        return False
    return not pc.any(pc.is_in(values, value_set=pa.array(categories))).as_py()


def _count_values(values: pa.ChunkedArray) -> int:
    return len(pc.unique(values.drop_null()))


def _is_constant(values: pa.ChunkedArray) -> bool:
    return values.null_count == 0 and _count_values(values) == 1


def _is_sorted(values: pa.ChunkedArray) -> bool:
    numbers = values.to_numpy()
    return bool(np.all(numbers[1:] > numbers[:-1]) or np.all(numbers[1:] < numbers[:-1]))
