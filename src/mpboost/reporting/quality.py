"""Summarise predictions, out-of-patch or of new rows: calibration, confusion matrix, residuals, ranking."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.confusion import ConfusionCounts, count_confusion
from mpboost.inspection.judgement import Judgement, compute_probabilities
from mpboost.inspection.probability_bins import bin_probabilities
from mpboost.inspection.ranking import RankingCurve, trace_curves
from mpboost.outputs.quick_metrics import compute_brier_losses
from mpboost.reporting.plain import simplify, simplify_all

#: Calibration is measured on at most so many probabilities: more would change nothing.
MAX_PROBABILITIES = 2_000_000
#: Numbers of bins of probabilities, of predictions, and of residuals.
N_BINS, N_GROUPS, N_RESIDUALS = 10, 10, 31
#: With more classes there is no confusion matrix; number of confused pairs to list.
MAX_CLASSES, N_PAIRS = 40, 12
#: Number of points of a scatter plot, and how many of them are the worst ones.
N_POINTS, N_WORST = 900, 60
#: Maximum number of classes whose ranking curves are drawn, and of points of a curve.
N_CURVES, N_CURVE_POINTS = 6, 150


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
        "brier": float(compute_brier_losses(probabilities, given).mean()),
        "n_rows": len(places),
    }


def summarise_confusion(model: MinipatchBooster, judgement: Judgement, oop: Judgement | None) -> dict[str, Any]:
    """Count which classes are predicted for which; beside new rows, recall and precision are also out-of-patch."""
    n_classes = len(model.classes_)
    names = [str(simplify(name)) for name in model.classes_]
    confusion = count_confusion(judgement, n_classes)
    totals, (recall, precision) = confusion.count_given(), _rate_classes(confusion)
    unknown = np.full(n_classes, np.nan)
    oop_recall, oop_precision = (unknown, unknown) if oop is None else _rate_classes(count_confusion(oop, n_classes))
    shown = np.argsort(np.nan_to_num(recall, nan=2.0), kind="stable")[:MAX_CLASSES]
    has_matrix = n_classes <= MAX_CLASSES
    return {
        "n_classes": n_classes,
        "source": judgement.source,
        "names": names if has_matrix else None,
        "matrix": confusion.to_matrix().tolist() if has_matrix else None,
        "classes": [
            {
                "name": names[k],
                "count": int(totals[k]),
                "recall": simplify(recall[k]),
                "precision": simplify(precision[k]),
                "oop_recall": simplify(oop_recall[k]),
                "oop_precision": simplify(oop_precision[k]),
            }
            for k in np.sort(shown)
        ],
        "pairs": [
            {
                "given": names[given],
                "predicted": names[predicted],
                "count": count,
                "share": float(count / totals[given]),
            }
            for given, predicted, count in confusion.rank_mistakes(N_PAIRS)
        ],
    }


def _rate_classes(confusion: ConfusionCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the recall and the precision of each class; NaN without rows or without predictions."""
    hits = confusion.count_right()
    recall, precision = (
        np.divide(hits, total, out=np.full(len(hits), np.nan), where=total > 0)
        for total in (confusion.count_given(), confusion.count_predicted())
    )
    return recall, precision


def summarise_ranking(model: MinipatchBooster, judgement: Judgement, oop: Judgement | None) -> dict[str, Any] | None:
    """Summarise the ROC and precision-recall curves; None if there is only one class among the rows.

    With two classes, the curve of the out-of-patch predictions is given beside that of new rows.
    """
    curves = trace_curves(judgement, model.classes_, N_CURVES)
    if not curves:
        return None
    others = [] if oop is None else trace_curves(oop, model.classes_, len(model.classes_))
    by_name = {each.name: each for each in others}
    return {
        "of": simplify(model.classes_[1]) if len(model.classes_) == 2 else None,
        "n_classes": len(model.classes_),
        "n_rows": curves[0].n_rows,
        "curves": [
            _thin(each)
            | {
                "oop_roc_auc": by_name[each.name].roc_auc if each.name in by_name else None,
                "oop_average_precision": by_name[each.name].average_precision if each.name in by_name else None,
            }
            for each in curves
        ],
        "oop_curve": _thin(others[0]) if len(model.classes_) == 2 and others else None,
    }


def _thin(curve: RankingCurve) -> dict[str, Any]:
    """Reduce the curves of a class to a few points, evenly along their way."""

    def pick(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[list[float]]:
        if len(x) <= N_CURVE_POINTS:
            return [simplify_all(x, 4), simplify_all(y, 4)]
        way = np.append(0.0, np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y))))
        places = np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], N_CURVE_POINTS), side="right") - 1)
        return [simplify_all(x[places], 4), simplify_all(y[places], 4)]

    return {
        "name": str(simplify(curve.name)),
        "n_positive": curve.n_positive,
        "share": curve.share,
        "roc_auc": curve.roc_auc,
        "average_precision": curve.average_precision,
        "roc": pick(curve.false_positive_rates, curve.true_positive_rates),
        "precision_recall": pick(curve.recalls, curve.precisions),
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
        "source": judgement.source,
        "n_rows": len(errors),
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
