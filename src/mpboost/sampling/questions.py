"""What a task asks the learner of an iteration: labels or slopes. Samplers draw by it, learners train on it."""

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions, Singles

LabelOf = TypeVar("LabelOf", bound=np.generic, covariant=True)


@dataclass(frozen=True, eq=False)
class Labels(Generic[LabelOf]):
    """Labels of all rows, and the weights that p is made of.

    Attributes
    ----------
    values : array of shape (n_samples,)
        What learners are to put out.
    log_weights : float64 array of shape (n_samples,)
        Logarithms of the weights that p is made of, up to a constant. Any finite values are good. It is the task's own
        array, which the next update changes: valid until then.
    sample_weights : float64 array of shape (n_samples,) or None
        What the user says that rows weigh; p has them as a factor already.
    are_classes : bool
        Whether nothing can be learned from rows that all have the same label.
    """

    values: NDArray[LabelOf]
    log_weights: Floats
    sample_weights: Floats | None = None
    are_classes: bool = True


class Slopes(NamedTuple):
    """Derivatives of the loss at all rows, and the direction in which a tree is grown.

    Attributes
    ----------
    gradients, hessians : float32 arrays of shape (n_samples,) or (n_samples, n_outputs)
        Times the weights of rows. They are the task's own arrays: valid until the next update.
    n_learned : int
        Positions that the model whose turn it is learns from.
    direction : float64 array of shape (n_outputs,) or None
        Of many outputs the combination, of -1 and +1, that the tree is grown for; all have values in its leaves.
    labels : uint16 array of shape (n_samples,) or None
        Classes, where outputs are their log odds.
    weights : float32 array of shape (n_samples,) or None
        What rows weigh; 0 for reserved ones.
    """

    gradients: Singles
    hessians: Singles
    raw: Singles
    n_learned: int
    direction: Floats | None = None
    labels: NDArray[np.uint16] | None = None
    weights: Singles | None = None

    def of(self, rows: Positions) -> tuple[Floats, Floats]:
        """Give the derivatives of some rows, along the direction."""
        gradients = self.gradients[rows].astype(np.float64)
        if self.direction is None:
            return gradients, self.hessians[rows].astype(np.float64)
        gradients = gradients @ self.direction
        if self.labels is None:
            return gradients, self.hessians[rows].sum(axis=1, dtype=np.float64)
        # Two groups of classes are told apart: the variance of which one it is follows from its mean.
        weights = 1.0 if self.weights is None else self.weights[rows].astype(np.float64)
        means = gradients / weights + self.direction[self.labels[rows]]
        return gradients, weights * np.maximum(1.0 - means**2, 1e-16)

    def sum_leaves(self, leaves: NDArray[np.uint16], rows: Positions, weights: Floats | None, n_leaves: int) -> Floats:
        """Add up the derivatives of some rows, times weights, per leaf: shape (n_leaves, n_outputs, 2)."""
        return _native.sum_rows(rows, weights, leaves, self.gradients, self.hessians, n_leaves)
