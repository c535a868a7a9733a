"""Trees, walked slowly: the twins of the native walks and checks, and makers of things to compare on."""

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.learners.splits import SPLIT_DTYPE

MISSING = 255

#: Category sets are rows of 256 flags, one for each code that may go left; these are none.
NO_SETS = np.empty((0, 256), dtype=bool)


def find_leaves(splits: NDArray, codes: NDArray[np.uint8], sets: NDArray[np.bool_] = NO_SETS) -> NDArray[np.int64]:
    """Find the leaf of each row by walking down from the root; codes have shape (n_columns, n_rows)."""
    n_rows = codes.shape[1]
    node = np.full(n_rows, 0 if len(splits) else ~0)
    while (node >= 0).any():
        rows = np.flatnonzero(node >= 0)
        split = splits[node[rows]]
        code = codes[split["feature"], rows]
        goes_left = np.where(code == MISSING, split["missing_left"] == 1, code <= split["bin"])
        is_set = split["categories"] >= 0
        goes_left[is_set] = sets[split["categories"][is_set], code[is_set]]
        node[rows] = np.where(goes_left, split["left"], split["right"])
    return ~node


def find_votes(
    splits: NDArray, leaf_values: NDArray[np.float64], codes: NDArray[np.uint8], sets: NDArray[np.bool_] = NO_SETS
) -> NDArray[np.int8]:
    """Vote +1 where the value of a row's leaf is positive, else -1."""
    return np.where(leaf_values[find_leaves(splits, codes, sets)] > 0, 1, -1).astype(np.int8)


def is_valid_tree(splits: NDArray, n_leaves: int, n_features: int, sets: NDArray[np.bool_] = NO_SETS) -> bool:
    """Whether splits make one tree whose splits, leaves and sets are numbered in preorder, all fields in range."""
    categorical = splits[splits["categories"] != -1]
    if n_leaves != len(splits) + 1 or categorical["categories"].tolist() != list(range(len(sets))):
        return False
    if (sets[:, MISSING] != categorical["missing_left"]).any():
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


def read_sets(tree_or_forest: _native.Tree | _native.Forest) -> NDArray[np.bool_]:
    """Read category sets as flags."""
    return np.unpackbits(tree_or_forest.category_sets.reshape(-1, 32), axis=1, bitorder="little").astype(bool)


def pack_sets(sets: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Turn flags into the bytes of category sets."""
    return np.packbits(sets, axis=1, bitorder="little").ravel()


def make_random_splits(
    rng: np.random.Generator, n_splits: int, n_features: int, shape: str = "random", categorical: float = 0.0
) -> NDArray:
    """Make the splits of a tree: of a random shape, or a chain in which one child of each split is a leaf.

    A share of them have category sets, which are still to be made.
    """
    splits = np.zeros(n_splits, dtype=SPLIT_DTYPE)
    splits["feature"] = rng.integers(n_features, size=n_splits)
    splits["bin"] = rng.integers(255, size=n_splits)
    splits["missing_left"] = rng.integers(2, size=n_splits)
    is_set = rng.random(n_splits) < categorical
    splits["categories"] = np.where(is_set, np.cumsum(is_set) - 1, -1)
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


def make_random_sets(rng: np.random.Generator, splits: NDArray) -> NDArray[np.bool_]:
    """Make the category sets of splits, in their order, so that missing values go where the splits say."""
    categorical = splits[splits["categories"] >= 0]
    sets = rng.random((len(categorical), 256)) < 0.5
    sets[:, MISSING] = categorical["missing_left"]
    return sets


def make_tree(
    splits: NDArray, leaf_values: NDArray[np.float64], n_features: int, sets: NDArray[np.bool_] = NO_SETS
) -> _native.Tree:
    """Make a native tree of its arrays."""
    offsets = np.array([0, len(splits)])
    return _native.Forest(splits.view(np.uint8), leaf_values, offsets, pack_sets(sets), n_features).tree(0)
