"""Time and peak memory of a fit as rows and columns grow, ours and others': ``python -m benchmarks.scaling``.

Each fit has one thread and a process of its own. Results are added to a CSV, and a run that was interrupted goes on
where it stood. A fit that would take too long, as the two sizes before it say, is skipped; one that does is ended.
"""

import argparse
import csv
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import date
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.command import make_parser, run_on
from benchmarks.data import PROJECT
from benchmarks.measure import describe_machine
from benchmarks.output import print_heading, print_line, print_table
from benchmarks.pictures import save_picture
from benchmarks.scaling_fit import METHODS, find_version
from benchmarks.scaling_picture import draw_scaling, find_slope, format_size

SIZES = {"rows": (10_000, 100_000, 1_000_000, 10_000_000), "columns": (10, 100, 1000, 10_000)}
QUICK_SIZES = {"rows": (1000, 4000), "columns": (5, 20)}
#: What does not grow: the columns while rows do, and the rows while columns do.
FIXED, QUICK_FIXED = {"rows": 20, "columns": 10_000}, {"rows": 10, "columns": 1000}
#: Two of them, for most of the time of a small fit goes into loading a library.
QUICK_METHODS = ("MPBoost", "HistGradientBoosting")
#: Rough guesses, for the time that is left: what loads libraries, and a fit as long as nothing is known.
SECONDS_TO_START, SECONDS_PER_CELL = 3.0, 1e-6
THREADS = 1
#: What is drawn: its label, the figure of an outcome, and the unit.
PANELS = (("seconds of a fit, one thread", "seconds", 1.0), ("peak memory beyond the data, MB", "peak_bytes", 1e6))


@dataclass(frozen=True)
class Fit:
    """A fit to be measured."""

    method: str
    version: str
    axis: str
    n_rows: int
    n_columns: int

    @property
    def size(self) -> int:
        """What grows."""
        return self.n_rows if self.axis == "rows" else self.n_columns

    @property
    def series(self) -> tuple[object, ...]:
        """What fits of other sizes have in common with this one."""
        return self.method, self.version, self.axis, self.n_columns if self.axis == "rows" else self.n_rows


@dataclass(frozen=True)
class Outcome:
    """What a fit came to: figures, or the reason why there are none, and the cap that this was with."""

    seconds: float = math.nan
    wall_seconds: float = math.nan
    peak_bytes: float = math.nan
    accuracy: float = math.nan
    reason: str = ""
    cap: float = math.nan


#: The sizes of a method, in order, and what they came to.
Curve = list[tuple[int, Outcome]]


class Results:
    """Outcomes by fit, kept in a CSV; of two rows for the same fit the later one holds."""

    COLUMNS = (*(field.name for cls in (Fit, Outcome) for field in fields(cls)), "threads", "machine", "date")

    def __init__(self, path: Path):
        self.outcomes: dict[Fit, Outcome] = {}
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            self._write(self.COLUMNS)
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                fit = Fit(row["method"], row["version"], row["axis"], int(row["n_rows"]), int(row["n_columns"]))
                figures = {field.name: float(row[field.name]) for field in fields(Outcome) if field.name != "reason"}
                self.outcomes[fit] = Outcome(reason=row["reason"], **figures)

    def add(self, fit: Fit, outcome: Outcome) -> None:
        """Keep an outcome."""
        self.outcomes[fit] = outcome
        facts = THREADS, "; ".join(describe_machine()), date.today().isoformat()
        self._write([*astuple(fit), *astuple(outcome), *facts])

    def knows(self, fit: Fit, cap: float) -> bool:
        """Tell whether a fit was measured, or else given up with no lower cap than this."""
        outcome = self.outcomes.get(fit)
        return outcome is not None and (not outcome.reason or outcome.cap >= cap)

    def history(self, fit: Fit) -> Curve:
        """Find the smaller sizes of the same method, in order."""
        smaller = [other for other in self.outcomes if other.series == fit.series and other.size < fit.size]
        return [(other.size, self.outcomes[other]) for other in sorted(smaller, key=lambda other: other.size)]

    def _write(self, cells: Iterable[object]) -> None:
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(cells)


