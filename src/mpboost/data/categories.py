"""Categorical features: which features are categorical, and the code of each category.

A category is identified by its value, not by the number that a frame stores for it. So a model can read frames of any
library, with their categories in any order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The value that identifies a category, in a model and in its file.
Key = str | bool | int | float

#: The code of missing values, and of categories that did not occur in training.
MISSING = 255

#: Whole numbers from 0 to below this are found without a sort.
MAX_SMALL = 4096


class Factors(NamedTuple):
    """A column as its distinct values (None if missing) and, for each row, the position of its value, or -1."""

    values: list[Key | None]
    positions: NDArray[np.integer[Any]]

    def are_missing(self) -> bool:
        """Check whether no row has a value."""
        is_missing = np.array([*(value is None for value in self.values), True])  # position -1 selects the last entry
        return bool(is_missing[self.positions].all())


@dataclass(frozen=True)
class Categories:
    """The categories of a feature, in the order of their codes.

    Attributes
    ----------
    values : list
        The value with code 0, with code 1, ...
    has_other : bool
        Whether there were too many categories: all others, also new ones, then share one more code.

    Examples
    --------
    >>> import numpy as np
    >>> seen = factorise(np.array(["b", "a", None, "b"], dtype=object))
    >>> categories = learn_categories(seen, max_codes=255)
    >>> categories.values
    ['a', 'b']
    >>> categories.encode(factorise(np.array(["b", "new", None, "a"], dtype=object)))
    array([  1, 255, 255,   0], dtype=uint8)
    """

    values: list[Key]
    has_other: bool = False

    @property
    def n_codes(self) -> int:
        """The number of codes, not counting the code of missing values."""
        return len(self.values) + self.has_other

    def are_foreign(self, factors: Factors) -> bool:
        """Check whether the values are text while the known ones are numbers, or the other way round."""
        others = {isinstance(value, str) for value in factors.values if value is not None}
        return bool(self.values and others) and others.isdisjoint(isinstance(value, str) for value in self.values)

    def are_new(self, factors: Factors) -> bool:
        """Check whether rows have categories, but only unknown ones. Never where rare ones, too, are not remembered."""
        if self.has_other or not self.values or factors.are_missing():
            return False
        return bool((self.encode(factors) == MISSING).all())

    def encode(self, factors: Factors) -> NDArray[np.uint8]:
        """Return the code of each row."""
        codes: dict[Key | None, int] = {value: code for code, value in enumerate(self.values)}
        codes[None] = MISSING
        other = len(self.values) if self.has_other else MISSING
        # One more entry at the end: position -1 selects it.
        table = np.array([*(codes.get(value, other) for value in factors.values), MISSING], dtype=np.uint8)
        return table[factors.positions]


def learn_categories(factors: Factors, max_codes: int, rows: NDArray[np.bool_] | None = None) -> Categories:
    """List the categories that occur in some rows, by default in all.

    They are sorted. If there are more than ``max_codes``, the most frequent ones get codes of their own and all others
    share the last code.

    Examples
    --------
    >>> import numpy as np
    >>> learn_categories(factorise(np.array([7, 3, 3, 7, 5, 9])), max_codes=3)
    Categories(values=[3, 7], has_other=True)
    """
    totals: dict[Key, int] = {}
    count_categories(factors, totals, rows)
    return choose_categories(totals, max_codes)


def count_categories(factors: Factors, totals: dict[Key, int], rows: NDArray[np.bool_] | None = None) -> None:
    """Add the numbers of rows that have each category, by default of all rows, to the totals."""
    positions = factors.positions if rows is None else factors.positions[rows]
    counts = np.bincount(positions[positions >= 0], minlength=len(factors.values))
    for value, count in zip(factors.values, counts.tolist(), strict=True):
        if value is not None and count:
            totals[value] = totals.get(value, 0) + count


def choose_categories(totals: dict[Key, int], max_codes: int) -> Categories:
    """List the categories that get codes of their own, given the number of rows that have each."""
    values = _sort(totals)
    if len(values) <= max_codes:
        return Categories(values)
    frequent = set(sorted(values, key=lambda value: -totals[value])[: max_codes - 1])
    return Categories([value for value in values if value in frequent], has_other=True)


def factorise(column: NDArray[Any]) -> Factors:
    """Split a one-dimensional array into its distinct values and the position of each row's value."""
    if column.dtype.kind in "biuf":
        distinct, positions = _find_distinct(column)
        return Factors(as_keys(distinct.tolist()), positions)
    places: dict[Key | None, int] = {}
    keys = as_keys(column.tolist())
    positions = np.fromiter((places.setdefault(key, len(places)) for key in keys), np.intp, len(keys))
    return Factors(list(places), positions)


