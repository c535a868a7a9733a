"""A run of the boosting loop: its parts, and what it has learned so far."""

from collections import deque
from collections.abc import Callable, Collection
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.boosting.ensembles import Ensemble
from mpboost.boosting.history import MAX_LOOKED_BACK, MOMENTS, History, Moment, make_history, take_moment
from mpboost.boosting.stop_reasons import StopReason
from mpboost.boosting.stopping import StoppingRule, Watched
from mpboost.boosting.validation_score import ValidationScore
from mpboost.learners.contract import Finish, Learner, Model, Output, TrainedLearner
from mpboost.sampling.draws import Minipatch, RowSampler, probabilities_from_logs
from mpboost.sampling.features import FeatureSampler
from mpboost.tasks.contract import Task, TaskState

Question = TypeVar("Question")


@dataclass
class Parts(Generic[Question, Model, Output]):
    """The parts of a run, with matching types.

    The task poses a question, by which rows are drawn and on which the learner trains. The task takes the outputs of
    the learner; the ensemble keeps its model.
    """

    task: Task[Question, Output]
    observation_sampler: RowSampler[Question]
    feature_sampler: FeatureSampler
    learner: Learner[Question, Model, Output]
    ensemble: Ensemble[Model]
    validation: ValidationScore[Model] | None = None


@dataclass
class Snapshot:
    """The state of a model, without its learners, after some iteration."""

    task: TaskState
    feature_probabilities: Floats
    importance_sums: Floats

    def copy_from(self, other: "Snapshot", changed: Collection[str], threads: _native.Threads) -> None:
        """Overwrite the arrays of the task that changed, in place: allocating memory would take longer than copying."""
        for name in changed:
            array = other.task[name]
            if self.task[name].dtype == array.dtype:
                threads.copy(array, self.task[name])
            else:  # counts that needed a larger type
                self.task[name] = array.copy()
        np.copyto(self.feature_probabilities, other.feature_probabilities)
        np.copyto(self.importance_sums, other.importance_sums)


class Trial(Protocol):
    """Tries alternative runs at a certain iteration."""

    def is_due(self, run: "BoostingRun") -> bool:
        """Tell whether the run has reached that iteration."""

    def choose(self, run: "BoostingRun", boost: Callable[["BoostingRun"], None]) -> "BoostingRun":
        """Return the run itself or a better one with as many iterations; ``boost`` continues a run."""


