"""Describe a dataset: on the terminal, and as JSON."""

from pathlib import Path
from typing import Any

import numpy as np

from mpboost._wording import count, list_names
from mpboost.cli.choices import TargetKind
from mpboost.cli.output import Output
from mpboost.cli.target_kinds import choose_target_kind, word_classes, word_numbers
from mpboost.data.dates import name_source
from mpboost.data.targets import CodedTargets, Targets
from mpboost.datasets.dataset_file import describe_size
from mpboost.datasets.facts import DatasetFacts, read_facts

#: Distinct values of the target that are listed in JSON.
MAX_LISTED_VALUES = 1000


def word_shape(facts: DatasetFacts) -> str:
    """Tell the shape and the size of a dataset."""
    shape = f"{count(facts.content.n_rows, 'row')}, {count(facts.content.n_features, 'feature')}"
    return f"{shape}, {describe_size(facts.n_bytes)}"


def list_dataset_rows(facts: DatasetFacts, target: str) -> list[tuple[str, str]]:
    """List what a dataset has, as labels and values; ``target`` describes its target."""
    features = list_features(facts)
    categories = [each for each in features if each["kind"] == "category"]
    numbers: list[str] = []
    dates: dict[str, list[str]] = {}
    for each in features:
        source, part = name_source(each["name"], ())
        if each["kind"] == "number" and part:
            dates.setdefault(source, []).append(part)
        elif each["kind"] == "number":
            numbers.append(each["name"])
    n_bins = [each["bins"] for each in features if each["kind"] == "number"]
    of_numbers = f"{min(n_bins)} to {max(n_bins)} for numbers, " if n_bins else ""
    return [
        ("numbers", list_names(numbers)),
        ("categories", list_names(f"{each['name']} ({each['categories']})" for each in categories)),
        ("dates", list_names(f"{source} ({', '.join(parts)})" for source, parts in dates.items())),
        ("missing", list_names(each["name"] for each in features if each["has_missing"])),
        ("bins", f"{of_numbers}at most {facts.content.known.max_bins}"),
        ("target", target),
        ("weights", "one for each row" if facts.content.has_weights else ""),
    ]


def list_features(facts: DatasetFacts) -> list[dict[str, Any]]:
    """List the features: name, kind, number of bins or categories, and whether values are missing."""
    known = facts.content.known
    categories = known.features["categories_"] or [None] * facts.content.n_features
    n_bins = (np.diff(known.mapper.offsets) + 1).tolist()
    features: list[dict[str, Any]] = []
    for j, name in enumerate(facts.feature_names):
        kind = "number" if categories[j] is None else "category"
        feature = {"name": name, "kind": kind, "bins": n_bins[j], "has_missing": bool(facts.content.has_missing[j])}
        features.append(feature if categories[j] is None else feature | {"categories": len(categories[j])})
    return features


def choose_dataset_kind(wanted: TargetKind, y: Targets, name: str) -> tuple[TargetKind, str]:
    """Choose classification or regression, as for the target of a table; if the values decided, also say why."""
    if isinstance(y, CodedTargets):
        return choose_target_kind(wanted, y.values, name)
    if wanted is not TargetKind.AUTO:
        return wanted, ""
    return TargetKind.REGRESSION, "too many distinct numbers for classes"


def describe_target(facts: DatasetFacts, kind: TargetKind = TargetKind.AUTO, *, is_quick: bool = False) -> str:
    """Describe the target; if it must be quick, a column of many different numbers is not read."""
    y, name = facts.targets, facts.content.target_name or "y"
    if y is None:
        return "none"
    kind, reason = choose_dataset_kind(kind, y, name)
    if not isinstance(y, CodedTargets):
        words = f"{name}, a number" if is_quick else word_numbers(name, y.min(), y.max())
    elif kind is TargetKind.CLASSIFICATION:
        words = word_classes(name, y.values, y.count_values())
    else:
        words = word_numbers(name, y.values.min(), y.values.max())
    return f"{words} ({reason})" if reason else words


def describe_dataset(facts: DatasetFacts) -> dict[str, Any]:
    """Collect the facts about a dataset for JSON."""
    y, content = facts.targets, facts.content
    document: dict[str, Any] = {
        "rows": content.n_rows,
        "features": list_features(facts),
        "max_bins": content.known.max_bins,
        "target": None if y is None else content.target_name or "y",
        "has_weights": content.has_weights,
        "bytes": facts.n_bytes,
        "format": facts.schema,
    }
    if isinstance(y, CodedTargets):
        document["target_values"] = len(y.values)
        if len(y.values) <= MAX_LISTED_VALUES:
            document["counts"] = dict(zip(y.values.tolist(), y.count_values().tolist(), strict=True))
    return document


def show_dataset(path: Path, out: Output) -> None:
    """Show what is in a dataset."""
    facts = read_facts(path)
    out.title(path.name, word_shape(facts))
    rows = [*list_dataset_rows(facts, describe_target(facts, is_quick=True)), ("format", str(facts.schema))]
    out.rows([row for row in rows if row[1]])
    out.record(dataset=str(path), **describe_dataset(facts))
