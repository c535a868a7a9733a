"""Save and load models in files that are safe to load: no pickle, no code is run, and all content is checked.

This module and ``fields.py`` list the attributes of each model. ``attribute_kinds.py`` writes and reads their kinds,
``container.py`` the file, ``old_formats.py`` adds what older files lack. docs/model-file.md describes the format.
"""

import os
import warnings
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mpboost.boosting.ensembles import TreeEnsemble
from mpboost.containers.attribute_kinds import (
    FINITE,
    FINITE_OR_NAN,
    ONE,
    Array,
    AttributeKind,
    Decisions,
    Field,
    ObjectState,
    Parts,
    Plain,
    Rule,
    Scalar,
    refuse,
)
from mpboost.containers.container import Arrays, ContainerError
from mpboost.containers.features import check_categories
from mpboost.data.checks import MAX_VALUE
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.classifier import MPBoostClassifier
from mpboost.estimators.gradient_classifier import MPGradientBoostingClassifier
from mpboost.estimators.gradient_regressor import MPGradientBoostingRegressor
from mpboost.estimators.parameters import MAX_LEARNING_RATE, RULE_PARAMETERS, list_rules
from mpboost.estimators.regressor import MPBoostRegressor
from mpboost.estimators.row_attributes import list_row_attributes
from mpboost.model_files.container import ModelFileError, read_container, write_container
from mpboost.model_files.fields import (
    CLASS_TARGETS,
    CLASSES,
    FEATURES,
    RUN,
    check_classes,
    complete_rows,
    complete_scores,
    read_header,
)
from mpboost.model_files.old_formats import estimate_oop_counts
from mpboost.outputs.calibration import VoteCalibration
from mpboost.outputs.kinds import ClassVotes
from mpboost.tasks.losses import VALUE_LOSSES

PERMUTATION = Rule(lambda ranks: np.array_equal(np.sort(ranks), np.arange(len(ranks))), "must be a permutation")
SIGNS = Rule(lambda values: np.all((values == 1) | (values == -1)), "must be -1 or 1")
LEARNING_RATE = Rule(lambda value: 0 < value <= MAX_LEARNING_RATE, f"must be positive, at most {MAX_LEARNING_RATE:g}")
#: Means of numbers that can be predicted; rounding may carry them a little above the limit.
PREDICTABLE = Rule(lambda values: np.all(np.abs(values) <= MAX_VALUE * ONE), f"must be at most {MAX_VALUE:g} in size")

COVER = Rule(lambda values: np.all((values >= 0) & np.isfinite(values)), "must be finite and not negative")
#: Numbers whose sum over any number of trees is finite.
SUMMABLE = Rule(lambda values: np.all(np.abs(values) <= 1e200), "must be at most 1e+200 in size")


#: Out-of-patch outputs of classifiers; those of regressors, and their targets.
OOP_DECISIONS = Field(
    "oop_decision_function_", Decisions("float64", "n_samples", "n_classes", rule=FINITE_OR_NAN), optional=True
)
OOP_NUMBERS = tuple(
    Field(name, Array("float64", "n_samples", rule=FINITE_OR_NAN), optional=True)
    for name in ("oop_prediction_", "_targets")
)


def describe_trees(leaf_values: AttributeKind) -> ObjectState:
    """List the fields of an ensemble of trees; leaf values have a second axis if trees have several outputs."""
    return ObjectState(
        TreeEnsemble,
        Field("edges", Array("float64", "n_edges")),
        Field("edge_offsets", Array("int64", "n_features+1")),
        Field("splits", Array("uint8", "n_split_bytes")),
        Field("category_sets", Array("uint8", "n_category_bytes")),
        Field("leaf_values", leaf_values),
        Field("split_offsets", Array("int64", "n_trees+1")),
        Field("leaf_covers", Array("float32", "n_leaves", rule=COVER), optional=True),  # none before format 6
    )


def _list_run_fields(leaf_values: AttributeKind) -> tuple[Field, ...]:
    return (*RUN, Field("_ensemble", describe_trees(leaf_values)))


def _list_gradient_fields(baseline: Array, losses: Iterable[str]) -> tuple[Field, ...]:
    return (
        Field("_loss", Scalar(str, rule=Rule(lambda name: name in losses, "is unknown"))),
        Field("n_models_", Scalar(int, size="n_models")),
        Field("baseline_", baseline),
        Field("oop_losses_", Array("float64", "n_iterations", rule=FINITE_OR_NAN)),
        Field("validation_losses_", Array("float64", "n_iterations", rule=FINITE), optional=True),
    )