def plan_fits(methods: Iterable[str], quick: bool) -> list[Fit]:
    """List all fits, small ones first, so that what there is can be looked at early."""
    sizes, fixed = (QUICK_SIZES, QUICK_FIXED) if quick else (SIZES, FIXED)
    return [
        Fit(method, find_version(method), axis, *((size, fixed[axis]) if axis == "rows" else (fixed[axis], size)))
        for axis in sizes
        for size in sizes[axis]
        for method in methods
    ]


def forecast(history: Curve, size: int) -> float:
    """Extrapolate the seconds of a fit by the power that the last two sizes tell; by the first power from only one."""
    (size_2, last), *before = reversed(history)
    if not before:
        return last.seconds * size / size_2
    size_1, first = before[0]
    power = math.log(last.seconds / first.seconds) / math.log(size_2 / size_1)
    return last.seconds * (size / size_2) ** max(power, 0.0)  # or a slow minute would promise fits that take no time


def find_reason_to_skip(history: Curve, size: int, cap: float) -> str:
    """Say why a fit should not be tried; empty if it should."""
    if history and history[-1][1].reason:
        return f"skipped: {format_size(history[-1][0])} was {history[-1][1].reason.partition(':')[0]}"
    expected = forecast(history, size) if len(history) > 1 else 0.0
    return f"skipped: about {expected:.0f} s expected, the cap is {cap:g} s" if expected > cap else ""


def run_fit(fit: Fit, cap: float) -> Outcome:
    """Fit in a new process; what ends it is told as a reason."""
    arguments = map(str, (fit.method, fit.n_rows, fit.n_columns, 2 * cap))
    command = [sys.executable, "-m", "benchmarks.scaling_fit", *arguments]
    one = {f"{library}_NUM_THREADS": str(THREADS) for library in ("OMP", "OPENBLAS", "MKL")}
    finished = subprocess.run(command, cwd=PROJECT, env=os.environ | one, capture_output=True, text=True, check=False)
    if finished.returncode == 0:
        return Outcome(**json.loads(finished.stdout.splitlines()[-1]), cap=cap)
    if finished.returncode == -signal.SIGPROF:
        return Outcome(reason=f"ended: took longer than {2 * cap:g} s, twice the cap", cap=cap)
    if finished.returncode == -signal.SIGKILL:
        return Outcome(reason="killed: probably there was not enough memory", cap=cap)
    last_line = (finished.stderr.splitlines() or [f"exit code {finished.returncode}"])[-1]
    return Outcome(reason=f"failed: {last_line}", cap=cap)


def run_fits(fits: Sequence[Fit], results: Results, cap: float) -> None:
    """Run what is not known yet, and say what each came to."""
    pending = [fit for fit in fits if not results.knows(fit, cap)]
    if len(pending) < len(fits):
        print_line(f"{len(fits) - len(pending)} of {len(fits)} fits are known")
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, transient=True) as progress:
        task = progress.add_task("", total=len(pending))
        for index, fit in enumerate(pending):
            left = sum(_expect(other, results, cap) for other in pending[index:])
            progress.update(task, description=f"{_name(fit)}; about {_format_time(left)} left")
            reason = find_reason_to_skip(results.history(fit), fit.size, cap)
            outcome = Outcome(reason=reason, cap=cap) if reason else run_fit(fit, cap)
            results.add(fit, outcome)
            progress.console.print(f"{_name(fit)}: {_describe(outcome)}", markup=False, highlight=False, soft_wrap=True)
            progress.advance(task)


def describe_share(outcomes: Iterable[Outcome]) -> str:
    """Say how much of a core the fits had: a busy machine does not change seconds of the processor by much."""
    measured = [outcome for outcome in outcomes if not outcome.reason]
    share = sum(outcome.seconds for outcome in measured) / sum(outcome.wall_seconds for outcome in measured)
    return f"seconds are the processor's; the fits had {100 * share:.0f} % of a core"


