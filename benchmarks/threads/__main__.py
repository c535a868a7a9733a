"""Measure whole default fits with one thread and with two, in turns: ``python -m benchmarks.threads``.

The serial share of a fit, the part of its time with one thread that a second one cannot enter, is computed in two ways:
by Amdahl's law from the gain, and from how busy the processors were with two threads (their seconds over those on the
wall). The second one is too low for whoever lets threads wait busily, as LightGBM does. Estimates for 8 and 16 threads
are Amdahl's, by the first way: they leave out what many threads have to share.
"""

import math
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.measure import median_ratio, take_turns
from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable
from benchmarks.contestants import Plan, find_installed
from benchmarks.contestants.measuring import Outcome
from benchmarks.contestants.measuring import measure as measure_fit
from benchmarks.data.files import find_file
from benchmarks.data.made_up import make_noisy_classes
from benchmarks.data.sets import SETS, load_set, split
from benchmarks.data.split_set import SplitSet

CONTESTANTS = ("MPBoost", "MPGradientBoosting", "LightGBM")
#: Rows and columns of tables that are made up.
MADE_UP = {"100k x 100": (100_000, 100), "1M x 20": (1_000_000, 20)}
#: The least gain that is asked of ours.
GOALS = {"100k x 100": 1.7, "1M x 20": 1.7, "adult": 1.5, "magic": 1.5, "MNIST odd/even": 1.5, "letter": 1.5}
N_TURNS, N_TEST = 3, 20_000
#: Rows of a first fit that is not measured, for whatever is loaded only then.
N_WARM_UP = 500


def find_serial_share(speed: float) -> float:
    """Compute the share of a fit that a second thread cannot enter: 1 / speed = share + (1 - share) / 2."""
    return min(max(2.0 / speed - 1.0, 0.0), 1.0)


def estimate_gain(serial_share: float, n_threads: int) -> float:
    """Estimate by Amdahl's law how many times as fast a fit is with so many threads."""
    return 1.0 / (serial_share + (1.0 - serial_share) / n_threads)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, GOALS)
    installed = find_installed(CONTESTANTS)
    parser.add_argument("--contestants", nargs="+", choices=installed, help="by default all")
    parser.add_argument("--turns", type=int, default=N_TURNS, help=f"fits of each; by default {N_TURNS}")
    options, folder = parse(parser, arguments, "threads")
    names = options.only or list(GOALS)
    n_turns, n_rows = (1, 1000) if options.quick else (options.turns, None)

    def measure(_: object) -> None:
        show_threads(names, options.contestants or installed, n_turns, n_rows, folder / "threads.csv")

    return run_on(lambda: [find_file(SETS[name].file) for name in names if name in SETS], measure)


def load(name: str, n_rows: int | None) -> SplitSet:
    """Load or make up a set; keep at most so many rows."""
    if name in SETS:
        return split(name, load_set(name), 0, n_rows)
    n_train, n_columns = MADE_UP[name]
    return make_noisy_classes(name, min(n_train, n_rows or n_train), n_columns, N_TEST)


def show_threads(names: list[str], contestants: list[str], n_turns: int, n_rows: int | None, path: Path) -> None:
    """Print a row for each set and contestant."""
    print_heading(f"Whole default fits with one and two threads, in turns: medians of {n_turns}, seconds")
    columns = ["set", "contestant", "test score", "one thread", "two threads", "gain", "asked", "goal"]
    columns += ["busy processors", "more work", "serial share", "serial share, by busy", "8 threads", "16 threads"]
    table = ResultTable(path, columns)
    for name in names:
        split_set = load(name, n_rows)
        few = load(name, N_WARM_UP)
        fits: dict[str, Callable[[], Outcome]] = {}
        for contestant in contestants:
            measure_fit(contestant, few, Plan(n_threads=2))
            for n_threads in (1, 2):
                fits[f"{contestant} {n_threads}"] = partial(
                    measure_fit, contestant, split_set, Plan(n_threads=n_threads)
                )
        outcomes = take_turns(fits, n_turns)
        for contestant in contestants:
            pair = outcomes[f"{contestant} 1"], outcomes[f"{contestant} 2"]
            asked = math.nan if contestant == "LightGBM" else GOALS[name]
            table.add([name, contestant, *describe(*pair, asked)])


def describe(one: list[Outcome], two: list[Outcome], asked: float) -> list[str]:
    """Write what fits with one thread and with two come to."""
    gain = median_ratio([fit.seconds for fit in one], [fit.seconds for fit in two])
    busy = statistics.median(fit.cpu_seconds / fit.seconds for fit in two)
    work = median_ratio([fit.cpu_seconds for fit in two], [fit.cpu_seconds for fit in one])
    share = find_serial_share(gain)
    return [
        f"{one[0].test_score:.2f}",
        *(f"{statistics.median(fit.seconds for fit in fits):.3f}" for fits in (one, two)),
        f"{gain:.2f}x",
        *(["", ""] if math.isnan(asked) else [f"{asked:g}x", "met" if gain >= asked else "MISSED"]),
        f"{busy:.2f}",
        f"{100 * (work - 1):+.0f} %",
        f"{100 * share:.0f} %",
        f"{100 * find_serial_share(busy):.0f} %",
        *(f"{estimate_gain(share, n):.1f}x" for n in (8, 16)),
    ]


if __name__ == "__main__":
    sys.exit(main())
