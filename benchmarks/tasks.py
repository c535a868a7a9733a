"""Many classes and regression beside scikit-learn: ``python -m benchmarks.tasks [--quick] [--only NAME ...]``."""

import functools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from benchmarks.command import make_parser, run_on
from benchmarks.data import Problem, load_arrays
from benchmarks.measure import time_call
from benchmarks.output import print_heading, print_line, print_table
from mpboost import MPBoostClassifier, MPBoostRegressor

#: Threads of all contestants.
N_THREADS = 2

WAYS = ("margin", "m2", "mh", "oc")


@dataclass(frozen=True)
class Contest:
    """A data set, what is asked of our defaults on it, and how often the slow contestants run."""

    name: str
    target: str
    is_large: bool = False
    is_regression: bool = False

    def n_seeds(self, n_seeds: int, peer: type[Any] | None = None) -> int:
        """Tell how many seeds contestants get: one where they are slow."""
        is_slow = self.is_large or (self.name == "letter" and peer is HistGradientBoostingClassifier)
        return 1 if is_slow else n_seeds


CONTESTS = (
    Contest("mnist", ">= 97.0 %", is_large=True),
    Contest("letter", ">= 95.5 %"),
    Contest("covertype", "within 60 s", is_large=True),
    Contest("gas_drift_partial", ">= 99.2 %"),
    Contest("dna", ">= 95 %"),
    Contest("california_housing", "AdaBoost + 0.05, forest - 0.02", is_regression=True),
    Contest("bike_sharing", "AdaBoost + 0.05, forest - 0.02", is_regression=True),
    Contest("cpu_act", "AdaBoost + 0.05, forest - 0.02", is_regression=True),
)


@dataclass(frozen=True)
class Outcome:
    """What a fit came to; scores that a contestant does not have are NaN."""

    test_score: float
    seconds: float
    oop_score: float = np.nan
    n_learners: float = np.nan


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    names = [contest.name for contest in CONTESTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="data sets to run")
    options = parser.parse_args(arguments)
    n_seeds = 1 if options.quick else 5
    contests = [contest for contest in CONTESTS if contest.name in options.only]

    def measure(arrays: dict[str, dict[str, NDArray[Any]]]) -> None:
        print_line(f"{N_THREADS} threads each; defaults; means over seeds, which also split data without a split")
        for contest in contests:
            problems = [_split(contest.name, arrays[contest.name], seed, options.quick) for seed in range(n_seeds)]
            show = show_regression if contest.is_regression else show_classes
            show(contest, problems)

    return run_on(lambda: {contest.name: load_arrays(contest.name) for contest in contests}, measure)


def show_classes(contest: Contest, problems: Sequence[Problem]) -> None:
    rows = _start_table(contest, problems)
    for way in WAYS:
        seeds = problems if way == "margin" else problems[: contest.n_seeds(len(problems))]
        name = f"ours, {way}{' (default)' if way == 'margin' else ''}"
        rows(name, [_fit_ours(MPBoostClassifier(multiclass=way), problem, s) for s, problem in enumerate(seeds)])
    seconds = rows.seconds[0]
    for peer in (RandomForestClassifier, HistGradientBoostingClassifier, AdaBoostClassifier):
        rows(peer.__name__, _fit_peers(peer(), problems[: contest.n_seeds(len(problems), peer)]))
    rows("RandomForest in our time", [_grow_forest(problems[0], seconds)])
    rows.print("test %", 100.0)


def show_regression(contest: Contest, problems: Sequence[Problem]) -> None:
    rows = _start_table(contest, problems)
    for weighting in ("linear", "square", "exponential", "threshold"):
        model = MPBoostRegressor(weighting=weighting)
        name = f"ours, {weighting}{' (default)' if weighting == 'linear' else ''}"
        rows(name, [_fit_ours(model, problem, seed) for seed, problem in enumerate(problems)])
    rows(
        "ours, p uniform",
        [_fit_ours(MPBoostRegressor(adaptive_observations=False), problem, s) for s, problem in enumerate(problems)],
    )
    forest = RandomForestRegressor(n_estimators=300)
    for peer in (forest, HistGradientBoostingRegressor(), AdaBoostRegressor()):
        rows(type(peer).__name__ + (" (300 trees)" if peer is forest else ""), _fit_peers(peer, problems))
    rows.print("test R^2", 1.0)


