"""How soon our gradient boosting is as good as LightGBM, as a share of LightGBM's time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from threadpoolctl import threadpool_limits

from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable
from benchmarks.contestants import CONTESTANTS, Plan, find_installed
from benchmarks.contestants.measuring import measure
from benchmarks.data.sets import load_set, split
from benchmarks.data.split_set import SplitSet
from mpboost import Callback
from mpboost.boosting.run import BoostingRun

#: The largest share of LightGBM's time that is asked for.
SHARES = {
    "CIFAR truck/car": 1 / 30,
    "MNIST odd/even": 1 / 12,
    "MNIST 3 vs 8": 1 / 12,
    "madelon": 1 / 2,
    "covertype, 1 or not": 1 / 2,
    "relathe": 1.0,
    "adult": 1.0,
    "magic": 1.0,
    "higgs": 1.0,
}
#: Rows of a first fit that is not measured, for whatever is loaded only then.
N_WARM_UP = 200


class IterationClock(Callback):
    """Notes when each iteration ended, in seconds since the making of this object."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self.seconds: list[float] = []

    def on_iteration_end(self, run: BoostingRun) -> None:
        """Look at the clock."""
        self.seconds.append(time.perf_counter() - self._start)


@dataclass(frozen=True)
class Race:
    """A fit of LightGBM, and one of ours right after it; scores are in percent, on test rows.

    Attributes
    ----------
    scores, times : sequences of float
        Of ours: the score after each iteration that the model keeps, and the seconds since the fit began.
    seconds : float
        Of our whole fit, to the end of its own stopping.
    """

    lightgbm_score: float
    lightgbm_seconds: float
    scores: Sequence[float]
    times: Sequence[float]
    seconds: float

    @property
    def n_first(self) -> float:
        """The first iteration, from 1, after which we are as good; infinite if there is none."""
        is_reached = np.asarray(self.scores) >= self.lightgbm_score
        return float(is_reached.argmax() + 1) if is_reached.any() else np.inf

    @property
    def n_lasting(self) -> float:
        """The first iteration from which on we are as good until the end; infinite if there is none."""
        behind = np.flatnonzero(np.asarray(self.scores) < self.lightgbm_score)
        n_lasting = behind[-1] + 2 if len(behind) else 1
        return float(n_lasting) if n_lasting <= len(self.scores) else np.inf

    def share(self, n_iterations: float) -> float:
        """Give the time of so many iterations as a share of LightGBM's."""
        return self.times[int(n_iterations) - 1] / self.lightgbm_seconds if np.isfinite(n_iterations) else np.inf


def run_race(split_set: SplitSet, seed: int, n_trees: int, n_threads: int) -> Race:
    """Fit LightGBM and then ours."""
    plan = Plan(n_trees, seed, n_threads)
    lightgbm = measure("LightGBM", split_set, plan)
    model = CONTESTANTS["MPGradientBoosting"].enter(split_set, plan).model
    with threadpool_limits(n_threads):
        clock = IterationClock()
        start = time.perf_counter()
        model.set_params(callbacks=[clock]).fit(split_set.X_train, split_set.y_train)
        seconds = time.perf_counter() - start
    find_score = r2_score if split_set.is_regression else accuracy_score
    scores = [100.0 * find_score(split_set.y_test, guess) for guess in model.staged_predict(split_set.X_test)]
    return Race(lightgbm.test_score, lightgbm.seconds, scores, clock.seconds, seconds)


def show_speed(
    names: Sequence[str], n_seeds: int, n_rows: int | None, n_trees: int, n_threads: int, folder: Path
) -> None:
    """Print a row for each set: when we are as good as LightGBM, and what becomes of us in the end."""
    print_heading(f"Time to the test score of LightGBM with {n_trees} trees, {n_threads} thread(s), {n_seeds} seed(s)")
    if not find_installed(["LightGBM"]):
        print_line("LightGBM is not installed")
        return
    print_line(
        "binning counted on both sides; shares of LightGBM's fit time and iterations: medians over seeds; 'for good': "
        "from then on never below"
    )
    columns = ["set", "LightGBM", "s LightGBM", "seeds that reach it", "at iteration", "share", "asked", "goal"]
    columns += ["share, for good", "ours at the end", "iterations kept", "s ours", "share of whole fit"]
    table = ResultTable(folder / f"speed_threads_{n_threads}.csv", columns)
    for name in names:
        arrays = load_set(name)
        run_race(split(name, arrays, 0, N_WARM_UP), 0, n_trees, n_threads)
        races = [run_race(split(name, arrays, seed, n_rows), seed, n_trees, n_threads) for seed in range(n_seeds)]
        table.add(_describe(name, races))


def _describe(name: str, races: Sequence[Race]) -> list[str]:
    share = float(np.median([race.share(race.n_first) for race in races]))
    lasting = float(np.median([race.share(race.n_lasting) for race in races]))
    asked = SHARES.get(name)
    return [
        name,
        f"{np.mean([race.lightgbm_score for race in races]):.2f}",
        f"{np.mean([race.lightgbm_seconds for race in races]):.3f}",
        f"{sum(np.isfinite(race.n_first) for race in races)} of {len(races)}",
        _format(float(np.median([race.n_first for race in races])), ".0f"),
        _format(share, ".3f"),
        "" if asked is None else f"{asked:.3f}",
        "" if asked is None else "met" if share <= asked else "MISSED",
        _format(lasting, ".3f"),
        f"{np.mean([race.scores[-1] for race in races]):.2f}",
        f"{np.mean([len(race.scores) for race in races]):.0f}",
        f"{np.mean([race.seconds for race in races]):.3f}",
        f"{np.median([race.seconds / race.lightgbm_seconds for race in races]):.3f}",
    ]


def _format(figure: float, how: str) -> str:
    return format(figure, how) if np.isfinite(figure) else "never"
