"""Credits of features by a rule of the user, in place of those that are built in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost._arrays import Floats, Positions
from mpboost.outputs.metrics import to_codes
from mpboost.rules import FeatureCredit, PatchLearner, credit_features
from mpboost.sampling.draws import Minipatch
from mpboost.sampling.questions import Labels


@dataclass(frozen=True, eq=False)
class CreditRule:
    """A rule of the user that credits features, for the rows of a fit.

    Attributes
    ----------
    rule : FeatureCredit
        The user's object.
    positions : int64 array of shape (n_rows,)
        Positions of the rows among those that the user passed.
    """

    rule: FeatureCredit
    positions: Positions

    def credit(
        self,
        minipatch: Minipatch[Labels[Any]],
        X: NDArray[Any],
        importances: Floats,
        predict: Callable[[NDArray[Any]], NDArray[Any]],
    ) -> Floats:
        """Compute the credits of the features of a minipatch, given the rows of X to judge by: see ``list_judged``."""
        rows = list_judged(minipatch)

        def predict_like(given: ArrayLike) -> NDArray[Any]:
            cells = np.asarray(given)
            if cells.ndim != 2 or cells.shape[1] != X.shape[1]:
                raise ValueError(f"predict needs {X.shape[1]} columns, as X has, but got the shape {cells.shape}.")
            return to_codes(predict(_as_bins(cells) if X.dtype == np.uint8 else cells.astype(X.dtype, copy=False)))

        learner = PatchLearner(
            minipatch.iteration,
            minipatch.features.copy(),
            self.positions[rows],
            X,
            to_codes(minipatch.question.values[rows]),
            importances.copy(),
            predict_like,
        )
        return credit_features(self.rule, learner)


def _as_bins(cells: NDArray[Any]) -> NDArray[np.uint8]:
    """Convert numbers of bins to their type; raise a ValueError for other numbers, which it would change."""
    if cells.dtype.kind in "biuf":
        with np.errstate(invalid="ignore"):  # NaN and numbers that are too large become others
            bins = cells.astype(np.uint8, copy=False)
        if np.array_equal(bins, cells):
            return bins
    raise ValueError("predict needs numbers of bins, 0 to 255, as X has: 255 stands for a missing value.")


def list_judged(minipatch: Minipatch[Any]) -> Positions:
    """List the rows that a learner is judged by: unseen ones, or those of the minipatch if there are none."""
    return minipatch.draw.unseen if len(minipatch.draw.unseen) else minipatch.draw.rows
