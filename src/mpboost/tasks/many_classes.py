"""Tasks of many classes: votes for each class, and four ways to compute weights of rows from them."""

from abc import abstractmethod
from typing import Any, Generic, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Label, Mask, Positions
from mpboost.outputs.kinds import ClassVotes, Colours, LearnerOutputs
from mpboost.outputs.metrics import Metric
from mpboost.outputs.votes import count_rival_votes, pick_winners, take_class
from mpboost.rules import MarginWeighting
from mpboost.sampling.questions import Labels
from mpboost.sampling.weights import LogWeights
from mpboost.tasks.contract import TaskState
from mpboost.tasks.rates import count_sides
from mpboost.tasks.voting import VotingTask
from mpboost.tasks.weightings import RowRule, Weighting

#: Ways to compute weights of rows from the votes for many classes.
Multiclass = Literal["margin", "m2", "mh", "oc"]

#: The largest count of votes that fits in 16 bits.
MAX_SHORT_COUNT = np.iinfo(np.uint16).max


class ManyClassTask(VotingTask, Generic[Label]):
    """Base of tasks of many classes, coded 0, 1, 2, ..., which count the votes for each class.

    Parameters
    ----------
    labels : uint16 array of shape (n_samples,)
        Codes of classes.
    n_classes : int
        The number of classes.
    weighting, learning_rate, adaptive, seed, sample_weights, score_weights, metric
        See VotingTask.

    Attributes
    ----------
    votes : unsigned array of shape (n_samples, n_classes)
        F divided by the learning rate: the votes for each class. Counts have 16 bits as long as they fit.
    oop_votes : unsigned array of shape (n_samples, n_classes)
        G divided by the learning rate: the votes of learners that were not trained on the row.
    log_weights : float64 array of shape (n_samples,)
        log of L times the sample weight of each row, up to a constant.
    """

    def __init__(
        self,
        labels: NDArray[np.uint16],
        n_classes: int,
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
            n_classes,
            weighting=weighting,
            learning_rate=learning_rate,
            adaptive=adaptive,
            seed=seed,
            sample_weights=sample_weights,
            score_weights=score_weights,
            metric=metric,
        )
        self.log_weights = self._start_log_weights()
        self.votes: NDArray[Any] = np.zeros((len(labels), n_classes), dtype=np.uint16)
        self.oop_votes: NDArray[Any] = np.zeros((len(labels), n_classes), dtype=np.uint16)
        self._rivals = np.zeros(len(labels), dtype=np.int32)
        self._oop_rivals = np.zeros(len(labels), dtype=np.int32)
        if self._row_rule is not None:  # others are the same for all rows, as long as there are no votes
            self._refresh(_native.Threads(1))

    @property
    def state(self) -> TaskState:
        """Views of the votes, and of the learning rate."""
        return {
            "votes": self.votes,
            "oop_votes": self.oop_votes,
            "learning_rate": np.array([self.learning_rate.value]),
            "n_learners": np.array([self._n_learners]),
        }

    @property
    def classes(self) -> NDArray[np.uint16]:
        """Codes of the classes of all rows."""
        return self.labels

    @property
    @abstractmethod
    def outputs(self) -> LearnerOutputs[Label]:
        """The kind of outputs of learners."""

    @abstractmethod
    def pose(self, iterations: range, threads: _native.Threads) -> list[Labels[Label]]:
        """Return the labels that learners are trained on."""

    def weigh(self, state: TaskState | None = None) -> LogWeights:
        """Return the weights that define p in a given state, or now."""
        return LogWeights(self.log_weights if state is None else self.compute_log_weights(state))

    def list_row_arrays(self) -> list[NDArray[Any] | None]:
        """List the arrays that have an entry for each row."""
        return [*super().list_row_arrays(), self.log_weights, self._rivals, self._oop_rivals]

    def _count_sides(self, rows: Positions) -> tuple[int, int]:
        return count_sides(self.oop_votes[rows, self.labels[rows]] - self._oop_rivals[rows])

    def update(self, outputs: NDArray[Label] | _native.AppliedTree, rows: Positions, threads: _native.Threads) -> None:
        """Add the votes of a learner, given the rows of its minipatch; update weights and scores."""
        super().update(outputs, rows, threads)
        self._refresh(threads)

    def _add(
        self,
        outputs: NDArray[Label] | _native.AppliedTree,
        rows: Positions,
        sums: _native.RowSums,
        threads: _native.Threads,
    ) -> tuple[float, float]:
        if self._n_learners > MAX_SHORT_COUNT and self.votes.dtype == np.uint16:
            self.votes, self.oop_votes = self.votes.astype(np.int32), self.oop_votes.astype(np.int32)
        return self._count(outputs, rows, sums, threads)

    def compute_log_weights(self, state: TaskState) -> Floats:
        """Compute the logarithms of the weights of the rows in a given state."""
        log_weights = self._start_log_weights()
        self._weigh_into(log_weights, state, _native.Threads(1))
        return log_weights

    def _start_log_weights(self) -> Floats:
        """Return the logarithms of weights before the first iteration."""
        given = self._log_sample_weights
        return np.zeros(len(self.labels)) if given is None else given.copy()

    def count_oop_votes(self, state: TaskState, n_learners: int) -> NDArray[Any]:
        """Count the votes for each class, by the learners that never saw the row."""
        return state["oop_votes"]

    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count, for each row, the learners that never saw it: each has one vote."""
        return np.asarray(state["oop_votes"].sum(axis=1, dtype=np.int32))

    def _find_right(self, totals: NDArray[Any], labels: NDArray[Any]) -> Mask:
        return np.asarray(pick_winners(totals, self.ranks) == labels)

    @abstractmethod
    def _count(
        self,
        outputs: NDArray[Label] | _native.AppliedTree,
        rows: Positions,
        sums: _native.RowSums,
        threads: _native.Threads,
    ) -> tuple[float, float]:
        """Add the votes of a learner; sum the weight of right rows, in training and out of patch."""

    def _refresh(self, threads: _native.Threads) -> None:
        self._weigh_into(self.log_weights, self.state, threads)

    def _weigh_into(self, log_weights: Floats, state: TaskState, threads: _native.Threads) -> None:
        """Write the logarithms of weights in a given state, unless they stay equal."""
        if not self._adaptive:
            return
        if self._row_rule is not None:
            log_weights[...] = self._weigh_by(self._row_rule, state)
        else:
            table = self._look_up_table(float(state["learning_rate"][0]))
            self._write_log_weights(state["votes"], table, log_weights, threads)

    def _find_margins(self, votes: NDArray[Any]) -> NDArray[Any]:
        own = take_class(votes, self.labels)
        return own.astype(np.int32) - count_rival_votes(votes, self.labels)

    def _list_oop_sums(self, state: TaskState) -> NDArray[Any]:
        return state["oop_votes"]

    def _look_up_table(self, learning_rate: float) -> Floats:
        return self._table.look_up(learning_rate, self._n_learners)

    @abstractmethod
    def _write_log_weights(
        self,
        votes: NDArray[Any],
        table: Floats,
        log_weights: Floats,
        threads: _native.Threads,
    ) -> None:
        """Compute the logarithms of weights from votes and a table of log L; write them to ``log_weights``."""


class ClassVoteTask(ManyClassTask[np.uint16]):
    """Base of tasks whose learners vote for one class per row."""

    @property
    def outputs(self) -> ClassVotes:
        """Votes for classes."""
        return ClassVotes(self.ranks)

    def pose(self, iterations: range, threads: _native.Threads) -> list[Labels[np.uint16]]:
        """Return the labels."""
        return [Labels(self.labels, self.weigh(), self.sample_weights)] * len(iterations)

    def _count(
        self,
        outputs: NDArray[np.uint16] | _native.AppliedTree,
        rows: Positions,
        sums: _native.RowSums,
        threads: _native.Threads,
    ) -> tuple[float, float]:
        return _native.add_class_votes(
            outputs,
            rows,
            self.labels,
            self.votes,
            self.oop_votes,
            self._rivals,
            self._oop_rivals,
            self.ranks,
            self.score_weights,
            threads,
            sums,
        )


class MarginTask(ClassVoteTask):
    """The weight of a row is L(margin): the votes for its own class minus those for its strongest rival."""

    def _write_log_weights(
        self,
        votes: NDArray[Any],
        table: Floats,
        log_weights: Floats,
        threads: _native.Threads,
    ) -> None:
        rivals = self._rivals if votes is self.votes else count_rival_votes(votes, self.labels)
        _native.weigh_margins(self.labels, votes, rivals, table, log_weights, self._log_sample_weights, threads)


class ConfusionTask(ClassVoteTask):
    """The weight of a row is the sum of L(margin) against each other class, as in AdaBoost.M2."""

    def _write_log_weights(
        self,
        votes: NDArray[Any],
        table: Floats,
        log_weights: Floats,
        threads: _native.Threads,
    ) -> None:
        _native.weigh_confusions(self.labels, votes, None, table, log_weights, self._log_sample_weights, threads)


class OneAgainstRestTask(ClassVoteTask):
    """The weight of a row is the sum over all classes of L(right minus wrong votes about it), as in AdaBoost.MH."""

    def _write_log_weights(
        self,
        votes: NDArray[Any],
        table: Floats,
        log_weights: Floats,
        threads: _native.Threads,
    ) -> None:
        n_learners = int(votes[0].sum())
        _native.weigh_one_against_rest(
            self.labels, votes, n_learners, table, log_weights, self._log_sample_weights, threads
        )


class ColourTask(ManyClassTask[np.int8]):
    """Each learner separates two colours, which are drawn for the classes in each iteration, as in AdaBoost.OC.

    A vote counts for all classes of the colour. The weight of a row is the sum of L(margin) against each class of the
    other colour.

    Attributes
    ----------
    colours : list of int8 arrays of shape (n_classes,)
        The colours, -1 or +1, of the classes in each iteration.
    in_patch_counts : int32 array of shape (n_samples,)
        Number of learners trained on the row: votes do not tell, since each counts for several classes.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.colours: list[NDArray[np.int8]] = []
        self.in_patch_counts = np.zeros(len(self.labels), dtype=np.int32)

    @property
    def state(self) -> TaskState:
        """Views of the votes, of the learning rate, and of the number of learners that saw a row."""
        return super().state | {"in_patch_counts": self.in_patch_counts}

    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count, for each row, the learners that never saw it."""
        return np.asarray(n_learners - state["in_patch_counts"], dtype=np.int32)

    @property
    def outputs(self) -> Colours:
        """Votes for colours."""
        return Colours(self.colours, len(self.ranks))

    def pose(self, iterations: range, threads: _native.Threads) -> list[Labels[np.int8]]:
        """Draw a colour for each class in each iteration, and compute the weights of rows for these colours."""
        if self._adaptive and self._row_rule is not None:
            self.log_weights = self._weigh_by(self._row_rule, self.state)  # whatever the colours
        return [self._pose(t, threads) for t in iterations]

    def _pose(self, iteration: int, threads: _native.Threads) -> Labels[np.int8]:
        n_classes = len(self.ranks)
        draw = n_classes // 2, self._seed, [iteration], _native.Purpose.COLOURS
        colours = np.full(n_classes, -1, dtype=np.int8)
        colours[_native.race(np.zeros(n_classes), *draw, threads)[0]] = 1
        del self.colours[iteration - 1 :]  # left by an interrupted round
        self.colours.append(colours)
        if self._adaptive and self._row_rule is None:
            self.log_weights = np.empty(len(self.labels))  # each question of a round has its own
            table = self._look_up_table(self.learning_rate.value)
            _native.weigh_confusions(
                self.labels, self.votes, colours, table, self.log_weights, self._log_sample_weights, threads
            )
        return Labels(colours[self.labels], self.weigh(), self.sample_weights)

    def _count(
        self,
        outputs: NDArray[np.int8] | _native.AppliedTree,
        rows: Positions,
        sums: _native.RowSums,
        threads: _native.Threads,
    ) -> tuple[float, float]:
        self.in_patch_counts[rows] += 1
        return _native.add_colour_votes(
            outputs,
            self.colours[self._n_learners - 1],
            rows,
            self.labels,
            self.votes,
            self.oop_votes,
            self._rivals,
            self._oop_rivals,
            self.ranks,
            self.score_weights,
            threads,
            sums,
        )

    def count_effective(self, state: TaskState | None = None) -> float:
        """Compute the effective number of rows by weights that do not depend on colours, unlike those of a draw."""
        return super().count_effective(self.state if state is None else state)

    def _refresh(self, threads: _native.Threads) -> None:
        """Do nothing: weights are computed when the next colours are drawn."""

    def _write_log_weights(
        self,
        votes: NDArray[Any],
        table: Floats,
        log_weights: Floats,
        threads: _native.Threads,
    ) -> None:
        _native.weigh_confusions(self.labels, votes, None, table, log_weights, self._log_sample_weights, threads)


#: The task of each way.
TASKS: dict[Multiclass, type[ManyClassTask[Any]]] = {
    "margin": MarginTask,
    "m2": ConfusionTask,
    "mh": OneAgainstRestTask,
    "oc": ColourTask,
}
