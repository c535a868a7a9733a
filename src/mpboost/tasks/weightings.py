"""The weighting L of the paper's Table I, which computes p from margins, and rules of users in its place."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.data.problem import Problem
from mpboost.rules import MarginWeighting, RowWeighting, make_rows, weigh_margins, weigh_rows

Weighting = Literal["exponential", "logistic", "hard_exponential", "hard_logistic"]


@dataclass(frozen=True, eq=False)
class RowRule:
    """A user's rule that weights all rows at once, for the rows of a fit.

    Attributes
    ----------
    rule : RowWeighting
        The user's object.
    positions : int64 array of shape (n_rows,)
        Positions of the rows among those that the user passed.
    n_samples : int
        Number of these.
    """

    rule: RowWeighting
    positions: Positions
    n_samples: int

    def weigh(self, n_learners: int, *seen: Any) -> Floats:
        """Compute the logarithms of the weights of all rows; see ``make_rows`` for what the rule sees."""
        return weigh_rows(self.rule, make_rows(n_learners, self.positions, self.n_samples, *seen))


def bind_weighting(weighting: Any, problem: Problem) -> Any:
    """Return a user's weighting as tasks take it: a rule about all rows knows which of the user's rows they are."""
    if not hasattr(weighting, "log_weight_rows"):
        return weighting
    return RowRule(weighting, problem.list_positions(), problem.n_samples)


def log_weighting(weighting: Weighting | MarginWeighting, margins: Floats, n_learners: int = 0) -> Floats:
    """Compute the logarithm of L at the margins y F.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_weighting("logistic", np.array([0.0])))
    array([0.5])
    """
    if not isinstance(weighting, str):
        return weigh_margins(weighting, margins, n_learners)
    if weighting.startswith("hard_"):
        margins = np.sign(margins)
    if weighting.endswith("exponential"):
        return -margins
    return -_native.softplus_of(margins)


class WeightTable:
    """A table of log L for every possible margin, kept for the last learning rate.

    Examples
    --------
    >>> WeightTable("exponential", 2).look_up(0.5, 1)
    array([ 1. ,  0.5, -0. , -0.5, -1. ])
    """

    def __init__(self, weighting: Weighting | MarginWeighting, n_votes: int = 256):
        self._weighting: Weighting | MarginWeighting = weighting
        self._n_votes = n_votes
        self._margins = np.arange(-n_votes, n_votes + 1.0)
        self._learning_rate = math.nan
        self._table = np.empty(0)

    def look_up(self, learning_rate: float, n_votes: int) -> Floats:
        """Return log L for all margins from ``-n`` to ``n`` votes, with ``n`` at least ``n_votes``."""
        if learning_rate != self._learning_rate or n_votes > self._n_votes:
            if n_votes > self._n_votes:
                self._n_votes = 2 * n_votes
                self._margins = np.arange(-self._n_votes, self._n_votes + 1.0)
            self._table = log_weighting(self._weighting, learning_rate * self._margins, n_votes)
            self._learning_rate = learning_rate
        return self._table
