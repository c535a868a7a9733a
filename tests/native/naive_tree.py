"""Trees, done slowly: the twins of the native grower and of the native walks, and makers of things to compare on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.ensemble import SPLIT_DTYPE

MISSING = 255

#: Scores of nodes of at most so many rows are computed in single precision.
MAX_SINGLE_ROWS = 4096


@dataclass
class NaiveTree:
    """Splits as (feature, left, right, bin, missing_left) and leaf values, both in preorder."""

    splits: list[tuple[int, int, int, int, int]]
    leaf_values: list[float]
    importances: NDArray[np.float64]


def grow_tree(
    codes: NDArray[np.uint8],
    rows: NDArray[np.int64],
    features: NDArray[np.int64],
    labels: NDArray[np.int8],
    *,
    max_depth: int = 0,
    min_samples_leaf: int = 1,
    tie_value: float = 1.0,
) -> NaiveTree:
    """Grow a tree on a minipatch of codes of shape (n_columns, n_rows)."""
    tree = NaiveTree([], [], np.zeros(len(features)))

    def grow(rows: NDArray[np.int64], depth: int) -> int:
        y = labels[rows]
        n, n_positive = len(rows), int(np.sum(y > 0))
        best = None
        if 0 < n_positive < n and not (0 < max_depth <= depth):
            best = find_split(codes[np.ix_(features, rows)], y, min_samples_leaf)
        if best is None:
            balance = 2 * n_positive - n
            tree.leaf_values.append(float(np.sign(balance)) if balance else tie_value)
            return ~(len(tree.leaf_values) - 1)
        position, b, missing_left, score = best
        x = codes[features[position], rows]
        b, missing_left = place_threshold(x, b, missing_left)
        goes_left = np.where(x == MISSING, bool(missing_left), x <= b)
        tree.importances[position] += score / n
        index = len(tree.splits)
        tree.splits.append(None)  # children come after their parent and need its number
        left = grow(rows[goes_left], depth + 1)
        right = grow(rows[~goes_left], depth + 1)
        tree.splits[index] = (int(features[position]), left, right, b, missing_left)
        return index

    grow(np.asarray(rows), 0)
    total = tree.importances.sum()
    if total > 0:
        tree.importances /= total
    return tree


def find_split(x: NDArray[np.uint8], y: NDArray[np.int8], min_samples_leaf: int) -> tuple[int, int, int, float] | None:
    """Find the best (feature, bin, missing_left, score) of the rows of a node, or None; x has a row per feature.

    The score is D^2 / (left * right), where D = left_positive * n - left * positive. All codes of values that occur are
    tried, with missing values on the right and on the left. Ties go to the first feature, bin and side.
    """
    m, n = x.shape
    real = np.float32 if n <= MAX_SINGLE_ROWS else np.float64
    flat = x + 256 * np.arange(m)[:, None]
    counts = np.bincount(flat.ravel(), minlength=256 * m).reshape(m, 256)
    positive_counts = np.bincount(flat[:, y > 0].ravel(), minlength=256 * m).reshape(m, 256)

    # [feature, bin, missing_left]: the order in which the first of several best ones wins.
    sides = np.array([0, 1])
    left = np.cumsum(counts[:, :MISSING], axis=1)[:, :, None] + counts[:, MISSING, None, None] * sides
    left_positive = (
        np.cumsum(positive_counts[:, :MISSING], axis=1)[:, :, None] + positive_counts[:, MISSING, None, None] * sides
    )
    right = n - left
    occurs = counts[:, :MISSING, None] > 0
    allowed = occurs & (left >= max(1, min_samples_leaf)) & (right >= max(1, min_samples_leaf))
    if not allowed.any():
        return None
    D = (left_positive * n - left * int(np.sum(y > 0))).astype(real)
    score = np.where(allowed, D * D / np.maximum(left * right, 1).astype(real), real(-1))
    best = np.unravel_index(np.argmax(score), score.shape)
    return int(best[0]), int(best[1]), int(best[2]), float(score[best])


def place_threshold(x: NDArray[np.uint8], b: int, missing_left: int) -> tuple[int, int]:
    """Move a threshold half-way to the next code of the node; send missing values that it never saw to the majority."""
    values = x[x != MISSING]
    above = values[values > b]
    n_left = int(np.sum(values <= b))
    if len(values) == len(x):
        missing_left = int(n_left > len(x) - n_left)
    return (b + int(above.min())) // 2 if len(above) else 254, missing_left


def find_leaves(splits: NDArray, codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Find the leaf of each row by walking down from the root; codes have shape (n_columns, n_rows)."""
    n_rows = codes.shape[1]
    node = np.full(n_rows, 0 if len(splits) else ~0)
    while (node >= 0).any():
        rows = np.flatnonzero(node >= 0)
        split = splits[node[rows]]
        code = codes[split["feature"], rows]
        goes_left = np.where(code == MISSING, split["missing_left"] == 1, code <= split["bin"])
        node[rows] = np.where(goes_left, split["left"], split["right"])
    return ~node


