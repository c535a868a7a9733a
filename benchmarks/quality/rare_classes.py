"""Rare classes, with and without class weights, by four metrics: ``python -m benchmarks.quality.rare_classes``.

Each set has 1 % or 5 % of positive rows: made up by scikit-learn's ``make_classification``, or a real set whose
positive rows were thinned out. Half of the rows train, half test. LightGBM and HistGradientBoosting run with their
defaults and the same class weights.
"""

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.data.sets import load_set
from mpboost import MPBoostClassifier, MPGradientBoostingClassifier

SETS = ("made up", "adult", "magic")
SHARES = (0.01, 0.05)
CLASS_WEIGHTS = (None, "balanced")
SCORINGS = (None, "accuracy", "log_loss", "roc_auc", "average_precision")
COLUMNS = ["set", "positive", "class_weight", "model", "scoring", "AUC", "AP", "log loss", "trees", "s"]

#: Rows to train on at most.
MAX_ROWS = 20_000

Split = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, SETS)
    parser.add_argument("--seeds", type=int, default=5, help="splits of each set (default: %(default)s)")
    options, folder = parse(parser, arguments, "quality")
    n_seeds, n_rows = (1, 1500) if options.quick else (options.seeds, MAX_ROWS)
    names = options.only or SETS

    def measure(arrays: dict[str, tuple[NDArray[Any], NDArray[Any]]]) -> None:
        print_heading("Rare classes")
        print_line(f"means of {n_seeds} splits; one thread; test rows; ours with each scoring")
        lines: list[list[str]] = []
        for name in names:
            for share in SHARES[-1:] if options.quick else SHARES:
                splits = [split(name, arrays.get(name), share, n_rows, seed) for seed in range(n_seeds)]
                for class_weight in CLASS_WEIGHTS:
                    start = [name, f"{share:.0%}", class_weight or "none"]
                    lines += [[*start, *line] for line in compare(splits, class_weight)]
        show_table(folder / "rare_classes.csv", COLUMNS, lines)

    return run_on(lambda: {name: load(name) for name in names if name != "made up"}, measure)


def load(name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Load all rows of a set, with labels 0 and 1."""
    arrays = load_set(name)
    parts = [("X", "y")] if "X" in arrays else [("X_train", "y_train"), ("X_test", "y_test")]
    X, y = (np.concatenate([arrays[part[k]] for part in parts]) for k in (0, 1))
    return X, (y == y.max()).astype(np.int64)


def split(name: str, arrays: tuple[NDArray[Any], NDArray[Any]] | None, share: float, n_rows: int, seed: int) -> Split:
    """Make a set with a share of positive rows; split it in two halves."""
    if arrays is None:
        X, y = make_classification(
            2 * n_rows,
            20,
            n_informative=8,
            n_redundant=4,
            n_clusters_per_class=3,
            weights=[1.0 - share],
            flip_y=0.002,
            random_state=seed,
        )
    else:
        X, y = arrays
        rng = np.random.default_rng(seed)
        negative, positive = (rng.permutation(np.flatnonzero(y == k)) for k in (0, 1))
        negative = negative[: int(2 * n_rows * (1 - share))]
        n_positive = round(share / (1 - share) * len(negative))
        rows = rng.permutation(np.concatenate([negative, positive[:n_positive]]))
        X, y = X[rows], y[rows]
    half = len(y) // 2
    return X[:half], y[:half], X[half:], y[half:]


def compare(splits: list[Split], class_weight: str | None) -> list[list[str]]:
    """Fit all contestants to all splits; give the lines of the table."""
    from lightgbm import LGBMClassifier

    others = {
        "LightGBM": lambda: LGBMClassifier(class_weight=class_weight, n_jobs=1, verbose=-1),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(class_weight=class_weight, random_state=0),
    }
    lines = [[name, "", *average([measure_fit(make(), *data) for data in splits])] for name, make in others.items()]
    for cls in (MPBoostClassifier, MPGradientBoostingClassifier):
        for scoring in SCORINGS:
            fits = [
                measure_fit(cls(class_weight=class_weight, scoring=scoring, n_jobs=1, random_state=seed), *data)
                for seed, data in enumerate(splits)
            ]
            lines.append([cls.__name__.removesuffix("Classifier"), scoring or "none", *average(fits)])
    return lines


def measure_fit(
    model: Any, X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any], y_test: NDArray[Any]
) -> tuple[float, ...]:
    """Fit a model; give its figures on the test rows."""
    with threadpool_limits(1):
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        probabilities = model.predict_proba(X_test)[:, 1]
    n_trees = getattr(model, "best_iteration_", None) or getattr(model, "n_iter_", None) or model.n_estimators
    return (
        roc_auc_score(y_test, probabilities),
        average_precision_score(y_test, probabilities),
        log_loss(y_test, probabilities),
        n_trees,
        seconds,
    )


def average(fits: list[tuple[float, ...]]) -> list[str]:
    """Average the figures of several fits, as text."""
    auc, precision, loss, n_trees, seconds = np.mean(fits, axis=0)
    return [f"{auc:.4f}", f"{precision:.3f}", f"{loss:.4f}", f"{n_trees:.0f}", f"{seconds:.2f}"]


if __name__ == "__main__":
    sys.exit(main())
