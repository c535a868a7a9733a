"""The estimators that the battery is run for, and what it has to know of each."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)
from tests.support.rules import Costs, Hedge, Tilted

#: Parameters with rules such as users write.
RULES = {"weighting": Tilted(), "importance": Costs(), "feature_update": Hedge()}


@dataclass(frozen=True, eq=False)
class Subject:
    """An estimator, with a kind of targets, as the battery sees it.

    Attributes
    ----------
    estimator : class
        The estimator.
    make_target : callable
        Turns real numbers, mostly between -1 and 1, that depend on X into targets of its kind.
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
        Parameters that scikit-learn's checks are run with, by name; none where another subject has the same estimator.
    parameters : dict
        Parameters that all its models have.
    eager : dict
        Parameters that let p move far within a few iterations.
    weight_effect : float
        How many times as much as chance weights must change the outputs.
    least_score : float
        What a small model scores at least on new rows.
    without_oop : dict
        Parameters with which no row is out of patch; trees on all rows differ by their features alone, which few of
        them must find.
    of_all_rows : dict
        Parameters with which the training score is that of the model on all rows.
    precision : float
        How precise the training and the out-of-patch scores are: raw outputs may be added up in single precision.
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
    configurations: dict[str, dict[str, Any]] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    eager: dict[str, Any] = field(default_factory=dict)
    weight_effect: float = 10.0
    least_score: float = 0.6
    without_oop: dict[str, Any] = field(
        default_factory=lambda: {
            "max_samples": 1.0,
            "importance": "impurity",
            "feature_momentum": 0.5,
            "feature_exploration": 0.0,
        }
    )
    of_all_rows: dict[str, Any] = field(default_factory=dict)
    precision: float = 1e-12

    @property
    def name(self):
        return self.estimator.__name__

    @property
    def has_labels(self):
        return not is_regressor(self.estimator())

    def make(self, **parameters):
        """Make a model that is fitted in a moment."""
        quick = {"n_estimators": 30, "max_samples": 40, "max_features": 3, "stopping": None, "random_state": 0}
        return self.estimator(**quick | self.parameters | parameters)

    def make_data(self, n_samples=300, seed=0):
        """Make whole numbers, which every type of number and every frame can hold, and noisy targets."""
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 60, size=(n_samples, 5))
        return X, self.make_target((X[:, 0] + X[:, 1] + rng.integers(-15, 15, size=n_samples) - 59) / 30)

    def run(self, model, X):
        """Give the raw output of a model."""
        return getattr(model, self.output)(X)

    def run_stages(self, model, X):
        """Give the raw output of the first learner, of the first two, ..."""
        return list(getattr(model, self.staged_output)(X))


def make_classes(values):
    """Make four classes out of stretches of real numbers."""
    return np.digitize(values, [-0.6, 0.0, 0.6])


def score_signs(y, decision, sample_weight=None):
    """Give the accuracy of decisions about two classes, of which one of zero is wrong."""
    return np.average((decision != 0) & ((decision > 0) == y), weights=sample_weight)


def score_log_odds(y, decision, sample_weight=None):
    """Give the accuracy of log odds of two classes, of which zero is for the second."""
    return np.average((decision >= 0) == y, weights=sample_weight)


def score_votes(y, votes, sample_weight=None):
    """Give the accuracy of votes for many classes; where the most votes are for several the row is wrong."""
    others = votes.copy()
    others[np.arange(len(y)), y] = -np.inf
    return np.average(votes[np.arange(len(y)), y] > others.max(axis=1), weights=sample_weight)


def score_numbers(y, predictions, sample_weight=None):
    """Give the R^2 of predictions; where there is none the mean takes its place."""
    return r2_score(
        y,
        np.where(np.isnan(predictions), np.average(y, weights=sample_weight), predictions),
        sample_weight=sample_weight,
    )


WORDS = np.array(["no", "perhaps", "probably", "yes"])
CLASSIFIES = {
    "estimator": MPBoostClassifier,
    "output": "decision_function",
    "staged_output": "staged_decision_function",
    "oop_output": "oop_decision_function_",
    "score": accuracy_score,
    "predictions": ("decision_function", "predict", "predict_proba", "predict_vote_share"),
    "eager": {"learning_rate": 0.1},
}
SEPARATE_CLASSES = {
    **CLASSIFIES,
    "make_target": make_classes,
    "score_output": score_votes,
    "target_kinds": {
        "words": lambda y: WORDS[y],
        "categories": lambda y: pd.Categorical(WORDS[y]),
        "large-integers": lambda y: np.array([-(2**40), 0, 1, 2**40])[y],
    },
}

