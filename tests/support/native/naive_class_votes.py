"""Steps 3 to 5 of Algorithm 1 for many classes in plain NumPy: the twin of the native passes."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .naive_sums import sum_naively

State = dict[str, NDArray]


def count_rival_votes(votes: NDArray, labels: NDArray[np.uint16]) -> NDArray[np.int32]:
    """Find the most votes of a class other than the row's own; 0 where there is none."""
    others = votes.astype(np.int32)
    others[np.arange(len(labels)), labels] = 0
    return others.max(axis=1, initial=0)


def add_naively(state: State, supported: NDArray[np.bool_]) -> tuple[tuple[float, float], State]:
    """Add a learner's votes, which support some classes of each row; return what is right, and the new arrays."""
    labels, ranks, rows = state["labels"], state["ranks"].astype(np.int64), np.arange(len(state["labels"]))
    out_of_patch = ~np.isin(rows, state["patch"])[:, None]
    F, G = state["votes"] + supported, state["oop_votes"] + (supported & out_of_patch)
    winners = np.argmax(F.astype(np.int64) * len(ranks) + ranks, axis=1)
    oop_right = G[rows, labels].astype(np.int64) > count_rival_votes(G, labels)
    sums = sum_naively(winners == labels, state["sample_weights"]), sum_naively(oop_right, state["sample_weights"])
    rivals = {"rivals": count_rival_votes(F, labels), "oop_rivals": count_rival_votes(G, labels)}
    return sums, {"votes": F, "oop_votes": G} | rivals


def weigh_naively(table: NDArray[np.float64], margins: NDArray, is_term: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Sum L over the margins of each row that are terms; give the logarithm."""
    logs = np.where(is_term, table[len(table) // 2 + np.where(is_term, margins, 0)], -np.inf)
    return logsumexp(logs, axis=1)
