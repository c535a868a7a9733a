"""Describe a dataset: on the terminal, and as JSON."""

from pathlib import Path
from typing import Any

import numpy as np

from mpboost._wording import count, format_number, list_names
from mpboost.cli.choices import TargetKind
from mpboost.cli.output import Output
from mpboost.cli.targets import choose_target_kind
from mpboost.cli.training_set import word_classes, word_numbers
from mpboost.containers.container import PROLOGUE
from mpboost.data.dates import name_source
from mpboost.data.targets import CodedTargets
from mpboost.datasets.dataset import BinnedDataset
from mpboost.datasets.dataset_file import describe_size
from mpboost.datasets.targets import MAX_VALUES

#: Distinct values of the target that are listed in JSON.
MAX_LISTED_VALUES = 1000


def word_shape(dataset: BinnedDataset) -> str:
    """Tell the shape and the size of a dataset."""
    shape = f"{count(dataset.n_rows, 'row')}, {count(dataset.n_features, 'feature')}"
    return f"{shape}, {describe_size(dataset.n_bytes)}"


def list_dataset_rows(dataset: BinnedDataset, target: str) -> list[tuple[str, str]]:
    """List what a dataset has, as labels and values; ``target`` describes its target."""
    facts = list_features(dataset)
    names = [each["name"] for each in facts]
    sources = [name_source(name, ()) for name in names]
    dates: dict[str, list[str]] = {}
    numbers = []
    for name, (source, part), each in zip(names, sources, facts, strict=True):
        if each["kind"] != "number":
            continue
        if part:
            dates.setdefault(source, []).append(part)
        else:
            numbers.append(name)
    n_bins = [each["bins"] for each in facts if each["kind"] == "number"]
    of_numbers = f"{min(n_bins)} to {max(n_bins)} for numbers, " if n_bins else ""
    return [
        ("numbers", list_names(numbers)),
        (
            "categories",
            list_names(f"{each['name']} ({each['categories']})" for each in facts if each["kind"] == "category"),
        ),
        ("dates", list_names(f"{source} ({', '.join(parts)})" for source, parts in dates.items())),
        ("missing", list_names(each["name"] for each in facts if each["has_missing"])),
        ("bins", f"{of_numbers}at most {dataset.max_bins}"),
        ("target", target),
        ("weights", "one for each row" if dataset.sample_weight is not None else ""),
    ]


def list_features(dataset: BinnedDataset) -> list[dict[str, Any]]:
    """List the features: name, kind, number of bins or categories, and whether values are missing."""
    known = dataset.known.features
    names = dataset.feature_names or [f"x{j}" for j in range(dataset.n_features)]
    categories = known["categories_"] or [None] * dataset.n_features
    n_bins = (np.diff(dataset.known.mapper.offsets) + 1).tolist()
    facts: list[dict[str, Any]] = []
    for j, name in enumerate(names):
        values = categories[j]
        kind = "number" if values is None else "category"
        facts.append({"name": str(name), "kind": kind, "bins": n_bins[j], "has_missing": bool(dataset.has_missing[j])})
        if values is not None:
            facts[j]["categories"] = len(values)
    return facts


def choose_dataset_kind(
    wanted: TargetKind, dataset: BinnedDataset, classes: CodedTargets | None
) -> tuple[TargetKind, str]:
    """Choose classification or regression, as for the target of a table; if the values decided, also say why.

    ``classes`` are the targets if there are few different ones, or None.
    """
    name = dataset.target_name or "y"
    if classes is not None:
        return choose_target_kind(wanted, classes.values, name)
    if wanted is not TargetKind.AUTO:
        return wanted, ""
    return TargetKind.REGRESSION, f"more than {format_number(MAX_VALUES)} distinct numbers"


def describe_target(dataset: BinnedDataset, kind: TargetKind = TargetKind.AUTO, *, is_quick: bool = False) -> str:
    """Describe the target; if it must be quick, the numbers of a column of its own are not read."""
    y, name = dataset.targets, dataset.target_name or "y"
    if y is None:
        return "none"
    if isinstance(y, CodedTargets):
        chosen, reason = choose_dataset_kind(kind, dataset, y)
        if chosen is TargetKind.CLASSIFICATION:
            words = word_classes(name, y.values, y.count_values())
        else:
            words = word_numbers(name, y.values.min(), y.values.max())
    else:
        _, reason = choose_dataset_kind(kind, dataset, None)
        words = f"{name}, a number" if is_quick else word_numbers(name, y.min(), y.max())
    return f"{words} ({reason})" if reason else words


def describe_dataset(dataset: BinnedDataset, path: Path) -> dict[str, Any]:
    """Collect the facts about a dataset for JSON."""
    y = dataset.targets
    document: dict[str, Any] = {
        "dataset": str(path),
        "rows": dataset.n_rows,
        "features": list_features(dataset),
        "max_bins": dataset.max_bins,
        "target": None if y is None else dataset.target_name or "y",
        "has_weights": dataset.sample_weight is not None,
        "bytes": dataset.n_bytes,
        "format": read_format(path),
    }
    if isinstance(y, CodedTargets):
        document["target_values"] = len(y.values)
        if len(y.values) <= MAX_LISTED_VALUES:
            document["counts"] = dict(zip(y.values.tolist(), y.count_values().tolist(), strict=True))
    return document


def read_format(path: Path) -> int:
    """Read the number of the format of a dataset's file."""
    with path.open("rb") as file:
        return int(PROLOGUE.unpack(file.read(PROLOGUE.size))[1])


def show_dataset(path: Path, dataset: BinnedDataset, out: Output) -> None:
    """Show what is in a dataset."""
    out.title(path.name, word_shape(dataset))
    rows = [*list_dataset_rows(dataset, describe_target(dataset, is_quick=True)), ("format", str(read_format(path)))]
    out.rows([row for row in rows if row[1]])
    out.record(**describe_dataset(dataset, path))
