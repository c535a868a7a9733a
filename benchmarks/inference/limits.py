"""Where p, q, the out-of-patch score and intervals can be trusted, and where they break: simulations.

``python -m benchmarks.inference.limits [--quick] [--only STUDY ...]``: made-up rows whose truth is known, defaults, one
thread. Each study writes a file, and a whole run draws the pictures of docs/limits.md. ``--page`` writes its tables and
draws its pictures from the files of the last run, and measures nothing.
"""

import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.common.command import add_only, make_parser, parse, print_machine
from benchmarks.common.folders import PROJECT, RESULTS
from benchmarks.common.output import format_markdown, print_heading
from benchmarks.common.pages import write_page
from benchmarks.common.pictures import save_picture
from benchmarks.common.results import FACTS, Row, read_rows, show_table
from benchmarks.inference.limits_pictures import PICTURES
from mpboost import (
    PAPER,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    fit_spread,
)

PAGE, COMMAND = PROJECT / "docs" / "limits.md", "benchmarks.inference.limits"
IMAGES = PROJECT / "docs" / "images" / "limits"

N_FEATURES, N_TEST = 20, 4000
COVERAGE = 0.9
#: The features that the label depends on; all others are noise.
USEFUL = 4

FIXED = {"adaptive_observations": False, "stopping": None, "n_estimators": 300}
#: Nothing but the trees looks at labels: the case that is proved.
PROVED = FIXED | {"adaptive_features": False, "max_samples": 250, "min_samples_split": 2}
CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "votes": MPBoostClassifier,
    "votes, uniform p": partial(MPBoostClassifier, adaptive_observations=False),
    "votes, uniform p, no stopping": partial(MPBoostClassifier, **FIXED),
    "votes, uniform p and q, no stopping": partial(MPBoostClassifier, **FIXED, adaptive_features=False),
    "votes, uniform p and q, no stopping, sizes given": partial(MPBoostClassifier, **PROVED),
    "votes, PAPER": partial(MPBoostClassifier, **PAPER, max_samples=0.1, max_features=5),
    "votes, PAPER, uniform p": partial(
        MPBoostClassifier, **(PAPER | {"adaptive_observations": False}), max_samples=0.1, max_features=5
    ),
    "gradient": MPGradientBoostingClassifier,
}
REGRESSORS: dict[str, Callable[..., Any]] = {"votes": MPBoostRegressor, "gradient": MPGradientBoostingRegressor}

#: Figures of one fit, by the name of their column.
Figures = dict[str, float]
#: What a row of a table is about, then the figures of one of its fits.
Case = tuple[tuple[str, ...], Figures]


class Study(NamedTuple):
    """A simulation: what its rows are about, how many seeds it needs, and what measures it."""

    keys: tuple[str, ...]
    n_seeds: int
    run: Callable[[int], Iterator[Case]]


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, STUDIES)
    parser.add_argument("--page", action="store_true", help="make pictures and tables, measure nothing")
    options, folder = parse(parser, arguments, "inference")
    if options.page:
        write()
        return 0
    print_machine()
    show(folder, quick=options.quick, only=options.only)
    return 0


def write() -> None:
    """Draw the pictures and write the tables of docs/limits.md from the committed results."""
    folder = RESULTS / "inference"
    draw_pictures(folder)
    write_page(PAGE, COMMAND, make_tables(folder))


def show(folder: Path, *, quick: bool, only: Sequence[str] | None = None) -> None:
    """Measure some of the studies, by default all, and draw their pictures."""
    for name in only or STUDIES:
        show_study(name, folder, 1 if quick else STUDIES[name].n_seeds)
    draw_pictures(folder)


def show_study(name: str, folder: Path, n_seeds: int) -> None:
    """Measure a study with some seeds; show the means of its figures."""
    print_heading(f"Limits: {name}")
    study = STUDIES[name]
    found: dict[tuple[str, ...], list[Figures]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of models that learn nothing, and of endless intervals
        for seed in range(n_seeds):
            for key, figures in study.run(seed):
                found[key].append(figures)
    columns = list(next(iter(found.values()))[0])
    rows = [
        [*key, str(n_seeds), *(f"{np.mean([each[column] for each in figures]):.4g}" for column in columns)]
        for key, figures in found.items()
    ]
    show_table(folder / f"limits_{name}.csv", [*study.keys, "seeds", *columns], rows)


def draw_pictures(folder: Path) -> None:
    """Draw the pictures of the studies that a folder has: published results for the page, others beside them."""
    images = IMAGES if folder == RESULTS / "inference" else folder / "images"
    for stem, (names, draw) in PICTURES.items():
        files = [folder / f"limits_{name}.csv" for name in names]
        if all(file.exists() for file in files):
            save_picture(draw(*map(read_rows, files)), images / stem, has_svg=False)


def make_labels(n_rows: int, rng: np.random.Generator, flipped: float) -> tuple[NDArray[Any], ...]:
    """Make rows of two classes, with a share of the labels wrong; tell which are wrong."""
    X = rng.normal(size=(n_rows, N_FEATURES))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] > 0).astype(int)
    is_wrong = rng.uniform(size=n_rows) < flipped
    return X, np.where(is_wrong, 1 - y, y), is_wrong


