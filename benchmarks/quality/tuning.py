"""The search by the out-of-patch score beside scikit-learn's grid search with five-fold cross-validation.

``python -m benchmarks.quality.tuning [--quick] [--only SET ...]`` prints a table in Markdown.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.measure import time_call
from benchmarks.common.results import ResultTable
from benchmarks.data.files import find_file
from benchmarks.data.sets import SETS, load_set, split
from benchmarks.data.split_set import SplitSet
from mpboost import MPBoostClassifier, OOPSearch

#: What is tried on each set.
GRIDS: dict[str, dict[str, list[float]]] = {
    "madelon": {"max_samples": [0.1, 0.25, 0.5, 0.75], "max_features": [0.05, 0.1, 0.2, 0.4]},
    "spambase": {"learning_rate": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0], "max_samples": [0.1, 0.3]},
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, GRIDS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="of the splits")
    options, folder = parse(parser, arguments, "quality")
    names = options.only or GRIDS
    path = folder / "tuning.csv"

    def measure_all(_: object) -> None:
        if options.quick:
            show_searches(names, options.seeds[:1], path, n_rows=300, n_estimators=20)
        else:
            show_searches(names, options.seeds, path, n_rows=40_000, n_estimators=1000)

    return run_on(lambda: [find_file(SETS[name].file) for name in names], measure_all)


def show_searches(names: Iterable[str], seeds: list[int], path: Path, n_rows: int, n_estimators: int) -> None:
    """Show a row for each set and way: means over the seeds of test accuracy, score and seconds; what was chosen."""
    table = ResultTable(path, ["set", "contestant", "test accuracy", "its own score", "seconds", "chosen"])
    for name in names:
        contestants = make_contestants(GRIDS[name], n_estimators)
        arrays = load_set(name)
        split_sets = (split(name, arrays, seed, n_rows) for seed in seeds)
        turns = [[measure(search, split_set) for search in contestants.values()] for split_set in split_sets]
        for title, figures in zip(contestants, zip(*turns, strict=True), strict=True):
            accuracy, score, seconds = np.mean([figure[:3] for figure in figures], axis=0)
            choices = ", ".join(f"{choice} ({n} x)" for choice, n in Counter(figure[3] for figure in figures).items())
            table.add([name, title, f"{100 * accuracy:.2f} %", f"{100 * score:.2f} %", f"{seconds:.1f}", choices])


def make_contestants(grid: dict[str, list[float]], n_estimators: int) -> dict[str, Any]:
    """Make what is compared, one thread each."""
    model = MPBoostClassifier(n_estimators=n_estimators, random_state=0)
    return {
        "defaults": model,
        "OOPSearch": OOPSearch(model, grid),
        "GridSearchCV": GridSearchCV(model, grid, cv=5),
    }


def measure(search: Any, split_set: SplitSet) -> tuple[float, float, float, str]:
    """Search; return the figures in the order of the table."""
    seconds = time_call(lambda: search.fit(split_set.X_train, split_set.y_train), 1)
    score = search.best_score_ if hasattr(search, "best_score_") else search.oop_score_
    chosen = " ".join(f"{name}={value}" for name, value in getattr(search, "best_params_", {}).items()) or "defaults"
    return search.score(split_set.X_test, split_set.y_test), score, seconds, chosen


if __name__ == "__main__":
    sys.exit(main())
