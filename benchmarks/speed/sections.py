"""The sections of the benchmark of speed: each measures one thing, prints a table and keeps it in a file."""

import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.common.clocks import GROWING, UPDATING, LoopClock, StepClock, kernels
from benchmarks.common.folders import PROJECT
from benchmarks.common.measure import median_ratio, take_turns, time_call
from benchmarks.common.output import print_heading, print_line, verdict
from benchmarks.common.results import show_table
from benchmarks.data.made_up import make_table
from benchmarks.data.split_set import SplitSet
from benchmarks.speed.literal import fit_literal
from mpboost import PAPER, MPBoostClassifier, _native

#: Algorithm 1 without a stopping rule, on minipatches of the paper's size.
ALGORITHM_1: dict[str, Any] = {**PAPER, "stopping": None, "max_samples": 500, "max_features": 30}


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    n_iterations: int = 300
    n_turns: int = 5
    apply_rows: int = 200_000
    n_calls: int = 20
    scaling_rows: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    scaling_cells: int = 40_000_000  # rows x iterations of a fit
    memory_rows: int = 400_000


QUICK = Effort(
    n_iterations=20,
    n_turns=1,
    apply_rows=20_000,
    n_calls=3,
    scaling_rows=(2_000, 10_000, 50_000),
    scaling_cells=500_000,
    memory_rows=20_000,
)


@dataclass(frozen=True)
class Fit:
    """Milliseconds per iteration of a fit, all of it and the loop alone, and what came out."""

    total: float
    loop: float
    accuracy: float


def compare_with_literal_loop(split_set: SplitSet, effort: Effort, folder: Path) -> None:
    """Compare an iteration of ours with that of the loop that a careful user would write."""
    print_heading(
        f"(a) {split_set.name}, n=500, m=30, T={effort.n_iterations}, one thread: ms per iteration, "
        f"median of {effort.n_turns}"
    )
    literal_seeds, our_seeds = count(), count()
    fits = take_turns(
        {
            "literal loop": lambda: _fit_literal(split_set, effort.n_iterations, next(literal_seeds)),
            "mpboost": lambda: _fit_ours(split_set, effort.n_iterations, next(our_seeds)),
        },
        effort.n_turns,
    )
    rows = [
        [
            name,
            f"{statistics.median(fit.total for fit in runs):.3f}",
            f"{statistics.median(fit.loop for fit in runs):.3f}",
            f"{100 * statistics.mean(fit.accuracy for fit in runs):.2f} %",
        ]
        for name, runs in fits.items()
    ]
    slow, fast = fits["literal loop"], fits["mpboost"]
    total_ratio = median_ratio([fit.total for fit in slow], [fit.total for fit in fast])
    loop_ratio = median_ratio([fit.loop for fit in slow], [fit.loop for fit in fast])
    rows.append(["ratio", f"{total_ratio:.1f}x", f"{loop_ratio:.1f}x", ""])
    show_table(folder / "literal_loop.csv", ["contestant", "whole fit", "loop alone", "test accuracy"], rows)
    print_line(f"{loop_ratio:.1f}x the speed of the literal loop, iterations alone: {verdict(loop_ratio, 25)}")
    print_line(f"{total_ratio:.1f}x with binning and what is published: {verdict(total_ratio, 25)}")


def show_steps(split_set: SplitSet, effort: Effort, folder: Path) -> None:
    """Show where an iteration of ours goes."""
    print_heading("    Where an iteration of ours goes: microseconds, median")
    clocks = [StepClock() for _ in range(effort.n_turns)]
    for seed, clock in enumerate(clocks):
        _fit_ours(split_set, effort.n_iterations, seed, clock)
    microseconds = {
        step: statistics.median(clock.steps[step] for clock in clocks) / effort.n_iterations * 1e6
        for step in clocks[0].steps
    }
    total = sum(microseconds.values())
    rows = [[step, f"{spent:.1f}", f"{100 * spent / total:.0f} %"] for step, spent in microseconds.items()]
    show_table(folder / "steps.csv", ["step", "us", "share"], [*rows, ["all", f"{total:.1f}", "100 %"]])


