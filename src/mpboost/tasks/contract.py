"""The interface of tasks: ask a question about all rows, then add the outputs of a learner for them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost._shards import Shards, find_rows_here
from mpboost.outputs.kinds import Outputs
from mpboost.outputs.metrics import Metric
from mpboost.outputs.predictions import Predictions
from mpboost.sampling.weights import RowWeights, count_effective
from mpboost.tasks.rows import join_tasks, take_task_rows
from mpboost.tasks.running_score import RunningScore, is_due

Question = TypeVar("Question", covariant=True)
Output = TypeVar("Output", contravariant=True)

#: The arrays that outputs are added to, by name.
TaskState = dict[str, NDArray[Any]]
#: Those of them that are not about rows: the same in all shards.
NOT_ABOUT_ROWS = frozenset({"learning_rate", "n_learners", "oop_raw"})


class Task(Protocol[Question, Output]):
    """A learning task and its state: labels, sums of outputs, weights of rows, and scores.

    In each round the loop calls ``pose``, draws rows by the questions, trains a learner on each, and then calls
    ``update`` with the outputs of these learners, one after the other. Questions have arrays of the task, which
    ``update`` changes: rows are drawn and trees are grown before the first update of a round; the leaves of a gradient
    tree are fitted just before its own.

    A task has the rows of one shard. Rows in its calls are counted over all shards.
    """

    shards: Shards

    @property
    def n_rows_here(self) -> int:
        """The number of rows of the task, in this shard."""

    def list_row_arrays(self) -> list[NDArray[Any] | None]:
        """List the arrays that have an entry for each row, wherever the task keeps them; None for what it has not."""

    def list_given_arrays(self) -> list[NDArray[Any] | None]:
        """List those of them that stay what they are: labels and weights."""

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each row."""

    @property
    def sample_weights(self) -> Floats | None:
        """Positive weights, which multiply p or the loss; None if all are the same."""

    @property
    def score_weights(self) -> Floats | None:
        """Positive weights in the scores: those above without class weights; None if all are the same."""

    @property
    def is_scored(self) -> bool:
        """Whether the last update computed the scores; if not, they are those of an earlier iteration."""

    @property
    def outputs(self) -> Outputs[Any]:
        """The kind of outputs of learners, on new rows."""

    @property
    def log_weights(self) -> Floats:
        """Logarithms of the weights that define p, up to a constant."""

    @property
    def train_score(self) -> float:
        """Score of the ensemble on the training rows."""

    @property
    def oop_score(self) -> float:
        """Out-of-patch score of the ensemble."""

    @property
    def best_score(self) -> float:
        """The best possible score; infinity if it is unknown."""

    @property
    def oop_quality(self) -> float:
        """What training stops by: the out-of-patch score or, with a loss, minus the out-of-patch loss."""

    @property
    def state(self) -> TaskState:
        """Views of the arrays that outputs are added to."""

    @property
    def changed(self) -> Iterable[str]:
        """The names of the arrays of ``state`` that the last update changed."""

    def pose(self, iterations: range, threads: _native.Threads) -> Sequence[Question]:
        """Return the questions of the iterations of a round, about all rows; they may all be the same one."""

    def update(self, outputs: Output, rows: Positions, threads: _native.Threads) -> None:
        """Add the outputs of a learner, given the rows of its minipatch; update weights and scores."""

    def count_effective(self, state: TaskState | None = None) -> float:
        """Compute the effective number of rows, 1 / sum(p²), in a given state, or now."""

    def compute_log_weights(self, state: TaskState) -> Floats:
        """Compute the logarithms of the weights of the rows in a given state."""

    def score(self, totals: NDArray[Any], n_learners: int, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the score of other rows, given the totals of outputs."""

    def compute_quality(
        self, score: float, totals: NDArray[Any], labels: NDArray[Any], weights: Floats | None
    ) -> float:
        """Compute what training stops by on validation rows, given their score."""

    def compute_oop_score(self, state: TaskState, n_learners: int) -> float | None:
        """Compute the out-of-patch score in a given state from all rows; None if ``oop_score`` always is that."""

    def has_oop_score(self, n_drawn: int) -> bool:
        """Check whether there is an out-of-patch score with minipatches of ``n_drawn`` rows."""

    def count_judgements(self, rows: Positions) -> float:
        """Compute the average number of out-of-patch outputs per row from a learner with this minipatch."""

    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count, for each row, the learners that never saw it; as a new array."""


class StopsByScore(ABC):
    """Mixin for tasks that stop by their out-of-patch score."""

    shards: Shards
    labels: NDArray[Any]
    score_weights: Floats | None
    train_score: float
    oop_score: float
    is_scored: bool
    _running: RunningScore | None

    @property
    def n_rows_here(self) -> int:
        """The number of rows of the task, in this shard."""
        return len(self.labels)

    @abstractmethod
    def list_row_arrays(self) -> list[NDArray[Any] | None]:
        """List the arrays that have an entry for each row."""

    @abstractmethod
    def list_given_arrays(self) -> list[NDArray[Any] | None]:
        """List those of them that stay what they are: labels and weights."""

    def _use_metric(self, metric: Metric | None) -> None:
        """Score by a metric, or, without one, as the estimators' ``score`` does."""
        self._running = None if metric is None else RunningScore(metric, self.labels)
        self.train_score = self.oop_score = np.nan
        self.is_scored = True

    def _update_scores(self, n_learners: int) -> None:
        """Compute the metric every few iterations."""
        assert self._running is not None
        self.is_scored = is_due(n_learners)
        if not self.is_scored:
            return
        metric, here = self._running.metric, find_rows_here(self.shards, self._running.rows)

        def score(parts: Sequence[Self]) -> tuple[float, float]:
            sample = join_tasks(parts)
            everyone = np.arange(sample.n_rows_here)
            rows, predictions = sample.present_oop(sample.state, n_learners, everyone)
            self._learn_from(sample)
            return (
                metric.compute(predictions, sample.labels[rows], _take(sample.score_weights, rows)),
                metric.compute(sample.present_training(everyone), sample.labels, sample.score_weights),
            )

        self.oop_score, self.train_score = self.shards.exchange(
            lambda: take_task_rows(self, here, without=self.list_unsent()), score
        )

    def list_unsent(self) -> list[object]:
        """List what a copy of the task for another shard is without: what only the shard itself can use."""
        return [self._running]

    def _learn_from(self, sample: Self) -> None:
        """Take over what a task of a sample of the rows has learned from out-of-patch predictions, if anything."""
        return

    def compute_oop_score(self, state: TaskState, n_learners: int) -> float | None:
        """Compute the metric in a given state from all rows; None without a metric."""
        if self._running is None:
            return None
        rows, predictions = self.present_oop(state, n_learners, np.arange(len(self.labels)))
        return self._running.metric.compute(predictions, self.labels[rows], _take(self.score_weights, rows))

    @property
    def best_score(self) -> float:
        """The best possible score: 1 for accuracy and R^2."""
        return 1.0 if self._running is None else self._running.metric.best

    @property
    @abstractmethod
    def state(self) -> TaskState:
        """Views of the arrays that outputs are added to."""

    @cached_property
    def changed(self) -> Iterable[str]:
        """The names of the arrays of ``state``: an update changes them all."""
        return tuple(self.state)

    @abstractmethod
    def present_training(self, rows: Positions) -> Predictions:
        """Return the predictions of the ensemble for some training rows."""

    @abstractmethod
    def present_oop(self, state: TaskState, n_learners: int, rows: Positions) -> tuple[Positions, Predictions]:
        """Return those of some rows that have an out-of-patch prediction in a given state, and these predictions."""

    @property
    def oop_quality(self) -> float:
        """What training stops by: the out-of-patch score."""
        return self.oop_score

    @abstractmethod
    def weigh(self, state: TaskState | None = None) -> RowWeights:
        """Return the weights that define p in a given state, or now."""

    def count_effective(self, state: TaskState | None = None) -> float:
        """Compute the effective number of rows, 1 / sum(p²), in a given state, or now."""
        return count_effective(self.weigh(state), self.shards)

    def compute_quality(
        self, score: float, totals: NDArray[Any], labels: NDArray[Any], weights: Floats | None
    ) -> float:
        """Return what training stops by on validation rows: their score."""
        return score

    def has_oop_score(self, n_drawn: int) -> bool:
        """Check whether minipatches of ``n_drawn`` rows leave out any row."""
        return n_drawn < self.shards.n_rows

    def count_judgements(self, rows: Positions) -> float:
        """Compute the share of the rows that are not in a minipatch."""
        return 1 - len(rows) / self.shards.n_rows


def _take(weights: Floats | None, rows: Positions) -> Floats | None:
    return None if weights is None else weights[rows]
