"""Accuracy on the paper's case study, and its ablation: ``python -m benchmarks.quality [--quick]``."""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.command import make_parser, run_on_mnist
from benchmarks.data import PROJECT, Problem
from benchmarks.measure import time_call
from benchmarks.output import print_heading, print_line, print_table
from benchmarks.paper.figures import PAPER_MNIST, draw_ablation, run_ablation
from mpboost import MPBoostClassifier


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
    curves = run_ablation(problem, effort.n_seeds, effort.ablation_run)
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


def _fit(problem: Problem, parameters: dict[str, Any], seed: int) -> Outcome:
    model = MPBoostClassifier(**parameters, random_state=seed)
    seconds = time_call(lambda: model.fit(problem.X_train, problem.y_train), 1)
    test_score = model.score(problem.X_test, problem.y_test)
    return Outcome(float(test_score), model.oop_score_, model.best_iteration_, seconds)


def _percent(scores: list[float]) -> str:
    spread = f" ± {100 * np.std(scores, ddof=1):.2f}" if len(scores) > 1 else ""
    return f"{100 * np.mean(scores):.2f}{spread}"


if __name__ == "__main__":
    sys.exit(main())
