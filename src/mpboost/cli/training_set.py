"""Read a training set from a table: its target, its features, and a summary of both for the user."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from mpboost._wording import count, format_number, format_share, list_names
from mpboost.cli.choices import TargetKind
from mpboost.cli.features import Column, ColumnKind, choose_features, make_training_features, parse_column_names
from mpboost.cli.output import Output
from mpboost.cli.targets import as_labels, choose_target_kind, read_target
from mpboost.data.dates import PARTS
from mpboost.table_files.options import ReadingOptions
from mpboost.table_files.reading import TableReading, read_files


@dataclass(frozen=True)
class TrainingSet:
    """A table that is ready for a fit.

    Attributes
    ----------
    X : Table
        The features.
    y : array
        The labels or numbers.
    target : str
        Name of the target column.
    kind : TargetKind
        Classification or regression.
    reason : str
        Why, if the user did not decide.
    columns : list of Column
        All other columns, used or left out.
    reading : TableReading
        The table, and how it was read.
    """

    X: pa.Table
    y: NDArray[Any]
    target: str
    kind: TargetKind
    reason: str
    columns: list[Column]
    reading: TableReading


def choose_target_name(target: str | None, paths: Sequence[str]) -> str:
    """Return the name of the target column: required, except for .npz files."""
    if target is None and Path(paths[0]).suffix.lower() != ".npz":
        raise typer.BadParameter("give the name of the column to predict.", param_hint="--target")
    return target or "y"


def read_training_set(
    paths: Sequence[str],
    target: str,
    kind: TargetKind,
    options: ReadingOptions,
    *,
    keep: Sequence[str] | None,
    drop: Sequence[str],
) -> TrainingSet:
    """Read a table and choose its features; ``keep=None`` keeps all columns."""
    reading = read_files(paths, options)
    y = read_target(reading, target)
    kind, reason = choose_target_kind(kind, y, target, reading.obstacles.get(target, ""))
    if kind is TargetKind.CLASSIFICATION:
        y = as_labels(y)
    kept = reading.table.column_names if keep is None else parse_column_names(keep, reading)
    columns = choose_features(reading, target=target, keep=kept, drop=parse_column_names(drop, reading))
    if not any(column.features for column in columns):
        left_out = "; ".join(f"{column.name} {column.reason}" for column in columns[:5])
        raise ValueError(f"{reading.name} has no usable column besides the target {target!r}. {left_out}".strip())
    X = make_training_features(reading.table, columns)
    reading = replace(reading, table=X, written=X)  # the text of a large file is no longer needed
    return TrainingSet(X, y, target, kind, reason, columns, reading)


def show_training_set(data: TrainingSet, out: Output) -> None:
    """Show the columns of a training set, and how they are used."""
    n_rows = len(data.y)
    used = {kind: [each for each in data.columns if each.features and each.kind is kind] for kind in ColumnKind}
    left_out = [each for each in data.columns if not each.features]
    dates = [*used[ColumnKind.DATE], *used[ColumnKind.TIME]]
    rows = [("read as", data.reading.description)]
    rows += [("numbers", list_names(each.name for each in used[ColumnKind.NUMBER]))]
    rows += [("categories", list_names(f"{each.name} ({each.n_values})" for each in used[ColumnKind.CATEGORY]))]
    rows += [("dates" if i == 0 else "", _explain_date(each)) for i, each in enumerate(dates)]
    incomplete = [each for each in data.columns if each.features and each.n_missing]
    rows += [("missing", list_names(f"{each.name} {format_share(each.n_missing / n_rows)}" for each in incomplete))]
    rows += _group_left_out(left_out)
    rows += [("target", _describe_target(data))]
    rows += [
        ("note" if i == 0 else "", note)
        for i, note in enumerate(data.reading.list_notes(besides=[each.name for each in left_out]))
    ]
    out.title(Path(data.reading.name).name, f"{count(n_rows, 'row')}, {count(len(data.columns) + 1, 'column')}")
    out.rows([row for row in rows if row[1]])
    out.record(
        table=data.reading.name,
        format=data.reading.description,
        notes=data.reading.list_notes(),
        rows=n_rows,
        target=data.target,
        task=data.kind,
        features=[name for each in data.columns for name in each.features],
        derived={each.name: each.features for each in dates},
        left_out={each.name: each.reason for each in left_out},
    )


def _explain_date(column: Column) -> str:
    parts = [name.rpartition(":")[2] for name in column.features]
    return f"{column.name} becomes " + ", ".join(
        f"{name} ({PARTS[part]})" for name, part in zip(column.features, parts, strict=True)
    )


def _group_left_out(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Group the columns that are left out by reason; mention --keep where it helps."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(column.reason, []).append(column.name)
    rows = [f"{list_names(names)} {reason}" for reason, names in groups.items()]
    if any("identifier" in reason or "always" in reason for reason in groups):
        rows.append("(--keep NAME uses such a column anyway)")
    return [("left out" if i == 0 else "", row) for i, row in enumerate(rows)]


def _describe_target(data: TrainingSet) -> str:
    if data.kind is TargetKind.REGRESSION:
        low, high = data.y.min(), data.y.max()
        description = f"{data.target}, a number from {format_number(low)} to {format_number(high)}"
    else:
        classes, counts = np.unique(data.y, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shares = list_names((f"{classes[i]} {format_share(counts[i] / len(data.y))}" for i in order), 5)
        description = f"{data.target}, {count(len(classes), 'class')}: {shares}"
    return f"{description} ({data.reason})" if data.reason else description
