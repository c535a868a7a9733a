"""Given data to validate on, beside the out-of-patch score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.learners.trees import Judge
from mpboost.tasks.two_classes import Task


class Validation:
    """Rows that no learner is trained on, and what learners put out for them.

    Parameters
    ----------
    judge : Judge
        The rows, ready to be judged.
    labels : array of shape (n_rows,)
        What is to be predicted, coded as in training.
    sample_weights : float64 array of shape (n_rows,) or None
        What the rows count in the score.
    task : Task
        Tells how outputs are added up and scored.

    Attributes
    ----------
    qualities : list of float
        What training stops by, after each iteration.
    """

    def __init__(self, judge: Judge, labels: NDArray[Any], sample_weights: NDArray[np.float64] | None, task: Task):
        self.labels = labels
        self.sample_weights = sample_weights
        self._judge = judge
        self._task = task
        self._totals = task.outputs.make_totals(len(labels))
        self._n_learners = 0
        self.qualities: list[float] = []

    def has_rows_of(self, other: "Validation") -> bool:
        """Tell whether the rows are the same, as far as learners see them."""
        return (
            np.array_equal(self.labels, other.labels)
            and are_same_weights(self.sample_weights, other.sample_weights)
            and self._judge.equals(other._judge)
        )

    def score(self, model: Any, threads: _native.Threads) -> float:
        """Add the outputs of a learner; give the score of all so far, and keep what training stops by."""
        self._task.outputs.add(self._n_learners, self._judge.apply(model, threads), self._totals)
        self._n_learners += 1
        score = self._task.score(self._totals, self._n_learners, self.labels, self.sample_weights)
        quality = self._task.find_quality(score, self._totals, self.labels, self.sample_weights)
        self.qualities.append(quality)
        return score


def are_same_weights(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    """Tell whether two sets of weights are the same, or both none."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
