"""The trees of a model as one ONNX operator.

Where every leaf adds to one sum, this is TreeEnsemble (ai.onnx.ml 5), which knows sets of categories and adds up in
float64; files are half as large. Its leaves hold one number each, so trees of many outputs need TreeEnsembleRegressor
(ai.onnx.ml 3), as does skl2onnx: sums are float32 there, so each number is split into parts whose sums float32 holds.
"""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mpboost._arrays import Floats
from mpboost.export.description import Description, LeafSums
from mpboost.export.endings import ManyClassVotes, TwoClassVotes
from mpboost.export.onnx_graph import Graph

DOMAIN = "ai.onnx.ml"
#: Versions of ai.onnx.ml: the first one with float64 in trees, and the first one with TreeEnsemble.
OLD_OPSET, NEW_OPSET = 3, 5
#: Numbers of modes in TreeEnsemble.
LESS_OR_EQUAL, MEMBER = 0, 6
#: In the columns of categories, code c is c + 1, and 0 is missing.
FIRST_CODE = 1
#: Parts of a number, of which the first two add up exactly in float32 (24 bits); the last one gets what is left.
N_PARTS, EXACT_BITS = 3, 24


def add_trees(graph: Graph, description: Description, table: str) -> str:
    """Add the trees, given a table of float_type; return the name of the sums: float64, of shape (n_rows, n_sums)."""
    sums = description.sums
    are_votes = isinstance(description.ending, TwoClassVotes | ManyClassVotes)
    # Votes are counted exactly in float32. Other numbers need float64: of a float32 row, every comparison stays right.
    float_type = graph.float_type if are_votes else "float64"
    if float_type != graph.float_type:
        table = graph.cast(table, float_type)
    thresholds = round_down(description.trees.thresholds) if float_type == "float32" else description.trees.thresholds
    if graph.ml_opset == NEW_OPSET:
        return graph.cast(_add_ensemble(graph, description, table, thresholds.astype(float_type)), "float64")
    if are_votes:
        return graph.cast(_add_regressor(graph, description, sums, table, thresholds.astype(float_type)), "float64")
    unit = math.ldexp(1.0, math.frexp(float(np.abs(sums.weights).max(initial=0.0)))[1])
    scaled = replace(sums, weights=sums.weights / unit)  # by a power of 2: float32 cannot hold very large or small ones
    parted = part_weights(scaled, len(description.trees))
    parts = graph.cast(_add_regressor(graph, description, parted, table, thresholds), "float64")
    shape = graph.constant(np.array([-1, N_PARTS, sums.n_sums]))
    total = graph.add("ReduceSum", graph.add("Reshape", parts, shape), graph.constant(np.array([1])), keepdims=0)
    return graph.add("Mul", total, graph.constant(np.array(unit)))


def choose_opset(sums: LeafSums, wanted: int | None) -> int:
    """Choose the version of ai.onnx.ml: the new one, if its trees can hold the leaves, or the one that is wanted."""
    if wanted not in (None, OLD_OPSET, NEW_OPSET):
        raise ValueError(f"ml_opset must be {OLD_OPSET}, {NEW_OPSET} or None, not {wanted!r}.")
    if wanted == NEW_OPSET and not sums.are_single:
        raise ValueError(
            f"ml_opset={NEW_OPSET} cannot hold leaves with several numbers, as this model has: choose {OLD_OPSET}."
        )
    return wanted or (NEW_OPSET if sums.are_single else OLD_OPSET)