def find_votes(splits: NDArray, leaf_values: NDArray[np.float64], codes: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Vote +1 where the value of a row's leaf is positive, else -1."""
    return np.where(leaf_values[find_leaves(splits, codes)] > 0, 1, -1).astype(np.int8)


def is_valid_tree(splits: NDArray, n_leaves: int, n_features: int) -> bool:
    """Whether splits make one tree whose splits and leaves are numbered in preorder, all fields in range."""
    if n_leaves != len(splits) + 1:
        return False
    fields_in_range = (
        (splits["feature"] >= 0)
        & (splits["feature"] < n_features)
        & (splits["bin"] < MISSING)
        & (splits["missing_left"] <= 1)
    )
    expected_split, expected_leaf = 0, 0
    pending = [0 if len(splits) else ~0]
    while pending:
        node = pending.pop()
        if node >= 0:
            if node != expected_split or node >= len(splits):
                return False
            expected_split += 1
            pending += [int(splits[node]["right"]), int(splits[node]["left"])]
        else:
            if ~node != expected_leaf:
                return False
            expected_leaf += 1
    return expected_split == len(splits) and expected_leaf == n_leaves and bool(fields_in_range.all())


def as_columns(codes: NDArray[np.uint8]) -> _native.BinnedColumns:
    """Make binned columns that hold exactly these codes, given with a row per column."""
    threads = _native.Threads(1)
    n_edges = [int(max(column[column != MISSING], default=0)) for column in codes]
    edges = np.concatenate([np.arange(n) + 0.5 for n in n_edges] or [np.empty(0)])
    mapper = _native.BinMapper(edges, np.concatenate([[0], np.cumsum(n_edges)]).astype(np.int64))
    columns = mapper.transform(np.where(codes == MISSING, np.nan, codes.astype(np.float32)).T, threads)
    np.testing.assert_array_equal(columns.codes, codes)
    return columns


def make_random_codes(
    rng: np.random.Generator, n_features: int, n_rows: int, missing: float = 0.15
) -> NDArray[np.uint8]:
    """Make codes of every bin, some of them missing, with a row per column."""
    codes = rng.integers(255, size=(n_features, n_rows), dtype=np.uint8)
    codes[rng.random(codes.shape) < missing] = MISSING
    return codes


def read_splits(tree_or_forest: _native.Tree | _native.Forest) -> NDArray:
    """Read splits as records."""
    return np.frombuffer(tree_or_forest.splits.tobytes(), dtype=SPLIT_DTYPE)


def make_random_splits(rng: np.random.Generator, n_splits: int, n_features: int, shape: str = "random") -> NDArray:
    """Make the splits of a tree: of a random shape, or a chain in which one child of each split is a leaf."""
    splits = np.zeros(n_splits, dtype=SPLIT_DTYPE)
    splits["feature"] = rng.integers(n_features, size=n_splits)
    splits["bin"] = rng.integers(255, size=n_splits)
    splits["missing_left"] = rng.integers(2, size=n_splits)
    next_split, next_leaf = 0, 0
    pending = [(n_splits, None, "")]  # splits of the subtree, and where to write its number
    while pending:
        size, parent, side = pending.pop()
        number = next_split if size else ~next_leaf
        if parent is not None:
            splits[parent][side] = number
        if not size:
            next_leaf += 1
            continue
        next_split += 1
        n_left = {"left": size - 1, "right": 0, "random": int(rng.integers(size))}[shape]
        pending += [(size - 1 - n_left, number, "right"), (n_left, number, "left")]
    return splits


def make_tree(splits: NDArray, leaf_values: NDArray[np.float64], n_features: int) -> _native.Tree:
    """Make a native tree of its arrays."""
    forest = _native.Forest(splits.view(np.uint8), leaf_values, np.array([0, len(splits)]), n_features)
    return forest.tree(0)
