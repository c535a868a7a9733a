"""Bad parameters: an error that names the parameter, and a model that is as it was before."""

from copy import copy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mpboost import (
    Callback,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)
from tests.support.helpers import SMALL, Memory, make_integers

X, Y = make_integers(60)
N, M = X.shape


class Nameless(ClassifierMixin, BaseEstimator):
    """A classifier that tells nothing about features."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 0, 1, -1)


class Duck:
    """A classifier by its methods alone."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.ones(len(X))


# Values that every estimator refuses which has the parameter, and what the message says if not the parameter's name.
BAD_PARAMETERS = [
    ("estimator", "tree", None),
    ("estimator", 3, None),
    ("estimator", DecisionTreeClassifier, "instance"),
    ("n_estimators", 0, None),
    ("n_estimators", -1, None),
    ("n_estimators", 10.0, None),
    ("n_estimators", "many", None),
    ("n_estimators", None, None),
    ("max_samples", 0, None),
    ("max_samples", -3, None),
    ("max_samples", 0.0, None),
    ("max_samples", 1.5, None),
    ("max_samples", float("nan"), None),
    ("max_samples", "all", None),
    ("max_samples", None, None),
    ("max_samples", N + 1, f"{N}"),
    ("round_size", 0, None),
    ("round_size", -8, None),
    ("round_size", 1001, None),
    ("round_size", 2.0, None),
    ("round_size", "all", None),
    ("round_size", None, None),
    ("max_features", 0, None),
    ("max_features", -1, None),
    ("max_features", 0.0, None),
    ("max_features", 1.5, None),
    ("max_features", float("nan"), None),
    ("max_features", "log2", None),
    ("max_features", None, None),
    ("max_features", M + 1, f"{M}"),
    ("weighting", "soft", None),
    ("weighting", None, None),
    ("weighting", object(), None),
    ("weighting", abs, None),  # a function is no rule
    ("learning_rate", 0.0, None),
    ("learning_rate", -0.1, None),
    ("learning_rate", float("inf"), None),
    ("learning_rate", 1e308, None),  # times a few votes it is infinite
    ("learning_rate", float("nan"), None),
    ("learning_rate", "fast", None),
    ("multiclass", "ovr", None),
    ("multiclass", None, None),
    ("loss", "hinge", None),
    ("loss", None, None),
    ("alpha", 0.0, None),
    ("alpha", 1.0, None),
    ("max_leaf_nodes", 1, None),
    ("max_leaf_nodes", 2**16, None),
    ("max_leaf_nodes", "many", None),
    ("l2_regularization", -1.0, None),
    ("l2_regularization", None, None),
    ("leaf_refit", "yes", None),
    ("leaf_refit", None, None),
    ("observation_exploration", -0.1, None),
    ("observation_exploration", 1.1, None),
    ("feature_momentum", -0.1, None),
    ("feature_momentum", 1.1, None),
    ("feature_momentum", float("nan"), None),
    ("feature_momentum", None, None),
    ("feature_exploration", -0.1, None),
    ("feature_exploration", 1.1, None),
    ("feature_exploration", "some", None),
    ("adaptive_observations", "yes", None),
    ("adaptive_observations", None, None),
    ("adaptive_features", "no", None),
    ("adaptive_features", 2, None),
    ("importance", "split", None),
    ("importance", None, None),
    ("importance", object(), None),
    ("feature_update", "momentum", None),
    ("feature_update", {}, None),  # it has a method "update"
    ("monotonic_cst", 1, None),
    ("monotonic_cst", [2] * M, None),
    ("monotonic_cst", [1] * (M + 1), None),
    ("interaction_cst", "all", None),
    ("interaction_cst", [[0, M]], None),
    ("max_depth", 0, None),
    ("max_depth", -1, None),
    ("max_depth", 2.5, None),
    ("max_depth", 2**40, None),
    ("min_samples_leaf", 0, None),
    ("min_samples_leaf", 0.1, None),
    ("min_samples_leaf", 2**40, None),
    ("min_samples_split", 1, None),
    ("min_samples_split", 0.5, None),
    ("min_samples_split", 2**40, None),
    ("min_samples_split", "none", None),
    ("max_bins", 1, None),
    ("max_bins", 256, None),
    ("max_bins", 32.0, None),
    ("categorical_features", "all", None),
    ("categorical_features", [M], None),
    ("categorical_features", [True], None),
    ("class_weight", {0: 0.0, 1: 0}, None),
    ("class_weight", {0: 10**400}, None),
    ("class_weight", {0: -1.0}, None),
    ("class_weight", {1: float("nan")}, None),
    ("oop_size", -1, None),
    ("oop_size", 1.0, None),
    ("oop_size", N, None),
    ("n_models", 0, None),
    ("n_models", "many", None),
    ("stopping", "early", None),
    ("stopping", True, None),
    ("n_iter_no_change", 0, None),
    ("n_iter_no_change", 5.0, None),
    ("n_iter_no_change", None, None),
    ("scoring", "roc_aucc", None),
    ("scoring", 3, None),
    ("scoring", ["accuracy"], None),
    ("time_limit", 0, None),
    ("time_limit", "soon", None),
    ("warm_start", "yes", None),
    ("warm_start", None, None),
    ("callbacks", "progress", None),
    ("callbacks", Callback(), None),
    ("callbacks", [print], None),
    ("callbacks", [Callback], None),
    ("verbose", -1, None),
    ("verbose", "loud", None),
    ("n_jobs", 0, None),
    ("n_jobs", 1.5, None),
    ("n_jobs", "all", None),
    ("random_state", -1, None),
    ("random_state", 0.5, None),
    ("random_state", "seed", None),
    ("random_state", np.random.default_rng(0), None),
]

