"""Labels that are needed if ``suggest_rows`` chooses them.

``python -m benchmarks.quality.active_learning [--quick] [--only SET ...] [--workers N]``: each set is shuffled and cut
into a pool of at most 4000 rows, without labels at first, and at most 4000 rows to test on. A model learns from 20 rows
of the pool, drawn at random; then rows are chosen, their labels added, and it is fitted again. In each round as many
rows are chosen as a fifth of the labels known, but at least 10 ("a fifth"), or as many as there are labels
("doubling"). Rows are chosen at random; by uncertainty alone, which is margin sampling for classes and the spread of
trees for numbers (``diverse=False``); or by ``suggest_rows`` as it is.

The labels needed are those at which accuracy, or R^2, first reaches 95 % of what the whole pool gives, on the straight
line between two rounds; the median of ten seeds, which are also those of splits and fits. All fits have at most 200
trees and one thread, and are the same for all three ways. ``--page`` writes docs/guide/active-learning.md.
"""

import sys
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.folders import PROJECT, RESULTS
from benchmarks.common.output import format_markdown, print_heading, print_line
from benchmarks.common.pages import write_page
from benchmarks.common.pictures import save_picture
from benchmarks.common.results import ResultTable, Row, read_rows
from benchmarks.common.side_by_side import run_side_by_side
from benchmarks.quality.intervals import load
from mpboost import MPBoostClassifier, MPBoostRegressor, suggest_rows

#: Chosen for their kinds before anything was measured: images, a table of two classes, many classes, noisy labels.
CLASSES = ("MNIST 3 vs 8", "spambase", "letter", "magic")
NUMBERS = ("cpu act", "california housing")
NAMES = [*CLASSES, *NUMBERS]

#: Labels to begin with; the least that are added; how many are added for each that is known.
FIRST_LABELS, LEAST_ADDED = 20, 10
BATCHES = {"a fifth": 0.2, "doubling": 1.0}

#: The share of the final score that is asked for. Curves go on to so many labels.
TARGET, CURVE_LABELS = 0.95, 400
MAX_POOL, MAX_TEST, N_TREES, N_SEEDS = 4000, 4000, 200, 10

#: Chooses among rows, given a model that was fitted to others, how many, and a generator of random numbers.
Way = Callable[[Any, NDArray[Any], int, np.random.Generator], NDArray[np.intp]]
WAYS: dict[str, Way] = {
    "random": lambda model, X, n_rows, rng: rng.permutation(len(X))[:n_rows],
    "uncertainty": lambda model, X, n_rows, rng: suggest_rows(model, X, n_rows, diverse=False).row,
    "ours": lambda model, X, n_rows, rng: suggest_rows(model, X, n_rows).row,
}

load_once = lru_cache(maxsize=1)(load)

PAGE = PROJECT / "docs" / "guide" / "active-learning.md"
PICTURE = PROJECT / "docs" / "images" / "active_learning"
COMMAND = "benchmarks.quality.active_learning"
#: What the page calls the ways, and their colours.
TITLES = {"random": "at random", "uncertainty": "uncertainty alone", "ours": "suggest_rows"}
COLOURS = {"random": "#999999", "uncertainty": "#E69F00", "ours": "#0072B2"}


class Task(NamedTuple):
    """A set, the size of batches, a seed, and the labels that curves have at least."""

    name: str
    batches: str
    seed: int
    n_labels: int


class Curve(NamedTuple):
    """How the score grows with labels."""

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]


class Result(NamedTuple):
    """The rows of the pool, the score if all of them have labels, and the curve of each way."""

    n_pool: int
    final: float
    curves: dict[str, Curve]


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, NAMES)
    parser.add_argument("--workers", type=int, default=1, help="seeds that are measured side by side")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from the results")
    options, folder = parse(parser, arguments, "quality")
    if options.page:
        write(options.output or RESULTS / "quality")
        return 0
    names = options.only or (["spambase", "cpu act"] if options.quick else NAMES)
    n_seeds, n_labels = (2, 60) if options.quick else (N_SEEDS, CURVE_LABELS)
    tasks = [Task(name, batches, seed, n_labels) for name in names for batches in BATCHES for seed in range(n_seeds)]
    return run_on(lambda: load(names[0]), lambda _: show_labels(tasks, options.workers, folder))


