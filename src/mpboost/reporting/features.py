"""Summarise the features: their ranking by q, and how stable it is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.base import MinipatchBooster
from mpboost.reporting.plain import draw_image, simplify, simplify_all
from mpboost.reporting.table import ColumnFacts

#: q has collapsed if its effective number is below this share of a minipatch's features.
COLLAPSED_SHARE = 0.25
#: Number of top features that are compared over the run.
N_TOP = 10
#: Parts of the run after which they are compared.
PARTS = (0.25, 0.5, 0.75)
#: Maximum numbers of points of a path, and of images of q.
N_PATH, N_IMAGES = 24, 4


def summarise_features(
    model: MinipatchBooster,
    names: Sequence[str],
    facts: ColumnFacts,
    shape: tuple[int, int] | None,
    n_features: int,
    n_rows: int,
) -> dict[str, Any]:
    """Rank the features by q, and measure how stable the ranking is; the table has so many rows."""
    q, importances = model.feature_probabilities_, model.feature_importances_
    ranked = rank(q)
    history = cut_history(model)
    paths = None if history is None else history["q"]
    is_categorical = getattr(model, "is_categorical_", np.zeros(len(q), dtype=bool))
    places = np.unique(np.linspace(0, 0 if paths is None else len(paths) - 1, N_PATH).round().astype(int))
    importance_ranks = np.argsort(rank(importances))
    return {
        "chance": 1.0 / len(q),
        "effective": float(1.0 / np.sum(q**2)),
        "has_collapsed": _has_collapsed(model),
        "is_adaptive": bool(model.adaptive_features),
        "n_shown": min(n_features, len(q)),
        "ranking": [
            {
                "rank": place + 1,
                "name": names[j],
                "kind": "category" if is_categorical[j] else "number",
                "missing": float(facts.n_missing[j] / n_rows),
                "q": float(q[j]),
                "importance": float(importances[j]),
                "importance_rank": int(importance_ranks[j]) + 1,
                "path": None if paths is None else simplify_all(paths[places, j].astype(np.float64), 4),
            }
            for place, j in enumerate(ranked[:n_features])
        ],
        "agreement": _compare(q, importances),
        "stability": None if history is None or paths is None else _measure_stability(history["iterations"], paths),
        "history": None if history is None else {name: history[name] for name in ("moments", "features", "rows")},
        "images": None if shape is None else _draw_images(model, history, shape),
    }


def _has_collapsed(model: MinipatchBooster) -> bool:
    """Check whether q is concentrated on far fewer features than a minipatch has."""
    if not model.adaptive_features or model.max_features_ >= model.n_features_in_:
        return False
    effective = 1.0 / np.sum(model.feature_probabilities_**2)
    return bool(effective < max(1.5, COLLAPSED_SHARE * model.max_features_))


def rank(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return the indices that sort values, the largest first."""
    return np.argsort(-values, kind="stable")


def cut_history(model: MinipatchBooster) -> dict[str, Any] | None:
    """Read the history of a model, with q up to the best iteration; None if there is no history."""
    history = getattr(model, "history_", None)
    if history is None:
        return None
    iterations = np.asarray(history.iterations)
    kept = iterations <= model.best_iteration_
    if not kept.any():
        return None
    q = history.feature_probabilities
    return {
        "iterations": iterations[kept],
        "q": None if q is None else np.asarray(q)[kept],
        "moments": iterations.tolist(),
        "features": simplify_all(np.asarray(history.effective_features, dtype=np.float64), 5),
        "rows": simplify_all(np.asarray(history.effective_observations, dtype=np.float64), 5),
    }


def _compare(a: NDArray[Any], b: NDArray[Any]) -> dict[str, int]:
    """Count how many of the top features by one measure are also at the top by another."""
    n_top = min(N_TOP, max(1, len(a) // 2))
    return {"n_top": n_top, "n_shared": len(np.intersect1d(rank(a)[:n_top], rank(b)[:n_top]))}


def _measure_stability(iterations: NDArray[np.integer], paths: NDArray[Any]) -> list[dict[str, Any]]:
    """Compare the top features at the end with those at earlier stages of the run."""
    moments = [int(np.argmin(np.abs(iterations - part * iterations[-1]))) for part in PARTS]
    return [
        {"part": part, "iteration": int(iterations[moment]), **_compare(paths[moment], paths[-1])}
        for part, moment in zip(PARTS, moments, strict=True)
    ]


def _draw_images(
    model: MinipatchBooster, history: dict[str, Any] | None, shape: tuple[int, int]
) -> list[dict[str, Any]]:
    """Draw q as images on one square-root scale, so that small probabilities are visible beside large ones."""
    states = {int(model.best_iteration_): model.feature_probabilities_}
    if history is not None and history["q"] is not None:
        moments = np.unique(np.linspace(0, len(history["iterations"]) - 1, N_IMAGES).round().astype(int))
        states = {int(history["iterations"][k]): history["q"][k] for k in moments[:-1]} | states
    largest = max(q.max() for q in states.values())
    return [
        {"iteration": simplify(t), "image": draw_image(np.sqrt(q / largest).reshape(shape), coloured=True)}
        for t, q in sorted(states.items())
    ]
