"""The task of two classes: sums of votes, and weights of rows that depend on them."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost.outputs.kinds import Signs
from mpboost.outputs.metrics import Metric
from mpboost.rules import MarginWeighting
from mpboost.sampling.questions import Labels
from mpboost.sampling.weights import BATCH_ROWS, LogWeights, VoteWeights, compute_logs
from mpboost.tasks.contract import TaskState
from mpboost.tasks.voting import VotingTask
from mpboost.tasks.weightings import RowRule, Weighting

#: The largest sum of votes that fits in 16 bits.
MAX_SHORT_SUM = np.iinfo(np.int16).max


class BinaryTask(VotingTask):
    """Two classes, coded -1 and +1, and the sums of votes.

    Parameters
    ----------
    labels : int8 array of shape (n_samples,)
        -1 or +1; both occur.
    weighting, learning_rate, adaptive, seed, sample_weights, score_weights, metric
        See VotingTask.

    Attributes
    ----------
    votes : int16 or int32 array
        F divided by the learning rate: the sum of all votes. Sums and counts have 16 bits as long as they fit.
    in_patch_votes : int16 or int32 array
        S divided by the learning rate: the votes of learners that were trained on the row. G = F - S.
    in_patch_counts : int16 or int32 array
        The number of these learners.
    tie_label : int
        The prediction if votes sum to 0: the class of more weight, or +1.
    """

    def __init__(
        self,
        labels: NDArray[np.int8],
        *,
        weighting: Weighting | MarginWeighting | RowRule,
        learning_rate: float | Literal["auto"],
        adaptive: bool,
        seed: int = 0,
        sample_weights: Floats | None = None,
        score_weights: Floats | None = None,
        metric: Metric | None = None,
    ):
        super().__init__(
            labels,
            2,
            weighting=weighting,
            learning_rate=learning_rate,
            adaptive=adaptive,
            seed=seed,
            sample_weights=sample_weights,
            score_weights=score_weights,
            metric=metric,
        )
        self.votes: NDArray[Any] = np.zeros(len(labels), dtype=np.int16)
        self.in_patch_votes: NDArray[Any] = np.zeros(len(labels), dtype=np.int16)
        self.in_patch_counts: NDArray[Any] = np.zeros(len(labels), dtype=np.int16)
        self.tie_label = 1 if self.ranks[1] else -1
        self.outputs = Signs(self.tie_label)

    @property
    def state(self) -> TaskState:
        """Views of the arrays that votes are added to."""
        return {
            "votes": self.votes,
            "in_patch_votes": self.in_patch_votes,
            "in_patch_counts": self.in_patch_counts,
            "learning_rate": np.array([self.learning_rate.value]),
            "n_learners": np.array([self._n_learners]),
        }

    @property
    def classes(self) -> NDArray[np.uint16]:
        """Codes of the classes of all rows, as a new array: 0 and 1."""
        return (self.labels > 0).astype(np.uint16)

    def pose(self, iterations: range, threads: _native.Threads) -> list[Labels[np.int8]]:
        """Return the labels."""
        return [Labels(self.labels, self.weigh(), self.sample_weights)] * len(iterations)

    def weigh(self, state: TaskState | None = None) -> VoteWeights | LogWeights:
        """Return the weights that define p in a given state, or now."""
        if self._row_rule is not None and self._adaptive:
            return LogWeights(self._weigh_by(self._row_rule, self.state if state is None else state))
        votes, rate = self.votes, self.learning_rate.value
        if state is not None:
            votes, rate = state["votes"], float(state["learning_rate"][0])
        table = self._table.look_up(rate, self._n_learners)
        if not self._adaptive:
            table = np.zeros_like(table)
        return VoteWeights(self.labels, votes, table, self._log_sample_weights)

    def _find_margins(self, votes: NDArray[Any]) -> NDArray[Any]:
        return self.labels * votes

    def _list_oop_sums(self, state: TaskState) -> NDArray[Any]:
        return np.asarray(state["votes"] - state["in_patch_votes"])

    def _count_sides(self, rows: Positions) -> tuple[int, int]:
        return _native.count_sides(rows, self.labels, self.votes, self.in_patch_votes)

    def _add(
        self,
        outputs: NDArray[np.int8] | _native.AppliedTree,
        rows: Positions,
        sums: _native.RowSums,
        threads: _native.Threads,
    ) -> tuple[float, float]:
        if self._n_learners > MAX_SHORT_SUM and self.votes.dtype == np.int16:
            self.votes, self.in_patch_votes, self.in_patch_counts = (
                array.astype(np.int32) for array in (self.votes, self.in_patch_votes, self.in_patch_counts)
            )
        return _native.add_votes(
            outputs,
            rows,
            self.labels,
            self.votes,
            self.in_patch_votes,
            self.in_patch_counts,
            self.tie_label,
            self.score_weights,
            threads,
            sums,
        )

    @property
    def log_weights(self) -> Floats:
        """Logarithms of the weights that define p, up to a constant; computed on each access."""
        return compute_logs(self.weigh())

    def compute_log_weights(self, state: TaskState) -> Floats:
        """Compute the logarithms of the weights of the rows in a given state."""
        return compute_logs(self.weigh(state))

    def count_oop_votes(self, state: TaskState, n_learners: int) -> NDArray[Any]:
        """Count the votes for each class, by the learners that never saw the row; in as many bits as the votes."""
        counts = np.empty((len(state["votes"]), 2), dtype=state["votes"].dtype)
        for start in range(0, len(counts), BATCH_ROWS):  # sums need more bits than counts
            batch = slice(start, start + BATCH_ROWS)
            votes = state["votes"][batch].astype(np.int32) - state["in_patch_votes"][batch]
            n_out_of_patch = n_learners - state["in_patch_counts"][batch].astype(np.int32)
            counts[batch, 0] = (n_out_of_patch - votes) // 2
            counts[batch, 1] = (n_out_of_patch + votes) // 2
        return counts

    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count, for each row, the learners that never saw it."""
        return np.subtract(n_learners, state["in_patch_counts"], dtype=np.int32)

    def _find_right(self, totals: NDArray[Any], labels: NDArray[Any]) -> Mask:
        return np.asarray(np.where(totals == 0, self.tie_label, np.sign(totals)) == labels)
