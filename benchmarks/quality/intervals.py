"""How far out-of-patch scores are from test scores, and how often their intervals hold them.

``python -m benchmarks.quality.intervals [--quick] [--only SET ...]``: defaults, accuracy or R^2; ten splits of each
set cut to 1000 rows, and two of 20 000 rows.
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable, show_table
from benchmarks.data.files import load_arrays
from benchmarks.data.sets import SETS, load_set
from mpboost import MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier, MPGradientBoostingRegressor
from mpboost.outputs.intervals import estimate_interval
from mpboost.outputs.metrics import Metric
from mpboost.outputs.predictions import NumberPredictions

#: Sets for this measurement alone: the name of a file, and whether numbers are learned.
OTHERS = {
    "waveform": False,
    "vehicle": False,
    "musk": False,
    "mfeat_factors": False,
    "cnae_9": False,
    "parkinsons": True,
    "puma_32h": True,
    "bank_32nh": True,
}
#: Images and many classes take long; the two forms of dna have the same rows.
LEFT_OUT = ("MNIST", "MNIST odd/even", "CIFAR truck/car", "letter", "gas drift", "gas drift, < 3", "dna, 2 or not")
NAMES = [*OTHERS, *(name for name in SETS if name not in LEFT_OUT)]

#: Rows to learn from at most, and how many splits; rows to test on at most.
SIZES = {1000: 10, 20_000: 2}
MAX_TEST = 10_000

FAMILIES = {
    "votes": (MPBoostClassifier, MPBoostRegressor),
    "gradient": (MPGradientBoostingClassifier, MPGradientBoostingRegressor),
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, NAMES)
    options, folder = parse(parser, arguments, "quality")
    names = options.only or (NAMES[1:3] if options.quick else NAMES)

    def measure(_: object) -> None:
        show_intervals(names, {300: 2} if options.quick else SIZES, folder)

    return run_on(lambda: load(names[0]), measure)


def load(name: str) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Load all rows of a set; tell whether numbers are learned."""
    arrays = load_arrays(name) if name in OTHERS else load_set(name)
    is_regression = OTHERS[name] if name in OTHERS else SETS[name].is_regression
    if "X_train" in arrays:
        arrays = {key: np.concatenate([arrays[f"{key}_train"], arrays[f"{key}_test"]]) for key in ("X", "y")}
    return arrays["X"], arrays["y"], is_regression


def show_intervals(names: list[str], sizes: dict[int, int], folder: Path) -> None:
    """Show a row for each size, set and family as it is measured, then the means of each size and family."""
    print_heading("Out-of-patch score and its interval beside the test score")
    print_line(
        "Points of accuracy or of 100 R^2; gap: out of patch minus test; literal: without the correction of votes; "
        "held: the\ninterval, widened by the sampling error of the test rows, holds the test score; held raw: not "
        "widened; half: half\nof the interval"
    )
    columns = [
        "set",
        "family",
        "rows",
        "splits",
        "out of patch",
        "test",
        "|gap|",
        "gap",
        "|gap| literal",
        "gap literal",
    ]
    table = ResultTable(folder / "intervals.csv", [*columns, "half", "held", "held raw"])
    totals: dict[tuple[str, int], list[NDArray[np.float64]]] = defaultdict(list)
    for n_train, n_splits in sizes.items():
        for name in names:
            X, y, is_regression = load(name)
            for family, estimators in FAMILIES.items():
                figures = [measure_split(X, y, estimators[is_regression], seed, n_train) for seed in range(n_splits)]
                means = np.mean(figures, axis=0)
                totals[family, n_train].append(means)
                table.add([name, family, f"{means[0]:.0f}", str(n_splits), *format_means(means[1:])])
    print_heading("Means over the sets")
    lines = [
        [family, str(n_train), str(len(means)), *format_means(np.mean(means, axis=0)[1:])[2:]]
        for (family, n_train), means in totals.items()
    ]
    heads = ["family", "rows at most", "sets", *columns[6:], "half", "held", "held raw"]
    show_table(folder / "intervals_summary.csv", heads, lines)


def format_means(means: NDArray[np.float64]) -> list[str]:
    """Format scores, gaps and the half of the interval in points, and shares in percent."""
    return [*(f"{value:.2f}" for value in means[:7]), *(f"{value:.0f} %" for value in means[7:])]


def measure_split(X: NDArray[Any], y: NDArray[Any], estimator: Any, seed: int, n_train: int) -> list[float]:
    """Learn from a part of the rows, test on others; return the figures in the order of the table."""
    rows = np.random.default_rng(seed).permutation(len(y))
    n_train = min(n_train, round(0.7 * len(y)))
    train, test = rows[:n_train], rows[n_train : n_train + MAX_TEST]
    model = estimator(random_state=seed, n_jobs=1).fit(X[train], y[train])
    score = model.score(X[test], y[test])
    literal = model.oop_scores_[model.best_iteration_ - 1]
    low, high = model.oop_interval_
    error = estimate_error(model, X[test], y[test], score)
    below, above = np.hypot(model.oop_score_ - low, error), np.hypot(high - model.oop_score_, error)
    gap = score - model.oop_score_
    return [
        n_train,
        *(100 * each for each in (model.oop_score_, score, abs(gap), -gap, abs(literal - score), literal - score)),
        50 * (high - low),
        100.0 * (-below <= gap <= above),
        100.0 * (low <= score <= high),
    ]


def estimate_error(model: Any, X: NDArray[Any], y: NDArray[Any], score: float) -> float:
    """Estimate 1.96 standard errors of a test score."""
    if hasattr(model, "classes_"):
        return float(norm.ppf(0.975) * np.sqrt(score * (1 - score) / len(y)))
    low, _ = estimate_interval(Metric("r2", None), score, NumberPredictions(model.predict(X)), y, None)
    return score - low


if __name__ == "__main__":
    sys.exit(main())
