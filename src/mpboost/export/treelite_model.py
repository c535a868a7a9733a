"""Models for treelite: compiled prediction by tl2cgen, and on GPUs by FIL."""

from typing import Any

import numpy as np

from mpboost._versions import find_version
from mpboost.estimators.base import MinipatchBooster
from mpboost.export.description import Description, describe_model
from mpboost.export.endings import ClassScores, LogOdds, MeanValue, RawValue, TwoClassVotes


def to_treelite(model: MinipatchBooster) -> Any:
    """Convert a fitted model to one of treelite, which FIL runs on GPUs and tl2cgen compiles.

    Predictions of gradient models and of regressors are those of ``predict`` and ``predict_proba``. Treelite cannot
    express the calibration of votes: of an ``MPBoostClassifier`` it predicts shares of votes, those of
    ``predict_vote_share``. Rows are numbers: ``encode_rows`` turns categories into their codes.

    Parameters
    ----------
    model : estimator
        A fitted model of mpboost, with native trees. A loss of your own must have no ``inverse_link``.

    Returns
    -------
    model : treelite.Model
        Thresholds and leaves are float64. For two classes it predicts one number: that of ``classes_[1]``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPGradientBoostingClassifier
    >>> from mpboost.export import to_treelite
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MPGradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> to_treelite(model).num_tree  # doctest: +SKIP
    20
    """
    try:
        from treelite.model_builder import ModelBuilder
    except ImportError as error:
        raise ImportError("Exports to treelite need treelite: pip install treelite.") from error
    description = describe_model(model)
    builder = ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        attributes={"mpboost_version": find_version("mpboost"), "estimator": description.estimator},
        **_choose_settings(description),
    )
    for tree in range(len(description.trees)):
        _add_tree(builder, description, tree)
    return builder.commit()


def _choose_settings(description: Description) -> dict[str, Any]:
    """Choose how treelite adds trees up, and what it does with the sums."""
    from treelite.model_builder import Metadata, PostProcessorFunc, TreeAnnotation

    n_sums, n_trees = description.sums.n_sums, len(description.trees)
    task, averages, link, baseline = "kMultiClf", False, "identity_multiclass", np.zeros(n_sums)
    match description.ending:
        case MeanValue():
            task, averages, link = "kRegressor", True, "identity"
        case RawValue(raw, is_log):
            task, link, baseline = "kRegressor", "exponential" if is_log else "identity", np.array([raw])
        case LogOdds(raw):
            task, link, baseline = "kBinaryClf", "sigmoid", np.array([raw])
        case ClassScores(raw):
            link, baseline = "softmax", raw
        case TwoClassVotes():
            task, averages, link = "kBinaryClf", True, "identity"
        case _:
            averages = True
    every = [-1 if n_sums > 1 else 0] * n_trees
    return {
        "metadata": Metadata(
            num_feature=len(description.features),
            task_type=task,
            average_tree_output=averages,
            num_target=1,
            num_class=[n_sums],
            leaf_vector_shape=(1, n_sums),
        ),
        "tree_annotation": TreeAnnotation(num_tree=n_trees, target_id=[0] * n_trees, class_id=every),
        "postprocessor": PostProcessorFunc(name=link),
        "base_scores": baseline.tolist(),
    }


def _add_tree(builder: Any, description: Description, tree: int) -> None:
    """Add a tree: its splits have keys 0, 1, 2, ..., its leaves follow."""
    trees = description.trees
    nodes = trees.number_nodes(tree)
    left, right, n_splits = nodes.left.tolist(), nodes.right.tolist(), len(nodes.left)
    builder.start_tree()
    for key, split in enumerate(range(nodes.splits.start, nodes.splits.stop)):
        children = {"left_child_key": left[key], "right_child_key": right[key]}
        feature, default_left = int(trees.features[split]), bool(trees.missing_left[split])
        builder.start_node(key)
        if trees.sets[split] < 0:
            threshold = float(trees.thresholds[split])
            builder.numerical_test(feature, threshold, default_left=default_left, opname="<=", **children)
        else:
            n_codes = description.features[feature].n_codes
            goes_left = np.flatnonzero(trees.category_sets[trees.sets[split], :n_codes]).tolist()
            builder.categorical_test(
                feature,
                default_left=default_left,
                category_list=goes_left,
                category_list_right_child=False,
                **children,
            )
        builder.end_node()
    for key, values in enumerate(description.sums.to_matrix(nodes.leaves).tolist(), start=n_splits):
        builder.start_node(key)
        builder.leaf(values if len(values) > 1 else values[0])
        builder.end_node()
    builder.end_tree()
