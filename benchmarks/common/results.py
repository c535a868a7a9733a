"""Tables of results: shown as they are measured, and kept as CSV.

A file has the cells of the table that is shown, and in each row what it was measured with, on what, and when.
"""

import csv
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from benchmarks.common.measure import describe_machine
from benchmarks.common.output import print_line, print_table
from mpboost import __version__

Row = dict[str, str]
#: Columns of the file that are not shown.
FACTS = ("mpboost", "machine", "date")


def read_rows(path: Path) -> list[Row]:
    """Read a file of results."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


class ResultTable:
    """A table whose rows are printed in Markdown and added to a CSV file as they come."""

    def __init__(self, path: Path, columns: Sequence[str]):
        self._path = path
        self._facts = collect_facts()
        write_rows(path, [*columns, *FACTS], [])
        _print_row(columns)
        _print_row(["---", *["---:"] * (len(columns) - 1)])

    def add(self, cells: Sequence[str]) -> None:
        """Add a row."""
        _print_row(cells)
        with self._path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([*cells, *self._facts])


def show_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose rows are all there, and write it to a CSV file."""
    rows, facts = list(rows), collect_facts()
    print_table(columns, rows)
    write_rows(path, [*columns, *FACTS], ([*row, *facts] for row in rows))


def collect_facts() -> list[str]:
    """Give what belongs into the columns ``FACTS``."""
    return [__version__, "; ".join(describe_machine()), date.today().isoformat()]


def _print_row(cells: Sequence[str]) -> None:
    print_line(f"| {' | '.join(cells)} |")
