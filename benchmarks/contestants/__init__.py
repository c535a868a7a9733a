"""Who is measured: ours, and other libraries, each behind an adapter that knows how the library wants things.

A contestant is anything that a benchmark fits; those that are not ours are "the others". ``CONTESTANTS`` has all of
them by name. A new one is a class in one of the modules here, and a line in that registry.
"""

from collections.abc import Iterable

from benchmarks.contestants.boosters import CatBoost, LightGBM, XGBoost
from benchmarks.contestants.contestant import Contestant, Entry, Grid, Plan, Settings
from benchmarks.contestants.ensembles import AdaBoost, GradientBoosting, HistGradientBoosting, RandomForest
from benchmarks.contestants.ours import MPBoost, MPGradientBoosting, Paper

__all__ = ["CONTESTANTS", "OTHERS", "OURS", "Contestant", "Entry", "Grid", "Plan", "Settings", "find_installed"]

#: In the order of the columns of the paper's tables.
CONTESTANTS: dict[str, Contestant] = {
    "PAPER": Paper(),
    "PAPER, long": Paper(),
    "MPBoost": MPBoost(),
    "MPGradientBoosting": MPGradientBoosting(),
    "AdaBoost": AdaBoost(),
    "RandomForest": RandomForest(),
    "GradientBoosting": GradientBoosting(),
    "HistGradientBoosting": HistGradientBoosting(),
    "XGBoost": XGBoost(),
    "LightGBM": LightGBM(),
    "CatBoost": CatBoost(),
}
OURS = tuple(name for name, contestant in CONTESTANTS.items() if contestant.is_ours)
OTHERS = tuple(name for name in CONTESTANTS if name not in OURS)


def find_installed(names: Iterable[str] = CONTESTANTS) -> list[str]:
    """Find which of these can be run."""
    return [name for name in names if CONTESTANTS[name].is_installed]
