"""Accuracy on the paper's case study, and its ablation: ``python -m benchmarks.quality [--quick]``."""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.command import make_parser, run_on_mnist
from benchmarks.data import PROJECT, Problem
from benchmarks.measure import time_call
from benchmarks.output import print_heading, print_line, print_table
from mpboost import PAPER, MPBoostClassifier

#: Algorithms 1 and 2 on minipatches of the size that the paper uses for this set.
PAPER_MNIST: dict[str, Any] = {**PAPER, "max_samples": 500, "max_features": 30}

#: The four settings of the paper's Fig. 2a, and colours that people with any colour vision tell apart.
ABLATION: dict[str, tuple[bool, bool, str]] = {
    "p and q adaptive": (True, True, "#0072B2"),
    "p adaptive, q uniform": (True, False, "#E69F00"),
    "p uniform, q adaptive": (False, True, "#CC79A7"),
    "p and q uniform": (False, False, "#555555"),
}


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    n_seeds: int = 5
    long_run: int = 800
    ablation_run: int = 300
    moments: tuple[int, ...] = (25, 50, 100, 200, 300)
    n_peer_seeds: int = 3
    n_peer_rows: int | None = None


QUICK = Effort(n_seeds=2, long_run=40, ablation_run=25, moments=(10, 25), n_peer_seeds=1, n_peer_rows=1200)


@dataclass(frozen=True)
class Outcome:
    """What a fit came to."""

    test_score: float
    oop_score: float
    n_learners: int
    seconds: float


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--output", type=Path, default=PROJECT / "build" / "benchmarks", help="folder for the picture")
    options = parser.parse_args(arguments)
    effort = QUICK if options.quick else Effort()

    def measure(problem: Problem) -> None:
        show_accuracy(problem, effort)
        show_peers(problem, effort)
        show_ablation(problem, effort, options.output)

    return run_on_mnist(measure)


def show_accuracy(problem: Problem, effort: Effort) -> None:
    print_heading(f"{problem.name}: mean and standard deviation over {effort.n_seeds} seeds")
    settings = {
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
        outcomes = [_fit(problem, parameters, seed) for seed in range(effort.n_seeds)]
        tests = [outcome.test_score for outcome in outcomes]
        rows.append(
            [
                name,
                _percent(tests),
                _percent([outcome.oop_score for outcome in outcomes]),
                f"{np.mean([outcome.n_learners for outcome in outcomes]):.0f}",
                f"{np.mean([outcome.seconds for outcome in outcomes]):.2f}",
            ]
        )
        details = (f"{100 * outcome.test_score:.2f} at {outcome.n_learners}" for outcome in outcomes)
        lists.append(f"{name}: {', '.join(details)}")
    print_table(["", "test %", "out-of-patch %", "learners", "seconds"], rows)
    for line in lists:
        print_line(line)


def show_peers(problem: Problem, effort: Effort) -> None:
    print_heading(
        f"{problem.name} beside scikit-learn's, all with their defaults, one thread: {effort.n_peer_seeds} seeds"
    )
    # Interleaved, so that a busy machine is busy for all.
    runs: dict[str, list[tuple[float, float]]] = {}
    for seed in range(effort.n_peer_seeds):
        for model in (
            MPBoostClassifier(random_state=seed),
            MPBoostClassifier(**PAPER_MNIST, random_state=seed),
            RandomForestClassifier(random_state=seed),
            HistGradientBoostingClassifier(random_state=seed),
            AdaBoostClassifier(random_state=seed),
        ):
            X, y = problem.X_train[: effort.n_peer_rows], problem.y_train[: effort.n_peer_rows]
            with threadpool_limits(1):
                seconds = time_call(functools.partial(model.fit, X, y), n_calls=1)
            is_paper = getattr(model, "stopping", None) == "paper"
            name = f"{type(model).__name__}{' (paper)' if is_paper else ''}"
            runs.setdefault(name, []).append((model.score(problem.X_test, problem.y_test), seconds))
    print_table(
        ["", "test %", "seconds"],
        [
            [name, _percent([score for score, _ in run]), f"{np.median([seconds for _, seconds in run]):.2f}"]
            for name, run in runs.items()
        ],
    )


def show_ablation(problem: Problem, effort: Effort, folder: Path) -> None:
    print_heading(
        f"The paper's Fig. 2a: test accuracy in % after t iterations, mean over {effort.n_seeds} repeats "
        "(standard deviation at the end)"
    )
    curves = {
        name: np.array([_test_curve(problem, effort, p, q, seed) for seed in range(effort.n_seeds)])
        for name, (p, q, _) in ABLATION.items()
    }
    rows = [
        [
            name,
            *(f"{100 * scores[:, t - 1].mean():.2f}" for t in effort.moments),
            f"{100 * scores[:, -1].std(ddof=1):.2f}",
        ]
        for name, scores in curves.items()
    ]
    print_table(["", *(f"t={t}" for t in effort.moments), "std"], rows)
    final = {name: scores[:, -1].mean() for name, scores in curves.items()}
    print_line("in order, at the end: " + " > ".join(sorted(final, key=lambda name: -final[name])))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ablation.png"
    draw_ablation(problem, curves).savefig(path, dpi=150)
    print_line(f"picture: {path}")


def draw_ablation(problem: Problem, curves: dict[str, NDArray[np.float64]]) -> Figure:
    """Draw the mean curve of each setting in a band from the worst to the best repeat."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for name, scores in curves.items():
        colour = ABLATION[name][2]
        errors = 100 * (1 - scores)
        t = np.arange(1, errors.shape[1] + 1)
        axes.plot(t, errors.mean(axis=0), color=colour, label=name, linewidth=1.6)
        axes.fill_between(t, errors.min(axis=0), errors.max(axis=0), color=colour, alpha=0.18, linewidth=0)
    axes.set_yscale("log")
    ticks = [0.3, 0.5, 1, 2, 5, 10, 20]
    axes.set_yticks(ticks, [f"{tick:g} %" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0.3, 20)
    axes.set_xlim(0, t[-1])
    axes.set_xlabel("iteration")
    axes.set_ylabel("test error")
    axes.set_title(f"{problem.name}: what learning p (rows) and q (features) brings", loc="left", fontsize=11)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, title=f"mean, and range of {len(scores)} repeats", alignment="left")
    return figure


def _fit(problem: Problem, parameters: dict[str, Any], seed: int) -> Outcome:
    model = MPBoostClassifier(**parameters, random_state=seed)
    seconds = time_call(lambda: model.fit(problem.X_train, problem.y_train), 1)
    test_score = model.score(problem.X_test, problem.y_test)
    return Outcome(float(test_score), model.oop_score_, model.best_iteration_, seconds)


def _test_curve(
    problem: Problem, effort: Effort, adaptive_observations: bool, adaptive_features: bool, seed: int
) -> list[float]:
    model = MPBoostClassifier(
        **{
            **PAPER_MNIST,
            "stopping": None,
            "n_estimators": effort.ablation_run,
            "adaptive_observations": adaptive_observations,
            "adaptive_features": adaptive_features,
        },
        random_state=seed,
    ).fit(problem.X_train, problem.y_train)
    return [float(np.mean(labels == problem.y_test)) for labels in model.staged_predict(problem.X_test)]


def _percent(scores: list[float]) -> str:
    spread = f" ± {100 * np.std(scores, ddof=1):.2f}" if len(scores) > 1 else ""
    return f"{100 * np.mean(scores):.2f}{spread}"


if __name__ == "__main__":
    sys.exit(main())
