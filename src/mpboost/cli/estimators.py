"""Turn command-line options into an estimator, or a parameter grid for a search."""

import ast
from collections.abc import Sequence
from typing import Any

import typer

from mpboost._wording import suggest_name
from mpboost.cli.choices import Preset, TargetKind
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.classifier import MPBoostClassifier
from mpboost.estimators.gradient_classifier import MPGradientBoostingClassifier
from mpboost.estimators.gradient_regressor import MPGradientBoostingRegressor
from mpboost.estimators.presets import PAPER
from mpboost.estimators.regressor import MPBoostRegressor

#: Spellings of constants that Python does not read by itself.
CONSTANTS = {"none": None, "null": None, "true": True, "false": False}

#: Parameters that cannot be set here: they take objects, or have no effect in a single run.
HIDDEN_PARAMETERS = {"callbacks", "estimator", "verbose", "warm_start"}


#: The estimators for each kind of target, by votes or by gradient boosting.
ESTIMATORS: dict[tuple[TargetKind, bool], type[MinipatchBooster]] = {
    (TargetKind.CLASSIFICATION, False): MPBoostClassifier,
    (TargetKind.CLASSIFICATION, True): MPGradientBoostingClassifier,
    (TargetKind.REGRESSION, False): MPBoostRegressor,
    (TargetKind.REGRESSION, True): MPGradientBoostingRegressor,
}

#: What each preset trains, and how to choose another.
WORDS = {
    Preset.GRADIENT: "gradient boosting; --preset votes trains MP-Boost instead",
    Preset.VOTES: "MP-Boost; --preset gradient trains gradient boosting instead",
    Preset.PAPER: "MP-Boost as in the paper; --preset gradient or votes train with our defaults",
}

#: Parameter values that ``tune`` tries by default.
GRIDS: dict[type, dict[str, list[Any]]] = {
    MPBoostClassifier: {"max_samples": ["auto", 0.2, 0.5], "learning_rate": ["auto", 0.01, 0.03]},
    MPBoostRegressor: {"max_samples": ["auto", 0.2, 0.5], "min_samples_leaf": [1, 3, 10]},
    MPGradientBoostingClassifier: {"learning_rate": [0.03, "auto", 0.2], "max_leaf_nodes": ["auto", 15, 63]},
    MPGradientBoostingRegressor: {"learning_rate": [0.03, 0.1, 0.2], "max_leaf_nodes": ["auto", 15, 63]},
}


def make_estimator(kind: TargetKind, preset: Preset, settings: Sequence[str]) -> MinipatchBooster:
    """Make an estimator with parameters given as ``key=value``."""
    if preset is Preset.PAPER and kind is not TargetKind.CLASSIFICATION:
        raise typer.BadParameter("paper is for classification only: use gradient or votes.", param_hint="--preset")
    parameters: dict[str, Any] = {"random_state": 0, "n_jobs": -1}
    if preset is Preset.PAPER:
        parameters |= PAPER | {"max_samples": 0.1, "max_features": 0.1}  # "around ten percent"
    cls = ESTIMATORS[kind, preset is Preset.GRADIENT]
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


def make_grid(estimator: MinipatchBooster, settings: Sequence[str]) -> dict[str, list[Any]]:
    """Make a parameter grid from settings ``key=value,value``; without any, return the default grid."""
    grid = {}
    for setting in settings:
        key, values = _split(setting, "--grid")
        _check_key(key, estimator, "--grid")
        grid[key] = [parse_value(value) for value in values.split(",")]
    return grid or GRIDS[type(estimator)]


def parse_value(text: str) -> Any:
    """Read a Python literal; other text is a string.

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
    except (ValueError, SyntaxError, TypeError):
        return text
    except (RecursionError, MemoryError) as error:  # how deep Python's own parser can read
        raise typer.BadParameter(f"{text[:20]}... is nested too deeply.", param_hint="--set or --grid") from error


def _split(setting: str, option: str) -> tuple[str, str]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise typer.BadParameter(f"expected KEY=VALUE, got {setting!r}.", param_hint=option)
    return key.strip(), value


def _check_key(key: str, estimator: MinipatchBooster, option: str) -> None:
    known = sorted(estimator.get_params().keys() - HIDDEN_PARAMETERS)
    if key not in known:
        raise typer.BadParameter(
            f"{type(estimator).__name__} has no parameter {key!r}{suggest_name(key, known)}", param_hint=option
        )
