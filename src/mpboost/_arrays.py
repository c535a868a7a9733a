"""Names of the array types that most modules use, and how numbers that users return become one of them."""

from typing import Any, TypeVar

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


def as_real(given: Any, what: str) -> Floats:
    """Convert the numbers that a user's function returns to float64; raise a TypeError if they are not real numbers.

    Lists that are no array, and text among other objects, are a ValueError.

    Examples
    --------
    >>> as_real([1, 2], "The gradient")
    array([1., 2.])
    >>> as_real([1j], "The gradient")
    Traceback (most recent call last):
        ...
    TypeError: The gradient must be real numbers, not complex128.
    """
    try:
        numbers = np.asarray(given)
        if numbers.dtype.kind in "biufO":
            with np.errstate(over="ignore"):  # long doubles: infinite ones are refused where they matter
                return numbers.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what} is no array of numbers: {error}") from error
    raise TypeError(f"{what} must be real numbers, not {numbers.dtype}.")
