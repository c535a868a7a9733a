"""Finding flipped labels beside cross-validation: ``python -m benchmarks.quality.label_issues [--only SET ...]``."""

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from threadpoolctl import threadpool_limits

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.data.flips import Flipped, flip
from benchmarks.data.sets import load_set
from mpboost import MPBoostClassifier, find_label_issues

NAMES = ("adult", "magic", "spambase", "dna", "MNIST 3 vs 8", "letter")

#: Shares of the training labels that are flipped.
RATES = (0.05, 0.1, 0.2)

#: Threads of both contestants: with more, the other is at the mercy of what else the machine does.
N_THREADS = 1


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, NAMES)
    options, folder = parse(parser, arguments, "quality")
    n_rows, rates = (600, RATES[:1]) if options.quick else (None, RATES)
    other = CONTESTANTS["HistGradientBoosting"].make(Plan(10 if options.quick else 100))

    def measure(sets: dict[str, tuple[NDArray[Any], NDArray[Any]]]) -> None:
        print_heading("Flipped labels found")
        print_line(
            f"{N_THREADS} thread each; defaults; AUC of ranking the flipped rows by our difficulty; 'folds': "
            "by 1 - the\nprobability of the given label, from 5-fold cross-validated HistGradientBoosting; "
            "precision and\nrecall of what find_label_issues gives by default"
        )
        lines = []
        for name, (X, y) in sets.items():
            rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
            lines += [[name, f"{rate:.0%}", *compare(flip(X[rows], y[rows], rate), other)] for rate in rates]
        columns = ["set", "flipped", "rows", "AUC", "AUC, folds", "more", "s", "s, folds", "ratio"]
        columns += ["precision", "recall"]
        show_table(folder / "label_issues.csv", columns, lines)

    return run_on(lambda: {name: load(name) for name in options.only or NAMES}, measure)


def load(name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Load the rows to train on, with labels 0, 1, 2, ..."""
    arrays = load_set(name)
    X, y = (arrays["X_train"], arrays["y_train"]) if "X_train" in arrays else (arrays["X"], arrays["y"])
    return X, np.unique(y, return_inverse=True)[1]


def compare(data: Flipped, other: Any) -> list[str]:
    """Let both rank the rows; give the cells of a line."""
    is_flipped = data.is_flipped
    with threadpool_limits(N_THREADS):
        start = time.perf_counter()
        model = MPBoostClassifier(random_state=0, n_jobs=N_THREADS).fit(data.X, data.y)
        issues = find_label_issues(model)
        seconds = time.perf_counter() - start
        probabilities = cross_val_predict(other, data.X, data.y, cv=5, method="predict_proba")
        other_seconds = time.perf_counter() - start - seconds
    auc = roc_auc_score(is_flipped, model.observation_difficulty_)
    other_auc = roc_auc_score(is_flipped, 1 - probabilities[np.arange(len(data.y)), data.y])
    n_found = np.count_nonzero(is_flipped[issues.row])
    return [
        str(len(data.y)),
        f"{auc:.4f}",
        f"{other_auc:.4f}",
        f"{auc - other_auc:+.4f}",
        f"{seconds:.2f}",
        f"{other_seconds:.2f}",
        f"{other_seconds / seconds:.1f}",
        f"{n_found / max(1, len(issues.row)):.2f}",
        f"{n_found / np.count_nonzero(is_flipped):.2f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
