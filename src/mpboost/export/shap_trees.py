"""Models for ``shap.TreeExplainer``: trees as dictionaries of arrays."""

from typing import Any, NamedTuple

import numpy as np

from mpboost._arrays import Floats
from mpboost.estimators.base import MinipatchBooster
from mpboost.export.description import Description, describe_model
from mpboost.export.endings import ClassScores, LogOdds, ManyClassVotes, MeanValue, RawValue, TwoClassVotes

#: The most nodes that trees may have together, each counted as the largest one: shap stores them so.
MAX_NODES = 10_000_000


class _Run(NamedTuple):
    """Values of a feature that go the same way at a split: those up to ``last``, beyond those of the run before."""

    last: float
    goes_left: bool


def to_shap(model: MinipatchBooster) -> dict[str, Any]:
    """Convert a fitted model to what ``shap.TreeExplainer`` takes.

    It explains raw predictions: log odds of gradient classifiers, predictions or their logarithms of gradient
    regressors, shares of votes of ``MPBoostClassifier``, and predictions of ``MPBoostRegressor``. With a background
    sample shap compares in single precision, so rows that are very close to a threshold can go the other way.

    Rows for shap are numbers: ``encode_rows`` makes them of tables with categories. shap cannot read splits on sets of
    categories, so these become several splits on codes, with copies of what is below. The values stay the same, but
    trees grow; a model with many sets of many categories can become too large, which is an error.

    Parameters
    ----------
    model : estimator
        A fitted model of mpboost.

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
    _check_size(description)
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


def _list_runs(description: Description, split: int) -> list[_Run]:
    """List the runs of a split: two of numbers, and as many as it takes of categories."""
    trees = description.trees
    if trees.sets[split] < 0:
        return [_Run(trees.thresholds[split], True), _Run(np.inf, False)]
    n_codes = description.features[trees.features[split]].n_codes
    goes_left = trees.category_sets[trees.sets[split], :n_codes]
    lasts = np.append(np.flatnonzero(np.diff(goes_left)), n_codes - 1)
    runs = [_Run(last + 0.5, bool(goes_left[last])) for last in lasts]
    return runs if len(runs) > 1 else [*runs, _Run(np.inf, not runs[0].goes_left)]


def _check_size(description: Description) -> None:
    """Raise an error if copies make the trees too large."""
    trees = description.trees
    if not len(trees.category_sets):
        return
    largest = 0
    for tree in range(len(trees)):
        splits, _, left, right = trees.number_nodes(tree)
        counts = [0] * len(left) + [1] * (len(left) + 1)
        for split in reversed(range(len(left))):  # children have greater numbers
            sides = [run.goes_left for run in _list_runs(description, splits.start + split)]
            n_left, n_right = sides.count(True), sides.count(False)
            counts[split] = len(sides) - 1 + n_left * counts[left[split]] + n_right * counts[right[split]]
        largest = max(largest, counts[0])
    if largest * len(trees) > MAX_NODES:
        raise ValueError(
            f"Without sets of categories, which shap cannot read, the largest of the {len(trees)} trees would have "
            f"{largest} nodes: too many. predict_contributions(X, as_explanation=True) explains this model."
        )


def _make_tree(description: Description, tree: int, scale: float, leaf_covers: Floats) -> dict[str, Any]:
    """Make the arrays of a tree, in which nodes come before their children.

    shap compares numbers with thresholds. So a split by a set of categories becomes several, between runs of codes, and
    each run leads to a copy of the child. The copies share its cover equally; any other shares would give the same
    values. All splits between the runs are by one feature: while it is unknown, the copies together weigh what the
    child does, and when it is known, covers do not count.
    """
    trees = description.trees
    splits, leaves, left, right = trees.number_nodes(tree)
    n_splits = len(left)
    runs = [_list_runs(description, split) for split in range(splits.start, splits.stop)] + [[]] * (n_splits + 1)
    places: list[tuple[int, float]] = []  # what a node is in the tree, and its share of the cover
    children: list[list[int]] = []
    sides: list[int] = []
    thresholds: list[float] = []
    pending = [(-1, 0, 0, 1.0, runs[0])]
    while pending:
        parent, side, node, share, own = pending.pop()
        place = len(places)
        if parent >= 0:
            children[parent][side] = place
        middle = len(own) // 2
        places.append((node, share))
        children.append([-1, -1])
        thresholds.append(own[middle - 1].last if own else -1.0)
        is_default = [run.goes_left == trees.missing_left[splits.start + node] for run in own[:middle]]
        sides.append(0 if any(is_default) else 1)
        for half, part in enumerate((own[:middle], own[middle:])):
            if len(part) > 1:
                pending.append((place, half, node, share, part))
            elif part:
                child = left[node] if part[0].goes_left else right[node]
                n_copies = sum(run.goes_left == part[0].goes_left for run in runs[node])
                pending.append((place, half, child, share / n_copies, runs[child]))
    nodes, shares = (np.array(column) for column in zip(*places, strict=True))
    below, is_leaf = np.array(children), nodes >= n_splits
    features = np.append(trees.features[splits], np.full(n_splits + 1, -1))[nodes]
    values = np.zeros((len(nodes), description.sums.n_sums))
    covers = np.zeros(len(nodes))
    values[is_leaf] = description.sums.to_matrix(leaves)[nodes[is_leaf] - n_splits] * scale
    covers[is_leaf] = leaf_covers[leaves][nodes[is_leaf] - n_splits] * shares[is_leaf]
    for node in reversed(np.flatnonzero(~is_leaf)):
        covers[node] = covers[below[node]].sum()
        values[node] = np.average(values[below[node]], axis=0, weights=covers[below[node]])
    return {
        "children_left": below[:, 0],
        "children_right": below[:, 1],
        "children_default": below[np.arange(len(nodes)), sides],
        "features": features,
        "thresholds": np.array(thresholds),
        "values": values,
        "node_sample_weight": covers,
    }