def compare_trees(effort: Effort, folder: Path) -> None:
    """Compare the growing and the applying of one tree with scikit-learn's."""
    print_heading(
        f"(b) One saturated tree, grown on 500 rows x 10 columns, applied to {effort.apply_rows:,} rows, one thread: "
        f"ms, median of {effort.n_turns}"
    )
    X, _ = make_table(effort.apply_rows, 10)
    y = np.random.default_rng(1).choice(np.array([-1, 1], dtype=np.int8), len(X))  # noise, so that the tree is large
    patch, features = np.arange(500), np.arange(10)
    theirs = DecisionTreeClassifier(random_state=0).fit(X[patch], y[patch])
    threads = _native.Threads(1)
    columns = _native.BinMapper.fit(X, 255, threads).transform(X, threads)
    grower = _native.BinaryGrower(0, 1, 1)
    ours = grower.grow(columns, patch, features, y).tree
    votes, leaves = np.empty(len(X), dtype=np.int8), np.empty(len(X), dtype=np.int32)
    X_patch, y_patch = X[patch], y[patch]

    contestants = {
        "fit": lambda: DecisionTreeClassifier(random_state=0).fit(X_patch, y_patch, check_input=False),
        "grow": lambda: grower.grow(columns, patch, features, y),
        "predict": lambda: theirs.predict(X),
        "predict, no checks": lambda: theirs.predict(X, check_input=False),
        "apply_votes": lambda: ours.apply_votes(columns, votes, threads),
        "tree_.apply": lambda: theirs.tree_.apply(X),
        "apply_leaves": lambda: ours.apply_leaves(columns, leaves, threads),
    }
    timers = {name: partial(time_call, call, effort.n_calls) for name, call in contestants.items()}
    times = take_turns(timers, effort.n_turns)
    rows = [
        [task, *(f"{1e3 * statistics.median(times[name]):.3f}" for name in pair), f"{_ratio(times, pair):.1f}x"]
        for task, pair in {
            "grow": ("fit", "grow"),
            "votes of all rows": ("predict", "apply_votes"),
            "votes of all rows, no checks": ("predict, no checks", "apply_votes"),
            "leaves of all rows, no checks": ("tree_.apply", "apply_leaves"),
        }.items()
    ]
    rows.append(["nodes", str(theirs.tree_.node_count), str(2 * len(ours.leaf_values) - 1), ""])
    show_table(folder / "trees.csv", ["task", "scikit-learn", "mpboost", "ratio"], rows)
    ratio = _ratio(times, ("predict", "apply_votes"))
    print_line(f"{ratio:.1f}x the speed of scikit-learn's predict: {verdict(ratio, 4)}")


