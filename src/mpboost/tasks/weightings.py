"""The weighting L of the paper's Table I, which computes p from margins."""

from typing import Literal

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats

Weighting = Literal["exponential", "logistic", "hard_exponential", "hard_logistic"]


def log_weighting(weighting: Weighting, margins: Floats) -> Floats:
    """Compute the logarithm of L at the margins y F.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_weighting("logistic", np.array([0.0])))
    array([0.5])
    """
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

    def __init__(self, weighting: Weighting, n_votes: int = 256):
        self._weighting: Weighting = weighting
        self._n_votes = n_votes
        self._learning_rate = np.nan
        self._table = np.empty(0)

    def look_up(self, learning_rate: float, n_votes: int) -> Floats:
        """Return log L for all margins from ``-n`` to ``n`` votes, with ``n`` at least ``n_votes``."""
        if learning_rate != self._learning_rate or n_votes > self._n_votes:
            if n_votes > self._n_votes:
                self._n_votes = 2 * n_votes
            margins = np.arange(-self._n_votes, self._n_votes + 1, dtype=np.float64)
            self._table = log_weighting(self._weighting, learning_rate * margins)
            self._learning_rate = learning_rate
        return self._table
