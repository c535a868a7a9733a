"""What the rows of the run come to: a cell for each set, mode and contestant, and standings over all sets."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.clean.modes import DEFAULTS, ENTRANTS, YARDSTICK
from benchmarks.common.results import Row

FILE, RECORD = "fits.csv", "run.json"
KEY = ("set", "seed", "mode", "contestant")
#: Points below the best that are as good as the best.
NEAR = 0.3
N_RESAMPLES, CONFIDENCE = 10_000, 0.95


@dataclass(frozen=True)
class Cell:
    """What a contestant came to on a set: means over the splits, medians of seconds; NaN is what it has not."""

    score: float
    log_loss: float
    auc: float
    seconds: float
    predict_seconds: float
    ratio: float
    predict_ratio: float
    n_stopped: int


@dataclass(frozen=True)
class Estimate:
    """A figure over sets, with the interval that sets drawn anew would give it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Standing:
    """How a contestant stands over all sets, in one mode; ratios are to LightGBM's defaults."""

    rank: Estimate
    near: Estimate
    ratio: Estimate
    predict_ratio: Estimate
    rank_log_loss: Estimate
    rank_auc: Estimate
    n_stopped: int


#: The cells of each set, by the mode and the name of a contestant.
Cells = dict[str, dict[tuple[str, str], Cell]]


def collect_cells(rows: Iterable[Row]) -> Cells:
    """Summarise the splits of each set; ratios to LightGBM's defaults are taken within a split."""
    fits: dict[str, dict[tuple[str, str], dict[str, Row]]] = {}
    for row in rows:
        fits.setdefault(row["set"], {}).setdefault((row["mode"], row["contestant"]), {})[row["seed"]] = row
    return {
        name: {key: _summarise(splits, found.get((DEFAULTS, YARDSTICK), {})) for key, splits in found.items()}
        for name, found in fits.items()
    }


def list_entrants(cells: Cells, mode: str) -> dict[str, tuple[str, str]]:
    """List who is compared in a mode, as far as it was fitted, each with the key of its cells."""
    keys = {name: (fitted, name) for name, fitted in ENTRANTS[mode].items()}
    return {name: key for name, key in keys.items() if any(key in found for found in cells.values())}


def take(cells: Cells, mode: str, figure: str) -> NDArray[np.float64]:
    """Give a figure of all sets (rows) and all who are compared in a mode (columns)."""
    keys = list_entrants(cells, mode).values()
    return np.array([[getattr(found.get(key), figure, math.nan) for key in keys] for found in cells.values()])


def compute_standings(cells: Cells, mode: str) -> dict[str, Standing]:
    """Compare all who take part in a mode over all sets. One without a model by the limit has the last rank."""
    scores = np.nan_to_num(take(cells, mode, "score"), nan=-np.inf)
    is_near = scores >= scores.max(axis=1, keepdims=True) - NEAR
    figures = {
        "rank": (rank(scores), np.mean),
        "near": (100.0 * is_near, np.mean),
        "ratio": (take(cells, mode, "ratio"), np.median),
        "predict_ratio": (take(cells, mode, "predict_ratio"), np.median),
        "rank_log_loss": (_rank_defined(-take(cells, mode, "log_loss")), np.mean),
        "rank_auc": (_rank_defined(take(cells, mode, "auc")), np.mean),
    }
    estimates = {name: estimate(values, average) for name, (values, average) in figures.items()}
    standings = {}
    for column, (name, key) in enumerate(list_entrants(cells, mode).items()):
        n_stopped = sum(found[key].n_stopped for found in cells.values() if key in found)
        standings[name] = Standing(**{one: found[column] for one, found in estimates.items()}, n_stopped=n_stopped)
    return standings


def rank(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank the contestants of each set: 1 has the highest score; equal ones share the mean of their ranks."""
    return rankdata(-scores, axis=1)


def estimate(values: NDArray[np.float64], average: Callable[..., NDArray[np.float64]]) -> list[Estimate]:
    """Average each column over the sets that have the figure; the interval is a bootstrap over these sets."""
    columns = []
    for column in values.T:
        known = column[~np.isnan(column)]
        if not len(known):
            columns.append(Estimate(math.nan, math.nan, math.nan))
            continue
        drawn = np.random.default_rng(0).integers(len(known), size=(N_RESAMPLES, len(known)))
        tails = [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0]
        low, high = np.quantile(average(known[drawn], axis=1), tails)
        columns.append(Estimate(float(average(known)), float(low), float(high)))
    return columns


def _rank_defined(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank the contestants of those sets for which at least one of them has the figure."""
    ranks = rank(np.nan_to_num(scores, nan=-np.inf))
    ranks[np.isnan(scores).all(axis=1)] = np.nan
    return ranks


def _summarise(splits: Mapping[str, Row], yardstick: Mapping[str, Row]) -> Cell:
    def list_values(figure: str) -> list[float]:
        return [float(row[figure]) for row in splits.values()]

    def compare(figure: str) -> float:
        pairs = [(row[figure], yardstick[seed][figure]) for seed, row in splits.items() if seed in yardstick]
        return median(float(mine) / float(other) for mine, other in pairs) if pairs else math.nan

    return Cell(
        *(float(np.mean(list_values(figure))) for figure in ("score", "log_loss", "auc")),
        *(median(list_values(figure)) for figure in ("seconds", "predict_seconds")),
        *(compare(figure) for figure in ("seconds", "predict_seconds")),
        sum(bool(row["stopped"]) for row in splits.values()),
    )