def round_down(thresholds: Floats) -> Floats:
    """Round to float32 numbers that are not greater: a float32 row is on the same side of both.

    Examples
    --------
    >>> import numpy as np
    >>> bool(round_down(np.array([0.1]))[0] < 0.1)
    True
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(np.float32)
    is_above = nearest > thresholds
    return np.where(is_above, np.nextafter(nearest, np.float32(-np.inf)), nearest).astype(np.float64)


def _add_ensemble(graph: Graph, description: Description, table: str, thresholds: Any) -> str:
    trees, sums = description.trees, description.sums
    is_categorical = trees.sets >= 0
    # Of a split on categories, members of the set go to the side where missing values do not go: 0 is no member.
    swap = is_categorical & trees.missing_left
    yes, no = np.where(swap, trees.right, trees.left), np.where(swap, trees.left, trees.right)
    members: list[Floats] = []
    for split in np.flatnonzero(is_categorical).tolist():
        members += [_list_members(description, split), np.array([np.nan])]
    # A tree without splits needs a node, whose sides are both its leaf.
    is_bare = np.diff(trees.offsets) == 0
    bare_leaves = ~trees.roots[is_bare]
    n_bare, n_splits = len(bare_leaves), len(trees.features)
    roots = trees.roots.copy()
    roots[is_bare] = n_splits + np.arange(n_bare)
    features = np.append(trees.features, np.zeros(n_bare, int))
    thresholds = np.append(thresholds, np.zeros(n_bare, thresholds.dtype))
    yes, no = np.append(yes, ~bare_leaves), np.append(no, ~bare_leaves)
    modes = np.where(np.append(is_categorical, np.zeros(n_bare, bool)), MEMBER, LESS_OR_EQUAL)
    tracks = np.append(trees.missing_left & ~is_categorical, np.zeros(n_bare, bool))
    float_type = thresholds.dtype
    sets = {"membership_values": graph.tensor(np.concatenate(members).astype(float_type))} if members else {}
    return graph.add(
        "TreeEnsemble",
        table,
        domain=DOMAIN,
        n_targets=sums.n_sums,
        aggregate_function=1,  # sum
        post_transform=0,  # none
        tree_roots=roots.tolist(),
        nodes_featureids=features.tolist(),
        nodes_splits=graph.tensor(np.nan_to_num(thresholds, nan=0.0, posinf=np.inf, neginf=-np.inf)),
        nodes_modes=graph.tensor(modes.astype(np.uint8)),
        nodes_missing_value_tracks_true=tracks.astype(int).tolist(),
        nodes_truenodeids=np.where(yes < 0, ~yes, yes).tolist(),
        nodes_trueleafs=(yes < 0).astype(int).tolist(),
        nodes_falsenodeids=np.where(no < 0, ~no, no).tolist(),
        nodes_falseleafs=(no < 0).astype(int).tolist(),
        leaf_targetids=sums.targets.tolist(),
        leaf_weights=graph.tensor(sums.weights.astype(float_type)),
        **sets,
    )


def _list_members(description: Description, split: int) -> Floats:
    """List the codes that go to the side where missing values do not go; -1, which no row has, if there are none."""
    trees = description.trees
    n_codes = description.features[trees.features[split]].n_codes
    is_member = trees.category_sets[trees.sets[split]][:n_codes] != trees.missing_left[split]
    members = np.flatnonzero(is_member) + FIRST_CODE
    return members.astype(np.float64) if len(members) else np.array([-1.0])


def _add_regressor(graph: Graph, description: Description, sums: LeafSums, table: str, thresholds: Any) -> str:
    nodes = _NodeList()
    for t in range(len(description.trees)):
        nodes.append_tree(description, t, thresholds)
    trees, float_type = description.trees, thresholds.dtype
    leaf_offsets = trees.leaf_offsets
    tree_of_leaf = np.repeat(np.arange(len(trees)), np.diff(leaf_offsets))
    target_trees = tree_of_leaf[sums.leaves]
    # In a tree, leaves are numbered after its splits.
    target_nodes = sums.leaves - leaf_offsets[target_trees] + np.diff(trees.offsets)[target_trees]
    names = {"values": "nodes_values", "weights": "target_weights"}
    arrays: dict[str, Any] = {"values": np.array(nodes.values, float_type), "weights": sums.weights.astype(float_type)}
    if float_type == np.float64:
        numbers = {f"{names[key]}_as_tensor": graph.tensor(array) for key, array in arrays.items()}
    else:
        numbers = {names[key]: array.tolist() for key, array in arrays.items()}
    return graph.add(
        "TreeEnsembleRegressor",
        table,
        domain=DOMAIN,
        n_targets=sums.n_sums,
        nodes_treeids=nodes.trees,
        nodes_nodeids=nodes.numbers,
        nodes_featureids=nodes.features,
        nodes_modes=nodes.modes,
        nodes_truenodeids=nodes.yes,
        nodes_falsenodeids=nodes.no,
        nodes_missing_value_tracks_true=nodes.tracks,
        target_treeids=target_trees.tolist(),
        target_nodeids=target_nodes.tolist(),
        target_ids=sums.targets.tolist(),
        **numbers,
    )


class _NodeList:
    """The nodes of TreeEnsembleRegressor, tree by tree: splits, leaves, then nodes that compare more categories.

    It knows no sets. A split on categories is a chain of nodes, each of which compares one member; all that are equal
    go to the same child.
    """

    def __init__(self) -> None:
        self.trees: list[int] = []
        self.numbers: list[int] = []
        self.features: list[int] = []
        self.modes: list[str] = []
        self.values: list[float] = []
        self.yes: list[int] = []
        self.no: list[int] = []
        self.tracks: list[int] = []

    def append_tree(self, description: Description, t: int, thresholds: Any) -> None:
        trees = description.trees
        nodes = trees.number_nodes(t)
        first, left, right = nodes.splits.start, nodes.left.tolist(), nodes.right.tolist()
        rows = [
            ("BRANCH_LEQ", feature, threshold, yes, no, track)
            for feature, threshold, yes, no, track in zip(
                trees.features[nodes.splits].tolist(),
                thresholds[nodes.splits].tolist(),
                left,
                right,
                trees.missing_left[nodes.splits].astype(int).tolist(),
                strict=True,
            )
        ]
        rows += [("LEAF", 0, 0.0, 0, 0, 0)] * (len(left) + 1)
        for i in np.flatnonzero(trees.sets[nodes.splits] >= 0).tolist():
            yes, no = (right[i], left[i]) if trees.missing_left[first + i] else (left[i], right[i])
            members = _list_members(description, first + i).tolist()
            places = [i, *range(len(rows), len(rows) + len(members) - 1)]
            rows += [rows[i]] * (len(members) - 1)
            for member, (place, following) in zip(members, pairwise([*places, no]), strict=True):
                rows[place] = ("BRANCH_EQ", rows[i][1], member, yes, following, 0)
        modes, features, values, yes, no, tracks = zip(*rows, strict=True)
        self.trees += [t] * len(rows)
        self.numbers += range(len(rows))
        self.modes += modes
        self.features += features
        self.values += values
        self.yes += yes
        self.no += no
        self.tracks += tracks


def part_weights(sums: LeafSums, n_trees: int) -> LeafSums:
    """Split numbers into parts: whole multiples of a unit that add up to less than 2^24 units, and what is left."""
    rest, parts = sums.weights, []
    for _ in range(N_PARTS - 1):
        most = float(np.abs(rest).max(initial=0.0)) * n_trees
        unit = math.ldexp(1.0, math.frexp(most)[1] - EXACT_BITS) if most > 0 else 1.0
        parts.append(np.rint(rest / unit) * unit)
        rest = rest - parts[-1]
    parts.append(rest)
    targets = [part * sums.n_sums + sums.targets for part in range(N_PARTS)]
    return LeafSums(
        N_PARTS * sums.n_sums,
        np.repeat(sums.leaves, N_PARTS),
        np.stack(targets, axis=1).ravel(),
        np.stack(parts, axis=1).ravel(),
    )
