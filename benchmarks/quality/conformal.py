"""How often intervals and sets hold new targets, how large they are, and what they cost, beside MAPIE on LightGBM.

``python -m benchmarks.quality.conformal [--quick] [--only SET ...]``: defaults, one thread; ten sets cut to 1000 rows,
five splits of each, and to 10 000 rows, one split, without the methods of MAPIE that fit many models; coverages of 80,
90 and 95 %. MAPIE: a hold-out of a quarter of the rows; jackknife+ after 30 bootstraps for numbers, five-fold
cross-conformal sets for classes. Seconds are those of the processor, since all run in one thread. ``--page`` writes the
tables of docs/intervals.md from the files of the last run, and measures nothing.
"""

import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.folders import PROJECT, RESULTS
from benchmarks.common.output import format_markdown, print_heading, print_line
from benchmarks.common.pages import space, write_page
from benchmarks.common.results import ResultTable, Row, read_rows
from benchmarks.quality.intervals import FAMILIES, load
from mpboost import MPGradientBoostingRegressor, fit_spread

PAGE, COMMAND = PROJECT / "docs" / "intervals.md", "benchmarks.quality.conformal"
#: Five sets of numbers, five of classes; two, three, four and 26 classes.
NAMES = [
    "california housing",
    "bike sharing",
    "cpu act",
    "puma_32h",
    "bank_32nh",
    "adult",
    "magic",
    "waveform",
    "vehicle",
    "letter",
]
COVERAGES = (0.8, 0.9, 0.95)
#: Rows to learn from at most, and how many splits; rows to test on at most.
SIZES = {1000: 5, 10_000: 1}
MAX_TEST = 5000
#: Methods that fit many models take part up to so many rows.
MAX_ROWS_OF_MANY = 1000
N_GROUPS = 4

JACKKNIFE, CROSS = "MAPIE, jackknife+", "MAPIE, cross"
FIGURES = [f"{figure} at {coverage:.0%}" for coverage in COVERAGES for figure in ("held", "size")]
WORST = "worst group at 90%"
MEASURED = [*FIGURES, WORST, "fit s", "predict s"]


class Rows(NamedTuple):
    """Rows, their targets, and the group that each belongs to."""

    X: NDArray[Any]
    y: NDArray[Any]
    groups: NDArray[np.intp]

    def take(self, rows: NDArray[np.intp]) -> "Rows":
        """Take some of the rows."""
        return Rows(self.X[rows], self.y[rows], self.groups[rows])


#: Whether targets are in the interval or set of each row, and its size, for each coverage.
Judged = tuple[NDArray[np.bool_], NDArray[np.float64]]
#: Learns from rows, with a seed; returns what judges new rows.
Method = Callable[[Rows, int], Callable[[Rows], Iterator[Judged]]]


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, NAMES)
    parser.add_argument("--page", action="store_true", help="write the tables of docs/intervals.md, measure nothing")
    options, folder = parse(parser, arguments, "quality")
    if options.page:
        write_page(PAGE, COMMAND, make_tables(RESULTS / "quality"))
        return 0
    names = options.only or (["bank_32nh", "vehicle"] if options.quick else NAMES)

    def measure(_: object) -> None:
        show_coverage(names, {300: 1} if options.quick else SIZES, folder)

    return run_on(lambda: load(names[0]), measure)


def show_coverage(names: list[str], sizes: dict[int, int], folder: Path) -> None:
    """Show a row for each set and method as it is measured, then the means over sets of each method."""
    print_heading("Coverage and size of intervals and sets")
    print_line(
        "Size: the mean width over the standard deviation of the targets, or the mean number of classes; worst group: "
        f"coverage of\nthe least covered of {N_GROUPS} groups, quarters of the feature that goes with the target"
    )
    table = ResultTable(folder / "conformal.csv", ["rows at most", "set", "kind", "method", "splits", *MEASURED])
    for n_train, n_splits in sizes.items():
        for name in names:
            X, y, is_regression = load(name)
            y = y if is_regression else np.unique(y, return_inverse=True)[1]
            methods = list_methods(is_regression, has_many=n_train <= MAX_ROWS_OF_MANY)
            found = measure_set(Rows(X, y, find_groups(X, y)), methods, n_train, n_splits)
            kind = "numbers" if is_regression else "classes"
            for method, means in found.items():
                table.add([str(n_train), name, kind, method, str(n_splits), *format_means(means)])
    print_heading("Means over the sets")
    print_line(tabulate_means(folder))


def format_means(means: NDArray[np.float64]) -> list[str]:
    """Format shares in percent, sizes, and seconds."""
    *figures, worst, fit, predict = means
    shares, sizes = figures[::2], figures[1::2]
    pairs = [(f"{100 * share:.1f} %", f"{size:.3f}") for share, size in zip(shares, sizes, strict=True)]
    return [*(text for pair in pairs for text in pair), f"{100 * worst:.1f} %", f"{fit:.2f}", f"{predict:.2f}"]


