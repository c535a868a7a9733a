"""Summarise scores: over the iterations, and of the out-of-patch predictions."""

from typing import Any

import numpy as np

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.judgement import Judgement
from mpboost.inspection.probability_bins import Z, estimate_share_interval
from mpboost.inspection.stages import name_score, read_scores
from mpboost.reporting.plain import simplify, simplify_all

#: Maximum number of points of a curve.
N_POINTS = 240


def summarise_scores(model: MinipatchBooster, judgement: Judgement | None) -> dict[str, Any]:
    """Summarise the scores of a model, and where its training stopped."""
    is_classifier = hasattr(model, "classes_")
    rating: tuple[Any, Any, list[Any]] = None, None, []
    if judgement is not None:
        rating = _rate_classes(model, judgement) if is_classifier else _rate_numbers(judgement)
    baseline, interval, metrics = rating
    return {
        "name": name_score(model),
        "oop": simplify(model.oop_score_),
        "interval": interval,
        "train": simplify(model.train_scores_[model.best_iteration_ - 1]),
        "validation": simplify(getattr(model, "validation_score_", None)),
        "baseline": baseline,
        "metrics": metrics,
        "n_judged": 0 if judgement is None else len(judgement.rows),
        "curves": _thin_curves(model),
    }


def _rate_classes(model: MinipatchBooster, judgement: Judgement) -> tuple[float, list[float], list[dict[str, Any]]]:
    n_classes, n_judged = len(model.classes_), len(judgement.rows)
    totals = np.bincount(judgement.given, minlength=n_classes)
    hits = np.bincount(judgement.given[judgement.is_right], minlength=n_classes)
    is_there = totals > 0
    # Around the model's own score, which takes weights of rows into account.
    interval = estimate_share_interval(model.oop_score_ * n_judged, n_judged)
    balanced = float(np.mean(hits[is_there] / totals[is_there]))
    baseline = float(totals.max() / n_judged)
    metrics = [
        _name_metric("balanced accuracy", balanced, "mean over the classes of the share of correct rows"),
        _name_metric("always the largest class", baseline, "accuracy of a model that learned nothing"),
    ]
    return baseline, simplify_all(interval), metrics


def _rate_numbers(judgement: Judgement) -> tuple[float, list[float], list[dict[str, Any]]]:
    errors = judgement.given - judgement.predicted
    squares, spreads = errors**2, (judgement.given - judgement.given.mean()) ** 2
    variance = spreads.mean() or 1.0
    r2 = 1.0 - squares.mean() / variance
    # First-order standard error of a ratio of means.
    half = Z * np.std(squares - (1.0 - r2) * spreads) / variance / np.sqrt(len(errors))
    metrics = [
        _name_metric("RMSE", np.sqrt(squares.mean()), "root mean squared error, in units of the target"),
        _name_metric("mean absolute error", np.abs(errors).mean(), "in units of the target"),
        _name_metric("median absolute error", np.median(np.abs(errors)), "half of the rows have a smaller error"),
        _name_metric("RMSE of the mean", np.sqrt(spreads.mean()), "RMSE of a model that learned nothing"),
    ]
    return 0.0, simplify_all((r2 - half, min(r2 + half, 1.0))), metrics


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
