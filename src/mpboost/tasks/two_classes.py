"""The task of two classes: sums of votes, and weights of rows that depend on them."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Mask, Positions
from mpboost.outputs.kinds import Signs
from mpboost.outputs.metrics import Metric
from mpboost.sampling.questions import Labels
from mpboost.tasks.contract import TaskState
from mpboost.tasks.voting import VotingTask
from mpboost.tasks.weightings import Weighting


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
    votes : int32 array
        F divided by the learning rate: the sum of all votes.
    in_patch_votes : int32 array
        S divided by the learning rate: the votes of learners that were trained on the row. G = F - S.
    in_patch_counts : int32 array
        The number of these learners.
    tie_label : int
        The prediction if votes sum to 0: the class of more weight, or +1.
    """

    def __init__(
        self,
        labels: NDArray[np.int8],
        *,
        weighting: Weighting,
        learning_rate: float | Literal["auto"],
        adaptive: bool,
        seed: int = 0,
        sample_weights: Floats | None = None,
        score_weights: Floats | None = None,
        metric: Metric | None = None,
    ):
        super().__init__(
            (labels > 0).astype(np.uint16),
            2,
            weighting=weighting,
            learning_rate=learning_rate,
            adaptive=adaptive,
            seed=seed,
            sample_weights=sample_weights,
            score_weights=score_weights,
            metric=metric,
        )
        self.labels: NDArray[np.int8] = labels
        self.votes = np.zeros(len(labels), dtype=np.int32)
        self.in_patch_votes = np.zeros(len(labels), dtype=np.int32)
        self.in_patch_counts = np.zeros(len(labels), dtype=np.int32)
        self.tie_label = 1 if self.ranks[1] else -1
        self.outputs = Signs(self.tie_label)

    @property
    def state(self) -> TaskState:
        """Views of the arrays that votes are added to."""
        return {
            "votes": self.votes,
            "in_patch_votes": self.in_patch_votes,
            "in_patch_counts": self.in_patch_counts,
            "learning_rate": self.learning_rate.value,
        }

    def pose(self, iteration: int, threads: _native.Threads) -> Labels[np.int8]:
        """Return the labels."""
        return Labels(self.labels, self.log_weights, self.sample_weights)

    def update(self, outputs: NDArray[np.int8], rows: Positions, threads: _native.Threads) -> None:
        """Add the votes of a learner, given the rows of its minipatch; update weights and scores."""
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
            self._table.look_up(self.learning_rate.value[0], self._n_learners),
            self.log_weights if self._adaptive else None,
            self.score_weights,
            self._log_sample_weights,
            threads,
        )
        self._set_scores(train, out_of_patch)

    def compute_log_weights(self, state: TaskState) -> Floats:
        """Compute the logarithms of the weights of the rows in a given state."""
        if not self._adaptive:
            return self.log_weights.copy()
        table = self._table.look_up(state["learning_rate"][0], self._n_learners)
        log_weights = table[len(table) // 2 + self.labels * state["votes"]]
        return log_weights if self._log_sample_weights is None else log_weights + self._log_sample_weights

    def count_oop_votes(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count the votes for each class, by the learners that never saw the row."""
        votes, n_out_of_patch = state["votes"] - state["in_patch_votes"], n_learners - state["in_patch_counts"]
        counts = np.column_stack([n_out_of_patch - votes, n_out_of_patch + votes])
        counts //= 2
        return counts

    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count, for each row, the learners that never saw it."""
        return np.asarray(n_learners - state["in_patch_counts"], dtype=np.int32)

    def _find_right(self, totals: NDArray[Any], labels: NDArray[Any]) -> Mask:
        return np.asarray(np.where(totals == 0, self.tie_label, np.sign(totals)) == labels)
