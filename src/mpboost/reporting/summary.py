"""Collect the content of a report as a dict, in types that JSON has."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.checks import check_image_shape, check_model
from mpboost.inspection.judgement import decode_targets, judge
from mpboost.reporting.advice import advise
from mpboost.reporting.effects import summarise_effects
from mpboost.reporting.features import summarise_features
from mpboost.reporting.observations import make_namer, summarise_observations
from mpboost.reporting.plain import simplify, simplify_all
from mpboost.reporting.quality import summarise_calibration, summarise_confusion, summarise_residuals
from mpboost.reporting.scores import summarise_scores
from mpboost.reporting.settings import list_parameters, list_versions, time_prediction
from mpboost.reporting.table import ColumnFacts, TrainingTable

#: Maximum number of classes to list.
N_CLASSES = 40


def summarise(
    model: MinipatchBooster,
    X: Any,
    y: Any,
    *,
    title: str | None,
    image_shape: Sequence[int] | None,
    n_features: int,
    n_observations: int,
) -> dict[str, Any]:
    """Summarise a model and its training data."""
    check_model(model)
    table = TrainingTable(X)
    _check_data(model, table, y)
    shape = None if image_shape is None else check_image_shape(image_shape, table.n_features)
    names = _name_features(model, shape)
    facts, judgement = table.collect_facts(), judge(model)
    is_classifier = hasattr(model, "classes_")
    summary: dict[str, Any] = {
        "title": title if title is not None else type(model).__name__,
        "model": _describe_model(model),
        "data": _describe_data(model, facts),
        "score": summarise_scores(model, judgement),
        "features": summarise_features(model, names, facts, shape, n_features),
        "effects": summarise_effects(model, X, names),
        "observations": summarise_observations(model, table, names, judgement, shape, n_observations),
        "calibration": summarise_calibration(model, judgement) if judgement and is_classifier else None,
        "confusion": summarise_confusion(model, judgement) if judgement and is_classifier else None,
        "residuals": summarise_residuals(judgement, make_namer(table)) if judgement and not is_classifier else None,
        "parameters": list_parameters(model),
        "versions": list_versions(),
        "timings": {"prediction": time_prediction(model, X)},
    }
    summary["warnings"] = advise(model, summary, names, facts, judgement)
    return summary


def _check_data(model: MinipatchBooster, table: TrainingTable, y: Any) -> None:
    """Raise an error if X and y are not the data that the model was trained on, as far as can be checked."""
    n_rows = len(model.observation_probabilities_)
    advice = "pass the X and y that it was trained on"
    if table.n_features != model.n_features_in_:
        raise ValueError(f"X has {table.n_features} features, but the model has {model.n_features_in_}: {advice}.")
    targets = _read_targets(y)
    for name, count in (("X", table.n_rows), ("y", len(targets))):
        if count != n_rows:
            raise ValueError(f"{name} has {count} rows, but the model was trained on {n_rows}: {advice}.")
    known = decode_targets(model, model._targets)
    differs = np.asarray(known != targets) & (model.observation_probabilities_ > 0)
    if differs.any():
        row = int(np.flatnonzero(np.broadcast_to(differs, n_rows))[0])
        raise ValueError(
            f"y is not what the model was trained on: row {row} is {simplify(targets[row])!r}, but was "
            f"{simplify(known[row])!r} in training; {advice}, in the same order."
        )


def _read_targets(y: Any) -> NDArray[Any]:
    column = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(column, nw.DataFrame):
        column = column[:, 0]
    array = column.to_numpy() if isinstance(column, nw.Series) else np.asarray(y)
    return array.ravel() if array.ndim == 2 and array.shape[1] == 1 else array


def _name_features(model: MinipatchBooster, shape: tuple[int, int] | None) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(simplify(name)) for name in names]
    if shape is not None:
        return [f"pixel ({row}, {column})" for row, column in np.ndindex(shape)]
    return [f"feature {j}" for j in range(model.n_features_in_)]


def _describe_model(model: MinipatchBooster) -> dict[str, Any]:
    n_classes = len(getattr(model, "classes_", ()))
    return {
        "class": type(model).__name__,
        "task": "regression" if not n_classes else "two classes" if n_classes == 2 else f"{n_classes} classes",
        "is_gradient": hasattr(model, "oop_losses_"),
        "n_learners": model.best_iteration_,
        "n_iterations": model.n_iter_,
        "stop_reason": model.stop_reason_,
        "patch": [model.max_samples_, model.max_features_],
    }


def _describe_data(model: MinipatchBooster, facts: ColumnFacts) -> dict[str, Any]:
    is_present = model.observation_probabilities_ > 0
    n_rows, n_features = len(is_present), model.n_features_in_
    data: dict[str, Any] = {
        "n_rows": n_rows,
        "n_features": n_features,
        "n_categorical": int(np.count_nonzero(getattr(model, "is_categorical_", 0))),
        "n_constant": int(np.count_nonzero(facts.is_constant)),
        "missing": float(facts.n_missing.sum() / (n_rows * n_features)),
        "n_with_missing": int(np.count_nonzero(facts.n_missing)),
        "n_weightless": int(n_rows - np.count_nonzero(is_present)),
    }
    targets = model._targets[is_present]
    if hasattr(model, "classes_"):
        counts = np.bincount(targets, minlength=len(model.classes_))
        largest = np.argsort(-counts, kind="stable")[:N_CLASSES]
        data["classes"] = [
            {
                "name": str(simplify(model.classes_[k])),
                "count": int(counts[k]),
                "share": float(counts[k] / len(targets)),
            }
            for k in largest
        ]
    else:
        points = simplify_all(np.quantile(targets, (0, 0.25, 0.5, 0.75, 1)))
        data["target"] = dict(zip(("least", "25 %", "median", "75 %", "most"), points, strict=True))
    return data
