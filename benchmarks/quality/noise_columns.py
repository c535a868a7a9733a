"""What columns of noise do, above all categories of many values: ``python -m benchmarks.quality.noise_columns``.

Three tables: q of a column that is noise; what such a column costs on new rows, beside other libraries; and real sets
with categories of many values, where a remedy against noise must not lose. ``--ours`` leaves the other libraries out,
which an older build of mpboost needs: ``PYTHONPATH=build/compare/COMMIT/site``, and ``--output`` for its folder.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable
from benchmarks.contestants import CONTESTANTS, Plan, find_installed
from benchmarks.data.files import load_arrays
from benchmarks.data.sets import CATEGORICAL
from benchmarks.data.split_set import SplitSet
from benchmarks.data.words import NUMBERS, read_words

OURS = ("MPBoost", "MPGradientBoosting")
TASKS = ("two classes", "four classes", "regression")
#: Rows to learn from, for the table of q and for that of harm, and rows to test on.
N_CREDIT, N_HARM, N_TEST = 2500, 5000, 20_000

#: Real sets with categories.
SETS = ("adult", "telco_churn", "german_credit", "melbourne_houses", "census_income")


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, ("credit", "harm", "sets"))
    parser.add_argument("--ours", action="store_true", help="leave out the other libraries")
    options, folder = parse(parser, arguments, "quality")
    chosen = options.only or ("credit", "harm", "sets")
    others = () if options.ours else ("LightGBM", "HistGradientBoosting", "CatBoost")
    warnings.filterwarnings("ignore", module="lightgbm|sklearn")

    def measure(_: None) -> None:
        if "credit" in chosen:
            show_credit(folder / "noise_columns_credit.csv", *((1, 1000) if options.quick else (10, N_CREDIT)))
        if "harm" in chosen:
            names, n_seeds, n_rows = (OURS, 1, 1000) if options.quick else ((*OURS, *others), 5, N_HARM)
            show_harm(folder / "noise_columns_harm.csv", find_installed(names), n_seeds, n_rows)
        if "sets" in chosen:
            names = find_installed(
                OURS if options.quick else (*OURS, *(n for n in others if n != "HistGradientBoosting"))
            )
            sets, n_seeds = (("german_credit",), 1) if options.quick else (SETS, 3)
            show_sets(folder / "noise_columns_sets.csv", names, sets, n_seeds)

    def load() -> None:
        for name in SETS if "sets" in chosen else ():
            read_set(name)

    return run_on(load, measure)


def make_trial(task: str, seed: int, n_rows: int) -> tuple[NDArray[Any], NDArray[Any], np.random.Generator]:
    """Make five numbers, of which the last tells nothing, and labels; trees reach about 72 % and an R^2 of 0.57."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    signal = X[:, 0] + 0.6 * X[:, 1] * X[:, 2] + 0.5 * np.sin(2 * X[:, 3])
    if task == "two classes":
        return X, (signal + 0.75 * rng.logistic(size=n_rows) > 0).astype(int), rng
    if task == "four classes":
        strengths = np.stack([signal, X[:, 1], X[:, 2], -signal], axis=1)
        return X, (strengths + 0.75 * rng.gumbel(size=strengths.shape)).argmax(axis=1), rng
    return X, signal + rng.normal(size=n_rows), rng


def add_values(n_values: int) -> Callable[[NDArray[Any], np.random.Generator], Any]:
    return lambda X, rng: pd.Categorical(rng.integers(n_values, size=len(X)))


def add_text(X: NDArray[Any], rng: np.random.Generator) -> Any:
    return np.array([f"word {value}" for value in rng.integers(200, size=len(X))], dtype=object)


def add_number(X: NDArray[Any], rng: np.random.Generator) -> Any:
    return rng.normal(size=len(X))


def add_holed(X: NDArray[Any], rng: np.random.Generator) -> Any:
    return np.where(rng.random(len(X)) < 0.3, np.nan, rng.normal(size=len(X)))


def add_holed_category(X: NDArray[Any], rng: np.random.Generator) -> Any:
    codes = rng.integers(200, size=len(X))
    return pd.Categorical.from_codes(np.where(rng.random(len(X)) < 0.3, -1, codes), categories=range(200))


def add_number_beside_holes(X: NDArray[Any], rng: np.random.Generator) -> Any:
    X[rng.random(len(X)) < 0.3, 0] = np.nan
    return rng.normal(size=len(X))


NOISE = {
    "a number": add_number,
    "a number, 30 % missing": add_holed,
    "a number; a real one has 30 % missing": add_number_beside_holes,
    **{f"{n} categories": add_values(n) for n in (10, 30, 100, 200, 500, 1000)},
    "200 categories, 30 % missing": add_holed_category,
    "200 words": add_text,
}


