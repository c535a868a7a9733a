"""Credit for splits by rows that a tree never saw, found slowly, without rounding: the twin of the native one."""

from collections import Counter
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .naive_tree import MISSING, NO_SETS


class Gain(NamedTuple):
    """What a split of a node of so many rows gains on unseen rows, and what it would gain if its sides were right."""

    feature: int
    n_rows: int
    promised: Fraction
    kept: Fraction


def credit_splits(gains: list[Gain], features: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum up, for each feature, what its splits gain on unseen rows."""
    return np.array([float(sum(gain.kept for gain in gains if gain.feature == j)) for j in features])


def sum_gains(gains: list[Gain]) -> NDArray[np.float64]:
    """Sum up, for nodes of 2^k to 2^(k + 1) - 1 rows, what splits promise, keep, and the squares of what they keep."""
    sums = [[Fraction(0)] * 3 for _ in range(32)]
    for gain in gains:
        size = next(k for k in range(32) if 2**k <= gain.n_rows < 2 ** (k + 1))
        for k, value in enumerate([gain.promised, gain.kept, gain.kept**2]):
            sums[size][k] += value
    return np.array(sums, dtype=float)


def judge_splits(
    splits: NDArray,
    codes: NDArray[np.uint8],
    rows: NDArray[np.int64],
    labels: NDArray[Any],
    unseen: NDArray[np.int64],
    weights: NDArray[np.float64] | None = None,
    sets: NDArray[np.bool_] = NO_SETS,
) -> list[Gain]:
    """Find, split by split, how much better each side says the labels of the unseen rows than the node did.

    A node says what its rows of the minipatch have on average. Where unseen rows may have a category that these never
    had, or lack a value, it says what its sides say to the unseen rows on average.
    """
    weights = make_whole(np.ones(len(rows)) if weights is None else weights)
    gains = []
    origin = find_opinion(labels[rows], weights) if labels.dtype == np.float64 else Fraction(0)
    open_nodes = [(0, np.arange(len(rows)), np.asarray(unseen))] if len(splits) else []
    while open_nodes:
        number, seen, judges = open_nodes.pop()
        split = splits[number]
        seen_left = find_left(split, codes[split["feature"], rows[seen]], sets)
        judges_left = find_left(split, codes[split["feature"], judges], sets)
        if seen_left.all() or not seen_left.any():
            continue  # not a split of this minipatch
        sides = [
            ("left", seen[seen_left], judges[judges_left]),
            ("right", seen[~seen_left], judges[~judges_left]),
        ]
        opinions = [find_opinion(labels[rows[seen_here]], weights[seen_here]) for _, seen_here, _ in sides]
        if len(judges) and (split["categories"] >= 0 or (codes[split["feature"]] == MISSING).any()):
            before = mix(*opinions, Fraction(int(judges_left.sum()), len(judges)))
        else:
            before = find_opinion(labels[rows[seen]], weights[seen])
        promised = kept = Fraction(0)
        for (side, seen_here, judges_here), after in zip(sides, opinions, strict=True):
            if len(judges_here):
                truth = find_opinion(labels[judges_here], np.ones(len(judges_here), dtype=object))
                kept += len(judges_here) * (agree(after, truth, origin) - agree(before, truth, origin))
                promised += len(judges_here) * (agree(after, after, origin) - agree(before, after, origin))
            if split[side] >= 0:
                open_nodes.append((split[side], seen_here, judges_here))
        gains.append(Gain(int(split["feature"]), len(seen), promised, kept))
    return gains


def make_whole(weights: NDArray[np.float64]) -> NDArray[np.object_]:
    """Make weights whole numbers of the very same ratios: their sums are exact, and quicker than those of fractions."""
    fractions = [Fraction(weight) for weight in weights.tolist()]
    unit = max(fraction.denominator for fraction in fractions)  # all of them are powers of two
    return np.array([int(fraction * unit) for fraction in fractions], dtype=object)


def find_left(split: NDArray, codes: NDArray[np.uint8], sets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if split["categories"] >= 0:
        return sets[split["categories"], codes]
    return np.where(codes == MISSING, split["missing_left"] == 1, codes <= split["bin"])


def find_opinion(labels: NDArray[Any], weights: NDArray[np.object_]) -> Any:
    """Give what the rows of a node have on average: the mean, or the shares of classes."""
    sums: Counter[Any] = Counter()
    for label, weight in zip(labels.tolist(), weights, strict=True):
        sums[label] += weight
    total = sum(sums.values())
    if labels.dtype == np.uint16:
        return {label: Fraction(weight, total) for label, weight in sums.items()}
    ratios = [label.as_integer_ratio() for label in sums]
    unit = max(denominator for _, denominator in ratios)
    whole = sum(
        weight * numerator * (unit // denominator)
        for weight, (numerator, denominator) in zip(sums.values(), ratios, strict=True)
    )
    return Fraction(whole, unit * total)


def mix(left: Any, right: Any, share: Fraction) -> Any:
    """Give the mean of two opinions, of which the left one has this share."""
    if isinstance(left, dict):
        return {k: share * left.get(k, Fraction(0)) + (1 - share) * right.get(k, Fraction(0)) for k in left | right}
    return share * left + (1 - share) * right


def agree(opinion: Any, truth: Any, origin: Fraction) -> Fraction:
    """Tell how well an opinion fits labels that are on average as another opinion says.

    A label is fitted as well as its share says, or as the mean times the label, of numbers from an origin.
    """
    if isinstance(opinion, dict):
        return sum((share * opinion.get(k, Fraction(0)) for k, share in truth.items()), Fraction(0))
    return opinion * (truth - origin)


def normalise(credits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make importances of credits: none is negative, and they sum to 1 or are all zero."""
    gains = np.maximum(credits, 0.0)
    return gains / gains.sum() if gains.any() else gains
