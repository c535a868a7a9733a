"""Callbacks: objects that watch a fit, and may end it."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpboost.boosting import BoostingRun


class Callback:
    """Base of all callbacks: each method does nothing.

    The argument ``run`` shows the fit as it stands: ``iteration``, ``n_estimators``, ``train_scores``, ``oop_scores``,
    ``best_iteration``, the last minipatch as ``rows`` and ``features``, and the two distributions as
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

    def on_fit_begin(self, run: "BoostingRun") -> None:
        """Look before the first iteration."""

    def on_iteration_end(self, run: "BoostingRun") -> bool | None:
        """Look after each iteration; return True to end the fit."""
        return None

    def on_fit_end(self, run: "BoostingRun") -> None:
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
        self.probabilities_: dict[int, NDArray[np.float64]] = {}

    def on_fit_begin(self, run: "BoostingRun") -> None:
        """Look before the first iteration."""
        if run.iteration == 0:
            self.probabilities_ = {}
            self._look(run)

    def on_iteration_end(self, run: "BoostingRun") -> bool | None:
        """Look after each iteration."""
        self._look(run)
        return None

    def on_fit_end(self, run: "BoostingRun") -> None:
        """Look after the last iteration."""
        self.probabilities_[run.iteration] = run.feature_probabilities

    def _look(self, run: "BoostingRun") -> None:
        if run.iteration in self.iterations:
            self.probabilities_[run.iteration] = run.feature_probabilities


class ProgressBar(Callback):
    """A bar on the terminal with the out-of-patch score, its best, and the time left at most.

    Needs rich: ``pip install "mpboost[cli]"``. ``verbose=1`` adds one to a fit.
    """

    def __init__(self) -> None:
        self._progress: Any = None
        self._last_moved = 0.0

    def on_fit_begin(self, run: "BoostingRun") -> None:
        """Show the bar."""
        try:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError as error:
            raise ImportError('The progress bar needs rich: pip install "mpboost[cli]", or set verbose=0.') from error
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[scores]}"),
            TimeRemainingColumn(),
        )
        self._bar = self._progress.add_task("boosting", total=run.n_estimators, completed=run.iteration, scores="")
        self._last_moved = time.monotonic()
        self._progress.start()

    def on_iteration_end(self, run: "BoostingRun") -> bool | None:
        """Move the bar, at most twenty times a second: an iteration is shorter than drawing it."""
        now = time.monotonic()
        if now - self._last_moved >= 0.05:
            self._last_moved = now
            self._move(run)
        return None

    def on_fit_end(self, run: "BoostingRun") -> None:
        """Leave the bar as it is."""
        if self._progress is not None:
            self._move(run)
            self._progress.stop()
            self._progress = None

    def _move(self, run: "BoostingRun") -> None:
        if run.oop_scores:
            best = run.oop_scores[run.best_iteration - 1]
            scores = f"out-of-patch {run.oop_scores[-1]:.4f}, best {best:.4f}"
            self._progress.update(self._bar, completed=run.iteration, scores=scores)
