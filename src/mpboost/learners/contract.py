"""The interface of learners: train on the minipatches of a round, then compute outputs for all rows, one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats
from mpboost.data.tables import Table
from mpboost.sampling.draws import Minipatch

Question = TypeVar("Question", contravariant=True)
#: What an ensemble stores of a learner: a tree, or an estimator with its columns.
Model = TypeVar("Model")
ModelIn = TypeVar("ModelIn", contravariant=True)
#: The outputs of a learner for the training rows: an array, a tree to apply, or a step.
Output = TypeVar("Output")


@dataclass(slots=True)
class TrainedLearner(Generic[Model, Output]):
    """A trained weak learner, its outputs and its importances.

    Attributes
    ----------
    model : tree or ColumnModel
        What the ensemble stores.
    outputs : array of shape (n_samples,), AppliedTree, or Step
        Votes or values for the training rows, or a tree and the columns on which it votes. Only valid until the next
        learner is finished.
    importances : float64 array
        Importances of the features of the minipatch, in their order. They sum to 1, or are all zero. If they were
        measured on unseen rows, some may be negative, and their absolute values sum to 1; those of gradient trees are
        multiples of what chance alone would give.
    credits : float64 array or None
        What is summed for the importances of the model, if learners count differently; None for ``importances``.
    """

    model: Model
    outputs: Output
    importances: Floats
    credits: Floats | None = None


#: What is left to do when it is the turn of a learner of a round: compute its outputs for all rows.
Finish = Callable[[_native.Threads], TrainedLearner[Model, Output]]


class PreparedTable(Protocol[ModelIn]):
    """A table that learners can be applied to."""

    def apply(self, model: ModelIn, threads: _native.Threads) -> NDArray[Any]:
        """Compute the output for each row; only valid until the next call."""

    def equals(self, other: object) -> bool:
        """Check whether learners cannot tell the other table from this one."""


class Learner(Protocol[Question, Model, Output]):
    """Trains weak learners on minipatches of its table."""

    def train(
        self, minipatches: Sequence[Minipatch[Question]], threads: _native.Threads
    ) -> Sequence[Finish[Model, Output]]:
        """Train a learner on each minipatch of a round, side by side; return functions that finish them.

        The loop calls these one after the other, each after the outputs of the learners before it were added.
        """

    def restart(self) -> Self:
        """Make a learner on the same table for another run: it knows nothing of this one's iterations."""

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Check whether learners cannot tell the table from their own."""

    def prepare(self, table: Table, threads: _native.Threads) -> PreparedTable[Model]:
        """Prepare another table with the same features, so that learners can be applied to it."""
