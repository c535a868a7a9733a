"""How many rows a minipatch has where nobody says: a rule to begin with, and a trial of more."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpboost import _native
from mpboost.boosting.callbacks import Callback, TimeLimit
from mpboost.boosting.loop import BoostingRun, boost

#: Iterations of a trial, and how many of the last scores are averaged.
N_ITERATIONS, N_SCORES = 40, 10
#: What twice the rows must gain at least; and the error below which there is no point in trying.
MIN_GAIN, MIN_ERROR = 0.01, 0.05
#: Learners that are right less often, out of patch, get twice the rows unless that does harm.
MIN_ACCURACY = 0.6


@dataclass
class SizeTrial:
    """Tries minipatches of twice the rows in the beginning of a run, as long as they score better.

    Most data is learned best from small minipatches, whose learners differ. Where each learner of such a minipatch
    knows next to nothing, as with many features that only count together, or where there is always more to learn from
    more rows, larger ones are far better, and that shows after a few iterations. Small differences at that
    time mean nothing: larger minipatches are always ahead for a while.

    Attributes
    ----------
    make_run : callable
        Makes a new run with so many rows in a minipatch.
    most : int
        Rows that are not exceeded.
    """

    make_run: Callable[[int], BoostingRun]
    most: int

    def is_due(self, run: BoostingRun) -> bool:
        """Tell whether a run is at the iteration in which trials are made."""
        return run.iteration == N_ITERATIONS

    def find_best(self, run: BoostingRun, callbacks: Sequence[Callback], threads: _native.Threads) -> BoostingRun:
        """Give the run itself, or one of the same age with larger minipatches if it is clearly better."""
        limits = [callback for callback in callbacks if isinstance(callback, TimeLimit)]
        n_samples = len(run.task.labels)
        is_weak = _find_accuracy(run) < MIN_ACCURACY
        while run.observation_sampler.n_drawn < self.most:
            n_rows = min(2 * run.observation_sampler.n_drawn, self.most)
            error = 1.0 - _recent_score(run)
            if error < MIN_ERROR:
                break
            larger = self.make_run(n_rows)
            larger.extend(N_ITERATIONS)
            boost(larger, limits, threads)
            if larger.iteration < N_ITERATIONS:  # out of time, or of patience
                break
            chance = math.sqrt(error * (1.0 - error) / n_samples)
            least_gain = -chance if is_weak else max(MIN_GAIN, chance)
            if _recent_score(larger) - _recent_score(run) < least_gain:
                break
            run, is_weak = larger, False
        return run


def _recent_score(run: BoostingRun) -> float:
    return float(np.mean(run.oop_scores[-N_SCORES:]))


def _find_accuracy(run: BoostingRun) -> float:
    """Find how often single learners are right about rows that they never saw."""
    task: Any = run.task
    votes = task.count_oop_votes(task.state, run.iteration)
    return float(np.take_along_axis(votes, task.classes[:, None], axis=1).sum() / votes.sum())
