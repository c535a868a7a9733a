"""Measure how long imports take, each in a new process: ``python -m benchmarks.speed.imports``.

Seconds of the processor, which a busy machine changes little, and seconds that pass; medians over turns.
"""

import resource
import statistics
import subprocess
import sys
import time
from functools import partial

from benchmarks.common.command import make_parser, parse, print_machine
from benchmarks.common.measure import median_ratio, take_turns
from benchmarks.common.output import print_heading
from benchmarks.common.results import show_table

PEER = "from sklearn.ensemble import HistGradientBoostingClassifier"
IMPORTS = (
    "pass",
    "import mpboost",
    PEER,
    "from mpboost import MPBoostClassifier",
    "from mpboost import MPGradientBoostingClassifier",
)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--turns", type=int, default=20, help="turns of each (default: %(default)s)")
    options, folder = parse(parser, arguments, "speed")
    print_machine()
    print_heading("Python and an import, seconds")
    turns = take_turns({line: partial(time_import, line) for line in IMPORTS}, 1 if options.quick else options.turns)
    worked, passed = ({line: [one[k] for one in spent] for line, spent in turns.items()} for k in (0, 1))
    rows = []
    for line in IMPORTS:
        medians = [f"{statistics.median(spent[line]):.3f}" for spent in (worked, passed)]
        rows.append([line, *medians, f"{median_ratio(worked[line], worked[PEER]):.2f}"])
    show_table(folder / "imports.csv", ["import", "processor s", "s", "processor, ratio to scikit-learn"], rows)
    return 0


def time_import(line: str) -> tuple[float, float]:
    """Run a line in a new process; return the seconds that the processor worked, and those that passed."""
    start, worked = time.perf_counter(), count_seconds_of_children()
    subprocess.run([sys.executable, "-c", line], check=True)
    return count_seconds_of_children() - worked, time.perf_counter() - start


def count_seconds_of_children() -> float:
    """Add up what the processor worked for processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