class Rows:
    """Rows of a table, one for each contestant."""

    def __init__(self) -> None:
        self.cells: list[tuple[str, list[Outcome]]] = []

    def __call__(self, name: str, outcomes: list[Outcome]) -> None:
        """Add a contestant."""
        self.cells.append((name, outcomes))

    @property
    def seconds(self) -> list[float]:
        """What the contestants took, on average."""
        return [float(np.mean([outcome.seconds for outcome in outcomes])) for _, outcomes in self.cells]

    def print(self, title: str, factor: float) -> None:
        """Show the table, with scores times a factor."""
        digits = 2 if factor > 1 else 4

        def mean(outcomes: list[Outcome], value: Callable[[Outcome], float], n_digits: int) -> str:
            number = np.mean([value(outcome) for outcome in outcomes])
            return "" if np.isnan(number) else f"{number:.{n_digits}f}"

        lines = []
        for name, outcomes in self.cells:
            tests = [factor * outcome.test_score for outcome in outcomes]
            spread = f" ± {np.std(tests, ddof=1):.{digits}f}" if len(tests) > 1 else ""
            lines.append(
                [
                    name,
                    f"{np.mean(tests):.{digits}f}{spread}",
                    mean(outcomes, lambda o: factor * o.oop_score, digits),
                    mean(outcomes, lambda o: factor * (o.oop_score - o.test_score), digits),
                    mean(outcomes, lambda o: o.n_learners, 0),
                    mean(outcomes, lambda o: o.seconds, 2),
                ]
            )
        print_table(["", title, "out of patch", "out of patch - test", "learners", "seconds"], lines)


def _start_table(contest: Contest, problems: Sequence[Problem]) -> Rows:
    problem = problems[0]
    shape = f"{len(problem.y_train)} + {len(problem.y_test)} rows, {problem.X_train.shape[1]} features"
    classes = "" if contest.is_regression else f", {len(np.unique(problem.y_train))} classes"
    print_heading(f"{contest.name} ({shape}{classes}; asked: {contest.target}), {len(problems)} seeds")
    return Rows()


def _split(name: str, arrays: dict[str, NDArray[Any]], seed: int, is_quick: bool) -> Problem:
    """Take the official split, or else 80 % of the rows to train on."""
    if "X_train" in arrays:
        problem = Problem(name, arrays["X_train"], arrays["y_train"], arrays["X_test"], arrays["y_test"])
    else:
        X, y = arrays["X"], arrays["y"]
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = np.split(order, [int(0.8 * len(X))])
        problem = Problem(name, X[train], y[train], X[test], y[test])
    if not is_quick:
        return problem
    return replace(
        problem,
        X_train=problem.X_train[:600],
        y_train=problem.y_train[:600],
        X_test=problem.X_test[:300],
        y_test=problem.y_test[:300],
    )


def _fit_ours(model: Any, problem: Problem, seed: int) -> Outcome:
    model = type(model)(**{**model.get_params(), "random_state": seed, "n_jobs": N_THREADS})
    outcome = _fit(model, problem)
    return replace(outcome, oop_score=model.oop_score_, n_learners=model.best_iteration_)


def _fit_peers(peer: Any, problems: Sequence[Problem]) -> list[Outcome]:
    outcomes = []
    for seed, problem in enumerate(problems):
        extra = {"n_jobs": N_THREADS} if "n_jobs" in peer.get_params() else {}
        outcomes.append(_fit(type(peer)(**{**peer.get_params(), "random_state": seed, **extra}), problem))
    return outcomes


def _fit(model: Any, problem: Problem) -> Outcome:
    if np.isnan(problem.X_train).any() and not get_tags(model).input_tags.allow_nan:
        model = make_pipeline(SimpleImputer(strategy="median"), model)
    with threadpool_limits(N_THREADS):
        seconds = time_call(functools.partial(model.fit, problem.X_train, problem.y_train), n_calls=1)
        return Outcome(float(model.score(problem.X_test, problem.y_test)), seconds)


def _grow_forest(problem: Problem, seconds: float) -> Outcome:
    """Grow a forest, a few trees at a time, for as long as ours took."""
    forest = RandomForestClassifier(n_estimators=N_THREADS, warm_start=True, n_jobs=N_THREADS, random_state=0)
    start = time.perf_counter()
    while True:
        forest.fit(problem.X_train, problem.y_train)
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            score = float(forest.score(problem.X_test, problem.y_test))
            return Outcome(score, elapsed, n_learners=forest.n_estimators)
        forest.n_estimators += N_THREADS


if __name__ == "__main__":
    sys.exit(main())
