"""From the columns of a table to the features of a model: what is taken, what is left out, what dates become."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from mpboost.cli.tables import get_column
from mpboost.cli.wording import find_closest, list_names

#: Text with more different values than this, and than half of the rows, looks like an identifier.
MANY_WORDS = 50

#: Fewer whole numbers than this may be in order by chance.
MANY_ROWS = 10

DAY = 86_400_000_000  # in microseconds


class Kind(StrEnum):
    """What a column holds, in the words of messages."""

    NUMBER = "numbers"
    CATEGORY = "categories"
    DATE = "dates"
    MOMENT = "dates with times"
    TIME = "times of day"
    NOTHING = "nothing"
    OTHER = "something else"


#: What can be made of dates and times, and what it means.
PARTS: dict[str, str] = {
    "days": "days since 1970-01-01",
    "month": "1 to 12",
    "weekday": "Monday is 0",
    "hour": "0 to 23",
}
PARTS_OF = {
    Kind.DATE: ("days", "month", "weekday"),
    Kind.MOMENT: ("days", "month", "weekday", "hour"),
    Kind.TIME: ("hour",),
}


@dataclass(frozen=True)
class Column:
    """A column of a table, and what becomes of it.

    Attributes
    ----------
    name : str
        Its name.
    kind : Kind
        What it holds.
    features : tuple of str
        The features that are made of it; none if it is left out.
    reason : str
        Why it is left out, if it is.
    n_missing, n_values : int
        How many rows have no value, and of categories how many there are.
    """

    name: str
    kind: Kind
    features: tuple[str, ...] = ()
    reason: str = ""
    n_missing: int = 0
    n_values: int = 0


def find_kind(dtype: pa.DataType) -> Kind:
    """Tell what a column of a type holds."""
    tests: dict[Kind, Callable[[pa.DataType], bool]] = {
        Kind.NUMBER: lambda kind: types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind),
        Kind.CATEGORY: _is_words,
        Kind.DATE: types.is_date,
        Kind.MOMENT: types.is_timestamp,
        Kind.TIME: types.is_time,
        Kind.NOTHING: types.is_null,
    }
    return next((kind for kind, holds in tests.items() if holds(dtype)), Kind.OTHER)


def survey_columns(table: pa.Table, *, target: str, keep: Collection[str], drop: Collection[str]) -> list[Column]:
    """Decide what becomes of each column but the target; identifiers and constants are left out unless kept."""
    columns = []
    for name in table.column_names:
        if name == target:
            continue
        values = table[name]
        kind = find_kind(values.type)
        reason = "as --drop says" if name in drop else _find_reason(values, kind, is_kept=name in keep)
        features = () if reason else tuple(derive_features(name, values, kind))
        n_values = _count_values(values) if kind is Kind.CATEGORY and features else 0
        columns.append(Column(name, kind, features, reason, values.null_count, n_values))
    return columns


def take_features(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Make the features of all columns that are taken."""
    features: dict[str, pa.ChunkedArray] = {}
    for column in columns:
        derived = derive_features(column.name, table[column.name], column.kind) if column.features else {}
        features |= {name: derived[name] for name in column.features}
    return pa.table(features)


def derive_features(name: str, values: pa.ChunkedArray, kind: Kind) -> dict[str, pa.ChunkedArray]:
    """Make features of a column: itself as numbers or words, or the parts of a date that tell rows apart."""
    if kind not in PARTS_OF:
        return {name: _as_words(values) if kind is Kind.CATEGORY else as_numbers(values)}
    parts = {part: _compute_part(values, part) for part in PARTS_OF[kind]}
    return {f"{name}:{part}": numbers for part, numbers in parts.items() if not _is_constant(numbers)}


