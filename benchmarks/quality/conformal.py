"""How often intervals and sets hold new targets, how large they are, and what they cost, beside MAPIE on LightGBM.

``python -m benchmarks.quality.conformal [--quick] [--only SET ...]``: defaults, one thread, three splits of each set
cut to 1000 rows; coverages of 80, 90 and 95 %. All methods of a split run one after the other. MAPIE: a hold-out of a
quarter of the rows; jackknife+ after 30 bootstraps for numbers, five-fold cross-conformal sets for classes.
"""

import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable, show_table
from benchmarks.quality.intervals import FAMILIES, load

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
N_TRAIN, MAX_TEST, N_SPLITS = 1000, 5000, 3

#: Whether targets are in the interval or set of each row, and its size, for each coverage.
Judged = tuple[NDArray[np.bool_], NDArray[np.float64]]
#: Learns from rows and targets; returns what judges new rows and targets.
Method = Callable[[NDArray[Any], NDArray[Any], int], Callable[[NDArray[Any], NDArray[Any]], Iterator[Judged]]]


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, NAMES)
    options, folder = parse(parser, arguments, "quality")
    names = options.only or (["bank_32nh", "vehicle"] if options.quick else NAMES)

    def measure(_: object) -> None:
        show_coverage(names, 1 if options.quick else N_SPLITS, folder)

    return run_on(lambda: load(names[0]), measure)


def show_coverage(names: list[str], n_splits: int, folder: Path) -> None:
    """Show a row for each set and method as it is measured, then the means over sets of each method."""
    print_heading("Coverage and size of intervals and sets")
    print_line("Size: the mean width over the standard deviation of the targets, or the mean number of classes")
    figures = [f"{figure} at {coverage:.0%}" for coverage in COVERAGES for figure in ("held", "size")]
    columns = ["set", "kind", "method", "splits", *figures, "fit s", "predict s"]
    table = ResultTable(folder / "conformal.csv", columns)
    totals: dict[tuple[str, str], list[NDArray[np.float64]]] = defaultdict(list)
    for name in names:
        X, y, is_regression = load(name)
        kind = "numbers" if is_regression else "classes"
        means = {
            method: np.mean(measured, axis=0) for method, measured in measure_set(X, y, is_regression, n_splits).items()
        }
        for method, mean in means.items():
            totals[kind, method].append(mean)
            table.add([name, kind, method, str(n_splits), *format_means(mean)])
    print_heading("Means over the sets")
    lines = [
        [kind, method, str(len(means)), *format_means(np.mean(means, axis=0))]
        for (kind, method), means in totals.items()
    ]
    show_table(folder / "conformal_summary.csv", ["kind", "method", "sets", *columns[4:]], lines)


def format_means(means: NDArray[np.float64]) -> list[str]:
    """Format shares in percent, sizes, and seconds."""
    shares, sizes = means[:-2:2], means[1:-2:2]
    pairs = [(f"{100 * share:.1f} %", f"{size:.3f}") for share, size in zip(shares, sizes, strict=True)]
    return [*(text for pair in pairs for text in pair), *(f"{seconds:.2f}" for seconds in means[-2:])]


def measure_set(
    X: NDArray[Any], y: NDArray[Any], is_regression: bool, n_splits: int
) -> dict[str, list[NDArray[np.float64]]]:
    """Measure all methods on the same splits, in turns; for each coverage the share held and the size, then seconds."""
    measured: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    if not is_regression:
        y = np.unique(y, return_inverse=True)[1]
    for seed in range(n_splits):
        rows = np.random.default_rng(seed).permutation(len(y))
        n_train = min(N_TRAIN, round(0.7 * len(y)))
        train, test = rows[:n_train], rows[n_train : n_train + MAX_TEST]
        for name, method in list_methods(is_regression).items():
            begun = time.perf_counter()
            judge = method(X[train], y[train], seed)
            fitted = time.perf_counter()
            judged = [*judge(X[test], y[test])]
            seconds = fitted - begun, time.perf_counter() - fitted
            scale = y.std() if is_regression else 1.0
            means = [(held.mean(), sizes.mean() / scale) for held, sizes in judged]
            measured[name].append(np.array([*np.ravel(means), *seconds]))
    return measured


def list_methods(is_regression: bool) -> dict[str, Method]:
    """List the methods by name."""

    def make_ours(estimators: tuple[Any, Any]) -> Method:
        def learn(X: NDArray[Any], y: NDArray[Any], seed: int) -> Any:
            model = estimators[is_regression](random_state=seed, n_jobs=1).fit(X, y)
            find = model.predict_interval if is_regression else model.predict_set
            return lambda X, y: (judge(find(X, coverage), y) for coverage in COVERAGES)

        return learn

    ours = {f"mpboost, {family}": make_ours(estimators) for family, estimators in FAMILIES.items()}
    return ours | {
        "MAPIE, hold-out": learn_split,
        "MAPIE, " + ("jackknife+" if is_regression else "cross"): learn_cross,
    }


def judge(found: NDArray[Any], y: NDArray[Any]) -> Judged:
    """Tell which targets are in their interval or set, and how large these are."""
    if found.dtype == bool:
        return found[np.arange(len(y)), y], found.sum(axis=1).astype(float)
    return (found[:, 0] <= y) & (y <= found[:, 1]), found[:, 1] - found[:, 0]


def learn_split(X: NDArray[Any], y: NDArray[Any], seed: int) -> Any:
    """Train on three quarters of the rows, conformalise on the others."""
    from mapie.classification import SplitConformalClassifier
    from mapie.regression import SplitConformalRegressor

    is_regression = y.dtype.kind == "f"
    n_held = len(y) // 4
    make = SplitConformalRegressor if is_regression else SplitConformalClassifier
    model = make(make_lightgbm(is_regression, seed), confidence_level=COVERAGES, prefit=False)
    model.fit(X[n_held:], y[n_held:]).conformalize(X[:n_held], y[:n_held])
    return lambda X, y: judge_mapie(model, X, y)


def learn_cross(X: NDArray[Any], y: NDArray[Any], seed: int) -> Any:
    """Let all rows be trained on and judged, in turns."""
    from mapie.classification import CrossConformalClassifier
    from mapie.regression import JackknifeAfterBootstrapRegressor

    is_regression = y.dtype.kind == "f"
    make = JackknifeAfterBootstrapRegressor if is_regression else CrossConformalClassifier
    model = make(make_lightgbm(is_regression, seed), confidence_level=COVERAGES, random_state=seed)
    model.fit_conformalize(X, y)
    return lambda X, y: judge_mapie(model, X, y)


def make_lightgbm(is_regression: bool, seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if is_regression else LGBMClassifier)(n_jobs=1, random_state=seed, verbose=-1)


def judge_mapie(model: Any, X: NDArray[Any], y: NDArray[Any]) -> Iterator[Judged]:
    """Judge the intervals or sets of MAPIE, one coverage after the other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM on names of features
        _, found = model.predict_interval(X) if y.dtype.kind == "f" else model.predict_set(X)
    for place in range(len(COVERAGES)):
        yield judge(found[:, :, place], y)


if __name__ == "__main__":
    sys.exit(main())
