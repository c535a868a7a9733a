"""Rows to predict: those of a table in memory, of Parquet files batch by batch, or of a dataset."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from numpy.typing import NDArray

from mpboost.cli.dataset_files import find_dataset, open_dataset
from mpboost.cli.features import find_model_columns, make_model_features, parse_column_names
from mpboost.cli.model_summary import get_target_name
from mpboost.cli.output import Output
from mpboost.cli.reading import read_dataset_target, read_for_model, read_known_target
from mpboost.data.targets import Targets
from mpboost.datasets.batches import count_batch_rows
from mpboost.datasets.dataset import BinnedDataset
from mpboost.estimators.base import MinipatchBooster
from mpboost.table_files.options import Habits, ReadingOptions
from mpboost.table_files.parquet import ParquetFiles, open_parquet
from mpboost.table_files.reading import TableReading


class Piece(NamedTuple):
    """Some of the rows to predict.

    Attributes
    ----------
    X : table, array or BinnedDataset
        The features.
    copied : Table
        The columns to copy to the output.
    y : targets or None
        The targets, if all of these rows have one that the model knows.
    """

    X: Any
    copied: pa.Table
    y: Targets | None


class PredictionRows(Protocol):
    """Rows to predict.

    Attributes
    ----------
    name : str
        Name of their file.
    n_rows : int
        Their number.
    copied : Schema
        The columns to copy to the output.
    """

    name: str
    n_rows: int
    copied: pa.Schema

    def __iter__(self) -> Iterator[Piece]:
        """Read the rows, some at a time."""


def open_rows(
    paths: Sequence[str], model: MinipatchBooster, options: ReadingOptions, columns: Sequence[str], out: Output
) -> PredictionRows:
    """Open a table or a dataset to predict; ``columns`` are those to copy to the output."""
    if (path := find_dataset(paths, reading=options, others={"--columns": columns})) is not None:
        return DatasetRows(open_dataset(path), path, model)
    files = open_parquet(paths)
    if files is not None:
        return ParquetRows(files, model, columns)
    return TableRows(read_for_model(paths, model, options, out), model, columns)


class TableRows:
    """The rows of a table in memory, in one piece."""

    def __init__(self, reading: TableReading, model: MinipatchBooster, columns: Sequence[str]):
        self._reading, self._model = reading, model
        names = parse_column_names(columns, reading.table.column_names, reading.name)
        self._copied = reading.written.select(names)
        self.name, self.n_rows, self.copied = reading.name, reading.table.num_rows, self._copied.schema

    def __iter__(self) -> Iterator[Piece]:
        """Give all rows."""
        X = make_model_features(self._reading, self._model)
        yield Piece(X, self._copied, offer_target(self._reading, self._model))


class ParquetRows:
    """The rows of Parquet files, of which only some are in memory at a time."""

    def __init__(self, files: ParquetFiles, model: MinipatchBooster, columns: Sequence[str]):
        self._files, self._model = files, model
        names = files.schema.names
        sources = find_model_columns(model, files.name, names)
        chosen = parse_column_names(columns, names, files.name)
        needed = names if sources is None else [source for source, _ in sources]
        target = get_target_name(model)
        self._needed = list(dict.fromkeys([*needed, *chosen, *([target] if target in names else [])]))
        self.name, self.n_rows = files.name, files.n_rows
        self.copied = pa.schema([files.schema.field(name) for name in chosen])

    def __iter__(self) -> Iterator[Piece]:
        """Read the rows batch by batch."""
        for table in self._files.read_batches(self._needed, count_batch_rows(len(self._needed))):
            reading = TableReading(table, self.name, self._files.description, [], {}, Habits(), table)
            X = make_model_features(reading, self._model)
            yield Piece(X, table.select(self.copied.names), offer_target(reading, self._model))


class DatasetRows:
    """The rows of a dataset, in one piece, whose codes stay on disk."""

    def __init__(self, dataset: BinnedDataset, path: Path, model: MinipatchBooster):
        self._dataset, self._model = dataset, model
        self.name, self.n_rows, self.copied = str(path), dataset.n_rows, pa.schema([])

    def __iter__(self) -> Iterator[Piece]:
        """Give all rows."""
        y = None
        if self._dataset.target_name is not None and self._dataset.target_name == get_target_name(self._model):
            try:
                y = read_dataset_target(self._dataset, self.name, self._model)
            except ValueError:  # other classes, or words in place of numbers
                y = None
        yield Piece(self._dataset, pa.table({}), y)
        self._dataset.check_intact()


def offer_target(reading: TableReading, model: MinipatchBooster) -> NDArray[Any] | None:
    """Read the target of a table to predict, if it has one of all rows that the model knows."""
    target = get_target_name(model)
    if target is None or target not in reading.table.column_names:
        return None
    try:
        return read_known_target(reading, model, target)
    except ValueError:  # missing values, or other ones: the column is there to be predicted
        return None
