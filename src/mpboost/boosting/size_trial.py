"""How many rows a minipatch has where nobody says: a rule to begin with, and a trial of more."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mpboost.boosting.run import BoostingRun
from mpboost.tasks.voting import VotingTask

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

    def choose(self, run: BoostingRun, boost: Callable[[BoostingRun], None]) -> BoostingRun:
        """Give the run itself, or one of the same age with larger minipatches if it is clearly better."""
        task: object = run.parts.task
        assert isinstance(task, VotingTask)
        is_weak = task.compute_single_accuracy(run.iteration) < MIN_ACCURACY
        while run.parts.observation_sampler.n_drawn < self.most:
            n_rows = min(2 * run.parts.observation_sampler.n_drawn, self.most)
            error = 1.0 - _recent_score(run)
            if error < MIN_ERROR:
                break
            larger = self.make_run(n_rows)
            larger.extend(N_ITERATIONS)
            boost(larger)
            if larger.iteration < N_ITERATIONS:  # out of time, or of patience
                break
            chance = math.sqrt(error * (1.0 - error) / run.n_samples)
            least_gain = -chance if is_weak else max(MIN_GAIN, chance)
            if _recent_score(larger) - _recent_score(run) < least_gain:
                break
            run, is_weak = larger, False
        return run


def _recent_score(run: BoostingRun) -> float:
    return float(np.mean(run.oop_scores[-N_SCORES:]))
