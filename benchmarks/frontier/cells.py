"""Cells of a set and a budget: who leads in each, and by how much."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.common.results import Row
from benchmarks.frontier.fits import RUNNERS

#: Points by which ours may trail and still be near.
NEAR = 0.2
OURS = tuple(name for name, runner in RUNNERS.items() if runner.is_ours)
#: Scores in percent by each budget, of each runner, for each set: the mean over splits.
Curves = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Shares:
    """Of all cells, the shares in which ours leads or is near, and how many there are."""

    leads: float
    near: float
    n_cells: int


def collect_curves(rows: Iterable[Row], budgets: Sequence[float]) -> Curves:
    """Average scores over splits; one that had no score by a budget in some split has none."""
    found: dict[tuple[str, str, float], list[float]] = {}
    for row in rows:
        found.setdefault((row["set"], row["contestant"], float(row["budget"])), []).append(float(row["score"]))
    names = dict.fromkeys((set_name, contestant) for set_name, contestant, _ in found)
    curves: Curves = {}
    for set_name, contestant in names:
        means = [float(np.mean(found.get((set_name, contestant, budget), [math.nan]))) for budget in budgets]
        curves.setdefault(set_name, {})[contestant] = means
    return curves


def take_best(curves: Mapping[str, Sequence[float]], names: Iterable[str]) -> list[float]:
    """Give the best score of some by each budget; minus infinity where none has one."""
    chosen = [np.nan_to_num(curves[name], nan=-np.inf) for name in names if name in curves]
    return [float(score) for score in np.max(chosen, axis=0)]


def compare_cells(curves: Mapping[str, Sequence[float]], ours: Iterable[str] = OURS) -> list[float]:
    """Give by how many points ours leads by each budget; NaN where nobody has a score, infinite where one side has."""
    mine = np.array(take_best(curves, ours))
    theirs = np.array(take_best(curves, [name for name in curves if name not in OURS]))
    with np.errstate(invalid="ignore"):
        return [float(lead) for lead in mine - theirs]  # infinity minus infinity is NaN


def share_cells(leads: Iterable[float]) -> Shares:
    """Count the cells in which somebody has a score: those that ours leads, and those in which it is near."""
    known = np.array([lead for lead in leads if not math.isnan(lead)])
    if not len(known):
        return Shares(math.nan, math.nan, 0)
    return Shares(float(np.mean(known >= 0)), float(np.mean(known >= -NEAR)), len(known))
