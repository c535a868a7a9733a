"""The score on validation data."""

from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats
from mpboost.data.problem import Problem
from mpboost.learners.contract import Learner, Model, PreparedTable
from mpboost.tasks.contract import Task


class ValidationScore(Generic[Model]):
    """Validation rows, the total outputs of the learners for them, and their scores.

    Parameters
    ----------
    rows : PreparedTable or None
        The rows, ready for learners; None if they are in another shard.
    labels : array of shape (n_rows,)
        Targets, encoded as in training.
    sample_weights : float64 array of shape (n_rows,) or None
        Weights of the rows in the score.
    task : Task
        Adds up outputs and computes scores.

    Attributes
    ----------
    scores, qualities : list of float
        After each iteration the score, and the number that the fit stops by: the score, or minus a loss. They are
        computed when the task computes its own.
    """

    def __init__(
        self,
        rows: PreparedTable[Model] | None,
        labels: NDArray[Any],
        sample_weights: Floats | None,
        task: Task[Any, Any],
    ):
        self.labels = labels
        self.sample_weights = sample_weights
        self._rows = rows
        self._task = task
        self._totals = task.outputs.make_totals(len(labels))
        self._n_learners = 0
        self.scores: list[float] = []
        self.qualities: list[float] = []

    def has_rows_of(self, other: "ValidationScore[Any]") -> bool:
        """Tell whether the rows are the same to learners."""
        return (
            np.array_equal(self.labels, other.labels)
            and are_same_weights(self.sample_weights, other.sample_weights)
            and self._rows is not None
            and self._rows.equals(other._rows)
        )

    def update(self, model: Model, threads: _native.Threads) -> None:
        """Add the outputs of a learner; compute the score, and the quality that the fit stops by."""
        if self._rows is not None:
            self._task.outputs.add(self._n_learners, self._rows.apply(model, threads), self._totals)
        self._n_learners += 1
        if self._task.is_scored:
            score, quality = self._task.shards.exchange(self._compute, lambda parts: parts[0])
        else:
            score, quality = self.scores[-1], self.qualities[-1]
        self.scores.append(score)
        self.qualities.append(quality)

    def _compute(self) -> tuple[float, float]:
        """Compute the score, and the quality that the fit stops by; NaN in a shard that does not have the rows."""
        if self._rows is None:
            return np.nan, np.nan
        score = self._task.score(self._totals, self._n_learners, self.labels, self.sample_weights)
        return score, self._task.compute_quality(score, self._totals, self.labels, self.sample_weights)


def open_validation(
    problem: Problem, rows: PreparedTable[Model] | None, task: Task[Any, Any]
) -> ValidationScore[Model] | None:
    """Make the score of validation rows, if there are any; ``rows`` are prepared for learners if they are here."""
    if not problem.has_validation:
        return None
    given = problem.validation
    if given is None:
        return ValidationScore(None, np.empty(0), None, task)
    return ValidationScore(rows, given.labels, given.weights, task)


def prepare_validation(
    problem: Problem, learner: Learner[Any, Model, Any], threads: _native.Threads
) -> PreparedTable[Model] | None:
    """Prepare validation rows for learners, if they are here."""
    return None if problem.validation is None else learner.prepare(problem.validation.table, threads)


def are_same_weights(one: Floats | None, other: Floats | None) -> bool:
    """Tell whether two sets of weights are the same, or both None."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
