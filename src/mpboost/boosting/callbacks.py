"""Callbacks: objects that watch a fit, and may end it."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from mpboost.boosting.loop import BoostingRun

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9 has no callbacks: an estimator then has no set_callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing."""


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


class TimeLimit(Callback):
    """Ends a fit after the iteration in which its time runs out.

    Parameters
    ----------
    seconds : float
        From the making of this object on.
    """

    def __init__(self, seconds: float):
        self._start, self._seconds = time.monotonic(), seconds

    def on_iteration_end(self, run: "BoostingRun") -> bool | None:
        """Look at the clock."""
        if time.monotonic() - self._start >= self._seconds:
            run.stop("time_limit reached")
        return None


class ForwardToScikitLearn(Callback):
    """Calls the callbacks that ``set_callbacks`` of scikit-learn gave to an estimator; iterations are tasks of the fit.

    Parameters
    ----------
    estimator : estimator
        Who is fitted.
    X, y : array-like
        The training data as callbacks may score it: as the user gave it.
    metadata : dict or None
        What else was passed to fit, by name.
    describe : callable
        Makes, from a run, the fitted attributes of the model as it stands. Asked only if a callback wants a model.
    """

    def __init__(
        self,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        metadata: dict[str, Any] | None,
        describe: Callable[["BoostingRun"], dict[str, Any]],
    ):
        self._estimator = estimator
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._describe = describe
        self._fit: Any = None
        self._iteration: Any = None

    def on_fit_begin(self, run: "BoostingRun") -> None:
        """Begin the fit and its first iteration."""
        n_left = 0 if run.stop_reason else run.n_estimators - run.iteration
        self._fit = self._estimator._init_callback_context(max_subtasks=n_left)
        self._fit.call_on_fit_task_begin(**self._arguments)
        self._begin_iteration(run)

    def on_iteration_end(self, run: "BoostingRun") -> bool | None:
        """End the iteration and begin the next one, if there is one."""
        iteration, self._iteration = self._iteration, None
        if iteration.call_on_fit_task_end(**self._arguments, reconstruction_attributes=self._lazily(run)):
            run.stop("stopped by a callback of scikit-learn")
        self._begin_iteration(run)
        return None

    def on_fit_end(self, run: "BoostingRun") -> None:
        """End the fit, unless it failed."""
        if self._fit is None or not run.stop_reason:
            return
        if self._iteration is not None:  # an interrupt came between: nothing to show of this one
            self._iteration.call_on_fit_task_end(estimator=self._estimator)
        self._fit.call_on_fit_task_end(**self._arguments, reconstruction_attributes=self._lazily(run))

    def _begin_iteration(self, run: "BoostingRun") -> None:
        if not run.stop_reason:
            self._iteration = self._fit.subcontext(task_name="iteration")
            self._iteration.call_on_fit_task_begin(**self._arguments, reconstruction_attributes=self._lazily(run))

    def _lazily(self, run: "BoostingRun") -> Callable[[], dict[str, Any]] | None:
        known = vars(self._estimator)

        def describe() -> dict[str, Any]:
            return {name: value for name, value in self._describe(run).items() if value is not None or name in known}

        return describe if run.iteration else None


class Bar:
    """A bar of rich with words beside it and the time left; on a terminal, in a notebook, or a last line in a log.

    Who works draws it, now and then: a thread would get in the way.
    """

    #: Drawing may take this share of the time.
    _SHARE = 0.002
    #: Fewest and most seconds between two drawings.
    _PAUSES = 0.1, 1.0

    def __init__(self) -> None:
        self._progress: Any = None
        self._notebook: Any = None
        self._next_draw = 0.0

    def _open(self, total: float, completed: float = 0, *, shows_count: bool = True) -> None:
        """Show the bar, or nothing where another one has the terminal."""
        try:
            from rich.errors import LiveError
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError as error:
            raise ImportError('The progress bar needs rich: pip install "mpboost[cli]", or set verbose=0.') from error
        count = [MofNCompleteColumn()] if shows_count else []
        columns = BarColumn(bar_width=20), *count, TextColumn("{task.fields[words]}")
        self._progress = Progress(*columns, TimeRemainingColumn(), TextColumn("left"), auto_refresh=False)
        self._bar = self._progress.add_task("boosting", total=total, completed=completed, words="")
        if self._progress.console.is_jupyter:
            # rich's own display there needs widgets, which not every notebook has and no saved one shows.
            self._notebook = import_module("IPython.display").display("", display_id=True)
        else:
            try:
                self._progress.start()
            except LiveError:  # a fit inside a fit, before rich 14.1: the outer one has the terminal
                self._progress = None

    @property
    def _is_due(self) -> bool:
        """Whether it is time to draw again."""
        return self._progress is not None and time.monotonic() >= self._next_draw

    def _show(self, completed: float, words: str) -> None:
        """Draw the bar."""
        start = time.monotonic()
        self._progress.update(self._bar, completed=completed, words=words)
        if self._notebook is None:
            self._progress.refresh()
        else:
            self._notebook.update(self._progress.make_tasks_table(self._progress.tasks))
        end = time.monotonic()
        shortest, longest = self._PAUSES
        self._next_draw = end + min(max(shortest, (end - start) / self._SHARE), longest)

    @contextmanager
    def _closing(self) -> Iterator[None]:
        """Put the time that was taken in place of the time left, for a last drawing inside; let go of the terminal."""
        from rich.progress import TimeElapsedColumn

        self._progress.columns = (*self._progress.columns[:-2], TimeElapsedColumn())
        try:
            yield
        finally:
            self._progress.stop()
            self._progress = self._notebook = None


class ProgressBar(Bar, Callback):
    """A bar with the score, its best, and the time left at most; on a terminal, in a notebook, or a last line in a log.

    Needs rich: ``pip install "mpboost[cli]"``. ``verbose=1`` adds one to a fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, ProgressBar
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(n_estimators=20, callbacks=[ProgressBar()], random_state=0)
    >>> model.fit(X, y).stop_reason_  # doctest: +ELLIPSIS
    ━━━━━━━━━━━━━━━━━━━━ 20/20 out-of-patch 0.9..., best 0.9... 0:00:0...
    'n_estimators reached'
    """

    def on_fit_begin(self, run: "BoostingRun") -> None:
        """Show the bar."""
        self._open(run.n_estimators, run.iteration)
        if self._progress is not None:
            self._draw(run)

    def on_iteration_end(self, run: "BoostingRun") -> bool | None:
        """Move the bar now and then: an iteration is shorter than drawing it."""
        if self._is_due:
            self._draw(run)
        return None

    def on_fit_end(self, run: "BoostingRun") -> None:
        """Leave the bar as it is, with the time that the fit took in place of the time left."""
        if self._progress is not None:
            with self._closing():
                self._draw(run)

    def _draw(self, run: "BoostingRun") -> None:
        self._show(run.iteration, _format_scores(run))


def _format_scores(run: "BoostingRun") -> str:
    if run.iteration == 0:
        return ""
    name, scores = "out-of-patch" if run.validation is None else "validation", run.scores
    return f"{name} {scores[-1]:.4f}, best {scores[run.best_iteration - 1]:.4f}"
