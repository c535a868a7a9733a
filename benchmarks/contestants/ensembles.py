"""The ensembles of scikit-learn."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

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


class _ExactTrees(WatchedContestant):
    """An ensemble of trees with exact splits, for which categories are numbers."""

    takes_missing = False

    def enter(self, split_set: SplitSet, plan: Plan, **parameters: Any) -> Entry:
        """Make an estimator; where it takes no missing values but the table has some, they become medians."""
        model = self.make(plan, is_regression=split_set.is_regression, **parameters)
        if np.isnan(split_set.X_train).any() and not get_tags(model).input_tags.allow_nan:
            model = make_pipeline(SimpleImputer(strategy="median"), model)
        return Entry(model, split_set.X_train, split_set.X_test)

    def predict_stages(self, model: Any, X: Any, stages: Iterable[int]) -> Iterator[Labels]:
        return pick_stages(model.staged_predict(X), stages)


class _WatchedAdaBoost(AdaBoostClassifier):
    """AdaBoost with a clock, which is attached to it as ``clock``."""

    def _boost(self, iboost: int, *args: Any) -> Any:
        # Called once before each tree; weights that are None end the fit.
        if iboost and self.clock.tick(iboost):
            return None, None, None
        return super()._boost(iboost, *args)


class AdaBoost(_ExactTrees):
    """AdaBoost, in a grid on trees of a depth."""

    classifier, regressor = "AdaBoostClassifier", "AdaBoostRegressor"
    plan_names = ("n_estimators", "random_state", "")

    def translate(self, settings: Settings) -> dict[str, Any]:
        return {"estimator": DecisionTreeClassifier(max_depth=settings["depth"])}

    def watch(self, entry: Entry, y: Labels, clock: StageClock) -> Any:
        watched = _WatchedAdaBoost(**entry.model.get_params(deep=False))
        watched.clock = clock
        watched.fit(entry.X_train, y)
        clock.tick(len(watched.estimators_))
        return watched


class GradientBoosting(_ExactTrees):
    """Gradient boosting with exact splits."""

    classifier, regressor = "GradientBoostingClassifier", "GradientBoostingRegressor"
    plan_names = ("n_estimators", "random_state", "")

    def watch(self, entry: Entry, y: Labels, clock: StageClock) -> Any:
        return entry.model.fit(entry.X_train, y, monitor=lambda i, *_: clock.tick(i + 1))


class RandomForest(_ExactTrees):
    """Random forest, which grows from stage to stage."""

    classifier, regressor = "RandomForestClassifier", "RandomForestRegressor"

    def climb(self, settings: Settings, split_set: SplitSet, seed: int, clock: StageClock) -> Iterator[Stage]:
        model = self.make_member(settings, 0, seed).set_params(warm_start=True)
        for n_trees in clock.stages:
            if clock.is_beyond(n_trees):
                break
            with clock.running():
                model.set_params(n_estimators=n_trees).fit(split_set.X_train, split_set.y_train)
                clock.tick(n_trees)
            yield n_trees, model.predict(split_set.X_test)


#: Most categories that the histogram booster takes in a column.
MAX_CATEGORIES = 255


class HistGradientBoosting(Contestant):
    """The histogram booster, whose threads are limited from outside, and which cannot be watched."""

    classifier, regressor = "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"
    plan_names = ("max_iter", "random_state", "")

    def enter(self, split_set: SplitSet, plan: Plan, **parameters: Any) -> Entry:
        """Make an estimator; columns with more categories than it takes are numbers for it."""
        X = split_set.X_train
        few = tuple(j for j in split_set.categorical if not np.nanmax(X[:, j], initial=0) >= MAX_CATEGORIES)
        return super().enter(replace(split_set, categorical=few), plan, **parameters)

    def watch_loss(self, X: Any, y: Labels, patience: int) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"early_stopping": True, "n_iter_no_change": patience}, {"X_val": X, "y_val": y}

    def rescue(self, model: Any) -> bool:
        iterations = getattr(model, "_predictors", [])
        if iterations and len(iterations[-1]) < model.n_trees_per_iteration_:
            iterations.pop()  # an iteration that has not a tree for each class
        model._in_fit = False
        return bool(iterations)

    def limit_leaves(self, n_leaves: int) -> dict[str, Any]:
        return {"max_leaf_nodes": n_leaves, "early_stopping": False}

    def count_leaves(self, model: Any) -> int:
        return sum(tree.get_n_leaf_nodes() for (tree,) in model._predictors)

    def list_members(self, grid: Grid) -> list[Settings]:
        return list_boosters(grid)

    def translate(self, settings: Settings) -> dict[str, Any]:
        depth, rate = settings["depth"], settings["learning_rate"]
        return {"max_depth": depth, "learning_rate": rate, **self.limit_leaves(fill_depth(depth))}


def list_boosters(grid: Grid) -> list[Settings]:
    """List the members of a grid of a histogram booster, which has a learning rate, too."""
    return [{"depth": depth, "learning_rate": rate} for depth, rate in product(grid.depths, grid.learning_rates)]


def fill_depth(depth: int | None) -> int:
    """Let a tree be as wide as its depth allows, and by default as wide as that of the libraries."""
    return 31 if depth is None else max(2, 2**depth)
