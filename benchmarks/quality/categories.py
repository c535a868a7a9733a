"""Categories against their codes, on Adult as it is officially split: ``python -m benchmarks.quality.categories``."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from benchmarks.common.command import make_parser, parse, run_on
from benchmarks.common.measure import take_turns, time_call
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.data.files import load_arrays
from benchmarks.data.sets import CATEGORICAL
from mpboost import MPBoostClassifier


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    options, folder = parse(parser, arguments, "quality")
    n_seeds, n_rows, n_iterations = (2, 2000, 30) if options.quick else (options.seeds, None, 300)

    def measure_both(arrays: dict[str, NDArray[Any]]) -> None:
        compare("our defaults", arrays, n_seeds, {}, folder / "categories_defaults.csv")
        # As many trees for both, for the stopping rule cuts them at different iterations.
        same = {"n_estimators": n_iterations, "stopping": None}
        compare(f"{n_iterations} iterations", arrays, n_seeds, same, folder / "categories_iterations.csv")

    return run_on(lambda: {name: array[:n_rows] for name, array in load_arrays("adult").items()}, measure_both)


def compare(title: str, arrays: dict[str, NDArray[Any]], n_seeds: int, parameters: dict[str, Any], path: Path) -> None:
    """Show a table: both ways to give the same columns, and the difference within a seed."""
    print_heading(f"Adult, {title}: mean and standard error over {n_seeds} seeds, one thread")
    tables = {
        name: (declare(arrays["X_train"], name), declare(arrays["X_test"], name)) for name in ("codes", "categories")
    }
    seeds = {name: iter(range(n_seeds)) for name in tables}

    def fit(name: str) -> list[float]:
        return measure(tables[name], arrays, {**parameters, "random_state": next(seeds[name])})

    turns = take_turns({"codes": lambda: fit("codes"), "categories": lambda: fit("categories")}, n_seeds)
    figures = {name: np.array(turn) for name, turn in turns.items()}
    figures["difference"] = figures["categories"] - figures["codes"]
    rows = [
        [
            name,
            _with_error(100 * accuracy, 3),
            _with_error(loss, 5),
            f"{trees.mean():.0f}",
            f"{seconds.mean():.2f}",
        ]
        for name, (accuracy, loss, trees, seconds) in ((name, table.T) for name, table in figures.items())
    ]
    show_table(path, ["columns", "accuracy %", "log-loss", "trees", "seconds"], rows)
    better = np.count_nonzero(figures["difference"][:, 0] > 0)
    print_line(f"categories are more accurate for {better} of {n_seeds} seeds")


def declare(X: NDArray[Any], kind: str) -> Any:
    """Make a data frame of Adult's columns: all numbers, or with those that are codes declared to be categories."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return frame if kind == "codes" else frame.astype({f"x{j}": "category" for j in CATEGORICAL})


def measure(tables: tuple[Any, Any], arrays: dict[str, NDArray[Any]], parameters: dict[str, Any]) -> list[float]:
    """Fit once; return accuracy and log-loss on the test rows, trees, and seconds of the fit."""
    model = MPBoostClassifier(**parameters)
    seconds = time_call(lambda: model.fit(tables[0], arrays["y_train"]), 1)
    loss = log_loss(arrays["y_test"], model.predict_proba(tables[1]))
    return [model.score(tables[1], arrays["y_test"]), loss, model.best_iteration_, seconds]


def _with_error(values: NDArray[np.float64], digits: int) -> str:
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())
