"""The results: a CSV file for each data set, to which fits are added as they are made."""

import csv
import datetime
import json
import os
import platform
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from benchmarks.common.measure import name_processor
from benchmarks.common.results import Row, read_rows
from benchmarks.contestants import Settings


@dataclass(frozen=True)
class Fit:
    """What a fit came to.

    ``phase`` is "grid" (one seed, one fit for all numbers of trees), "finalist" (ours, all seeds) or "final" (all
    seeds, contestants in turns, plain fits). ``n_trees`` is 0 where the contestant finds it out. ``ended`` says why a
    fit of the grid has no more trees. Accuracies are in percent.
    """

    set: str
    phase: str
    contestant: str
    version: str
    settings: str
    n_trees: int
    seed: int
    accuracy: float
    wall_seconds: float
    cpu_seconds: float
    ended: str = ""


FACTS = ("threads", "processor", "cores", "python", "date")
COLUMNS = (*(field.name for field in fields(Fit)), *FACTS)


def write_settings(settings: Settings) -> str:
    """Write settings as text that is always the same."""
    return json.dumps(settings, sort_keys=True)


def read_settings(text: str) -> Settings:
    """Read them back."""
    settings: Settings = json.loads(text)
    return settings


class Ledger:
    """The fits of a data set, in memory and on file.

    Lines are added whole: a run that is interrupted loses at most the fit that it was at, and goes on from there.
    """

    def __init__(self, path: Path):
        self.path = path
        self.fits: list[Fit] = []
        if path.is_file():
            self.fits = [_read_fit(row) for row in read_rows(path)]
        self._keys = set(map(_to_key, self.fits))

    def add(self, fits: list[Fit]) -> None:
        """Add fits that were made."""
        is_new = not self.path.is_file()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        facts = describe_run()
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(asdict(fit) | facts for fit in fits)
        self.fits += fits
        self._keys.update(map(_to_key, fits))

    def has(self, *key: str | int) -> bool:
        """Tell whether there is a fit of this phase, contestant, version, settings, number of trees and seed."""
        return key in self._keys

    def find(self, phase: str, contestant: str | None = None) -> list[Fit]:
        """Find the fits of a phase, and of a contestant."""
        return [fit for fit in self.fits if fit.phase == phase and contestant in (None, fit.contestant)]


def describe_run() -> dict[str, str | int | None]:
    """Say what a fit was run on."""
    return {
        "threads": 1,
        "processor": name_processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }


def _to_key(fit: Fit) -> tuple[str | int, ...]:
    return (fit.phase, fit.contestant, fit.version, fit.settings, fit.n_trees, fit.seed)


def _read_fit(row: Row) -> Fit:
    kinds = {field.name: field.type for field in fields(Fit)}
    return Fit(**{name: kind(row[name]) for name, kind in kinds.items()})  # type: ignore[operator]
