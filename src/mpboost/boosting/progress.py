"""Progress bars, drawn by rich."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun


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

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Show the bar."""
        self._open(run.n_estimators, run.iteration)
        if self._progress is not None:
            self._draw(run)

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Move the bar now and then: an iteration is shorter than drawing it."""
        if self._is_due:
            self._draw(run)
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Leave the bar as it is, with the time that the fit took in place of the time left."""
        if self._progress is not None:
            with self._closing():
                self._draw(run)

    def _draw(self, run: BoostingRun) -> None:
        self._show(run.iteration, _format_scores(run))


def _format_scores(run: BoostingRun) -> str:
    if run.iteration == 0:
        return ""
    name, scores = "out-of-patch" if run.parts.validation is None else "validation", run.scores
    return f"{name} {scores[-1]:.4f}, best {scores[run.best_iteration - 1]:.4f}"
