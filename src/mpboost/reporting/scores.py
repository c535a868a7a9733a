"""How good a model is: its scores over the iterations, and what its honest predictions are worth."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.reporting.judgement import Judgement
from mpboost.reporting.plain import simplify, simplify_all

#: Points of a curve.
N_POINTS = 240
#: Of a normal distribution, 95 % are within so many standard deviations.
Z = 1.96


def summarise_scores(model: Any, judgement: Judgement | None) -> dict[str, Any]:
    """Summarise the scores of a model and where its training stopped."""
    is_classifier = hasattr(model, "classes_")
    rating: tuple[Any, Any, list[Any]] = None, None, []
    if judgement is not None:
        rating = _rate_classes(model, judgement) if is_classifier else _rate_numbers(judgement)
    baseline, interval, metrics = rating
    return {
        "name": "accuracy" if is_classifier else "R²",
        "oop": simplify(model.oop_score_),
        "interval": interval,
        "train": simplify(model.train_scores_[model.best_iteration_ - 1]),
        "validation": simplify(getattr(model, "validation_score_", None)),
        "baseline": baseline,
        "metrics": metrics,
        "n_judged": 0 if judgement is None else len(judgement.rows),
        "curves": _thin_curves(model),
    }


def find_share_interval(n_hits: Any, n_all: Any) -> tuple[Any, Any]:
    """Find the interval of Wilson, 95 %, for a share.

    Examples
    --------
    >>> low, high = find_share_interval(9, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.596, 0.982)
    """
    share, spread = n_hits / n_all, Z**2 / n_all
    centre = (share + spread / 2) / (1 + spread)
    half = Z * np.sqrt(share * (1 - share) / n_all + spread / (4 * n_all)) / (1 + spread)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _rate_classes(model: Any, judgement: Judgement) -> tuple[float, list[float], list[dict[str, Any]]]:
    n_classes, n_judged = len(model.classes_), len(judgement.rows)
    totals = np.bincount(judgement.given, minlength=n_classes)
    hits = np.bincount(judgement.given[judgement.is_right], minlength=n_classes)
    is_there = totals > 0
    # Around the model's own score, in which rows may have weights.
    interval = find_share_interval(model.oop_score_ * n_judged, n_judged)
    balanced = float(np.mean(hits[is_there] / totals[is_there]))
    baseline = float(totals.max() / n_judged)
    metrics = [
        _name_metric("balanced accuracy", balanced, "the mean over classes of the share that is right"),
        _name_metric("always the largest class", baseline, "what a model would have that learned nothing"),
    ]
    return baseline, simplify_all(interval), metrics


def _rate_numbers(judgement: Judgement) -> tuple[float, list[float], list[dict[str, Any]]]:
    errors = judgement.given - judgement.predicted
    squares, spreads = errors**2, (judgement.given - judgement.given.mean()) ** 2
    variance = spreads.mean() or 1.0
    r2 = 1.0 - squares.mean() / variance
    # The error of a ratio of means, to first order.
    half = Z * np.std(squares - (1.0 - r2) * spreads) / variance / np.sqrt(len(errors))
    metrics = [
        _name_metric("RMSE", np.sqrt(squares.mean()), "root of the mean squared error, in the units of the target"),
        _name_metric("mean absolute error", np.abs(errors).mean(), "in the units of the target"),
        _name_metric("median absolute error", np.median(np.abs(errors)), "half of the rows are nearer than that"),
        _name_metric("RMSE of the mean", np.sqrt(spreads.mean()), "what a model would have that learned nothing"),
    ]
    return 0.0, simplify_all((r2 - half, min(r2 + half, 1.0))), metrics


def _name_metric(name: str, value: Any, meaning: str) -> dict[str, Any]:
    return {"name": name, "value": simplify(value), "meaning": meaning}


def _thin_curves(model: Any) -> dict[str, Any]:
    """Take a few points of each curve, the best iteration and the last one among them."""
    n_iter, best = model.n_iter_, model.best_iteration_
    places = np.unique([*np.linspace(0, n_iter - 1, N_POINTS).round().astype(int), best - 1, n_iter - 1])
    curves: dict[str, NDArray[np.float64] | None] = {
        "training": model.train_scores_,
        "out-of-patch": model.oop_scores_,
        "validation": getattr(model, "validation_scores_", None),
    }
    known = {name: scores for name, scores in curves.items() if scores is not None and not np.isnan(scores).all()}
    return {
        "iterations": (places + 1).tolist(),
        "scores": {name: simplify_all(scores[places], digits=5) for name, scores in known.items()},
        "best": best,
        "last": n_iter,
    }
