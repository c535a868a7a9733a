"""Counts votes: which class wins, by how much, and how ties are broken."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.outputs.statistics import sum_by_class

#: How much of the votes of other learners a row gets back that is drawn e times as often as the average row.
FEEDBACK = 0.015


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
    weights = sum_by_class(codes, sample_weights, n_classes)
    # Balanced classes have equal weights up to rounding errors, which must not decide.
    order = np.argsort(np.round(weights / weights.sum(), 9), kind="stable")
    ranks = np.empty(n_classes, dtype=np.uint16)
    ranks[order] = np.arange(n_classes)
    return ranks


def count_votes(totals: NDArray[Any], n_learners: int) -> NDArray[Any]:
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
    totals = totals.astype(np.int32)  # twice the votes may not fit in 16 bits
    return np.column_stack([n_learners - totals, n_learners + totals]) // 2


def pick_winners(counts: NDArray[Any], ranks: NDArray[np.uint16]) -> NDArray[np.intp]:
    """Pick the class with the most votes in each row; at a tie, the one of the highest rank.

    Examples
    --------
    >>> import numpy as np
    >>> pick_winners(np.array([[1, 1, 0], [0, 1, 2]]), np.array([1, 0, 2], dtype=np.uint16))
    array([0, 2])
    """
    by_rank = np.argsort(-ranks.astype(np.int64))
    if len(by_rank) == 2:
        return np.where(counts[:, by_rank[1]] > counts[:, by_rank[0]], by_rank[1], by_rank[0])
    return by_rank[np.argmax(counts[:, by_rank], axis=1)]


def break_ties(counts: NDArray[Any], ranks: NDArray[np.uint16]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
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
    return take_class(votes, _find_rivals(votes, labels)).astype(np.int32)


def _find_rivals(votes: NDArray[Any], labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """Find the strongest class other than the row's own."""
    if votes.shape[1] == 2:
        return 1 - labels.astype(np.intp)
    others = votes.astype(np.result_type(votes, np.int32))
    others[np.arange(len(votes)), labels] = -1
    return others.argmax(axis=1)


def take_class(votes: NDArray[Any], classes: NDArray[np.integer]) -> NDArray[Any]:
    """Take the votes for one class of each row.

    Examples
    --------
    >>> import numpy as np
    >>> take_class(np.array([[5, 2, 1], [0, 3, 4]]), np.array([0, 1]))
    array([5, 3])
    """
    return votes.ravel()[_list_places(votes, classes)]


def _list_places(votes: NDArray[Any], classes: NDArray[np.integer]) -> NDArray[np.int64]:
    """List where one class of each row is, counted over all rows: numpy finds it faster than by row and class."""
    return np.arange(len(votes)) * votes.shape[1] + classes


def correct_votes(
    counts: NDArray[np.integer],
    labels: NDArray[np.integer],
    n_judges: NDArray[np.integer],
    n_learners: int,
    mean_share: float | None = None,
) -> NDArray[np.float64]:
    """Correct out-of-patch votes for the bias that an adaptive p causes.

    Learners that saw a row vote for its label, also for rows near it. So other learners do not have to, and vote
    against it more often than those of a model that never had the row; the more so, the more often it was drawn. The
    share of votes that moves back, from the strongest rival to the own class, is proportional to the logarithm of how
    often the row was drawn, relative to the average. docs/estimates.md has the measurements.

    Parameters
    ----------
    counts : integer array of shape (n_rows, n_classes)
        Votes for each class, by the learners that never saw the row.
    labels : integer array of shape (n_rows,)
        Codes of the classes.
    n_judges : integer array of shape (n_rows,)
        Number of these learners.
    n_learners : int
        Number of all learners.
    mean_share : float or None
        Share of the learners that saw the average row; None if that is the average of these rows.

    Examples
    --------
    >>> import numpy as np
    >>> counts, n_judges = np.array([[26, 24], [90, 0]]), np.array([50, 90])
    >>> correct_votes(counts, np.array([1, 0]), n_judges, 100).round(1)
    array([[25.8, 24.2],
           [90. ,  0. ]])
    """
    shares = 1.0 - n_judges / n_learners
    corrected = counts.astype(np.float64, order="C")
    if (shares > 0).any():
        ratios = np.maximum(shares / (shares.mean() if mean_share is None else mean_share), 1.0)
        cells = corrected.ravel()  # a view
        rivals = _list_places(corrected, _find_rivals(counts, labels))
        moved = np.minimum(0.5 * FEEDBACK * _native.log_of(ratios) * n_judges, cells[rivals])
        cells[_list_places(corrected, labels)] += moved
        cells[rivals] -= moved
    return corrected
