"""Read tables for a model: the columns that it knows, as it knows them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import typer
from numpy.typing import NDArray
from sklearn.base import is_classifier

from mpboost.cli.features import list_word_columns
from mpboost.cli.model_summary import get_target_name
from mpboost.cli.output import Output
from mpboost.cli.target_kinds import as_labels
from mpboost.cli.targets import read_target
from mpboost.data.targets import CodedTargets, Targets
from mpboost.datasets.dataset import BinnedDataset
from mpboost.estimators.base import MinipatchBooster
from mpboost.table_files.options import Habits, ReadingOptions
from mpboost.table_files.reading import TableReading, read_files


def read_for_model(
    paths: Sequence[str], model: Any, options: ReadingOptions, out: Output, *, target: str | None = None
) -> TableReading:
    """Read a table; what it leaves open, such as the month of 3/9/2017, is taken as in training.

    ``model`` is a fitted model, or anything that has those of its attributes that are about the table.
    """
    usual = Habits.parse(getattr(model, "table_habits_", ""))
    words = list_word_columns(model, target or get_target_name(model))
    options = replace(options, missing=(*options.missing, *usual.missing))
    reading = read_files(paths, options, as_words=words, usual=usual)
    for note in reading.list_notes():
        out.note(f"{reading.name}: {note}.")
    return reading


def read_labelled_table(
    paths: Sequence[str], model: MinipatchBooster, options: ReadingOptions, out: Output, target: str | None
) -> tuple[TableReading, NDArray[Any], str]:
    """Read a table and its target; also return the name of the target column."""
    target = target or get_target_name(model)
    if target is None:
        raise typer.BadParameter("needed, since the model file has no name for its target.", param_hint="--target")
    reading = read_for_model(paths, model, options, out, target=target)
    return reading, read_known_target(reading, model, target), target


def read_known_target(reading: TableReading, model: MinipatchBooster, target: str) -> NDArray[Any]:
    """Read the target of a table: numbers, or classes that the model knows."""
    y = read_target(reading, target)
    return _check_values(y, y, model, f"The target {target!r} of {reading.name}", reading.obstacles.get(target, ""))


def read_dataset_target(dataset: BinnedDataset, name: str, model: MinipatchBooster) -> Targets:
    """Read the target of a dataset: numbers, or classes that the model knows. ``name`` is that of its file."""
    y = dataset.targets
    assert y is not None
    title = f"The target {dataset.target_name!r} of {name}"
    if isinstance(y, CodedTargets):
        return CodedTargets(_check_values(y.values, y.list_distinct(), model, title), y.codes)
    return _check_values(y, y, model, title)


def _check_values(
    y: NDArray[Any], distinct: NDArray[Any], model: MinipatchBooster, title: str, obstacle: str = ""
) -> NDArray[Any]:
    """Check that targets are numbers, or classes that the model knows, and return them as the model has them."""
    if not is_classifier(model):
        if y.dtype.kind not in "iuf":
            raise ValueError(f"{title} contains text, but the model predicts numbers{obstacle and ': '}{obstacle}.")
        return y
    if unknown := sorted(set(as_labels(distinct).tolist()) - set(model.classes_.tolist()), key=str):
        raise ValueError(f"{title} contains classes unknown to the model: {unknown[:5]}.")
    return as_labels(y)
