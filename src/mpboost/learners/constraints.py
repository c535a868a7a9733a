"""Constraints on trees: monotonic features, and features that may interact."""

from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats
from mpboost._wording import list_names
from mpboost.data.problem import Problem
from mpboost.learners.splits import read_splits

Interactions = Literal["pairwise", "no_interactions"] | list[NDArray[np.int64]]


class Constraints:
    """Constraints on the trees of a gradient model.

    Parameters
    ----------
    monotonic : int8 array of shape (n_features,) or None
        -1 (predictions fall), 0 (no constraint) or 1 (predictions rise) for each feature.
    interactions : list of int64 arrays, "pairwise", "no_interactions" or None
        Sets of features: all features on a path of a tree must be in one set.
    """

    def __init__(self, monotonic: NDArray[np.int8] | None, interactions: Interactions | None):
        self.monotonic = monotonic
        self._interactions = interactions

    def of(self, features: NDArray[np.int64], places: NDArray[np.int64], n_columns: int) -> tuple[Any, Any, Any]:
        """Convert the constraints to arrays for the grower, for columns that contain some features."""
        monotonic = offsets = members = None
        if self.monotonic is not None:
            monotonic = np.zeros(n_columns, dtype=np.int8)
            monotonic[places] = self.monotonic[features]
        if self._interactions is not None:
            kept = self._list_groups(features, places)
            offsets = np.cumsum([0, *map(len, kept)], dtype=np.int64)
            members = np.concatenate(kept)
        return monotonic, offsets, members

    def _list_groups(self, features: NDArray[np.int64], places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        if self._interactions == "no_interactions" or len(places) == 1:
            return list(places[:, None])
        if self._interactions == "pairwise":
            return list(places[np.column_stack(np.triu_indices(len(places), 1))])
        assert isinstance(self._interactions, list)
        return [places[np.isin(features, group)] for group in self._interactions]

    def bound(
        self,
        tree: _native.Tree,
        features: NDArray[np.int64],
        places: NDArray[np.int64],
        values: Floats,
        sums: Floats,
        l2: float,
    ) -> Floats:
        """Change the values of leaves so that splits on monotonic features keep their direction.

        At such a split, values of one side must not cross the middle between the values that both sides would have as
        single leaves.
        """
        if self.monotonic is None:
            return values
        splits = read_splits(tree)
        directions = self.monotonic[features[np.searchsorted(places, splits["feature"])]]
        node_sums = np.zeros((len(splits), *sums.shape[1:]))
        for k in range(len(splits) - 1, -1, -1):  # children before parents
            for child in (splits["left"][k], splits["right"][k]):
                node_sums[k] += sums[~child] if child < 0 else node_sums[child]
        bounded = values.copy()
        bounds: dict[int, tuple[Any, Any]] = {0: (-np.inf, np.inf)}
        for k in range(len(splits)):
            lowest, highest = bounds.pop(k)
            children = splits["left"][k], splits["right"][k]
            here = [
                np.clip(values[~child] if child < 0 else _newton(node_sums[child], l2), lowest, highest)
                for child in children
            ]
            middle = (here[0] + here[1]) / 2
            for side, child in enumerate(children):
                rises = directions[k] * (1 if side else -1)
                low = np.maximum(lowest, middle) if rises > 0 else lowest
                high = np.minimum(highest, middle) if rises < 0 else highest
                if child < 0:
                    bounded[~child] = np.clip(values[~child], low, high)
                else:
                    bounds[child] = low, high
        return bounded


def _newton(sums: Floats, l2: float) -> Floats:
    hessian = sums[..., 1] + l2
    return np.asarray(np.where(hessian > 0, -sums[..., 0] / np.where(hessian > 0, hessian, 1.0), 0.0))


def make_constraints(monotonic_cst: Any, interaction_cst: Any, problem: Problem, n_outputs: int) -> Constraints:
    """Check the parameters ``monotonic_cst`` and ``interaction_cst``, and make constraints from them."""
    names, n_features = problem.feature_names, problem.examples.table.n_columns
    monotonic = _check_monotonic(monotonic_cst, names, n_features)
    if monotonic is not None and n_outputs > 1:
        raise ValueError("monotonic_cst works for regression and for two classes, but y has more classes.")
    if monotonic is not None and problem.is_categorical is not None and monotonic[problem.is_categorical].any():
        raise ValueError("monotonic_cst works for numeric features only, but it contains categorical features.")
    return Constraints(monotonic, _check_interactions(interaction_cst, names, n_features))


def _check_monotonic(given: Any, names: NDArray[Any] | None, n_features: int) -> NDArray[np.int8] | None:
    if given is None:
        return None
    directions = np.zeros(n_features, dtype=object)
    if isinstance(given, dict):
        for key, direction in given.items():
            directions[_look_up_feature(key, names, n_features, "monotonic_cst")] = direction
    else:
        directions = np.asarray(given, dtype=object)
        if directions.shape != (n_features,):
            raise ValueError(
                f"monotonic_cst has shape {directions.shape}, but X has {n_features} features: pass one number for "
                "each feature, or a dict."
            )
    if not all(isinstance(direction, Real) and direction in (-1, 0, 1) for direction in directions):
        raise ValueError("monotonic_cst may only contain -1 (falling), 0 (no constraint) and 1 (rising).")
    return directions.astype(np.int8) if directions.any() else None


def _check_interactions(given: Any, names: NDArray[Any] | None, n_features: int) -> Interactions | None:
    if given is None or given == "pairwise" or given == "no_interactions":
        return cast(Interactions | None, given)
    groups = []
    for group in given:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise ValueError(
                f"interaction_cst must be a list of lists of features, but one of its entries is {group!r}."
            )
        members = {_look_up_feature(key, names, n_features, "interaction_cst") for key in group}
        groups.append(np.array(sorted(members), dtype=np.int64))
    rest = np.setdiff1d(np.arange(n_features), np.concatenate([*groups, np.empty(0, dtype=np.int64)]))
    return groups + ([rest] if len(rest) else [])  # features that are not listed may interact with each other


def _look_up_feature(key: Any, names: NDArray[Any] | None, n_features: int, parameter: str) -> int:
    if isinstance(key, str):
        if names is None:
            raise ValueError(
                f"{parameter} contains a feature {key!r} that X does not have: its features have no names, so pass "
                f"numbers from 0 to {n_features - 1}."
            )
        if key not in names:
            raise ValueError(f"{parameter} contains a feature {key!r} that X does not have. X has {list_names(names)}.")
        return int(np.flatnonzero(names == key)[0])
    if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key < n_features:
        raise ValueError(
            f"{parameter} contains {key!r}, but X has features 0 to {n_features - 1}: pass their numbers or names."
        )
    return int(key)
