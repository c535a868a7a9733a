"""What a search may try: checks, and the list of candidates' parameters."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.settings import FREE_PARAMETERS

#: How many candidates are drawn from distributions if nobody says: rungs of 27, 9 and 3.
N_DRAWN = 27


def check_tunable(estimator: Any) -> None:
    """Check that an estimator is one of ours, with parameters that make sense."""
    if not isinstance(estimator, MinipatchBooster):
        raise TypeError(
            "The search needs an estimator of mpboost, whose fits have an out-of-patch score and can "
            f"be continued, not {estimator!r}. In a pipeline the search itself is the last step."
        )
    estimator._validate_params()
    if getattr(estimator, "loss", None) == "quantile":
        raise ValueError(
            "The search compares R^2, which says nothing about quantiles: use GridSearchCV with a pinball loss."
        )


def check_choices(parameters: Any, estimator: Any) -> None:
    """Check that parameters to try are known and shape what is learned."""
    grids = _list_grids(parameters)
    for grid in grids:
        if not isinstance(grid, Mapping):
            raise TypeError(f"parameters must be a dict or a list of dicts, not {grid!r} in a list.")
        for name in grid:
            _check_name(name, grid, estimator)
    if not any(grids):
        raise ValueError("parameters is empty: there is nothing to choose from.")


def _check_name(name: Any, grid: Mapping[Any, Any], estimator: Any) -> None:
    known = estimator.get_params()
    if name == "n_estimators":
        raise ValueError(
            "n_estimators cannot be tuned: the search itself decides how many iterations a candidate is worth. Set the "
            "most that any may run on the estimator."
        )
    if name in FREE_PARAMETERS:
        raise ValueError(f"{name} cannot be tuned: it does not change what is learned. Set it on the estimator.")
    owner, _, inner = str(name).partition("__")
    if name not in known and not (inner and owner in grid):  # an owner that is tried may have what it likes
        close = get_close_matches(str(name), known.keys() - FREE_PARAMETERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(sorted(known))}."
        raise ValueError(f"{type(estimator).__name__} has no parameter {name!r}: {hint}")


def list_choices(parameters: Any, n_candidates: int | None, rng: np.random.RandomState) -> list[dict[str, Any]]:
    """List the parameters of all candidates: all combinations of lists, or so many draws."""
    if any(hasattr(values, "rvs") for grid in _list_grids(parameters) for values in grid.values()):
        return list(ParameterSampler(parameters, n_candidates or N_DRAWN, random_state=rng))
    grid = ParameterGrid(parameters)
    if n_candidates is None or n_candidates >= len(grid):
        return list(grid)
    return list(ParameterSampler(parameters, n_candidates, random_state=rng))


def _list_grids(parameters: Any) -> Sequence[Any]:
    return [parameters] if isinstance(parameters, Mapping) else parameters
