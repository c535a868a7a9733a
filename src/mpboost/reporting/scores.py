"""Summarise scores: over the iterations, and of the out-of-patch predictions."""

from typing import Any

import numpy as np

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.judgement import Judgement
from mpboost.inspection.stages import name_score, read_scores
from mpboost.reporting.plain import simplify, simplify_all

#: Maximum number of points of a curve.
N_POINTS = 240


def summarise_scores(model: MinipatchBooster, judgement: Judgement | None) -> dict[str, Any]:
    """Summarise the scores of a model, and where its training stopped."""
    metrics: list[dict[str, Any]] = []
    if judgement is not None:
        metrics = _rate_classes(model, judgement) if hasattr(model, "classes_") else _rate_numbers(judgement)
    return {
        "name": name_score(model),
        "oop": simplify(model.oop_score_),
        "interval": None if np.isnan(model.oop_interval_).any() else simplify_all(model.oop_interval_),
        "train": simplify(model.train_scores_[model.best_iteration_ - 1]),
        "validation": simplify(getattr(model, "validation_score_", None)),
        "baseline": simplify(model.constant_score_),
        "is_corrected": bool(model.oop_score_ > model.oop_scores_[model.best_iteration_ - 1]),
        "metrics": metrics,
        "n_judged": 0 if judgement is None else len(judgement.rows),
        "curves": _thin_curves(model),
    }


def _rate_classes(model: MinipatchBooster, judgement: Judgement) -> list[dict[str, Any]]:
    n_classes = len(model.classes_)
    totals = np.bincount(judgement.given, minlength=n_classes)
    hits = np.bincount(judgement.given[judgement.is_right], minlength=n_classes)
    is_there = totals > 0
    balanced = float(np.mean(hits[is_there] / totals[is_there]))
    return [
        _name_metric("balanced accuracy", balanced, "mean over the classes of the share of correct rows"),
        _name_metric(
            "always the largest class", totals.max() / totals.sum(), "accuracy of a model that learned nothing"
        ),
    ]


def _rate_numbers(judgement: Judgement) -> list[dict[str, Any]]:
    errors = judgement.given - judgement.predicted
    return [
        _name_metric("RMSE", np.sqrt(np.mean(errors**2)), "root mean squared error, in units of the target"),
        _name_metric("mean absolute error", np.abs(errors).mean(), "in units of the target"),
        _name_metric("median absolute error", np.median(np.abs(errors)), "half of the rows have a smaller error"),
        _name_metric("RMSE of the mean", np.std(judgement.given), "RMSE of a model that learned nothing"),
    ]


def _name_metric(name: str, value: Any, meaning: str) -> dict[str, Any]:
    return {"name": name, "value": simplify(value), "meaning": meaning}


def _thin_curves(model: MinipatchBooster) -> dict[str, Any]:
    """Reduce each curve to a few points, including the best and the last iteration."""
    n_iter, best = model.n_iter_, model.best_iteration_
    places = np.unique([*np.linspace(0, n_iter - 1, N_POINTS).round().astype(int), best - 1, n_iter - 1])
    return {
        "iterations": (places + 1).tolist(),
        "scores": {name: simplify_all(scores[places], digits=5) for name, scores in read_scores(model).items()},
        "best": best,
        "last": n_iter,
    }
