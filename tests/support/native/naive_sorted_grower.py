"""Trees for many classes and for numbers, checked slowly: every split is held to all that its node offers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mpboost import _native

from .naive_grower import Choice, make_whole, place_categories, place_threshold
from .naive_tree import MISSING, as_columns, read_sets, read_splits

#: Whole numbers up to 2^63 have no rounding in it, where the machine has such a type.
real = np.longdouble

#: Iterations in the search for the line along which categories differ.
N_POWER_ITERATIONS = 8


@dataclass
class Node:
    """The rows of a node: codes with a row per feature, labels, and weights as whole numbers."""

    x: NDArray[np.uint8]
    y: NDArray[Any]
    weights: NDArray[np.int64]
    has_weights: bool

    def __post_init__(self) -> None:
        self.size = len(self.y)
        self.weight = int(self.weights.sum())

    def take(self, chosen: NDArray[np.bool_]) -> "Node":
        return Node(self.x[:, chosen], self.y[chosen], self.weights[chosen], self.has_weights)


class Gini:
    """Splits for classes: the squares of class weights by the side's weight, of both sides, are their score."""

    #: What the weights of a minipatch, as whole numbers, add up to, but for rounding: their squares are exact.
    total_weight = 2**26

    def __init__(self, ranks: NDArray[np.uint16]) -> None:
        self.ranks = ranks

    def measure(self, node: Node) -> NDArray[np.floating]:
        """Give each row what is summed up for a score: its weight in the column of its class."""
        return (node.y[:, None] == np.unique(node.y)) * node.weights[:, None].astype(real)

    def score(self, left: NDArray[np.floating], total: NDArray[np.floating]) -> NDArray[np.floating]:
        right = total - left
        n_left, n_right = left.sum(axis=-1), right.sum(axis=-1)
        return ((left**2).sum(axis=-1) * n_right + (right**2).sum(axis=-1) * n_left) / (n_left * n_right)

    def base(self, total: NDArray[np.floating]) -> float:
        return (total**2).sum() / total.sum()

    def gain(self, score: float, total: NDArray[np.floating]) -> float:
        return score - self.base(total)

    def impurity(self, node: Node, total: NDArray[np.floating]) -> float:
        return total.sum() - self.base(total)

    def tolerance(self, node: Node, best: float) -> float:
        """Tell how far a score may be off: all is exact but, with weights, the last step."""
        return 1e-15 * best if node.has_weights else 0.0

    def place(self, sums: NDArray[np.floating], total: NDArray[np.floating]) -> NDArray[np.floating] | None:
        """Place categories on the line along which their shares of classes differ most; None where it is not clear."""
        shares = sums / sums.sum(axis=1, keepdims=True)
        if shares.shape[1] == 2:
            return shares[:, 1]
        spread = np.sqrt(sums.sum(axis=1, keepdims=True)) * (shares - total / total.sum())
        lengths = np.linalg.norm(spread.astype(float), axis=1)
        direction = spread[np.argmax(lengths)]
        for _ in range(N_POWER_ITERATIONS):
            direction = spread.T @ (spread @ direction)
            direction /= max(np.sqrt((direction**2).sum()), 1e-300)
        keys = (shares * direction).sum(axis=1)
        _, first = np.unique(shares, axis=0, return_index=True)
        is_clear = len(first) == 1 or min(np.diff(np.sort(lengths))[-1], np.diff(np.sort(keys[first])).min()) > 1e-9
        return keys if is_clear else None

    def check_leaf(self, node: Node, value: float) -> None:
        totals = np.bincount(node.y, node.weights, len(self.ranks))
        assert value == max(range(len(totals)), key=lambda label: (totals[label], self.ranks[label]))


