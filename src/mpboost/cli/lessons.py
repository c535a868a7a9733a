"""What a model is to learn from: a table, its target and features, and an estimator for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from mpboost.cli.features import PARTS, PARTS_OF, Column, Kind, choose_names, survey_columns, take_features
from mpboost.cli.output import Output
from mpboost.cli.tables import find_suffix, read_table
from mpboost.cli.targets import Task, as_labels, choose_task, read_target
from mpboost.cli.wording import count, format_share, list_names


@dataclass(frozen=True)
class Lesson:
    """All that a fit needs.

    Attributes
    ----------
    X : Table
        The features.
    y : array
        The labels or numbers.
    target : str
        What they are called.
    task : Task
        Which of both they are.
    reason : str
        Why, if nobody said.
    columns : list of Column
        What became of each column of the table.
    """

    X: pa.Table
    y: NDArray[Any]
    target: str
    task: Task
    reason: str
    columns: list[Column]


def check_target(target: str | None, path: Path) -> str:
    """Find the name of the target, which only an npz need not be told."""
    if target is None and find_suffix(path) != ".npz":
        raise typer.BadParameter("name the column to predict.", param_hint="--target")
    return target or "y"


def prepare_lesson(path: Path, target: str, task: Task, *, keep: Sequence[str] | None, drop: Sequence[str]) -> Lesson:
    """Read a table and choose what to learn from it; with None for ``keep`` as much as possible."""
    table = read_table(path)
    y = read_target(table, target, path)
    task, reason = choose_task(task, y, target)
    if task is Task.CLASSIFICATION:
        y = as_labels(y)
    kept = table.column_names if keep is None else choose_names(keep, table, path)
    columns = survey_columns(table, target=target, keep=kept, drop=choose_names(drop, table, path))
    if not any(column.features for column in columns):
        left_out = "; ".join(f"{column.name} {column.reason}" for column in columns[:5])
        raise ValueError(f"{path} has no column to learn from beside the target {target!r}. {left_out}".strip())
    return Lesson(take_features(table, columns), y, target, task, reason, columns)


def show_lesson(lesson: Lesson, path: Path, out: Output) -> None:
    """Say what was found in a table, and what becomes of it."""
    n_rows = len(lesson.y)
    taken = {kind: [each for each in lesson.columns if each.features and each.kind is kind] for kind in Kind}
    left_out = [each for each in lesson.columns if not each.features]
    dates = [each for kind in PARTS_OF for each in taken[kind]]
    rows = [("numbers", list_names(each.name for each in taken[Kind.NUMBER]))]
    rows += [("categories", list_names(f"{each.name} ({each.n_values})" for each in taken[Kind.CATEGORY]))]
    rows += [("dates" if i == 0 else "", _explain_date(each)) for i, each in enumerate(dates)]
    holed = [each for each in lesson.columns if each.features and each.n_missing]
    rows += [("missing", list_names(f"{each.name} {format_share(each.n_missing / n_rows)}" for each in holed))]
    rows += _group_left_out(left_out)
    rows += [("target", _describe_target(lesson))]
    out.title(path.name, f"{count(n_rows, 'row')}, {count(len(lesson.columns) + 1, 'column')}")
    out.rows([row for row in rows if row[1]])
    out.know(
        table=str(path),
        rows=n_rows,
        target=lesson.target,
        task=lesson.task,
        features=lesson.X.column_names,
        derived={each.name: each.features for each in dates},
        left_out={each.name: each.reason for each in left_out},
    )


def _explain_date(column: Column) -> str:
    parts = [name.rpartition(":")[2] for name in column.features]
    return f"{column.name} becomes " + ", ".join(
        f"{name} ({PARTS[part]})" for name, part in zip(column.features, parts, strict=True)
    )


def _group_left_out(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Put columns together that are left out for the same reason; --keep is named where it helps."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(column.reason, []).append(column.name)
    rows = [f"{list_names(names)} {reason}" for reason, names in groups.items()]
    if any("identifier" in reason or "always" in reason for reason in groups):
        rows.append("(--keep NAME takes one nevertheless)")
    return [("left out" if i == 0 else "", row) for i, row in enumerate(rows)]


def _describe_target(lesson: Lesson) -> str:
    if lesson.task is Task.REGRESSION:
        low, high = lesson.y.min(), lesson.y.max()
        description = f"{lesson.target}, a number from {low:g} to {high:g}"
    else:
        classes, counts = np.unique(lesson.y, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shares = list_names((f"{classes[i]} {format_share(counts[i] / len(lesson.y))}" for i in order), 5)
        description = f"{lesson.target}, {count(len(classes), 'class')}: {shares}"
    return f"{description} ({lesson.reason})" if lesson.reason else description
