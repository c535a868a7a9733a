"""What the benchmarks have in common as commands."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from benchmarks.common.folders import RESULTS, TRIALS
from benchmarks.common.measure import describe_machine
from benchmarks.common.output import print_heading, print_line
from benchmarks.data.files import DataNotFoundError

Data = TypeVar("Data")
#: Options that leave a run whole: where its files go, how many fits run at a time, what has a file of its own, and what
#: the results say.
_HARMLESS = (
    "output",
    "memory",
    "jobs",
    "threads",
    "kind",
    "workers",
    "fresh",
    "against",
    "minutes",
    "limit",
    "mix",
    "parts",
)


def make_parser(description: str | None, *, has_quick: bool = True) -> argparse.ArgumentParser:
    """Make a parser with the option that nearly all have; the lines of the description stay as they are."""
    module = getattr(sys.modules["__main__"], "__spec__", None)
    parser = argparse.ArgumentParser(
        prog=f"python -m {module.name.removesuffix('.__main__')}" if module else None,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if has_quick:
        help_text = "seconds, or some minutes: shows that it runs, measures little"
        parser.add_argument("--quick", action="store_true", help=help_text)
    return parser


def add_only(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Add the option that runs a part: some of these names; without it, all."""
    parser.add_argument("--only", nargs="+", choices=list(names), metavar="NAME", help=f"some of: {'; '.join(names)}")


def parse(
    parser: argparse.ArgumentParser, arguments: list[str] | None, benchmark: str
) -> tuple[argparse.Namespace, Path]:
    """Parse the arguments, with an option for the folder of results; give that folder, too.

    By default it depends on whether the run is whole: one that was told to be quick, or to leave something out, must
    not replace results that are published.
    """
    help_text = "folder for the results; by default benchmarks/results, or build/benchmarks for a quick or partial run"
    parser.add_argument("--output", type=Path, help=help_text)
    options = parser.parse_args(arguments)
    chosen = {name: value for name, value in vars(options).items() if name not in _HARMLESS}
    is_whole = all(value == parser.get_default(name) for name, value in chosen.items())
    return options, options.output or (RESULTS if is_whole else TRIALS) / benchmark


def run_on(load: Callable[[], Data], measure: Callable[[Data], None]) -> int:
    """Load data, say what the machine is, then measure; return the exit code."""
    try:
        data = load()
    except DataNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    print_machine()
    measure(data)
    return 0


def print_machine() -> None:
    """Say what the numbers are measured on."""
    print_heading("Machine")
    for line in describe_machine():
        print_line(line)
