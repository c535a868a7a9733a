"""Trees grown slowly: the twin of the native grower."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mpboost import _native

from .naive_tree import MISSING, NO_SETS, as_columns, read_sets, read_splits

#: Scores of nodes of at most so many rows are computed in single precision, where rows have no weights.
MAX_SINGLE_ROWS = 4096

#: What the weights of a minipatch, as whole numbers, add up to, but for rounding.
TOTAL_WEIGHT = 2**30


@dataclass
class NaiveTree:
    """Splits as (feature, left, right, categories, bin, missing_left), leaf values and sets of codes, in preorder."""

    splits: list[tuple[int, int, int, int, int, int]]
    leaf_values: list[float]
    sets: list[NDArray[np.bool_]]
    importances: NDArray[np.float64]


@dataclass
class Rows:
    """The rows of a node: codes with a row per feature, labels, and weights as whole numbers."""

    x: NDArray[np.uint8]
    y: NDArray[np.int8]
    weights: NDArray[np.int64]
    has_weights: bool

    def __post_init__(self) -> None:
        self.size = len(self.y)
        self.weight = int(self.weights.sum())
        self.positive = int(self.weights[self.y > 0].sum())

    def take(self, chosen: NDArray[np.bool_]) -> "Rows":
        return Rows(self.x[:, chosen], self.y[chosen], self.weights[chosen], self.has_weights)

    def score(self, left: NDArray[np.int64], left_positive: NDArray[np.int64]) -> NDArray[np.floating]:
        """Score splits by D^2 / (left * right), where D = left_positive * n - left * positive."""
        real = np.float32 if self.size <= MAX_SINGLE_ROWS and not self.has_weights else np.float64
        n, right = real(self.weight), (self.weight - left).astype(real)
        left, left_positive = left.astype(real), left_positive.astype(real)
        D = left_positive * n - left * real(self.positive)
        return D * D / np.maximum(left * right, 1)


@dataclass
class Choice:
    """A split of a node; `codes` are those of the categories that go left, None for a numeric feature."""

    position: int
    score: float
    bin: int
    missing_left: int
    codes: list[int] | None = None


def grow_tree(
    codes: NDArray[np.uint8],
    rows: NDArray[np.int64],
    features: NDArray[np.int64],
    labels: NDArray[np.int8],
    weights: NDArray[np.float64] | None = None,
    is_categorical: NDArray[np.bool_] | None = None,
    *,
    max_depth: int = 0,
    min_samples_leaf: int = 1,
    min_samples_split: int = 2,
    tie_value: float = 1.0,
) -> NaiveTree:
    """Grow a tree on a minipatch of codes of shape (n_columns, n_rows)."""
    tree = NaiveTree([], [], [], np.zeros(len(features)))
    flags = np.zeros(len(codes), dtype=bool) if is_categorical is None else is_categorical

    def grow(node: Rows, depth: int) -> int:
        choice = None
        if len(set(node.y.tolist())) == 2 and node.size >= min_samples_split and not (0 < max_depth <= depth):
            choice = find_split(node, flags[features], min_samples_leaf)
        if choice is None:
            balance = 2 * node.positive - node.weight
            tree.leaf_values.append(float(np.sign(balance)) if balance else tie_value)
            return ~(len(tree.leaf_values) - 1)
        x = node.x[choice.position]
        place = place_threshold if choice.codes is None else place_categories
        goes_left = place(x, node.weights, choice)
        tree.importances[choice.position] += choice.score / node.weight
        index, categories = len(tree.splits), -1
        tree.splits.append(None)  # children come after their parent and need its number
        if choice.codes is not None:
            categories = len(tree.sets)
            tree.sets.append(goes_left)
        left = grow(node.take(goes_left[x]), depth + 1)
        right = grow(node.take(~goes_left[x]), depth + 1)
        feature = int(features[choice.position])
        tree.splits[index] = (feature, left, right, categories, choice.bin, choice.missing_left)
        return index

    rows = np.asarray(rows)
    has_weights = weights is not None
    whole = make_whole(weights) if has_weights else np.ones(len(rows), dtype=np.int64)
    grow(Rows(codes[np.ix_(features, rows)], labels[rows], whole, has_weights), 0)
    total = tree.importances.sum()
    if total > 0:
        tree.importances /= total
    return tree


def make_whole(weights: NDArray[np.float64], whole: int = TOTAL_WEIGHT) -> NDArray[np.int64]:
    """Make weights whole numbers of nearly the same ratios, none of them zero."""
    total = np.cumsum(weights)[-1]  # from the first to the last: np.sum would add in another order
    with np.errstate(over="ignore"):  # old versions of numpy see an overflow in the quotient of numbers next to nothing
        return np.maximum(1, np.floor(weights / total * whole + 0.5)).astype(np.int64)


def find_split(node: Rows, is_categorical: NDArray[np.bool_], min_samples_leaf: int) -> Choice | None:
    """Find the best split of a node, or None; ties go to numeric features, then to the first feature, bin and side."""
    numeric = np.flatnonzero(~is_categorical)
    choices = [find_threshold(node, numeric, min_samples_leaf)] if len(numeric) else []
    choices += [find_categories(node, position, min_samples_leaf) for position in np.flatnonzero(is_categorical)]
    return max((choice for choice in choices if choice is not None), key=lambda choice: choice.score, default=None)


def find_threshold(node: Rows, numeric: NDArray[np.int64], min_samples_leaf: int) -> Choice | None:
    """Find the best threshold: all codes that occur, with missing values on the right and on the left."""
    flat = node.x[numeric] + 256 * np.arange(len(numeric))[:, None]

    def sum_left(weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum up weights on the left by [feature, bin, missing_left]: of equal splits the first one wins."""
        repeated = np.broadcast_to(weights, flat.shape).ravel()
        sums = np.bincount(flat.ravel(), repeated, 256 * len(numeric)).astype(np.int64).reshape(-1, 256)
        return np.cumsum(sums[:, :MISSING], axis=1)[:, :, None] + sums[:, MISSING, None, None] * np.array([0, 1])

    n_left = sum_left(np.ones(node.size, dtype=np.int64))
    occurs = np.diff(n_left[:, :, 0], axis=1, prepend=0)[:, :, None] > 0
    allowed = occurs & (n_left >= min_samples_leaf) & (node.size - n_left >= min_samples_leaf)
    if not allowed.any():
        return None
    scores = np.where(allowed, node.score(sum_left(node.weights), sum_left(node.weights * (node.y > 0))), -1)
    best = np.unravel_index(np.argmax(scores), scores.shape)
    return Choice(int(numeric[best[0]]), float(scores[best]), int(best[1]), int(best[2]))