#: The attributes of each estimator.
FIELDS: dict[type[BaseEstimator], tuple[Field, ...]] = {
    MPBoostClassifier: (
        *FEATURES,
        CLASSES,
        *_list_run_fields(Array("float64", "n_leaves", rule=FINITE)),
        Field(
            "oop_decision_function_", Decisions("float64", "n_samples", "n_classes", rule=FINITE_OR_NAN), optional=True
        ),
        Field("_calibration", ObjectState(VoteCalibration, Field("slopes", Array("float64", "n_classes")))),
        Field("_ranks", Array("uint16", "n_classes", rule=PERMUTATION)),
        Field("_colours", Array("int8", "n_trees", "n_classes", rule=SIGNS), optional=True),
        Field("learning_rate_", Scalar(float, rule=LEARNING_RATE)),
        CLASS_TARGETS,
    ),
    MPBoostRegressor: (
        *FEATURES,
        *_list_run_fields(Array("float64", "n_leaves", rule=PREDICTABLE)),
        *OOP_NUMBERS,
    ),
    MPGradientBoostingClassifier: (
        *FEATURES,
        CLASSES,
        *_list_run_fields(Decisions("float64", "n_leaves", "n_classes", rule=SUMMABLE)),
        *_list_gradient_fields(Decisions("float64", "n_classes", rule=SUMMABLE), ["log_loss"]),
        Field(
            "oop_decision_function_", Decisions("float64", "n_samples", "n_classes", rule=FINITE_OR_NAN), optional=True
        ),
        CLASS_TARGETS,
    ),
    MPGradientBoostingRegressor: (
        *FEATURES,
        *_list_run_fields(Array("float64", "n_leaves", rule=SUMMABLE)),
        *_list_gradient_fields(Array("float64", 1, rule=SUMMABLE), VALUE_LOSSES),
        *OOP_NUMBERS,
    ),
}

ESTIMATORS = {cls.__name__: cls for cls in FIELDS}

#: Parameters that may be objects: these are saved as None.
OBJECT_PARAMETERS = {"callbacks", "random_state", "scoring"}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model in one file that is safe to load.

    If saving fails, an older file of this name stays unchanged. Callbacks, instances of RandomState and a
    function as ``scoring`` are not saved: these parameters become None. Nor are rules of your own (``mpboost.rules``):
    the loaded model predicts the same, but has the defaults of these parameters, of which a warning tells.

    Parameters
    ----------
    model : estimator
        A fitted estimator of mpboost with native trees and a built-in ``loss``.
    path : str or path
        The file to write.

    See Also
    --------
    load_model : Load a model.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import mpboost
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = mpboost.MPBoostClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.mpb")
    ...     mpboost.save_model(model, path)
    ...     same = mpboost.load_model(path)
    >>> np.array_equal(model.decision_function(X), same.decision_function(X))
    True
    """
    if type(model) not in FIELDS:
        (*kinds, last), name = ESTIMATORS, type(model).__name__
        advice = "pass model.to_local()" if hasattr(model, "to_local") else "use pickle or skops"
        raise TypeError(f"Only {', '.join(kinds)} and {last} can be saved in a model file, not {name}; {advice}.")
    check_is_fitted(model)
    header, arrays = _pack(model)
    try:
        _unpack(header, arrays)
    except ContainerError as error:
        raise ValueError(f"The model cannot be saved: {error} Was it changed after the fit?") from error
    write_container(path, header, arrays)
    rules = sorted(list_rules(model))
    if rules:
        named = ", ".join(f"{name}={type(getattr(model, name)).__name__}" for name in rules)
        warnings.warn(
            f"Rules of your own are not saved ({named}): the loaded model predicts the same, but has the default of "
            f"{' and '.join(rules)}. Set your rules again before you fit it anew.",
            stacklevel=2,
        )


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file of ``save_model``; its predictions are the same to the last bit.

    Files from unknown sources are safe to load: no code is run, and damaged or forged files raise an error.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model : estimator
        The fitted model. It can predict, but its training cannot be continued.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a newer version.

    See Also
    --------
    save_model : Save a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> path = Path(tempfile.mkdtemp()) / "iris.mpb"
    >>> save_model(MPBoostClassifier(n_estimators=10).fit(X, y), path)
    >>> load_model(path).classes_
    array([0, 1, 2])
    """
    try:
        return _unpack(*read_container(path))
    except ContainerError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error.__cause__


