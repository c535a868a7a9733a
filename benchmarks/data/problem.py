"""What a contestant is given: a data set, split, and what is known of it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """Rows to learn from and rows to be judged by.

    ``categorical`` are the columns that hold codes of categories; ``is_regression`` tells that numbers are learned, not
    classes.
    """

    name: str
    X_train: NDArray[Any]
    y_train: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]
    categorical: tuple[int, ...] = ()
    is_regression: bool = False

    def encode(self) -> "Problem":
        """Give the classes numbers from 0 on, as XGBoost wants them."""
        if self.is_regression:
            return self
        classes = np.unique(self.y_train)
        y_train, y_test = (np.searchsorted(classes, y) for y in (self.y_train, self.y_test))
        return replace(self, y_train=y_train, y_test=y_test)
