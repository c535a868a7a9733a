"""What the benchmarks have in common as commands."""

import argparse
import sys
from collections.abc import Callable
from typing import TypeVar

from benchmarks.data import DataNotFoundError, Problem, mnist_3_vs_8
from benchmarks.measure import describe_machine
from benchmarks.output import print_heading, print_line

Data = TypeVar("Data")


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Make a parser with the option that all have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a few seconds: shows that it runs, measures little")
    return parser


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


def run_on_mnist(measure: Callable[[Problem], None]) -> int:
    """Do that with the paper's case study."""
    return run_on(mnist_3_vs_8, measure)
