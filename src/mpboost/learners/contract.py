"""What the loop asks of a learner: train on a minipatch, and tell what is put out for all rows."""

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.data.tables import Table
from mpboost.sampling.draws import Draw

Question = TypeVar("Question", contravariant=True)
#: What an ensemble keeps of a learner: a tree, or an estimator with its columns.
Model = TypeVar("Model")
ModelIn = TypeVar("ModelIn", contravariant=True)
#: What a learner puts out for the rows of the training data: an array, or a step.
Output = TypeVar("Output")


@dataclass
class TrainedLearner(Generic[Model, Output]):
    """A weak learner after training.

    Attributes
    ----------
    model : tree or ColumnModel
        What the ensemble keeps of it.
    outputs : array of shape (n_samples,), or Step
        Votes or values for the rows of the training data. Only valid until the next learner is trained.
    importances : float64 array
        Of the features of the minipatch, in their order. They sum to 1, or are all zero. Where they were measured on
        unseen rows some may be negative, and their sizes sum to 1; those of gradient trees are multiples of what is
        due to chance.
    credits : float64 array or None
        What adds up to the importances of the model, where learners are not worth the same; None for ``importances``.
    """

    model: Model
    outputs: Output
    importances: Floats
    credits: Floats | None = None


class PreparedTable(Protocol[ModelIn]):
    """A table that learners can be applied to."""

    def apply(self, model: ModelIn, threads: _native.Threads) -> NDArray[Any]:
        """Give the outputs for each row; only valid until the next call."""

    def equals(self, other: object) -> bool:
        """Tell whether the other table is the same, as far as learners see it."""


class Learner(Protocol[Question, Model, Output]):
    """Trains weak learners on minipatches of the data that it was made with."""

    def train(
        self, iteration: int, draw: Draw, features: Positions, question: Question, threads: _native.Threads
    ) -> TrainedLearner[Model, Output]:
        """Train on a minipatch, given what is asked about all rows; apply the learner to all rows."""

    def has_table(self, table: Table, threads: _native.Threads) -> bool:
        """Tell whether this is the table that the learner was made with, as far as it can see."""

    def prepare(self, table: Table, threads: _native.Threads) -> PreparedTable[Model]:
        """Make another table, of the same features, ready to be applied to."""
