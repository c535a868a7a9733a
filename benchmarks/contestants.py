"""Our defaults and their peers', one thread each, and what a fit of them comes to."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from benchmarks.data import Problem
from benchmarks.peers import (
    Entry,
    Plan,
    find_boosters,
    find_categorical,
    is_regression,
    measure_fit,
    measure_peer,
)
from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)


@dataclass(frozen=True)
class Outcome:
    """What a fit came to; scores are in percent, and what a contestant does not have is NaN."""

    test_score: float
    seconds: float
    oop_score: float = np.nan
    n_learners: float = np.nan
    n_rows: float = np.nan
    n_features: float = np.nan
    learning_rate: float = np.nan

    @property
    def optimism(self) -> float:
        """How far the out-of-patch score is above the one on test rows."""
        return self.oop_score - self.test_score


def fit_ours(problem: Problem, seed: int, **parameters: Any) -> Outcome:
    """Fit our defaults, but for some parameters."""
    make = MPBoostRegressor if is_regression(problem) else MPBoostClassifier
    return _fit(make, problem, random_state=seed, **parameters)


def fit_gradient(problem: Problem, seed: int, **parameters: Any) -> Outcome:
    """Fit the defaults of our gradient boosting, but for some parameters."""
    return _fit(find_gradient_estimator(problem), problem, random_state=seed, **parameters)


def find_gradient_estimator(problem: Problem) -> Callable[..., Any]:
    """Find which of our gradient estimators a problem is for."""
    return MPGradientBoostingRegressor if is_regression(problem) else MPGradientBoostingClassifier


def tell_categories(problem: Problem) -> dict[str, Any]:
    """Give the parameter that tells our estimators which columns are categorical, if any is."""
    categorical = find_categorical(problem)
    return {"categorical_features": categorical} if categorical else {}


def _fit(make: Callable[..., Any], problem: Problem, **parameters: Any) -> Outcome:
    model = make(**tell_categories(problem) | parameters)
    test_score, seconds = measure_fit(Entry(model, problem.X_train, problem.X_test), problem, model.n_jobs or 1)
    return Outcome(
        test_score,
        seconds,
        100.0 * model.oop_score_,
        model.best_iteration_,
        model.max_samples_,
        model.max_features_,
        getattr(model, "learning_rate_", np.nan),
    )


def fit_forest(problem: Problem, seed: int) -> Outcome:
    """Fit a random forest of 100 trees, for which categories are numbers."""
    model: Any = RandomForestClassifier(random_state=seed, n_jobs=1)
    if np.isnan(problem.X_train).any() and not get_tags(model).input_tags.allow_nan:
        model = make_pipeline(SimpleImputer(strategy="median"), model)
    return Outcome(*measure_fit(Entry(model, problem.X_train, problem.X_test), problem))


def fit_booster(name: str, problem: Problem, seed: int) -> Outcome:
    """Fit another gradient booster of 100 trees."""
    return Outcome(*measure_peer(name, problem, Plan(seed=seed)))


def find_peers() -> dict[str, Callable[[Problem, int], Outcome]]:
    """Find what is installed to compare with."""
    boosters = find_boosters(("LightGBM", "HistGradientBoosting"))
    return {"forest": fit_forest, **{name: partial(fit_booster, name) for name in boosters}}


def mean_of(outcomes: Iterable[Outcome], figure: str) -> float:
    """Average a figure over fits."""
    return float(np.mean([getattr(outcome, figure) for outcome in outcomes]))


def format_score(outcomes: list[Outcome]) -> str:
    """Write the mean of test scores with their standard deviation."""
    scores = [outcome.test_score for outcome in outcomes]
    if not scores:
        return ""
    return f"{np.mean(scores):.2f}" + (f" ± {np.std(scores, ddof=1):.2f}" if len(scores) > 1 else "")
