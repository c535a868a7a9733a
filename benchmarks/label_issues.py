"""Finding flipped labels beside cross-validation: ``python -m benchmarks.label_issues [--quick] [--only NAME ...]``."""

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from threadpoolctl import threadpool_limits

from benchmarks.command import make_parser, run_on
from benchmarks.data import load_arrays, mnist_3_vs_8
from benchmarks.output import print_heading, print_line, print_table
from mpboost import MPBoostClassifier, find_label_issues

NAMES = ("adult", "magic", "spambase", "dna", "mnist_3_vs_8", "letter")

#: Shares of the training labels that are flipped.
RATES = (0.05, 0.1, 0.2)

#: Threads of both contestants: with more, the peer is at the mercy of what else the machine does.
N_THREADS = 1


@dataclass(frozen=True)
class Flipped:
    """Rows with labels, some of which were changed to another class, and which these are."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    is_flipped: NDArray[np.bool_]


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="data sets to run")
    options = parser.parse_args(arguments)
    n_rows, rates = (600, RATES[:1]) if options.quick else (None, RATES)
    peer = HistGradientBoostingClassifier(max_iter=10 if options.quick else 100, random_state=0)

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
            lines += [[name, f"{rate:.0%}", *compare(flip(X[rows], y[rows], rate), peer)] for rate in rates]
        columns = ["", "flipped", "rows", "AUC", "folds", "more", "seconds", "folds", "ratio", "precision", "recall"]
        print_table(columns, lines)

    return run_on(lambda: {name: load(name) for name in options.only}, measure)


def load(name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Load the rows to train on, with labels 0, 1, 2, ..."""
    if name == "mnist_3_vs_8":
        problem = mnist_3_vs_8()
        return problem.X_train, (problem.y_train > 0).astype(np.int64)
    arrays = load_arrays(name)
    X, y = (arrays["X_train"], arrays["y_train"]) if "X_train" in arrays else (arrays["X"], arrays["y"])
    return X, np.unique(y, return_inverse=True)[1]


def flip(X: NDArray[Any], y: NDArray[np.int64], rate: float, seed: int = 0) -> Flipped:
    """Give a share of the rows, drawn at random, another class, drawn at random."""
    rng = np.random.default_rng(seed)
    n_classes, n_flipped = y.max() + 1, round(rate * len(y))
    rows = rng.choice(len(y), n_flipped, replace=False)
    noisy, is_flipped = y.copy(), np.zeros(len(y), dtype=bool)
    noisy[rows] = (y[rows] + rng.integers(1, n_classes, n_flipped)) % n_classes
    is_flipped[rows] = True
    return Flipped(X, noisy, is_flipped)


def compare(data: Flipped, peer: HistGradientBoostingClassifier) -> list[str]:
    """Let both rank the rows; give the cells of a line."""
    is_flipped = data.is_flipped
    with threadpool_limits(N_THREADS):
        start = time.perf_counter()
        model = MPBoostClassifier(random_state=0, n_jobs=N_THREADS).fit(data.X, data.y)
        issues = find_label_issues(model)
        seconds = time.perf_counter() - start
        probabilities = cross_val_predict(peer, data.X, data.y, cv=5, method="predict_proba")
        peer_seconds = time.perf_counter() - start - seconds
    auc = roc_auc_score(is_flipped, model.observation_difficulty_)
    peer_auc = roc_auc_score(is_flipped, 1 - probabilities[np.arange(len(data.y)), data.y])
    n_found = np.count_nonzero(is_flipped[issues.row])
    return [
        str(len(data.y)),
        f"{auc:.4f}",
        f"{peer_auc:.4f}",
        f"{auc - peer_auc:+.4f}",
        f"{seconds:.2f}",
        f"{peer_seconds:.2f}",
        f"{peer_seconds / seconds:.1f}",
        f"{n_found / max(1, len(issues.row)):.2f}",
        f"{n_found / np.count_nonzero(is_flipped):.2f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
