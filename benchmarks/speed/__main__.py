"""Measure speed and memory, beside scikit-learn, in one run: ``python -m benchmarks.speed [--quick]``."""

import sys

from benchmarks.common.command import make_parser, parse, run_on
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


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    options, folder = parse(parser, arguments, "speed")
    effort = QUICK if options.quick else Effort()

    def measure(split_set: SplitSet) -> None:
        compare_with_literal_loop(split_set, effort, folder)
        show_steps(split_set, effort, folder)
        compare_trees(effort, folder)
        measure_scaling(effort, folder)
        measure_memory(effort, folder)
        compare_kernels(split_set, effort, folder)

    return run_on(load_case_study, measure)


if __name__ == "__main__":
    sys.exit(main())