def _find_distinct(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Do as np.unique does, which sorts; small whole numbers, as codes of categories often are, need no sort."""
    is_real = column.dtype.kind == "f"
    if is_real and (is_missing := np.isnan(column)).any():
        known, places = _find_distinct(column[~is_missing])
        positions = np.full(len(column), len(known))
        positions[~is_missing] = places
        return np.append(known, column.dtype.type(np.nan)), positions
    are_small = len(column) > 0 and column.min() >= 0 and column.max() < MAX_SMALL
    if not are_small or not np.array_equal(whole := column.astype(np.intp), column):
        return np.unique(column, return_inverse=True)
    occurs = np.zeros(MAX_SMALL, dtype=bool)
    occurs[whole] = True
    return np.flatnonzero(occurs).astype(column.dtype), (np.cumsum(occurs) - 1)[whole]


def as_keys(values: Iterable[Any]) -> list[Key | None]:
    """Convert values to keys: plain values stay as they are, missing ones become None, others become their text."""
    return [value if type(value) in (str, int, bool) else _as_key(value) for value in values]


def _as_key(value: Any) -> Key | None:
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas, which may not be installed
        return None
    if isinstance(value, float):
        return float(value) + 0.0 if value == value else None  # -0.0 becomes 0.0: they are one category
    return value if type(value) in (int, bool) else str(value)


def make_categorical_mask(
    wanted: Any, names: Sequence[Any] | None, n_features: int, by_dtype: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Make a mask of the categorical features from the parameter ``categorical_features``; None if there are none.

    Parameters
    ----------
    wanted : "from_dtype", array-like of bool, int or str, or None
        The user's parameter: a mask, or numbers or names of features.
    names : sequence or None
        The names of the features, if they have names.
    n_features : int
        The number of features.
    by_dtype : array of bool
        Mask of the features whose type is categorical.
    """
    if wanted is None:
        return None
    if isinstance(wanted, str):
        if wanted != "from_dtype":
            raise ValueError(f"categorical_features must be 'from_dtype', None or a list of features, not {wanted!r}.")
        return by_dtype if by_dtype.any() else None
    chosen = np.asarray(wanted)
    if chosen.size == 0:
        return None
    if chosen.ndim != 1 or chosen.dtype.kind not in "biuUO":
        raise ValueError(
            "categorical_features must be 'from_dtype', None, or a one-dimensional array-like of bool, int or str, "
            f"not an array of {chosen.dtype} of shape {chosen.shape}."
        )
    mask = _mask_features(chosen, names, n_features)
    return mask if mask.any() else None


def _mask_features(chosen: NDArray[Any], names: Sequence[Any] | None, n_features: int) -> NDArray[np.bool_]:
    if chosen.dtype.kind == "b":
        if len(chosen) != n_features:
            raise ValueError(
                f"categorical_features is a mask for {len(chosen)} features, but X has {n_features} features."
            )
        return chosen
    if chosen.dtype.kind in "iu":
        if chosen.min() < 0 or chosen.max() >= n_features:
            raise ValueError(
                f"Feature numbers in categorical_features must be from 0 to {n_features - 1}, not {chosen.tolist()}."
            )
        return np.isin(np.arange(n_features), chosen)
    if names is None:
        raise ValueError(
            "categorical_features contains names, but X has no column names: pass feature numbers or a mask."
        )
    unknown = [name for name in chosen.tolist() if name not in names]
    if unknown:
        raise ValueError(f"categorical_features contains names that X does not have: {unknown}. X has {list(names)}.")
    return np.isin(np.array(names, dtype=object), chosen.astype(object))


def _sort(values: Iterable[Key]) -> list[Key]:
    try:
        return sorted(values)
    except TypeError:  # text among numbers
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))
