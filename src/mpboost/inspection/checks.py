"""Checks of what users pass to displays, reports and the search for wrong labels."""

from collections.abc import Sequence
from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from mpboost.estimators.base import MinipatchBooster


def check_model(model: Any) -> None:
    """Refuse what is no fitted model of mpboost."""
    if not isinstance(model, MinipatchBooster):
        raise TypeError(
            f"This needs a model of mpboost, not {type(model).__name__}; of a pipeline or a search, pass the model "
            "inside, and data as that model sees them."
        )
    check_is_fitted(model)


def check_predicts(kind: Literal["classes", "numbers"], model: Any, display: str, instead: str = "") -> None:
    """Refuse a model that predicts the other kind of target, and say what to draw instead."""
    check_model(model)
    actual = "classes" if hasattr(model, "classes_") else "numbers"
    if actual != kind:
        advice = f": use {instead}" if instead else ""
        raise ValueError(f"{display} is for {kind}, and {type(model).__name__} predicts {actual}{advice}.")


def check_image_shape(image_shape: Sequence[int], n_features: int) -> tuple[int, int]:
    """Refuse a shape that has not one pixel for each feature."""
    shape = tuple(image_shape)
    if len(shape) != 2 or min(shape) < 1 or shape[0] * shape[1] != n_features:
        raise ValueError(f"image_shape={shape} must be two numbers whose product is the {n_features} features.")
    return int(shape[0]), int(shape[1])
