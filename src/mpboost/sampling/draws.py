"""The interface of samplers of rows, and the result of a draw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from mpboost import _native
from mpboost._arrays import Floats, Positions

Question = TypeVar("Question", contravariant=True)
Posed = TypeVar("Posed", covariant=True)
Asked = TypeVar("Asked")


class Draw(NamedTuple):
    """The rows of a minipatch, and other rows that importances are measured on; both are sorted.

    Attributes
    ----------
    rows, unseen : int64 arrays
        The minipatch, and the rows to measure on. No row is in both.
    weights : float64 array or None
        Weight of each row of the minipatch in training; None if all are the same.
    """

    rows: Positions
    unseen: Positions
    weights: Floats | None = None


@dataclass(eq=False, slots=True)
class Minipatch(Generic[Posed]):
    """Rows and features that a learner is trained on, and the question that it is asked.

    Attributes
    ----------
    iteration : int
        The number of the learner, counted from 1.
    draw : Draw
        The rows.
    features : int64 array
        The features, in ascending order.
    question : Labels or Slopes
        What the task asks about the rows.
    """

    iteration: int
    draw: Draw
    features: Positions
    question: Posed


class RowSampler(Protocol[Question]):
    """Draws the rows of minipatches, as the loop needs them.

    Attributes
    ----------
    n_drawn : int
        Number of rows in a minipatch.
    """

    @property
    def n_drawn(self) -> int:
        """Number of rows in a minipatch."""

    def sample(self, iterations: range, questions: Sequence[Question], threads: _native.Threads) -> list[Draw]:
        """Draw the rows of the minipatches of a round, given the question of the task in each iteration."""


def group_by_basis(questions: Sequence[Asked], get_basis: Callable[[Asked], object]) -> list[list[int]]:
    """Group the places of questions that have the same basis, the object that rows are drawn by.

    Examples
    --------
    >>> rows = [[1], [2]]
    >>> group_by_basis([rows[0], rows[1], rows[0]], lambda basis: basis)
    [[0, 2], [1]]
    """
    groups: dict[int, list[int]] = {}
    for place, question in enumerate(questions):
        groups.setdefault(id(get_basis(question)), []).append(place)
    return [*groups.values()]


def sample_together(
    iterations: range,
    questions: Sequence[Asked],
    get_basis: Callable[[Asked], object],
    sample: Callable[[list[int], Asked], list[Draw]],
) -> list[Draw]:
    """Call ``sample`` once for all questions with the same basis, the object that rows are drawn by.

    Examples
    --------
    >>> rows = [[1], [2]]
    >>> questions = [rows[0], rows[1], rows[0]]
    >>> sample_together(range(5, 8), questions, lambda basis: basis, lambda same, basis: [(t, *basis) for t in same])
    [(5, 1), (6, 2), (7, 1)]
    """
    if len(questions) == 1:
        return sample([*iterations], questions[0])
    draws: dict[int, Draw] = {}
    for places in group_by_basis(questions, get_basis):
        same = [iterations[place] for place in places]
        draws |= zip(places, sample(same, questions[places[0]]), strict=True)
    return [draws[place] for place in range(len(questions))]


def probabilities_from_logs(log_weights: Floats) -> Floats:
    """Compute probabilities from the logarithms of weights.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities_from_logs(np.array([-1000.0, -1000.0]))
    array([0.5, 0.5])
    """
    weights = _native.exp_of(log_weights - log_weights.max())
    weights /= weights.sum()
    return weights
