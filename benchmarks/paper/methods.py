"""The contestants: a small adapter for each library, all with one thread."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from benchmarks.data import Problem
from benchmarks.paper.clock import StageClock
from mpboost import PAPER, MPBoostClassifier, MPGradientBoostingClassifier

#: What a member of a grid is made of, by name.
Settings = dict[str, Any]
Labels = NDArray[Any]


@dataclass(frozen=True)
class Grid:
    """What is tried of a method; a depth of None is a tree that is not limited, or else the library's default."""

    depths: tuple[int | None, ...]
    learning_rates: tuple[float, ...]
    stages: tuple[int, ...]
    max_samples: tuple[int, ...]
    max_features: tuple[int | str, ...]
    momenta: tuple[float, ...]


class Method:
    """A contestant with a grid: what its members are, and how one is made.

    An ensemble that grows can be looked at as it does: ``climb`` fits once, and yields what each stage of the fit
    predicts. That saves most of a grid's time; what the tables show is fitted anew, with so many trees and no clock.
    """

    package = "sklearn"
    is_ours = False

    @property
    def version(self) -> str:
        """The version that is installed."""
        return str(import_module(self.package).__version__)

    @property
    def is_installed(self) -> bool:
        """Whether there is a version."""
        return find_spec(self.package) is not None

    def list_members(self, grid: Grid) -> list[Settings]:
        """List the members of the grid, but for the number of trees."""
        return [{"depth": depth} for depth in grid.depths]

    def prepare(self, X: NDArray[Any]) -> NDArray[Any]:
        """Give the table as this library takes it."""
        return X

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        """Make the estimator."""
        raise NotImplementedError

    def climb(self, settings: Settings, problem: Problem, seed: int, clock: StageClock) -> Iterator[tuple[int, Labels]]:
        """Fit with a look at each stage; yield its number of trees, and what it predicts for the test rows."""
        for n_trees in clock.stages:
            if clock.is_beyond(n_trees):
                break
            stage = StageClock((n_trees,), clock.cap)
            model = self.make(settings, n_trees, seed)
            with stage.running():
                model.fit(problem.X_train, problem.y_train)
                stage.tick(n_trees)
            clock.reached |= stage.reached
            yield n_trees, model.predict(problem.X_test)


class _Staged(Method):
    """A method whose fit can be watched from inside."""

    def climb(self, settings: Settings, problem: Problem, seed: int, clock: StageClock) -> Iterator[tuple[int, Labels]]:
        with clock.running():
            model = self.watch(self.make(settings, clock.stages[-1], seed), problem, clock)
        yield from self.predict_stages(model, problem.X_test, sorted(clock.reached))

    def watch(self, model: Any, problem: Problem, clock: StageClock) -> Any:
        """Fit, and let the clock tick after each tree until it says to end; return what was fitted."""
        raise NotImplementedError

    def predict_stages(self, model: Any, X: NDArray[Any], stages: list[int]) -> Iterator[tuple[int, Labels]]:
        """Predict by the first trees, for each of these numbers of them."""
        for n_trees, labels in enumerate(model.staged_predict(X), start=1):
            if n_trees in stages:
                yield n_trees, labels


class _WithoutMissing(_Staged):
    """Takes no missing values: they become -999, which the paper's data has in their place."""

    def prepare(self, X: NDArray[Any]) -> NDArray[Any]:
        # Trees of scikit-learn work on single precision; here the conversion is not on the clock.
        return np.nan_to_num(np.asarray(X, dtype=np.float32), nan=-999.0)


class _WatchedAdaBoost(AdaBoostClassifier):
    """AdaBoost with a clock, which is attached to it as ``clock``."""

    def _boost(self, iboost: int, *args: Any) -> Any:
        # Called once before each tree; weights that are None end the fit.
        if iboost and self.clock.tick(iboost):
            return None, None, None
        return super()._boost(iboost, *args)


class AdaBoost(_WithoutMissing):
    """AdaBoost of scikit-learn on trees of a depth."""

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        return AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=settings["depth"]), n_estimators=n_trees, random_state=seed
        )

    def watch(self, model: Any, problem: Problem, clock: StageClock) -> Any:
        watched = _WatchedAdaBoost(**model.get_params(deep=False))
        watched.clock = clock
        watched.fit(problem.X_train, problem.y_train)
        clock.tick(len(watched.estimators_))
        return watched


class GradientBoosting(_WithoutMissing):
    """Gradient boosting of scikit-learn, with exact splits."""

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        return GradientBoostingClassifier(max_depth=settings["depth"], n_estimators=n_trees, random_state=seed)

    def watch(self, model: Any, problem: Problem, clock: StageClock) -> Any:
        return model.fit(problem.X_train, problem.y_train, monitor=lambda i, *_: clock.tick(i + 1))


class RandomForest(_WithoutMissing):
    """Random forest of scikit-learn."""

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        return RandomForestClassifier(n_trees, max_depth=settings["depth"], random_state=seed, n_jobs=1)

    def climb(self, settings: Settings, problem: Problem, seed: int, clock: StageClock) -> Iterator[tuple[int, Labels]]:
        model = self.make(settings, 0, seed).set_params(warm_start=True)
        for n_trees in clock.stages:
            if clock.is_beyond(n_trees):
                break
            with clock.running():
                model.set_params(n_estimators=n_trees).fit(problem.X_train, problem.y_train)
                clock.tick(n_trees)
            yield n_trees, model.predict(problem.X_test)