def show(fits: Sequence[Fit], results: Results, images: Path) -> None:
    """Print tables with slopes, and draw a picture, for each axis."""
    print_line(describe_share(results.outcomes[fit] for fit in fits))
    for axis, other in (("rows", "columns"), ("columns", "rows")):
        fits_of_axis = [fit for fit in fits if fit.axis == axis]
        fixed = f"{getattr(fits_of_axis[0], f'n_{other}'):,} {other}"
        curves: dict[str, Curve] = {}
        for fit in fits_of_axis:
            curves.setdefault(fit.method, []).append((fit.size, results.outcomes[fit]))
        print_heading(f"As {axis} grow, {fixed}")
        show_tables(curves, axis)
        panels = {
            label: {method: _pick(curve, figure, unit) for method, curve in curves.items()}
            for label, figure, unit in PANELS
        }
        picture = draw_scaling(panels, f"number of {axis} ({fixed})", _name_missing(curves))
        for path in save_picture(picture, images / f"scaling_{axis}"):
            print_line(f"drawn: {path}")


def show_tables(curves: Mapping[str, Curve], axis: str) -> None:
    """Print what all sizes came to, and why some came to nothing."""
    sizes = [format_size(size) for size, _ in next(iter(curves.values()))]
    for label, figure, unit in (*PANELS, ("accuracy, %", "accuracy", 0.01)):
        rows = []
        for method, curve in curves.items():
            cells = [f"{getattr(outcome, figure) / unit:.4g}" if not outcome.reason else "-" for _, outcome in curve]
            slope = "" if figure == "accuracy" else f"{find_slope(_pick(curve, figure)):.2f}"
            rows.append([method, *cells, slope])
        print_table([label, *sizes, "slope"], rows)
    for method, curve in curves.items():
        for size, outcome in curve:
            if outcome.reason:
                print_line(f"{method}, {format_size(size)} {axis}: {outcome.reason}")


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", choices=METHODS, metavar="METHOD", help=f"some of: {', '.join(METHODS)}")
    parser.add_argument("--cap", type=float, default=120.0, help="seconds that a fit may be expected to take")
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    parser.add_argument("--results", type=Path, help="CSV file, by default benchmarks/results/scaling.csv")
    parser.add_argument("--images", type=Path, help="folder for pictures, by default docs/images/paper")
    options = parser.parse_args(arguments)
    quick_folder = PROJECT / "build" / "benchmarks"
    path = options.results or (quick_folder if options.quick else PROJECT / "benchmarks" / "results") / "scaling.csv"
    images = options.images or (quick_folder if options.quick else PROJECT / "docs" / "images" / "paper")
    methods = options.only or (QUICK_METHODS if options.quick else METHODS)
    if options.fresh:
        path.unlink(missing_ok=True)

    def measure(results: Results) -> None:
        run_fits(plan_fits(methods, options.quick), results, options.cap)
        plans = [plan_fits([method], options.quick) for method in METHODS]
        show([fit for plan in plans if results.outcomes.keys() >= set(plan) for fit in plan], results, images)

    return run_on(lambda: Results(path), measure)


def _name(fit: Fit) -> str:
    return f"{fit.method}, {format_size(fit.n_rows)} x {format_size(fit.n_columns)}"


def _expect(fit: Fit, results: Results, cap: float) -> float:
    """Guess the seconds of a fit and of what is around it."""
    history = results.history(fit)
    if find_reason_to_skip(history, fit.size, cap):
        return 0.0
    seconds = forecast(history, fit.size) if history else SECONDS_PER_CELL * fit.n_rows * fit.n_columns
    return SECONDS_TO_START + min(seconds, cap)


def _format_time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


def _describe(outcome: Outcome) -> str:
    if outcome.reason:
        return outcome.reason
    return f"{outcome.seconds:.2f} s, {outcome.peak_bytes / 1e6:.1f} MB, {100 * outcome.accuracy:.2f} %"


def _name_missing(curves: Mapping[str, Curve]) -> list[str]:
    missing = {name: [format_size(size) for size, out in curve if out.reason] for name, curve in curves.items()}
    return [f"{name} ({', '.join(sizes)})" for name, sizes in missing.items() if sizes]


def _pick(curve: Curve, figure: str, unit: float = 1.0) -> list[tuple[int, float]]:
    """Pick a figure of the sizes that have it; what is not positive has no place on a logarithmic axis."""
    picked = [(size, getattr(outcome, figure) / unit) for size, outcome in curve]
    return [(size, value) for size, value in picked if value > 0]


if __name__ == "__main__":
    sys.exit(main())
