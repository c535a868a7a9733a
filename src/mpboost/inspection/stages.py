"""Scores and losses of a model after each iteration."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import r2_score
from sklearn.utils.validation import column_or_1d

from mpboost.estimators.base import MinipatchBooster
from mpboost.outputs.metrics import DEFAULT_OF_NUMBERS


def name_score(model: MinipatchBooster) -> str:
    """Return the name of the score of a model, for people."""
    return "R²" if model.score_name_ == DEFAULT_OF_NUMBERS else model.score_name_.replace("_", " ")


def read_scores(model: MinipatchBooster) -> dict[str, NDArray[np.float64]]:
    """Read the scores that were recorded during the fit."""
    return _read(
        model, {"training": "train_scores_", "out-of-patch": "oop_scores_", "validation": "validation_scores_"}
    )


def read_losses(model: MinipatchBooster) -> dict[str, NDArray[np.float64]]:
    """Read the losses that were recorded during the fit, if any."""
    return _read(model, {"out-of-patch": "oop_losses_", "validation": "validation_losses_"})


def _read(model: MinipatchBooster, names: dict[str, str]) -> dict[str, NDArray[np.float64]]:
    curves = {name: np.asarray(getattr(model, attribute, np.nan)) for name, attribute in names.items()}
    return {name: curve for name, curve in curves.items() if not np.isnan(curve).all()}


def score_stages(model: MinipatchBooster, X: Any, y: Any) -> NDArray[np.float64]:
    """Score a model on data after each of its learners: with the first, the first two, ..."""
    if X is None or y is None:
        raise ValueError("Pass both X and y, or neither.")
    target = column_or_1d(np.asarray(y))

    def score(predicted: NDArray[Any]) -> float:
        if len(predicted) != len(target):
            raise ValueError(f"X has {len(predicted)} rows, but y has {len(target)}.")
        return float(np.mean(predicted == target)) if is_classifier(model) else float(r2_score(target, predicted))

    return np.array([score(predicted) for predicted in model.staged_predict(X)])
