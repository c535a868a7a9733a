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
from benchmarks.data import DataNotFoundError, Problem, data_folder
from benchmarks.output import print_line
from mpboost import Callback, MPBoostClassifier
from mpboost.boosting import BoostingRun
from mpboost.calibration import VoteCalibration

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


class DrawCounter(Callback):
    """Remembers who was drawn when: the model is cut to its best iteration afterwards."""

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Start anew."""
        self.patches: list[NDArray[np.int64]] = []

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Remember a minipatch."""
        self.patches.append(run.rows)
        return None

    def count(self, n_iterations: int, n_samples: int) -> NDArray[np.int64]:
        """Count how often each row was drawn in the first iterations."""
        return np.bincount(np.concatenate(self.patches[:n_iterations]), minlength=n_samples)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("sets", nargs="*", metavar="set", help=f"some of: {'; '.join(SETS)}")
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12], help="of the splits and of the models")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.sets) - set(SETS))
    if unknown:
        parser.error(f"no such set: {', '.join(unknown)}")
    names = options.sets or list(SETS)
    try:
        if options.quick:
            show_log_losses(names[:3], options.seeds[:1], 500, {})
        else:
            show_log_losses(names, options.seeds, MAX_ROWS, {})
    except DataNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def show_log_losses(names: Iterable[str], seeds: list[int], n_rows: int, parameters: dict[str, Any]) -> None:
    """Print a row for each set as it is measured: means over the seeds."""
    print_line("| set | trees | accuracy | forest's | share of votes | calibrated | forest | ratio |")
    print_line("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in names:
        figures = [measure(load(name, seed, n_rows), seed, parameters) for seed in seeds]
        n_trees, accuracy, forest_accuracy, share, calibrated, forest = np.mean(figures, axis=0)
        print_line(
            f"| {name} | {n_trees:.0f} | {100 * accuracy:.2f} % | {100 * forest_accuracy:.2f} % "
            f"| {share:.4f} | {calibrated:.4f} | {forest:.4f} | {calibrated / forest:.2f} |"
        )


def load(name: str, seed: int, n_rows: int) -> Problem:
    """Load a set, split as it officially is, or else at random with four fifths to learn from."""
    file, divide, mend = SETS[name]
    path = data_folder() / f"{file}.npz"
    if not path.is_file():
        raise DataNotFoundError(f"There is no {path}. Set MPBOOST_DATA to the folder that holds {file}.npz.")
    with np.load(path, allow_pickle=False) as arrays:
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


def measure(problem: Problem, seed: int, parameters: dict[str, Any]) -> list[float]:
    """Fit ours, then a forest; return trees, both accuracies, and log-losses: votes, calibrated, forest."""
    counter = DrawCounter()
    model = MPBoostClassifier(**parameters, callbacks=[counter], random_state=seed)
    model.fit(problem.X_train, problem.y_train)
    n_trees, vote_weight = model.best_iteration_, model.learning_rate
    forest = RandomForestClassifier(n_trees, random_state=seed, n_jobs=1).fit(problem.X_train, problem.y_train)

    calibration = VoteCalibration.fit(
        np.rint(model.oop_decision_function_ / vote_weight),
        n_trees - counter.count(n_trees, len(problem.y_train)),
        problem.y_train,
    )
    votes = np.rint(model.decision_function(problem.X_test) / vote_weight)
    tie_label = 1 if 2 * np.count_nonzero(problem.y_train > 0) >= len(problem.y_train) else -1
    probabilities = [
        0.5 + 0.5 * votes / n_trees,
        calibration.predict(votes, n_trees, tie_label),
        forest.predict_proba(problem.X_test)[:, 1],
    ]
    return [
        n_trees,
        model.score(problem.X_test, problem.y_test),
        forest.score(problem.X_test, problem.y_test),
        *(log_loss(problem.y_test, positive, labels=[-1, 1]) for positive in probabilities),
    ]


def _prepare(
    X: Table, y: Table, divide: Callable[[Table], Table], mend: Callable[[Table], Table]
) -> tuple[Table, NDArray[np.int8]]:
    classes = divide(y.astype(np.int64)).astype(np.int8)
    kept = classes >= 0
    return mend(X[kept]), 2 * classes[kept] - 1


if __name__ == "__main__":
    sys.exit(main())