def recall_features(table: pa.Table, model: Any, path: Path) -> Any:
    """Make the features that a fitted model knows, or say which columns are missing or hold something else."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return _recall_by_position(table, model, path)
    sources = {name: _find_source(name, table.column_names) for name in names}
    missing = dict.fromkeys(source for source, _ in sources.values() if source not in table.column_names)
    if missing:
        others = [name for name in table.column_names if name not in names]
        hint = find_closest(next(iter(missing)), others) if others else "."
        raise ValueError(f"{path} has no column {list_names(map(repr, missing))}, which the model needs{hint}")
    return pa.table(
        {name: _recall(table[source], name, source, part, model, path) for name, (source, part) in sources.items()}
    )


def find_text_columns(model: Any) -> set[str]:
    """Find the columns that a text file may make look like numbers, where the model knows words such as "12"."""
    names, categories = getattr(model, "feature_names_in_", []), getattr(model, "categories_", None) or []
    known = dict(zip(names, categories, strict=False))
    known[getattr(model, "target_name_", None)] = getattr(model, "classes_", None)
    return {name for name, values in known.items() if name and values is not None and any(map(_is_number_word, values))}


def choose_names(wanted: Sequence[str], table: pa.Table, path: Path) -> list[str]:
    """Read names of columns as users give them: one by one, or with commas between them."""
    names: list[str] = []
    for each in wanted:
        names += [each] if each in table.column_names else [name.strip() for name in each.split(",")]
    for name in names:
        get_column(table, name, path)
    return names


def _find_reason(values: pa.ChunkedArray, kind: Kind, *, is_kept: bool) -> str:
    """Tell why a column is left out, if it is."""
    n_rows = len(values)
    if kind is Kind.OTHER:
        return f"holds {values.type}, which cannot be learned from"
    if values.null_count == n_rows:
        return "has no values"
    if is_kept:
        return ""
    if _is_constant(values):
        return f"is always {values[0].as_py()}"
    if kind is Kind.CATEGORY and _count_values(values) > max(MANY_WORDS, n_rows / 2):
        return "looks like an identifier: text that is hardly ever the same"
    if types.is_integer(values.type) and n_rows >= MANY_ROWS and _is_in_order(values):
        return "looks like an identifier: whole numbers in order, each once"
    return ""


def _recall(values: pa.ChunkedArray, name: str, source: str, part: str, model: Any, path: Path) -> pa.ChunkedArray:
    """Make one feature as the model knows it."""
    kind = find_kind(values.type)
    position = list(model.feature_names_in_).index(name)
    categories = (getattr(model, "categories_", None) or [None] * (position + 1))[position]
    is_words = bool(categories) and all(isinstance(value, str) for value in categories)
    if kind is Kind.NOTHING:
        return values.cast(pa.string() if is_words else pa.float64())
    if part:
        allowed, wanted = {each for each, parts in PARTS_OF.items() if part in parts}, f"dates ({name})"
    elif is_words:
        allowed, wanted = {Kind.CATEGORY}, f"categories ({list_names(categories, 3)})"
    else:
        allowed, wanted = {Kind.NUMBER}, "numbers"
    if kind not in allowed and not (types.is_boolean(values.type) and wanted == "numbers"):
        raise ValueError(f"Column {source!r} of {path} holds {kind}, but the model learned {wanted} from it.")
    return _compute_part(values, part) if part else _as_words(values) if is_words else as_numbers(values)


def _recall_by_position(table: pa.Table, model: Any, path: Path) -> np.ndarray[Any, Any]:
    """Make an array for a model that was trained without names: all columns in their order, the target apart."""
    target = getattr(model, "target_name_", "y")
    names = [name for name in table.column_names if name != target]
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"The model was trained without names on {model.n_features_in_} features, but {path} has {len(names)} "
            f"columns beside the target {target!r}."
        )
    return np.column_stack([as_numbers(table[name]).to_numpy() for name in names])


def _find_source(name: str, known: Collection[str]) -> tuple[str, str]:
    """Find the column that a feature is made of, and the part of a date that it is."""
    source, _, part = name.rpartition(":")
    return (source, part) if name not in known and source and part in PARTS else (name, "")


def _is_words(dtype: pa.DataType) -> bool:
    is_text = types.is_string(dtype) or types.is_large_string(dtype) or str(dtype) == "string_view"
    return is_text or types.is_boolean(dtype) or types.is_dictionary(dtype)


def _as_words(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return values if types.is_large_string(values.type) else values.cast(pa.string())


def as_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Make numbers of a kind that estimators read."""
    if types.is_decimal(values.type):
        return values.cast(pa.float64())
    return values.cast(pa.float32()) if types.is_float16(values.type) else values


def _compute_part(values: pa.ChunkedArray, part: str) -> pa.ChunkedArray:
    """Compute a part of dates or times, by the clock of their own time zone."""
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


def _is_in_order(values: pa.ChunkedArray) -> bool:
    if values.null_count:
        return False
    numbers = values.to_numpy()
    return bool(np.all(numbers[1:] > numbers[:-1]) or np.all(numbers[1:] < numbers[:-1]))


def _is_number_word(value: Any) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False
