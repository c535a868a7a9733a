"""What the loop asks of p, and what a draw gives."""

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Positions

Question = TypeVar("Question", contravariant=True)


class Draw(NamedTuple):
    """Rows of a minipatch, and rows to judge what is learned from them; both ascending, none in both.

    Attributes
    ----------
    rows, unseen : int64 arrays
        The minipatch, and the rows that judge.
    weights : float64 array or None
        What each row of the minipatch weighs in training; None where all weigh the same.
    """

    rows: Positions
    unseen: Positions
    weights: Floats | None = None


class RowSampler(Protocol[Question]):
    """What the loop asks of p.

    Attributes
    ----------
    n_drawn : int
        Rows in a minipatch.
    """

    @property
    def n_drawn(self) -> int:
        """Rows in a minipatch."""

    def sample(self, iteration: int, question: Question, threads: _native.Threads) -> Draw:
        """Draw the rows of a minipatch, given what is asked about all rows."""


def probabilities_from_logs(log_weights: Floats) -> Floats:
    """Normalise weights that are given by their logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities_from_logs(np.array([-1000.0, -1000.0]))
    array([0.5, 0.5])
    """
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()
