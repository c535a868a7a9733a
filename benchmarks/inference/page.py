"""Writes docs/inference.md and docs/limits.md from the committed results: ``python -m benchmarks.inference page``."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common.folders import PROJECT, RESULTS
from benchmarks.common.output import format_markdown
from benchmarks.common.pages import write_page
from benchmarks.common.results import Row, read_rows
from benchmarks.inference import limits
from benchmarks.inference.methods import METHODS

PAGE = PROJECT / "docs" / "inference.md"
COMMAND = "benchmarks.inference page"


def show(folder: Path, *, quick: bool) -> None:
    """Write the tables of both pages; those of a quick run are not for them."""
    if not quick:
        write_page(PAGE, COMMAND, make_tables(RESULTS / "inference"))
        limits.write()


def make_tables(folder: Path) -> dict[str, Callable[[], str]]:
    """List what makes the tables of docs/inference.md, by name."""
    return {
        name: partial(tabulate, folder)
        for name, tabulate in {"size": tabulate_size, "power": tabulate_power, "speed": tabulate_speed}.items()
    }


def tabulate_size(folder: Path) -> str:
    """Show shares of noise features called useful: a row for each kind of world, a column for each method."""
    rows = read_rows(folder / "tests.csv")
    kinds = _list_kinds(rows, ("world", "target", "effect"))
    lines = [[*kind, *(_find(rows, kind, method, "noise called useful (%)") for method in METHODS)] for kind in kinds]
    return format_markdown(["world", "target", "effect", *METHODS], [*lines, _average(rows, "noise called useful (%)")])


def tabulate_power(folder: Path) -> str:
    """Show shares of signals found: a row for each kind of world, a column for each method; proxies of ours."""
    rows = [row for row in read_rows(folder / "tests.csv") if row["signals found (%)"]]
    kinds = _list_kinds(rows, ("world", "target", "effect"))
    ours = next(iter(METHODS))
    lines = [
        [
            *kind,
            *(_find(rows, kind, method, "signals found (%)") for method in METHODS),
            _find(rows, kind, ours, "proxies called useful (%)"),
        ]
        for kind in kinds
    ]
    columns = ["world", "target", "effect", *METHODS, f"proxies, {ours}"]
    return format_markdown(columns, [*lines, [*_average(rows, "signals found (%)"), ""]])


def tabulate_speed(folder: Path) -> str:
    """Show seconds: a row for each table, a column for each method."""
    rows = read_rows(folder / "speed.csv")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    kinds = _list_kinds(rows, ("rows", "features", "target"))
    lines = [[*kind, *(_find(rows, kind, method, "seconds") for method in methods)] for kind in kinds]
    return format_markdown(["rows", "features", "target", *methods], lines)


def _list_kinds(rows: Iterable[Row], names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))


def _find(rows: Iterable[Row], kind: tuple[str, ...], method: str, column: str) -> str:
    """Look up a cell; empty if it was not measured."""
    cells = [row[column] for row in rows if tuple(row.values())[: len(kind)] == kind and row["method"] == method]
    return cells[0] if cells else ""


def _average(rows: list[Row], column: str) -> list[str]:
    """Average over all kinds of worlds."""
    means = [np.mean([float(row[column]) for row in rows if row["method"] == method]) for method in METHODS]
    return ["mean", "", "", *(f"{mean:.1f}" for mean in means)]
