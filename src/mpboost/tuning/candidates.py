"""The candidates of a search: checks, and the list of their parameters."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.settings import FREE_PARAMETERS

#: Default number of candidates drawn from distributions: rungs of 27, 9 and 3.
N_DRAWN = 27


def check_tunable(estimator: Any) -> None:
    """Check that an estimator is of mpboost and has valid parameters."""
    if not isinstance(estimator, MinipatchBooster):
        raise TypeError(
            f"The search needs an estimator of mpboost, not {estimator!r}: only these have an out-of-patch score and "
            "can be continued. To tune inside a pipeline, make the search its last step."
        )
    estimator._validate_params()
    if getattr(estimator, "loss", None) == "quantile":
        raise ValueError(
            "The search compares R^2, which is no score for quantiles: use GridSearchCV with a pinball loss."
        )


def check_candidates(parameters: Any, estimator: Any) -> None:
    """Check that the parameters to try exist and change what is learned."""
    grids = _list_grids(parameters)
    for grid in grids:
        if not isinstance(grid, Mapping):
            raise TypeError(f"parameters must be a dict or a list of dicts, not {grid!r} in a list.")
        for name in grid:
            _check_name(name, grid, estimator)
    if not any(grids):
        raise ValueError("parameters is empty: there is nothing to try.")


def _check_name(name: Any, grid: Mapping[Any, Any], estimator: Any) -> None:
    known = estimator.get_params()
    if name == "n_estimators":
        raise ValueError(
            "n_estimators cannot be tuned: the search itself decides how many iterations a candidate runs. Set the "
            "maximum on the estimator."
        )
    if name in FREE_PARAMETERS:
        raise ValueError(f"{name} cannot be tuned: it does not change what is learned. Set it on the estimator.")
    owner, _, inner = str(name).partition("__")
    if name not in known and not (inner and owner in grid):  # estimators to try may have other parameters
        close = get_close_matches(str(name), known.keys() - FREE_PARAMETERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(sorted(known))}."
        raise ValueError(f"{type(estimator).__name__} has no parameter {name!r}: {hint}")


def list_candidates(parameters: Any, n_candidates: int | None, rng: np.random.RandomState) -> list[dict[str, Any]]:
    """List the parameters of all candidates: all combinations of lists, or random draws."""
    if any(hasattr(values, "rvs") for grid in _list_grids(parameters) for values in grid.values()):
        return list(ParameterSampler(parameters, n_candidates or N_DRAWN, random_state=rng))
    grid = ParameterGrid(parameters)
    if n_candidates is None or n_candidates >= len(grid):
        return list(grid)
    return list(ParameterSampler(parameters, n_candidates, random_state=rng))


def _list_grids(parameters: Any) -> Sequence[Any]:
    return [parameters] if isinstance(parameters, Mapping) else parameters
