"""Decide between classification and regression by the values of a target, and describe it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._wording import count, format_number, format_share, list_names
from mpboost.cli.choices import TargetKind

#: A target with more distinct whole numbers than this is not taken for classes.
MAX_CLASSES = 20


def choose_target_kind(wanted: TargetKind, y: NDArray[Any], name: str, obstacle: str = "") -> tuple[TargetKind, str]:
    """Choose classification or regression; if it was decided by the values, also say why.

    ``obstacle`` tells why a column that looks like numbers could not be read as such.
    """
    if y.dtype.kind not in "iuf":
        if wanted is TargetKind.REGRESSION or (obstacle and wanted is TargetKind.AUTO):
            advice = f"{obstacle}; or use --task classification" if obstacle else "use --task classification"
            raise ValueError(f"The target {name!r} contains text, not numbers: {advice}.")
        return TargetKind.CLASSIFICATION, ""
    if wanted is not TargetKind.AUTO:
        return wanted, ""
    n_values = len(np.unique(y))
    if n_values <= MAX_CLASSES and np.all(y == np.floor(y)):
        return TargetKind.CLASSIFICATION, f"{n_values} distinct whole numbers; use --task regression for numbers"
    return TargetKind.REGRESSION, f"{count(n_values, 'distinct number')}; use --task classification for classes"


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Convert whole numbers to integers, so that class 1.0 is called 1, and objects that are text to text."""
    if y.dtype.kind == "O" and all(isinstance(label, str) for label in y.tolist()):
        return y.astype(np.str_)
    is_whole = y.dtype.kind == "f" and np.all(y == np.floor(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64) if is_whole else y


def word_numbers(target: str, low: float, high: float) -> str:
    """Describe a target of numbers."""
    return f"{target}, a number from {format_number(low)} to {format_number(high)}"


def word_classes(target: str, classes: NDArray[Any], counts: NDArray[Any]) -> str:
    """Describe a target of classes, the most frequent ones first."""
    order, n_rows = np.argsort(-counts, kind="stable"), counts.sum()
    shares = list_names((f"{classes[i]} {format_share(counts[i] / n_rows)}" for i in order), 5)
    return f"{target}, {count(len(classes), 'class')}: {shares}"