@dataclass
class BoostingRun:
    """The state of a fit, as callbacks see it.

    Attributes
    ----------
    iteration : int
        Number of iterations done.
    n_estimators : int
        Maximum number of iterations.
    round_size : int
        Number of minipatches that are drawn from the same distributions, K.
    round : deque
        Minipatches of the current round, and their learners, which are not yet taken in.
    train_scores, oop_scores, validation_scores : list of float
        Training, out-of-patch and validation score after each iteration; the last list is empty without ``X_val``.
    qualities : list of float
        What the fit stops by after each iteration, the greater the better: a score, or minus a loss.
    watched : Watched
        The name of that, and how to show it.
    rows, features : int64 arrays
        Indices of the last minipatch.
    stop_reason : StopReason or None
        Why the run ended; None while it is running.
    stop_words : str
        The reason in words; empty while it is running.
    params : dict
        Parameters of the estimator that change what is learned.
    parts : Parts
        The task, samplers, learner and ensemble.
    moments : dict of int to Moment
        The recorded history, by iteration.
    """

    parts: Parts[Any, Any, Any]
    stopping: StoppingRule
    watched: Watched = field(default_factory=lambda: Watched("out-of-patch score"))
    trial: Trial | None = None
    round_size: int = 1
    n_estimators: int = 0
    iteration: int = 0
    round: deque[tuple[Minipatch[Any], Finish[Any, Any]]] = field(default_factory=deque)
    train_scores: list[float] = field(default_factory=list)
    oop_scores: list[float] = field(default_factory=list)
    qualities: list[float] = field(default_factory=list)
    rows: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    features: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    moments: dict[int, Moment] = field(default_factory=dict)
    stop_reason: StopReason | None = None
    stop_words: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._importance_sums = np.zeros(len(self.parts.feature_sampler.probabilities))
        self._best: Snapshot | None = None
        self._changed: set[str] = set()  # arrays of the task that changed since the best iteration

    @property
    def validation_scores(self) -> list[float]:
        """The validation score after each iteration; empty without validation data."""
        return [] if self.parts.validation is None else self.parts.validation.scores

    @property
    def scores(self) -> list[float]:
        """The validation scores if there is validation data, otherwise the out-of-patch scores."""
        return self.oop_scores if self.parts.validation is None else self.validation_scores

    @property
    def best_iteration(self) -> int:
        """The best iteration so far, counted from 1: the model would keep the learners up to it."""
        best = self.stopping.best_iteration
        return self.iteration if best is None else best

    @property
    def best(self) -> Snapshot:
        """The state at the best iteration."""
        return self._best if self._best is not None else self._current

    @property
    def feature_probabilities(self) -> Floats:
        """The distribution q over features (a copy)."""
        return self.parts.feature_sampler.probabilities.copy()

    @property
    def observation_probabilities(self) -> Floats:
        """The distribution p over rows, computed on each access."""
        return probabilities_from_logs(self.parts.task.log_weights)

    @property
    def n_samples(self) -> int:
        """Number of training rows."""
        return self.parts.task.shards.n_rows

    @property
    def has_oop_score(self) -> bool:
        """Whether there is an out-of-patch score: some rows are judged by learners that never saw them."""
        return self.parts.task.has_oop_score(self.parts.observation_sampler.n_drawn)

    @property
    def _current(self) -> Snapshot:
        # Views: the next iteration changes these arrays.
        parts = self.parts
        return Snapshot(parts.task.state, parts.feature_sampler.probabilities, self._importance_sums)

    def make_history(self) -> History:
        """Make the history so far. It adds the last iteration and, unless there are very many rows, the best one."""
        return make_history(self.list_moments())

    def list_moments(self) -> dict[int, Moment]:
        """List the recorded moments, the last one and, unless there are very many rows, the best one."""
        moments = dict(self.moments)
        if self.iteration not in moments:
            moments[self.iteration] = self._take_moment()
        if self.best_iteration not in moments and self.n_samples <= MAX_LOOKED_BACK:
            effective = self.parts.task.count_effective(self.best.task)
            moments[self.best_iteration] = take_moment(effective, self.best.feature_probabilities)
        return moments

    def with_all_rows(self, task: Task[Any, Any], best: TaskState) -> "BoostingRun":
        """Return this run of one of several shards as that of all rows, given their task and its best state."""
        whole = copy(self)
        whole.parts = replace(self.parts, task=task)
        whole._best = replace(self.best, task=best)
        return whole

    def _take_moment(self) -> Moment:
        return take_moment(self.parts.task.count_effective(), self.parts.feature_sampler.probabilities)

    def stop(self, reason: StopReason, detail: str = "") -> None:
        """End the run after this iteration; only the first reason is kept."""
        if self.stop_reason is None:
            self.stop_reason, self.stop_words = reason, reason.describe(detail)

    def interrupt(self) -> None:
        """End the run by an interrupt; this replaces any other reason."""
        self.stop_reason, self.stop_words = StopReason.INTERRUPTED, StopReason.INTERRUPTED.describe()

    def extend(self, n_estimators: int) -> None:
        """Allow more iterations, unless the stopping rule has ended the run."""
        self.n_estimators = n_estimators
        if self.iteration < n_estimators and self.stop_reason is not StopReason.RULE:
            self.stop_reason, self.stop_words = None, ""

    def adopt(self, other: "BoostingRun") -> None:
        """Continue as the run that a trial chose, with as many iterations on the same data; the trial is over."""
        kept = {"n_estimators": self.n_estimators, "stop_reason": None, "stop_words": "", "trial": None}
        vars(self).update(vars(other) | kept)

    def record(self, t: int, R: Positions, C: Positions, h: TrainedLearner[Any, Any], threads: _native.Threads) -> None:
        """Record an iteration: learner, scores, history, and a copy of the state if it is the best so far."""
        task, validation = self.parts.task, self.parts.validation
        self.parts.ensemble.append(h.model)
        self.iteration, self.rows, self.features = t, R, C
        self.train_scores.append(task.train_score)
        self.oop_scores.append(task.oop_score)
        self._changed.update(task.changed)
        _native.add_to(self._importance_sums, C, h.importances if h.credits is None else h.credits)
        if validation is not None:
            validation.update(h.model, threads)
        self.qualities.append(task.oop_quality if validation is None else validation.qualities[-1])
        if t in MOMENTS:
            self.moments[t] = self._take_moment()
        if task.is_scored:
            is_perfect = self.scores[-1] >= task.best_score
            if self.stopping.halts(t, self.qualities[-1], is_perfect=is_perfect):
                self.stop(StopReason.RULE, self.stopping.reason)
        if t >= self.n_estimators:
            self.stop(StopReason.N_ESTIMATORS)
        if self.stopping.best_iteration == t:
            if self._best is None:
                self._best = deepcopy(self._current)
            else:
                self._best.copy_from(self._current, self._changed, threads)
            self._changed.clear()
