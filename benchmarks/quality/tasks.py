"""Many classes and regression beside scikit-learn: ``python -m benchmarks.quality.tasks [--only SET ...]``."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.contestants.measuring import Outcome, format_score, mean_of, measure
from benchmarks.data.sets import load_set, split
from benchmarks.data.split_set import SplitSet

#: How our classifier deals with many classes, and how our regressor weighs rows; the first is the default.
WAYS = ("margin", "m2", "mh", "oc")
WEIGHTINGS = ("linear", "square", "exponential", "threshold")
COLUMNS = ("test", "out of patch", "out of patch - test", "learners", "seconds")


@dataclass(frozen=True)
class Effort:
    """How much is measured: seeds, rows, the most trees where they are fewer than usual; and threads of all."""

    n_seeds: int = 5
    n_rows: int | None = None
    n_trees: int | None = None
    n_threads: int = 2


#: One thread: where the machine is busy, two of them wait for each other for longer than a small fit takes.
QUICK = Effort(n_seeds=1, n_rows=200, n_trees=20, n_threads=1)


@dataclass(frozen=True)
class Contest:
    """A data set, what is asked of our defaults on it, and how often the slow contestants run."""

    name: str
    target: str
    is_large: bool = False
    slow: tuple[str, ...] = ()

    def n_seeds(self, n_seeds: int, contestant: str = "") -> int:
        """Tell how many seeds a contestant gets: one where it is slow."""
        return 1 if self.is_large or contestant in self.slow else n_seeds


CONTESTS = {
    contest.name: contest
    for contest in (
        Contest("MNIST", ">= 97.0 %", is_large=True),
        Contest("letter", ">= 95.5 %", slow=("HistGradientBoosting",)),
        Contest("covertype", "within 60 s", is_large=True),
        Contest("gas drift", ">= 99.2 %"),
        Contest("dna", ">= 95 %"),
        Contest("california housing", "AdaBoost + 0.05, forest - 0.02"),
        Contest("bike sharing", "AdaBoost + 0.05, forest - 0.02"),
        Contest("cpu act", "AdaBoost + 0.05, forest - 0.02"),
    )
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, CONTESTS)
    options, folder = parse(parser, arguments, "quality")
    effort = QUICK if options.quick else Effort()

    def measure_all(arrays: Mapping[str, dict[str, NDArray[Any]]]) -> None:
        print_line(
            f"{effort.n_threads} threads each; defaults; means over seeds, which also split data without a split"
        )
        for name in arrays:
            split_sets = [split(name, arrays[name], seed, effort.n_rows) for seed in range(effort.n_seeds)]
            print_heading(_describe(CONTESTS[name], split_sets))
            run = run_regression if split_sets[0].is_regression else run_classes
            show(run(CONTESTS[name], split_sets, effort), split_sets[0], folder)

    return run_on(lambda: {name: load_set(name) for name in options.only or CONTESTS}, measure_all)


def run_classes(contest: Contest, split_sets: Sequence[SplitSet], effort: Effort) -> dict[str, list[Outcome]]:
    """Fit our classifier in all its ways, then the others, and a forest for as long as our default took."""
    runs = {}
    for way in WAYS:
        seeds = split_sets if way == WAYS[0] else split_sets[: contest.n_seeds(len(split_sets))]
        runs[f"ours, {way}{' (default)' if way == WAYS[0] else ''}"] = fit_ours(seeds, effort, multiclass=way)
    seconds = mean_of(next(iter(runs.values())), "seconds")
    for name in ("RandomForest", "HistGradientBoosting", "AdaBoost"):
        runs[name] = fit(name, split_sets[: contest.n_seeds(len(split_sets), name)], effort)
    return {**runs, "RandomForest in our time": [grow_forest(split_sets[0], seconds, effort.n_threads)]}


def run_regression(contest: Contest, split_sets: Sequence[SplitSet], effort: Effort) -> dict[str, list[Outcome]]:
    """Fit our regressor with all its weightings, then the others."""
    runs = {}
    for weighting in WEIGHTINGS:
        title = f"ours, {weighting}{' (default)' if weighting == WEIGHTINGS[0] else ''}"
        runs[title] = fit_ours(split_sets, effort, weighting=weighting)
    runs["ours, p uniform"] = fit_ours(split_sets, effort, adaptive_observations=False)
    large = replace(effort, n_trees=effort.n_trees or 300)
    runs[f"RandomForest ({large.n_trees} trees)"] = fit("RandomForest", split_sets, large)
    return runs | {name: fit(name, split_sets, effort) for name in ("HistGradientBoosting", "AdaBoost")}


def fit_ours(split_sets: Sequence[SplitSet], effort: Effort, **parameters: Any) -> list[Outcome]:
    """Fit ours to the split of each seed."""
    fewer = {"n_estimators": effort.n_trees} if effort.n_trees else {}
    return fit("MPBoost", split_sets, effort, **parameters | fewer)


def fit(name: str, split_sets: Sequence[SplitSet], effort: Effort, **parameters: Any) -> list[Outcome]:
    """Fit a contestant to the split of each seed."""
    plans = [Plan(effort.n_trees, seed, effort.n_threads) for seed in range(len(split_sets))]
    return [measure(name, split_set, plan, **parameters) for split_set, plan in zip(split_sets, plans, strict=True)]


def grow_forest(split_set: SplitSet, seconds: float, n_threads: int) -> Outcome:
    """Grow a forest, a tree for each thread at a time, for as long as ours took."""
    forest = CONTESTANTS["RandomForest"].make(Plan(n_threads, n_threads=n_threads), warm_start=True)
    start = time.perf_counter()
    while True:
        forest.fit(split_set.X_train, split_set.y_train)
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            score = 100.0 * float(forest.score(split_set.X_test, split_set.y_test))
            return Outcome(score, elapsed, n_learners=forest.n_estimators)
        forest.n_estimators += n_threads


def show(runs: Mapping[str, list[Outcome]], split_set: SplitSet, folder: Path) -> None:
    """Show a line for each contestant: accuracies in percent, or R^2."""
    scale, digits = (0.01, 4) if split_set.is_regression else (1.0, 2)

    def mean(outcomes: list[Outcome], figure: str, scale: float, digits: int) -> str:
        number = scale * mean_of(outcomes, figure)
        return "" if np.isnan(number) else f"{number:.{digits}f}"

    lines = [
        [
            title,
            format_score(outcomes, scale=scale, digits=digits),
            *(mean(outcomes, figure, scale, digits) for figure in ("oop_score", "optimism")),
            mean(outcomes, "n_learners", 1.0, 0),
            mean(outcomes, "seconds", 1.0, 2),
        ]
        for title, outcomes in runs.items()
    ]
    unit = "R^2" if split_set.is_regression else "%"
    columns = ["contestant", f"{COLUMNS[0]} {unit}", *COLUMNS[1:]]
    show_table(folder / f"tasks_{split_set.name.lower().replace(' ', '_')}.csv", columns, lines)


def _describe(contest: Contest, split_sets: Sequence[SplitSet]) -> str:
    split_set = split_sets[0]
    shape = f"{len(split_set.y_train)} + {len(split_set.y_test)} rows, {split_set.X_train.shape[1]} features"
    classes = "" if split_set.is_regression else f", {len(np.unique(split_set.y_train))} classes"
    return f"{contest.name} ({shape}{classes}; asked: {contest.target}), {len(split_sets)} seeds"


if __name__ == "__main__":
    sys.exit(main())
