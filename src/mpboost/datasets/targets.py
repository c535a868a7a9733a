"""The targets and weights of a dataset: what they are, and how they are stored."""

import reprlib
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from mpboost.data.categories import as_keys
from mpboost.data.checks import MAX_CLASSES, read_targets, refuse_odd_labels
from mpboost.data.sources import CATEGORICAL_TYPES, FrameSource, read_native

#: Targets with more distinct values than this are stored as they are.
MAX_VALUES = MAX_CLASSES


class TargetSurvey:
    """Finds out the type and the distinct values of targets, batch by batch.

    Attributes
    ----------
    values : array of shape (n_values,) or None
        The distinct values, ascending; None if targets are stored as they are, which must be numbers.
    dtype : dtype
        The type that all of them have.
    """

    def __init__(self) -> None:
        self._distinct: dict[Any, None] | None = {}
        self.dtype: np.dtype[Any] | None = None
        self.values: NDArray[Any] | None = None

    def add(self, y: Any, n_rows: int) -> None:
        """Look at the targets of a batch."""
        values, codes = _factorise(y)
        if len(codes if codes is not None else values) != n_rows:
            raise ValueError(f"X has {n_rows} rows, but y has {len(codes if codes is not None else values)}.")
        self.dtype = values.dtype if self.dtype is None else _unite_types(self.dtype, values.dtype)
        if self._distinct is not None and values.dtype.kind == "f" and (np.signbit(values) & (values == 0)).any():
            self._distinct = None  # among distinct values, -0.0 would become 0.0
        if self._distinct is None:
            return
        self._note((values if codes is not None else np.unique(values)).tolist())

    def join(self, other: "TargetSurvey") -> None:
        """Take in what is known of the targets of the rows that follow."""
        assert other.dtype is not None
        self.dtype = other.dtype if self.dtype is None else _unite_types(self.dtype, other.dtype)
        if self._distinct is None or other._distinct is None:
            self._distinct = None
        else:
            self._note(other._distinct)

    def _note(self, distinct: Iterable[Any]) -> None:
        """Add distinct values; forget all of them if there are too many."""
        assert self._distinct is not None
        self._distinct.update(dict.fromkeys(distinct))
        if len(self._distinct) > MAX_VALUES:
            self._distinct = None
            self._refuse_text()

    def finish(self) -> None:
        """List the distinct values, when all batches were looked at."""
        assert self.dtype is not None
        if self._distinct is None:
            self._refuse_text()
            return
        labels = np.array([*self._distinct, None], dtype=object)[:-1]
        refuse_odd_labels(labels)
        odd = next((label for label in labels if not isinstance(label, str | int | float | np.generic)), None)
        if odd is not None:
            raise ValueError(
                f"y contains {reprlib.repr(odd)} of type {type(odd).__name__}: convert it to numbers or text."
            )
        self.values = np.sort(labels if self.dtype.kind == "O" else labels.astype(self.dtype))

    def _refuse_text(self) -> None:
        if self.dtype is not None and self.dtype.kind not in "biuf":
            raise ValueError(
                f"the target has more than {MAX_VALUES} different values that are no numbers: no classifier can learn "
                "so many classes."
            )

    @property
    def stored_dtype(self) -> np.dtype[Any]:
        """The type that targets have in the file: of codes, or their own."""
        if self.values is None:
            assert self.dtype is not None
            return self.dtype.newbyteorder("<")
        return np.dtype("uint8" if len(self.values) <= 256 else "<u2")

    def encode(self, y: Any) -> NDArray[Any]:
        """Convert the targets of a batch to how they are stored."""
        values, codes = _factorise(y)
        if self.values is None:
            return values.astype(self.stored_dtype)
        if self.values.dtype.kind == "O":
            places = {value: place for place, value in enumerate(self.values.tolist())}
            table = np.array([places.get(value, -1) for value in values.tolist()], dtype=np.int64)
        else:
            table = np.searchsorted(self.values, values)
            known = self.values[np.minimum(table, len(self.values) - 1)] == values
            table = np.where(known, table, -1)
        if (table < 0).any():
            raise ValueError("the target has values that it did not have when the rows were read before.")
        return (table if codes is None else table[codes]).astype(self.stored_dtype)


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Read the weights of a batch."""
    if sample_weight is None:
        return None
    weights = np.asarray(read_targets(sample_weight, "sample_weight"), dtype=np.float64)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight should be a 1d array, got an array of shape {weights.shape} instead.")
    if len(weights) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but sample_weight has {len(weights)}.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("weights must be finite numbers that are not negative.")
    return weights


def _factorise(y: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return distinct values and the position of each row's value; or, for numbers, the values of rows and None."""
    native = read_native(y, "y")
    if isinstance(native, nw.Series) and native.dtype == nw.Decimal:
        y = native.cast(nw.Float64).to_native()
    elif isinstance(native, nw.Series) and native.dtype in CATEGORICAL_TYPES:
        factors = FrameSource([native]).read_factors(0)
        n_missing = int(np.isin(factors.positions, [-1, *np.flatnonzero([v is None for v in factors.values])]).sum())
        _refuse_missing(n_missing, len(factors.positions))
        used = np.unique(factors.positions)
        values = np.array([*(factors.values[k] for k in used), None], dtype=object)[:-1]
        return values, np.searchsorted(used, factors.positions)
    array = np.asarray(read_targets(y, "y"))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if array.dtype.kind == "T":  # variable-length strings
        array = array.astype(object)
    if array.dtype.kind == "O" and all(isinstance(value, Decimal) for value in array):
        array = array.astype(np.float64)
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        _refuse_missing(int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0, len(array))
        return array, None
    if array.dtype.kind in "USO":
        keys = as_keys(array.tolist())
        _refuse_missing(sum(key is None for key in keys), len(array))
        places: dict[Any, int] = {}
        codes = np.fromiter((places.setdefault(value, len(places)) for value in array.tolist()), np.intp, len(array))
        values = np.array([*places, None], dtype=object)[:-1]
        return (values.astype(array.dtype) if array.dtype.kind == "U" else values), codes
    raise ValueError(f"y contains {array.dtype}, which is neither numbers nor text: convert it.")


def _unite_types(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of a column that has values of both, as pandas.concat chooses it."""
    if one == other:
        return one
    if one.kind == "O" or other.kind == "O" or "U" in (one.kind + other.kind).replace("UU", ""):
        return np.dtype(object)
    if "b" in one.kind + other.kind:
        raise ValueError("y is true or false in some batches, and numbers in others: convert it.")
    return np.result_type(one, other)


def _refuse_missing(n_missing: int, n_rows: int) -> None:
    if n_missing:
        raise ValueError(f"the target is missing in {n_missing} of {n_rows} rows: remove the rows without a target.")
