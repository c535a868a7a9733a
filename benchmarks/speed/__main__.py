"""Measure speed and memory, beside scikit-learn, in one run: ``python -m benchmarks.speed [--quick]``."""

import sys

from benchmarks.common.command import make_parser, parse, run_on
from benchmarks.data.problem import Problem
from benchmarks.data.sets import load_case_study
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

    def measure(problem: Problem) -> None:
        compare_with_literal_loop(problem, effort, folder)
        show_steps(problem, effort, folder)
        compare_trees(effort, folder)
        measure_scaling(effort, folder)
        measure_memory(effort, folder)
        compare_kernels(problem, effort, folder)

    return run_on(load_case_study, measure)


if __name__ == "__main__":
    sys.exit(main())
