"""Measure accuracy with rounds of one minipatch and with the default, over all sets: ``python -m benchmarks.rounds``.

Whole default fits of both families, one thread, the same splits and seeds on both sides. At most 60 000 rows of a set
are learned from, and at most so many tested (``--rows``). Results are added to a CSV, and a run that was interrupted
goes on where it stood; ``--fresh`` measures anew what it is told to run.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.growing_table import GrowingTable
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import Row, show_table
from benchmarks.common.side_by_side import run_side_by_side
from benchmarks.compare.verdict import find_interval
from benchmarks.data.collection import COLLECTION, find_all
from benchmarks.rounds.fits import PARAMETER, fit_both, has_rounds

FAMILIES = ("MPBoost", "MPGradientBoosting")
N_SEEDS, MAX_ROWS, QUICK_ROWS = 5, 60_000, 300
#: The chance of a false alarm, for the mean and for all sets of a family together.
ERROR = 0.05
KEY, FIGURES = ("set", "seed", "contestant", "rows"), ("one", "default", "seconds_one", "seconds_default")


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, COLLECTION)
    parser.add_argument("--contestants", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="by default both")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help=f"seeds 0, 1, ...; by default {N_SEEDS}")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help=f"to learn from, at most; by default {MAX_ROWS}")
    parser.add_argument("--workers", type=int, default=1, help="fits side by side, each on a core; by default 1")
    parser.add_argument("--fresh", action="store_true", help="forget what is known of what is to run")
    options, folder = parse(parser, arguments, "rounds")
    names, families = options.only or list(COLLECTION), options.contestants
    n_rows = QUICK_ROWS if options.quick else options.rows

    def measure(_: None) -> None:
        if not all(map(has_rounds, families)):
            print_line(f"this mpboost has no {PARAMETER}: both sides are the same")
        table = GrowingTable(folder / "fits.csv", KEY, FIGURES)
        if options.fresh:
            table.forget(lambda row: row["set"] in names and row["contestant"] in families)
        keys = [(name, seed, family) for name in names for seed in range(options.seeds) for family in families]
        tasks = [k for k in keys if not table.knows(set=k[0], seed=k[1], contestant=k[2], rows=n_rows)]
        if len(tasks) < len(keys):
            print_line(f"{len(keys) - len(tasks)} of {len(keys)} pairs of fits are known")
        for (name, seed, family), figures in run_side_by_side(partial(fit_both, n_rows=n_rows), tasks, options.workers):
            table.add([{"set": name, "seed": seed, "contestant": family, "rows": n_rows, **figures}])
            print_line(f"{name}, {family}, seed {seed}: {figures['default'] - figures['one']:+.2f}")
        show([row for row in table.rows if row["set"] in names and row["rows"] == str(n_rows)], families, folder)

    return run_on(lambda: find_all(names), measure)


def show(rows: Sequence[Row], families: Sequence[str], folder: Path) -> None:
    """Print a table by set for each family, and the mean difference over all sets with its interval."""
    summary = []
    for family in families:
        sets: dict[str, list[Row]] = {}
        for row in rows:
            if row["contestant"] == family:
                sets.setdefault(row["set"], []).append(row)
        print_heading(f"{family}: accuracy % or 100 R^2 with {PARAMETER} 1 and with the default")
        print_line("± is the standard error over seeds; 'beyond noise': a 95 % interval for all sets together")
        lines, differences = [], []
        for name, fits in sets.items():
            one, default = (np.array([float(fit[side]) for fit in fits]) for side in ("one", "default"))
            seconds = [sum(float(fit[f"seconds_{side}"]) for fit in fits) for side in ("one", "default")]
            differences.append(float(np.mean(default - one)))
            time = f"{seconds[1] / seconds[0]:.2f}" if seconds[0] else ""
            scores = [f"{np.mean(scores):.2f}" for scores in (one, default)]
            lines.append([name, str(len(fits)), *scores, *describe_difference(default - one, len(sets)), time])
        columns = ["set", "seeds", "one", "default", "difference", "beyond noise", "time"]
        show_table(folder / f"{family}.csv", columns, lines)
        summary.append([family, str(len(sets)), *summarise(differences)])
    print_heading("Mean difference over all sets, in points")
    show_table(folder / "summary.csv", ["contestant", "sets", "mean", "95 % interval", "worst", "best"], summary)


def describe_difference(differences: np.ndarray, n_sets: int) -> list[str]:
    """Write a mean difference with its standard error, and whether its interval leaves out zero."""
    if len(differences) < 2:
        return [f"{differences.mean():+.2f}", ""]
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    _, low, high = find_interval(differences.tolist(), ERROR / n_sets)
    return [f"{differences.mean():+.2f} ± {error:.2f}", "better" if low > 0 else "WORSE" if high < 0 else ""]


def summarise(differences: Sequence[float]) -> list[str]:
    """Write the mean over sets, its interval, and both ends."""
    ends = [f"{end(differences):+.2f}" for end in (min, max)]
    if len(differences) < 2:
        return [f"{differences[0]:+.3f}", "", *ends]
    mean, low, high = find_interval(differences, ERROR)
    return [f"{mean:+.3f}", f"{low:+.3f} to {high:+.3f}", *ends]


if __name__ == "__main__":
    sys.exit(main())
