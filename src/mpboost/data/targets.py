"""Targets of many rows in little memory: their distinct values, and the position of each row's value among these."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Rows that are counted at a time: counting needs eight bytes for each.
ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class CodedTargets:
    """Targets as distinct values and, for each row, the position of its value.

    Attributes
    ----------
    values : array of shape (n_values,)
        The distinct values, ascending.
    codes : uint8 or uint16 array of shape (n_rows,)
        Positions of the values of rows.

    Examples
    --------
    >>> import numpy as np
    >>> y = CodedTargets(np.array(["no", "yes", "?"]), np.array([1, 0, 1], dtype=np.uint8))
    >>> len(y), y[np.array([0, 2])].list_distinct(), y.spread()
    (3, array(['yes'], dtype='<U3'), array(['yes', 'no', 'yes'], dtype='<U3'))
    """

    values: NDArray[Any]
    codes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "CodedTargets":
        return CodedTargets(self.values, self.codes[rows])

    def count_values(self) -> NDArray[np.int64]:
        """Count the rows that have each value."""
        counts = np.zeros(len(self.values), dtype=np.int64)
        for start in range(0, len(self.codes), ROWS_AT_ONCE):
            counts += np.bincount(self.codes[start : start + ROWS_AT_ONCE], minlength=len(self.values))
        return counts

    def list_distinct(self) -> NDArray[Any]:
        """List the values that some row has."""
        return self.values[self.count_values() > 0]

    def spread(self) -> NDArray[Any]:
        """Return the value of each row."""
        return self.values[self.codes]


Targets: TypeAlias = NDArray[Any] | CodedTargets


def spread_targets(y: Targets) -> NDArray[Any]:
    """Return the value of each row."""
    return y.spread() if isinstance(y, CodedTargets) else y
