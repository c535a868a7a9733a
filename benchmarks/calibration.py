"""Log-loss on held-out rows beside a random forest with as many trees.

``python -m benchmarks.calibration [--quick] [set ...]`` prints a table in Markdown.
"""

import sys
from collections.abc import Iterable

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss

from benchmarks.command import make_parser
from benchmarks.data import DataNotFoundError, Problem
from benchmarks.measure import time_call
from benchmarks.output import print_line
from benchmarks.sets import TWO_CLASSES, load_set, split
from mpboost import MPBoostClassifier

#: More rows to learn from would keep the forest busy for hours.
MAX_ROWS = 40_000


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("sets", nargs="*", metavar="set", help=f"some of: {'; '.join(TWO_CLASSES)}")
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12], help="of the splits and of the models")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="the most to learn from, and to be judged by")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.sets) - set(TWO_CLASSES))
    if unknown:
        parser.error(f"no such set: {', '.join(unknown)}")
    names = options.sets or list(TWO_CLASSES)
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
        arrays = load_set(name)
        figures = [measure(split(name, arrays, seed, n_rows), seed) for seed in seeds]
        n_learned, n_trees, share, calibrated, forest, accuracy, forest_accuracy, *seconds = np.mean(figures, axis=0)
        print_line(
            f"| {name} | {n_learned:.0f} | {n_trees:.0f} "
            f"| {share:.4f} | {calibrated:.4f} | {forest:.4f} | {calibrated / forest:.2f} "
            f"| {100 * accuracy:.2f} % | {100 * forest_accuracy:.2f} % | {seconds[0]:.1f} | {seconds[1]:.1f} |"
        )


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


if __name__ == "__main__":
    sys.exit(main())
