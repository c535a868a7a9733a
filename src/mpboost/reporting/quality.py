"""Summarise out-of-patch predictions: calibration, confusion matrix, residuals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.judgement import Judgement, compute_probabilities
from mpboost.inspection.probability_bins import bin_probabilities
from mpboost.reporting.plain import simplify, simplify_all

#: Calibration is measured on at most so many probabilities: more would change nothing.
MAX_PROBABILITIES = 2_000_000
#: Numbers of bins of probabilities, of predictions, and of residuals.
N_BINS, N_GROUPS, N_RESIDUALS = 10, 10, 31
#: With more classes there is no confusion matrix; number of confused pairs to list.
MAX_CLASSES, N_PAIRS = 40, 12
#: Number of points of a scatter plot, and how many of them are the worst ones.
N_POINTS, N_WORST = 900, 60


def summarise_calibration(model: MinipatchBooster, judgement: Judgement) -> dict[str, Any]:
    """Compare predicted probabilities with observed shares.

    With two classes these are probabilities of the second class, with more those of the predicted class.
    """
    places, probabilities = compute_probabilities(model, judgement, MAX_PROBABILITIES)
    given, predicted, rows = judgement.given[places], judgement.predicted[places], np.arange(len(places))
    is_binary = len(model.classes_) == 2
    stated = probabilities[:, 1] if is_binary else probabilities[rows, predicted]
    is_true = given == 1 if is_binary else given == predicted
    bins = bin_probabilities(stated, is_true, N_BINS)
    used = bins.counts > 0
    own = np.clip(probabilities[rows, given], 1e-15, 1.0)
    squares = (probabilities**2).sum(axis=1) - 2 * own + 1
    return {
        "of": simplify(model.classes_[1]) if is_binary else None,
        "bins": [
            {"stated": s, "seen": o, "low": a, "high": b, "count": int(n)}
            for s, o, a, b, n in zip(
                *(simplify_all(v[used], 4) for v in (bins.means, bins.shares, bins.low, bins.high)),
                bins.counts[used],
                strict=True,
            )
        ],
        "error": bins.error,
        "log_loss": float(-np.log(own).mean()),
        "brier": float(squares.mean() / (2 if is_binary else 1)),
        "n_rows": len(places),
    }


def summarise_confusion(model: MinipatchBooster, judgement: Judgement) -> dict[str, Any]:
    """Count which classes are predicted for which."""
    n_classes = len(model.classes_)
    names = [str(simplify(name)) for name in model.classes_]
    totals, calls, hits = (
        np.bincount(codes, minlength=n_classes)
        for codes in (judgement.given, judgement.predicted, judgement.given[judgement.is_right])
    )
    pairs, counts = np.unique(judgement.given * n_classes + judgement.predicted, return_counts=True)
    given, predicted = np.divmod(pairs, n_classes)
    matrix = None
    if n_classes <= MAX_CLASSES:
        matrix = np.zeros((n_classes, n_classes), dtype=np.int64)
        matrix[given, predicted] = counts
    wrong = np.flatnonzero(given != predicted)
    worst = wrong[np.argsort(-counts[wrong], kind="stable")][:N_PAIRS]
    recall = np.divide(hits, totals, out=np.full(n_classes, np.nan), where=totals > 0)
    precision = np.divide(hits, calls, out=np.full(n_classes, np.nan), where=calls > 0)
    shown = np.argsort(np.nan_to_num(recall, nan=2.0), kind="stable")[:MAX_CLASSES]
    return {
        "n_classes": n_classes,
        "names": names if matrix is not None else None,
        "matrix": None if matrix is None else matrix.tolist(),
        "classes": [
            {
                "name": names[k],
                "count": int(totals[k]),
                "recall": simplify(recall[k]),
                "precision": simplify(precision[k]),
            }
            for k in np.sort(shown)
        ],
        "pairs": [
            {
                "given": names[given[k]],
                "predicted": names[predicted[k]],
                "count": int(counts[k]),
                "share": float(counts[k] / totals[given[k]]),
            }
            for k in worst
        ],
    }


def summarise_residuals(judgement: Judgement, names: Any) -> dict[str, Any]:
    """Summarise residuals: their distribution, and where predictions are too high or too low."""
    given, predicted = judgement.given, judgement.predicted
    errors = given - predicted
    quantiles = np.quantile(errors, (0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995))
    low, high = quantiles[0], quantiles[-1]
    if not low < high:
        low, high = errors.min() - 0.5, errors.max() + 0.5
    counts, edges = np.histogram(np.clip(errors, low, high), N_RESIDUALS, (low, high))
    sample = pick_points(np.abs(errors))
    return {
        "histogram": {"counts": counts.tolist(), "edges": simplify_all(edges, 5)},
        "quantiles": dict(zip(("5 %", "25 %", "50 %", "75 %", "95 %"), simplify_all(quantiles[1:-1]), strict=True)),
        "groups": _group(given, predicted),
        "points": {
            "given": simplify_all(given[sample], 5),
            "predicted": simplify_all(predicted[sample], 5),
            "row": [names(int(row)) for row in judgement.rows[sample]],
        },
    }


def _group(given: NDArray[np.float64], predicted: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Compare mean targets and mean predictions in groups of equal size, ordered by prediction."""
    groups = [part for part in np.array_split(np.argsort(predicted, kind="stable"), N_GROUPS) if len(part)]
    return [
        {
            "predicted": simplify(predicted[part].mean()),
            "given": simplify(given[part].mean()),
            "half": simplify(1.96 * given[part].std() / np.sqrt(len(part))),
            "count": len(part),
        }
        for part in groups
    ]


def pick_points(sizes: NDArray[np.float64], n_points: int = N_POINTS, n_worst: int = N_WORST) -> NDArray[np.int64]:
    """Draw a sample for a scatter plot that includes the points of the largest size.

    Examples
    --------
    >>> import numpy as np
    >>> 4321 in pick_points(np.where(np.arange(10_000) == 4321, 9.0, 1.0))
    True
    """
    if len(sizes) <= n_points:
        return np.arange(len(sizes))
    worst = np.argpartition(-sizes, n_worst)[:n_worst]
    others = np.random.default_rng(0).choice(len(sizes), n_points - n_worst, replace=False)
    return np.union1d(worst, others)
