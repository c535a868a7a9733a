"""Train on a dataset: one that was made before, or one that a large table is binned into for a while."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mpboost.cli.choices import TargetKind
from mpboost.cli.dataset_building import ParquetSource, Source
from mpboost.cli.dataset_files import SUFFIX
from mpboost.cli.dataset_summary import (
    choose_dataset_kind,
    describe_dataset,
    describe_target,
    list_dataset_rows,
    word_shape,
)
from mpboost.cli.output import Output
from mpboost.cli.target_kinds import as_labels
from mpboost.cli.training_set import TrainingSet
from mpboost.data.targets import CodedTargets
from mpboost.datasets.dataset import BinnedDataset
from mpboost.datasets.dataset_file import describe_size
from mpboost.datasets.facts import read_facts
from mpboost.estimators.memory import measure_available_memory
from mpboost.table_files.options import Habits
from mpboost.table_files.parquet import ParquetFiles

#: A table is binned first if it takes more than this share of the available memory.
LARGE_SHARE = 0.5


@dataclass(frozen=True)
class TrainingDataset(TrainingSet):
    """A dataset that is ready for a fit.

    Attributes
    ----------
    path : Path
        Its file; if there is a source, that of the source.
    source : Source or None
        What was binned for this fit; None if the dataset was made before.
    """

    path: Path
    source: Source | None = None

    def show(self, out: Output) -> None:
        """Show the features."""
        content = read_facts(self.X.path)
        words = describe_target(content, self.kind)
        target = f"{words} ({self.reason})" if self.reason else words
        rows = list_dataset_rows(content, target)
        facts = describe_dataset(content) | {"dataset": str(self.path)}
        if self.source is not None:
            rows = [("read as", self.source.description), *rows, *self.source.list_left_out()]
            facts = {key: facts[key] for key in ("rows", "target", "features")}
            facts |= {"table": self.source.name, "format": self.source.description, "left_out": self.source.left_out}
        out.title(self.path.name, word_shape(content))
        out.rows([row for row in rows if row[1]])
        out.record(**facts | {"task": self.kind, "features": [each["name"] for each in facts["features"]]})


def read_training_dataset(dataset: BinnedDataset, path: Path, kind: TargetKind) -> TrainingDataset:
    """Choose how to learn from a dataset."""
    y = dataset.targets
    assert y is not None
    kind, reason = choose_dataset_kind(kind, y, dataset.target_name or "y")
    if kind is TargetKind.CLASSIFICATION and isinstance(y, CodedTargets):
        y = replace(y, values=as_labels(y.values))
    habits = dataset.table_habits or str(Habits())
    return TrainingDataset(dataset, y, dataset.target_name or "y", kind, reason, habits, path)


def is_large(files: ParquetFiles) -> bool:
    """Check whether a table takes so much memory that it is better binned first."""
    available = measure_available_memory()
    return available is not None and files.n_bytes > LARGE_SHARE * available


@contextmanager
def bin_for_training(source: ParquetSource, kind: TargetKind, folder: Path, out: Output) -> Iterator[TrainingDataset]:
    """Bin Parquet files into a dataset that is there for a while, in the folder of the model."""
    files, available = source.files, measure_available_memory()
    reason = ""
    if available is not None and is_large(files):
        memory = f"{describe_size(files.n_bytes)} of memory, and {describe_size(available)} are free"
        reason = f"{files.name} would take about {memory}. "
    size = describe_size(files.n_rows * sum(len(column.features) for column in source.columns))
    place = folder.absolute()
    with tempfile.TemporaryDirectory(prefix=".mpboost-", dir=folder) as temporary:
        out.say(
            f"{reason}Binning {files.name} on disk first: about {size} in {place} until the model is saved.",
            "All columns are used, also those that look like identifiers; --drop NAME leaves one out.",
        )
        with out.progress() as is_shown:
            dataset = source.build(Path(temporary, f"table{SUFFIX}"), verbose=int(is_shown))
        with dataset:
            yield replace(read_training_dataset(dataset, Path(files.name), kind), source=source)
