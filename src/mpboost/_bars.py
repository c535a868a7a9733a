"""A progress bar, drawn with rich, for all that takes long."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


class Bar:
    """A progress bar with a text and the time left, for terminals and notebooks; logs get one final line.

    It is drawn by the working thread from time to time: a second thread would slow down the work.
    """

    #: Maximum share of the time that drawing may take.
    _SHARE = 0.002
    #: Minimum and maximum seconds between two drawings.
    _PAUSES = 0.1, 1.0

    def __init__(self) -> None:
        self._progress: Any = None
        self._notebook: Any = None
        self._next_draw = 0.0

    def _open(self, total: float, completed: float = 0, *, shows_count: bool = True) -> None:
        """Show the bar, unless another bar uses the terminal."""
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
            # The display of rich needs widgets, which some notebooks do not have and saved ones do not show.
            self._notebook = import_module("IPython.display").display("", display_id=True)
        else:
            try:
                self._progress.start()
            except LiveError:  # a fit inside another fit, before rich 14.1: the outer one uses the terminal
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
        """Replace the time left by the time taken, for a last drawing in this block; then release the terminal."""
        from rich.progress import TimeElapsedColumn

        self._progress.columns = (*self._progress.columns[:-2], TimeElapsedColumn())
        try:
            yield
        finally:
            self._progress.stop()
            self._progress = self._notebook = None
