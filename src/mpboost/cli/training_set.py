"""What a model is trained on: a table and its target, with a summary of both for the user, or a dataset."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from mpboost._wording import count, format_share, list_names
from mpboost.cli.choices import TargetKind
from mpboost.cli.features import Column, ColumnKind, choose_features, make_training_features, parse_column_names
from mpboost.cli.output import Output
from mpboost.cli.target_kinds import as_labels, choose_target_kind, word_classes, word_numbers
from mpboost.cli.targets import read_target, read_weights
from mpboost.data.dates import PARTS
from mpboost.table_files.options import ReadingOptions
from mpboost.table_files.reading import TableReading, read_files


@dataclass(frozen=True)
class TrainingSet(ABC):
    """Rows that are ready for a fit.

    Attributes
    ----------
    X : Table or BinnedDataset
        The features.
    y : array or CodedTargets
        The labels or numbers.
    target : str
        Name of the target.
    kind : TargetKind
        Classification or regression.
    reason : str
        Why, if the user did not decide.
    habits : str
        How a table to predict should be read where there is a choice.
    """

    X: Any
    y: Any
    target: str
    kind: TargetKind
    reason: str
    habits: str

    @abstractmethod
    def show(self, out: Output) -> None:
        """Show the columns, and how they are used."""


@dataclass(frozen=True)
class TrainingTable(TrainingSet):
    """A table that is ready for a fit.

    Attributes
    ----------
    columns : list of Column
        All columns but the target and the weights, used or left out.
    reading : TableReading
        The table, and how it was read.
    weights : array or None
        The weights of rows, if a column has them.
    """

    columns: list[Column]
    reading: TableReading
    weights: NDArray[np.float64] | None = None

    def show(self, out: Output) -> None:
        """Show the columns, and how they are used."""
        n_rows = len(self.y)
        used = {kind: [each for each in self.columns if each.features and each.kind is kind] for kind in ColumnKind}
        left_out = [each for each in self.columns if not each.features]
        dates = [*used[ColumnKind.DATE], *used[ColumnKind.TIME]]
        rows = [("read as", self.reading.description)]
        rows += [("numbers", list_names(each.name for each in used[ColumnKind.NUMBER]))]
        rows += [("categories", list_names(f"{each.name} ({each.n_values})" for each in used[ColumnKind.CATEGORY]))]
        rows += [("dates" if i == 0 else "", _explain_date(each)) for i, each in enumerate(dates)]
        incomplete = [each for each in self.columns if each.features and each.n_missing]
        rows += [("missing", list_names(f"{each.name} {format_share(each.n_missing / n_rows)}" for each in incomplete))]
        rows += group_left_out(left_out)
        rows += [("target", self._describe_target())]
        rows += [
            ("note" if i == 0 else "", note)
            for i, note in enumerate(self.reading.list_notes(besides=[each.name for each in left_out]))
        ]
        out.title(Path(self.reading.name).name, f"{count(n_rows, 'row')}, {count(len(self.columns) + 1, 'column')}")
        out.rows([row for row in rows if row[1]])
        out.record(
            table=self.reading.name,
            format=self.reading.description,
            notes=self.reading.list_notes(),
            rows=n_rows,
            target=self.target,
            task=self.kind,
            features=[name for each in self.columns for name in each.features],
            derived={each.name: each.features for each in dates},
            left_out={each.name: each.reason for each in left_out},
        )

    def _describe_target(self) -> str:
        if self.kind is TargetKind.REGRESSION:
            description = word_numbers(self.target, self.y.min(), self.y.max())
        else:
            description = word_classes(self.target, *np.unique(self.y, return_counts=True))
        return f"{description} ({self.reason})" if self.reason else description


def choose_target_name(target: str | None, paths: Sequence[str]) -> str:
    """Return the name of the target column: required, except for .npz files."""
    if target is None and Path(paths[0]).suffix.lower() != ".npz":
        raise typer.BadParameter("give the name of the column to predict.", param_hint="--target")
    return target or "y"


def read_training_table(
    paths: Sequence[str],
    target: str,
    kind: TargetKind,
    options: ReadingOptions,
    *,
    weights: str | None = None,
    keep: Sequence[str] | None,
    drop: Sequence[str],
) -> TrainingTable:
    """Read a table and choose its features; ``keep=None`` keeps all columns."""
    reading = read_files(paths, options)
    y = read_target(reading, target)
    kind, reason = choose_target_kind(kind, y, target, reading.obstacles.get(target, ""))
    if kind is TargetKind.CLASSIFICATION:
        y = as_labels(y)
    weighted = None if weights is None else read_weights(reading, weights)
    names = reading.table.column_names
    columns = choose_features(
        reading,
        target=target,
        weights=weights,
        keep=names if keep is None else parse_column_names(keep, names, reading.name),
        drop=parse_column_names(drop, names, reading.name),
    )
    check_any_feature(columns, reading.name, target)
    X = make_training_features(reading.table, columns)
    reading = replace(reading, table=X, written=X)  # the text of a large file is no longer needed
    return TrainingTable(X, y, target, kind, reason, str(reading.habits), columns, reading, weighted)


def check_any_feature(columns: Sequence[Column], name: str, target: str | None) -> None:
    """Raise an error if all columns of a table are left out."""
    if not any(column.features for column in columns):
        left_out = "; ".join(f"{column.name} {column.reason}" for column in columns[:5])
        raise ValueError(f"{name} has no usable column besides the target {target!r}. {left_out}".strip())


def _explain_date(column: Column) -> str:
    parts = [name.rpartition(":")[2] for name in column.features]
    return f"{column.name} becomes " + ", ".join(
        f"{name} ({PARTS[part]})" for name, part in zip(column.features, parts, strict=True)
    )


def group_left_out(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Group the columns that are left out by reason; mention --keep where it helps."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(column.reason, []).append(column.name)
    rows = [f"{list_names(names)} {reason}" for reason, names in groups.items()]
    if any("identifier" in reason or "always" in reason for reason in groups):
        rows.append("(--keep NAME uses such a column anyway)")
    return [("left out" if i == 0 else "", row) for i, row in enumerate(rows)]
