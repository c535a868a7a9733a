"""The paper's case study, MNIST 3 vs 8: how accurate ours are, beside scikit-learn's, and the paper's ablation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.contestants import Plan
from benchmarks.contestants.measuring import Outcome, format_score, mean_of, measure
from benchmarks.data.split_set import SplitSet
from benchmarks.paper.figures import PAPER_MNIST, draw_ablation, run_ablation


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    n_seeds: int = 5
    long_run: int = 800
    ablation_run: int = 300
    moments: tuple[int, ...] = (25, 50, 100, 200, 300)
    #: Seeds, and rows to learn from, where others are fitted, too.
    n_shared_seeds: int = 3
    n_shared_rows: int | None = None


QUICK = Effort(n_seeds=2, long_run=40, ablation_run=25, moments=(10, 25), n_shared_seeds=1, n_shared_rows=1200)


def show_accuracy(split_set: SplitSet, effort: Effort, folder: Path) -> None:
    """Show what the paper's settings and our defaults reach."""
    print_heading(f"{split_set.name}: mean and standard deviation over {effort.n_seeds} seeds")
    settings: dict[str, dict[str, Any]] = {
        "paper, n=500, m=30, its own stop": PAPER_MNIST,
        f"the same, {effort.long_run} iterations": {
            **PAPER_MNIST,
            "stopping": None,
            "n_estimators": effort.long_run,
        },
        "our defaults": {"n_estimators": 100} if effort is QUICK else {},
    }
    rows, lists = [], []
    for name, parameters in settings.items():
        outcomes = [measure("MPBoost", split_set, Plan(seed=seed), **parameters) for seed in range(effort.n_seeds)]
        sizes = [f"{mean_of(outcomes, 'n_learners'):.0f}", f"{mean_of(outcomes, 'seconds'):.2f}"]
        rows.append([name, format_score(outcomes), format_score(outcomes, "oop_score"), *sizes])
        details = (f"{outcome.test_score:.2f} at {outcome.n_learners}" for outcome in outcomes)
        lists.append(f"{name}: {', '.join(details)}")
    columns = ["settings", "test %", "out-of-patch %", "learners", "seconds"]
    show_table(folder / "case_study_accuracy.csv", columns, rows)
    for line in lists:
        print_line(line)


def show_contestants(split_set: SplitSet, effort: Effort, folder: Path) -> None:
    """Show ours beside scikit-learn's."""
    print_heading(
        f"{split_set.name} beside scikit-learn's, all with their defaults, one thread: {effort.n_shared_seeds} seeds"
    )
    n_rows = effort.n_shared_rows
    split_set = replace(split_set, X_train=split_set.X_train[:n_rows], y_train=split_set.y_train[:n_rows])
    entries: dict[str, tuple[str, dict[str, Any]]] = {
        "MPBoost": ("MPBoost", {}),
        "MPBoost (paper)": ("MPBoost", PAPER_MNIST),
        **{name: (name, {}) for name in ("RandomForest", "HistGradientBoosting", "AdaBoost")},
    }
    # Interleaved, so that a busy machine is busy for all.
    runs: dict[str, list[Outcome]] = {title: [] for title in entries}
    for seed in range(effort.n_shared_seeds):
        for title, (name, parameters) in entries.items():
            runs[title].append(measure(name, split_set, Plan(None, seed), **parameters))
    rows = [[title, format_score(run), _format_median(run)] for title, run in runs.items()]
    show_table(folder / "case_study_contestants.csv", ["contestant", "test %", "seconds"], rows)


def show_ablation(split_set: SplitSet, effort: Effort, folder: Path, picture_folder: Path) -> None:
    """Show what learning p and q brings, as a table and as a picture."""
    print_heading(
        f"The paper's Fig. 2a: test accuracy in % after t iterations, mean over {effort.n_seeds} repeats "
        "(standard deviation at the end)"
    )
    curves = run_ablation(split_set, effort.n_seeds, effort.ablation_run)
    rows = [
        [
            name,
            *(f"{100 * scores[:, t - 1].mean():.2f}" for t in effort.moments),
            f"{100 * scores[:, -1].std(ddof=1):.2f}",
        ]
        for name, scores in curves.items()
    ]
    columns = ["setting", *(f"t={t}" for t in effort.moments), "std"]
    show_table(folder / "case_study_ablation.csv", columns, rows)
    final = {name: scores[:, -1].mean() for name, scores in curves.items()}
    print_line("in order, at the end: " + " > ".join(sorted(final, key=lambda name: -final[name])))
    path = picture_folder / "ablation.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_ablation(split_set, curves).savefig(path, dpi=150)
    print_line(f"picture: {path}")


def _format_median(outcomes: Sequence[Outcome]) -> str:
    return f"{np.median([outcome.seconds for outcome in outcomes]):.2f}"
