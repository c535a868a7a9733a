"""Callbacks: objects that watch a fit and can stop it."""

import time
from collections.abc import Iterable
from typing import ClassVar

from mpboost._arrays import Floats
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason


class Callback:
    """Base class of callbacks, whose methods do nothing.

    The argument ``run`` is the state of the fit: ``iteration``, ``n_estimators``, ``train_scores``, ``oop_scores``,
    ``validation_scores``, ``best_iteration``, the last minipatch as ``rows`` and ``features``, and the distributions as
    ``observation_probabilities`` and ``feature_probabilities``. Callbacks must not change it. See ``BoostingRun``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import Callback, MPBoostClassifier
    >>> class StopAtOnce(Callback):
    ...     def on_iteration_end(self, run):
    ...         return run.oop_scores[-1] > 0.9
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(callbacks=[StopAtOnce()], random_state=0).fit(X, y)
    >>> model.stop_reason_
    'stopped by StopAtOnce'
    """

    #: Whether it is also called in the short runs that try other sizes of minipatches.
    limits_trials: ClassVar[bool] = False

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Run before the first iteration."""

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Run after each iteration; return True to stop the fit."""
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Run after the last iteration, and also if the fit fails."""


class FeatureProbabilityRecorder(Callback):
    """Callback that records the feature probabilities q at given iterations.

    Parameters
    ----------
    iterations : iterable of int
        Iterations to record; 0 is before the first one. The last one is always recorded.

    Attributes
    ----------
    probabilities_ : dict of int to array of shape (n_features,)
        q after each recorded iteration.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import FeatureProbabilityRecorder, MPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> recorder = FeatureProbabilityRecorder([0, 10])
    >>> model = MPBoostClassifier(n_estimators=20, stopping=None, callbacks=[recorder]).fit(X, y)
    >>> list(recorder.probabilities_)
    [0, 10, 20]
    """

    def __init__(self, iterations: Iterable[int]):
        self.iterations = frozenset(iterations)
        self.probabilities_: dict[int, Floats] = {}

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Record q before the first iteration, if asked for."""
        if run.iteration == 0:
            self.probabilities_ = {}
            self._record(run)

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Record q if this iteration was asked for."""
        self._record(run)
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Record q after the last iteration."""
        self.probabilities_[run.iteration] = run.feature_probabilities

    def _record(self, run: BoostingRun) -> None:
        if run.iteration in self.iterations:
            self.probabilities_[run.iteration] = run.feature_probabilities


class TimeLimit(Callback):
    """Callback that stops a fit after the iteration in which its time runs out.

    Parameters
    ----------
    seconds : float
        Time limit, from the creation of this object.
    """

    limits_trials = True

    def __init__(self, seconds: float):
        self._start, self._seconds = time.monotonic(), seconds

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Stop the fit if its time is over."""
        if time.monotonic() - self._start >= self._seconds:
            run.stop(StopReason.TIME_LIMIT)
        return None
