"""What commands say: to people on a terminal, to machines as one JSON document on standard output."""

import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np
import rich
import typer
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

#: What goes wrong for reasons that a user can mend: files, data, parameters, packages that are not installed.
EXPECTED = (ValueError, TypeError, OSError, ImportError, NotImplementedError)

LABEL = "dim"
BAR = "cyan"


class Output:
    """What one command says.

    Inside ``with``, warnings become notes, and errors that users can mend become one line and exit code 1.

    Parameters
    ----------
    as_json : bool
        Whether to write facts as one JSON document, and nothing else, to standard output.
    quiet : bool
        Whether to say nothing unless something is wrong.
    to_stderr : bool
        Whether standard output is for something else.
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
        if isinstance(error, EXPECTED):
            self.complain(str(error))
            self._write_json({"error": str(error)})
            raise typer.Exit(1) from error
        if error is None:
            self._write_json(self._facts)

    def know(self, **facts: Any) -> None:
        """Add facts to the JSON document."""
        self._facts |= facts

    def title(self, *words: str) -> None:
        """Begin a section: its subject, and what is said of it."""
        first, *others = words
        self._console.print()
        self._console.print(Text.assemble((first, "bold"), *(f"  {each}" for each in others)))

    def rows(self, rows: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> None:
        """Show labels and what belongs to them."""
        grid = Table.grid(padding=(0, 3))
        grid.add_column(style=LABEL, no_wrap=True)
        grid.add_column(overflow="fold")
        for label, value in rows.items() if isinstance(rows, Mapping) else rows:
            grid.add_row(Text(label), value if isinstance(value, Text) else Text(str(value)))
        self._console.print(Padding(grid, (0, 0, 0, 2), expand=False))

    def table(self, columns: Mapping[str, Sequence[Any]], *, right: Sequence[str] = ()) -> None:
        """Show a table."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), header_style=LABEL)
        for name in columns:
            table.add_column(Text(name), justify="right" if name in right else "left", overflow="fold")
        for row in zip(*columns.values(), strict=True):
            table.add_row(*(value if isinstance(value, Text) else Text(str(value)) for value in row))
        self._console.print(Padding(table, (0, 0, 0, 2), expand=False))

    def say(self, *lines: str) -> None:
        """Say something in plain words."""
        self._console.print()
        for line in lines:
            self._console.print(Text(line), soft_wrap=True)

    def complain(self, message: str, label: str = "Error", style: str = "bold red") -> None:
        """Say on standard error what is wrong."""
        self._errors.print(Text.assemble((f"{label}: ", style), message))

    @contextmanager
    def progress(self) -> Iterator[bool]:
        """Let progress bars go to standard error; tell whether to show any."""
        console = rich.get_console()
        before = console.__dict__
        rich.reconfigure(stderr=True)
        try:
            yield not self._quiet
        finally:
            console.__dict__ = before

    def _show_warning(self, message: Warning | str, *_: Any) -> None:
        if not self._quiet:
            self.complain(str(message), "Note", "yellow")

    def _write_json(self, facts: dict[str, Any]) -> None:
        if self._as_json:
            sys.stdout.write(json.dumps(make_plain(facts), indent=2, ensure_ascii=False) + "\n")


def make_plain(value: Any) -> Any:
    """Turn facts into what JSON knows: there is no NaN in it."""
    if isinstance(value, Mapping):
        return {str(make_plain(key)): make_plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple | set):
        return [make_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def draw_bar(share: float, width: int = 20) -> Text:
    """Draw a share as a bar."""
    return Text("█" * round(share * width), style=BAR)
