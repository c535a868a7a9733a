"""The distinct values of a text column: they are converted once each, however many rows there are."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: Cells that mean a missing value: those of pandas, those of spreadsheets, and signs that people use.
MISSING_WORDS = (
    *("", "?", "-", "--", "\N{EN DASH}", "\N{EM DASH}", ".", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA"),
    *("NaN", "nan", "-NaN", "-nan", "NULL", "null", "Null", "None", "\\N", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    *("#VALUE!", "#REF!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"),
)

#: Codes of categories have no more distinct values than this.
MAX_CODES = 20


def clear_missing(values: pa.ChunkedArray, words: tuple[str, ...] = ()) -> pa.ChunkedArray:
    """Remove spaces around cells; cells that mean a missing value become null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> clear_missing(pa.chunked_array([[" a ", "NA", "?"]])).to_pylist()
    ['a', None, None]
    """
    trimmed = pc.utf8_trim_whitespace(values)
    is_missing = pc.is_in(trimmed, value_set=pa.array([*MISSING_WORDS, *words], trimmed.type))
    return pc.if_else(is_missing, pa.scalar(None, trimmed.type), trimmed) if pc.any(is_missing).as_py() else trimmed


@dataclass(frozen=True)
class Distinct:
    """A text column by its distinct values.

    Attributes
    ----------
    values : StringArray
        The distinct values; none is null.
    positions : ChunkedArray
        For each row the position of its value; null if it is missing.
    """

    values: pa.Array
    positions: pa.ChunkedArray

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Self:
        """List the distinct values of a column."""
        encoded = column.dictionary_encode()
        values = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], column.type)
        return cls(values, pa.chunked_array([chunk.indices for chunk in encoded.chunks], pa.int32()))

    @property
    def are_codes(self) -> bool:
        """Whether the values are so few that those that look like numbers are rather codes, as in 1, 2, 3, U."""
        return len(self.values) <= min(MAX_CODES, len(self.positions) / 2)

    def spread(self, converted: pa.Array) -> pa.ChunkedArray:
        """Give each row what its value was converted to."""
        return pa.chunked_array([converted.take(chunk) for chunk in self.positions.chunks], converted.type)

    def share_of(self, mask: pa.Array) -> float:
        """Compute the share of rows, of those with a value, whose value is in the mask."""
        if not pc.any(mask).as_py():
            return 0.0
        return float(pc.mean(pc.cast(self.spread(mask), pa.float64())).as_py() or 0.0)

    def name_first(self, mask: pa.Array, what: str) -> str:
        """Name the first row whose value is in the mask, and say what is with it."""
        row = int(np.flatnonzero(pc.fill_null(self.spread(mask), False).to_numpy())[0])
        return f"{self.values[self.positions[row].as_py()].as_py()!r} in row {row} (counted from 0) {what}"
