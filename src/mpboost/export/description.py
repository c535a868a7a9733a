"""A fitted model in plain arrays: its features, its trees, and what their leaves add up to. All exports begin here."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost.boosting.ensembles import TreeEnsemble
from mpboost.data.categories import MISSING, Categories
from mpboost.estimators.base import MinipatchBooster
from mpboost.export.endings import Ending, choose_ending
from mpboost.learners.splits import SPLIT_DTYPE
from mpboost.outputs.kinds import ClassVotes, Colours, Signs


@dataclass(frozen=True)
class Feature:
    """A feature of a model.

    Attributes
    ----------
    name : str
        Its name; x0, x1, ... if the training table had no names.
    edges : float64 array
        Where the bins of a numeric feature end: a value has code b if edges[b-1] < value <= edges[b].
    categories : Categories or None
        The categories, in the order of their codes; None for numbers.
    """

    name: str
    edges: Floats
    categories: Categories | None

    @property
    def n_codes(self) -> int:
        """The number of codes, not counting the one of missing values."""
        return len(self.edges) + 1 if self.categories is None else self.categories.n_codes


class TreeNodes(NamedTuple):
    """One tree: where its splits and its leaves are, and the numbers of the children of its splits in the tree."""

    splits: slice
    leaves: slice
    left: Positions
    right: Positions


@dataclass(frozen=True)
class Trees:
    """All trees end to end: the splits of tree t are at [offsets[t], offsets[t + 1]).

    Attributes
    ----------
    offsets : int64 array of shape (n_trees + 1,)
        Where the splits of each tree begin. A tree has one leaf more than splits: its leaves begin at offsets[t] + t.
    features : int32 array of shape (n_splits,)
        The feature that a split looks at.
    bins : uint8 array of shape (n_splits,)
        Codes up to this one go left, if the feature is numeric.
    thresholds : float64 array of shape (n_splits,)
        Values up to this one go left, if the feature is numeric: the same test. NaN for categorical features.
    missing_left : bool array of shape (n_splits,)
        Whether missing values go left.
    left, right : int64 arrays of shape (n_splits,)
        The children: the number of a split in the whole array, or the complement (~) of the number of a leaf.
    sets : int64 array of shape (n_splits,)
        The row of ``category_sets`` that a split on a categorical feature has; -1 for numeric features.
    category_sets : bool array of shape (n_sets, 255)
        Which codes go left.
    leaf_covers : float64 array of shape (n_leaves,) or None
        The weight of the training rows in each leaf; None if it is unknown.
    """

    offsets: Positions
    features: NDArray[np.int32]
    bins: NDArray[np.uint8]
    thresholds: Floats
    missing_left: Mask
    left: Positions
    right: Positions
    sets: Positions
    category_sets: Mask
    leaf_covers: Floats | None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_leaves(self) -> int:
        """The number of leaves of all trees."""
        return len(self.features) + len(self)

    @property
    def leaf_offsets(self) -> Positions:
        """Where the leaves of each tree begin: n_trees + 1 numbers."""
        return self.offsets + np.arange(len(self.offsets))

    @property
    def roots(self) -> Positions:
        """The first split of each tree, or the complement (~) of its only leaf."""
        first, leaves = self.offsets[:-1], self.leaf_offsets[:-1]
        return np.where(np.diff(self.offsets) > 0, first, ~leaves)

    def number_nodes(self, tree: int) -> TreeNodes:
        """Assign numbers to the nodes of a tree: to its splits from 0 on, then to its leaves."""
        first, last = (int(offset) for offset in self.offsets[tree : tree + 2])
        first_leaf, n_splits = first + tree, last - first
        left, right = (
            np.where(child >= 0, child - first, n_splits + ~child - first_leaf)
            for child in (self.left[first:last], self.right[first:last])
        )
        return TreeNodes(slice(first, last), slice(first_leaf, first_leaf + n_splits + 1), left, right)


@dataclass(frozen=True)
class LeafSums:
    """What leaves add to the sums of a row: each entry adds a weight to one of the sums.

    Attributes
    ----------
    n_sums : int
        How many sums a row has.
    leaves, targets : int64 arrays of shape (n_entries,)
        The leaf of each entry, ascending, and the sum that it adds to.
    weights : float64 array of shape (n_entries,)
        What it adds.
    """

    n_sums: int
    leaves: Positions
    targets: Positions
    weights: Floats

    @property
    def are_single(self) -> bool:
        """Whether every leaf adds to one sum only."""
        return bool(np.all(np.diff(self.leaves) == 1))

    def to_matrix(self, leaves: slice) -> Floats:
        """Make a matrix of what each of some leaves adds to each sum."""
        begin, end = np.searchsorted(self.leaves, [leaves.start, leaves.stop])
        matrix = np.zeros((leaves.stop - leaves.start, self.n_sums))
        matrix[self.leaves[begin:end] - leaves.start, self.targets[begin:end]] = self.weights[begin:end]
        return matrix


@dataclass(frozen=True)
class Description:
    """A fitted model in plain arrays.

    Attributes
    ----------
    estimator : str
        The name of the class.
    target : str or None
        The name of the target column, if the model knows it.
    features : list of Feature
        The features.
    trees : Trees
        The trees.
    sums : LeafSums
        What their leaves add up to.
    classes : array or None
        The classes; None for regression.
    ending : Ending
        How sums become predictions.
    """

    estimator: str
    target: str | None
    features: list[Feature]
    trees: Trees
    sums: LeafSums
    classes: NDArray[Any] | None
    ending: Ending

    @property
    def has_categories(self) -> bool:
        """Whether some features are categorical."""
        return any(feature.categories is not None for feature in self.features)


def describe_model(model: MinipatchBooster) -> Description:
    """Describe a fitted model in plain arrays, for exports of your own.

    Parameters
    ----------
    model : estimator
        A fitted model of mpboost, with native trees. A loss of your own must have no ``inverse_link``.

    Returns
    -------
    description : Description
        Features, trees, what leaves add up to, and how that becomes predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost import MPBoostRegressor
    >>> from mpboost.export import describe_model
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]] * 25)
    >>> model = MPBoostRegressor(n_estimators=1, max_depth=1, random_state=0).fit(X, X[:, 0] > 1)
    >>> describe_model(model).trees.thresholds
    array([1.5])
    """
    check_model(model)
    ensemble: Any = model._ensemble
    trees = _read_trees(ensemble)
    return Description(
        estimator=type(model).__name__,
        target=getattr(model, "target_name_", None),
        features=_list_features(model, ensemble.mapper),
        trees=trees,
        sums=_read_leaves(model, ensemble, trees),
        classes=getattr(model, "classes_", None),
        ending=choose_ending(model, len(trees)),
    )


def check_model(model: Any) -> None:
    """Raise an error for what cannot be exported."""
    if not isinstance(model, MinipatchBooster):
        raise TypeError(
            f"Expected a model of mpboost, not {type(model).__name__}. For a search, pass its best_estimator_; for a "
            "pipeline, use skl2onnx after mpboost.export.register_skl2onnx()."
        )
    check_is_fitted(model)
    if not isinstance(model._ensemble, TreeEnsemble):
        raise ValueError(
            f"This model has {type(model.estimator).__name__} as its weak learner, which cannot be exported: only "
            "native trees can (estimator=None)."
        )
    if hasattr(getattr(model, "_loss", None), "inverse_link"):
        raise ValueError(
            f"This model was trained with a loss of your own ({model._loss!r}), whose inverse_link cannot be exported. "
            "Losses without one can: their predictions are raw, or those of log loss."
        )


def _list_features(model: Any, mapper: _native.BinMapper) -> list[Feature]:
    n_features = model.n_features_in_
    names = getattr(model, "feature_names_in_", [f"x{feature}" for feature in range(n_features)])
    edges = np.split(mapper.edges, mapper.offsets[1:-1])
    known = getattr(model, "categories_", [None] * n_features)
    has_other = getattr(model, "has_other_category_", [False] * n_features)
    return [
        Feature(str(names[j]), edges[j], None if known[j] is None else Categories(known[j], bool(has_other[j])))
        for j in range(n_features)
    ]


def _read_trees(ensemble: TreeEnsemble) -> Trees:
    forest, mapper = ensemble.forest, ensemble.mapper
    splits = np.frombuffer(forest.splits.tobytes(), dtype=SPLIT_DTYPE)
    offsets = np.asarray(forest.split_offsets, dtype=np.int64)
    n_splits = np.diff(offsets)
    first_split = np.repeat(offsets[:-1], n_splits)
    first_leaf = np.repeat(offsets[:-1] + np.arange(len(n_splits)), n_splits)
    left, right = (
        np.where(child >= 0, first_split + child, ~(first_leaf + ~child))
        for child in (splits["left"].astype(np.int64), splits["right"].astype(np.int64))
    )
    is_categorical = splits["categories"] >= 0
    features, bins = splits["feature"], splits["bin"].astype(np.int64)
    # A bin that is the last one, or beyond it, contains all greater numbers.
    edges = np.append(mapper.edges, np.inf)
    places = np.asarray(mapper.offsets)[features] + bins
    is_last = places >= np.asarray(mapper.offsets)[features + 1]
    thresholds = edges[np.where(is_last, len(edges) - 1, places)]
    packed = np.asarray(forest.category_sets, dtype=np.uint8).reshape(-1, 32)
    return Trees(
        offsets=offsets,
        features=features,
        bins=splits["bin"],
        thresholds=np.where(is_categorical, np.nan, thresholds),
        missing_left=splits["missing_left"] > 0,
        left=left,
        right=right,
        sets=np.where(is_categorical, np.cumsum(is_categorical) - 1, -1),
        category_sets=np.unpackbits(packed, axis=1, bitorder="little")[:, :MISSING] > 0,
        leaf_covers=np.asarray(forest.leaf_covers, dtype=np.float64) if forest.has_covers else None,
    )


def _read_leaves(model: Any, ensemble: TreeEnsemble, trees: Trees) -> LeafSums:
    """List what leaves add up to: votes for the second class, votes for each class, or numbers."""
    values = np.asarray(ensemble.forest.leaf_values)
    leaves, zeros = np.arange(trees.n_leaves), np.zeros(trees.n_leaves, dtype=np.int64)
    match model._outputs:
        case Colours():
            tree_of_leaf = np.repeat(np.arange(len(trees)), np.diff(trees.leaf_offsets))
            votes = np.where(values > 0, 1, -1)
            entries = np.argwhere(votes[:, None] == np.asarray(model._colours)[tree_of_leaf])
            return LeafSums(len(model.classes_), entries[:, 0], entries[:, 1], np.ones(len(entries)))
        case Signs():
            return LeafSums(1, leaves, zeros, np.where(values > 0, 1.0, 0.0))
        case ClassVotes():
            return LeafSums(len(model.classes_), leaves, values.astype(np.int64), np.ones(trees.n_leaves))
        case _:
            matrix = values.reshape(trees.n_leaves, -1)
            n_sums = matrix.shape[1]
            return LeafSums(n_sums, np.repeat(leaves, n_sums), np.tile(np.arange(n_sums), len(leaves)), matrix.ravel())
