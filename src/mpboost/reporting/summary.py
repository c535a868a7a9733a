"""Collect the content of a report as a dict, in types that JSON has."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.row_attributes import explain_absence
from mpboost.inspection.checks import check_image_shape, check_model
from mpboost.inspection.judgement import Judgement, find_trained_rows, judge, judge_table
from mpboost.reporting.advice import advise
from mpboost.reporting.contributions import summarise_contributions
from mpboost.reporting.effects import summarise_effects
from mpboost.reporting.features import summarise_features
from mpboost.reporting.inference import summarise_inference
from mpboost.reporting.observations import make_namer, summarise_new_rows, summarise_observations
from mpboost.reporting.plain import simplify, simplify_all
from mpboost.reporting.quality import (
    summarise_calibration,
    summarise_confusion,
    summarise_ranking,
    summarise_residuals,
)
from mpboost.reporting.scores import summarise_scores
from mpboost.reporting.settings import list_parameters, list_versions, time_prediction
from mpboost.reporting.table import ColumnFacts, ReportTable

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
    inference: Any = None,
) -> dict[str, Any]:
    """Summarise a model and a table: its training table, or new data."""
    check_model(model)
    if not hasattr(model, "observation_probabilities_"):
        raise ValueError(explain_absence("observation_probabilities_", model.n_samples_) + " A report needs it.")
    table = ReportTable(X, getattr(model, "feature_names_in_", None))
    if table.n_features != model.n_features_in_:
        raise ValueError(
            f"X has {table.n_features} features, but the model has {model.n_features_in_}: pass the same columns as in "
            "training."
        )
    shape = None if image_shape is None else check_image_shape(image_shape, table.n_features)
    names = _name_features(model, shape)
    given, oop = judge_table(model, X, y), judge(model)
    facts, is_classifier = table.collect_facts(), hasattr(model, "classes_")
    new = None if given.is_training else given
    shown = oop if new is None else new  # what sections on quality are about: out-of-patch predictions, or new rows
    oop_beside = None if new is None else oop
    summary: dict[str, Any] = {
        "title": title if title is not None else type(model).__name__,
        "about": {
            "is_training": given.is_training,
            "is_binned": table.is_coded,
            "n_rows": table.n_rows,
            "n_training_rows": model.n_samples_,
        },
        "model": _describe_model(model),
        "data": _describe_data(model, facts, given, table.n_rows),
        "score": summarise_scores(model, new, oop),
        "features": summarise_features(model, names, facts, shape, n_features, table.n_rows),
        "inference": None if inference is None else summarise_inference(inference, n_features),
        "effects": summarise_effects(model, X, names),
        "observations": (
            summarise_observations(model, table, names, oop, shape, n_observations)
            if new is None
            else summarise_new_rows(model, table, names, new, shape, n_observations)
        ),
        "contributions": summarise_contributions(model, X, table, names, shown, is_training=new is None),
        "calibration": summarise_calibration(model, shown) if shown and is_classifier else None,
        "oop_calibration": summarise_calibration(model, oop_beside) if oop_beside and is_classifier else None,
        "ranking": summarise_ranking(model, shown, oop_beside) if shown and is_classifier else None,
        "confusion": summarise_confusion(model, shown, oop_beside) if shown and is_classifier else None,
        "residuals": summarise_residuals(shown, make_namer(table)) if shown and not is_classifier else None,
        "oop_residuals": (
            summarise_residuals(oop_beside, str)["quantiles"] if oop_beside and not is_classifier else None
        ),
        "parameters": list_parameters(model),
        "versions": list_versions(),
        "timings": {"prediction": time_prediction(model, X)},
    }
    summary["warnings"] = advise(model, summary, names, facts, oop)
    return summary


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
        "n_rows": int(np.count_nonzero(find_trained_rows(model))),
    }


def _describe_data(model: MinipatchBooster, facts: ColumnFacts, given: Judgement, n_rows: int) -> dict[str, Any]:
    n_features, targets = model.n_features_in_, given.given
    data: dict[str, Any] = {
        "n_rows": n_rows,
        "n_features": n_features,
        "n_categorical": int(np.count_nonzero(getattr(model, "is_categorical_", 0))),
        "n_constant": int(np.count_nonzero(facts.is_constant)),
        "missing": float(facts.n_missing.sum() / (n_rows * n_features)),
        "n_with_missing": int(np.count_nonzero(facts.n_missing)),
        "n_weightless": n_rows - len(targets),
    }
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
