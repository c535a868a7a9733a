"""A data set, split into rows to learn from and rows to test on."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SplitSet:
    """A data set, split into training rows and test rows.

    ``categorical`` are the columns that hold codes of categories; ``is_regression`` tells that numbers are predicted
    instead of classes.
    """

    name: str
    X_train: NDArray[Any]
    y_train: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]
    categorical: tuple[int, ...] = ()
    is_regression: bool = False

    def encode(self) -> "SplitSet":
        """Give the classes numbers from 0 on, as XGBoost wants them; one that is only among the test rows is -1."""
        if self.is_regression:
            return self
        classes, y_train = np.unique(self.y_train, return_inverse=True)
        y_test = np.searchsorted(classes, self.y_test).clip(max=len(classes) - 1)
        return replace(self, y_train=y_train, y_test=np.where(classes[y_test] == self.y_test, y_test, -1))
