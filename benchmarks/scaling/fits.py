"""Which fits are run, each in a process of its own, and what they come to, kept in a CSV.

A run that was interrupted goes on where it stood. A fit that would take too long, as the two sizes before it say, is
skipped; one that does is ended.
"""

import csv
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import date
from pathlib import Path

from benchmarks.common.folders import PROJECT, RESULTS
from benchmarks.common.measure import describe_machine
from benchmarks.common.output import print_line
from benchmarks.common.progress import show_progress
from benchmarks.common.results import read_rows
from benchmarks.contestants import CONTESTANTS
from benchmarks.scaling.picture import format_size

#: Who is measured, as far as they are installed.
NAMES = ("MPBoost", "MPGradientBoosting", "LightGBM", "XGBoost", "CatBoost", "HistGradientBoosting", "RandomForest")

SIZES = {"rows": (10_000, 100_000, 1_000_000, 10_000_000), "columns": (10, 100, 1000, 10_000)}
QUICK_SIZES = {"rows": (1000, 4000), "columns": (5, 20)}
#: What does not grow: the columns while rows do, and the rows while columns do.
FIXED, QUICK_FIXED = {"rows": 20, "columns": 10_000}, {"rows": 10, "columns": 1000}
#: Two of them, for most of the time of a small fit goes into loading a library.
QUICK_NAMES = ("MPBoost", "HistGradientBoosting")
#: Rough guesses, for the time that is left: what loads libraries, and a fit as long as nothing is known.
SECONDS_TO_START, SECONDS_PER_CELL = 3.0, 1e-6
THREADS = 1
SCALING_RESULTS = RESULTS / "scaling" / "fits.csv"


@dataclass(frozen=True)
class Fit:
    """A fit to be measured."""

    contestant: str
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
        return self.contestant, self.version, self.axis, self.n_columns if self.axis == "rows" else self.n_rows


@dataclass(frozen=True)
class Outcome:
    """What a fit came to: figures, or the reason why there are none, and the cap that this was with."""

    seconds: float = math.nan
    wall_seconds: float = math.nan
    peak_bytes: float = math.nan
    accuracy: float = math.nan
    reason: str = ""
    cap: float = math.nan


#: The sizes of a contestant, in order, and what they came to.
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
        for row in read_rows(path):
            fit = Fit(row["contestant"], row["version"], row["axis"], int(row["n_rows"]), int(row["n_columns"]))
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
        """Find the smaller sizes of the same contestant, in order."""
        smaller = [other for other in self.outcomes if other.series == fit.series and other.size < fit.size]
        return [(other.size, self.outcomes[other]) for other in sorted(smaller, key=lambda other: other.size)]

    def _write(self, cells: Iterable[object]) -> None:
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(cells)


def plan_fits(names: Iterable[str], quick: bool) -> list[Fit]:
    """List all fits, small ones first, so that what there is can be looked at early."""
    names = list(names)
    versions = {name: CONTESTANTS[name].version for name in names}
    sizes, fixed = (QUICK_SIZES, QUICK_FIXED) if quick else (SIZES, FIXED)
    return [
        Fit(name, versions[name], axis, *((size, fixed[axis]) if axis == "rows" else (fixed[axis], size)))
        for axis in sizes
        for size in sizes[axis]
        for name in names
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


def run_fit(fit: Fit, cap: float, n_trees: int | None = None) -> Outcome:
    """Fit in a new process, perhaps with just so many trees; what ends it is told as a reason."""
    arguments = map(str, filter(None, (fit.contestant, fit.n_rows, fit.n_columns, 2 * cap, n_trees)))
    command = [sys.executable, "-m", "benchmarks.scaling.worker", *arguments]
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
    with show_progress(len(pending), is_transient=True, guesses_time=False) as bar:
        for index, fit in enumerate(pending):
            left = sum(_expect(other, results, cap) for other in pending[index:])
            bar.describe(f"{_name(fit)}; about {_format_time(left)} left")
            reason = find_reason_to_skip(results.history(fit), fit.size, cap)
            outcome = Outcome(reason=reason, cap=cap) if reason else run_fit(fit, cap)
            results.add(fit, outcome)
            bar.print(f"{_name(fit)}: {_describe(outcome)}")
            bar.advance()


def _name(fit: Fit) -> str:
    return f"{fit.contestant}, {format_size(fit.n_rows)} x {format_size(fit.n_columns)}"


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