def _pack(model: MinipatchBooster) -> tuple[dict[str, Any], Arrays]:
    """Turn a model into a header and arrays."""
    parts = Parts()
    for field in FIELDS[type(model)]:
        if hasattr(model, field.attribute) or not field.optional:
            field.kind.write(parts, field.name, getattr(model, field.attribute))
    for name, value in model.get_params(deep=False).items():
        try:
            Plain().write(parts, f"parameters.{name}", value)
        except TypeError:
            if name in OBJECT_PARAMETERS:
                Plain().write(parts, f"parameters.{name}", None)
            elif name not in RULE_PARAMETERS:  # a loaded model has the defaults of these
                raise
    header = {"estimator": type(model).__name__, "version": version("mpboost"), "values": parts.values}
    return header, parts.arrays


@np.errstate(over="ignore", invalid="ignore")  # checks refuse numbers that are too large
def _unpack(header: dict[str, Any], arrays: Arrays) -> Any:
    """Make a model from a header and arrays, and check it."""
    name, values = read_header(header, ESTIMATORS)
    cls = ESTIMATORS[name]
    parts = Parts(dict(values), dict(arrays))
    model = cls(**_unpack_parameters(cls, parts))
    for field in FIELDS[cls]:
        if parts.has(field.name) or not field.optional:
            setattr(model, field.attribute, field.kind.read(parts, field.name))
    for left in (*parts.values, *parts.arrays):
        refuse(left, "is unknown")
    check_categories(vars(model), _get_trees(model).mapper.offsets)
    complete_scores(model)
    if hasattr(model, "classes_"):
        _check_votes(model)
    if complete_rows(model, list_row_attributes(cls)):
        if not hasattr(model, "oop_counts_"):
            model.oop_counts_ = estimate_oop_counts(model)
        _check_oop_counts(model)
    return model


def _get_trees(model: MinipatchBooster) -> TreeEnsemble:
    """Give the ensemble, which is of trees: no other is kept in files."""
    assert isinstance(model._ensemble, TreeEnsemble)
    return model._ensemble


def _check_votes(model: MinipatchBooster) -> None:
    """Check that targets and votes refer to classes that exist."""
    check_classes(model)
    n_classes = len(model.classes_)
    if n_classes == 2 and hasattr(model, "_colours"):
        refuse("colours", "are for more than two classes")
    if isinstance(model._outputs, ClassVotes):
        votes = _get_trees(model).forest.leaf_values
        if not np.all((votes >= 0) & (votes < n_classes) & (votes == np.floor(votes))):
            refuse("ensemble", "votes for classes that do not exist")


def _check_oop_counts(model: MinipatchBooster) -> None:
    """Check the counts of learners against the number of learners, the votes, the predictions and the targets."""
    counts = model.oop_counts_
    if counts.min(initial=0) < 0 or counts.max(initial=0) > model.best_iteration_:
        refuse("oop_counts", "must be between 0 and best_iteration")
    output = model.oop_decision_function_ if hasattr(model, "classes_") else model.oop_prediction_
    most = output if output.ndim == 1 else output.max(axis=1)
    if np.any((np.isnan(most) | np.isnan(model._targets)) & (counts > 0)):
        refuse("oop_counts", "must be 0 for rows without a prediction or a target")
    if hasattr(model, "_ranks"):
        has_too_many_votes = np.abs(most) > counts * (model.learning_rate_ * ONE)
        if has_too_many_votes.any() or (output.ndim == 2 and np.any(output < 0)):
            refuse("oop_counts", "does not match oop_decision_function")


def _unpack_parameters(cls: type[BaseEstimator], parts: Parts) -> dict[str, Any]:
    """Read the parameters; one that is newer than the file gets its default."""
    names = [name for name in cls._get_param_names() if f"parameters.{name}" in parts.values]
    try:
        parameters = {name: parts.take_value(f"parameters.{name}") for name in names}
        cls(**parameters)._validate_params()
    except ContainerError:
        raise
    except ValueError as error:
        raise ModelFileError(f"it does not contain a valid model: {error}") from error
    return parameters
