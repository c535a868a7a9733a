"""Log-loss on held-out rows beside a random forest with as many trees.

``python -m benchmarks.calibration [--quick] [set ...]`` prints a table in Markdown.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss

from benchmarks.command import make_parser
from benchmarks.data import DataNotFoundError, Problem, load_arrays
from benchmarks.measure import time_call
from benchmarks.output import print_line
from mpboost import MPBoostClassifier

Table = NDArray[Any]

#: More rows to learn from would keep the forest busy for hours.
MAX_ROWS = 40_000

#: Sets in two classes: the file, how its labels become 0 and 1 (-1 leaves a row out), and how its columns are mended.
SETS: dict[str, tuple[str, Callable[[Table], Table], Callable[[Table], Table]]] = {
    "adult": ("adult", lambda y: y == 1, lambda X: X),
    "magic": ("magic", lambda y: y == y.max(), lambda X: X),
    "spambase": ("spambase", lambda y: y == y.max(), lambda X: X),
    "jasmine": ("jasmine", lambda y: y == y.max(), lambda X: X),
    "dna, 2 or not": ("dna", lambda y: y == 2, lambda X: X),
    "madelon": ("madelon", lambda y: y == y.max(), lambda X: X),
    "higgs": ("higgs_kaggle_22889", lambda y: y == y.max(), lambda X: np.where(X == -999, np.nan, X)),
    "relathe": ("relathe", lambda y: y == y.max(), lambda X: X),
    "hill-valley": ("hill_valley", lambda y: y == y.max(), lambda X: X / X.max(axis=1, keepdims=True)),
    "gas drift, < 3": ("gas_drift_partial", lambda y: y < 3, lambda X: X),
    "MNIST 3 vs 8": ("mnist", lambda y: np.select([y == 3, y == 8], [0, 1], -1), lambda X: X),
    "CIFAR truck/car": ("cifar10_truck_car", lambda y: y == 1, lambda X: X),
    "covertype, 1 or not": ("covertype", lambda y: y == 1, lambda X: X),
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("sets", nargs="*", metavar="set", help=f"some of: {'; '.join(SETS)}")
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12], help="of the splits and of the models")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="the most to learn from, and to be judged by")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.sets) - set(SETS))
    if unknown:
        parser.error(f"no such set: {', '.join(unknown)}")
    names = options.sets or list(SETS)
    try:
        if options.quick:
            show_log_losses(names[:3], options.seeds[:1], 500)
        else:
            show_log_losses(names, options.seeds, options.rows)
    except DataNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def show_log_losses(names: Iterable[str], seeds: list[int], n_rows: int) -> None:
    """Print a row for each set as it is measured: means over the seeds; log-losses, accuracies, seconds of the fits."""
    print_line("| set | rows | trees | share of votes | calibrated | forest | ratio | accuracy | forest | s | forest |")
    print_line("| --- |" + " ---: |" * 10)
    for name in names:
        figures = [measure(load(name, seed, n_rows), seed) for seed in seeds]
        n_learned, n_trees, share, calibrated, forest, accuracy, forest_accuracy, *seconds = np.mean(figures, axis=0)
        print_line(
            f"| {name} | {n_learned:.0f} | {n_trees:.0f} "
            f"| {share:.4f} | {calibrated:.4f} | {forest:.4f} | {calibrated / forest:.2f} "
            f"| {100 * accuracy:.2f} % | {100 * forest_accuracy:.2f} % | {seconds[0]:.1f} | {seconds[1]:.1f} |"
        )


def load(name: str, seed: int, n_rows: int) -> Problem:
    """Load a set, split as it officially is, or else at random with four fifths to learn from."""
    file, divide, mend = SETS[name]
    arrays = load_arrays(file)
    if "X" in arrays:
        X, y = arrays["X"], arrays["y"]
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = np.split(order, [int(0.8 * len(X))])
        parts = X[train], y[train], X[test], y[test]
    else:
        parts = arrays["X_train"], arrays["y_train"], arrays["X_test"], arrays["y_test"]
    X_train, y_train = _prepare(*parts[:2], divide, mend)
    X_test, y_test = _prepare(*parts[2:], divide, mend)
    return Problem(name, X_train[:n_rows], y_train[:n_rows], X_test[:n_rows], y_test[:n_rows])


def measure(problem: Problem, seed: int) -> list[float]:
    """Fit ours, then a forest of as many trees, one thread each; return the figures in the order of the table."""
    model = MPBoostClassifier(random_state=seed)
    seconds = time_call(lambda: model.fit(problem.X_train, problem.y_train), 1)
    forest = RandomForestClassifier(model.best_iteration_, random_state=seed, n_jobs=1)
    forest_seconds = time_call(lambda: forest.fit(problem.X_train, problem.y_train), 1)
    probabilities = [predict(problem.X_test) for predict in (model.predict_vote_share, model.predict_proba)]
    probabilities.append(forest.predict_proba(problem.X_test))
    return [
        len(problem.X_train),
        model.best_iteration_,
        *(log_loss(problem.y_test, table, labels=model.classes_) for table in probabilities),
        model.score(problem.X_test, problem.y_test),
        np.mean(forest.classes_[probabilities[-1].argmax(axis=1)] == problem.y_test),
        seconds,
        forest_seconds,
    ]


def _prepare(
    X: Table, y: Table, divide: Callable[[Table], Table], mend: Callable[[Table], Table]
) -> tuple[Table, NDArray[np.int8]]:
    classes = divide(y.astype(np.int64)).astype(np.int8)
    kept = classes >= 0
    return mend(X[kept]), 2 * classes[kept] - 1


if __name__ == "__main__":
    sys.exit(main())
