"""Check the arguments of displays, reports and ``find_label_issues``."""

from collections.abc import Sequence
from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from mpboost.estimators.base import MinipatchBooster


def check_model(model: Any) -> None:
    """Raise an error unless this is a fitted model of mpboost."""
    if not isinstance(model, MinipatchBooster):
        raise TypeError(
            f"Expected a model of mpboost, not {type(model).__name__}. For a pipeline or a search, pass the model "
            "inside it, and the data after all earlier steps."
        )
    check_is_fitted(model)


def check_predicts(
    kind: Literal["classes", "numbers"], model: MinipatchBooster, display: str, instead: str = ""
) -> None:
    """Raise an error if the model predicts the other kind of target, and name the display to use instead."""
    check_model(model)
    actual = "classes" if hasattr(model, "classes_") else "numbers"
    if actual != kind:
        advice = f": use {instead}" if instead else ""
        raise ValueError(f"{display} is for {kind}, but {type(model).__name__} predicts {actual}{advice}.")


def check_image_shape(image_shape: Sequence[int], n_features: int) -> tuple[int, int]:
    """Check that a shape has one pixel per feature."""
    shape = tuple(image_shape)
    if len(shape) != 2 or min(shape) < 1 or shape[0] * shape[1] != n_features:
        raise ValueError(
            f"image_shape={shape} must be two numbers whose product is {n_features}, one pixel per feature."
        )
    return int(shape[0]), int(shape[1])
