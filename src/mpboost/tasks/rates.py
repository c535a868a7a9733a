"""The learning rate: what a vote weighs where p is made of votes."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: The learning rate that "auto" starts with and does not exceed, and the one that it does not fall below.
MAX_AUTO_RATE, MIN_AUTO_RATE = 0.1, 0.001
#: The share of rows in a minipatch that "auto" lets be wrong by the votes of learners that never saw them.
MAX_WRONG_SHARE = 0.4
#: How fast "auto" follows: the weight of the last minipatch in the share, and of the share in the rate.
MEMORY, GAIN = 0.9, 0.5
#: Minipatches before "auto" begins: with fewer votes there is little to tell right from wrong by.
N_WARM_UP = 5


class LearningRate:
    """A learning rate that stays what it is, or one that the labels are asked how much they can bear.

    The more a vote weighs, the more p prefers rows that are voted down. Where labels are clean that is where there is
    something left to learn. Where they are noisy these are the wrong labels, and as soon as minipatches are full of
    them learners learn the opposite of what holds. Votes of learners that never saw a row tell how far that has
    gone: "auto" lets the rate fall while more than a certain share of the minipatches is wrong by them, and rise again.

    Parameters
    ----------
    rate : float or "auto"
        The learning rate.

    Attributes
    ----------
    value : float64 array of shape (1,)
        The learning rate now.
    """

    def __init__(self, rate: float | Literal["auto"]):
        self.is_fixed = rate != "auto"
        self.value = np.array([MAX_AUTO_RATE if rate == "auto" else float(rate)])
        self._wrong_share = 0.0
        self._n_minipatches = 0

    def adapt(self, margins: NDArray[np.int32]) -> None:
        """Take a minipatch, by the margins that its rows have in the votes of learners that never saw them."""
        n_wrong, n_right = np.count_nonzero(margins < 0), np.count_nonzero(margins > 0)
        if self.is_fixed or not n_wrong + n_right:
            return
        share = n_wrong / (n_wrong + n_right)
        self._n_minipatches += 1
        if self._n_minipatches <= N_WARM_UP:
            self._wrong_share = share
            return
        self._wrong_share = MEMORY * self._wrong_share + (1.0 - MEMORY) * share
        self.value[0] *= 1.0 - GAIN * (self._wrong_share - MAX_WRONG_SHARE)
        self.value[0] = min(max(self.value[0], MIN_AUTO_RATE), MAX_AUTO_RATE)
