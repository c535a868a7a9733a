"""Allowed values of the estimators' parameters, as constraints of scikit-learn."""

from numbers import Integral, Real
from typing import Any

from mpboost._compat import HasMethods, Interval, StrOptions
from mpboost.learners.gradient_trees import MAX_LEAVES

#: A larger learning rate would make the weighting overflow.
MAX_LEARNING_RATE = 1e6

#: Learners of a round are kept until they are taken in.
MAX_ROUND_SIZE = 1000

#: Parameters that may be rules of the user, which only training needs.
RULE_PARAMETERS = ("weighting", "importance", "feature_update")

COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    "estimator": [HasMethods(["fit", "predict"]), None],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "max_samples": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Real, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "auto"}),
    ],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Real, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "auto"}),
    ],
    "round_size": [Interval(Integral, 1, MAX_ROUND_SIZE, closed="both"), StrOptions({"auto"})],
    "feature_momentum": [Interval(Real, 0.0, 1.0, closed="both")],
    "feature_exploration": [Interval(Real, 0.0, 1.0, closed="both")],
    "adaptive_observations": ["boolean"],
    "adaptive_features": ["boolean"],
    "importance": [StrOptions({"out_of_patch", "impurity", "permutation"}), HasMethods(["credit_features"])],
    "feature_update": [HasMethods(["update_probabilities"]), None],
    "max_depth": [Interval(Integral, 1, 2**31 - 1, closed="left"), None],
    "min_samples_leaf": [Interval(Integral, 1, 2**31 - 1, closed="left")],
    "min_samples_split": [Interval(Integral, 2, 2**31 - 1, closed="left"), StrOptions({"auto"})],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "stopping": [StrOptions({"patience", "paper"}), None],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "scoring": [str, callable, None],
    "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
    "warm_start": ["boolean"],
    "callbacks": [list, tuple, None],
    "verbose": ["verbose"],
    "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
    "random_state": ["random_state"],
}

#: Rules of the user for p: by margins, or by all rows.
_WEIGHTING_RULES = [HasMethods(["log_weight"]), HasMethods(["log_weight_rows"])]

CLASSIFIER_CONSTRAINTS: dict[str, list[Any]] = COMMON_CONSTRAINTS | {
    "weighting": [StrOptions({"exponential", "logistic", "hard_exponential", "hard_logistic"}), *_WEIGHTING_RULES],
    "learning_rate": [Interval(Real, 0.0, MAX_LEARNING_RATE, closed="right"), StrOptions({"auto"})],
    "multiclass": [StrOptions({"margin", "m2", "mh", "oc"})],
    "class_weight": [dict, StrOptions({"balanced"}), None],
}

REGRESSOR_CONSTRAINTS: dict[str, list[Any]] = COMMON_CONSTRAINTS | {
    "weighting": [StrOptions({"linear", "square", "exponential", "threshold"}), *_WEIGHTING_RULES],
    "observation_exploration": [Interval(Real, 0.0, 1.0, closed="both")],
}

_NOT_OF_GRADIENTS = {"estimator", "importance", "feature_update", "min_samples_split", "stopping"}
_GRADIENT_CONSTRAINTS: dict[str, list[Any]] = {
    name: allowed for name, allowed in COMMON_CONSTRAINTS.items() if name not in _NOT_OF_GRADIENTS
} | {
    "learning_rate": [Interval(Real, 0.0, MAX_LEARNING_RATE, closed="right")],
    "max_leaf_nodes": [Interval(Integral, 2, MAX_LEAVES, closed="both"), StrOptions({"auto"}), None],
    "l2_regularization": [Interval(Real, 0.0, None, closed="left")],
    "leaf_refit": ["boolean"],
    "observation_exploration": [Interval(Real, 0.0, 1.0, closed="both")],
    "importance": [StrOptions({"out_of_patch", "gain"})],
    "monotonic_cst": ["array-like", dict, None],
    "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
    "oop_size": [
        Interval(Integral, 0, None, closed="left"),
        Interval(Real, 0.0, 1.0, closed="neither"),
        StrOptions({"auto"}),
    ],
    "n_models": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "stopping": [StrOptions({"patience"}), None],
}

GRADIENT_CLASSIFIER_CONSTRAINTS: dict[str, list[Any]] = _GRADIENT_CONSTRAINTS | {
    "learning_rate": [*_GRADIENT_CONSTRAINTS["learning_rate"], StrOptions({"auto"})],
    "loss": [StrOptions({"log_loss"}), HasMethods(["gradient_hessian"])],
    "class_weight": [dict, StrOptions({"balanced"}), None],
}

GRADIENT_REGRESSOR_CONSTRAINTS: dict[str, list[Any]] = _GRADIENT_CONSTRAINTS | {
    "loss": [
        StrOptions({"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"}),
        HasMethods(["gradient_hessian"]),
    ],
    "alpha": [Interval(Real, 0.0, 1.0, closed="neither")],
}


def list_rules(model: Any) -> list[str]:
    """List the parameters of an estimator that are rules of the user."""
    return [name for name in RULE_PARAMETERS if not isinstance(getattr(model, name, None), str | None)]
