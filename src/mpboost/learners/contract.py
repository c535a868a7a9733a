"""The interface of learners: train on a minipatch, and return the outputs for all rows."""

from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.data.tables import Table
from mpboost.sampling.draws import Draw

Question = TypeVar("Question", contravariant=True)
#: What an ensemble stores of a learner: a tree, or an estimator with its columns.
Model = TypeVar("Model")
ModelIn = TypeVar("ModelIn", contravariant=True)
#: The outputs of a learner for the training rows: an array, or a step.
Output = TypeVar("Output")


@dataclass
class TrainedLearner(Generic[Model, Output]):
    """A trained weak learner, its outputs and its importances.

    Attributes
    ----------
    model : tree or ColumnModel
        What the ensemble stores.
    outputs : array of shape (n_samples,), or Step
        Votes or values for the training rows. Only valid until the next learner is trained.
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


class PreparedTable(Protocol[ModelIn]):
    """A table that learners can be applied to."""

    def apply(self, model: ModelIn, threads: _native.Threads) -> NDArray[Any]:
        """Compute the output for each row; only valid until the next call."""

    def equals(self, other: object) -> bool:
        """Check whether learners cannot tell the other table from this one."""


class Learner(Protocol[Question, Model, Output]):
    """Trains weak learners on minipatches of its table."""

    def train(
        self, iteration: int, draw: Draw, features: Positions, question: Question, threads: _native.Threads
    ) -> TrainedLearner[Model, Output]:
        """Train on a minipatch, given the question of the task; apply the learner to all rows."""

    def restart(self) -> Self:
        """Make a learner on the same table for another run: it knows nothing of this one's iterations."""

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Check whether learners cannot tell the table from their own."""

    def prepare(self, table: Table, threads: _native.Threads) -> PreparedTable[Model]:
        """Prepare another table with the same features, so that learners can be applied to it."""