def show_labels(tasks: list[Task], n_workers: int, folder: Path) -> None:
    """Show a row for each set and size of batches as it is measured; keep the mean curves in a file of their own."""
    print_heading(f"Labels needed for {TARGET:.0%} of the score of the whole pool")
    print_line("Medians of seeds; saved: fewer labels than at random; wins: seeds where ours needs fewer than random")
    saved = [f"{way} saved" for way in WAYS if way != "random"]
    columns = ["set", "batches", "pool", "seeds", "final", *WAYS, *saved, "wins"]
    table = ResultTable(folder / "active_learning.csv", columns)
    results: dict[Task, Result] = {}
    groups = [list(group) for _, group in groupby(tasks, key=lambda task: (task.name, task.batches))]
    for task, result in run_side_by_side(measure_seed, tasks, n_workers):
        results[task] = result
        while groups and all(each in results for each in groups[0]):  # rows keep the order of the sets
            table.add(summarise(groups[0][0], [results[each] for each in groups.pop(0)]))
    print_heading("Mean scores by labels, as far as the curves of all seeds go")
    means = ResultTable(folder / "active_learning_curves.csv", ["set", "batches", "labels", *WAYS])
    for (name, batches), group in groupby(tasks, key=lambda task: (task.name, task.batches)):
        for cells in list_means([results[task].curves for task in group]):
            means.add([name, batches, *cells])