def measure_set(rows: Rows, methods: dict[str, Method], n_train: int, n_splits: int) -> dict[str, NDArray[np.float64]]:
    """Measure all methods on the same splits, in turns; return the figures of each in the order of ``MEASURED``."""
    scale = rows.y.std() if rows.y.dtype.kind == "f" else 1.0
    n_train = min(n_train, round(0.7 * len(rows.y)))
    measured: dict[str, list[list[float]]] = defaultdict(list)
    by_group: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(rows.y))
        train, test = rows.take(order[:n_train]), rows.take(order[n_train : n_train + MAX_TEST])
        for name, method in methods.items():
            begun = time.process_time()
            judge = method(train, seed)
            fitted = time.process_time()
            judged = [*judge(test)]
            ended = time.process_time()
            figures = [figure for held, sizes in judged for figure in (held.mean(), sizes.mean() / scale)]
            measured[name].append([*figures, fitted - begun, ended - fitted])
            held = judged[COVERAGES.index(0.9)][0]
            by_group[name].append(np.bincount(test.groups, held) / np.bincount(test.groups))
    return {
        name: np.insert(np.mean(found, axis=0), -2, np.mean(by_group[name], axis=0).min())
        for name, found in measured.items()
    }


def find_groups(X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.intp]:
    """Put rows into groups: quarters of the feature whose ranks go with those of the target."""
    ranks = rankdata(np.nan_to_num(X), axis=0)
    ranks -= ranks.mean(axis=0)
    spreads = np.where(ranks.std(axis=0) > 0, ranks.std(axis=0), np.inf)
    best = np.argmax(np.abs(ranks.T @ (rankdata(y) - (len(y) + 1) / 2)) / spreads)
    edges = np.quantile(ranks[:, best], np.arange(1, N_GROUPS) / N_GROUPS)
    return np.unique(np.searchsorted(edges, ranks[:, best]), return_inverse=True)[1]


def list_methods(is_regression: bool, *, has_many: bool) -> dict[str, Method]:
    """List the methods by name; with ``has_many``, also those that fit many models."""
    methods: dict[str, Method] = {
        "mpboost, votes": partial(learn_ours, "votes"),
        "mpboost, votes, uniform p": partial(learn_ours, "votes", adaptive_observations=False),
        "mpboost, gradient": partial(learn_ours, "gradient"),
        "mpboost, gradient, by group": partial(learn_ours, "gradient", by_group=True),
    }
    if is_regression:
        methods["mpboost, gradient, spread"] = learn_spread
        methods["mpboost, gradient, quantiles"] = learn_quantiles
    methods["MAPIE, hold-out"] = learn_split
    if has_many:
        methods[JACKKNIFE if is_regression else CROSS] = learn_cross
    return methods


def judge(found: NDArray[Any], y: NDArray[Any]) -> Judged:
    """Tell which targets are in their interval or set, and how large these are."""
    if found.dtype == bool:
        return found[np.arange(len(y)), y], found.sum(axis=1).astype(float)
    return (found[:, 0] <= y) & (y <= found[:, 1]), found[:, 1] - found[:, 0]


def learn_ours(family: str, train: Rows, seed: int, *, by_group: bool = False, **parameters: Any) -> Any:
    """Learn from all rows, by our defaults."""
    is_regression = train.y.dtype.kind == "f"
    model = FAMILIES[family][is_regression](random_state=seed, n_jobs=1, **parameters).fit(train.X, train.y)
    find = model.predict_interval if is_regression else model.predict_set

    def judge_rows(new: Rows) -> Iterator[Judged]:
        groups = {"groups": new.groups, "training_groups": train.groups} if by_group else {}
        return (judge(find(new.X, coverage, **groups), new.y) for coverage in COVERAGES)

    return judge_rows


def learn_spread(train: Rows, seed: int) -> Any:
    """Learn from all rows, and then how large the errors are."""
    model = MPGradientBoostingRegressor(random_state=seed, n_jobs=1).fit(train.X, train.y)
    spread = fit_spread(model, train.X)
    return lambda new: (judge(model.predict_interval(new.X, each, spread=spread), new.y) for each in COVERAGES)


def learn_quantiles(train: Rows, seed: int) -> Any:
    """Learn two quantiles, those of a coverage of 90 %."""
    low, high = (
        MPGradientBoostingRegressor(loss="quantile", alpha=alpha, random_state=seed, n_jobs=1).fit(train.X, train.y)
        for alpha in (0.05, 0.95)
    )
    return lambda new: (judge(low.predict_interval(new.X, each, upper=high), new.y) for each in COVERAGES)


def learn_split(train: Rows, seed: int) -> Any:
    """Train on three quarters of the rows, conformalise on the others."""
    from mapie.classification import SplitConformalClassifier
    from mapie.regression import SplitConformalRegressor

    is_regression = train.y.dtype.kind == "f"
    n_held = len(train.y) // 4
    make = SplitConformalRegressor if is_regression else SplitConformalClassifier
    model = make(make_lightgbm(is_regression, seed), confidence_level=COVERAGES, prefit=False)
    model.fit(train.X[n_held:], train.y[n_held:]).conformalize(train.X[:n_held], train.y[:n_held])
    return partial(judge_mapie, model)


