"""Says which output of a model contributions of features add up to, in terms of its trees."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats


@dataclass(frozen=True)
class ExplainedOutput:
    """The output that contributions add up to: offset + factor * sum over trees.

    Attributes
    ----------
    kind : {"values", "signs", "classes"}
        What the leaves of trees stand for: numbers, votes -1 and +1, or votes for one of many classes.
    factor : float
        Factor of the sum over trees.
    offset : array of shape (n_outputs,)
        What is added to the sum.
    quantity : str
        What the output is called.
    tree_factors : array of shape (n_trees, n_outputs) or None
        For signs: what the vote of each tree counts for each output.
    """

    kind: Literal["values", "signs", "classes"]
    factor: float
    offset: Floats
    quantity: str
    tree_factors: Floats | None = None

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return len(self.offset)


def explain_votes(n_learners: int, n_classes: int, colours: NDArray[np.int8] | None) -> ExplainedOutput:
    """Describe shares of votes: those for the second of two classes, or for each class if there are more.

    Examples
    --------
    >>> explain_votes(10, 2, None)
    ExplainedOutput(kind='signs', factor=0.05, offset=array([0.5]), quantity='share of votes', tree_factors=None)
    """
    quantity = "share of votes"
    if colours is not None:  # a class gets (1 + its colour * vote) / 2
        factors = np.ascontiguousarray(colours, dtype=np.float64)
        return ExplainedOutput("signs", 0.5 / n_learners, np.full(n_classes, 0.5), quantity, factors)
    if n_classes == 2:
        return ExplainedOutput("signs", 0.5 / n_learners, np.full(1, 0.5), quantity)
    return ExplainedOutput("classes", 1.0 / n_learners, np.zeros(n_classes), quantity)
