"""Models for ``shap.TreeExplainer``: trees as dictionaries of arrays."""

from typing import Any

import numpy as np

from mpboost._arrays import Floats
from mpboost.estimators.base import MinipatchBooster
from mpboost.export.description import Description, describe_model
from mpboost.export.endings import ClassScores, LogOdds, ManyClassVotes, MeanValue, RawValue, TwoClassVotes


def to_shap(model: MinipatchBooster) -> dict[str, Any]:
    """Convert a fitted model to what ``shap.TreeExplainer`` takes.

    It explains raw predictions: log odds of gradient classifiers, predictions or their logarithms of gradient
    regressors, shares of votes of ``MPBoostClassifier``, and predictions of ``MPBoostRegressor``. With a background
    sample shap compares in single precision, so rows that are very close to a threshold can go the other way.

    Parameters
    ----------
    model : estimator
        A fitted model of mpboost with numeric features only: shap cannot read splits on sets of categories.

    Returns
    -------
    trees : dict
        The model as ``shap.TreeExplainer`` reads it.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mpboost import MPGradientBoostingRegressor
    >>> from mpboost.export import to_shap
    >>> X, y = make_friedman1(200, random_state=0)
    >>> model = MPGradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> import shap  # doctest: +SKIP
    >>> shap.TreeExplainer(to_shap(model)).shap_values(X).shape  # doctest: +SKIP
    (200, 10)
    """
    description = describe_model(model)
    if len(description.trees.category_sets):
        raise ValueError("This model has splits on sets of categories, which shap cannot read.")
    covers = description.trees.leaf_covers
    if covers is None:
        raise ValueError(
            "This model does not know how many training rows its leaves had, since it was loaded from an old file: fit "
            "it again."
        )
    scale, baseline, unit = _choose_scale(description)
    return {
        "trees": [_make_tree(description, tree, scale, covers) for tree in range(len(description.trees))],
        "base_offset": baseline,
        "tree_output": unit,
        "objective": None,
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }


def _choose_scale(description: Description) -> tuple[float, Any, str]:
    """Choose a factor of leaf values, what is added to their sums, and what shap calls the result."""
    share = 1.0 / len(description.trees)
    match description.ending:
        case MeanValue():
            return share, 0.0, "raw_value"
        case TwoClassVotes() | ManyClassVotes():
            return share, np.zeros(description.sums.n_sums), "probability"
        case LogOdds(baseline):
            return 1.0, np.array([baseline]), "log_odds"
        case ClassScores(baseline):
            return 1.0, baseline, "raw_value"
        case RawValue(baseline, _):
            return 1.0, np.array([baseline]), "raw_value"


def _make_tree(description: Description, tree: int, scale: float, leaf_covers: Floats) -> dict[str, Any]:
    """Make the arrays of a tree: its splits come first, then its leaves."""
    trees = description.trees
    splits, leaves, left, right = trees.number_nodes(tree)
    n_splits = len(left)
    default = np.where(trees.missing_left[splits], left, right)
    no_child = np.full(n_splits + 1, -1)
    values = np.zeros((2 * n_splits + 1, description.sums.n_sums))
    covers = np.zeros(2 * n_splits + 1)
    values[n_splits:] = description.sums.to_matrix(leaves) * scale
    covers[n_splits:] = leaf_covers[leaves]
    for split in reversed(range(n_splits)):  # children have greater numbers
        children = [left[split], right[split]]
        covers[split] = covers[children].sum()
        values[split] = np.average(values[children], axis=0, weights=covers[children])
    return {
        "children_left": np.append(left, no_child),
        "children_right": np.append(right, no_child),
        "children_default": np.append(default, no_child),
        "features": np.append(trees.features[splits], no_child),
        "thresholds": np.append(trees.thresholds[splits], no_child.astype(float)),
        "values": values,
        "node_sample_weight": covers,
    }
