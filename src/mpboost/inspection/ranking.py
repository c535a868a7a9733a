"""How well a model ranks rows: ROC and precision-recall curves of each class against the rest."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from mpboost.inspection.judgement import Judgement

#: Curves are computed from at most so many probabilities: more would change nothing that can be seen.
MAX_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class RankingCurve:
    """The curves of one class against the rest.

    Attributes
    ----------
    name : str
        The class.
    n_rows, n_positive : int
        Number of rows, and how many of them are of the class.
    false_positive_rates, true_positive_rates : float64 arrays of shape (n_thresholds,)
        The ROC curve: the shares of the other rows, and of the rows of the class, above each threshold.
    recalls, precisions : float64 arrays of shape (n_points,)
        The precision-recall curve: the share of the rows of the class that are found, ascending, and the share of
        those found that are of the class.
    roc_auc, average_precision : float
        Summaries of the two curves: 1 is perfect; without knowledge 0.5, and the share of the class.
    """

    name: str
    n_rows: int
    n_positive: int
    false_positive_rates: NDArray[np.float64]
    true_positive_rates: NDArray[np.float64]
    recalls: NDArray[np.float64]
    precisions: NDArray[np.float64]
    roc_auc: float
    average_precision: float

    @property
    def share(self) -> float:
        """Share of the rows that are of the class."""
        return self.n_positive / self.n_rows


def trace_curve(name: Any, scores: NDArray[np.float64], is_positive: NDArray[np.bool_]) -> RankingCurve | None:
    """Compute the curves of one class; None unless there are rows of the class and others."""
    n_positive = int(np.count_nonzero(is_positive))
    if not 0 < n_positive < len(is_positive):
        return None
    false, true, _ = roc_curve(is_positive, scores)
    precisions, recalls, _ = precision_recall_curve(is_positive, scores, drop_intermediate=True)
    return RankingCurve(
        str(name),
        len(is_positive),
        n_positive,
        false,
        true,
        recalls[::-1],
        precisions[::-1],
        float(auc(false, true)),
        float(average_precision_score(is_positive, scores)),
    )


def trace_curves(judgement: Judgement, classes: NDArray[Any], max_curves: int) -> list[RankingCurve]:
    """Compute the curves of the second of two classes, or of the classes that are ranked worst, the worst first.

    Classes without rows, and with all of them, are left out.
    """
    chosen = judgement.sample(MAX_CELLS // len(classes))
    predictions = chosen.take(np.arange(len(chosen.rows)))
    columns = {1: predictions.decide()} if len(classes) == 2 else dict(enumerate(predictions.estimate().T))
    return pick_worst((trace_curve(classes[k], each, chosen.given == k) for k, each in columns.items()), max_curves)


def pick_worst(curves: Any, max_curves: int) -> list[RankingCurve]:
    """Pick the curves of the least area under the ROC curve, the least first; leave out None."""
    return sorted((each for each in curves if each is not None), key=lambda curve: curve.roc_auc)[:max_curves]
