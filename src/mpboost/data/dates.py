"""Dates in data frames: each becomes numbers that trees can split, such as its day, month and weekday."""

from collections.abc import Collection
from datetime import date, datetime, time
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals import Series
from numpy.typing import NDArray

from mpboost._arrays import Floats

#: The parts of dates and times that become features, and their units.
PARTS: dict[str, str] = {
    "days": "days since 1970-01-01",
    "month": "1 to 12",
    "weekday": "Monday is 0",
    "hour": "0 to 23",
}

#: What type of column has which parts.
DATE_PARTS, MOMENT_PARTS, TIME_PARTS = ("days", "month", "weekday"), tuple(PARTS), ("hour",)

DAY, HOUR = 86_400_000_000, 3_600_000_000  # in microseconds


def split_dates(
    frame: nw.DataFrame[Any],
    known: Collection[str] | None = None,
    *,
    keep: Collection[str] = (),
    keep_constant: bool = False,
) -> nw.DataFrame[Any]:
    """Replace each column of dates or times by columns of its parts, such as ``signup:days`` and ``signup:month``.

    Parameters
    ----------
    frame : DataFrame
        A data frame of any library, by narwhals.
    known : collection of str or None
        The features of a fitted model: only parts among these are made. None makes all parts that differ between rows,
        for a fit; of a date that never changes, the first part.
    keep : collection of str
        Columns to leave as they are, since their dates are categories.
    keep_constant : bool
        Whether to make all parts, even of a date that never changes: other rows may have other dates.

    Returns
    -------
    frame : DataFrame
        The same frame if it has no dates.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import narwhals.stable.v2 as nw
    >>> table = pa.table({"x": [1, 2], "d": pa.array(["2024-02-29", "2024-03-01"]).cast(pa.date32())})
    >>> split_dates(nw.from_native(table)).to_dict(as_series=False)
    {'x': [1, 2], 'd:days': [19782.0, 19783.0], 'd:month': [2.0, 3.0], 'd:weekday': [3.0, 4.0]}
    """
    kept = {*keep, *(known if known is not None else ())}
    found = {column.name: column for column in frame.iter_columns() if column.name not in kept}
    columns = {name: parts for name, column in found.items() if (parts := _list_parts(column))}
    if known is not None:
        columns = {name: tuple(part for part in parts if f"{name}:{part}" in known) for name, parts in columns.items()}
        columns = {name: parts for name, parts in columns.items() if parts}  # others are refused with all unknown names
    if not columns:
        return frame
    if not all(isinstance(name, str) for name in frame.columns):
        raise TypeError("X has dates, so names of columns must be text: for example X.columns = X.columns.map(str).")
    order: list[str] = []
    made = []
    for name in frame.columns:
        if name not in columns:
            order.append(name)
            continue
        moments = _read_moments(found[name])
        values = {part: _compute_part(moments, part) for part in columns[name]}
        if known is None and not keep_constant:
            differing = {part: numbers for part, numbers in values.items() if not _is_constant(numbers)}
            values = differing or dict([next(iter(values.items()))])
        for part, numbers in values.items():
            if f"{name}:{part}" in frame.columns:
                raise ValueError(f"Column '{name}:{part}' of X has the name of a part of column {name!r}: rename it.")
            order.append(f"{name}:{part}")
            made.append(nw.new_series(f"{name}:{part}", numbers, nw.Float64, backend=frame.implementation))
    return frame.with_columns(*made).select(order)


def name_source(feature: str, columns: Collection[str]) -> tuple[str, str]:
    """Split the name of a feature into its column and, if it was made from a date, the part of the date.

    Examples
    --------
    >>> name_source("signup:month", ["signup"]), name_source("age", ["age"])
    (('signup', 'month'), ('age', ''))
    """
    source, _, part = feature.rpartition(":")
    return (source, part) if feature not in columns and source and part in PARTS else (feature, "")


def _list_parts(column: Series[Any]) -> tuple[str, ...]:
    """List the parts of a column; none if it has no dates."""
    dtype = column.dtype
    if dtype == nw.Date:
        return DATE_PARTS
    if dtype == nw.Datetime:
        return MOMENT_PARTS
    if dtype == nw.Time:
        return TIME_PARTS
    if dtype != nw.Object:
        return ()
    first = next(iter(column.drop_nulls().head(1).to_list()), None)  # dates as objects of Python
    kinds = {datetime: MOMENT_PARTS, date: DATE_PARTS, time: TIME_PARTS}
    return next((parts for kind, parts in kinds.items() if isinstance(first, kind)), ())


def _read_moments(column: Series[Any]) -> NDArray[np.datetime64]:
    """Read dates, in their own time zone; times of day are those of 1970-01-01."""
    if column.dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    if column.dtype == nw.Datetime:
        return np.asarray(column.dt.replace_time_zone(None).to_numpy()).astype("datetime64[us]")
    return np.array([_as_moment(value, column.name) for value in column.to_list()], dtype="datetime64[us]")


def _as_moment(value: Any, name: str) -> Any:
    if isinstance(value, time):
        return datetime.combine(date(1970, 1, 1), value.replace(tzinfo=None))
    if isinstance(value, datetime):
        return value.replace(tzinfo=None) if value == value else None  # pandas.NaT is not equal to itself
    if value is None or isinstance(value, date) or value != value:
        return value if isinstance(value, date) else None
    raise TypeError(f"Column {name!r} of X contains dates and other values, such as {value!r}: convert it to dates.")


def _compute_part(moments: NDArray[np.datetime64], part: str) -> Floats:
    """Compute a part of dates; NaN where they are missing."""
    since = moments.astype(np.int64)
    numbers: NDArray[Any]
    if part == "days":
        numbers = since / DAY
    elif part == "month":
        numbers = moments.astype("datetime64[M]").astype(np.int64) % 12 + 1.0
    elif part == "weekday":
        numbers = (since // DAY + 3.0) % 7.0  # 1970-01-01 was a Thursday
    else:
        numbers = since % DAY // HOUR * 1.0
    return np.where(np.isnat(moments), np.nan, numbers)


def _is_constant(numbers: Floats) -> bool:
    return bool(np.all(numbers == numbers[0])) if len(numbers) else True
