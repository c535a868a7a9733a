"""The loop: Algorithm 1 of the paper."""

from collections.abc import Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.ensembles import Ensemble
from mpboost.boosting.history import MOMENTS, History, Moment, make_history, take_moment
from mpboost.boosting.interrupts import Interrupts
from mpboost.boosting.stopping import StoppingRule
from mpboost.boosting.validation_score import Validation
from mpboost.learners.trees import Learner, TrainedLearner
from mpboost.sampling.observations import FeatureSampler, RowSampler, probabilities_from_logs
from mpboost.tasks.two_classes import State, Task


@dataclass
class Snapshot:
    """What a model is made of besides its learners, as it was after some iteration."""

    task: State
    feature_probabilities: NDArray[np.float64]
    importance_sums: NDArray[np.float64]

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
    """Looks for a better run when a run is of a certain age."""

    def is_due(self, run: "BoostingRun") -> bool:
        """Tell whether a run is of that age."""

    def find_best(self, run: "BoostingRun", callbacks: Sequence[Callback], threads: _native.Threads) -> "BoostingRun":
        """Give the run itself, or a better one of the same age."""


@dataclass
class BoostingRun:
    """The parts of a run and what it has learned so far; callbacks look at it after each iteration.

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
    moments : dict of int to Moment
        What is kept of how the run went, by iteration.
    stop_reason : str
        Why the run ended; empty while it goes on.
    params : dict
        Parameters of the estimator that the run was made with.
    """

    task: Task
    observation_sampler: RowSampler
    feature_sampler: FeatureSampler
    learner: Learner
    stopping: StoppingRule
    ensemble: Ensemble
    validation: Validation | None = None
    trial: Trial | None = None
    n_estimators: int = 0
    iteration: int = 0
    train_scores: list[float] = field(default_factory=list)
    oop_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    features: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    moments: dict[int, Moment] = field(default_factory=dict)
    stop_reason: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._importance_sums = np.zeros(len(self.feature_sampler.probabilities))
        self._best: Snapshot | None = None

    @property
    def scores(self) -> list[float]:
        """The scores that count: on given data where there is some, else out of patch."""
        return self.oop_scores if self.validation is None else self.validation_scores

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
    def feature_probabilities(self) -> NDArray[np.float64]:
        """A copy of q."""
        return self.feature_sampler.probabilities.copy()

    @property
    def observation_probabilities(self) -> NDArray[np.float64]:
        """The distribution p, computed on each access."""
        return probabilities_from_logs(self.task.log_weights)

    @property
    def _current(self) -> Snapshot:
        # Views of arrays that the next iteration will change.
        return Snapshot(self.task.state, self.feature_sampler.probabilities, self._importance_sums)

    def make_history(self) -> History:
        """Tell how the run went so far; the best moment and the last are no part of a run that goes on."""
        moments = dict(self.moments)
        if self.iteration not in moments:
            moments[self.iteration] = self._take_moment()
        if self.best_iteration not in moments:
            best = probabilities_from_logs(self.task.weigh(self.best.task))
            moments[self.best_iteration] = take_moment(best, self.best.feature_probabilities)
        return make_history(moments)

    def _take_moment(self) -> Moment:
        return take_moment(self.task.find_weights(), self.feature_sampler.probabilities)

    def stop(self, reason: str) -> None:
        """End the run after this iteration; the first reason counts."""
        self.stop_reason = self.stop_reason or reason

    def extend(self, n_estimators: int) -> None:
        """Allow more iterations; a run that its stopping rule ended stays ended."""
        self.n_estimators = n_estimators
        if self.iteration < n_estimators and self.stop_reason != self.stopping.reason:
            self.stop_reason = ""

    def adopt(self, other: "BoostingRun") -> None:
        """Go on as the run that a trial found, of the same age and on the same data; the trial is over."""
        vars(self).update(vars(other) | {"n_estimators": self.n_estimators, "stop_reason": "", "trial": None})

    def record(
        self, t: int, R: NDArray[np.int64], C: NDArray[np.int64], h: TrainedLearner, threads: _native.Threads
    ) -> None:
        """Keep what an iteration leaves behind, and a copy of the state if it is the best so far."""
        self.ensemble.append(h.model)
        self.iteration, self.rows, self.features = t, R, C
        self.train_scores.append(self.task.train_score)
        self.oop_scores.append(self.task.oop_score)
        self._importance_sums[C] += h.importances if h.credits is None else h.credits
        if self.validation is not None:
            self.validation_scores.append(self.validation.score(h.model, threads))
        if t in MOMENTS:
            self.moments[t] = self._take_moment()
        if self.stopping.halts(t, self.task.oop_quality if self.validation is None else self.validation.qualities[-1]):
            self.stop(self.stopping.reason)
        if t >= self.n_estimators:
            self.stop("n_estimators reached")
        if self.stopping.best_iteration == t:
            if self._best is None:
                self._best = deepcopy(self._current)
            else:
                self._best.copy_from(self._current)


def boost(run: BoostingRun, callbacks: Sequence[Callback], threads: _native.Threads) -> None:
    """Go on with a run until its stopping rule, a callback, an interrupt or the number of iterations ends it."""
    with ExitStack() as endings:
        for callback in reversed(callbacks):
            endings.callback(callback.on_fit_end, run)
        for callback in callbacks:
            callback.on_fit_begin(run)
        interrupts = endings.enter_context(Interrupts(run))
        while not run.stop_reason:
            if run.trial is not None and run.trial.is_due(run):
                with interrupts.allowed():
                    better = run.trial.find_best(run, callbacks, threads)
                run.adopt(better)
            task, p, q, t = run.task, run.observation_sampler, run.feature_sampler, run.iteration + 1
            with interrupts.allowed():
                # 1. Sample a minipatch.
                y = task.pose(t, threads)
                draw = p.sample(t, threads)
                R = task.complete(draw.rows, t, threads)
                C = q.sample(t, threads)
                # 2. Train a weak learner on the minipatch.
                h = run.learner.train(t, draw.with_rows(R), C, y, p.weigh(R), threads)
            # 3. Update outputs. The same pass over the rows yields the weights that p is made of, and the scores.
            task.update(h.outputs, R, threads)
            # 4. Update probability distributions.
            q.update(C, h.importances)
            # 5. Out-of-patch score.
            run.record(t, R, C, h, threads)
            with interrupts.allowed():
                for callback in callbacks:
                    if callback.on_iteration_end(run):
                        run.stop(f"stopped by {type(callback).__name__}")
