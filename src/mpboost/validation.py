"""Given data to validate on, beside the out-of-patch score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.learners import Voter


class Validation:
    """Rows that no learner is trained on, and the votes on them.

    Parameters
    ----------
    voter : Voter
        The rows, ready to be voted on.
    labels : int8 array of shape (n_rows,)
        -1 or +1.
    sample_weights : float64 array of shape (n_rows,) or None
        What the rows count in the score.
    tie_label : int
        What a vote of zero means.
    """

    def __init__(
        self, voter: Voter, labels: NDArray[np.int8], sample_weights: NDArray[np.float64] | None, tie_label: int
    ):
        self.labels = labels
        self.sample_weights = sample_weights
        self._voter = voter
        self._tie_label = tie_label
        self._votes = np.zeros(len(labels), dtype=np.int32)

    def has_rows_of(self, other: "Validation") -> bool:
        """Tell whether the rows are the same, as far as learners see them."""
        return (
            np.array_equal(self.labels, other.labels)
            and are_same_weights(self.sample_weights, other.sample_weights)
            and self._voter.equals(other._voter)
        )

    def score(self, model: Any, threads: _native.Threads) -> float:
        """Add the votes of a learner; give the accuracy of all so far."""
        self._votes += self._voter.vote(model, threads)
        predicted = np.where(self._votes == 0, self._tie_label, np.sign(self._votes))
        return float(np.average(predicted == self.labels, weights=self.sample_weights))


def are_same_weights(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    """Tell whether two sets of weights are the same, or both none."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
