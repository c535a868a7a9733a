"""Make datasets from tables: from Parquet files batch by batch, from other files by way of memory."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpboost.cli.choices import TargetKind
from mpboost.cli.dataset_files import is_dataset, open_dataset
from mpboost.cli.features import (
    Column,
    ColumnKind,
    check_column_name,
    choose_features_by_type,
    find_model_columns,
    infer_column_kind,
    make_model_features,
    parse_column_names,
)
from mpboost.cli.model_summary import get_target_name, open_model
from mpboost.cli.output import Output
from mpboost.cli.reading import read_for_model
from mpboost.cli.targets import read_target, read_weights
from mpboost.cli.training_set import check_any_feature, group_left_out, read_training_table
from mpboost.data.targets import CodedTargets
from mpboost.datasets.dataset import BinnedDataset
from mpboost.table_files.options import ReadingOptions
from mpboost.table_files.parquet import ParquetFiles
from mpboost.table_files.reading import TableReading

#: The most bins of a feature, by default.
MAX_BINS = 255


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a dataset is to have.

    Attributes
    ----------
    target, weights : str or None
        Names of the columns with targets and weights.
    keep, drop : sequence of str or None
        Columns to use in any case, None for all of them, and columns not to use, as the user gave them.
    max_bins : int
        The most bins of a feature.
    like : BinnedDataset, fitted model or None
        What has the features and bins to take over.
    """

    target: str | None
    weights: str | None = None
    keep: Sequence[str] | None = ()
    drop: Sequence[str] = ()
    max_bins: int = MAX_BINS
    like: Any = None


@dataclass(frozen=True)
class Source(ABC):
    """A table that a dataset is made from.

    Attributes
    ----------
    plan : Plan
        What the dataset is to have.
    name, description : str
        Name of the file, and how it is read.
    columns : list of Column
        Columns that are used or left out, except target and weights.
    notes : list of str
        What a user may not expect.
    """

    plan: Plan
    name: str
    description: str
    columns: list[Column]
    notes: list[str] = field(default_factory=list, kw_only=True)

    @abstractmethod
    def build(self, path: Path, verbose: int) -> BinnedDataset:
        """Write the dataset to a file; the file is there when it is complete."""

    @property
    def left_out(self) -> dict[str, str]:
        """Names of the columns that are left out, and why."""
        return {column.name: column.reason for column in self.columns if not column.features}

    def list_left_out(self) -> list[tuple[str, str]]:
        """List the columns that are left out, as labels and values."""
        return group_left_out([column for column in self.columns if not column.features])


@dataclass(frozen=True)
class ParquetSource(Source):
    """Parquet files, which are read twice, batch by batch: they may be larger than memory."""

    files: ParquetFiles

    def build(self, path: Path, verbose: int) -> BinnedDataset:
        """Write the dataset to a file."""
        return BinnedDataset.from_parquet(
            self.files.paths,
            target=self.plan.target,
            sample_weight=self.plan.weights,
            columns=[column.name for column in self.columns if column.features],
            max_bins=self.plan.max_bins,
            like=self.plan.like,
            file=path,
            verbose=verbose,
        )


@dataclass(frozen=True)
class TableSource(Source):
    """A table in memory."""

    X: pa.Table | NDArray[Any]
    y: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    habits: str

    def build(self, path: Path, verbose: int) -> BinnedDataset:
        """Write the dataset to a file."""
        return BinnedDataset._from_table(
            self.X,
            self.y,
            self.weights,
            None if self.y is None else self.plan.target,
            self.habits,
            max_bins=self.plan.max_bins,
            like=self.plan.like,
            file=path,
            verbose=verbose,
        )


def open_like(path: Path) -> Any:
    """Open the dataset or model whose features and bins are taken over."""
    return open_dataset(path) if is_dataset(path) else open_model(path)


def choose_parquet_columns(files: ParquetFiles, plan: Plan) -> ParquetSource:
    """Choose the columns of Parquet files by their types: values are not looked at."""
    names = files.schema.names
    plan = replace(plan, target=choose_target(plan.target, plan.like, names))
    for name, what in ((plan.target, "target"), (plan.weights, "column of weights")):
        if name is not None:
            check_column_name(name, names, files.name)
            kind = infer_column_kind(files.schema.field(name).type)
            if kind is not ColumnKind.NUMBER and (what != "target" or kind is not ColumnKind.CATEGORY):
                allowed = "numbers and classes can be predicted" if what == "target" else "numbers are weights"
                raise ValueError(f"The {what} {name!r} contains {kind}: only {allowed}.")
    parse_column_names(plan.keep or (), names, files.name)  # all are kept, but a wrong name is a mistake
    sources = None if plan.like is None else find_model_columns(as_model(plan.like), files.name, names)
    if sources is None:
        dropped = parse_column_names(plan.drop, names, files.name)
        columns = choose_features_by_type(files.schema, target=plan.target, weights=plan.weights, drop=dropped)
        check_any_feature(columns, files.name, plan.target)
    else:
        found = dict.fromkeys(source for source, _ in sources)
        columns = [Column(name, infer_column_kind(files.schema.field(name).type), (name,)) for name in found]
    return ParquetSource(plan, files.name, files.description, columns, files)


def read_source(paths: Sequence[str], plan: Plan, options: ReadingOptions, out: Output) -> TableSource:
    """Read a table into memory, and choose its columns by their values as ``fit`` does."""
    if plan.like is not None:
        return _read_like(read_for_model(paths, as_model(plan.like), options, out, target=plan.target), plan)
    assert plan.target is not None
    data = read_training_table(
        paths,
        plan.target,
        TargetKind.CLASSIFICATION,  # whole numbers are stored as such; fit decides what they mean
        options,
        weights=plan.weights,
        keep=plan.keep,
        drop=plan.drop,
    )
    left_out = [column.name for column in data.columns if not column.features]
    notes, reading = data.reading.list_notes(besides=left_out), data.reading
    return TableSource(
        plan, reading.name, reading.description, data.columns, data.X, data.y, data.weights, data.habits, notes=notes
    )


def _read_like(reading: TableReading, plan: Plan) -> TableSource:
    """Choose the columns that a dataset or a model has."""
    plan = replace(plan, target=choose_target(plan.target, plan.like, reading.table.column_names))
    X = make_model_features(reading, as_model(plan.like))
    y = None if plan.target is None else read_target(reading, plan.target)
    weights = None if plan.weights is None else read_weights(reading, plan.weights)
    return TableSource(plan, reading.name, reading.description, [], X, y, weights, str(reading.habits))


def as_model(like: Any) -> Any:
    """Return an object that has, of the attributes of a fitted model, those that are about its table."""
    if not isinstance(like, BinnedDataset):
        return like
    model: Any = like.known.make_reader()
    model.target_name_, model.table_habits_ = like.target_name, like.table_habits or ""
    if isinstance(like.targets, CodedTargets):
        model.classes_ = like.targets.values
    return model


def choose_target(target: str | None, like: Any, columns: Sequence[str]) -> str | None:
    """Return the name of the target: as given, or that of the dataset or model to be like, if the table has it."""
    if target is not None or like is None:
        return target
    usual = get_target_name(as_model(like))
    return usual if usual in columns else None
