"""What is learned: labels, outputs of the ensemble, and how they turn into weights and scores."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native

Weighting = Literal["exponential", "logistic", "hard_exponential", "hard_logistic"]


def log_weighting(weighting: Weighting, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the weighting L of the paper's Table I at the margins y F.

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
    return -np.logaddexp(0.0, margins)


class BinaryTask:
    """Two classes, coded -1 and +1, and the votes that they got so far.

    Parameters
    ----------
    labels : int8 array of shape (n_samples,)
        -1 or +1; both occur.
    weighting : str
        L of the paper's Table I.
    learning_rate : float
        Weight of a vote inside L.
    adaptive : bool
        Whether the weights follow the margins; if not they stay equal.
    seed : int
        Settles ties between rows.
    sample_weights : float64 array of shape (n_samples,), default=None
        Positive. They multiply L, and count in the scores.

    Attributes
    ----------
    votes : int32 array
        F over the learning rate: the sum of all votes.
    in_patch_votes : int32 array
        S over the learning rate: the votes of learners that were trained on the row, so that G = F - S.
    in_patch_counts : int32 array
        How many learners these are.
    log_weights : float64 array
        log of L times the sample weight of each row, up to a constant.
    tie_label : int
        What a vote of zero means: the class of more weight, or +1.
    """

    def __init__(
        self,
        labels: NDArray[np.int8],
        *,
        weighting: Weighting,
        learning_rate: float,
        adaptive: bool,
        seed: int = 0,
        sample_weights: NDArray[np.float64] | None = None,
    ):
        n_samples = len(labels)
        self.labels = labels
        self.sample_weights = sample_weights
        self.votes = np.zeros(n_samples, dtype=np.int32)
        self.in_patch_votes = np.zeros(n_samples, dtype=np.int32)
        self.in_patch_counts = np.zeros(n_samples, dtype=np.int32)
        self._log_sample_weights = None if sample_weights is None else np.log(sample_weights)
        self._total_weight = n_samples if sample_weights is None else sample_weights.sum()
        self.log_weights = np.zeros(n_samples) if sample_weights is None else np.log(sample_weights)
        self.tie_label = find_tie_label(labels, sample_weights)
        self.train_score = np.nan
        self.oop_score = np.nan
        self._weighting: Weighting = weighting
        self._learning_rate = learning_rate
        self._adaptive = adaptive
        self._seed = seed
        self._n_learners = 0
        self._table = self._make_table(256)

    def complete(self, rows: NDArray[np.int64], iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Where the rows are all of one class, swap the least likely one for the likeliest of the other class."""
        patch = self.labels[rows]
        if len(rows) == 1 or patch.min() != patch.max():
            return rows

        def pick(equals: NDArray[np.int64]) -> np.int64:  # by lot: the first one would be picked ever again
            lots = np.zeros(len(equals))
            return equals[_native.race(lots, 1, self._seed, iteration, _native.Purpose.COMPLETION, threads)[0]]

        others = np.flatnonzero(self.labels != patch[0])
        others_weights, rows_weights = self.log_weights[others], self.log_weights[rows]
        swapped_in = pick(others[others_weights == others_weights.max()])
        swapped_out = pick(rows[rows_weights == rows_weights.min()])
        return np.sort(np.append(rows[rows != swapped_out], swapped_in))

    def update(self, votes: NDArray[np.int8], rows: NDArray[np.int64], threads: _native.Threads) -> None:
        """Add a learner's votes, given the rows that it was trained on; refresh weights and scores."""
        self._n_learners += 1
        if self._n_learners > len(self._table) // 2:
            self._table = self._make_table(2 * self._n_learners)
        train, out_of_patch = _native.add_votes(
            votes,
            rows,
            self.labels,
            self.votes,
            self.in_patch_votes,
            self.in_patch_counts,
            self.tie_label,
            self._table,
            self.log_weights if self._adaptive else None,
            self.sample_weights,
            self._log_sample_weights,
            threads,
        )
        # The order of summation makes a difference in the last bit: not to exceed 1.
        self.train_score = min(1.0, train / self._total_weight)
        self.oop_score = min(1.0, out_of_patch / self._total_weight)

    def weigh(self, votes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Logarithms of the weights that rows with these votes have."""
        if not self._adaptive:
            return self.log_weights.copy()
        log_weights = self._table[len(self._table) // 2 + self.labels * votes]
        return log_weights if self._log_sample_weights is None else log_weights + self._log_sample_weights

    def _make_table(self, n_votes: int) -> NDArray[np.float64]:
        # Votes are whole numbers: L is computed once for every value that so many of them can add up to.
        margins = np.arange(-n_votes, n_votes + 1, dtype=np.float64)
        return log_weighting(self._weighting, self._learning_rate * margins)


def find_tie_label(labels: NDArray[np.int8], sample_weights: NDArray[np.float64] | None = None) -> int:
    """Find the class that a vote of zero goes to: the one of more weight, or +1."""
    if sample_weights is None:
        return 1 if labels.sum(dtype=np.int64) >= 0 else -1
    # Weights that balance the classes do so up to rounding, which must not decide.
    balance, total = np.sum(labels * sample_weights), np.sum(sample_weights)
    return 1 if balance >= -1e-9 * total else -1
