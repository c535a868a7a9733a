"""Datasets as arguments of commands: recognised by their first bytes, opened, and told apart from tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mpboost._wording import suggest_name
from mpboost.cli.options import list_reading_options
from mpboost.table_files.options import ReadingOptions

if TYPE_CHECKING:
    from mpboost.datasets.dataset import BinnedDataset

#: The end of names of datasets, and how their files begin.
SUFFIX, MAGIC = ".mpcols", b"\x89MPC"


def is_dataset(path: str | Path) -> bool:
    """Check whether a file is a dataset, or should be one by its name."""
    path = Path(path)
    if not path.is_file():
        return path.suffix.lower() == SUFFIX and not path.is_dir()
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC or path.suffix.lower() == SUFFIX


def find_dataset(
    tables: Sequence[str], *, reading: ReadingOptions | None = None, others: Mapping[str, Any] | None = None
) -> Path | None:
    """Return the dataset that is given in place of tables; None if these are tables.

    ``reading`` and ``others`` are options, by name, that only tables have: with a dataset they are wrong usage.
    """
    datasets = [table for table in tables if is_dataset(table)]
    if not datasets:
        return None
    if len(tables) > 1:
        raise typer.BadParameter("a dataset is used alone, without other datasets or tables.", param_hint="TABLE")
    given = [name for name, value in (others or {}).items() if value]
    given += list_reading_options(reading) if reading is not None else []
    if given:
        raise typer.BadParameter(
            f"this is for tables, but {datasets[0]} is a dataset: its columns were chosen and read by mpboost bin.",
            param_hint=given[0],
        )
    return Path(datasets[0])


def open_dataset(path: Path, target: str | None = None, *, needs_target: bool = False) -> "BinnedDataset":
    """Open a dataset; if there is no such file, suggest a similar name.

    ``target`` is the name of the target if the user gave one: a dataset cannot have another than its own.
    """
    check_dataset_exists(path)
    from mpboost.datasets.dataset import BinnedDataset  # it imports scikit-learn

    dataset = BinnedDataset.open(path)
    if target is not None and target != dataset.target_name:
        own = "has no target" if dataset.target_name is None else f"has the target {dataset.target_name!r}"
        raise ValueError(f"{path} {own}, not {target!r}: make another dataset with mpboost bin --target.")
    if needs_target and dataset.targets is None:
        raise ValueError(f"{path} has no target: make it anew with mpboost bin --target NAME.")
    return dataset


def check_dataset_exists(path: Path) -> None:
    """Raise an error if there is no such dataset, and suggest a similar name."""
    if not path.exists():
        names = [each.name for each in path.parent.glob(f"*{SUFFIX}")] if path.parent.is_dir() else []
        raise FileNotFoundError(f"Dataset not found: {path}{suggest_name(path.name, names)}")
