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
        """Give the classes numbers from 0 on, as XGBoost wants them."""
        if self.is_regression:
            return self
        classes = np.unique(self.y_train)
        y_train, y_test = (np.searchsorted(classes, y) for y in (self.y_train, self.y_test))
        return replace(self, y_train=y_train, y_test=y_test)
