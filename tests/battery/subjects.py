"""The estimators that the battery is run for, and what it has to know of each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeClassifier

from mpboost import MPBoostClassifier


@dataclass(frozen=True, eq=False)
class Subject:
    """An estimator as the battery sees it.

    Attributes
    ----------
    estimator : class
        The estimator.
    make_target : callable
        Turns real numbers that depend on X into targets of its kind.
    output, staged_output, oop_output : str
        What gives its raw output: of the whole model, of its first learners, and out of patch.
    score : callable
        Gives the score that the model publishes from targets, predictions and weights.
    score_output : callable
        Gives it from targets, raw output out of patch and weights.
    predictions : tuple of str
        The methods that predict.
    target_kinds : dict
        Other kinds of targets, by name: what turns ours into them.
    configurations : dict
        Parameters that scikit-learn's checks are run with, by name.
    """

    estimator: type[BaseEstimator]
    make_target: Callable[[np.ndarray], np.ndarray]
    output: str
    staged_output: str
    oop_output: str
    score: Callable[..., float]
    score_output: Callable[..., float]
    predictions: tuple[str, ...]
    target_kinds: dict[str, Callable[[np.ndarray], Any]]
    configurations: dict[str, dict[str, Any]]

    @property
    def name(self):
        return self.estimator.__name__

    def make(self, **parameters):
        """Make a model that is fitted in a moment."""
        quick = {"n_estimators": 30, "max_samples": 40, "max_features": 3, "stopping": None, "random_state": 0}
        return self.estimator(**quick | parameters)

    def make_data(self, n_samples=300, seed=0):
        """Make whole numbers, which every type of number and every frame can hold, and noisy targets."""
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 60, size=(n_samples, 5))
        return X, self.make_target(X[:, 0] + X[:, 1] + rng.integers(-15, 15, size=n_samples) - 59)

    def run(self, model, X):
        """Give the raw output of a model."""
        return getattr(model, self.output)(X)

    def run_stages(self, model, X):
        """Give the raw output of the first learner, of the first two, ..."""
        return list(getattr(model, self.staged_output)(X))


def score_decisions(y, decision, sample_weight=None):
    """Give the accuracy of decisions, of which one of zero is wrong."""
    return np.average((decision != 0) & ((decision > 0) == y), weights=sample_weight)


CLASSIFIER = Subject(
    MPBoostClassifier,
    make_target=lambda values: (values > 0).astype(int),
    output="decision_function",
    staged_output="staged_decision_function",
    oop_output="oop_decision_function_",
    score=accuracy_score,
    score_output=score_decisions,
    predictions=("decision_function", "predict", "predict_proba"),
    target_kinds={
        "bools": lambda y: y == 1,
        "words": lambda y: np.array(["no", "yes"])[y],
        "categories": lambda y: pd.Categorical(np.array(["no", "yes"])[y]),
        "large-integers": lambda y: np.array([-(2**40), 2**40])[y],
    },
    configurations={
        "default": {},
        "stopping-none": {"stopping": None},
        "stopping-paper": {"stopping": "paper"},
        "permutation": {"importance": "permutation"},
        "warm-start": {"warm_start": True},
        "two-threads": {"n_jobs": 2},
        "weak-learner": {"estimator": DecisionTreeClassifier(max_depth=2)},
    },
)

#: All public estimators.
SUBJECTS = (CLASSIFIER,)