# What an estimator refuses that another one takes.
OWN_BAD_PARAMETERS = {
    MPBoostClassifier: [
        ("estimator", Duck(), "classifier"),
        ("estimator", LinearRegression(), "classifier"),
        ("estimator", DecisionTreeRegressor(), "classifier"),
        ("max_samples", N, "stopping=None"),
        ("max_samples", 1.0, "stopping=None"),
        ("weighting", "linear", None),
        ("importance", "gain", None),
    ],
    MPBoostRegressor: [
        ("estimator", Duck(), "regressor"),
        ("estimator", DecisionTreeClassifier(), "regressor"),
        ("max_samples", N, "stopping=None"),
        ("max_samples", 1.0, "stopping=None"),
        ("weighting", "logistic", None),
        ("importance", "gain", None),
    ],
    MPGradientBoostingClassifier: [
        ("loss", "squared_error", None),
        ("importance", "impurity", None),
        ("stopping", "paper", None),
    ],
    MPGradientBoostingRegressor: [
        ("loss", "log_loss", None),
        ("learning_rate", "auto", None),
        ("importance", "permutation", None),
        ("stopping", "paper", None),
    ],
}


def name_case(estimator, name, value):
    if isinstance(value, list):
        value = f"list-of-{getattr(value[0], '__name__', value[0])}"
    shown = value if isinstance(value, int | float | str | None) else type(value).__name__
    return f"{estimator.__name__}-{name}-{shown}"


CASES = [
    (estimator, *case)
    for estimator, own in OWN_BAD_PARAMETERS.items()
    for case in [*BAD_PARAMETERS, *own]
    if case[0] in estimator().get_params(deep=False)
]
bad_parameters = pytest.mark.parametrize(
    ("estimator", "name", "value", "word"), CASES, ids=[name_case(*case[:3]) for case in CASES]
)

REFUSED = (ValueError, TypeError)


@pytest.fixture(scope="module")
def fitted():
    """Models that tests may copy."""
    return {estimator: estimator(**SMALL).fit(X, Y) for estimator in OWN_BAD_PARAMETERS}


def make_model(**parameters):
    return MPBoostClassifier(**{**SMALL, **parameters})


@pytest.mark.parametrize("estimator", OWN_BAD_PARAMETERS)
def test_every_parameter_has_values_that_are_tried(estimator):
    assert {name for tried, name, *_ in CASES if tried is estimator} == estimator().get_params(deep=False).keys()


@bad_parameters
def test_fit_refuses_parameter(estimator, name, value, word):
    with pytest.raises(REFUSED, match=word or name):
        estimator(**{**SMALL, name: value}).fit(X, Y)


@bad_parameters
def test_fit_with_a_bad_parameter_leaves_a_fresh_estimator_unfitted(estimator, name, value, word):
    model = estimator(**{**SMALL, name: value})
    held = dict(vars(model))
    with pytest.raises(REFUSED):
        model.fit(X, Y)
    assert vars(model).keys() == held.keys()


@bad_parameters
def test_fit_with_a_bad_parameter_leaves_a_fitted_model_as_it_was(fitted, estimator, name, value, word):
    model = copy(fitted[estimator])
    memory = Memory(model, X)
    good = getattr(model, name)
    model.set_params(**{name: value})
    with pytest.raises(REFUSED):
        model.fit(X, Y)
    model.set_params(**{name: good})
    memory.assert_unchanged(model)


@pytest.mark.parametrize("estimator", [Nameless(), GaussianNB()], ids=["nameless", "bayes"])
def test_fit_refuses_impurity_of_an_estimator_that_tells_nothing_about_features(estimator):
    model = make_model().fit(X, Y)
    memory = Memory(model, X)
    model.set_params(estimator=estimator, importance="impurity")
    with pytest.raises(ValueError, match="permutation"):
        model.fit(X, Y)
    model.set_params(estimator=memory.held["estimator"], importance=memory.held["importance"])
    memory.assert_unchanged(model)


def test_fit_refuses_class_weights_whose_products_are_beyond_float64():
    with pytest.raises(ValueError, match="products with sample_weight must be finite"):
        make_model(class_weight={0: 1e308}).fit(X, Y, sample_weight=np.full(N, 1e10))


@pytest.mark.parametrize("estimator", ["tree", Duck(), DecisionTreeClassifier])
def test_predict_of_a_fresh_estimator_says_so_whatever_its_weak_learner(estimator):
    with pytest.raises(NotFittedError):
        make_model(estimator=estimator).predict(X)


@pytest.mark.parametrize("max_samples", [N, 1.0], ids=["all-rows", "whole-share"])
def test_fit_on_all_rows_is_allowed_without_stopping(max_samples):
    model = make_model(max_samples=max_samples, stopping=None).fit(X, Y)
    assert model.score(X, Y) == 1.0
    assert np.isnan(model.oop_score_)  # no row was ever out of a patch
    assert not model.oop_decision_function_.any()


def test_fit_refuses_unknown_parameters():
    with pytest.raises(TypeError, match="n_trees"):
        MPBoostClassifier(n_trees=10)


def test_fit_refuses_positional_parameters_after_the_first():
    with pytest.raises(TypeError, match="positional"):
        MPBoostClassifier(None, 100)
