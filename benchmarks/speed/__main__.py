"""Measure speed and memory, beside scikit-learn, in one run: ``python -m benchmarks.speed [--quick]``."""

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.data.sets import load_case_study
from benchmarks.data.split_set import SplitSet
from benchmarks.speed.sections import (
    QUICK,
    Effort,
    compare_kernels,
    compare_trees,
    compare_with_literal_loop,
    measure_memory,
    measure_scaling,
    show_steps,
)

#: By the names that --only takes, in the order in which they run.
SECTIONS: dict[str, Callable[[SplitSet, Effort, Path], None]] = {
    "literal": compare_with_literal_loop,
    "steps": show_steps,
    "trees": lambda _, effort, folder: compare_trees(effort, folder),
    "rows": lambda _, effort, folder: measure_scaling(effort, folder),
    "memory": lambda _, effort, folder: measure_memory(effort, folder),
    "kernels": compare_kernels,
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, SECTIONS)
    options, folder = parse(parser, arguments, "speed")
    effort = QUICK if options.quick else Effort()

    def measure(split_set: SplitSet) -> None:
        for name in options.only or SECTIONS:
            SECTIONS[name](split_set, effort, folder)

    return run_on(load_case_study, measure)


if __name__ == "__main__":
    sys.exit(main())
