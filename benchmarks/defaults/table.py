"""How accurate and how fast our defaults are beside the defaults of others, and what was asked of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable
from benchmarks.contestants import Plan, find_installed
from benchmarks.contestants.measuring import Outcome, format_score, mean_of, measure
from benchmarks.data.sets import REGRESSION, load_set, split

#: Contestants by their titles in the tables.
TITLES = {
    "ours": "MPBoost",
    "forest": "RandomForest",
    "LightGBM": "LightGBM",
    "HistGradientBoosting": "HistGradientBoosting",
}


@dataclass(frozen=True)
class Goal:
    """What is asked of our accuracy: so many percent, or so many points more than the forest has."""

    asked: float | None = None
    is_over_forest: bool = False

    def __str__(self) -> str:
        if self.asked is None:
            return ""
        return f"forest {self.asked:+.1f}" if self.is_over_forest else f"{self.asked:.1f}"

    def judge(self, ours: float, forest: float) -> str:
        """Say whether it is reached."""
        if self.asked is None:
            return ""
        missing = self.asked + (forest if self.is_over_forest else 0.0) - ours
        return "met" if missing <= 0 else f"MISSED by {missing:.2f}"


SMALL_SETS = ("jasmine", "dna, 2 or not", "spambase", "gas drift, < 3", "relathe", "hill-valley")
GOALS = {
    "MNIST 3 vs 8": Goal(99.5),
    "MNIST odd/even": Goal(98.4),
    "CIFAR truck/car": Goal(77.0),
    "madelon": Goal(10.0, is_over_forest=True),
    "adult": Goal(0.7, is_over_forest=True),
    "magic": Goal(0.3, is_over_forest=True),
    "higgs": Goal(-0.2, is_over_forest=True),
    **{name: Goal(-0.3, is_over_forest=True) for name in SMALL_SETS},
    "covertype, 1 or not": Goal(),
    "letter": Goal(),
    "MNIST": Goal(),
    "dna": Goal(),
    "gas drift": Goal(),
    **{name: Goal() for name in REGRESSION},
}

#: Sets on which the others take minutes, and get one seed.
SLOW_FOR_BOOSTERS = ("MNIST odd/even", "CIFAR truck/car", "covertype, 1 or not", "MNIST")
SLOW_FOR_FORESTS = ("covertype, 1 or not",)


def show_defaults(names: Sequence[str], n_seeds: int, n_rows: int | None, folder: Path) -> None:
    """Print how accurate and how fast all are on each set, and then what became of ours."""
    others = find_others()
    print_heading(f"Defaults, one thread, {n_seeds} seeds: test accuracy in percent, seconds of a fit")
    print_line(
        "seeds split the data, but for MNIST, CIFAR and Adult, whose split is official; (1): one seed, for it is slow"
        + ("" if "LightGBM" in others else "\nLightGBM is not installed")
    )
    columns = ["set", "asked", "ours", *others, "ours - forest", "goal", "s ours", *(f"s {name}" for name in others)]
    table = ResultTable(folder / "table.csv", columns)
    runs = {}
    for name in names:
        is_compared = name not in REGRESSION
        runs[name] = measure_set(name, n_seeds, n_rows, others if is_compared else [])
        if is_compared:
            table.add(_describe(name, runs[name]))
    lead = [_lead(runs[name]) for name in SMALL_SETS if name in runs]
    if lead:
        print_line(
            f"ours - forest over the {len(lead)} small sets: {np.mean(lead):+.2f} on average, {min(lead):+.2f} at worst"
        )
    show_runs({name: outcomes["ours"] for name, outcomes in runs.items()}, folder)


def find_others() -> list[str]:
    """Find the titles of the others that are installed."""
    return [title for title, name in TITLES.items() if title != "ours" and find_installed([name])]


def measure_set(name: str, n_seeds: int, n_rows: int | None, others: Sequence[str]) -> dict[str, list[Outcome]]:
    """Let all fit in turn, seed by seed."""
    arrays = load_set(name)
    outcomes: dict[str, list[Outcome]] = {title: [] for title in ("ours", *others)}
    for seed in range(n_seeds):
        split_set = split(name, arrays, seed, n_rows)
        for title, fits in outcomes.items():
            slow = {"ours": (), "forest": SLOW_FOR_FORESTS}.get(title, SLOW_FOR_BOOSTERS)
            if seed == 0 or name not in slow:
                fits.append(measure(TITLES[title], split_set, Plan(seed=seed)))
    return outcomes


def show_runs(runs: dict[str, list[Outcome]], folder: Path) -> None:
    """Print what became of our fits: how large, and whether the out-of-patch score can be believed."""
    print_heading("What our defaults came to; the out-of-patch score beside the test score (accuracy or 100 R^2)")
    columns = [
        "set",
        "learners",
        "rows of a minipatch",
        "features",
        "learning rate",
        "out of patch",
        "test",
        "difference",
    ]
    table = ResultTable(folder / "runs.csv", columns)
    for name, outcomes in runs.items():
        rate = mean_of(outcomes, "learning_rate")
        table.add(
            [
                name,
                *(f"{mean_of(outcomes, figure):.0f}" for figure in ("n_learners", "n_rows", "n_features")),
                "" if np.isnan(rate) else f"{rate:.3f}",
                f"{mean_of(outcomes, 'oop_score'):.2f}",
                f"{mean_of(outcomes, 'test_score'):.2f}",
                f"{mean_of(outcomes, 'optimism'):+.2f}",
            ]
        )
    gaps = {name: mean_of(outcomes, "optimism") for name, outcomes in runs.items()}
    worst = max(gaps, key=lambda name: abs(gaps[name]))
    is_good = abs(np.mean(list(gaps.values()))) <= 1.0 and abs(gaps[worst]) <= 3.0
    print_line(
        f"out of patch - test: {np.mean(list(gaps.values())):+.2f} on average (asked: within 1), "
        f"{gaps[worst]:+.2f} at worst, on {worst} (asked: within 3): {'met' if is_good else 'MISSED'}"
    )


def _describe(name: str, outcomes: dict[str, list[Outcome]]) -> list[str]:
    n_seeds = len(outcomes["ours"])
    scores = [format_score(fits) + (" (1)" if len(fits) < n_seeds else "") for fits in outcomes.values()]
    return [
        name,
        str(GOALS[name]),
        *scores,
        f"{_lead(outcomes):+.2f}",
        GOALS[name].judge(mean_of(outcomes["ours"], "test_score"), mean_of(outcomes["forest"], "test_score")),
        *(f"{mean_of(fits, 'seconds'):.2f}" for fits in outcomes.values()),
    ]


def _lead(outcomes: dict[str, list[Outcome]]) -> float:
    """Find how far we are ahead of the forest, over the seeds that both have."""
    forest = outcomes["forest"]
    return mean_of(outcomes["ours"][: len(forest)], "test_score") - mean_of(forest, "test_score")