class SquaredError:
    """Splits for numbers: their score is D^2 / (left * right), where D = left_sum * weight - left * sum."""

    total_weight = 2**30

    def __init__(self, labels: NDArray[np.float64]) -> None:
        self.largest = np.ptp(labels)

    def measure(self, node: Node) -> NDArray[np.floating]:
        centred = node.y.astype(real) - np.average(node.y.astype(real), weights=node.weights)
        return node.weights[:, None] * np.stack([np.ones(node.size, dtype=real), centred], axis=1)

    def score(self, left: NDArray[np.floating], total: NDArray[np.floating]) -> NDArray[np.floating]:
        D = left[..., 1] * total[0] - left[..., 0] * total[1]
        return D**2 / (left[..., 0] * (total[0] - left[..., 0]))

    def base(self, total: NDArray[np.floating]) -> float:
        return 0.0

    def gain(self, score: float, total: NDArray[np.floating]) -> float:
        return score / total[0]

    def impurity(self, node: Node, total: NDArray[np.floating]) -> float:
        return node.weight * (node.measures[:, 1] ** 2 / node.weights).sum() - total[1] ** 2

    def tolerance(self, node: Node, best: float) -> float:
        lightest = node.weights.min() / node.weight
        return max(3e-9, 2.0**-45 / lightest) * best + 1e-20 * (node.weight * self.largest) ** 2

    def place(self, sums: NDArray[np.floating], total: NDArray[np.floating]) -> NDArray[np.floating] | None:
        keys = sums[:, 1] / sums[:, 0]
        return keys if len(keys) == 1 or np.diff(np.sort(keys)).min() > 1e-9 * self.largest else None

    def check_leaf(self, node: Node, value: float) -> None:
        average = np.average(node.y.astype(real), weights=node.weights)
        assert abs(value - average) <= 1e-12 * max(self.largest, np.abs(node.y).max())
        assert node.y.min() <= value <= node.y.max()


def find_thresholds(node: Node, position: int, criterion, least: int) -> Iterator[Choice]:
    """Find all thresholds at codes that occur, in order, with missing values on the right and on the left."""
    order = np.argsort(node.x[position], kind="stable")
    x, left = node.x[position][order], node.measures[order].cumsum(axis=0)
    ends = np.flatnonzero(np.diff(x[x != MISSING], append=MISSING))
    n_missing, missing = int((x == MISSING).sum()), node.measures[order][x == MISSING].sum(axis=0)
    n_left = ends[:, None] + 1 + n_missing * np.arange(2 if n_missing else 1)
    chosen, missing_left = np.nonzero(is_allowed(node, n_left, least))
    scores = criterion.score(left[ends[chosen]] + missing_left[:, None] * missing, node.total)
    for score, code, side in zip(scores, x[ends[chosen]].tolist(), missing_left.tolist(), strict=True):
        yield Choice(position, score, code, side)


def find_categories(node: Node, position: int, criterion, least: int, followed: NDArray | None) -> Iterator[Choice]:
    """Find the best cut of categories by their keys; where those are not clear, take the set that is followed."""
    x, measures, total = node.x[position], node.measures, node.total
    codes = np.unique(x[x != MISSING])
    if len(codes) == 0:
        return
    keys = criterion.place(np.array([measures[x == code].sum(axis=0) for code in codes]), total)
    if keys is None:
        sets = [] if followed is None else [(codes[followed[codes]], int(followed[MISSING]))]
    else:
        order = codes[np.lexsort((codes, keys))]
        sets = [(order[:k], m) for k in range(1, len(order) + 1) for m in ((0, 1) if MISSING in x else (0,))]
    best = None
    for chosen, missing_left in sets:
        goes_left = np.zeros(256, dtype=bool)
        goes_left[chosen], goes_left[MISSING] = True, missing_left
        left = goes_left[x]
        if is_allowed(node, int(left.sum()), least):
            score = criterion.score(measures[left].sum(axis=0), total)
            if best is None or score > best.score:
                best = Choice(position, score, 0, missing_left, chosen.tolist())
    if best is not None:
        chance = 0.75 * (len(np.unique(x)) - 1) / (node.size - 1) * criterion.impurity(node, total)
        best.score = max(criterion.base(total), best.score - chance)
        yield best


def is_allowed(node: Node, n_left: Any, least: int) -> Any:
    return (least <= n_left) & (n_left <= node.size - least)


