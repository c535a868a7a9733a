"""Tell whether a revision made anything slower or worse: ``python -m benchmarks.compare BASE [--head REV]``.

Both revisions are built, then take turns at small workloads, one thread each, in one run: seconds of the processor, and
scores of models with the same seeds. A change counts if its interval of confidence, 95 % for all workloads together,
leaves out zero, and it is no trifle. The exit code is 1 if something became slower beyond the tolerance, or worse, or
fails, and 2 if a revision is unknown or does not build. Whether models are the same to the bit:
``python -m benchmarks.compare.fingerprints``.
"""

import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.common.command import add_only, make_parser
from benchmarks.common.folders import TRIALS
from benchmarks.common.measure import describe_machine
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.progress import show_progress
from benchmarks.common.results import write_rows
from benchmarks.compare.builds import BuildError, build_commit, build_work_tree, find_commit
from benchmarks.compare.processes import Comparison, Worker, compare
from benchmarks.compare.worker import WORKLOADS

#: The chance of a false alarm in a whole run.
ERROR = 0.05
#: No result to keep: it tells of two revisions, not of the library.
OUTPUT = TRIALS / "compare.csv"
COLUMNS = (
    *("workload", "turns", "base_seconds", "head_seconds", "ratio", "low", "high", "time"),
    *("base_score", "head_score", "score", "base", "head", "machine", "date"),
)


def find_complaints(comparisons: Sequence[Comparison], tolerance: float) -> list[str]:
    """Say what became slower by more than a share of the time, or worse, or fails."""
    complaints = []
    for comparison in comparisons:
        times, scores = comparison.judge(ERROR / len(comparisons))
        if comparison.is_broken:
            complaints.append(f"{comparison.workload}: {comparison.failure}")
        if times is not None and times.counts and times.change > tolerance:
            complaints.append(f"{comparison.workload}: {times.text}")
        if scores is not None and scores.counts and scores.change < 0:
            complaints.append(f"{comparison.workload}: {scores.text}")
    return complaints


def report(comparisons: Sequence[Comparison], names: Sequence[str], path: Path) -> None:
    """Print the verdicts and write them to a CSV."""
    facts = [*names, "; ".join(describe_machine()), date.today().isoformat()]
    rows = []
    for comparison in comparisons:
        times, scores = comparison.judge(ERROR / len(comparisons))
        seconds, points = comparison.medians("seconds"), comparison.medians("score")
        said = [times.text if times else comparison.failure, scores.text if scores else ""]
        ratios = [1 + times.change, 1 + times.low, 1 + times.high] if times else ["", "", ""]
        row = [comparison.workload, len(comparison.base), *seconds, *ratios, said[0], *points, said[1]]
        rows.append([*row, *facts])
        figures = "{:.3f} and {:.3f} s, ".format(*seconds) if times else ""
        figures += "{:.2f} and {:.2f} %, ".format(*points) if scores else ""
        print_line(f"{comparison.workload}: {figures}{'; score '.join(filter(None, said))}")
    write_rows(path, COLUMNS, rows)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__, has_quick=False)
    parser.add_argument("base", help="a commit, branch or tag")
    parser.add_argument("--head", help="what to compare with it; by default the work tree, as its files are")
    parser.add_argument("--turns", type=int, default=15, help="measurements of each, at least 3; by default 15")
    add_only(parser, WORKLOADS)
    parser.add_argument("--tolerance", type=float, default=5.0, help="percent that may be lost; by default 5")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="CSV file")
    options = parser.parse_args(arguments)
    if options.turns < 3:
        parser.error("--turns must be at least 3, or no interval tells anything")
    workloads = options.only or list(WORKLOADS)
    try:
        # Both are looked up first, for a build takes minutes, in which HEAD may move on.
        base_commit, head_commit = find_commit(options.base), options.head and find_commit(options.head)
        builds = build_commit(base_commit), build_commit(head_commit) if head_commit else build_work_tree()
        n_steps = len(workloads) * options.turns
        with Worker(builds[0]) as base, Worker(builds[1]) as head, show_progress(n_steps, is_transient=True) as bar:
            comparisons = []
            for index, name in enumerate(workloads, 1):
                bar.describe(name)
                comparisons.append(compare(base, head, name, options.turns, bar.advance))
                bar.move_to(index * options.turns)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    names = [build.name for build in builds]
    print_heading(f"Base {names[0]} and head {names[1]}, medians of {options.turns} turns")
    print_line(f"{describe_machine()[0]}; 95 % intervals for all workloads together (Bonferroni)")
    report(comparisons, names, options.output)
    complaints = find_complaints(comparisons, options.tolerance / 100)
    for complaint in complaints:
        print_line(f"REGRESSION: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
