"""The common part of tasks of two and of many classes: votes, weights of rows, learning rate."""

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
    """Base of tasks whose learners vote for classes.

    Parameters
    ----------
    classes : uint16 array of shape (n_samples,)
        Codes of classes: 0, 1, 2, ...
    n_classes : int
        The number of classes.
    weighting : str
        L of the paper's Table I: the weight of a row as a function of its margin.
    learning_rate : float or "auto"
        Weight of a vote in L.
    adaptive : bool
        Whether weights depend on margins; if not, they stay equal.
    seed : int
        Determines draws other than those of rows and features.
    sample_weights : float64 array of shape (n_samples,) or None
        Positive weights of rows, which multiply L and count in the scores.

    Attributes
    ----------
    log_weights : float64 array
        log of L times the sample weight of each row, up to a constant.
    learning_rate : LearningRate
        The weight of a vote in L.
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
        """Count the votes for each class, by the learners that never saw the row: (n_samples, n_classes)."""

    def compute_single_accuracy(self, n_learners: int) -> float:
        """Compute the accuracy of single learners on rows that they never saw."""
        votes = self.count_oop_votes(self.state, n_learners)
        return float(np.take_along_axis(votes, self.classes[:, None], axis=1).sum() / votes.sum())

    @property
    @abstractmethod
    def state(self) -> TaskState:
        """Views of the votes, and of the learning rate."""

    def _set_scores(self, train: float, out_of_patch: float) -> None:
        """Compute the scores from the weight of right rows."""
        # The last bit depends on the order of summation: do not exceed 1.
        self.train_score = min(1.0, train / self._total_weight)
        self.oop_score = min(1.0, out_of_patch / self._total_weight)
