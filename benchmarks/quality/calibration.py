"""Log-loss on held-out rows beside a random forest with as many trees.

``python -m benchmarks.quality.calibration [--quick] [--only SET ...]`` prints a table in Markdown.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.measure import time_call
from benchmarks.common.results import ResultTable
from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.data.files import find_file
from benchmarks.data.sets import TWO_CLASSES, load_set, split
from benchmarks.data.split_set import SplitSet
from mpboost import MPBoostClassifier

#: More rows to learn from would keep the forest busy for hours.
MAX_ROWS = 40_000


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, TWO_CLASSES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12], help="of the splits and of the models")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="the most to learn from, and to be judged by")
    options, folder = parse(parser, arguments, "quality")
    names = options.only or list(TWO_CLASSES)[: 3 if options.quick else None]
    path = folder / "calibration.csv"

    def measure_all(_: object) -> None:
        if options.quick:
            show_log_losses(names, options.seeds[:1], 500, path)
        else:
            show_log_losses(names, options.seeds, options.rows, path)

    return run_on(lambda: [find_file(TWO_CLASSES[name].file) for name in names], measure_all)


def show_log_losses(names: Iterable[str], seeds: list[int], n_rows: int, path: Path) -> None:
    """Show a row for each set as it is measured: means over the seeds; log-losses, accuracies, seconds of the fits."""
    columns = ["set", "rows", "trees", "share of votes", "calibrated", "forest", "ratio"]
    table = ResultTable(path, [*columns, "accuracy", "accuracy, forest", "s", "s, forest"])
    for name in names:
        arrays = load_set(name)
        figures = [measure(split(name, arrays, seed, n_rows), seed) for seed in seeds]
        n_learned, n_trees, share, calibrated, forest, accuracy, forest_accuracy, *seconds = np.mean(figures, axis=0)
        losses = (f"{loss:.4f}" for loss in (share, calibrated, forest))
        accuracies = (f"{100 * score:.2f} %" for score in (accuracy, forest_accuracy))
        sizes = f"{n_learned:.0f}", f"{n_trees:.0f}"
        times = (f"{taken:.1f}" for taken in seconds)
        table.add([name, *sizes, *losses, f"{calibrated / forest:.2f}", *accuracies, *times])


def measure(split_set: SplitSet, seed: int) -> list[float]:
    """Fit ours, then a forest of as many trees, one thread each; return the figures in the order of the table."""
    model = MPBoostClassifier(random_state=seed)
    seconds = time_call(lambda: model.fit(split_set.X_train, split_set.y_train), 1)
    forest = CONTESTANTS["RandomForest"].make(Plan(model.best_iteration_, seed))
    forest_seconds = time_call(lambda: forest.fit(split_set.X_train, split_set.y_train), 1)
    probabilities = [predict(split_set.X_test) for predict in (model.predict_vote_share, model.predict_proba)]
    probabilities.append(forest.predict_proba(split_set.X_test))
    return [
        len(split_set.X_train),
        model.best_iteration_,
        *(log_loss(split_set.y_test, table, labels=model.classes_) for table in probabilities),
        model.score(split_set.X_test, split_set.y_test),
        np.mean(forest.classes_[probabilities[-1].argmax(axis=1)] == split_set.y_test),
        seconds,
        forest_seconds,
    ]


if __name__ == "__main__":
    sys.exit(main())
