"""Counts votes: which class wins, by how much, and how ties are broken."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rank_classes(
    codes: NDArray[np.integer], n_classes: int, sample_weights: NDArray[np.float64] | None = None
) -> NDArray[np.uint16]:
    """Rank classes by their weight, and by their code if weights are equal: at a tie the highest rank wins.

    Examples
    --------
    >>> import numpy as np
    >>> rank_classes(np.array([0, 0, 1, 2, 2]), 3)
    array([1, 0, 2], dtype=uint16)
    """
    weights = np.bincount(codes, sample_weights, minlength=n_classes)
    # Balanced classes have equal weights up to rounding errors, which must not decide.
    order = np.argsort(np.round(weights / weights.sum(), 9), kind="stable")
    ranks = np.empty(n_classes, dtype=np.uint16)
    ranks[order] = np.arange(n_classes)
    return ranks


def count_votes(totals: NDArray[np.int32], n_learners: int) -> NDArray[np.int32]:
    """Count the votes for each class, given the sums of votes -1 and +1 for two classes, or the counts for many.

    Examples
    --------
    >>> import numpy as np
    >>> count_votes(np.array([-2, 0], dtype=np.int32), 4)
    array([[3, 1],
           [2, 2]], dtype=int32)
    """
    if totals.ndim == 2:
        return totals
    return np.column_stack([n_learners - totals, n_learners + totals]) // 2


def pick_winners(counts: NDArray[np.integer], ranks: NDArray[np.uint16]) -> NDArray[np.intp]:
    """Pick the class with the most votes in each row; at a tie, the one of the highest rank.

    Examples
    --------
    >>> import numpy as np
    >>> pick_winners(np.array([[1, 1, 0], [0, 1, 2]]), np.array([1, 0, 2], dtype=np.uint16))
    array([0, 2])
    """
    by_rank = np.argsort(-ranks.astype(np.int64))
    return by_rank[np.argmax(counts[:, by_rank], axis=1)]


def break_ties(counts: NDArray[np.integer], ranks: NDArray[np.uint16]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Break ties: put the winner half a vote ahead of the classes with as many votes; return counts and winners.

    Examples
    --------
    >>> import numpy as np
    >>> break_ties(np.array([[1, 1, 0], [0, 1, 2]]), np.array([1, 0, 2], dtype=np.uint16))[0]
    array([[1.25, 0.75, 0.  ],
           [0.  , 1.  , 2.  ]])
    """
    winners = pick_winners(counts, ranks)
    rows = np.arange(len(counts))
    is_tied = counts == counts[rows, winners, None]
    is_tied[rows, winners] = False
    broken = counts - 0.25 * is_tied
    broken[rows, winners] += 0.25 * is_tied.any(axis=1)
    return broken, winners


def share_votes(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Compute the share of the votes of each class.

    Examples
    --------
    >>> import numpy as np
    >>> share_votes(np.array([[1, 3]]))
    array([[0.25, 0.75]])
    """
    shares: NDArray[Any] = counts / counts.sum(axis=1, keepdims=True)
    return shares


def count_rival_votes(votes: NDArray[Any], labels: NDArray[np.uint16]) -> NDArray[np.int32]:
    """Count the votes for the strongest class other than the row's own.

    Examples
    --------
    >>> import numpy as np
    >>> count_rival_votes(np.array([[5, 2, 1], [0, 3, 4]]), np.array([0, 0], dtype=np.uint16))
    array([2, 4], dtype=int32)
    """
    others = votes.astype(np.int32)
    others[np.arange(len(votes)), labels] = 0
    return np.asarray(others.max(axis=1), dtype=np.int32)
