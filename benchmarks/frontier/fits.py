"""One fit of a contestant, and the test score that its model has reached by each budget of time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from threadpoolctl import threadpool_limits

from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.contestants.clock import StageClock
from benchmarks.contestants.contestant import WatchedContestant
from benchmarks.data.collection import load_split
from benchmarks.data.split_set import SplitSet

#: Most trees of the others, which do not stop by themselves.
MAX_TREES = 2000
#: Most iterations that are noted of ours, more than any of its defaults allows.
MAX_ITERATIONS = 100_000
#: Rows of a first fit that is not measured, for whatever is loaded only then.
N_WARM_UP = 200

#: Sets with fewer training rows are split so many times for each seed.
FEW_ROWS, N_SPLITS = 200, 3


@dataclass(frozen=True)
class Runner:
    """Who takes part: a contestant with its defaults, but perhaps for the learning rate."""

    contestant: str
    learning_rate: float | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it is one of ours."""
        return CONTESTANTS[self.contestant].is_ours

    @property
    def parameters(self) -> dict[str, float]:
        """What differs from the defaults."""
        return {} if self.learning_rate is None else {"learning_rate": self.learning_rate}

    @property
    def stages(self) -> range:
        """The numbers of trees that are looked at: all."""
        return range(1, (MAX_ITERATIONS if self.is_ours else MAX_TREES) + 1)


RUNNERS = {
    "MPBoost": Runner("MPBoost"),
    "MPGradientBoosting": Runner("MPGradientBoosting"),
    **{f"{name}, {rate}": Runner(name, rate) for name in ("LightGBM", "XGBoost") for rate in (0.1, 0.3)},
}


def find_cuts(clock: StageClock, budgets: Sequence[float]) -> list[int]:
    """Find how many trees a model has that is fitted within each budget, as far as it would keep them; 0 if none.

    A tree is there when the processor has spent so many seconds on the fit, all that precedes the first one included.
    """
    stages = sorted(clock.reached)
    done = [[n for n in stages if clock.reached[n].cpu <= budget] for budget in budgets]
    return [clock.kept[within[-1]] if within else 0 for within in done]


def score_budgets(runner: Runner, split_set: SplitSet, seed: int, budgets: Sequence[float]) -> list[float]:
    """Fit once, with one thread; give the score on test rows, in percent, by each budget, NaN before the first tree."""
    contestant = CONTESTANTS[runner.contestant]
    assert isinstance(contestant, WatchedContestant)
    split_set = split_set.encode()
    plan = Plan(None if runner.is_ours else MAX_TREES, seed, n_threads=1)
    with threadpool_limits(1):
        entry = contestant.enter(split_set, plan, **runner.parameters)
        clock = StageClock(runner.stages, cap=budgets[-1])
        with clock.running():
            model = contestant.watch(entry, split_set.y_train, clock)
        # A trial of sizes may have replaced the learners up to it by those of a run whose best one came earlier.
        n_kept = model.best_iteration_ if runner.is_ours else MAX_TREES
        cuts = [min(cut, n_kept) for cut in find_cuts(clock, budgets)]
        stages = sorted({cut for cut in cuts if cut})
        compute_score = r2_score if split_set.is_regression else accuracy_score
        predictions = contestant.predict_stages(model, entry.X_test, stages)
        scores = {n: 100.0 * compute_score(split_set.y_test, p) for n, p in zip(stages, predictions, strict=True)}
    return [scores.get(cut, math.nan) for cut in cuts]


def warm_up(runner: Runner, split_set: SplitSet) -> None:
    """Fit to a few rows for a moment."""
    rows = slice(N_WARM_UP)
    few = SplitSet(
        split_set.name,
        *(split_set.X_train[rows], split_set.y_train[rows], split_set.X_test[rows], split_set.y_test[rows]),
        *(split_set.categorical, split_set.is_regression),
    )
    score_budgets(runner, few, 0, [0.02])


def run_set(
    task: tuple[str, tuple[str, ...]], n_seeds: int, n_rows: int | None, budgets: list[float]
) -> list[dict[str, object]]:
    """Fit all runners of a set, in turns; a row for each seed, runner and budget."""
    name, runners = task
    rows: list[dict[str, object]] = []
    for seed in range(n_seeds):
        split_set = load_split(name, seed, n_rows)
        split_sets = [split_set]
        if len(split_set.y_train) < FEW_ROWS and n_rows is None:
            split_sets += [load_split(name, 1000 * more + seed) for more in range(1, N_SPLITS)]
        for runner in runners:
            if seed == 0:
                warm_up(RUNNERS[runner], split_set)
            scores = np.mean([score_budgets(RUNNERS[runner], one, seed, budgets) for one in split_sets], axis=0)
            rows += [
                {"set": name, "seed": seed, "contestant": runner, "budget": budget, "score": float(score)}
                for budget, score in zip(budgets, scores, strict=True)
            ]
    return rows
