"""Names of the array types that most modules use."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
#: Positions (numbers) of rows or of features.
Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: The type of labels and of outputs of learners: int8 for two classes and for colours, uint16 for many classes,
#: float64 for numbers.
Label = TypeVar("Label", bound=np.generic)
