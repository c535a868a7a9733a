"""How hard rows are for learners that never saw them, between 0 and 1; 1/2 where there are none."""

import numpy as np
from numpy.typing import NDArray

from mpboost.outputs.statistics import compute_median
from mpboost.outputs.votes import count_rival_votes

#: Rows that are judged at a time: bounds the memory.
BATCH_ROWS = 1 << 14


def judge_votes(counts: NDArray[np.integer], labels: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Judge rows by the votes for their own class and for its strongest rival, and by one more imagined for each.

    That is the rule of succession, of Laplace: a single vote against the label tells less than a hundred of a hundred.

    Parameters
    ----------
    counts : integer array of shape (n_samples, n_classes)
        Votes for each class of the learners that never saw the row.
    labels : uint16 array of shape (n_samples,)
        Codes of the classes.

    Returns
    -------
    difficulty : float64 array of shape (n_samples,)
        The rival's share of both.

    Examples
    --------
    >>> import numpy as np
    >>> judge_votes(np.array([[98, 0, 0], [0, 1, 0], [20, 68, 10]]), np.array([0, 0, 0], dtype=np.uint16)).round(2)
    array([0.01, 0.67, 0.77])
    """
    difficulty = np.empty(len(labels))
    for start in range(0, len(labels), BATCH_ROWS):
        batch = slice(start, start + BATCH_ROWS)
        own = np.take_along_axis(counts[batch], labels[batch, None].astype(np.intp), axis=1)[:, 0] + 1.0
        rivals = count_rival_votes(counts[batch], labels[batch]) + 1.0
        difficulty[batch] = rivals / (own + rivals)
    return difficulty


def judge_shares(shares: NDArray[np.float64], labels: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Judge rows by the probabilities of their own class and of its strongest rival.

    Parameters
    ----------
    shares : float64 array of shape (n_samples, n_classes)
        Probabilities by a model that never learned from the row.
    labels : uint16 array of shape (n_samples,)
        Codes of the classes.

    Returns
    -------
    difficulty : float64 array of shape (n_samples,)
        The rival's share of both.

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
    """Judge rows by how large their residuals are beside the median: as large is 1/2, nine times as large 0.9.

    Parameters
    ----------
    residuals : float64 array of shape (n_samples,)
        Numbers to predict minus what learners that never saw the row predict; NaN where there are none.
    weights : float64 array of shape (n_samples,), default=None
        What rows weigh in the median.

    Returns
    -------
    difficulty : float64 array of shape (n_samples,)
        The residual's share of its sum with the median.

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
