"""Ours: the estimators of mpboost."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from benchmarks.contestants.clock import StageClock
from benchmarks.contestants.contestant import (
    Contestant,
    Entry,
    Grid,
    Labels,
    Plan,
    Settings,
    Stage,
    WatchedContestant,
    pick_stages,
)
from benchmarks.data.split_set import SplitSet
from mpboost import PAPER, Callback
from mpboost.boosting.run import BoostingRun


class _Watch(Callback):
    """Lets a clock tick after each iteration, with the number of learners that the model would keep."""

    def __init__(self, clock: StageClock):
        self._clock = clock

    def on_iteration_end(self, run: BoostingRun) -> bool:
        """Tell the clock; stop when it says so."""
        return self._clock.tick(run.iteration, run.best_iteration)


class MPBoost(WatchedContestant):
    """Our defaults, which find out by themselves how many trees they need."""

    module, classifier, regressor = "mpboost", "MPBoostClassifier", "MPBoostRegressor"
    plan_names = ("", "random_state", "n_jobs")
    is_ours = True

    def list_members(self, grid: Grid) -> list[Settings]:
        return [{}]

    def translate(self, settings: Settings) -> dict[str, Any]:
        return {}

    def climb(self, settings: Settings, split_set: SplitSet, seed: int, clock: StageClock) -> Iterator[Stage]:
        return Contestant.climb(self, settings, split_set, seed, clock)  # the paper's tables have whole fits of ours

    def watch(self, entry: Entry, y: Labels, clock: StageClock) -> Any:
        return entry.model.set_params(callbacks=[_Watch(clock)]).fit(entry.X_train, y)

    def predict_stages(self, model: Any, X: Any, stages: Iterable[int]) -> Iterator[Labels]:
        """Predict by the first trees; the model has dropped those after its best iteration."""
        return pick_stages(model.staged_predict(X), stages)


class MPGradientBoosting(MPBoost):
    """The defaults of our gradient boosting."""

    classifier, regressor = "MPGradientBoostingClassifier", "MPGradientBoostingRegressor"

    def limit_leaves(self, n_leaves: int) -> dict[str, Any]:
        return {"max_leaf_nodes": n_leaves}

    def count_leaves(self, model: Any) -> int:
        return len(model._ensemble.forest.leaf_values)


class Paper(MPBoost):
    """Algorithms 1 and 2 with the paper's grid."""

    def list_members(self, grid: Grid) -> list[Settings]:
        members = product(grid.depths, grid.max_samples, grid.max_features, grid.momenta)
        return [{"depth": depth, "n": n, "m": m, "mu": mu, "L": "logistic"} for depth, n, m, mu in members]

    def translate(self, settings: Settings) -> dict[str, Any]:
        return PAPER | {
            "max_depth": settings["depth"],
            "max_samples": settings["n"],
            "max_features": settings["m"],
            "feature_momentum": settings["mu"],
            "weighting": settings["L"],
        }

    def make_member(self, settings: Settings, n_trees: int, seed: int) -> Any:
        """Make the classifier: Algorithm 1 alone for so many trees, or both algorithms if there is no number."""
        alone = {"stopping": None, "n_estimators": n_trees} if n_trees else {}
        return self.make(Plan(seed=seed), **self.translate(settings) | alone)