def find_categories(node: Rows, position: int, min_samples_leaf: int) -> Choice | None:
    """Find the best set of categories: the first ones in the order of their share of positives, with missing or not."""
    x = node.x[position]
    as_double = Rows(node.x, node.y, node.weights, has_weights=True)  # whatever the number of rows
    is_positive = node.y > 0

    def share(code: int) -> Fraction:
        here = x == code
        return Fraction(int(node.weights[here & is_positive].sum()), int(node.weights[here].sum()))

    order = sorted(set(x[x != MISSING].tolist()), key=lambda code: (share(code), code))
    best = None
    for k in range(1, len(order) + 1):
        for missing_left in (0, 1) if MISSING in x else (0,):
            goes_left = np.zeros(256, dtype=bool)
            goes_left[order[:k]], goes_left[MISSING] = True, missing_left
            left = goes_left[x]
            if min(left.sum(), (~left).sum()) < min_samples_leaf:
                continue
            sums = (node.weights[chosen].sum(keepdims=True) for chosen in (left, left & is_positive))
            score = float(as_double.score(*sums)[0])
            if best is None or score > best.score:
                best = Choice(int(position), score, 0, missing_left, order[:k])
    if best is not None:
        best.score = adjust_score(best.score, node, len(set(x.tolist())))
    return best


def adjust_score(score: float, node: Rows, k: int) -> float:
    """Take off three quarters of what k categories gain by chance."""
    return max(
        0.0, score - 0.75 * (k - 1) / (node.size - 1) * float(node.positive) * float(node.weight - node.positive)
    )


def place_threshold(x: NDArray[np.uint8], weights: NDArray[np.int64], choice: Choice) -> NDArray[np.bool_]:
    """Move a threshold half-way to the next code of the node; send missing values that it never saw to the majority.

    Return which of all codes go left.
    """
    values = x[x != MISSING]
    above = values[values > choice.bin]
    if len(values) == len(x):
        choice.missing_left = int(is_majority(x <= choice.bin, weights))
    choice.bin = (choice.bin + int(above.min())) // 2 if len(above) else 254
    return np.append(np.arange(MISSING) <= choice.bin, bool(choice.missing_left))


def place_categories(x: NDArray[np.uint8], weights: NDArray[np.int64], choice: Choice) -> NDArray[np.bool_]:
    """Send codes that the node never saw, missing or not, to the majority. Return which of all codes go left."""
    goes_left = np.isin(np.arange(256), choice.codes)
    goes_left[MISSING] = choice.missing_left
    goes_left[~np.isin(np.arange(256), x)] = is_majority(goes_left[x], weights)
    choice.missing_left = int(goes_left[MISSING])
    return goes_left


def is_majority(chosen: NDArray[np.bool_], weights: NDArray[np.int64]) -> bool:
    """Tell whether some rows weigh more than the others."""
    return bool(weights[chosen].sum() > weights[~chosen].sum())


def assert_same_tree(grown: _native.GrownTree, naive: NaiveTree) -> None:
    """Hold a native tree to its twin."""
    assert [split[:6] for split in read_splits(grown.tree).tolist()] == naive.splits
    np.testing.assert_array_equal(read_sets(grown.tree), np.array([*NO_SETS, *naive.sets]).reshape(-1, 256))
    assert grown.tree.leaf_values.tolist() == naive.leaf_values
    np.testing.assert_allclose(grown.importances, naive.importances, rtol=1e-12, atol=0)


def grow_both(codes, labels, features=None, weights=None, is_categorical=None, **options) -> _native.GrownTree:
    """Grow a tree on all rows, and its twin, which must be the same."""
    codes, labels = np.asarray(codes, dtype=np.uint8), np.asarray(labels, dtype=np.int8)
    rows = np.arange(codes.shape[1])
    features = np.arange(len(codes)) if features is None else np.asarray(features)
    weights = None if weights is None else np.asarray(weights, dtype=np.float64)
    is_categorical = None if is_categorical is None else np.asarray(is_categorical, dtype=bool)
    patch = (rows, features, labels, weights, is_categorical)
    options = {"max_depth": 0, "min_samples_leaf": 1, "tie_value": 1.0, **options}
    grown = _native.BinaryGrower(**options).grow(as_columns(codes), *patch)
    assert_same_tree(grown, grow_tree(codes, *patch, **options))
    return grown


def grow_arrays(*arguments, **options) -> tuple[NDArray, NDArray[np.float64], NDArray[np.float64]]:
    """Grow a tree as `grow_both` does; return its splits, leaf values and importances."""
    grown = grow_both(*arguments, **options)
    return read_splits(grown.tree), grown.tree.leaf_values, grown.importances
