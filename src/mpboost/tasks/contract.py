"""What the loop asks of a task: pose a question about all rows, then take in what a learner put out for them."""

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.outputs.kinds import Outputs

Question = TypeVar("Question", covariant=True)
Output = TypeVar("Output", contravariant=True)

#: The arrays that outputs add up to, by name.
TaskState = dict[str, NDArray[Any]]


class Task(Protocol[Question, Output]):
    """What is learned, and how far it has been learned.

    In each iteration the loop calls ``pose``, draws rows by its answer, trains a learner on it, and calls ``update``
    with what that learner puts out. The answer shows arrays of the task, which ``update`` changes.
    """

    @property
    def labels(self) -> NDArray[Any]:
        """What is to be learned of each row."""

    @property
    def sample_weights(self) -> Floats | None:
        """Positive weights, which multiply p and count in the scores; None where all rows weigh the same."""

    @property
    def outputs(self) -> Outputs[Any]:
        """The kind of what learners put out, on new rows."""

    @property
    def log_weights(self) -> Floats:
        """Logarithms of the weights that p is made of, up to a constant."""

    @property
    def train_score(self) -> float:
        """Score of the ensemble on the rows that it learned from."""

    @property
    def oop_score(self) -> float:
        """Out-of-patch score of the ensemble."""

    @property
    def oop_quality(self) -> float:
        """What training stops by: the out-of-patch score or, where a loss is made small, minus that loss."""

    @property
    def state(self) -> TaskState:
        """Views of the arrays that outputs add up to."""

    def pose(self, iteration: int, threads: _native.Threads) -> Question:
        """Give what the learner of an iteration is asked about all rows."""

    def update(self, outputs: Output, rows: Positions, threads: _native.Threads) -> None:
        """Add a learner's outputs, given the rows that it was trained on; refresh weights and scores."""

    def compute_weights(self) -> Floats:
        """Compute the weights that p is made of, up to a factor, in an array of their own."""

    def compute_log_weights(self, state: TaskState) -> Floats:
        """Compute the logarithms of the weights that the rows had in some state."""

    def score(self, totals: NDArray[Any], n_learners: int, labels: NDArray[Any], weights: Floats | None) -> float:
        """Score other rows by what the outputs of learners add up to."""

    def compute_quality(
        self, score: float, totals: NDArray[Any], labels: NDArray[Any], weights: Floats | None
    ) -> float:
        """Compute what training stops by on other rows, whose score is known."""

    def has_oop_score(self, n_drawn: int) -> bool:
        """Tell whether minipatches of so many rows leave any row to be judged out of patch."""

    def count_judgements(self, rows: Positions) -> float:
        """Count how often the average row is judged out of patch by a learner that was trained on these rows."""

    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count the learners that judged each row without having seen it, in an array of its own."""


class StopsByScore:
    """Mixin for tasks that stop by their out-of-patch score."""

    labels: NDArray[Any]
    log_weights: Floats
    oop_score: float

    @property
    def oop_quality(self) -> float:
        """What training stops by: the out-of-patch score."""
        return self.oop_score

    def compute_weights(self) -> Floats:
        """Compute the weights that p is made of, up to a factor, in an array of their own."""
        weights = self.log_weights - self.log_weights.max()
        return np.exp(weights, out=weights)

    def compute_quality(
        self, score: float, totals: NDArray[Any], labels: NDArray[Any], weights: Floats | None
    ) -> float:
        """Give what training stops by on other rows: their score."""
        return score

    def has_oop_score(self, n_drawn: int) -> bool:
        """Tell whether some rows are left out of minipatches of so many rows."""
        return n_drawn < len(self.labels)

    def count_judgements(self, rows: Positions) -> float:
        """Count how often the average row is judged by a learner that was trained on these rows, and not on it."""
        return 1 - len(rows) / len(self.labels)
