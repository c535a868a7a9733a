"""The common part of tasks of two and of many classes: votes, weights of rows, learning rate."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost._shards import Shards, WholeTable, find_rows_here, join_sums
from mpboost.outputs.calibration import VoteCalibration
from mpboost.outputs.metrics import Metric, to_codes
from mpboost.outputs.predictions import VotePredictions
from mpboost.outputs.statistics import add_up, compute_mean
from mpboost.outputs.votes import correct_votes, count_votes, rank_classes, take_class
from mpboost.rules import MarginWeighting
from mpboost.tasks.contract import NOT_ABOUT_ROWS, StopsByScore, TaskState
from mpboost.tasks.rates import LearningRate
from mpboost.tasks.weightings import RowRule, Weighting, WeightTable

#: Votes that calibrations during a run are fitted to at most: slopes need few, and they are fitted often.
MAX_COUNTS = 20_000


class VotingTask(StopsByScore):
    """Base of tasks whose learners vote for classes.

    Parameters
    ----------
    labels : int8 or uint16 array of shape (n_samples,)
        -1 and +1 for two classes, or codes of classes: 0, 1, 2, ...
    n_classes : int
        The number of classes.
    weighting : str, MarginWeighting or RowRule
        L of the paper's Table I: the weight of a row as a function of its margin. Or a user's rule.
    learning_rate : float or "auto"
        Weight of a vote in L.
    adaptive : bool
        Whether weights depend on margins; if not, they stay equal.
    seed : int
        Determines draws other than those of rows and features.
    sample_weights : float64 array of shape (n_samples,) or None
        Positive weights of rows, which multiply L.
    score_weights : float64 array of shape (n_samples,) or None
        Positive weights of rows in the scores and in the calibration of votes.
    metric : Metric or None
        Computes the scores; None for accuracy.

    Attributes
    ----------
    learning_rate : LearningRate
        The weight of a vote in L.
    ranks : uint16 array of shape (n_classes,)
        At a tie, the class of the highest rank wins.
    oop_accuracies : list of float
        Out-of-patch accuracy after each learner, whatever the metric.
    """

    def __init__(
        self,
        labels: NDArray[Any],
        n_classes: int,
        *,
        weighting: Weighting | MarginWeighting | RowRule,
        learning_rate: float | Literal["auto"],
        adaptive: bool,
        seed: int,
        sample_weights: Floats | None,
        score_weights: Floats | None,
        metric: Metric | None,
    ):
        self.shards: Shards = WholeTable(len(labels))
        self.labels = labels
        self.sample_weights = sample_weights
        self.score_weights = score_weights
        self.ranks = rank_classes(to_codes(labels), n_classes, sample_weights)
        self.learning_rate = LearningRate(learning_rate)
        self.oop_accuracies: list[float] = []
        self._use_metric(metric)
        self._log_sample_weights = None if sample_weights is None else _native.log_of(sample_weights)
        self._total_weight = len(labels) if score_weights is None else add_up(score_weights)
        self._adaptive = adaptive
        self._seed = seed
        self._n_learners = 0
        self._row_rule = weighting if isinstance(weighting, RowRule) else None
        self._table = WeightTable("logistic" if isinstance(weighting, RowRule) else weighting)
        self._calibrate: Callable[[], VoteCalibration] = _refuse_to_calibrate

    def list_row_arrays(self) -> list[NDArray[Any] | None]:
        """List the arrays that have an entry for each row."""
        about_rows = (array for name, array in self.state.items() if name not in NOT_ABOUT_ROWS)
        return [*self.list_given_arrays(), *about_rows]

    def list_given_arrays(self) -> list[NDArray[Any] | None]:
        """List those of them that stay what they are: labels and weights."""
        return [self.labels, self.sample_weights, self.score_weights, self._log_sample_weights]

    @abstractmethod
    def count_oop_votes(self, state: TaskState, n_learners: int) -> NDArray[Any]:
        """Count the votes for each class, by the learners that never saw the row: (n_samples, n_classes)."""

    @property
    @abstractmethod
    def classes(self) -> NDArray[np.uint16]:
        """Codes of the classes of all rows: 0, 1, 2, ..."""

    def compute_single_accuracy(self, n_learners: int) -> float:
        """Compute the accuracy of single learners on rows that they never saw."""

        def count() -> tuple[int, int]:
            votes = self.count_oop_votes(self.state, n_learners)
            right = take_class(votes, self.classes)
            return int(right.sum(dtype=np.int64)), int(votes.sum(dtype=np.int64))

        n_right, n_votes = self.shards.exchange(
            count, lambda parts: [sum(counts) for counts in zip(*parts, strict=True)]
        )
        return n_right / n_votes

    @abstractmethod
    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count, for each row, the learners that never saw it."""

    @property
    @abstractmethod
    def state(self) -> TaskState:
        """Views of the votes, and of the learning rate."""

    @abstractmethod
    def _count_sides(self, rows: Positions) -> tuple[int, int]:
        """Count those of some rows of this shard that out-of-patch votes get wrong and right."""

    @abstractmethod
    def _add(
        self, outputs: Any, rows: Positions, sums: _native.RowSums, threads: _native.Threads
    ) -> tuple[float, float]:
        """Add the votes of a learner, given the rows of its minipatch in this shard.

        Adds the weight of right rows, in training and out of patch, to the sums, and returns it.
        """

    def update(self, outputs: Any, rows: Positions, threads: _native.Threads) -> None:
        """Add the votes of a learner, given the rows of its minipatch; update weights and scores."""
        self._n_learners += 1
        here = find_rows_here(self.shards, rows)
        adapts = self._adaptive and not self.learning_rate.is_fixed
        sides_here = self._count_sides(here) if adapts else (0, 0)
        sums = _native.RowSums(self.shards.first_row)
        right_here = self._add(outputs, here, sums, threads)
        right, sides = self.shards.exchange(lambda: (right_here, sums, sides_here), _join_counts)
        if adapts:
            self.learning_rate.adapt(*sides)
        self._set_scores(*right)

    def _set_scores(self, train: float, out_of_patch: float) -> None:
        """Compute the scores: the metric, or accuracies from the weight of right rows."""
        # The last bit depends on the order of summation: do not exceed 1.
        self.oop_accuracies.append(min(1.0, out_of_patch / self._total_weight))
        if self._running is None:
            self.train_score = min(1.0, train / self._total_weight)
            self.oop_score = self.oop_accuracies[-1]
        else:
            self._update_scores(self._n_learners)

    def present_oop(self, state: TaskState, n_learners: int, rows: Positions) -> tuple[Positions, VotePredictions]:
        """Return those of some rows that have out-of-patch votes in a given state, and predictions by these votes."""
        rows, counts, _ = self._judge(state, n_learners, rows)
        return rows, VotePredictions(counts, self.ranks, self._calibrate)

    def _judge(
        self, state: TaskState, n_learners: int, rows: Positions
    ) -> tuple[Positions, NDArray[Any], NDArray[np.int32]]:
        """Return those of some rows that any learners never saw, the votes of these learners, and their numbers.

        Votes will be calibrated by these.
        """
        part = take_rows(state, rows)
        counts, n_judges = self.count_oop_votes(part, n_learners), self.count_oop_learners(part, n_learners)
        is_judged = n_judges > 0
        if not is_judged.all():
            rows, counts, n_judges = rows[is_judged], counts[is_judged], n_judges[is_judged]
        weights = None if self.score_weights is None else self.score_weights[rows]
        calibrate = partial(VoteCalibration.fit, counts, to_codes(self.labels[rows]), weights, max_counts=MAX_COUNTS)
        self._calibrate = cache(calibrate)
        return rows, counts, n_judges

    def list_unsent(self) -> list[object]:
        """List what a copy of the task for another shard is without: what only the shard itself can use."""
        return [*super().list_unsent(), self._calibrate, self._table, self._row_rule]

    def _weigh_by(self, rule: RowRule, state: TaskState) -> Floats:
        """Compute the logarithms of weights in a given state by a rule about all rows."""
        rate, oop = state["learning_rate"][0], self._list_oop_sums
        logs = rule.weigh(
            int(state["n_learners"][0]),
            self.classes,
            rate * state["votes"],
            rate * self._find_margins(state["votes"]),
            self.sample_weights,
            lambda: rate * oop(state),
        )
        return logs if self._log_sample_weights is None else logs + self._log_sample_weights

    @abstractmethod
    def _find_margins(self, votes: NDArray[Any]) -> NDArray[Any]:
        """Compute the votes for the class of a row minus those for the strongest other class."""

    @abstractmethod
    def _list_oop_sums(self, state: TaskState) -> NDArray[Any]:
        """Return the votes of learners that never saw the row, summed or counted as those of all learners are."""

    def _learn_from(self, sample: Self) -> None:
        self._calibrate = sample._calibrate

    def present_corrected(
        self, state: TaskState, n_learners: int, rows: Positions
    ) -> tuple[Positions, VotePredictions]:
        """Return the same as ``present_oop``, by votes that are corrected for the bias that an adaptive p causes."""
        rows, counts, n_judges = self._judge(state, n_learners, rows)
        corrected = correct_votes(counts, to_codes(self.labels[rows]), n_judges, n_learners)
        return rows, VotePredictions(corrected, self.ranks, self._calibrate)

    def present_training(self, rows: Positions) -> VotePredictions:
        """Return the predictions of the ensemble for some training rows."""
        return self.present(self.state["votes"][rows], self._n_learners)

    def present(self, totals: NDArray[Any], n_learners: int) -> VotePredictions:
        """Return predictions for rows by the totals of votes; probabilities are calibrated out of patch."""
        return VotePredictions(count_votes(totals, n_learners), self.ranks, self._calibrate)

    def score(self, totals: NDArray[Any], n_learners: int, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the score of other rows, given the totals of votes."""
        if self._running is not None:
            return self._running.metric.compute(self.present(totals, n_learners), labels, weights)
        return compute_mean(self._find_right(totals, labels), weights)

    @abstractmethod
    def _find_right(self, totals: NDArray[Any], labels: NDArray[Any]) -> Mask:
        """Tell which rows are predicted right, given the totals of votes."""


def _refuse_to_calibrate() -> VoteCalibration:
    raise RuntimeError("There are no out-of-patch votes yet that votes could be calibrated by.")


def take_rows(state: TaskState, rows: Positions) -> TaskState:
    """Return the state of some rows; what is not about rows stays as it is."""
    return {name: array if name in NOT_ABOUT_ROWS else array[rows] for name, array in state.items()}


def _join_counts(
    parts: Sequence[tuple[Sequence[float], _native.RowSums, tuple[int, int]]],
) -> tuple[Sequence[float], tuple[int, int]]:
    """Join the weights of right rows, and the numbers of rows that out-of-patch votes get wrong and right."""
    if len(parts) == 1:
        return parts[0][0], parts[0][2]
    _, sums, sides = zip(*parts, strict=True)
    n_wrong, n_right = (sum(counts) for counts in zip(*sides, strict=True))
    return join_sums(sums).tolist(), (n_wrong, n_right)
