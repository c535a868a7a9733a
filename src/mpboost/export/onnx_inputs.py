"""What an ONNX model is given: one table of numbers, or one input per column, of numbers or of categories."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mpboost._arrays import Floats
from mpboost._wording import count
from mpboost.data.categories import Categories
from mpboost.export.description import Description, Feature
from mpboost.export.onnx_graph import Graph
from mpboost.export.onnx_trees import DOMAIN, FIRST_CODE, round_down

#: How a category that is missing is written in an input of text, and in one of whole numbers.
NO_TEXT, NO_NUMBER = "", int(np.iinfo(np.int64).min)

#: The name of the input if there is one for all features.
TABLE = "X"

Layout = Literal["auto", "table", "columns"]


def add_inputs(graph: Graph, description: Description, layout: Layout) -> tuple[dict[str, tuple[str, int]], str]:
    """Add what reads the inputs; return the type and the number of columns of each, and the name of the table."""
    kinds = [_choose_kind(feature) for feature in description.features]
    if layout == "auto":
        layout = "columns" if {"string", "int64"} & set(kinds) else "table"
    if graph.float_type == "float32":
        warn_of_float32(description, [layout == "table" or kind is None for kind in kinds])
    if layout == "table":
        return {TABLE: (graph.float_type, len(kinds))}, add_table(graph, description)
    graph.name_inputs(feature.name for feature in description.features)
    names = [feature.name or graph.make_name(f"x{number}") for number, feature in enumerate(description.features)]
    if len(set(names)) < len(names):
        raise ValueError("Two features have the same name, so they cannot be inputs of their own: rename one of them.")
    graph.name_inputs(names)
    inputs = {name: (kind or graph.float_type, 1) for name, kind in zip(names, kinds, strict=True)}
    columns = [
        name if feature.categories is None else _add_codes(graph, name, feature.categories, kind)
        for name, feature, kind in zip(names, description.features, kinds, strict=True)
    ]
    return inputs, graph.add("Concat", *columns, axis=1)


def warn_of_float32(description: Description, are_numbers: Sequence[bool]) -> None:
    """Warn if float32 cannot hold values that trees of the model tell apart, in inputs that are numbers."""
    trees = description.trees
    blurred = [
        feature.name
        for number, (feature, is_number) in enumerate(zip(description.features, are_numbers, strict=True))
        if is_number and _is_blurred(feature, trees.thresholds[trees.features == number])
    ]
    if blurred:
        names = ", ".join(map(repr, blurred[:5])) + (", ..." if len(blurred) > 5 else "")
        warnings.warn(
            f"float32 is too coarse for {count(len(blurred), 'feature')} ({names}): values that trees tell apart are "
            "the same number there, so rows that had them as float64 can get other predictions. Export with "
            'float_type="float64".',
            stacklevel=4,
        )


def _is_blurred(feature: Feature, thresholds: Floats) -> bool:
    """Tell whether float32 has no number for a category, none near a threshold, or one for two thresholds."""
    if feature.categories is not None:
        known = np.array([float(value) for value in feature.categories.values])
        return bool(np.any(round_down(known) != known))
    distinct = np.unique(thresholds[np.isfinite(thresholds)])
    rounded = round_down(distinct)
    is_far = np.abs(rounded - distinct) > np.finfo(np.float32).eps * np.abs(distinct)
    return len(np.unique(rounded)) < len(rounded) or bool(np.any(is_far))


def _choose_kind(feature: Feature) -> str | None:
    """Choose the type of an input: that of categories, or None for numbers, also of categories that are numbers."""
    if feature.categories is None:
        return None
    are_text = {isinstance(value, str) for value in feature.categories.values}
    if are_text == {True, False}:
        raise ValueError(
            f"The categories of feature {feature.name!r} are text and numbers: an ONNX model needs one type. Convert "
            "the column to text and fit the model again."
        )
    if True in are_text:
        return "string"
    is_whole = all(isinstance(value, int) and abs(value) < 2**63 for value in feature.categories.values)
    return "int64" if is_whole and feature.categories.values else None


def add_table(graph: Graph, description: Description) -> str:
    """Add what reads the input X, a table of numbers; return the name of a table with codes for categories."""
    if any(_choose_kind(feature) == "string" for feature in description.features):
        raise ValueError(
            'Categories of text do not fit in a table of numbers: choose inputs="columns", or, in a pipeline, encode '
            "them before the model."
        )
    if not description.has_categories:
        return TABLE
    columns, pending = [], 0  # columns of numbers side by side are taken at once
    for number, feature in enumerate([*description.features, None]):
        if feature is not None and feature.categories is None:
            continue
        if number > pending:
            columns.append(_slice(graph, pending, number))
        if feature is not None and feature.categories is not None:
            columns.append(_add_codes(graph, _slice(graph, number, number + 1), feature.categories, None))
        pending = number + 1
    return graph.add("Concat", *columns, axis=1)


def _slice(graph: Graph, first: int, last: int) -> str:
    return graph.add("Slice", TABLE, *(graph.constant(np.array([bound])) for bound in (first, last, 1)))


def _add_codes(graph: Graph, column: str, categories: Categories, kind: str | None) -> str:
    """Add what turns a column of categories into codes + 1; 0 is missing."""
    codes = np.arange(len(categories.values)) + FIRST_CODE
    other = len(codes) + FIRST_CODE if categories.has_other else 0
    if kind is None:
        return _compare_numbers(graph, column, categories, codes, other)
    known: dict[Any, int] = {NO_TEXT if kind == "string" else NO_NUMBER: 0}
    known |= dict(zip(categories.values, codes.tolist(), strict=True))
    keys: dict[str, Any] = (
        {"keys_strings": list(known)} if kind == "string" else {"keys_int64s": [int(key) for key in known]}
    )
    codes_of_keys = list(known.values())
    encoded = graph.add("LabelEncoder", column, domain=DOMAIN, values_int64s=codes_of_keys, default_int64=other, **keys)
    return graph.cast(encoded, graph.float_type)


def _compare_numbers(graph: Graph, column: str, categories: Categories, codes: Any, other: int) -> str:
    """Compare each number with all categories: LabelEncoder compares numbers in float32 only."""
    wide = graph.cast(column, "float64")
    keys = np.array([[float(value) for value in categories.values] or [np.nan]])
    is_equal = graph.cast(graph.add("Equal", wide, graph.constant(keys)), "float64")
    # The code of the category that is equal, less that of all others: the sum of what is unequal adds nothing.
    shifted = np.array([codes - float(other)]) if len(codes) else np.zeros((1, 1))
    axis = graph.constant(np.array([1]))
    code = graph.add("ReduceSum", graph.add("Mul", is_equal, graph.constant(shifted)), axis, keepdims=1)
    if other:
        code = graph.add("Add", code, graph.constant(np.array(float(other))))
        missing = graph.constant(np.array(0.0))
        code = graph.add("Where", graph.add("IsNaN", wide), missing, code)
    return graph.cast(code, graph.float_type)
