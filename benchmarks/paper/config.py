"""What is run: a TOML file, read and checked."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.contestants import CONTESTANTS, Grid

PAPER_CONFIG = Path(__file__).with_name("paper.toml")
QUICK_CONFIG = Path(__file__).with_name("quick.toml")


@dataclass(frozen=True)
class SetPlan:
    """What is run on a data set.

    Parameters
    ----------
    name : str
        Its name among ``benchmarks.data.sets.ALL_SETS``.
    grid : Grid
        What is tried of the others.
    cap : float
        Seconds of the processor after which no fit of their grids goes on.
    n_candidates : int
        How many members of a grid meet again, with all seeds, for each place in a table.
    """

    name: str
    grid: Grid
    cap: float
    n_candidates: int

    @property
    def file(self) -> str:
        """The name of the file of its results."""
        words = "".join(letter if letter.isalnum() else " " for letter in self.name.lower()).split()
        return f"{'_'.join(words)}.csv"


@dataclass(frozen=True)
class Config:
    """What is run, on which sets, and where the results are kept."""

    contestants: tuple[str, ...]
    seeds: tuple[int, ...]
    sets: tuple[SetPlan, ...]
    paper_grid: Grid
    n_finalists: int
    n_long: int
    long_run: int
    results: Path


class ConfigError(ValueError):
    """The file says something that cannot be done; the message says what."""


def read_config(path: Path, results: Path | None = None) -> Config:
    """Read what is to be run."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"Cannot read {path}: {error}") from error
    try:
        return _parse(raw, path, results)
    except KeyError as error:
        raise ConfigError(f"{path} lacks the entry {error}.") from error


def _parse(raw: dict[str, Any], path: Path, results: Path | None) -> Config:
    unknown = [name for name in raw["contestants"] if name not in CONTESTANTS]
    if unknown:
        known = ", ".join(CONTESTANTS)
        raise ConfigError(f"{path} asks for unknown contestants: {', '.join(unknown)}. Known: {known}.")
    sizes = raw["paper"]
    paper_grid = Grid(
        depths=_read_depths(sizes["depths"]),
        max_samples=tuple(sizes["max_samples"]),
        max_features=tuple(sizes["max_features"]),
        momenta=tuple(sizes["momenta"]),
    )
    return Config(
        contestants=tuple(raw["contestants"]),
        seeds=tuple(raw["seeds"]),
        sets=tuple(_read_plan(each, raw["others"]) for each in raw["sets"]),
        paper_grid=paper_grid,
        n_finalists=sizes["n_finalists"],
        n_long=sizes["n_long"],
        long_run=sizes["long_run"],
        results=results or path.parent / raw["results"],
    )


def _read_plan(raw: dict[str, Any], shared: dict[str, Any]) -> SetPlan:
    """Read the plan of a set, which may differ in some entries from what is said of all."""
    merged = shared | raw
    grid = Grid(
        depths=_read_depths(merged["depths"]),
        learning_rates=tuple(merged["learning_rates"]),
        stages=tuple(merged["stages"]),
    )
    return SetPlan(merged["name"], grid, float(merged["cap"]), merged["n_candidates"])


def _read_depths(raw: list[int]) -> tuple[int | None, ...]:
    """Read depths, of which 0 stands for none: TOML has no null."""
    return tuple(depth or None for depth in raw)


def pick_sets(config: Config, names: list[str] | None) -> Config:
    """Keep some of the sets only."""
    known = {plan.name: plan for plan in config.sets}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise ConfigError(f"Unknown sets: {', '.join(unknown)}. There are: {', '.join(known)}.")
    return replace(config, sets=tuple(known[name] for name in names)) if names else config
