"""A tree of a model that people can read: names of features, thresholds in the units of the table, categories."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, overload

import numpy as np

from mpboost import _native
from mpboost._wording import format_number, list_names, make_visible
from mpboost.learners.splits import read_splits

#: What the code of all other categories is called.
OTHER = "other"
#: Categories that are written out at a split.
MAX_CATEGORIES = 6


@dataclass(frozen=True)
class TreeNode:
    """A split or a leaf of a tree.

    Attributes
    ----------
    number : int
        Place in ``DecisionTree.nodes``.
    depth : int
        0 for the root.
    parent : int or None
        Number of the parent; None for the root.
    cover : float
        Weight of the rows of the minipatch that reached the node; NaN if the model is from an old file.
    feature : str or None
        Name of the feature of a split; None for a leaf.
    threshold : float or None
        Values up to it go left, others right; None for a leaf and for categories. If it is infinite, all values go
        left, and missing ones right.
    categories : list or None
        Categories that go left; None unless the feature is categorical. "other" stands for all rare ones.
    missing_left : bool
        Whether missing values go left.
    left, right : int or None
        Numbers of the children; None for a leaf.
    leaf : int or None
        Number of the leaf, as ``apply`` returns it; None for a split.
    value : object
        What the leaf says: a label, labels, a number, or an array of a number per class; None for a split.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mpboost import MPGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> root = MPGradientBoostingRegressor(n_estimators=1, random_state=0).fit(X, y).get_tree(0).nodes[0]
    >>> root.feature in X.columns, root.parent is None, root.leaf is None
    (True, True, True)
    """

    number: int
    depth: int
    parent: int | None
    cover: float
    feature: str | None = None
    threshold: float | None = None
    categories: list[Any] | None = None
    missing_left: bool = False
    left: int | None = None
    right: int | None = None
    leaf: int | None = None
    value: Any = None

    @property
    def is_leaf(self) -> bool:
        """Whether this is a leaf."""
        return self.leaf is not None

    @property
    def condition(self) -> str:
        """What is true of the rows that go left."""
        name = _show(self.feature)
        if self.categories is not None:
            names = list_names(map(_show, self.categories), MAX_CATEGORIES)
            return f"{name} in {{{names}}}" + (" or missing" if self.missing_left else "")
        assert self.threshold is not None
        if np.isinf(self.threshold):
            return f"{name} is not missing"
        return f"{name} ≤ {format_number(self.threshold)}" + (" or missing" if self.missing_left else "")

    def format_value(self) -> str:
        """Write what the leaf says."""
        if isinstance(self.value, float):
            return format_number(self.value)
        if isinstance(self.value, np.ndarray):
            return "(" + ", ".join(map(format_number, self.value.tolist())) + ")"
        if isinstance(self.value, list):
            return list_names(map(_show, self.value), MAX_CATEGORIES)
        return _show(self.value)


@dataclass(frozen=True)
class FeatureNames:
    """What trees need to know of features to be readable.

    Attributes
    ----------
    names : list of str
        One for each feature.
    mapper : BinMapper
        The bins of numbers.
    categories : list of (list or None)
        Categories of each feature in the order of their codes; None for numbers.
    """

    names: list[str]
    mapper: _native.BinMapper
    categories: list[list[Any] | None]

    def find_threshold(self, feature: int, bin_number: int) -> float:
        """Return the largest value of a bin; infinity for the last one."""
        begin, end = self.mapper.offsets[feature : feature + 2]
        return float(self.mapper.edges[begin + bin_number]) if bin_number < end - begin else np.inf


class DecisionTree:
    """A tree of a fitted model, for people to look at.

    Models make it: ``model.get_tree(0)``, ``model.trees_[0]``.

    Attributes
    ----------
    nodes : list of TreeNode
        Splits and leaves, in the order of a walk from the root that goes left first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = MPGradientBoostingClassifier(n_estimators=5, max_leaf_nodes=3, random_state=0).fit(X, y == 2)
    >>> tree = model.get_tree(0)
    >>> tree.n_leaves
    3
    >>> tree.nodes[0].left, tree.nodes[0].is_leaf
    (1, False)
    """

    def __init__(self, nodes: list[TreeNode]):
        self.nodes = nodes

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return sum(node.is_leaf for node in self.nodes)

    @property
    def depth(self) -> int:
        """The number of splits on the longest path."""
        return max(node.depth for node in self.nodes)

    @property
    def features(self) -> list[str]:
        """The names of the features that the tree uses, sorted."""
        return sorted({node.feature for node in self.nodes if node.feature is not None})

    def __repr__(self) -> str:
        return f"DecisionTree(n_leaves={self.n_leaves}, depth={self.depth})"

    def to_text(self) -> str:
        """Draw the tree in text.

        Returns
        -------
        text : str
            A line for each split and each leaf; the first branch of a split is for the rows that its condition holds
            for.
        """
        lines = []
        pending = [(0, "", "")]
        while pending:
            number, lead, rest = pending.pop()
            node = self.nodes[number]
            what = node.format_value() if node.is_leaf else f"{node.condition}?"
            lines.append(f"{lead}{what}{_format_cover(node)}")
            if node.left is not None and node.right is not None:
                pending.append((node.right, f"{rest}└─ no:  ", f"{rest}        "))
                pending.append((node.left, f"{rest}├─ yes: ", f"{rest}│       "))
        return "\n".join(lines)

    def to_graphviz(self) -> str:
        """Describe the tree in the DOT language, which graphviz draws; nothing needs to be installed here.

        Returns
        -------
        dot : str
            A directed graph.
        """
        lines = ["digraph tree {", '  node [shape=box, style="rounded", fontname="sans-serif"];']
        for node in self.nodes:
            label = node.format_value() if node.is_leaf else node.condition
            style = ', style="rounded,filled", fillcolor="#e8f1f8"' if node.is_leaf else ""
            lines.append(f'  {node.number} [label="{_quote(label)}\\n{_quote(_format_cover(node).strip())}"{style}];')
        for node in self.nodes:
            for child, answer in ((node.left, "yes"), (node.right, "no")):
                if child is not None:
                    lines.append(f'  {node.number} -> {child} [label="{answer}"];')
        return "\n".join([*lines, "}"])


class TreeSequence(Sequence[DecisionTree]):
    """The trees of a model; each is made when it is asked for.

    Examples
    --------
    >>> from mpboost import MPBoostRegressor
    >>> model = MPBoostRegressor(n_estimators=5, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5)
    >>> len(model.trees_), model.trees_[-1].features
    (5, ['x0'])
    """

    def __init__(self, n_trees: int, make: Callable[[int], DecisionTree]):
        self._n_trees = n_trees
        self._make = make

    def __len__(self) -> int:
        return self._n_trees

    @overload
    def __getitem__(self, index: int) -> DecisionTree: ...
    @overload
    def __getitem__(self, index: slice) -> list[DecisionTree]: ...
    def __getitem__(self, index: Any) -> DecisionTree | list[DecisionTree]:
        if isinstance(index, slice):
            return [self._make(k) for k in range(self._n_trees)[index]]
        if not isinstance(index, Integral):
            raise TypeError(f"The number of a tree must be a whole number, not {index!r}.")
        if not -self._n_trees <= int(index) < self._n_trees:
            raise IndexError(f"There is no tree {index}: the model has {self._n_trees}.")
        return self._make(int(index) % self._n_trees)

    def __repr__(self) -> str:
        return f"<{self._n_trees} trees>"


def make_decision_tree(tree: _native.Tree, names: FeatureNames, values: Sequence[Any]) -> DecisionTree:
    """Make a readable tree of a native one; ``values`` are what its leaves say."""
    splits = read_splits(tree)
    sets = np.unpackbits(tree.category_sets.reshape(-1, 32), axis=1, bitorder="little").astype(bool)
    covers = tree.leaf_covers.astype(np.float64) if len(tree.leaf_covers) else np.full(len(values), np.nan)
    starts = _find_first_leaves(splits)
    nodes: list[TreeNode] = []
    pending: list[tuple[int, int, int | None]] = [(0 if len(splits) else ~0, 0, None)]
    while pending:
        index, depth, parent = pending.pop()
        number = len(nodes)
        if parent is not None:  # the left child is visited first
            above = nodes[parent]
            is_left = number == parent + 1
            nodes[parent] = replace(above, left=number) if is_left else replace(above, right=number)
        if index < 0:
            nodes.append(TreeNode(number, depth, parent, float(covers[~index]), leaf=~index, value=values[~index]))
            continue
        split = splits[index]
        feature, known = int(split["feature"]), names.categories[int(split["feature"])]
        threshold = chosen = None
        if split["categories"] >= 0:
            goes_left = sets[split["categories"]]
            chosen = [value for code, value in enumerate(known or []) if goes_left[code]]
        else:
            threshold = names.find_threshold(feature, int(split["bin"]))
        cover, goes = float(covers[slice(*starts[index])].sum()), bool(split["missing_left"])
        nodes.append(TreeNode(number, depth, parent, cover, names.names[feature], threshold, chosen, goes))
        pending.append((int(split["right"]), depth + 1, number))
        pending.append((int(split["left"]), depth + 1, number))
    return DecisionTree(nodes)


def list_columns(trees: Sequence[DecisionTree], classes: Sequence[Any] | None) -> dict[str, list[Any]]:
    """List the nodes of trees as columns of a table; with several values in a leaf, a column for each class."""
    columns: dict[str, list[Any]] = {name: [] for name in FRAME_COLUMNS}
    names = None if classes is None else [f"value_{label}" for label in classes]
    columns |= {name: [] for name in names or ["value"]}
    for index, tree in enumerate(trees):
        labels = [*_name_nodes(index, tree)]
        for node, label in zip(tree.nodes, labels, strict=True):
            row = (
                index,
                node.depth + 1,
                label,
                *(None if other is None else labels[other] for other in (node.left, node.right, node.parent)),
                node.feature,
                node.threshold,
                node.categories,
                None if node.is_leaf else "left" if node.missing_left else "right",
                node.cover,
            )
            for name, value in zip(FRAME_COLUMNS, row, strict=True):
                columns[name].append(value)
            if names is None:
                columns["value"].append(node.value)
            else:
                values = [None] * len(names) if node.value is None else node.value.tolist()
                for name, value in zip(names, values, strict=True):
                    columns[name].append(value)
    return columns


FRAME_COLUMNS = (
    "tree_index",
    "node_depth",
    "node_index",
    "left_child",
    "right_child",
    "parent_index",
    "split_feature",
    "threshold",
    "categories",
    "missing_direction",
    "cover",
)


def _name_nodes(index: int, tree: DecisionTree) -> Iterator[str]:
    """Name nodes as LightGBM does: tree, then S or L for splits and leaves, then a number."""
    n_splits = 0
    for node in tree.nodes:
        yield f"{index}-L{node.leaf}" if node.is_leaf else f"{index}-S{n_splits}"
        n_splits += not node.is_leaf


def _find_first_leaves(splits: Any) -> list[tuple[int, int]]:
    """Find the first leaf below each split, and the one after its last."""
    ends: list[tuple[int, int]] = [(0, 0)] * len(splits)
    for index in reversed(range(len(splits))):
        left, right = int(splits[index]["left"]), int(splits[index]["right"])
        first = ~left if left < 0 else ends[left][0]
        last = ~right + 1 if right < 0 else ends[right][1]
        ends[index] = first, last
    return ends


def _show(thing: Any) -> str:
    return make_visible(str(thing)).replace("\n", "\\n")


def _format_cover(node: TreeNode) -> str:
    return "" if np.isnan(node.cover) else f"  (cover {format_number(node.cover)})"


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
