"""A run of the loop: the parts that it is put together from, and what it has learned so far."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.boosting.ensembles import Ensemble
from mpboost.boosting.history import MOMENTS, History, Moment, make_history, take_moment
from mpboost.boosting.stop_reasons import StopReason
from mpboost.boosting.stopping import StoppingRule
from mpboost.boosting.validation_score import ValidationScore
from mpboost.learners.contract import Learner, Model, Output, TrainedLearner
from mpboost.sampling.draws import RowSampler, probabilities_from_logs
from mpboost.sampling.features import FeatureSampler
from mpboost.tasks.contract import Task, TaskState

Question = TypeVar("Question")


@dataclass
class Parts(Generic[Question, Model, Output]):
    """The parts that go together: what a task poses is what rows are drawn by and what a learner trains on.

    What a learner puts out is what the task takes in, and what is left of it is what the ensemble keeps.
    """

    task: Task[Question, Output]
    observation_sampler: RowSampler[Question]
    feature_sampler: FeatureSampler
    learner: Learner[Question, Model, Output]
    ensemble: Ensemble[Model]
    validation: ValidationScore[Model] | None = None


@dataclass
class Snapshot:
    """What a model is made of besides its learners, as it was after some iteration."""

    task: TaskState
    feature_probabilities: Floats
    importance_sums: Floats

    def copy_from(self, other: "Snapshot") -> None:
        """Overwrite in place: fresh memory for each of many copies would cost more than the copying."""
        for name, array in other.task.items():
            if self.task[name].dtype == array.dtype:
                np.copyto(self.task[name], array)
            else:  # counts that outgrew their type
                self.task[name] = array.copy()
        np.copyto(self.feature_probabilities, other.feature_probabilities)
        np.copyto(self.importance_sums, other.importance_sums)


class Trial(Protocol):
    """Tries other runs when a run is of a certain age."""

    def is_due(self, run: "BoostingRun") -> bool:
        """Tell whether a run is of that age."""

    def choose(self, run: "BoostingRun", boost: Callable[["BoostingRun"], None]) -> "BoostingRun":
        """Give the run itself, or a better one of the same age; ``boost`` goes on with a run."""


@dataclass
class BoostingRun:
    """A fit as it stands; callbacks look at it after each iteration.

    Attributes
    ----------
    iteration : int
        Iterations done.
    n_estimators : int
        The most iterations that will be done.
    train_scores, oop_scores, validation_scores : list of float
        Training, out-of-patch and validation score after each iteration; the last one is empty without such data.
    rows, features : int64 arrays
        The last minipatch.
    stop_reason : StopReason or None
        Why the run ended; None while it goes on.
    stop_words : str
        The same in words; empty while it goes on.
    params : dict
        Parameters of the estimator that the run was made with.
    parts : Parts
        The task, samplers, learner and ensemble; they fit each other, whatever their types.
    moments : dict of int to Moment
        What is kept of how the run went, by iteration.
    """

    parts: Parts[Any, Any, Any]
    stopping: StoppingRule
    trial: Trial | None = None
    n_estimators: int = 0
    iteration: int = 0
    train_scores: list[float] = field(default_factory=list)
    oop_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)
    rows: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    features: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    moments: dict[int, Moment] = field(default_factory=dict)
    stop_reason: StopReason | None = None
    stop_words: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._importance_sums = np.zeros(len(self.parts.feature_sampler.probabilities))
        self._best: Snapshot | None = None

    @property
    def scores(self) -> list[float]:
        """The scores that count: on given data where there is some, else out of patch."""
        return self.oop_scores if self.parts.validation is None else self.validation_scores

    @property
    def best_iteration(self) -> int:
        """The iteration, counted from 1, that the model would be cut to now."""
        best = self.stopping.best_iteration
        return self.iteration if best is None else best

    @property
    def best(self) -> Snapshot:
        """What was learned up to the best iteration."""
        return self._best if self._best is not None else self._current

    @property
    def feature_probabilities(self) -> Floats:
        """A copy of q."""
        return self.parts.feature_sampler.probabilities.copy()

    @property
    def observation_probabilities(self) -> Floats:
        """The distribution p, computed on each access."""
        return probabilities_from_logs(self.parts.task.log_weights)

    @property
    def n_samples(self) -> int:
        """Rows that are learned from."""
        return len(self.parts.task.labels)

    @property
    def has_oop_score(self) -> bool:
        """Whether any row is judged by learners that never saw it."""
        return self.parts.task.has_oop_score(self.parts.observation_sampler.n_drawn)

    @property
    def _current(self) -> Snapshot:
        # Views of arrays that the next iteration will change.
        parts = self.parts
        return Snapshot(parts.task.state, parts.feature_sampler.probabilities, self._importance_sums)

    def make_history(self) -> History:
        """Tell how the run went so far; the best moment and the last are no part of a run that goes on."""
        moments = dict(self.moments)
        if self.iteration not in moments:
            moments[self.iteration] = self._take_moment()
        if self.best_iteration not in moments:
            best = probabilities_from_logs(self.parts.task.compute_log_weights(self.best.task))
            moments[self.best_iteration] = take_moment(best, self.best.feature_probabilities)
        return make_history(moments)

    def _take_moment(self) -> Moment:
        return take_moment(self.parts.task.compute_weights(), self.parts.feature_sampler.probabilities)

    def stop(self, reason: StopReason, detail: str = "") -> None:
        """End the run after this iteration; the first reason counts."""
        if self.stop_reason is None:
            self.stop_reason, self.stop_words = reason, reason.describe(detail)

    def interrupt(self) -> None:
        """End the run by an interrupt, whatever else may have ended it."""
        self.stop_reason, self.stop_words = StopReason.INTERRUPTED, StopReason.INTERRUPTED.describe()

    def extend(self, n_estimators: int) -> None:
        """Allow more iterations; a run that its stopping rule ended stays ended."""
        self.n_estimators = n_estimators
        if self.iteration < n_estimators and self.stop_reason is not StopReason.RULE:
            self.stop_reason, self.stop_words = None, ""

    def adopt(self, other: "BoostingRun") -> None:
        """Go on as the run that a trial chose, of the same age and on the same data; the trial is over."""
        kept = {"n_estimators": self.n_estimators, "stop_reason": None, "stop_words": "", "trial": None}
        vars(self).update(vars(other) | kept)

    def record(self, t: int, R: Positions, C: Positions, h: TrainedLearner[Any, Any], threads: _native.Threads) -> None:
        """Keep what an iteration leaves behind, and a copy of the state if it is the best so far."""
        task, validation = self.parts.task, self.parts.validation
        self.parts.ensemble.append(h.model)
        self.iteration, self.rows, self.features = t, R, C
        self.train_scores.append(task.train_score)
        self.oop_scores.append(task.oop_score)
        self._importance_sums[C] += h.importances if h.credits is None else h.credits
        if validation is not None:
            self.validation_scores.append(validation.update(h.model, threads))
        if t in MOMENTS:
            self.moments[t] = self._take_moment()
        if self.stopping.halts(t, task.oop_quality if validation is None else validation.qualities[-1]):
            self.stop(StopReason.RULE, self.stopping.reason)
        if t >= self.n_estimators:
            self.stop(StopReason.N_ESTIMATORS)
        if self.stopping.best_iteration == t:
            if self._best is None:
                self._best = deepcopy(self._current)
            else:
                self._best.copy_from(self._current)