def show_credit(path: Path, n_seeds: int, n_rows: int) -> None:
    """Show q of a column that is noise, beside five numbers."""
    print_heading(f"q of a column that is noise, {n_rows} rows: mean (largest) of {n_seeds} seeds")
    columns = [f"{name}, {task}" for name in OURS for task in TASKS]
    table = ResultTable(path, ["column", *columns])
    for title, add in NOISE.items():
        cells = [title]
        for name in OURS:
            for task in TASKS:
                q = [_fit_noise(name, task, add, seed, n_rows) for seed in range(n_seeds)]
                cells.append(f"{np.mean(q):.4f} ({np.max(q):.4f})")
        table.add(cells)


def _fit_noise(name: str, task: str, add: Callable[..., Any], seed: int, n_rows: int) -> float:
    X, y, rng = make_trial(task, seed, n_rows)
    noise = add(X, rng)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(noise=noise)
    model = CONTESTANTS[name].make(Plan(seed=seed), is_regression=task == "regression").fit(frame, y)
    return float(model.feature_probabilities_[-1])


def show_harm(path: Path, names: list[str], n_seeds: int, n_rows: int) -> None:
    """Show what a category of noise costs on new rows."""
    print_heading(f"Accuracy % or 100 R^2 with a category of noise, {n_rows} rows: change, mean of {n_seeds} seeds")
    values = (10, 30, 100, 200, 1000)
    table = ResultTable(path, ["task", "contestant", "without", *(f"{n} values" for n in values)])
    for task in ("two classes", "regression"):
        for name in names:
            scores = np.full((n_seeds, 1 + len(values)), np.nan)
            for seed in range(n_seeds):
                for place, n_values in enumerate((None, *values)):
                    if _can_take(name, n_values):
                        scores[seed, place] = _score_noise(name, task, n_values, seed, n_rows)
            changes = scores[:, 1:] - scores[:, :1]
            errors = changes.std(axis=0, ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.zeros(len(values))
            cells = [
                "" if np.isnan(change) else f"{change:+.2f} ± {error:.2f}"
                for change, error in zip(changes.mean(axis=0), errors, strict=True)
            ]
            table.add([task, name, f"{scores[:, 0].mean():.2f}", *cells])


def _can_take(name: str, n_values: int | None) -> bool:
    """Check what is left out: HistGradientBoosting takes 255 categories; CatBoost takes long."""
    if name == "CatBoost":
        return n_values in (None, 200)
    return name != "HistGradientBoosting" or n_values is None or n_values <= 255


def _score_noise(name: str, task: str, n_values: int | None, seed: int, n_rows: int) -> float:
    X, y, rng = make_trial(task, seed, n_rows + N_TEST)
    if n_values is not None:
        X = np.column_stack([X, rng.integers(n_values, size=len(X))])
    categorical = () if n_values is None else (5,)
    split_set = SplitSet(
        task, X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], categorical, is_regression=task == "regression"
    )
    return _fit(name, split_set, seed)[0]


def show_sets(path: Path, names: list[str], sets: tuple[str, ...], n_seeds: int) -> None:
    """Show real sets with categories, split at random, four to one."""
    print_heading(f"Real sets: accuracy % or 100 R^2, and log loss; mean ± standard error of {n_seeds} splits")
    table = ResultTable(path, ["set", "contestant", "accuracy or R^2", "log loss"])
    for set_name in sets:
        X, y, categorical = read_set(set_name)
        is_regression = set_name in NUMBERS
        for name in names:
            figures = []
            for seed in range(n_seeds):
                order = np.random.default_rng(seed).permutation(len(y))
                train, test = np.split(order, [len(y) * 4 // 5])
                split_set = SplitSet(set_name, X[train], y[train], X[test], y[test], categorical, is_regression)
                figures.append(_fit(name, split_set.encode(), seed))
            means = np.mean(figures, axis=0)
            errors = np.std(figures, axis=0, ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.zeros(2)
            loss = "" if is_regression else f"{means[1]:.4f} ± {errors[1]:.4f}"
            table.add([set_name, name, f"{means[0]:.2f} ± {errors[0]:.2f}", loss])


def _fit(name: str, split_set: SplitSet, seed: int) -> tuple[float, float]:
    """Fit once; return accuracy or R^2 in percent on the test rows, and the log loss."""
    entry = CONTESTANTS[name].enter(split_set, Plan(n_trees=None, seed=seed))
    with threadpool_limits(1):
        model = entry.model.fit(entry.X_train, split_set.y_train, **entry.fit_arguments)
    score = 100.0 * float(model.score(entry.X_test, split_set.y_test))
    if split_set.is_regression:
        return score, np.nan
    return score, log_loss(split_set.y_test, model.predict_proba(entry.X_test))


def read_set(name: str) -> tuple[NDArray[np.float64], NDArray[Any], tuple[int, ...]]:
    """Read a table as numbers and codes of categories, its labels, and which columns are categorical."""
    if name == "adult":
        arrays = load_arrays("adult")
        X, y = (np.concatenate([arrays[f"{part}_train"], arrays[f"{part}_test"]]) for part in "Xy")
        return X.astype(np.float64), y, CATEGORICAL
    return read_words(name)


if __name__ == "__main__":
    sys.exit(main())
