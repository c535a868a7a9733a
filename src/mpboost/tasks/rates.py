"""The learning rate: the weight of a vote when p is computed from votes."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: The limits of "auto", which starts with the upper one.
MAX_AUTO_RATE, MIN_AUTO_RATE = 0.1, 0.001
#: The share of wrong rows in minipatches, by out-of-patch votes, above which "auto" lowers the rate.
MAX_WRONG_SHARE = 0.4
#: How fast "auto" reacts: the weight of earlier minipatches in the share, and of the share in the rate.
MEMORY, GAIN = 0.9, 0.5
#: Minipatches before "auto" begins: fewer votes cannot tell right rows from wrong ones.
N_WARM_UP = 5


class LearningRate:
    """A fixed learning rate, or one that is lowered while labels look noisy.

    The larger the rate, the more p prefers rows that are predicted wrong. If labels are clean, these rows are the ones
    to learn from. If labels are noisy, these rows have wrong labels, and learners that are trained on minipatches full
    of them learn the wrong thing. "auto" detects this by the votes of learners that never saw a row: it lowers the rate
    while more than a certain share of the rows in minipatches is wrong by these votes, and raises it afterwards.

    Parameters
    ----------
    rate : float or "auto"
        The learning rate.

    Attributes
    ----------
    value : float
        The current learning rate.
    """

    def __init__(self, rate: float | Literal["auto"]):
        self.is_fixed = rate != "auto"
        self.value = MAX_AUTO_RATE if rate == "auto" else float(rate)
        self._wrong_share = 0.0
        self._n_minipatches = 0

    def adapt(self, n_wrong: int, n_right: int) -> None:
        """Adapt the rate to a minipatch, given how many of its rows are wrong and right by out-of-patch votes."""
        if self.is_fixed or not n_wrong + n_right:
            return
        share = n_wrong / (n_wrong + n_right)
        self._n_minipatches += 1
        if self._n_minipatches <= N_WARM_UP:
            self._wrong_share = share
            return
        self._wrong_share = MEMORY * self._wrong_share + (1.0 - MEMORY) * share
        rate = self.value * (1.0 - GAIN * (self._wrong_share - MAX_WRONG_SHARE))
        self.value = min(max(rate, MIN_AUTO_RATE), MAX_AUTO_RATE)


def count_sides(margins: NDArray[np.integer]) -> tuple[int, int]:
    """Count the margins below and above 0.

    Examples
    --------
    >>> import numpy as np
    >>> count_sides(np.array([-1, 0, 2, 3]))
    (1, 2)
    """
    return int(np.count_nonzero(margins < 0)), int(np.count_nonzero(margins > 0))
