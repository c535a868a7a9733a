"""Limits that new rows stay within with a chosen probability: conformal prediction."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats

#: What rounding may add to a product of a count and a share.
ROUNDING = 1e-9


def find_limit(scores: Floats, coverage: float) -> float:
    """Find the limit that the score of a new row does not exceed, with a probability of at least ``coverage``.

    If the new score is as likely to take one place among all of them as any other, it is one of the ``k`` smallest of
    ``n + 1`` scores with probability ``k / (n + 1)``. So the limit is the score at place ``coverage * (n + 1)``,
    rounded up; infinity if there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> find_limit(np.arange(1.0, 10.0), 0.8), find_limit(np.arange(1.0, 10.0), 0.95)
    (8.0, inf)
    """
    place = math.ceil(coverage * (len(scores) + 1) - ROUNDING)
    if place > len(scores):
        return math.inf
    return float(np.partition(scores, place - 1)[place - 1])


def find_limits(scores: Floats, groups: NDArray[np.intp], n_groups: int, coverage: float) -> Floats:
    """Find the limit of each group, by the scores of its own rows.

    Examples
    --------
    >>> import numpy as np
    >>> find_limits(np.array([1.0, 5.0, 2.0, 6.0]), np.array([0, 1, 0, 1]), 2, 0.5)
    array([2., 6.])
    """
    return np.array([find_limit(scores[rows], coverage) for rows in _list_rows(groups, n_groups)])


def count_needed(coverage: float) -> int:
    """Count the rows that are needed for a limit that is not infinite.

    Examples
    --------
    >>> count_needed(0.9), count_needed(0.95)
    (9, 19)
    """
    return math.ceil(coverage / (1.0 - coverage) - ROUNDING)


def _list_rows(groups: NDArray[np.intp], n_groups: int) -> Iterator[NDArray[np.intp]]:
    """List the rows of each group."""
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(1, n_groups))
    yield from np.split(order, ends)
