"""Count which classes are predicted for which."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.inspection.judgement import Judgement


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Numbers of rows by given and predicted class, for the pairs that occur: thousands of classes have few of them.

    Attributes
    ----------
    given, predicted : int64 arrays of shape (n_pairs,)
        Codes of the classes.
    counts : int64 array of shape (n_pairs,)
        Numbers of rows.
    n_classes : int
        Number of classes.
    """

    given: NDArray[np.int64]
    predicted: NDArray[np.int64]
    counts: NDArray[np.int64]
    n_classes: int

    def to_matrix(self) -> NDArray[np.int64]:
        """Return a matrix with a row for each given class and a column for each predicted class."""
        matrix = np.zeros((self.n_classes, self.n_classes), dtype=np.int64)
        matrix[self.given, self.predicted] = self.counts
        return matrix

    def count_given(self) -> NDArray[Any]:
        """Return the number of rows of each class."""
        return self._sum(self.given)

    def count_predicted(self) -> NDArray[Any]:
        """Return how often each class is predicted."""
        return self._sum(self.predicted)

    def count_right(self) -> NDArray[Any]:
        """Return how often each class is predicted rightly."""
        return self._sum(self.given, self.given == self.predicted)

    def rank_mistakes(self, n_mistakes: int) -> list[tuple[int, int, int]]:
        """List the most frequent mistakes: given class, predicted class, number of rows."""
        wrong = np.flatnonzero(self.given != self.predicted)
        worst = wrong[np.argsort(-self.counts[wrong], kind="stable")][:n_mistakes]
        return [(int(self.given[k]), int(self.predicted[k]), int(self.counts[k])) for k in worst]

    def _sum(self, codes: NDArray[np.int64], is_counted: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        counts = self.counts if is_counted is None else self.counts * is_counted
        sums = np.zeros(self.n_classes, dtype=np.int64)
        np.add.at(sums, codes, counts)
        return sums


def count_confusion(judgement: Judgement, n_classes: int) -> ConfusionCounts:
    """Count which classes are predicted for which in a judgement."""
    pairs, counts = np.unique(judgement.given * n_classes + judgement.predicted, return_counts=True)
    return ConfusionCounts(*np.divmod(pairs, n_classes), counts, n_classes)