def measure_seed(task: Task) -> Result:
    """Measure the score of the whole pool, and the curve of each way up to the target and to so many labels."""
    X, y, is_regression = load_once(task.name)
    seed, share = task.seed, BATCHES[task.batches]
    rows, n_pool = np.random.default_rng(seed).permutation(len(y)), min(MAX_POOL, round(0.6 * len(y)))
    pool, test = rows[:n_pool], rows[n_pool : n_pool + MAX_TEST]
    estimator = MPBoostRegressor if is_regression else MPBoostClassifier

    def fit(known: NDArray[Any]) -> tuple[Any, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # with few labels, a model may be useless, and says so
            model = estimator(n_estimators=N_TREES, random_state=seed, n_jobs=1).fit(X[known], y[known])
        return model, model.score(X[test], y[test])

    final = fit(pool)[1]

    def follow(choose: Way) -> Curve:
        rng = np.random.default_rng(seed)
        is_known = np.arange(n_pool) < FIRST_LABELS
        labels, scores = [], []
        while True:
            model, score = fit(pool[is_known])
            labels.append(np.count_nonzero(is_known))
            scores.append(score)
            if is_known.all() or (labels[-1] >= task.n_labels and max(scores) >= TARGET * final):
                return Curve(np.array(labels), np.array(scores))
            unknown = np.flatnonzero(~is_known)
            n_added = min(max(LEAST_ADDED, round(share * labels[-1])), len(unknown))
            is_known[unknown[choose(model, X[pool[unknown]], n_added, rng)]] = True

    return Result(n_pool, final, {name: follow(way) for name, way in WAYS.items()})


def count_needed(curve: Curve, target: float) -> float:
    """Return the number of labels at which a curve first reaches a score; infinite if it never does."""
    reached = np.flatnonzero(curve.scores >= target)
    if not len(reached):
        return np.inf
    last = reached[0]
    if last == 0:
        return float(curve.labels[0])
    (before, after), (low, high) = (values[last - 1 : last + 1] for values in curve)
    return float(before + (after - before) * (target - low) / (high - low))


def summarise(task: Task, results: list[Result]) -> list[str]:
    """Make the cells of a row: medians, what each way saves beside random, and how often ours needs fewer labels."""
    needed = {way: [count_needed(found.curves[way], TARGET * found.final) for found in results] for way in WAYS}
    medians = {way: np.median(counts) for way, counts in needed.items()}
    saved = [f"{1 - median / medians['random']:.0%}" for way, median in medians.items() if way != "random"]
    wins = sum(ours < chance for ours, chance in zip(needed["ours"], needed["random"], strict=True))
    final = np.median([found.final for found in results])
    return [
        task.name,
        task.batches,
        str(results[0].n_pool),
        str(len(results)),
        f"{final:.3f}",
        *(f"{median:.0f}" for median in medians.values()),
        *saved,
        str(wins),
    ]


def list_means(results: list[dict[str, Curve]]) -> list[list[str]]:
    """List the mean score over seeds for each number of labels that all curves have."""
    n_rounds = min(len(curve.labels) for curves in results for curve in curves.values())
    means = [np.mean([curves[way].scores[:n_rounds] for curves in results], axis=0) for way in WAYS]
    labels = results[0]["ours"].labels[:n_rounds]
    return [[str(n_labels), *(f"{mean[k]:.4f}" for mean in means)] for k, n_labels in enumerate(labels)]


def write(folder: Path) -> None:
    """Write the tables of the page anew, and draw its picture."""
    write_page(PAGE, COMMAND, make_tables(folder))
    for path in save_picture(draw(read_rows(folder / "active_learning_curves.csv")), PICTURE, has_svg=False):
        print_line(f"picture: {path}")


def make_tables(folder: Path) -> dict[str, Callable[[], str]]:
    """List what makes the tables of the page, by the size of batches."""
    rows = read_rows(folder / "active_learning.csv")
    return {
        batches: partial(tabulate, [row for row in rows if row["batches"] == batches])
        for batches in dict.fromkeys(row["batches"] for row in rows)
    }


def tabulate(rows: list[Row]) -> str:
    """Make the table of one size of batches; its last line has the medians over the sets with classes."""
    columns = ["set", "whole pool", TITLES["random"], TITLES["uncertainty"], f"`{TITLES['ours']}`"]
    lines = [
        [
            row["set"],
            row["final"],
            row["random"],
            f"{row['uncertainty']} ({format_saved(row['uncertainty saved'])})",
            f"{row['ours']} ({format_saved(row['ours saved'])}, {row['wins']} of {row['seeds']})",
        ]
        for row in rows
    ]
    of_classes = [row for row in rows if row["set"] in CLASSES]
    medians = [
        np.median([float(row[f"{way} saved"].rstrip("%")) for row in of_classes]) for way in ("uncertainty", "ours")
    ]
    lines.append(
        ["median of the four sets of classes", "", "", *(format_saved(f"{median:.0f}%") for median in medians)]
    )
    return format_markdown(columns, lines)


def format_saved(saved: str) -> str:
    """Format a share that is saved, with its sign.

    >>> format_saved("40%"), format_saved("-3%")
    ('-40 %', '+3 %')
    """
    share = int(saved.rstrip("%"))
    return f"{-share:+d} %"


def draw(rows: list[Row]) -> Any:
    """Draw the mean curves of all sets, in batches of a fifth."""
    figure, axes = plt.subplots(2, 3, figsize=(8, 4.6), layout="constrained")
    for ax, name in zip(axes.flat, dict.fromkeys(row["set"] for row in rows), strict=False):
        own = [row for row in rows if row["set"] == name and row["batches"] == "a fifth"]
        for way, colour in COLOURS.items():
            ax.plot(
                [int(row["labels"]) for row in own], [float(row[way]) for row in own], color=colour, label=TITLES[way]
            )
        ax.set_title(f"{name}{', R²' if name in NUMBERS else ''}", fontsize=10)
        ax.grid(alpha=0.3)
    for ax in axes[-1]:
        ax.set_xlabel("labels")
    axes[0, 0].set_ylabel("accuracy")
    axes[1, 0].set_ylabel("accuracy")
    axes[0, 0].legend(fontsize=8, loc="lower right")
    return figure


if __name__ == "__main__":
    sys.exit(main())
