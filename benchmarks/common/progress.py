"""A progress bar for runs that take long."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """A bar, the number of steps done, and what is done now."""

    def __init__(self, progress: Progress, n_steps: int):
        self._progress = progress
        self._task = progress.add_task("", total=n_steps)

    def describe(self, text: str) -> None:
        """Say what is done now."""
        self._progress.update(self._task, description=text)

    def advance(self) -> None:
        """Note that a step is done."""
        self._progress.advance(self._task)

    def move_to(self, n_steps: int) -> None:
        """Note that so many steps are done."""
        self._progress.update(self._task, completed=n_steps)

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def show_progress(n_steps: int, *, is_transient: bool = False, guesses_time: bool = True) -> Iterator[Bar]:
    """Show a bar until all is done; ``guesses_time`` shows the time left as the steps so far let expect."""
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    if guesses_time:
        columns += [TimeRemainingColumn(), TextColumn("left")]
    with Progress(*columns, transient=is_transient) as progress:
        yield Bar(progress, n_steps)
