"""What the defaults of our gradient boosting reach, beside those of others."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable
from benchmarks.contestants import Plan
from benchmarks.contestants.measuring import FitMemory, Outcome, format_score, mean_of, measure
from benchmarks.data.sets import REGRESSION, load_set, split

#: Percent that are asked of us on some sets, whatever others reach.
ASKED = {"california housing": 84.0, "bike sharing": 95.5, "cpu act": 98.5, "MNIST": 98.0, "letter": 96.5}
#: We are to be at most so many points behind the best on any set, and the best on so many of them.
MAX_LAG, BEST_SHARE = 0.3, 0.5
#: How far the out-of-patch score may be from the test score, on average: points of accuracy, of 100 R^2.
MAX_OPTIMISM, MAX_VALUE_OPTIMISM = 1.0, 2.0
#: Sets on which others take minutes, and get one seed.
SLOW_SETS = ("MNIST 3 vs 8", "MNIST odd/even", "CIFAR truck/car", "covertype, 1 or not", "MNIST")
OURS = "ours"

#: Of each contestant its fits, seed by seed.
Outcomes = dict[str, list[Outcome]]


def show_accuracy(
    names: Sequence[str],
    others: Sequence[tuple[str, int]],
    memory: FitMemory,
    n_seeds: int,
    n_rows: int | None,
    n_threads: int,
    folder: Path,
) -> None:
    """Print how accurate and how fast all are on each set, how often we are best, and what became of our fits."""
    print_heading(f"Defaults, {n_threads} thread(s), {n_seeds} seed(s): test accuracy or 100 R^2, seconds of a fit")
    print_line(
        "seeds split the data, but for MNIST, CIFAR and Adult, whose split is official; the best is bold; (1): one "
        "seed, for others are slow; ours - best: over the seeds that both have"
    )
    titles = [f"{name} {n_trees}" for name, n_trees in others]
    table = ResultTable(folder / f"accuracy_threads_{n_threads}.csv", ["set", "asked", OURS, *titles, "ours - best"])
    runs, leads = {}, {}
    for name in names:
        outcomes = measure_set(name, others, memory, n_seeds, n_rows, n_threads)
        runs[name] = outcomes[OURS]
        if others:
            leads[name] = find_lead(outcomes)
        table.add([name, _judge(name, outcomes), *_format_all(outcomes), f"{leads[name]:+.2f}" if others else ""])
    if leads:
        print_line(count_wins(leads))
    show_runs(runs, folder / f"runs_threads_{n_threads}.csv")


def measure_set(
    name: str, others: Sequence[tuple[str, int]], memory: FitMemory, n_seeds: int, n_rows: int | None, n_threads: int
) -> Outcomes:
    """Let all fit in turn, seed by seed."""
    arrays = load_set(name)
    outcomes: Outcomes = {OURS: [], **{f"{other} {n_trees}": [] for other, n_trees in others}}
    for seed in range(n_seeds):
        split_set = split(name, arrays, seed, n_rows)
        outcomes[OURS].append(measure("MPGradientBoosting", split_set, Plan(seed=seed, n_threads=n_threads)))
        if seed == 0 or name not in SLOW_SETS:
            for other, n_trees in others:
                outcome = memory.measure(other, split_set, Plan(n_trees, seed, n_threads))
                outcomes[f"{other} {n_trees}"].append(outcome)
    return outcomes


def find_lead(outcomes: Outcomes) -> float:
    """Find how far we are ahead of the best of the others, over the seeds that both have."""
    ours = outcomes[OURS]
    return min(
        mean_of(ours[: len(fits)], "test_score") - mean_of(fits, "test_score")
        for contestant, fits in outcomes.items()
        if contestant != OURS
    )


def count_wins(leads: dict[str, float]) -> str:
    """Say on how many sets we are best, or near to it."""
    n_best, n_near = (sum(lead > least for lead in leads.values()) for least in (0.0, -MAX_LAG - 1e-9))
    n_asked = int(np.ceil(BEST_SHARE * len(leads)))
    behind = [f"{name} {lead:+.2f}" for name, lead in leads.items() if lead < -MAX_LAG - 1e-9]
    return (
        f"strictly best on {n_best} of {len(leads)} sets (asked: {n_asked}): "
        f"{'met' if n_best >= n_asked else 'MISSED'}; best or within {MAX_LAG} points of the best on {n_near} "
        f"(asked: all): {'MISSED: ' + ', '.join(behind) if behind else 'met'}"
    )


def show_runs(runs: dict[str, list[Outcome]], path: Path) -> None:
    """Print what became of our fits: how large, and whether the out-of-patch score can be believed."""
    print_heading("What our gradient boosting came to; the out-of-patch score beside the test score")
    columns = ["set", "trees", "rows of a minipatch", "features", "out of patch", "test", "difference", "s"]
    table = ResultTable(path, columns)
    for name, fits in runs.items():
        sizes = (f"{mean_of(fits, figure):.0f}" for figure in ("n_learners", "n_rows", "n_features"))
        scores = (f"{mean_of(fits, figure):.2f}" for figure in ("oop_score", "test_score"))
        table.add([name, *sizes, *scores, f"{mean_of(fits, 'optimism'):+.2f}", f"{mean_of(fits, 'seconds'):.2f}"])
    for kind, limit in (("classification", MAX_OPTIMISM), ("regression", MAX_VALUE_OPTIMISM)):
        names = [name for name in runs if (name in REGRESSION) == (kind == "regression")]
        gaps = {name: mean_of(runs[name], "optimism") for name in names}
        if gaps:
            mean, worst = np.mean(list(gaps.values())), max(gaps, key=lambda name: abs(gaps[name]))
            print_line(
                f"out of patch - test, {kind}: {mean:+.2f} on average (asked: within {limit:g}): "
                f"{'met' if abs(mean) <= limit else 'MISSED'}; {gaps[worst]:+.2f} at worst, on {worst}"
            )


def _judge(name: str, outcomes: Outcomes) -> str:
    if name not in ASKED:
        return ""
    is_met = mean_of(outcomes[OURS], "test_score") >= ASKED[name]
    return f"{ASKED[name]:.1f} {'met' if is_met else 'MISSED'}"


def _format_all(outcomes: Outcomes) -> list[str]:
    means = [mean_of(fits, "test_score") for fits in outcomes.values()]
    cells = []
    for mean, fits in zip(means, outcomes.values(), strict=True):
        bold = "**" if mean == max(means) else ""
        few = " (1)" if len(fits) < len(outcomes[OURS]) else ""
        cells.append(f"{bold}{format_score(fits)}{bold}{few}, {mean_of(fits, 'seconds'):.2f} s")
    return cells
