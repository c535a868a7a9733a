"""What a contestant can do: make a model, take a data set, list a grid, and be watched while its model grows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contestants.clock import StageClock
from benchmarks.data.split_set import SplitSet

#: What a member of a grid is made of, by name: the same names for all contestants.
Settings = dict[str, Any]
Labels = NDArray[Any]
#: A number of trees, and what so many predict.
Stage = tuple[int, Labels]


@dataclass(frozen=True)
class Plan:
    """What a fit is to be like; no number of trees is the library's default."""

    n_trees: int | None = 100
    seed: int = 0
    n_threads: int = 1


@dataclass(frozen=True)
class Entry:
    """A model to fit, and the tables of a split data set in the form that it takes."""

    model: Any
    X_train: Any
    X_test: Any
    fit_arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """What is tried of a contestant; a depth of None is a tree that is not limited, or else the library's default."""

    depths: tuple[int | None, ...] = ()
    learning_rates: tuple[float, ...] = ()
    stages: tuple[int, ...] = ()
    max_samples: tuple[int, ...] = ()
    max_features: tuple[int | str, ...] = ()
    momenta: tuple[float, ...] = ()


class Contestant:
    """An adapter of a library's estimators.

    Attributes
    ----------
    module, classifier, regressor : str
        Where the estimators are, and their names; they are imported when one is made.
    plan_names : tuple of str
        What the library calls the number of trees, the seed and the number of threads; empty where it has none.
    always : mapping
        Parameters that all its models get.
    takes_missing : bool
        Whether missing values may be left in the paper's tables.
    """

    module = "sklearn.ensemble"
    classifier = ""
    regressor = ""
    plan_names = ("n_estimators", "random_state", "n_jobs")
    always: Mapping[str, Any] = MappingProxyType({})
    is_ours = False
    takes_missing = True

    @property
    def package(self) -> str:
        """What must be installed."""
        return self.module.partition(".")[0]

    @property
    def version(self) -> str:
        """The version that is installed."""
        return str(import_module(self.package).__version__)

    @property
    def is_installed(self) -> bool:
        """Whether there is a version."""
        return find_spec(self.package) is not None

    def make(self, plan: Plan, *, is_regression: bool = False, **parameters: Any) -> Any:
        """Make an estimator with the library's defaults but for the plan and these parameters."""
        estimator = getattr(import_module(self.module), self.regressor if is_regression else self.classifier)
        asked = zip(self.plan_names, (plan.n_trees, plan.seed, plan.n_threads), strict=True)
        planned = {name: value for name, value in asked if name and value is not None}
        return estimator(**planned | {**self.always} | parameters)

    def enter(self, split_set: SplitSet, plan: Plan, **parameters: Any) -> Entry:
        """Make an estimator that is told which columns are categorical, and return it with the tables."""
        told = {"categorical_features": list(split_set.categorical)} if split_set.categorical else {}
        model = self.make(plan, is_regression=split_set.is_regression, **told | parameters)
        return Entry(model, split_set.X_train, split_set.X_test)

    def stop_early(self, entry: Entry, y: Labels, held_out: NDArray[np.bool_], patience: int) -> tuple[Entry, Labels]:
        """Let a fit stop by its loss on rows that it does not learn from; give the entry, and the labels of the others.

        It stops when so many trees in a row have not lowered the loss.
        """
        parameters, arguments = self.watch_loss(entry.X_train[held_out], y[held_out], patience)
        fit_arguments = entry.fit_arguments | arguments
        model = entry.model.set_params(**parameters)
        return Entry(model, entry.X_train[~held_out], entry.X_test, fit_arguments), y[~held_out]

    def watch_loss(self, X: Any, y: Labels, patience: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give the parameters, and the arguments of ``fit``, with which it stops by its loss on these rows."""
        raise NotImplementedError

    def rescue(self, model: Any) -> bool:
        """Let a model whose fit was interrupted predict by the trees that it has; tell whether it can."""
        return False

    def limit_leaves(self, n_leaves: int) -> dict[str, Any]:
        """Give the parameters for trees of up to so many leaves, grown leaf by leaf; none if the library has none."""
        return {}

    def count_leaves(self, model: Any) -> int:
        """Count the leaves of all trees of such a model."""
        raise NotImplementedError

    def list_members(self, grid: Grid) -> list[Settings]:
        """List the members of a grid, but for the number of trees."""
        return [{"depth": depth} for depth in grid.depths]

    def translate(self, settings: Settings) -> dict[str, Any]:
        """Give the parameters that settings stand for."""
        return {"max_depth": settings["depth"]}

    def make_member(self, settings: Settings, n_trees: int, seed: int) -> Any:
        """Make the classifier of a grid's member, with one thread."""
        return self.make(Plan(n_trees, seed), **self.translate(settings))

    def prepare(self, X: NDArray[Any]) -> NDArray[Any]:
        """Give a table of the paper's experiments as this library takes it.

        Where it takes no missing values, they become -999, which the paper's data has in their place. Such are the
        trees of scikit-learn that work on single precision; here the conversion is not on the clock.
        """
        return X if self.takes_missing else np.nan_to_num(np.asarray(X, dtype=np.float32), nan=-999.0)

    def climb(self, settings: Settings, split_set: SplitSet, seed: int, clock: StageClock) -> Iterator[Stage]:
        """Fit with a look at each stage; yield its number of trees, and what it predicts for the test rows.

        An ensemble that grows can be looked at as it does, which saves most of a grid's time (``WatchedContestant``).
        Here each stage is a fit. What the tables show is fitted anew in any case, with so many trees and no clock.
        """
        for n_trees in clock.stages:
            if clock.is_beyond(n_trees):
                break
            stage = StageClock((n_trees,), clock.cap)
            model = self.make_member(settings, n_trees, seed)
            with stage.running():
                model.fit(split_set.X_train, split_set.y_train)
                stage.tick(n_trees)
            clock.reached |= stage.reached
            yield n_trees, model.predict(split_set.X_test)


class WatchedContestant(Contestant):
    """A contestant whose fit can be watched from inside, tree by tree."""

    def climb(self, settings: Settings, split_set: SplitSet, seed: int, clock: StageClock) -> Iterator[Stage]:
        model = self.make_member(settings, clock.stages[-1], seed)
        with clock.running():
            model = self.watch(Entry(model, split_set.X_train, split_set.X_test), split_set.y_train, clock)
        stages = sorted(clock.reached)
        yield from zip(stages, self.predict_stages(model, split_set.X_test, stages), strict=True)

    def watch(self, entry: Entry, y: Labels, clock: StageClock) -> Any:
        """Fit, and let the clock tick after each tree until it says to end; return what was fitted."""
        raise NotImplementedError

    def predict_stages(self, model: Any, X: Any, stages: Iterable[int]) -> Iterator[Labels]:
        """Predict by the first trees, for these numbers of them in ascending order."""
        return (self.predict_stage(model, X, n_trees) for n_trees in stages)

    def predict_stage(self, model: Any, X: Any, n_trees: int) -> Labels:
        """Predict by the first trees."""
        raise NotImplementedError


def pick_stages(predictions: Iterator[Labels], stages: Iterable[int]) -> Iterator[Labels]:
    """Pick the predictions of these numbers of trees, which ascend, from those of 1, 2, 3, ... trees."""
    wanted = set(stages)
    numbered = enumerate(islice(predictions, max(wanted, default=0)), 1)
    return (predicted for n_trees, predicted in numbered if n_trees in wanted)