def make_numbers(n_rows: int, rng: np.random.Generator, noise: float = 1.0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make rows of numbers, by five of ten features."""
    X = rng.uniform(size=(n_rows, 10))
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, signal + noise * rng.normal(size=n_rows)


def study_noise(seed: int) -> Iterator[Case]:
    """Adaptivity and wrong labels: what p is drawn to, and what that does to scores and sets."""
    for flipped in (0.0, 0.1, 0.2, 0.3, 0.4):
        rng = np.random.default_rng(seed)
        X, y, is_wrong = make_labels(1000, rng, flipped)
        X_new, y_new, _ = make_labels(N_TEST, rng, flipped)
        for name, make in CLASSIFIERS.items():
            model = make(random_state=seed, n_jobs=1).fit(X, y)
            score = 100 * model.score(X_new, y_new)
            sets = model.predict_set(X_new, COVERAGE)
            yield (
                (f"{flipped:.0%}", name),
                {
                    "test": score,
                    "gap": 100 * model.oop_score_ - score,
                    "score held": 100 * holds(model, score / 100),
                    "set held": 100 * sets[np.arange(N_TEST), y_new].mean(),
                    "p on wrong labels": 100 * model.observation_probabilities_[is_wrong].sum(),
                    "AUC of p": find_auc(is_wrong, model.observation_probabilities_),
                    "AUC of difficulty": find_auc(is_wrong, model.observation_difficulty_),
                },
            )


def study_tiny(seed: int) -> Iterator[Case]:
    """Few rows: what scores, intervals and q still tell."""
    for n_rows in (20, 50, 100, 200, 500, 2000):
        rng = np.random.default_rng(seed)
        X, y, _ = make_labels(n_rows, rng, 0.1)
        X_new, y_new, _ = make_labels(N_TEST, rng, 0.1)
        numbers, targets = make_numbers(n_rows, rng)
        new_numbers, new_targets = make_numbers(N_TEST, rng)
        for name in REGRESSORS:
            model = CLASSIFIERS[name](random_state=seed, n_jobs=1).fit(X, y)
            regressor = REGRESSORS[name](random_state=seed, n_jobs=1).fit(numbers, targets)
            score = model.score(X_new, y_new)
            gap = 100 * (model.oop_score_ - score)
            sets = model.predict_set(X_new, COVERAGE)
            intervals = regressor.predict_interval(new_numbers, COVERAGE)
            top = np.argsort(-model.feature_probabilities_)[:USEFUL]
            yield (
                (str(n_rows), name),
                {
                    "gap": gap,
                    "absolute gap": abs(gap),
                    "score held": 100 * holds(model, score),
                    "set held": 100 * sets[np.arange(N_TEST), y_new].mean(),
                    "interval held": 100 * find_coverage(intervals, new_targets),
                    "useful of the top four by q": 25.0 * float(np.sum(top < USEFUL)),
                },
            )


def study_together(seed: int) -> Iterator[Case]:
    """Rows that belong together: several of one person, whom the model comes to know."""
    for n_each in (1, 2, 5, 10, 20):
        rng = np.random.default_rng(seed)

        def make(n_people: int, n_each: int = n_each, rng: np.random.Generator = rng) -> tuple[NDArray[Any], ...]:
            X, y = make_numbers(n_people, rng, noise=3.0)  # what is noise for people is shared by their rows
            X, y = np.repeat(X, n_each, axis=0), np.repeat(y, n_each)
            return X + 0.01 * rng.normal(size=X.shape), y + 0.5 * rng.normal(size=len(y))

        X, y = make(1000 // n_each)
        X_new, y_new = make(N_TEST // n_each)
        for name, regressor in REGRESSORS.items():
            model = regressor(random_state=seed, n_jobs=1).fit(X, y)
            score = model.score(X_new, y_new)
            yield (
                (str(n_each), name),
                {
                    "test": 100 * score,
                    "gap": 100 * (model.oop_score_ - score),
                    "score held": 100 * holds(model, score),
                    "interval held": 100 * find_coverage(model.predict_interval(X_new, COVERAGE), y_new),
                },
            )


def study_drift(seed: int) -> Iterator[Case]:
    """Rows from elsewhere: one feature has moved, by so many standard deviations."""
    rng = np.random.default_rng(seed)
    X, y = make_numbers(1000, rng)
    models = {name: make(random_state=seed, n_jobs=1).fit(X, y) for name, make in REGRESSORS.items()}
    for shift in (0.0, 0.25, 0.5, 1.0, 2.0):
        rng = np.random.default_rng(seed + 1000)
        X_new, y_new = make_numbers(N_TEST, rng)
        moved = shift / np.sqrt(12)
        X_new[:, 3] += moved
        y_new += 10 * moved  # as the feature says
        for name, model in models.items():
            score = model.score(X_new, y_new)
            yield (
                (f"{shift:g}", name),
                {
                    "test": 100 * score,
                    "gap": 100 * (model.oop_score_ - score),
                    "interval held": 100 * find_coverage(model.predict_interval(X_new, COVERAGE), y_new),
                },
            )


def study_twins(seed: int) -> Iterator[Case]:
    """Correlated features: q of a useful feature, of a twin without an effect of its own, and of others."""
    for correlation in (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, N_FEATURES))
        X[:, 2] = correlation * X[:, 0] + np.sqrt(1 - correlation**2) * X[:, 2]
        y = (X[:, 0] + X[:, 1] + rng.normal(size=1000) > 0).astype(int)
        for name in REGRESSORS:
            q = N_FEATURES * CLASSIFIERS[name](random_state=seed, n_jobs=1).fit(X, y).feature_probabilities_
            yield (
                (f"{correlation:g}", name),
                {
                    "useful, with a twin": q[0],
                    "its twin": q[2],
                    "useful, alone": q[1],
                    "noise, on average": q[3:].mean(),
                    "noise, the largest": q[3:].max(),
                },
            )


def study_widths(seed: int) -> Iterator[Case]:
    """Rows with more noise than others: how often the noisiest tenth is covered."""
    for factor in (1, 2, 4, 8):
        rng = np.random.default_rng(seed)
        X, y = make_numbers(1000 + N_TEST, rng, noise=0.0)
        is_noisy = X[:, 9] > 0.9
        y += np.where(is_noisy, factor, 1.0) * rng.normal(size=len(y))
        train, new = slice(0, 1000), slice(1000, None)
        for name, make in REGRESSORS.items():
            model = make(random_state=seed, n_jobs=1).fit(X[train], y[train])
            ways: dict[str, dict[str, Any]] = {
                "one width": {},
                "by group": {"groups": is_noisy[new], "training_groups": is_noisy[train]},
                "spread": {"spread": fit_spread(model, X[train])},
            }
            found = {way: model.predict_interval(X[new], COVERAGE, **each) for way, each in ways.items()}
            figures = {
                f"{rows}, {way}": 100 * find_coverage(each[chosen], y[new][chosen])
                for way, each in found.items()
                for rows, chosen in (("all", slice(None)), ("noisy", is_noisy[new]))
            }
            yield (str(factor), name), figures | {f"width, {way}": np.diff(each).mean() for way, each in found.items()}


def holds(model: Any, score: float) -> bool:
    """Tell whether the interval of the out-of-patch score holds the score on new rows."""
    low, high = model.oop_interval_
    return bool(low <= score <= high)


def find_auc(is_wrong: NDArray[np.bool_], values: NDArray[np.float64]) -> float:
    """Compute how well values tell wrong labels from right ones, among rows that have a value; NaN if none is wrong."""
    is_known = ~np.isnan(values)
    return float(roc_auc_score(is_wrong[is_known], values[is_known])) if is_wrong.any() else np.nan


def find_coverage(intervals: NDArray[np.float64], y: NDArray[Any]) -> float:
    return float(np.mean((intervals[:, 0] <= y) & (y <= intervals[:, 1])))


STUDIES = {
    "noise": Study(("wrong labels", "model"), 15, study_noise),
    "tiny": Study(("rows", "model"), 40, study_tiny),
    "together": Study(("rows of each person", "model"), 10, study_together),
    "drift": Study(("shift", "model"), 10, study_drift),
    "twins": Study(("correlation", "model"), 10, study_twins),
    "widths": Study(("noise of the noisy tenth", "model"), 10, study_widths),
}


#: The tables of the page: digits behind the point, and the first keys of the rows that are shown, if not all.
TABLES: dict[str, tuple[int, tuple[str, ...] | None]] = {
    "noise": (2, ("0%", "20%", "40%")),
    "tiny": (1, None),
    "together": (1, None),
    "drift": (1, None),
    "widths": (1, None),
}


def make_tables(folder: Path) -> dict[str, Callable[[], str]]:
    """List what makes the tables of the page, by name."""
    return {
        name: partial(tabulate, folder / f"limits_{name}.csv", STUDIES[name].keys, *TABLES[name]) for name in TABLES
    }


def tabulate(path: Path, keys: Sequence[str], digits: int, kept: Sequence[str] | None) -> str:
    """Make a table of a file: the keys as they are, figures with so many digits."""
    rows = [row for row in read_rows(path) if kept is None or row[keys[0]] in kept]
    columns = [column for column in rows[0] if column not in ("seeds", *FACTS)]

    def show(row: Row, column: str) -> str:
        if column in keys:
            return row[column]
        return "" if row[column] == "nan" else f"{float(row[column]):.{digits}f}"

    return format_markdown(columns, [[show(row, column) for column in columns] for row in rows])


if __name__ == "__main__":
    sys.exit(main())
