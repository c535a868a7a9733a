"""Callbacks: objects that watch a fit, and may end it."""

import time
from collections.abc import Iterable
from typing import ClassVar

from mpboost._arrays import Floats
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason


class Callback:
    """Base of all callbacks: each method does nothing.

    The argument ``run`` shows the fit as it stands: ``iteration``, ``n_estimators``, ``train_scores``, ``oop_scores``,
    ``validation_scores``, ``best_iteration``, the last minipatch as ``rows`` and ``features``, and the distributions as
    ``observation_probabilities`` and ``feature_probabilities``. Look, do not change.

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

    #: Whether it also watches the short runs of a trial, such as that of the size of minipatches.
    limits_trials: ClassVar[bool] = False

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Look before the first iteration."""

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Look after each iteration; return True to end the fit."""
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Look after the last iteration; also called when the fit fails, even at its beginning."""


class FeatureProbabilityRecorder(Callback):
    """Keeps the feature probabilities q at chosen iterations.

    Parameters
    ----------
    iterations : iterable of int
        When to look; 0 is before the first iteration. The last iteration is always kept.

    Attributes
    ----------
    probabilities_ : dict of int to array of shape (n_features,)
        q after each of those iterations that took place.

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
        """Look before the first iteration."""
        if run.iteration == 0:
            self.probabilities_ = {}
            self._look(run)

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Look after each iteration."""
        self._look(run)
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Look after the last iteration."""
        self.probabilities_[run.iteration] = run.feature_probabilities

    def _look(self, run: BoostingRun) -> None:
        if run.iteration in self.iterations:
            self.probabilities_[run.iteration] = run.feature_probabilities


class TimeLimit(Callback):
    """Ends a fit after the iteration in which its time runs out.

    Parameters
    ----------
    seconds : float
        From the making of this object on.
    """

    limits_trials = True

    def __init__(self, seconds: float):
        self._start, self._seconds = time.monotonic(), seconds

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Look at the clock."""
        if time.monotonic() - self._start >= self._seconds:
            run.stop(StopReason.TIME_LIMIT)
        return None
