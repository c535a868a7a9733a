"""Facts about a model: those of a fitted one, or read from its file in little time, without trees or scikit-learn."""

import ast
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost.containers.attribute_kinds import Parts, refuse
from mpboost.containers.container import Arrays, ContainerError
from mpboost.estimators.row_attributes import OF_ALL
from mpboost.model_files.container import ModelFileError, read_container
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

#: The modules of the estimators.
HOMES = {
    "MPBoostClassifier": "mpboost.estimators.classifier",
    "MPBoostRegressor": "mpboost.estimators.regressor",
    "MPGradientBoostingClassifier": "mpboost.estimators.gradient_classifier",
    "MPGradientBoostingRegressor": "mpboost.estimators.gradient_regressor",
}


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a fitted model.

    Attributes
    ----------
    estimator : str
        Name of the class.
    parameters, defaults : dict
        Parameters of the model, and what they are by default.
    target_name : str or None
        Name of the target column, if the command line trained the model.
    classes, class_counts : arrays of shape (n_classes,), or None
        The classes, and how many rows each has; None for regression, and the counts of very many rows.
    feature_names : list of str
        Names of the features; x0, x1, ... if they have none.
    feature_probabilities : array of shape (n_features,)
        Probabilities q of the features.
    n_rows : int
        Number of training rows.
    score_name, oop_score, oop_interval, constant_score, n_iter, best_iteration, stop_reason, max_samples, max_features
        See the attributes of the estimators that have these names and an underscore at the end.
    """

    estimator: str
    parameters: dict[str, Any]
    defaults: dict[str, Any]
    target_name: str | None
    classes: NDArray[Any] | None
    class_counts: NDArray[np.intp] | None
    feature_names: list[str]
    feature_probabilities: Floats
    n_rows: int
    score_name: str
    oop_score: float
    oop_interval: Floats
    constant_score: float
    n_iter: int
    best_iteration: int
    stop_reason: str
    max_samples: int
    max_features: int


def collect_facts(model: Any) -> ModelFacts:
    """Collect the facts about a fitted model."""
    return _collect(type(model).__name__, model.get_params(), type(model)().get_params(), model)


def read_facts(path: str | os.PathLike[str]) -> ModelFacts:
    """Read the facts about a model from its file; ``load_model`` checks more: also the trees and the parameters.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    facts : ModelFacts
        The same as ``collect_facts(load_model(path))``.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a newer version.
    """
    try:
        return _read(*read_container(path))
    except ContainerError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error.__cause__


@np.errstate(over="ignore", invalid="ignore")  # checks refuse numbers that are too large
def _read(header: dict[str, Any], arrays: Arrays) -> ModelFacts:
    name, values = read_header(header, HOMES)
    parts, fitted = Parts(dict(values), dict(arrays)), SimpleNamespace()
    fields = (*FEATURES, CLASSES, *RUN, CLASS_TARGETS) if name.endswith("Classifier") else (*FEATURES, *RUN)
    for field in fields:
        if parts.has(field.name) or not field.optional:
            setattr(fitted, field.attribute, field.kind.read(parts, field.name))
    complete_rows(fitted, [name for name in OF_ALL if any(field.attribute == name for field in fields)])
    complete_scores(fitted)
    if hasattr(fitted, "classes_"):
        check_classes(fitted)
    defaults = read_defaults(name)
    parameters = {key: parts.take_value(key) for key in list(parts.values) if key.startswith("parameters.")}
    parameters = {key.removeprefix("parameters."): value for key, value in parameters.items()}
    for unknown in parameters.keys() - defaults.keys():
        refuse(f"parameters.{unknown}", "is unknown")
    return _collect(name, defaults | parameters, defaults, fitted)


def read_defaults(estimator: str) -> dict[str, Any]:
    """Read the parameters of an estimator and their defaults from its source, which is not imported.

    Examples
    --------
    >>> read_defaults("MPBoostClassifier")["n_estimators"]
    2000
    """
    spec = find_spec(HOMES[estimator])
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    (signature,) = (
        function.args
        for cls in tree.body
        if isinstance(cls, ast.ClassDef) and cls.name == estimator
        for function in cls.body
        if isinstance(function, ast.FunctionDef) and function.name == "__init__"
    )
    names = [argument.arg for argument in (*signature.args[1:], *signature.kwonlyargs)]
    values = [ast.literal_eval(value) for value in (*signature.defaults, *signature.kw_defaults) if value is not None]
    return dict(sorted(zip(names, values, strict=True)))


def _collect(estimator: str, parameters: dict[str, Any], defaults: dict[str, Any], fitted: Any) -> ModelFacts:
    classes, q = getattr(fitted, "classes_", None), fitted.feature_probabilities_
    targets = getattr(fitted, "_targets", None)  # of very many rows there are none
    return ModelFacts(
        estimator=estimator,
        parameters=parameters,
        defaults=defaults,
        target_name=getattr(fitted, "target_name_", None),
        classes=classes,
        class_counts=None if targets is None or classes is None else np.bincount(targets, minlength=len(classes)),
        feature_names=list(map(str, getattr(fitted, "feature_names_in_", [f"x{j}" for j in range(len(q))]))),
        feature_probabilities=q,
        n_rows=fitted.n_samples_,
        score_name=fitted.score_name_,
        oop_score=fitted.oop_score_,
        oop_interval=fitted.oop_interval_,
        constant_score=fitted.constant_score_,
        n_iter=fitted.n_iter_,
        best_iteration=fitted.best_iteration_,
        stop_reason=fitted.stop_reason_,
        max_samples=fitted.max_samples_,
        max_features=fitted.max_features_,
    )
