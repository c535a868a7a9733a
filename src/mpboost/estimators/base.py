"""Base class of the estimators: fit, warm start, and the total output of the learners."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mpboost import _native
from mpboost._arrays import Floats
from mpboost._compat import CallbackSupportMixin, fit_context
from mpboost._threads import make_threads
from mpboost.boosting.callbacks import Callback, TimeLimit, check_callbacks
from mpboost.boosting.ensembles import Ensemble
from mpboost.boosting.history import History
from mpboost.boosting.interrupts import Interrupts, warn_if_interrupted
from mpboost.boosting.loop import boost
from mpboost.boosting.progress import ProgressBar
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.scikit_learn_callbacks import ForwardToScikitLearn
from mpboost.data.checks import TrainingData
from mpboost.data.problem import Problem
from mpboost.datasets.dataset import BinnedDataset
from mpboost.estimators.continuing import check_continues
from mpboost.estimators.estimates import warn_if_useless
from mpboost.estimators.inputs import (
    FileWatch,
    check_table,
    check_training_data,
    check_validation_data,
    watch_results,
)
from mpboost.estimators.plans import Plan
from mpboost.estimators.publishing import Attributes, RowSource
from mpboost.estimators.row_attributes import explain_absence, list_row_attributes
from mpboost.estimators.settings import draw_seed, list_learning_params
from mpboost.learners.given_estimators import is_estimator
from mpboost.outputs.kinds import Outputs
from mpboost.outputs.metrics import check_scoring
from mpboost.outputs.score_names import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS


class PredictedRows(NamedTuple):
    """Predictions for some rows: labels or numbers, and for a classifier the probabilities of the classes."""

    values: NDArray[Any]
    probabilities: Floats | None


class MinipatchBooster(CallbackSupportMixin, BaseEstimator, ABC):
    """Base class of all estimators of mpboost."""

    # What a fit publishes, as far as all estimators have it: see their docstrings, and ``estimators/publishing.py``.
    n_samples_: int
    n_iter_: int
    best_iteration_: int
    stop_reason_: str
    max_samples_: int
    max_features_: int
    score_name_: str
    train_scores_: Floats
    oop_scores_: Floats
    oop_score_: float
    oop_interval_: Floats
    constant_score_: float
    oop_counts_: NDArray[np.int32]
    observation_probabilities_: Floats
    observation_difficulty_: Floats
    feature_probabilities_: Floats
    feature_importances_: Floats
    history_: History
    _ensemble: Ensemble[Any]
    _targets: NDArray[Any]

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to training data.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Training data: numbers, including infinities, and categories. NaN, None and null are missing values. A
            dataset on disk has its own targets and weights; those that are given here replace them.
        y : array-like of shape (n_samples,)
            Targets: labels of two or more classes for a classifier, numbers for a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: for drawing, training and scores. Rows of weight 0 are ignored.
        X_val : array-like, data frame, sparse matrix or BinnedDataset, default=None
            Validation data. If given, the fit stops by their score instead of the out-of-patch score.
        y_val : array-like of shape (n_val_samples,), default=None
            Targets of the validation data.
        sample_weight_val : array-like of shape (n_val_samples,), default=None
            Weights of the validation data in the score.

        Returns
        -------
        self : estimator
            The fitted model.
        """
        # Validate.
        callbacks = self._make_callbacks()
        self._check_scoring()
        data = check_training_data(
            self, X, y, sample_weight, categorical_features=self.categorical_features, max_bins=self.max_bins
        )
        # Encode y.
        problem = self._pose(data)
        validation = X_val, y_val, sample_weight_val
        if any(part is not None for part in validation):
            problem = problem.with_validation(*check_validation_data(self, data, *validation))
        # Assemble the parts, or continue with those of the last fit.
        threads = make_threads(self.n_jobs)
        run = self._open_run(problem, threads)
        callbacks += [FileWatch(table) for table in (X, X_val) if isinstance(table, BinnedDataset)]
        describe = partial(self._describe_all, problem=problem, known=data.known)
        if hasattr(self, "_skl_callbacks"):  # callbacks of scikit-learn, from set_callbacks
            metadata = None if sample_weight is None else {"sample_weight": sample_weight}
            callbacks.append(ForwardToScikitLearn(self, X, y, metadata, describe))
        with Interrupts(run) as interrupts:
            # Boost.
            boost(run, callbacks, interrupts, threads)
            # Publish. What the command line stored with the last fit is removed.
            stored = {"_run": run if self.warm_start else None, "target_name_": None, "table_habits_": None}
            self._publish(describe(run) | stored)
        warn_if_interrupted(run)
        warn_if_useless(run, vars(self))
        return self

    def _check_scoring(self) -> None:
        check_scoring(self.scoring)
        if self.stopping == "paper" and self.scoring not in (None, DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS):
            raise ValueError(
                f"stopping='paper' is for accuracy and R^2, not for scoring={self.scoring!r}: choose "
                "stopping='patience' or None."
            )

    @property
    def _oop_advice(self) -> str:
        """Explain why there is no out-of-patch score, and what to do."""
        return f"max_samples={self.max_samples!r} puts all rows into every minipatch: choose a smaller max_samples."

    @abstractmethod
    def _pose(self, data: TrainingData) -> Problem:
        """Encode training data as a problem."""

    @abstractmethod
    def _plan(self, problem: Problem, seed: int, threads: _native.Threads) -> Plan[Any]:
        """Decide what follows from all rows: the task."""

    @abstractmethod
    def _assemble(self, problem: Problem, plan: Plan[Any], threads: _native.Threads) -> BoostingRun:
        """Make a run and its parts."""

    def _describe_all(self, run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
        """List the fitted attributes after a run."""
        return self._describe(run, problem, known) | self._describe_rows(RowSource.of(run, problem))

    @abstractmethod
    def _describe(self, run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
        """List the fitted attributes after a run, without those about single rows."""

    @abstractmethod
    def _describe_rows(self, source: RowSource) -> Attributes:
        """List the fitted attributes about single rows."""

    @property
    @abstractmethod
    def _outputs(self) -> Outputs[Any]:
        """What kind of outputs the fitted learners have."""

    @abstractmethod
    def _predict_in_batches(self, X: Any, n_rows: int) -> Iterator[PredictedRows]:
        """Predict ``n_rows`` rows at a time; the trees are evaluated once for all that is predicted."""

    def _total(self, X: Any) -> NDArray[Any]:
        """Add up the outputs of all learners."""
        check_is_fitted(self)
        total = self._ensemble.total(check_table(self, X), self._outputs, make_threads(self.n_jobs))
        if isinstance(X, BinnedDataset):
            X.check_intact()
        return total

    def _total_in_batches(self, X: Any, n_rows: int) -> Iterator[NDArray[Any]]:
        """Add up the outputs of all learners, for ``n_rows`` rows at a time; X is checked as a whole."""
        check_is_fitted(self)
        threads = make_threads(self.n_jobs)
        batches = check_table(self, X).split_rows(n_rows)
        yield from watch_results(X, (self._ensemble.total(batch, self._outputs, threads) for batch in batches))

    def _staged_total(self, X: Any) -> Iterator[NDArray[Any]]:
        """Add up the outputs of 1, 2, 3, ... learners."""
        check_is_fitted(self)
        stages = self._ensemble.staged_total(check_table(self, X), self._outputs, make_threads(self.n_jobs))
        yield from watch_results(X, stages)

    def _make_callbacks(self) -> list[Callback]:
        callbacks = list(self.callbacks or ())
        check_callbacks(callbacks)
        if self.time_limit is not None:
            callbacks.append(TimeLimit(self.time_limit))
        if self.verbose:
            callbacks.append(ProgressBar())
        return callbacks

    def _open_run(self, problem: Problem, threads: _native.Threads) -> BoostingRun:
        """Start a run, or continue the last one."""
        run: BoostingRun | None = getattr(self, "_run", None) if self.warm_start else None
        if run is None:
            self._warn_of_new_start()
            run = self._assemble(problem, self._plan(problem, draw_seed(self.random_state), threads), threads)
        else:
            check_continues(run, problem, self.n_estimators, list_learning_params(self), threads)
            del self._run  # if this fit fails, the old model stays but cannot be continued
        run.extend(self.n_estimators)
        return run

    def _warn_of_new_start(self) -> None:
        if self.warm_start and hasattr(self, "_ensemble"):
            warnings.warn(
                "This model cannot be continued, so the fit starts over: its last fit had no warm_start=True or "
                "failed, or it was loaded from a pickle or a file.",
                stacklevel=5,
            )

    def _publish(self, fitted: Attributes) -> None:
        """Set the fitted attributes, and remove those that are None."""
        state = {
            name: value for name, value in (vars(self) | fitted).items() if name not in fitted or value is not None
        }
        self.__dict__ = state  # in one step: an interrupt leaves either the old model or the new one

    def __str__(self) -> str:
        """Return what ``repr`` returns and, for a fitted model, its score on a second line."""
        low, high = getattr(self, "oop_interval_", (np.nan, np.nan))
        if np.isnan(low):
            return repr(self)
        return f"{self!r}\nout-of-patch {self.score_name_}: {self.oop_score_:.4g} (95 %: {low:.4g} to {high:.4g})"

    if not TYPE_CHECKING:  # type checkers would believe that every name exists

        def __getattr__(self, name: str) -> Any:
            if "n_samples_" in vars(self) and name in list_row_attributes(type(self)):
                raise AttributeError(explain_absence(name, self.n_samples_))
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        # A run holds the binned data and native objects: a pickled model can predict, but not continue training.
        return {name: value for name, value in super().__getstate__().items() if name != "_run"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or (
            is_estimator(self.estimator) and get_tags(self.estimator).input_tags.allow_nan
        )
        tags.input_tags.sparse = True
        return tags
