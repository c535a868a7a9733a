"""Plain tables and headings that read well on a terminal and in a log."""

import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

#: A log has no width of its own.
_console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 110)


def print_heading(text: str) -> None:
    """Start a section."""
    _console.print(f"\n[bold]{text}[/bold]")


def print_line(text: str) -> None:
    """Say something."""
    _console.print(text, markup=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Show a table: the first column to the left, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    _console.print(table)


def verdict(measured: float, target: float) -> str:
    """Say whether a ratio is at least what was asked of it."""
    return f"target {target:g}x {'met' if measured >= target else 'MISSED'}"


def format_markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown: the first column to the left, numbers to the right."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
