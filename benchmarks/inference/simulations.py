"""Runs tests of features in worlds with known answers, and counts what they call useful."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.inference.methods import METHODS
from benchmarks.inference.worlds import TARGETS, WORLDS, make_world

#: The level of the tests.
LEVEL = 0.05
#: The method that is on trial.
OURS = "infer_features"


class Case(NamedTuple):
    """A kind of world: its name, its target and its effect."""

    world: str
    target: str
    effect: float


class Counts(NamedTuple):
    """How many features of a role were tested in how many worlds, which share was called useful, and its error.

    The error is over worlds, since the tests of a world depend on each other.
    """

    n_worlds: int
    n_tested: int
    share: float
    error: float


def list_cases(effects: Iterable[float]) -> list[Case]:
    """List all kinds of worlds with these effects."""
    return [Case(world, target, effect) for world in WORLDS for target in TARGETS for effect in effects]


def simulate(case: Case, n_worlds: int, n_others: int) -> Iterator[tuple[str, dict[str, Counts]]]:
    """Yield, for each method, the counts of each role over so many worlds; methods of others see the first ones."""
    for name, test in METHODS.items():
        worlds = [make_world(*case, seed=seed) for seed in range(n_worlds if name == OURS else n_others)]
        is_called = [test(world.X, world.y, seed) < LEVEL for seed, world in enumerate(worlds)]
        yield (
            name,
            {
                role: _count([each[world.roles == role] for each, world in zip(is_called, worlds, strict=True)])
                for role in ("noise", "signal", "proxy")
            },
        )


def _count(is_called: list[NDArray[np.bool_]]) -> Counts:
    n_tested = sum(map(len, is_called))
    if not n_tested:
        return Counts(len(is_called), 0, np.nan, np.nan)
    shares = [each.mean() for each in is_called]
    return Counts(len(is_called), n_tested, float(np.mean(shares)), float(np.std(shares) / np.sqrt(len(shares))))


def write_percent(share: float) -> str:
    """Write a share as a percentage; empty if there is none."""
    return "" if np.isnan(share) else f"{100 * share:.1f}"
