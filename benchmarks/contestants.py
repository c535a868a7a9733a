"""Our defaults and their peers', one thread each, and what a fit of them comes to."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from benchmarks.data import Problem
from benchmarks.measure import time_call
from benchmarks.sets import REGRESSION, SETS
from mpboost import MPBoostClassifier, MPBoostRegressor


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
    make = MPBoostRegressor if problem.name in REGRESSION else MPBoostClassifier
    categorical = SETS[problem.name].categorical
    if categorical:
        parameters = {"categorical_features": categorical, **parameters}
    model = make(**parameters, random_state=seed)
    test_score, seconds = _measure(model, problem)
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
    return Outcome(*_measure(model, problem))


def fit_lightgbm(problem: Problem, seed: int) -> Outcome:
    """Fit LightGBM's defaults."""
    from lightgbm import LGBMClassifier

    categorical = list(SETS[problem.name].categorical) or "auto"
    model = LGBMClassifier(random_state=seed, n_jobs=1, verbosity=-1)
    return Outcome(*_measure(model, problem, categorical_feature=categorical))


def fit_hist_gradient_boosting(problem: Problem, seed: int) -> Outcome:
    """Fit scikit-learn's histogram booster."""
    categorical = list(SETS[problem.name].categorical) or None
    return Outcome(
        *_measure(HistGradientBoostingClassifier(categorical_features=categorical, random_state=seed), problem)
    )


def find_peers() -> dict[str, Callable[[Problem, int], Outcome]]:
    """Find what is installed to compare with."""
    peers = {"forest": fit_forest, "LightGBM": fit_lightgbm, "HistGradientBoosting": fit_hist_gradient_boosting}
    return {name: fit for name, fit in peers.items() if name != "LightGBM" or find_spec("lightgbm")}


def mean_of(outcomes: Iterable[Outcome], figure: str) -> float:
    """Average a figure over fits."""
    return float(np.mean([getattr(outcome, figure) for outcome in outcomes]))


def format_score(outcomes: list[Outcome]) -> str:
    """Write the mean of test scores with their standard deviation."""
    scores = [outcome.test_score for outcome in outcomes]
    if not scores:
        return ""
    return f"{np.mean(scores):.2f}" + (f" ± {np.std(scores, ddof=1):.2f}" if len(scores) > 1 else "")


def _measure(model: Any, problem: Problem, **fit_arguments: Any) -> tuple[float, float]:
    with threadpool_limits(1):
        fit = functools.partial(model.fit, problem.X_train, problem.y_train, **fit_arguments)
        seconds = time_call(fit, n_calls=1)
        return 100.0 * float(model.score(problem.X_test, problem.y_test)), seconds
