"""Output of commands: text on the terminal, or one JSON document on standard output."""

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self

import rich
import typer
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from mpboost._wording import make_visible

#: Errors that users can fix: files, data, parameters, missing packages, memory.
EXPECTED = (ValueError, TypeError, OSError, ImportError, NotImplementedError, MemoryError)

LABEL = "dim"
BAR = "cyan"


class Output:
    """Output of one command.

    Inside ``with``, warnings are printed as notes; errors that users can fix are printed as one line and end the
    command with exit code 1.

    Parameters
    ----------
    as_json : bool
        Whether to write the facts as one JSON document to standard output, and nothing else.
    quiet : bool
        Whether to print errors only.
    to_stderr : bool
        Whether to print to standard error, since standard output is used for data.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False, to_stderr: bool = False):
        self._as_json, self._quiet = as_json, quiet
        self._console = Console(stderr=to_stderr, quiet=quiet or as_json, highlight=False, soft_wrap=False)
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True)
        self._facts: dict[str, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(warnings.catch_warnings())
        warnings.showwarning = self._show_warning  # type: ignore[assignment]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
        if isinstance(error, BrokenPipeError):  # the reader, for example head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python writes when it ends
            raise typer.Exit(1) from error
        if isinstance(error, EXPECTED):
            self.show_error(str(error))
            self._write_json({"error": str(error)})
            raise typer.Exit(1) from error
        if error is None:
            self._write_json(self._facts)

    def record(self, **facts: Any) -> None:
        """Add facts to the JSON document."""
        self._facts |= facts

    def title(self, *words: str) -> None:
        """Print the heading of a section: a title in bold, and more words."""
        first, *others = map(make_visible, words)
        self._print()
        self._print(Text.assemble((first, "bold"), *(f"  {each}" for each in others)))

    def rows(self, rows: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> None:
        """Print labels and their values, one pair per line."""
        grid = Table.grid(padding=(0, 3))
        grid.add_column(style=LABEL, no_wrap=True)
        grid.add_column(overflow="fold")
        for label, value in rows.items() if isinstance(rows, Mapping) else rows:
            grid.add_row(Text(label), _to_text(value))
        self._print(Padding(grid, (0, 0, 0, 2), expand=False))

    def table(self, columns: Mapping[str, Sequence[Any]], *, right: Sequence[str] = ()) -> None:
        """Print a table, given by its columns."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), header_style=LABEL)
        for name in columns:
            table.add_column(_to_text(name), justify="right" if name in right else "left", overflow="fold")
        for row in zip(*columns.values(), strict=True):
            table.add_row(*map(_to_text, row))
        self._print(Padding(table, (0, 0, 0, 2), expand=False))

    def say(self, *lines: str) -> None:
        """Print lines of text."""
        self._print()
        for line in lines:
            self._print(_to_text(line), soft_wrap=True)

    def show_error(self, message: str, label: str = "Error", style: str = "bold red") -> None:
        """Print a message to standard error."""
        self._errors.print(Text.assemble((f"{label}: ", style), make_visible(message)))

    @contextmanager
    def progress(self) -> Iterator[bool]:
        """Send progress bars to standard error; yield whether to show any."""
        console = rich.get_console()
        before = console.__dict__
        rich.reconfigure(stderr=True)
        try:
            yield not self._quiet
        finally:
            console.__dict__ = before

    @contextmanager
    def progress_bar(self, words: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a progress bar on the terminal; yield a function that moves it by some steps."""
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=self._quiet or not console.is_terminal) as bar:
            task = bar.add_task(words, total=total)
            yield lambda steps: bar.update(task, advance=steps)

    def _print(self, *content: Any, **options: Any) -> None:
        """Print to the console; outside of a terminal, without the spaces that fill up lines."""
        if self._console.is_terminal:
            self._console.print(*content, **options)
            return
        with self._console.capture() as captured:
            self._console.print(*content, **options)
        self._console.file.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))
        self._console.file.flush()

    def note(self, message: str) -> None:
        """Print a note to standard error."""
        if not self._quiet:
            self.show_error(message, "Note", "yellow")

    def _show_warning(self, message: Warning | str, *_: Any) -> None:
        self.note(str(message))

    def _write_json(self, facts: dict[str, Any]) -> None:
        if self._as_json:
            document = json.dumps(make_plain(facts), indent=2, ensure_ascii=False)
            sys.stdout.write(make_visible(document, "\\u{:04x}".format) + "\n")


def make_plain(value: Any) -> Any:
    """Convert a value to types that JSON has; NaN becomes None."""
    if isinstance(value, Mapping):
        return {str(make_plain(key)): make_plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if isinstance(value, list | tuple | set):
        return [make_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _to_text(value: Any) -> Text:
    """Convert a value to text for the terminal; text that would control the terminal loses its style."""
    plain = value.plain if isinstance(value, Text) else str(value)
    visible = make_visible(plain)
    return value if isinstance(value, Text) and visible == plain else Text(visible)


def draw_bar(share: float, width: int = 20) -> Text:
    """Draw a bar whose length is a share of the width."""
    return Text("█" * round(share * width), style=BAR)
