"""The interface of samplers of rows, and the result of a draw."""

from typing import NamedTuple, Protocol, TypeVar

from mpboost import _native
from mpboost._arrays import Floats, Positions

Question = TypeVar("Question", contravariant=True)


class Draw(NamedTuple):
    """The rows of a minipatch, and other rows that importances are measured on; both are sorted.

    Attributes
    ----------
    rows, unseen : int64 arrays
        The minipatch, and the rows to measure on. No row is in both.
    weights : float64 array or None
        Weight of each row of the minipatch in training; None if all are the same.
    """

    rows: Positions
    unseen: Positions
    weights: Floats | None = None


class RowSampler(Protocol[Question]):
    """Draws the rows of minipatches, as the loop needs them.

    Attributes
    ----------
    n_drawn : int
        Number of rows in a minipatch.
    """

    @property
    def n_drawn(self) -> int:
        """Number of rows in a minipatch."""

    def sample(self, iteration: int, question: Question, threads: _native.Threads) -> Draw:
        """Draw the rows of a minipatch, given the question of the task."""


def probabilities_from_logs(log_weights: Floats) -> Floats:
    """Compute probabilities from the logarithms of weights.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities_from_logs(np.array([-1000.0, -1000.0]))
    array([0.5, 0.5])
    """
    weights = _native.exp_of(log_weights - log_weights.max())
    return weights / weights.sum()
