"""Many classes: votes for each of them, and four ways to turn these into weights."""

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.outputs.kinds import ClassVotes, Colours, Outputs
from mpboost.outputs.votes import find_winners, rank_classes
from mpboost.tasks.rates import LearningRate
from mpboost.tasks.two_classes import State, StopsByScore, Weighting, WeightTable, complete_classes

#: Ways to weigh rows by the votes for many classes.
Multiclass = Literal["margin", "m2", "mh", "oc"]

#: The most votes that counts of 16 bits can hold.
MAX_SHORT_COUNT = np.iinfo(np.uint16).max


class ManyClassTask(StopsByScore, ABC):
    """Classes, coded 0, 1, 2, ..., and the votes that each got so far.

    Parameters
    ----------
    labels : uint16 array of shape (n_samples,)
        Codes of classes.
    n_classes : int
        How many there are.
    weighting, learning_rate, adaptive, seed, sample_weights
        As of BinaryTask.

    Attributes
    ----------
    votes : unsigned array of shape (n_samples, n_classes)
        F over the learning rate: the votes for each class. Counts have 16 bits as long as they can.
    oop_votes : unsigned array of shape (n_samples, n_classes)
        G over the learning rate: the votes of learners that were not trained on the row.
    ranks : uint16 array of shape (n_classes,)
        At a tie, the class of the highest rank wins.
    """

    def __init__(
        self,
        labels: NDArray[np.uint16],
        n_classes: int,
        *,
        weighting: Weighting,
        learning_rate: float | Literal["auto"],
        adaptive: bool,
        seed: int = 0,
        sample_weights: NDArray[np.float64] | None = None,
    ):
        n_samples = len(labels)
        self.labels = self.classes = labels
        self.sample_weights = sample_weights
        self.ranks = rank_classes(labels, n_classes, sample_weights)
        self.outputs: Outputs = ClassVotes(self.ranks)
        self.votes: NDArray[Any] = np.zeros((n_samples, n_classes), dtype=np.uint16)
        self.oop_votes: NDArray[Any] = np.zeros((n_samples, n_classes), dtype=np.uint16)
        self.log_weights = np.zeros(n_samples) if sample_weights is None else np.log(sample_weights)
        self.train_score = np.nan
        self.oop_score = np.nan
        self._rivals = np.zeros(n_samples, dtype=np.int32)
        self._oop_rivals = np.zeros(n_samples, dtype=np.int32)
        self._log_sample_weights = None if sample_weights is None else np.log(sample_weights)
        self._total_weight = n_samples if sample_weights is None else sample_weights.sum()
        self.learning_rate = LearningRate(learning_rate)
        self._adaptive = adaptive
        self._seed = seed
        self._n_learners = 0
        self._table = WeightTable(weighting)

    @property
    def state(self) -> State:
        """Views of the votes, and what they weigh."""
        return {"votes": self.votes, "oop_votes": self.oop_votes, "learning_rate": self.learning_rate.value}

    def pose(self, iteration: int, threads: _native.Threads) -> NDArray[Any]:
        """Give the labels."""
        return self.labels

    def complete(self, rows: NDArray[np.int64], iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Where the rows are all of one class, swap one."""
        return complete_classes(rows, self.labels, self.log_weights, self._seed, iteration, threads)

    def update(self, outputs: NDArray[Any], rows: NDArray[np.int64], threads: _native.Threads) -> None:
        """Add a learner's votes, given the rows that it was trained on; refresh weights and scores."""
        self._n_learners += 1
        if self._adaptive and not self.learning_rate.is_fixed:
            self.learning_rate.adapt(self.oop_votes[rows, self.labels[rows]] - self._oop_rivals[rows])
        if self._n_learners > MAX_SHORT_COUNT and self.votes.dtype == np.uint16:
            self.votes, self.oop_votes = self.votes.astype(np.int32), self.oop_votes.astype(np.int32)
        train, out_of_patch = self._count(outputs, rows, threads)
        # The order of summation makes a difference in the last bit: not to exceed 1.
        self.train_score = min(1.0, train / self._total_weight)
        self.oop_score = min(1.0, out_of_patch / self._total_weight)
        self._refresh(threads)

    def weigh(self, state: State) -> NDArray[np.float64]:
        """Give the logarithms of the weights that the rows have in some state."""
        log_weights = self.log_weights.copy()
        if self._adaptive:
            self._weigh(state["votes"], self._find_table(state["learning_rate"]), log_weights, _native.Threads(1))
        return log_weights

    def count_oop_votes(self, state: State, n_learners: int) -> NDArray[Any]:
        """Count the votes for each class of the learners that never saw the row."""
        return state["oop_votes"]

    def score(
        self, totals: NDArray[Any], n_learners: int, labels: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> float:
        """Give the accuracy on other rows."""
        return float(np.average(find_winners(totals, self.ranks) == labels, weights=weights))

    def _count(self, outputs: NDArray[Any], rows: NDArray[np.int64], threads: _native.Threads) -> tuple[float, float]:
        """Count a learner's votes; give the weight of the rows that are right, in training and out of patch."""
        return _native.add_class_votes(
            outputs,
            rows,
            self.labels,
            self.votes,
            self.oop_votes,
            self._rivals,
            self._oop_rivals,
            self.ranks,
            self.sample_weights,
            threads,
        )

    def _refresh(self, threads: _native.Threads) -> None:
        if self._adaptive:
            self._weigh(self.votes, self._find_table(self.learning_rate.value), self.log_weights, threads)

    def _find_table(self, learning_rate: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._table.find(learning_rate[0], self._n_learners)

    @abstractmethod
    def _weigh(
        self,
        votes: NDArray[Any],
        table: NDArray[np.float64],
        log_weights: NDArray[np.float64],
        threads: _native.Threads,
    ) -> None:
        """Write the logarithms of the weights that follow from votes, by a table of log L."""


class MarginTask(ManyClassTask):
    """Weights are L of the margin: the votes of the own class minus the most votes of another."""

    def _weigh(
        self,
        votes: NDArray[Any],
        table: NDArray[np.float64],
        log_weights: NDArray[np.float64],
        threads: _native.Threads,
    ) -> None:
        rivals = self._rivals if votes is self.votes else find_rivals(votes, self.labels)
        _native.weigh_margins(self.labels, votes, rivals, table, log_weights, self._log_sample_weights, threads)


class ConfusionTask(ManyClassTask):
    """Weights are the sum, over all other classes, of L of the margin against each: AdaBoost.M2."""

    def _weigh(
        self,
        votes: NDArray[Any],
        table: NDArray[np.float64],
        log_weights: NDArray[np.float64],
        threads: _native.Threads,
    ) -> None:
        _native.weigh_confusions(self.labels, votes, None, table, log_weights, self._log_sample_weights, threads)


class OneAgainstRestTask(ManyClassTask):
    """Weights are the sum, over all classes, of L of the votes for and against each: AdaBoost.MH."""

    def _weigh(
        self,
        votes: NDArray[Any],
        table: NDArray[np.float64],
        log_weights: NDArray[np.float64],
        threads: _native.Threads,
    ) -> None:
        n_learners = int(votes[0].sum())
        _native.weigh_one_against_rest(
            self.labels, votes, n_learners, table, log_weights, self._log_sample_weights, threads
        )


class ColourTask(ManyClassTask):
    """Each learner tells two colours apart, drawn anew: AdaBoost.OC.

    A vote counts for all classes of the colour. Weights are the sum, over the classes of the other colour, of L of the
    margin against each.

    Attributes
    ----------
    colours : list of int8 arrays of shape (n_classes,)
        The colours, -1 or +1, that classes had in each iteration.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.colours: list[NDArray[np.int8]] = []
        self.outputs = Colours(self.colours, len(self.ranks))

    def pose(self, iteration: int, threads: _native.Threads) -> NDArray[np.int8]:
        """Colour half of the classes, and weigh the rows by what they are confused with across colours."""
        n_classes = len(self.ranks)
        draw = n_classes // 2, self._seed, iteration, _native.Purpose.COLOURS
        colours = np.full(n_classes, -1, dtype=np.int8)
        colours[_native.race(np.zeros(n_classes), *draw, threads)] = 1
        del self.colours[iteration - 1 :]  # of an iteration that was interrupted
        self.colours.append(colours)
        if self._adaptive:
            table = self._find_table(self.learning_rate.value)
            _native.weigh_confusions(
                self.labels, self.votes, colours, table, self.log_weights, self._log_sample_weights, threads
            )
        self._posed = colours[self.labels]
        return self._posed

    def complete(self, rows: NDArray[np.int64], iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Where the rows are all of one colour, swap one."""
        return complete_classes(rows, self._posed, self.log_weights, self._seed, iteration, threads)

    def _count(self, outputs: NDArray[Any], rows: NDArray[np.int64], threads: _native.Threads) -> tuple[float, float]:
        return _native.add_colour_votes(
            outputs,
            self.colours[-1],
            rows,
            self.labels,
            self.votes,
            self.oop_votes,
            self._rivals,
            self._oop_rivals,
            self.ranks,
            self.sample_weights,
            threads,
        )

    def find_weights(self) -> NDArray[np.float64]:
        """Give the weights whatever the colours, which those of a draw depend on."""
        log_weights = self.weigh(self.state)
        return np.asarray(np.exp(log_weights - log_weights.max()))

    def _refresh(self, threads: _native.Threads) -> None:
        """Leave the weights alone: the next colours change them."""

    def _weigh(
        self,
        votes: NDArray[Any],
        table: NDArray[np.float64],
        log_weights: NDArray[np.float64],
        threads: _native.Threads,
    ) -> None:
        _native.weigh_confusions(self.labels, votes, None, table, log_weights, self._log_sample_weights, threads)


#: The task for each way.
TASKS: dict[Multiclass, type[ManyClassTask]] = {
    "margin": MarginTask,
    "m2": ConfusionTask,
    "mh": OneAgainstRestTask,
    "oc": ColourTask,
}


def find_rivals(votes: NDArray[Any], labels: NDArray[np.uint16]) -> NDArray[np.int32]:
    """Find the most votes that another class than the row's own has.

    Examples
    --------
    >>> import numpy as np
    >>> find_rivals(np.array([[5, 2, 1], [0, 3, 4]]), np.array([0, 0], dtype=np.uint16))
    array([2, 4], dtype=int32)
    """
    others = votes.astype(np.int32)
    others[np.arange(len(votes)), labels] = 0
    return np.asarray(others.max(axis=1), dtype=np.int32)