CLASSIFIER = Subject(
    **CLASSIFIES,
    make_target=lambda values: (values > 0).astype(int),
    score_output=score_signs,
    target_kinds={
        "bools": lambda y: y == 1,
        "words": lambda y: np.array(["no", "yes"])[y],
        "categories": lambda y: pd.Categorical(np.array(["no", "yes"])[y]),
        "large-integers": lambda y: np.array([-(2**40), 2**40])[y],
    },
    configurations={
        "default": {},
        "stopping-paper": {"stopping": "paper"},
        "permutation": {"importance": "permutation", "stopping": None},
        "warm-start": {"warm_start": True},
        "two-threads": {"n_jobs": 2},
        "m2": {"multiclass": "m2"},
        "mh": {"multiclass": "mh"},
        "oc": {"multiclass": "oc"},
        "weak-learner": {"estimator": DecisionTreeClassifier(max_depth=2)},
        "rules": RULES,
    },
)
MANY_CLASSES = Subject(**SEPARATE_CLASSES)
COLOURED_CLASSES = Subject(  # noisier than the others, with so few learners
    **SEPARATE_CLASSES, parameters={"multiclass": "oc"}, weight_effect=3.0, least_score=0.5
)
REGRESSOR = Subject(
    MPBoostRegressor,
    make_target=lambda values: np.round(8 * values) / 8,  # numbers that a float32 can hold
    output="predict",
    staged_output="staged_predict",
    oop_output="oop_prediction_",
    score=r2_score,
    score_output=score_numbers,
    predictions=("predict",),
    target_kinds={
        "single": lambda y: y.astype(np.float32),
        "list": lambda y: y.tolist(),
        "series": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
        "nullable": lambda y: pd.Series(y, dtype="Float64"),
        "objects": lambda y: y.astype(object),
    },
    configurations={
        "default": {},
        "stopping-paper": {"stopping": "paper"},
        "threshold": {"weighting": "threshold", "importance": "permutation", "stopping": None},
        "warm-start": {"warm_start": True},
        "two-threads": {"n_jobs": 2},
        "weak-learner": {"estimator": DecisionTreeRegressor(max_depth=2)},
        "rules": RULES,
    },
)

GRADIENTS = {
    "parameters": {"learning_rate": 0.3, "n_models": 5, "oop_size": 0.2},
    "without_oop": {"oop_size": 0, "n_models": 1},
    "of_all_rows": {"oop_size": 0, "n_models": 1},
    "precision": 1e-5,
}
GRADIENT_CONFIGURATIONS = {
    "default": {"learning_rate": 0.5},
    "one-model": {"n_models": 1, "learning_rate": 0.3},
    "no-refit": {"leaf_refit": False, "learning_rate": 0.3},
    "warm-start": {"warm_start": True, "learning_rate": 0.5},
    "two-threads": {"n_jobs": 2, "learning_rate": 0.5},
}
GRADIENT_CLASSIFIES = {
    **GRADIENTS,
    "estimator": MPGradientBoostingClassifier,
    "predictions": ("decision_function", "predict", "predict_proba"),
    "eager": {},
}
GRADIENT_CLASSIFIER = replace(
    CLASSIFIER, **GRADIENT_CLASSIFIES, score_output=score_log_odds, configurations=GRADIENT_CONFIGURATIONS
)
GRADIENT_CLASSES = replace(MANY_CLASSES, **GRADIENT_CLASSIFIES)
GRADIENT_REGRESSOR = replace(
    REGRESSOR,
    **GRADIENTS,
    estimator=MPGradientBoostingRegressor,
    configurations={**GRADIENT_CONFIGURATIONS, "absolute": {"loss": "absolute_error", "learning_rate": 0.5}},
)

#: What the battery is run for: all public estimators, some in several variants.
SUBJECTS = (
    CLASSIFIER,
    MANY_CLASSES,
    COLOURED_CLASSES,
    REGRESSOR,
    GRADIENT_CLASSIFIER,
    GRADIENT_CLASSES,
    GRADIENT_REGRESSOR,
)
