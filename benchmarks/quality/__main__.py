"""Measure accuracy on the paper's case study, and its ablation: ``python -m benchmarks.quality [--quick]``.

Other measurements of quality are commands of their own: ``python -m benchmarks.quality.tasks``, and likewise
label_issues, tuning, calibration, categories, noise_columns and active_learning.
"""

import sys

from benchmarks.common.command import make_parser, parse, run_on
from benchmarks.common.folders import TRIALS
from benchmarks.data.sets import load_case_study
from benchmarks.data.split_set import SplitSet
from benchmarks.quality.case_study import QUICK, Effort, show_ablation, show_accuracy, show_contestants


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    options, folder = parse(parser, arguments, "quality")
    effort = QUICK if options.quick else Effort()

    def measure(split_set: SplitSet) -> None:
        show_accuracy(split_set, effort, folder)
        show_contestants(split_set, effort, folder)
        # Figure 2a of the paper's figures is the picture that is shown; this one is for a look.
        show_ablation(split_set, effort, folder, options.output or TRIALS)

    return run_on(load_case_study, measure)


if __name__ == "__main__":
    sys.exit(main())