def measure_scaling(effort: Effort, folder: Path) -> None:
    """Measure an iteration as rows grow, with one thread and with two."""
    print_heading("(c) Cost per iteration as rows grow: 20 float32 columns, n=500, m=10")
    rows, milliseconds = [], []
    for n_rows in effort.scaling_rows:
        X, y = make_table(n_rows, 20)
        n_iterations = min(200, max(10, effort.scaling_cells // n_rows))
        timers = {f"{jobs}": partial(_time_loop, X, y, n_iterations, jobs) for jobs in (1, 2)}
        times = {jobs: statistics.median(runs) for jobs, runs in take_turns(timers, effort.n_turns).items()}
        milliseconds.append(1e3 * times["1"])
        cells = [f"{1e3 * seconds:.3f} ms  {1e9 * seconds / n_rows:7.2f} ns" for seconds in times.values()]
        rows.append([f"{n_rows:,}", *cells, f"{times['1'] / times['2']:.2f}x"])
    columns = ["rows", "one thread: iteration, row", "two threads: iteration, row", "gain"]
    show_table(folder / "rows.csv", columns, rows)
    print_line(judge_linearity(effort.scaling_rows, milliseconds))


def measure_memory(effort: Effort, folder: Path) -> None:
    """Measure by how much the peak of memory grows during a fit."""
    n_rows = effort.memory_rows
    print_heading(f"(d) Peak extra memory of a fit, {n_rows:,} rows of float32")
    narrow, wide = _fit_in_new_process(n_rows, 25), _fit_in_new_process(n_rows, 50)
    rows = [
        [f"{n_rows:,} x {n_columns}", *_megabytes(measured), f"{measured['extra'] / measured['data']:.2f}x"]
        for n_columns, measured in {25: narrow, 50: wide}.items()
    ]
    show_table(folder / "memory.csv", ["data", "MB", "extra MB", "extra / data"], rows)
    share = (wide["extra"] - narrow["extra"]) / (wide["data"] - narrow["data"])
    per_row = (wide["extra"] - share * wide["data"]) / n_rows
    print_line(f"that is {share:.2f}x the data (at most 0.4x is promised) plus {per_row:.0f} bytes per row")


def compare_kernels(split_set: SplitSet, effort: Effort, folder: Path) -> None:
    """Compare the kernels of all instruction sets that the processor runs."""
    names = _native.available_kernels()
    print_heading(f"(e) Kernels on {split_set.name}, loop alone: ms per iteration, median of {effort.n_turns}")
    contestants = {name: partial(_fit_with_kernels, name, split_set, effort.n_iterations) for name in names}
    clocks = take_turns(contestants, effort.n_turns)
    loops = {name: [clock.seconds for clock in runs] for name, runs in clocks.items()}
    rows = []
    for name, runs in clocks.items():
        per_iteration = [
            1e3 * statistics.median(spent) / effort.n_iterations
            for spent in (loops[name], *([run.steps[step] for run in runs] for step in (GROWING, UPDATING)))
        ]
        ratio = median_ratio(loops["portable"], loops[name])
        rows.append([name, *(f"{spent:.3f}" for spent in per_iteration), f"{ratio:.2f}x"])
    show_table(folder / "kernels.csv", ["kernels", "loop", "of it grow", "of it apply, update", "to portable"], rows)
    print_line(f"in use: {_native.current_kernels()}")


def _fit_literal(split_set: SplitSet, n_iterations: int, seed: int) -> Fit:
    start = time.perf_counter()
    model = fit_literal(
        split_set.X_train, split_set.y_train, max_samples=500, max_features=30, n_estimators=n_iterations, seed=seed
    )
    total = time.perf_counter() - start
    accuracy = np.mean(model.predict(split_set.X_test) == split_set.y_test)
    return Fit(1e3 * total / n_iterations, 1e3 * model.loop_seconds / n_iterations, float(accuracy))


def _fit_ours(split_set: SplitSet, n_iterations: int, seed: int, clock: LoopClock | None = None) -> Fit:
    clock = LoopClock() if clock is None else clock
    model = MPBoostClassifier(**ALGORITHM_1, n_estimators=n_iterations, random_state=seed, callbacks=[clock])
    total = time_call(lambda: model.fit(split_set.X_train, split_set.y_train), 1)
    accuracy = model.score(split_set.X_test, split_set.y_test)
    return Fit(1e3 * total / n_iterations, 1e3 * clock.seconds / n_iterations, float(accuracy))


def _fit_with_kernels(name: str, split_set: SplitSet, n_iterations: int) -> StepClock:
    clock = StepClock()
    with kernels(name):
        _fit_ours(split_set, n_iterations, 0, clock)
    return clock


def _time_loop(X: Any, y: Any, n_iterations: int, n_jobs: int) -> float:
    clock = LoopClock()
    parameters = {**ALGORITHM_1, "max_features": 10, "n_estimators": n_iterations, "n_jobs": n_jobs}
    MPBoostClassifier(**parameters, random_state=0, callbacks=[clock]).fit(X, y)
    return clock.seconds / n_iterations


def _fit_in_new_process(n_rows: int, n_columns: int) -> dict[str, int]:
    command = [sys.executable, "-m", "benchmarks.speed.memory", str(n_rows), str(n_columns)]
    return json.loads(subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout)


def _megabytes(measured: dict[str, int]) -> list[str]:
    return [f"{measured[key] / 1e6:.1f}" for key in ("data", "extra")]


def _ratio(times: dict[str, list[float]], pair: tuple[str, str]) -> float:
    return median_ratio(times[pair[0]], times[pair[1]])


def judge_linearity(n_rows: tuple[int, ...], milliseconds: list[float]) -> str:
    """Draw a line through the first and the last point; a point between them should lie on it."""
    small, middle, large = n_rows
    per_row = (milliseconds[2] - milliseconds[0]) / (large - small)
    fixed = milliseconds[0] - per_row * small
    expected = fixed + per_row * middle
    word = "linear" if abs(milliseconds[1] / expected - 1) < 0.25 else "NOT linear"
    return (
        f"{word}: {fixed:.3f} ms + {1e6 * per_row:.2f} ns per row, which makes {expected:.3f} ms for {middle:,} rows "
        f"where {milliseconds[1]:.3f} ms were measured (one thread)"
    )