class _Histogram(_Staged):
    """A booster of today, with a learning rate."""

    def list_members(self, grid: Grid) -> list[Settings]:
        return [{"depth": depth, "learning_rate": rate} for depth, rate in product(grid.depths, grid.learning_rates)]


def _count_leaves(depth: int | None) -> int:
    """Let a tree be as wide as its depth allows, and by default as wide as that of the library."""
    return 31 if depth is None else max(2, 2**depth)


class HistGradientBoosting(_Histogram):
    """The histogram booster of scikit-learn, which cannot be watched: each stage is a fit."""

    climb = Method.climb

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        return HistGradientBoostingClassifier(
            max_depth=settings["depth"],
            max_leaf_nodes=_count_leaves(settings["depth"]),
            learning_rate=settings["learning_rate"],
            max_iter=n_trees,
            early_stopping=False,
            random_state=seed,
        )


class LightGBM(_Histogram):
    """LightGBM."""

    package = "lightgbm"

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            max_depth=settings["depth"] or -1,
            num_leaves=_count_leaves(settings["depth"]),
            learning_rate=settings["learning_rate"],
            n_estimators=n_trees,
            random_state=seed,
            n_jobs=1,
            verbosity=-1,
        )

    def watch(self, model: Any, problem: Problem, clock: StageClock) -> Any:
        from lightgbm.callback import EarlyStopException

        def look(environment: Any) -> None:
            if clock.tick(environment.iteration + 1):
                raise EarlyStopException(environment.iteration, [])

        return model.fit(problem.X_train, problem.y_train, callbacks=[look])

    def predict_stages(self, model: Any, X: NDArray[Any], stages: list[int]) -> Iterator[tuple[int, Labels]]:
        for n_trees in stages:
            yield n_trees, model.predict(X, num_iteration=n_trees)


class XGBoost(_Histogram):
    """XGBoost."""

    package = "xgboost"

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(
            max_depth=settings["depth"],
            learning_rate=settings["learning_rate"],
            n_estimators=n_trees,
            random_state=seed,
            n_jobs=1,
        )

    def watch(self, model: Any, problem: Problem, clock: StageClock) -> Any:
        from xgboost.callback import TrainingCallback

        class Look(TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                return clock.tick(epoch + 1)

        return model.set_params(callbacks=[Look()]).fit(problem.X_train, problem.y_train)

    def predict_stages(self, model: Any, X: NDArray[Any], stages: list[int]) -> Iterator[tuple[int, Labels]]:
        for n_trees in stages:
            yield n_trees, model.predict(X, iteration_range=(0, n_trees))


class CatBoost(_Histogram):
    """CatBoost."""

    package = "catboost"

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            depth=settings["depth"],
            learning_rate=settings["learning_rate"],
            n_estimators=n_trees,
            random_seed=seed,
            thread_count=1,
            verbose=0,
            allow_writing_files=False,
        )

    def watch(self, model: Any, problem: Problem, clock: StageClock) -> Any:
        class Look:
            def after_iteration(self, info: Any) -> bool:
                return not clock.tick(info.iteration)

        return model.fit(problem.X_train, problem.y_train, callbacks=[Look()])

    def predict_stages(self, model: Any, X: NDArray[Any], stages: list[int]) -> Iterator[tuple[int, Labels]]:
        for n_trees in stages:
            yield n_trees, model.predict(X, ntree_end=n_trees)


class _Ours(Method):
    """One of ours, which finds out by itself how many trees it needs."""

    package = "mpboost"
    is_ours = True
    estimator: Callable[..., Any] = MPBoostClassifier

    def list_members(self, grid: Grid) -> list[Settings]:
        return [{}]

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        return type(self).estimator(random_state=seed, n_jobs=1)


class MPBoost(_Ours):
    """Our defaults."""


class MPGradientBoosting(_Ours):
    """The defaults of our gradient boosting."""

    estimator = MPGradientBoostingClassifier


class Paper(_Ours):
    """Algorithms 1 and 2 with the paper's grid."""

    def list_members(self, grid: Grid) -> list[Settings]:
        members = product(grid.depths, grid.max_samples, grid.max_features, grid.momenta)
        return [{"depth": depth, "n": n, "m": m, "mu": mu, "L": "logistic"} for depth, n, m, mu in members]

    def make(self, settings: Settings, n_trees: int, seed: int) -> Any:
        parameters = PAPER | {
            "max_depth": settings["depth"],
            "max_samples": settings["n"],
            "max_features": settings["m"],
            "feature_momentum": settings["mu"],
            "weighting": settings["L"],
        }
        if n_trees:  # Algorithm 1 alone
            parameters |= {"stopping": None, "n_estimators": n_trees}
        return MPBoostClassifier(**parameters, random_state=seed, n_jobs=1)


METHODS: dict[str, Method] = {
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


def find_installed(names: Iterable[str]) -> list[str]:
    """Find which of these methods can be run."""
    return [name for name in names if METHODS[name].is_installed]
