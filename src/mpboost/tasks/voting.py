"""What tasks of classes have in common, be they two or many: votes, their weight, and their learning rate."""

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost.outputs.votes import rank_classes
from mpboost.tasks.contract import StopsByScore, TaskState
from mpboost.tasks.rates import LearningRate
from mpboost.tasks.weightings import Weighting, WeightTable


class VotingTask(StopsByScore, ABC):
    """Classes to tell apart, and the votes for them.

    Parameters
    ----------
    classes : uint16 array of shape (n_samples,)
        Codes of classes: 0, 1, 2, ...
    n_classes : int
        How many there are.
    weighting : str
        L of the paper's Table I.
    learning_rate : float or "auto"
        Weight of a vote inside L.
    adaptive : bool
        Whether the weights follow the margins; if not they stay equal.
    seed : int
        Settles what is drawn besides rows and features.
    sample_weights : float64 array of shape (n_samples,) or None
        Positive. They multiply L, and count in the scores.

    Attributes
    ----------
    log_weights : float64 array
        log of L times the sample weight of each row, up to a constant.
    learning_rate : LearningRate
        What a vote weighs inside L.
    ranks : uint16 array of shape (n_classes,)
        At a tie, the class of the highest rank wins.
    """

    def __init__(
        self,
        classes: NDArray[np.uint16],
        n_classes: int,
        *,
        weighting: Weighting,
        learning_rate: float | Literal["auto"],
        adaptive: bool,
        seed: int,
        sample_weights: Floats | None,
    ):
        self.classes = classes
        self.sample_weights = sample_weights
        self.ranks = rank_classes(classes, n_classes, sample_weights)
        self.log_weights = np.zeros(len(classes)) if sample_weights is None else np.log(sample_weights)
        self.learning_rate = LearningRate(learning_rate)
        self.train_score = np.nan
        self.oop_score = np.nan
        self._log_sample_weights = None if sample_weights is None else np.log(sample_weights)
        self._total_weight = len(classes) if sample_weights is None else sample_weights.sum()
        self._adaptive = adaptive
        self._seed = seed
        self._n_learners = 0
        self._table = WeightTable(weighting)

    @abstractmethod
    def count_oop_votes(self, state: TaskState, n_learners: int) -> NDArray[Any]:
        """Count the votes for each class of the learners that never saw the row: (n_samples, n_classes)."""

    def compute_single_accuracy(self, n_learners: int) -> float:
        """Compute how often single learners are right about rows that they never saw."""
        votes = self.count_oop_votes(self.state, n_learners)
        return float(np.take_along_axis(votes, self.classes[:, None], axis=1).sum() / votes.sum())

    @property
    @abstractmethod
    def state(self) -> TaskState:
        """Views of the votes, and what they weigh."""

    def _set_scores(self, train: float, out_of_patch: float) -> None:
        """Set the scores from the weight of the rows that are right."""
        # The order of summation makes a difference in the last bit: not to exceed 1.
        self.train_score = min(1.0, train / self._total_weight)
        self.oop_score = min(1.0, out_of_patch / self._total_weight)
