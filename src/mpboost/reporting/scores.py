"""Summarise scores: over the iterations, of the out-of-patch predictions, and of new rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.evaluation import choose_main, compute_scores, judge_difference
from mpboost.inspection.judgement import Judgement, find_trained_rows
from mpboost.inspection.stages import name_score, read_scores
from mpboost.reporting.plain import simplify, simplify_all

#: Maximum number of points of a curve.
N_POINTS = 240

#: What each score means.
MEANINGS = {
    "accuracy": "share of the rows that are right",
    "balanced_accuracy": "mean over the classes of the share of right rows",
    "log_loss": "smaller is better; sure predictions that are wrong cost most",
    "roc_auc": "how often a row of a class ranks above one of another; 0.5 is chance",
    "average_precision": "mean precision over all recalls; chance is the share of the class",
    "brier_score": "smaller is better; mean squared error of the probabilities",
    "r2": "share of the variance that is explained; 0 is the mean",
    "mean_absolute_error": "smaller is better; in units of the target",
    "root_mean_squared_error": "smaller is better; in units of the target, large errors count more",
}
OWN_MEANING = "the score that the model was trained by"


def summarise_scores(model: MinipatchBooster, judgement: Judgement | None, oop: Judgement | None) -> dict[str, Any]:
    """Summarise the scores of a model, of new rows if there are any, and where its training stopped."""
    scores = compute_scores(model, judgement, oop)
    main = scores[choose_main(model)]
    return {
        "name": name_score(model),
        "oop": simplify(model.oop_score_),
        "interval": None if np.isnan(model.oop_interval_).any() else simplify_all(model.oop_interval_),
        "train": simplify(model.train_scores_[model.best_iteration_ - 1]),
        "validation": simplify(getattr(model, "validation_score_", None)),
        "baseline": simplify(model.constant_score_),
        "is_corrected": bool(model.oop_score_ > model.oop_scores_[model.best_iteration_ - 1]),
        "main": main.name,
        "verdict": None if judgement is None else judge_difference(main, len(judgement.rows)),
        "measures": [
            {"name": name} | each.to_dict() | {"meaning": MEANINGS.get(name, OWN_MEANING)}
            for name, each in scores.items()
        ],
        "comparisons": _compare(model, judgement, oop),
        "n_judged": 0 if oop is None else len(oop.rows),
        "curves": _thin_curves(model),
    }


def _compare(model: MinipatchBooster, judgement: Judgement | None, oop: Judgement | None) -> list[dict[str, Any]]:
    """Compute what helps to judge the scores: those of a model that learned nothing, and the usual error."""
    if hasattr(model, "classes_"):
        largest = int(np.bincount(model._targets[find_trained_rows(model)]).argmax())
        name, meaning = "always the largest class", "accuracy of a model that learned nothing"
        return [_compare_one(name, meaning, lambda each: np.mean(each.given == largest), judgement, oop)]
    return [
        _compare_one(
            "median absolute error",
            "half of the rows have a smaller error",
            lambda each: np.median(np.abs(each.given - each.predicted)),
            judgement,
            oop,
        ),
        _compare_one(
            "error of the mean",
            "root mean squared error of a model that learned nothing",
            lambda each: np.std(each.given),
            judgement,
            oop,
        ),
    ]


def _compare_one(
    name: str,
    meaning: str,
    compute: Callable[[Judgement], Any],
    judgement: Judgement | None,
    oop: Judgement | None,
) -> dict[str, Any]:
    return {
        "title": name,
        "value": None if judgement is None else simplify(compute(judgement)),
        "oop_value": None if oop is None else simplify(compute(oop)),
        "meaning": meaning,
    }


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
