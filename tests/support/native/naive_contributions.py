"""Shapley values and interactions by their definitions, over all subsets of features: twins of the native ones."""

from itertools import combinations
from math import factorial

import numpy as np

from .naive_tree import MISSING, find_leaves, read_sets, read_splits


def explain(tree, codes, values, background=None):
    """Compute contributions of the columns, and behind them the expected value, for each row.

    ``codes`` have shape (n_columns, n_rows), ``values`` one entry per leaf. Without a background, unknown features let
    both children of a split count, by their covers.
    """
    n_columns, n_rows = codes.shape
    used = sorted(set(read_splits(tree)["feature"].tolist()))
    out = np.zeros((n_rows, n_columns + 1))
    for row in range(n_rows):
        if background is None:
            worth = {known: _follow(tree, codes[:, row], known, values) for known in _subsets(used)}
        else:
            worth = {known: _replace(tree, codes[:, row], known, values, background) for known in _subsets(used)}
        out[row, -1] = worth[()]
        for feature in used:
            others = [j for j in used if j != feature]
            for known in _subsets(others):
                weight = factorial(len(known)) * factorial(len(others) - len(known)) / factorial(len(used))
                out[row, feature] += weight * (worth[tuple(sorted((*known, feature)))] - worth[known])
    return out


def explain_pairs(tree, codes, values):
    """Compute interactions of the columns for each row; the diagonal, and one more row and column, are 0."""
    n_columns, n_rows = codes.shape
    used = sorted(set(read_splits(tree)["feature"].tolist()))
    out = np.zeros((n_rows, n_columns + 1, n_columns + 1))
    for row in range(n_rows):
        worth = {known: _follow(tree, codes[:, row], known, values) for known in _subsets(used)}
        for i, j in combinations(used, 2):
            others = [k for k in used if k not in (i, j)]
            for known in _subsets(others):
                weight = factorial(len(known)) * factorial(len(others) - len(known)) / factorial(len(used) - 1)
                both, only_i, only_j = (worth[tuple(sorted((*known, *more)))] for more in ((i, j), (i,), (j,)))
                out[row, i, j] += weight / 2 * (both - only_i - only_j + worth[known])
            out[row, j, i] = out[row, i, j]
    return out


def _subsets(features):
    return [subset for size in range(len(features) + 1) for subset in combinations(features, size)]


def _follow(tree, codes, known, values):
    """Compute the mean value of leaves, by covers below splits of unknown features."""
    splits, sets = read_splits(tree), read_sets(tree)

    def cover_of(node):
        if node < 0:
            return float(tree.leaf_covers[~node])
        return cover_of(splits[node]["left"]) + cover_of(splits[node]["right"])

    def visit(node):
        if node < 0:
            return values[~node]
        split = splits[node]
        left, right = split["left"], split["right"]
        if split["feature"] in known:
            code = codes[split["feature"]]
            goes_left = split["missing_left"] if code == MISSING else code <= split["bin"]
            if split["categories"] >= 0:
                goes_left = sets[split["categories"], code]
            return visit(left if goes_left else right)
        of_left, of_right = cover_of(left), cover_of(right)
        share = of_left / (of_left + of_right) if of_left + of_right else 0.5
        return share * visit(left) + (1 - share) * visit(right)

    return visit(0 if len(splits) else ~0)


def _replace(tree, codes, known, values, background):
    """Compute the mean value over the background, whose known features are replaced."""
    mixed = background.copy()
    mixed[list(known)] = codes[list(known), None]
    return values[find_leaves(read_splits(tree), mixed, read_sets(tree))].mean()
