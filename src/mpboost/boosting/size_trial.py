"""``max_samples="auto"``: a trial of larger minipatches."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mpboost.boosting.run import BoostingRun
from mpboost.tasks.voting import VotingTask

#: Iterations of a trial, and the number of last scores that are averaged.
N_ITERATIONS, N_SCORES = 40, 10
#: Minimum gain in accuracy to accept twice the rows, and the error below which there is no trial.
MIN_GAIN, MIN_ERROR = 0.01, 0.05
#: If the out-of-patch accuracy of single learners is lower, they get twice the rows unless the score falls.
MIN_ACCURACY = 0.6


@dataclass
class SizeTrial:
    """Tries minipatches with twice the rows early in a run, and repeats this while the score improves.

    Small minipatches are best for most data, because their learners differ. Larger ones are far better if a learner
    knows almost nothing from a small one, for example if features are only useful together, or if more rows always
    help. That shows after a few iterations. Small differences then mean nothing: larger minipatches always lead
    for a while.

    Attributes
    ----------
    make_run : callable
        Makes a new run, given the number of rows in a minipatch.
    most : int
        Maximum number of rows in a minipatch.
    """

    make_run: Callable[[int], BoostingRun]
    most: int

    def is_due(self, run: BoostingRun) -> bool:
        """Tell whether the run has reached the iteration of the trial."""
        return run.iteration == N_ITERATIONS

    def choose(self, run: BoostingRun, boost: Callable[[BoostingRun], None]) -> BoostingRun:
        """Return the run itself, or one with as many iterations and larger minipatches if it is clearly better."""
        task: object = run.parts.task
        assert isinstance(task, VotingTask)
        is_weak = task.compute_single_accuracy(run.iteration) < MIN_ACCURACY
        while run.parts.observation_sampler.n_drawn < self.most:
            n_rows = min(2 * run.parts.observation_sampler.n_drawn, self.most)
            error = 1.0 - _recent_accuracy(run)
            if error < MIN_ERROR:
                break
            larger = self.make_run(n_rows)
            larger.extend(N_ITERATIONS)
            boost(larger)
            if larger.iteration < N_ITERATIONS:  # stopped by a time limit or its stopping rule
                break
            chance = math.sqrt(error * (1.0 - error) / run.n_samples)
            least_gain = -chance if is_weak else max(MIN_GAIN, chance)
            if _recent_accuracy(larger) - _recent_accuracy(run) < least_gain:
                break
            run, is_weak = larger, False
        return run


def _recent_accuracy(run: BoostingRun) -> float:
    task: object = run.parts.task
    assert isinstance(task, VotingTask)
    return float(np.mean(task.oop_accuracies[-N_SCORES:]))
