"""Scores and losses of a model after each iteration."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.data.checks import check_targets
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.out_of_patch import present
from mpboost.estimators.predictions import ClassPredictions, ValuePredictions
from mpboost.inspection.judgement import encode_targets
from mpboost.outputs.metrics import Metric, name_scoring
from mpboost.outputs.score_names import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS, word_score


def name_score(model: MinipatchBooster) -> str:
    """Return the name of the score of a model, for people."""
    return word_score(model.score_name_)


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
    labels = encode_targets(model, check_targets(model, y)[0])
    metric = _find_metric(model)
    if isinstance(model, ClassPredictions):
        stages: Iterator[NDArray[Any]] = model._staged_judge(X)
    else:
        assert isinstance(model, ValuePredictions)
        stages = model.staged_predict(X)

    def score(outputs: NDArray[Any]) -> float:
        if len(outputs) != len(labels):
            raise ValueError(f"X has {len(outputs)} rows, but y has {len(labels)}.")
        return metric.compute(present(model, outputs), labels, None)

    return np.array([score(outputs) for outputs in stages])


def _find_metric(model: MinipatchBooster) -> Metric:
    """Make the metric that the model was scored by."""
    scoring = model.scoring
    if scoring is None and model.score_name_ in (DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS):
        scoring = model.score_name_
    if scoring is None or name_scoring(scoring) != model.score_name_:
        raise ValueError(
            f"The model was scored by {model.score_name_!r}, but its parameter scoring is {scoring!r}: set it to what "
            "the fit had. (Model files do not contain functions.)"
        )
    return Metric(scoring, model.classes_ if isinstance(model, ClassPredictions) else None)
