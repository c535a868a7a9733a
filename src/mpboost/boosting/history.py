"""The history of a run: effective numbers of rows and features, and q, at a few iterations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The most rows of runs that look back at the best iteration, for which p has to be computed anew in much memory.
MAX_LOOKED_BACK = 20_000_000

#: Iterations that are recorded: eight per power of ten, so that recording takes little time and memory.
MOMENTS = frozenset(round(10 ** (k / 8)) for k in range(73))
#: With more features q is not recorded: it would be more than four million numbers.
MAX_FEATURES = 100_000


class Moment(NamedTuple):
    """What is recorded at one iteration."""

    effective_observations: float
    effective_features: float
    feature_probabilities: NDArray[np.float32] | None


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """The history of a fit at about thirty iterations: eight per power of ten, the best one and the last.

    The effective number of rows or features tells how concentrated a distribution is: it is their number if the
    distribution is uniform, and 1 if one of them has all the probability.

    Attributes
    ----------
    iterations : int64 array of shape (n_moments,)
        Recorded iterations, ascending from 1 to ``n_iter_``; ``best_iteration_`` is one of them.
    effective_observations : float64 array of shape (n_moments,)
        Effective number of rows, 1 / sum(p²).
    effective_features : float64 array of shape (n_moments,)
        Effective number of features, 1 / sum(q²).
    feature_probabilities : float32 array of shape (n_moments, n_features), or None
        Feature probabilities q; None with more than 100 000 features.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> history = MPBoostClassifier(n_estimators=15, stopping=None, random_state=0).fit(X, y).history_
    >>> history
    History(9 of 15 iterations: effective_observations, effective_features, feature_probabilities of 30 features)
    >>> history.iterations
    array([ 1,  2,  3,  4,  6,  7, 10, 13, 15])
    >>> history.feature_probabilities.shape
    (9, 30)
    """

    iterations: NDArray[np.int64]
    effective_observations: NDArray[np.float64]
    effective_features: NDArray[np.float64]
    feature_probabilities: NDArray[np.float32] | None

    def __repr__(self) -> str:
        columns = ["effective_observations", "effective_features"]
        if self.feature_probabilities is not None:
            columns.append(f"feature_probabilities of {self.feature_probabilities.shape[1]} features")
        return f"History({len(self.iterations)} of {self.iterations[-1]} iterations: {', '.join(columns)})"


def take_moment(effective_observations: float, q: NDArray[np.float64]) -> Moment:
    """Record one iteration, given the effective number of rows, and q.

    Examples
    --------
    >>> import numpy as np
    >>> take_moment(7.0, np.array([0.5, 0.5, 0.0]))[:2]
    (7.0, 2.0)
    """
    path = q.astype(np.float32) if len(q) <= MAX_FEATURES else None
    ratios = q / q.max()  # otherwise squares could underflow; no dot product: it may depend on threads
    total = ratios.sum()
    # A power of a scalar depends on the C library.
    return Moment(effective_observations, float(total * total / np.square(ratios).sum()), path)


def make_history(moments: Mapping[int, Moment]) -> History:
    """Make a history from moments by iteration."""
    iterations = sorted(moments)
    observations, features, paths = zip(*(moments[t] for t in iterations), strict=True)
    return History(
        np.array(iterations, dtype=np.int64),
        np.array(observations),
        np.array(features),
        None if paths[0] is None else np.array(paths),
    )
