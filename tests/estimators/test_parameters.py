"""Bad parameters: an error that names the parameter, and a model that is as it was before."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mpboost import Callback, MPBoostClassifier
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


# Parameters, and what the message speaks of if not of the parameter's name.
BAD_PARAMETERS = [
    ("estimator", "tree", None),
    ("estimator", 3, None),
    ("estimator", DecisionTreeClassifier, "instance"),
    ("estimator", Duck(), "classifier"),
    ("estimator", LinearRegression(), "classifier"),
    ("estimator", DecisionTreeRegressor(), "classifier"),
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
    ("max_samples", N, "stopping=None"),
    ("max_samples", 1.0, "stopping=None"),
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
    ("learning_rate", 0.0, None),
    ("learning_rate", -0.1, None),
    ("learning_rate", float("inf"), None),
    ("learning_rate", 1e308, None),  # times a few votes it is infinite
    ("learning_rate", float("nan"), None),
    ("learning_rate", "fast", None),
    ("multiclass", "ovr", None),
    ("multiclass", None, None),
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
    ("importance", "gain", None),
    ("importance", None, None),
    ("max_depth", 0, None),
    ("max_depth", -1, None),
    ("max_depth", 2.5, None),
    ("max_depth", 2**40, None),
    ("min_samples_leaf", 0, None),
    ("min_samples_leaf", 0.1, None),
    ("min_samples_leaf", 2**40, None),
    ("max_bins", 1, None),
    ("max_bins", 256, None),
    ("max_bins", 32.0, None),
    ("class_weight", {0: 0.0, 1: 0}, None),
    ("class_weight", {0: 10**400}, None),
    ("class_weight", {0: -1.0}, None),
    ("class_weight", {1: float("nan")}, None),
    ("stopping", "early", None),
    ("stopping", True, None),
    ("n_iter_no_change", 0, None),
    ("n_iter_no_change", 5.0, None),
    ("n_iter_no_change", None, None),
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


def name_case(case):
    name, value, _ = case
    if isinstance(value, list):
        return f"{name}-list-of-{getattr(value[0], '__name__', value[0])}"
    return f"{name}-{value if isinstance(value, int | float | str | None) else type(value).__name__}"


bad_parameters = pytest.mark.parametrize(
    ("name", "value", "word"), BAD_PARAMETERS, ids=[name_case(case) for case in BAD_PARAMETERS]
)

REFUSED = (ValueError, TypeError)


def make_model(**parameters):
    return MPBoostClassifier(**{**SMALL, **parameters})


@bad_parameters
def test_fit_refuses_parameter(name, value, word):
    with pytest.raises(REFUSED, match=word or name):
        make_model(**{name: value}).fit(X, Y)


@bad_parameters
def test_fit_with_a_bad_parameter_leaves_a_fresh_estimator_unfitted(name, value, word):
    model = make_model(**{name: value})
    held = dict(vars(model))
    with pytest.raises(REFUSED):
        model.fit(X, Y)
    assert vars(model).keys() == held.keys()


@bad_parameters
def test_fit_with_a_bad_parameter_leaves_a_fitted_model_as_it_was(name, value, word):
    model = make_model().fit(X, Y)
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
    with pytest.raises(ValueError, match="too large"):
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
