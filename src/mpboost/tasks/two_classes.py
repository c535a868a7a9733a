"""What is learned: labels, outputs of the ensemble, and how they turn into weights and scores."""

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.outputs.kinds import Outputs, Signs
from mpboost.outputs.votes import rank_classes
from mpboost.tasks.rates import LearningRate

Weighting = Literal["exponential", "logistic", "hard_exponential", "hard_logistic"]

#: What the arrays are called that outputs add up to, and the arrays.
State = dict[str, NDArray[Any]]


class Task(Protocol):
    """What the loop asks of a task.

    Attributes
    ----------
    labels : array of shape (n_samples,)
        What is to be learned of each row.
    sample_weights : float64 array of shape (n_samples,) or None
        Positive. They multiply p, and count in the scores.
    log_weights : float64 array of shape (n_samples,)
        Logarithms of the weights that p is made of, up to a constant.
    outputs : Outputs
        What learners put out.
    train_score, oop_score : float
        Of the ensemble so far.
    oop_quality : float
        What training stops by: the out-of-patch score or, where a loss is made small, minus the out-of-patch loss.
    """

    labels: NDArray[Any]
    sample_weights: NDArray[np.float64] | None
    outputs: Outputs
    train_score: float
    oop_score: float

    @property
    def log_weights(self) -> NDArray[np.float64]:
        """What p is made of."""

    @property
    def oop_quality(self) -> float:
        """What training stops by."""

    @property
    def state(self) -> State:
        """Views of the arrays that outputs add up to."""

    def pose(self, iteration: int, threads: _native.Threads) -> Any:
        """Give what the learner of an iteration is trained on, labels or slopes, before its rows are drawn."""

    def complete(self, rows: NDArray[np.int64], iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Change rows that nothing could be learned from."""

    def update(self, outputs: Any, rows: NDArray[np.int64], threads: _native.Threads) -> None:
        """Add a learner's outputs, given the rows that it was trained on; refresh weights and scores."""

    def find_weights(self) -> NDArray[np.float64]:
        """Give the weights that p is made of, up to a factor, in an array of their own."""

    def weigh(self, state: State) -> NDArray[np.float64]:
        """Give the logarithms of the weights that the rows have in some state."""

    def score(
        self, totals: NDArray[Any], n_learners: int, labels: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> float:
        """Score other rows by what the outputs of learners add up to."""

    def find_quality(
        self, score: float, totals: NDArray[Any], labels: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> float:
        """Find what training stops by on other rows, whose score is known."""

    def count_judgements(self, rows: NDArray[np.int64]) -> float:
        """Tell how often the average row is judged out of patch by a learner that was trained on these rows."""


class StopsByScore:
    """Of tasks that are learned as long as their score gets better, which learners that never saw a row vote on."""

    labels: NDArray[Any]
    log_weights: NDArray[np.float64]
    oop_score: float

    @property
    def oop_quality(self) -> float:
        """What training stops by: the out-of-patch score."""
        return self.oop_score

    def find_weights(self) -> NDArray[np.float64]:
        """Give the weights that p is made of, up to a factor, in an array of their own."""
        weights = self.log_weights - self.log_weights.max()
        return np.exp(weights, out=weights)

    def find_quality(
        self, score: float, totals: NDArray[Any], labels: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> float:
        """Find what training stops by on other rows: their score."""
        return score

    def count_judgements(self, rows: NDArray[np.int64]) -> float:
        """Tell how often the average row is judged by a learner that was trained on these rows, and not on it."""
        return 1 - len(rows) / len(self.labels)


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


class BinaryTask(StopsByScore):
    """Two classes, coded -1 and +1, and the votes that they got so far.

    Parameters
    ----------
    labels : int8 array of shape (n_samples,)
        -1 or +1; both occur.
    weighting : str
        L of the paper's Table I.
    learning_rate : float or "auto"
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
    learning_rate : LearningRate
        What a vote weighs inside L.
    tie_label : int
        What a vote of zero means: the class of more weight, or +1.
    """

    def __init__(
        self,
        labels: NDArray[np.int8],
        *,
        weighting: Weighting,
        learning_rate: float | Literal["auto"],
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
        self.classes = (labels > 0).astype(np.uint16)
        self.ranks = rank_classes(self.classes, 2, sample_weights)
        self.tie_label = 1 if self.ranks[1] else -1
        self.outputs: Outputs = Signs(self.tie_label)
        self.train_score = np.nan
        self.oop_score = np.nan
        self.learning_rate = LearningRate(learning_rate)
        self._adaptive = adaptive
        self._seed = seed
        self._n_learners = 0
        self._table = WeightTable(weighting)

    @property
    def state(self) -> State:
        """Views of the arrays that votes add up to."""
        return {
            "votes": self.votes,
            "in_patch_votes": self.in_patch_votes,
            "in_patch_counts": self.in_patch_counts,
            "learning_rate": self.learning_rate.value,
        }

    def pose(self, iteration: int, threads: _native.Threads) -> NDArray[np.int8]:
        """Give the labels."""
        return self.labels

    def complete(self, rows: NDArray[np.int64], iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Where the rows are all of one class, swap one."""
        return complete_classes(rows, self.labels, self.log_weights, self._seed, iteration, threads)

    def update(self, outputs: NDArray[np.int8], rows: NDArray[np.int64], threads: _native.Threads) -> None:
        """Add a learner's votes, given the rows that it was trained on; refresh weights and scores."""
        self._n_learners += 1
        if self._adaptive and not self.learning_rate.is_fixed:
            self.learning_rate.adapt((self.votes[rows] - self.in_patch_votes[rows]) * self.labels[rows])
        train, out_of_patch = _native.add_votes(
            outputs,
            rows,
            self.labels,
            self.votes,
            self.in_patch_votes,
            self.in_patch_counts,
            self.tie_label,
            self._table.find(self.learning_rate.value[0], self._n_learners),
            self.log_weights if self._adaptive else None,
            self.sample_weights,
            self._log_sample_weights,
            threads,
        )
        # The order of summation makes a difference in the last bit: not to exceed 1.
        self.train_score = min(1.0, train / self._total_weight)
        self.oop_score = min(1.0, out_of_patch / self._total_weight)

    def weigh(self, state: State) -> NDArray[np.float64]:
        """Give the logarithms of the weights that the rows have in some state."""
        if not self._adaptive:
            return self.log_weights.copy()
        table = self._table.find(state["learning_rate"][0], self._n_learners)
        log_weights = table[len(table) // 2 + self.labels * state["votes"]]
        return log_weights if self._log_sample_weights is None else log_weights + self._log_sample_weights

    def count_oop_votes(self, state: State, n_learners: int) -> NDArray[np.int32]:
        """Count the votes for each class of the learners that never saw the row."""
        votes, n_out_of_patch = state["votes"] - state["in_patch_votes"], n_learners - state["in_patch_counts"]
        counts = np.column_stack([n_out_of_patch - votes, n_out_of_patch + votes])
        counts //= 2
        return counts

    def score(
        self, totals: NDArray[Any], n_learners: int, labels: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> float:
        """Give the accuracy on other rows."""
        predicted = np.where(totals == 0, self.tie_label, np.sign(totals))
        return float(np.average(predicted == labels, weights=weights))


class WeightTable:
    """Keeps log L of every margin that so many votes can have, for the learning rate that was asked for last.

    Examples
    --------
    >>> WeightTable("exponential", 2).find(0.5, 1)
    array([ 1. ,  0.5, -0. , -0.5, -1. ])
    """

    def __init__(self, weighting: Weighting, n_votes: int = 256):
        self._weighting: Weighting = weighting
        self._n_votes = n_votes
        self._learning_rate = np.nan
        self._table = np.empty(0)

    def find(self, learning_rate: float, n_votes: int) -> NDArray[np.float64]:
        """Give log L for margins from minus so many votes, or more, to as many."""
        if learning_rate != self._learning_rate or n_votes > self._n_votes:
            if n_votes > self._n_votes:
                self._n_votes = 2 * n_votes
            margins = np.arange(-self._n_votes, self._n_votes + 1, dtype=np.float64)
            self._table = log_weighting(self._weighting, learning_rate * margins)
            self._learning_rate = learning_rate
        return self._table


def complete_classes(
    rows: NDArray[np.int64],
    labels: NDArray[Any],
    log_weights: NDArray[np.float64],
    seed: int,
    iteration: int,
    threads: _native.Threads,
) -> NDArray[np.int64]:
    """Where the rows are all of one class, swap the least likely one for the likeliest of another class."""
    patch = labels[rows]
    if len(rows) == 1 or patch.min() != patch.max():
        return rows

    def pick(equals: NDArray[np.int64]) -> np.int64:  # by lot: the first one would be picked ever again
        lots = np.zeros(len(equals))
        return equals[_native.race(lots, 1, seed, iteration, _native.Purpose.COMPLETION, threads)[0]]

    others = np.flatnonzero(labels != patch[0])
    if not len(others):
        return rows
    others_weights, rows_weights = log_weights[others], log_weights[rows]
    swapped_in = pick(others[others_weights == others_weights.max()])
    swapped_out = pick(rows[rows_weights == rows_weights.min()])
    return np.sort(np.append(rows[rows != swapped_out], swapped_in))
