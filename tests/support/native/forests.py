"""Forests to test with: random trees as arrays, there and back."""

import numpy as np

from mpboost import _native
from mpboost.learners.splits import SPLIT_DTYPE

from .naive_tree import find_votes, make_random_sets, make_random_splits, pack_sets, read_sets, read_splits

N_FEATURES = 6
SIZES = (0, 1, 5, 40, 0, 200, 17)
LARGE_SIZES = (0, 1, 600, 40, 350)  # selected, parted and walked


def make_arrays(seed=0, sizes=SIZES, shape="random"):
    """Make splits, leaf values, offsets and category sets of some trees."""
    rng = np.random.default_rng(seed)
    trees = [make_random_splits(rng, size, N_FEATURES, shape, categorical=0.4) for size in sizes]
    splits = np.concatenate([np.empty(0, dtype=SPLIT_DTYPE), *trees])
    leaf_values = rng.choice([-1.0, 1.0], len(splits) + len(sizes))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return splits, leaf_values, offsets, make_random_sets(rng, splits)


def make_forest(splits, leaf_values, offsets, sets, n_features=N_FEATURES):
    return _native.Forest(splits.view(np.uint8), leaf_values, offsets, pack_sets(sets), n_features)


def read_arrays(forest):
    return read_splits(forest), forest.leaf_values, forest.split_offsets, read_sets(forest)


def take_tree(t, splits, leaf_values, offsets, sets):
    """Give the splits, leaf values and category sets of a tree."""
    begin, end = offsets[t], offsets[t + 1]
    set_begin, set_end = (np.sum(splits["categories"][:k] >= 0) for k in (begin, end))
    return splits[begin:end], leaf_values[begin + t : end + t + 1], sets[set_begin:set_end]


def sum_votes(arrays, codes, trees):
    total = np.zeros(codes.shape[1], dtype=np.int32)
    for t in trees:
        splits, leaf_values, sets = take_tree(t, *arrays)
        total += find_votes(splits, leaf_values, codes, sets)
    return total
