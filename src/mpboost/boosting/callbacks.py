"""Callbacks: objects that watch a fit and can stop it."""

import inspect
import time
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, ClassVar

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


#: The methods of a callback that a fit calls.
HOOKS = ("on_fit_begin", "on_iteration_end", "on_fit_end")

#: What such methods are called elsewhere, or might be called.
OTHER_NAMES = {
    "on_fit_begin": ("on_fit_start", "on_train_begin", "on_training_begin", "before_fit", "before_training"),
    "on_iteration_end": ("on_iter_end", "on_epoch_end", "on_iteration_begin", "after_iteration", "before_iteration"),
    "on_fit_end": ("on_train_end", "on_training_end", "after_fit", "after_training"),
}

#: Names that are more similar than this are taken for misspelt.
SIMILARITY = 0.85


def check_callbacks(callbacks: Iterable[Any]) -> None:
    """Raise a TypeError for an object that is not a callback, or has a method that no fit would ever call."""
    for callback in callbacks:
        if not isinstance(callback, Callback):
            raise TypeError(_explain_refusal(callback))
        for name, hook in _list_misspelt_hooks(type(callback)):
            raise TypeError(
                f"{type(callback).__name__} has a method {name!r}, which no fit calls; did you mean {hook!r}? (If it "
                "is a method of your own, give it a name that begins with an underscore.)"
            )


def _explain_refusal(given: Any) -> str:
    contract = f"derive a class from mpboost.Callback, with some of the methods {', '.join(HOOKS)}, and pass its object"
    if isinstance(given, type) and issubclass(given, Callback):
        return f"callbacks contains the class {given.__name__}: pass an object, {given.__name__}()."
    if inspect.isroutine(given):
        return f"callbacks contains a function, {given.__name__}, which is no callback: {contract}."
    return f"callbacks must be instances of mpboost.Callback, not {given!r}: {contract}."


def _list_misspelt_hooks(cls: type[Callback]) -> Iterator[tuple[str, str]]:
    """List methods that look like a misspelt hook, and what is probably meant."""
    known = {other: hook for hook, others in OTHER_NAMES.items() for other in (hook, *others)}
    for parent in cls.__mro__[: cls.__mro__.index(Callback)]:
        for name, value in vars(parent).items():
            if name.startswith("_") or name in HOOKS or not inspect.isroutine(value):
                continue
            for close in get_close_matches(name.lower(), known, n=1, cutoff=SIMILARITY):
                yield name, known[close]


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
