"""The question that a task asks in an iteration: labels or slopes. Samplers draw by it, learners train on it."""

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions, Singles
from mpboost.sampling.weights import RowWeights

LabelOf = TypeVar("LabelOf", bound=np.generic, covariant=True)


@dataclass(eq=False, slots=True)
class Labels(Generic[LabelOf]):
    """The question of a voting or averaging task: labels of all rows, and the weights that define p.

    Attributes
    ----------
    values : array of shape (n_samples,)
        The labels that learners should predict.
    weights : RowWeights
        The weights that define p, up to a factor. They may refer to arrays of the task, which the next update changes.
    sample_weights : float64 array of shape (n_samples,) or None
        The user's weights of rows, which are a factor of p already.
    are_classes : bool
        Whether labels are classes: nothing can be learned from rows that all have the same label.
    """

    values: NDArray[LabelOf]
    weights: RowWeights
    sample_weights: Floats | None = None
    are_classes: bool = True


class Slopes(NamedTuple):
    """The question of a gradient task: derivatives of the loss at all rows, and the direction of the tree.

    Attributes
    ----------
    gradients, hessians : float32 arrays of shape (n_samples,) or (n_samples, n_outputs)
        Derivatives times the weights of rows. They are the task's own arrays, which the next update changes.
    raw : float32 array of the same shape
        Raw predictions in the engine's units.
    n_learned : int
        Number of rows that the model whose turn it is learns from.
    direction : float64 array of shape (n_outputs,) or None
        With several outputs, -1 or +1 for each: splits are chosen for this combination; leaves have values of all.
    labels : uint16 array of shape (n_samples,) or None
        Classes, if outputs are their log odds.
    weights : float32 array of shape (n_samples,) or None
        Weights of rows; 0 for reserved rows.
    """

    gradients: Singles
    hessians: Singles
    raw: Singles
    n_learned: int
    direction: Floats | None = None
    labels: NDArray[np.uint16] | None = None
    weights: Singles | None = None

    def of(self, rows: Positions, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradients and hessians of some rows, along the direction, times weights of these rows."""
        return _native.gather_slopes(
            self.gradients, self.hessians, rows, weights, self.direction, self.labels, self.weights
        )

    def sum_leaves(self, leaves: NDArray[np.uint16], rows: Positions, weights: Floats | None, n_leaves: int) -> Floats:
        """Sum the derivatives of some rows, times weights, per leaf: shape (n_leaves, n_outputs, 2)."""
        return _native.sum_rows(rows, weights, leaves, self.gradients, self.hessians, n_leaves)