def learn_cross(train: Rows, seed: int) -> Any:
    """Let all rows be trained on and judged, in turns."""
    from mapie.classification import CrossConformalClassifier
    from mapie.regression import JackknifeAfterBootstrapRegressor

    is_regression = train.y.dtype.kind == "f"
    make = JackknifeAfterBootstrapRegressor if is_regression else CrossConformalClassifier
    model = make(make_lightgbm(is_regression, seed), confidence_level=COVERAGES, random_state=seed)
    model.fit_conformalize(train.X, train.y)
    return partial(judge_mapie, model)


def make_lightgbm(is_regression: bool, seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if is_regression else LGBMClassifier)(n_jobs=1, random_state=seed, verbose=-1)


def judge_mapie(model: Any, new: Rows) -> Iterator[Judged]:
    """Judge the intervals or sets of MAPIE, one coverage after the other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM on names of features
        _, found = model.predict_interval(new.X) if new.y.dtype.kind == "f" else model.predict_set(new.X)
    for place in range(len(COVERAGES)):
        yield judge(found[:, :, place], new.y)


def make_tables(folder: Path) -> dict[str, Callable[[], str]]:
    """List what makes the tables of the page, by name."""
    return {
        "means": partial(tabulate_means, folder),
        "sets": partial(tabulate_sets, folder),
        "gaps": partial(tabulate_gaps, folder),
    }


def tabulate_means(folder: Path) -> str:
    """Make the table of the means over sets of each method, with seconds beside those of MAPIE's many fits."""
    cells: dict[tuple[str, str, str], list[list[float]]] = defaultdict(list)
    for row in read_rows(folder / "conformal.csv"):
        key = row["kind"], row["rows at most"], row["method"]
        cells[key].append([float(row[column].removesuffix(" %")) for column in MEASURED])
    means = {key: dict(zip(MEASURED, np.mean(found, axis=0), strict=True)) for key, found in cells.items()}
    seconds = {key: mean["fit s"] + mean["predict s"] for key, mean in means.items()}
    slow = {key[:2]: seconds[key] for key in means if key[2] in (JACKKNIFE, CROSS)}

    def describe(key: tuple[str, str, str]) -> list[str]:
        kind, size, method = key
        figures = means[key]
        held = [f"{figures[f'held at {each:.0%}']:.1f} ({figures[f'size at {each:.0%}']:.3f})" for each in COVERAGES]
        share = f"{seconds[key] / slow[kind, size]:.2f}" if (kind, size) in slow else ""
        return [kind, space(size), method, *held, f"{figures[WORST]:.1f}", f"{seconds[key]:.2f}", share]

    heads = ["", "rows at most", "method", *(f"{each:.0%} (size)" for each in COVERAGES)]
    return format_markdown([*heads, "worst group at 90 %", "seconds", "of MAPIE's many fits"], [*map(describe, means)])


def tabulate_sets(folder: Path) -> str:
    """Make the table of the sets: coverage and size at 90 % for some methods."""
    rows = [row for row in read_rows(folder / "conformal.csv") if row["rows at most"] == "1000"]
    heads = {
        "votes": ["mpboost, votes"],
        "gradient": ["mpboost, gradient"],
        "with a spread": ["mpboost, gradient, spread"],
        "hold-out": ["MAPIE, hold-out"],
        "jackknife+ or cross": [JACKKNIFE, CROSS],
    }

    def describe(name: str) -> list[str]:
        own = {row["method"]: row for row in rows if row["set"] == name}
        found = [next((own[method] for method in methods if method in own), None) for methods in heads.values()]
        return [name, *("" if row is None else f"{row['held at 90%']}, {row['size at 90%']}" for row in found)]

    return format_markdown(["set", *heads], [describe(name) for name in dict.fromkeys(row["set"] for row in rows)])


def tabulate_gaps(folder: Path) -> str:
    """Make the table of coverage minus nominal, in points, as means over all ten sets."""
    rows = read_rows(folder / "conformal.csv")
    families = ["mpboost, votes", "mpboost, votes, uniform p", "mpboost, gradient", "MAPIE, hold-out"]

    def describe(size: str, method: str) -> list[str]:
        own = [row for row in rows if (row["rows at most"], row["method"]) == (size, method)]
        gaps = [np.mean([read_share(row, each) - 100 * each for row in own]) for each in COVERAGES]
        return [space(size), method, f"{len(own)}", *(f"{gap:+.1f}" for gap in gaps)]

    sizes = list(dict.fromkeys(row["rows at most"] for row in rows))
    heads = ["rows at most", "method", "sets", *(f"{each:.0%}" for each in COVERAGES)]
    return format_markdown(heads, [describe(size, method) for size in sizes for method in families])


def read_share(row: Row, coverage: float) -> float:
    return float(row[f"held at {coverage:.0%}"].removesuffix(" %"))


if __name__ == "__main__":
    sys.exit(main())
