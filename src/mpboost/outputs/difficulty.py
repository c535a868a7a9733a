"""Computes how difficult rows are for learners that never saw them: from 0 to 1; 1/2 without such learners."""

import numpy as np
from numpy.typing import NDArray

from mpboost.outputs.statistics import compute_median
from mpboost.outputs.votes import count_rival_votes, take_class

#: Rows per batch, to limit the memory.
BATCH_ROWS = 1 << 14


def judge_votes(counts: NDArray[np.integer], labels: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Compute the difficulty of rows from the votes for their own class and for its strongest rival.

    One vote is added to each (Laplace's rule of succession): one vote of one against the label says less than a hundred
    of a hundred.

    Parameters
    ----------
    counts : integer array of shape (n_samples, n_classes)
        Votes for each class, by the learners that never saw the row.
    labels : uint16 array of shape (n_samples,)
        Codes of the classes.

    Returns
    -------
    difficulty : float64 array of shape (n_samples,)
        The rival's share of the sum of both.

    Examples
    --------
    >>> import numpy as np
    >>> judge_votes(np.array([[98, 0, 0], [0, 1, 0], [20, 68, 10]]), np.array([0, 0, 0], dtype=np.uint16)).round(2)
    array([0.01, 0.67, 0.77])
    """
    difficulty = np.empty(len(labels))
    for start in range(0, len(labels), BATCH_ROWS):
        batch = slice(start, start + BATCH_ROWS)
        own = take_class(counts[batch], labels[batch]) + 1.0
        rivals = count_rival_votes(counts[batch], labels[batch]) + 1.0
        difficulty[batch] = rivals / (own + rivals)
    return difficulty


def judge_shares(shares: NDArray[np.float64], labels: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Compute the difficulty of rows from the probabilities of their own class and of its strongest rival.

    Parameters
    ----------
    shares : float64 array of shape (n_samples, n_classes)
        Probabilities, by a model that never learned from the row.
    labels : uint16 array of shape (n_samples,)
        Codes of the classes.

    Returns
    -------
    difficulty : float64 array of shape (n_samples,)
        The rival's share of the sum of both.

    Examples
    --------
    >>> import numpy as np
    >>> judge_shares(np.array([[0.7, 0.3, 0.0], [0.1, 0.4, 0.5]]), np.array([0, 0], dtype=np.uint16)).round(2)
    array([0.3 , 0.83])
    """
    rows = np.arange(len(labels))
    own, others = shares[rows, labels], shares.copy()
    others[rows, labels] = 0.0
    rivals = others.max(axis=1, initial=0.0)
    return np.divide(rivals, own + rivals, out=np.full(len(labels), 0.5), where=own + rivals > 0)


def judge_residuals(residuals: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Compute the difficulty of rows from their residuals: 1/2 at the median size, 0.9 at nine times the median.

    Parameters
    ----------
    residuals : float64 array of shape (n_samples,)
        Target minus the prediction of learners that never saw the row; NaN if there are none.
    weights : float64 array of shape (n_samples,), default=None
        Weights of the rows in the median.

    Returns
    -------
    difficulty : float64 array of shape (n_samples,)
        Size of the residual / (size of the residual + median).

    Examples
    --------
    >>> import numpy as np
    >>> judge_residuals(np.array([0.0, 1.0, -9.0, np.nan]))
    array([0. , 0.5, 0.9, 0.5])
    """
    difficulty = np.full(len(residuals), 0.5)
    is_known = ~np.isnan(residuals)
    if is_known.any():
        sizes, known_weights = np.abs(residuals[is_known]), None if weights is None else weights[is_known]
        scale = compute_median(sizes, known_weights) or np.average(sizes, weights=known_weights) or 1.0
        difficulty[is_known] = sizes / (sizes + scale)
    return difficulty
