"""What all estimators of the package have in common: how a fit begins, goes on, and leaves its mark."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mpboost import _native
from mpboost.boosting.callbacks import Callback, CallbackSupportMixin, ForwardToScikitLearn, ProgressBar, TimeLimit
from mpboost.boosting.interrupts import warn_if_interrupted
from mpboost.boosting.loop import BoostingRun, boost
from mpboost.data.checks import TrainingData, check_table, check_training_data, check_validation_data
from mpboost.data.problem import Problem
from mpboost.estimators.assembly import assemble_run, check_continues
from mpboost.estimators.threads import make_threads
from mpboost.learners.trees import is_estimator
from mpboost.outputs.kinds import Outputs
from mpboost.tasks.two_classes import Task


class MinipatchBooster(CallbackSupportMixin, BaseEstimator):
    """Base of the estimators."""

    @property
    def _oop_advice(self) -> str:
        """Why there may be no out-of-patch score, and what helps."""
        return f"max_samples={self.max_samples!r} puts all rows into every minipatch: choose a smaller max_samples."

    @abstractmethod
    def _pose(self, data: TrainingData) -> Problem:
        """Turn data into a problem."""

    def _assemble(self, problem: Problem, threads: _native.Threads) -> BoostingRun:
        """Make the parts of a run."""
        return assemble_run(self, problem, threads)

    def _make_task(self, problem: Problem, seed: int) -> Task:
        """Make the task of a run that is assembled in the usual way."""
        raise NotImplementedError

    @abstractmethod
    def _describe(self, run: BoostingRun, problem: Problem, known: dict[str, Any]) -> dict[str, Any]:
        """List the attributes that a run has made."""

    @property
    @abstractmethod
    def _outputs(self) -> Outputs:
        """What the fitted learners put out."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any, Any]) -> Self:
        callbacks = self._make_callbacks()
        data = check_training_data(
            self, X, y, sample_weight, categorical_features=self.categorical_features, max_bins=self.max_bins
        )
        problem = self._pose(data)
        if any(part is not None for part in validation):
            problem = problem.with_validation(*check_validation_data(self, data.known, *validation))
        threads = make_threads(self.n_jobs)
        run = self._open_run(problem, threads)
        describe = partial(self._describe, problem=problem, known=data.known)
        if hasattr(self, "_skl_callbacks"):  # those of scikit-learn, from set_callbacks
            metadata = None if sample_weight is None else {"sample_weight": sample_weight}
            callbacks.append(ForwardToScikitLearn(self, X, y, metadata, describe))

        boost(run, callbacks, threads)

        # A name for the target that someone noted is that of the last fit's.
        self._publish(describe(run) | {"_run": run if self.warm_start else None, "target_name_": None})
        warn_if_interrupted(run)
        return self

    def _total(self, X: Any) -> NDArray[Any]:
        """Add up the outputs of all learners."""
        check_is_fitted(self)
        return self._ensemble.total(check_table(self, X), self._outputs, make_threads(self.n_jobs))

    def _staged_total(self, X: Any) -> Iterator[NDArray[Any]]:
        """Add up the outputs of the first, the first two, ... learners."""
        check_is_fitted(self)
        yield from self._ensemble.staged_total(check_table(self, X), self._outputs, make_threads(self.n_jobs))

    def _make_callbacks(self) -> list[Callback]:
        for callback in self.callbacks or ():
            if not isinstance(callback, Callback):
                raise TypeError(f"callbacks must be instances of mpboost.Callback, not {callback!r}.")
        callbacks = list(self.callbacks or ())
        if self.time_limit is not None:
            callbacks.append(TimeLimit(self.time_limit))
        if self.verbose:
            callbacks.append(ProgressBar())
        return callbacks

    def _open_run(self, problem: Problem, threads: _native.Threads) -> BoostingRun:
        """Begin a run, or take up the last one again."""
        run = getattr(self, "_run", None) if self.warm_start else None
        if run is None:
            self._warn_of_new_start()
            run = self._assemble(problem, threads)
        else:
            check_continues(self, run, problem, threads)
            del self._run  # if this fit fails, the model stays as it is but cannot be continued
        run.extend(self.n_estimators)
        return run

    def _warn_of_new_start(self) -> None:
        if self.warm_start and hasattr(self, "_ensemble"):
            warnings.warn(
                "This model cannot be continued and starts anew: its last fit was without warm_start=True or did not "
                "end, or it comes from a pickle or a file.",
                stacklevel=6,
            )

    def _publish(self, fitted: dict[str, Any]) -> None:
        """Set the fitted attributes, and remove those that are None."""
        state = {
            name: value for name, value in (vars(self) | fitted).items() if name not in fitted or value is not None
        }
        self.__dict__ = state  # all at once: an interrupt leaves the old model or the new one, never half of each

    def __getstate__(self) -> dict[str, Any]:
        # A run holds the binned data and native objects: a pickled model predicts, but does not go on training.
        return {name: value for name, value in super().__getstate__().items() if name != "_run"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or (
            is_estimator(self.estimator) and get_tags(self.estimator).input_tags.allow_nan
        )
        tags.input_tags.sparse = True
        return tags