def check_tree(
    grown: _native.GrownTree,
    criterion: Gini | SquaredError,
    codes: NDArray[np.uint8],
    rows: NDArray[np.int64],
    features: NDArray[np.int64],
    labels: NDArray[Any],
    weights: NDArray[np.float64] | None = None,
    is_categorical: NDArray[np.bool_] | None = None,
    *,
    max_depth: int = 0,
    min_samples_leaf: int = 1,
    min_samples_split: int = 2,
) -> None:
    """Walk down a tree: each split must be one that no other beats, and the first such where scores are exact.

    Importances, unless they are None, must be the decrease of impurity.
    """
    splits, sets, values = read_splits(grown.tree), read_sets(grown.tree), grown.tree.leaf_values
    flags = np.zeros(len(features), dtype=bool) if is_categorical is None else is_categorical[features]
    importances = np.zeros(len(features))
    seen_splits, seen_leaves, errors = [], [], []

    def check(index: int, node: Node, depth: int) -> None:
        split = splits[index] if index >= 0 else None
        node.measures = criterion.measure(node)
        node.total = node.measures.sum(axis=0)
        followed = sets[split["categories"]] if index >= 0 and split["categories"] >= 0 else None
        choices = []
        if len(np.unique(node.y)) > 1 and node.size >= min_samples_split and not 0 < max_depth <= depth:
            for position in np.flatnonzero(~flags).tolist():
                choices += find_thresholds(node, position, criterion, min_samples_leaf)
            for position in np.flatnonzero(flags).tolist():
                own = followed if split is not None and features[position] == split["feature"] else None
                choices += find_categories(node, position, criterion, min_samples_leaf, own)
        if split is None:
            assert not choices
            seen_leaves.append(~index)
            return criterion.check_leaf(node, values[~index])
        seen_splits.append(index)
        choice, goes_left = pick(node, choices, split, followed)
        importances[choice.position] += max(0.0, criterion.gain(choice.score, node.total))
        error = criterion.tolerance(node, choice.score)
        errors.append(criterion.gain(criterion.base(node.total) + error, node.total))
        chosen = goes_left[node.x[choice.position]]
        check(int(split["left"]), node.take(chosen), depth + 1)
        check(int(split["right"]), node.take(~chosen), depth + 1)
        return None

    def pick(node: Node, choices: list[Choice], split, followed) -> tuple[Choice, NDArray[np.bool_]]:
        best = max(choice.score for choice in choices)
        tolerance = criterion.tolerance(node, best) + flags.any() * 1e-12 * best
        good = [choice for choice in choices if choice.score >= best - tolerance]
        for choice in good if tolerance else good[:1]:
            is_set = choice.codes is not None
            goes_left = (place_categories if is_set else place_threshold)(node.x[choice.position], node.weights, choice)
            record = (features[choice.position], choice.bin, choice.missing_left)
            if (
                record == (split["feature"], split["bin"], split["missing_left"])
                and is_set == (followed is not None)
                and (not is_set or (goes_left == followed).all())
            ):
                return choice, goes_left
        raise AssertionError(f"{split} is none of {good}")

    whole = np.ones(len(rows), dtype=np.int64) if weights is None else make_whole(weights, criterion.total_weight)
    root = Node(codes[np.ix_(features, rows)], labels[rows], whole, weights is not None)
    check(0 if len(splits) else ~0, root, 0)
    assert seen_splits == list(range(len(splits)))
    assert seen_leaves == list(range(len(values)))
    assert splits["categories"][splits["categories"] >= 0].tolist() == list(range(len(sets)))
    total = importances.sum()
    if total > 0 and grown.importances is not None:
        error = 1e-9 + sum(errors) / total
        np.testing.assert_allclose(grown.importances, importances / total, rtol=0, atol=error)
        assert grown.importances.sum() == pytest.approx(1.0)


def grow_classes(codes, labels, features=None, weights=None, is_categorical=None, ranks=None, **options):
    """Grow a tree for classes on all rows and check it."""
    labels = np.asarray(labels, dtype=np.uint16)
    ranks = np.arange(labels.max() + 1, dtype=np.uint16) if ranks is None else np.asarray(ranks, dtype=np.uint16)
    options = {"max_depth": 0, "min_samples_leaf": 1, **options}
    grower = _native.ClassGrower(**options, ranks=ranks)
    return grow_checked(grower, Gini(ranks), codes, labels, features, weights, is_categorical, **options)


def grow_values(codes, labels, features=None, weights=None, is_categorical=None, **options):
    """Grow a tree for numbers on all rows and check it."""
    labels = np.asarray(labels, dtype=np.float64)
    options = {"max_depth": 0, "min_samples_leaf": 1, **options}
    grower = _native.ValueGrower(**options)
    return grow_checked(grower, SquaredError(labels), codes, labels, features, weights, is_categorical, **options)


def grow_checked(grower, criterion, codes, labels, features, weights, is_categorical, **options):
    codes = np.asarray(codes, dtype=np.uint8)
    features = np.arange(len(codes)) if features is None else np.asarray(features)
    weights = None if weights is None else np.asarray(weights, dtype=np.float64)
    is_categorical = None if is_categorical is None else np.asarray(is_categorical, dtype=bool)
    patch = np.arange(codes.shape[1]), features, labels, weights, is_categorical
    grown = grower.grow(as_columns(codes), *patch)
    check_tree(grown, criterion, codes, *patch, **options)
    return grown
