"""From what is asked for on the command line to an estimator, and to what a search tries."""

import ast
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import typer

from mpboost.cli.targets import Task
from mpboost.cli.wording import find_closest
from mpboost.estimators.classifier import MPBoostClassifier
from mpboost.estimators.gradient_classifier import MPGradientBoostingClassifier
from mpboost.estimators.gradient_regressor import MPGradientBoostingRegressor
from mpboost.estimators.presets import PAPER
from mpboost.estimators.regressor import MPBoostRegressor

#: How words are read that Python spells in another way, or that stand for no word.
CONSTANTS = {"none": None, "null": None, "true": True, "false": False}

#: Parameters that are objects, or that a single run has no use for.
NOT_HERE = {"callbacks", "estimator", "verbose", "warm_start"}


class Preset(StrEnum):
    """Which estimator, with which parameters."""

    DEFAULT = "default"
    PAPER = "paper"
    GRADIENT = "gradient"


#: What a search tries where nobody says.
GRIDS: dict[type, dict[str, list[Any]]] = {
    MPBoostClassifier: {"max_samples": ["auto", 0.2, 0.5], "learning_rate": ["auto", 0.01, 0.03]},
    MPBoostRegressor: {"max_samples": ["auto", 0.2, 0.5], "min_samples_leaf": [1, 3, 10]},
    MPGradientBoostingClassifier: {"learning_rate": [0.03, 0.1, 0.2], "max_leaf_nodes": ["auto", 15, 63]},
    MPGradientBoostingRegressor: {"learning_rate": [0.03, 0.1, 0.2], "max_leaf_nodes": ["auto", 15, 63]},
}


def make_estimator(task: Task, preset: Preset, settings: Sequence[str]) -> Any:
    """Make an estimator with parameters given as ``key=value``."""
    parameters: dict[str, Any] = {"random_state": 0, "n_jobs": -1}
    cls: type[Any] = MPBoostClassifier if task is Task.CLASSIFICATION else MPBoostRegressor
    if preset is Preset.GRADIENT:
        cls = MPGradientBoostingClassifier if task is Task.CLASSIFICATION else MPGradientBoostingRegressor
    elif preset is Preset.PAPER:
        if task is not Task.CLASSIFICATION:
            raise typer.BadParameter("the paper is about classes: use default or gradient.", param_hint="--preset")
        parameters |= PAPER | {"max_samples": 0.1, "max_features": 0.1}  # "around ten percent"
    for setting in settings:
        key, value = _split(setting, "--set")
        _check_key(key, cls(), "--set")
        parameters[key] = parse_value(value)
    estimator = cls(**parameters)
    try:
        estimator._validate_params()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from error
    return estimator


def make_grid(estimator: Any, choices: Sequence[str]) -> dict[str, list[Any]]:
    """Make a grid of parameters given as ``key=value,value``, or take ours."""
    grid = {}
    for choice in choices:
        key, values = _split(choice, "--grid")
        _check_key(key, estimator, "--grid")
        grid[key] = [parse_value(value) for value in values.split(",")]
    return grid or GRIDS[type(estimator)]


def parse_value(text: str) -> Any:
    """Read a value as Python would, or as a word.

    Examples
    --------
    >>> [parse_value(text) for text in ("3", "0.5", "true", "none", "sqrt", "['a', 'b']")]
    [3, 0.5, True, None, 'sqrt', ['a', 'b']]
    """
    text = text.strip()
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def list_changes(model: Any) -> dict[str, Any]:
    """List the parameters of a model that are not those of its class."""
    defaults = type(model)().get_params()
    return {
        name: value
        for name, value in model.get_params().items()
        if name not in NOT_HERE and not (value is defaults[name] or value == defaults[name])
    }


def _split(setting: str, option: str) -> tuple[str, str]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise typer.BadParameter(f"{setting!r} has no '=': write KEY=VALUE.", param_hint=option)
    return key.strip(), value


def _check_key(key: str, estimator: Any, option: str) -> None:
    known = sorted(estimator.get_params().keys() - NOT_HERE)
    if key not in known:
        raise typer.BadParameter(
            f"{type(estimator).__name__} has no parameter {key!r}{find_closest(key, known)}", param_hint=option
        )
