"""Makes data frames of all libraries, with columns of all types."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from fuzz.generators import (
    NUMBERS,
    WORDS,
    Rng,
    chance,
    convert,
    draw_numbers,
    draw_objects,
    pick,
    pick_some,
)

#: Words that every library can store.
TEXT = [word for word in WORDS if word != "\ud800"]
DAYS = [datetime.date(2020, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]
MOMENTS = [datetime.datetime(2020, 1, 1), datetime.datetime(1999, 1, 1, 1, 1)]
NESTED = [[1], [1, 2], [], [3.0]]
DECIMALS = [Decimal("1.5"), Decimal("-3"), Decimal("1e10")]
ZONES = [None, "UTC"]
POLARS_NUMBERS = [pl.Int8, pl.Int64, pl.Float32, pl.Float64, pl.Int128]
ARROW_INDICES = [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()]
ARROW_DECIMALS = [pa.decimal128(20, 3), pa.decimal256(40, 3)]
WIDE = [0, 1, 2**64, -(2**100)]


def draw_names(rng: Rng, n_columns: int) -> list[Any]:
    """Draw names of columns: usually valid ones, the same in all frames."""
    names: list[Any] = [f"f{column}" for column in range(n_columns)]
    if chance(rng, 0.85) or not n_columns:
        return names
    kind = int(rng.integers(5))
    if kind == 0:
        names[-1] = names[0]
    elif kind == 1:
        names = list(range(n_columns))
    elif kind == 2:
        names[0] = pick(rng, [0, None, "", 1.5, ("a", "b"), np.nan, "\0", True])
    elif kind == 3:
        names = [("a", name) for name in names]
    else:
        names = names[::-1]
    return names


def with_gaps(rng: Rng, values: list[Any]) -> list[Any]:
    """Replace some values by None."""
    if chance(rng, 0.5):
        return values
    return [None if is_gone else value for value, is_gone in zip(values, rng.random(len(values)) < 0.2, strict=True)]


def draw_numeric(rng: Rng, size: int) -> Any:
    """Draw a column of numbers as an array."""
    return convert(draw_numbers(rng, (size,)), pick(rng, NUMBERS[:-1]))


# pandas


def draw_pandas_column(rng: Rng, size: int, odd: float) -> Any:
    """Draw a column of pandas; with probability ``odd``, one of a type that is usually refused."""
    kind = int(rng.integers(13, 18) if chance(rng, odd) else rng.integers(13))
    if kind < 6:
        return pd.Series(draw_numeric(rng, size))
    integers = with_gaps(rng, rng.integers(-3, 4, size=size).tolist())
    if kind == 6:
        dtype = pick(rng, ["Int8", "UInt64", "Int64", "Float32", "Float64", "boolean"])
        return pd.Series([None if value is None else abs(value) % 2 for value in integers], dtype=dtype)
    if kind == 7:
        dtype = pick(rng, [pa.int16(), pa.float32(), pa.string(), pa.decimal128(9, 2), pa.bool_(), pa.float64()])
        return pd.Series(pa.array(integers).cast(pa.int8()).cast(dtype).to_pandas(types_mapper=pd.ArrowDtype))
    if kind == 8:
        return pd.Series(pd.array(with_gaps(rng, pick_some(rng, TEXT, size)), dtype=pick(rng, ["str", "string"])))
    if kind in (9, 10, 11):
        return _draw_category(rng, size)
    if kind == 12:
        fill = pick(rng, [0.0, np.nan, 1.0])
        return pd.Series(pd.arrays.SparseArray(draw_numbers(rng, (size,)), fill_value=fill))
    if kind == 13:
        moments = pd.Series(with_gaps(rng, pick_some(rng, MOMENTS, size)), dtype="datetime64[ns]")
        return moments.dt.tz_localize("UTC") if chance(rng, 0.5) else moments
    if kind == 14:
        extension = pick(rng, ["period", "interval", "timedelta"])
        if extension == "period":
            return pd.Series(pd.period_range("2020", periods=size, freq="D"))
        return pd.Series(
            pd.interval_range(0, periods=size) if extension == "interval" else pd.to_timedelta(range(size))
        )
    if kind == 15:
        return pd.Series(convert(draw_numbers(rng, (size,)), pick(rng, "FD")))
    column = pd.Series([None] * size, dtype=object)
    for row, value in enumerate(draw_objects(rng, size)):
        column.iat[row] = value
    return column


def _draw_category(rng: Rng, size: int) -> Any:
    kind = int(rng.integers(8))
    if kind == 0:
        values = pd.Index(rng.integers(0, 400, size=40))
    elif kind == 1:
        values = pd.Index(draw_numbers(rng, (5,)))
    elif kind == 2:
        values = pd.Index(MOMENTS)
    elif kind == 3:
        values = pd.interval_range(0, periods=3)
    elif kind == 4:
        values = pd.Index([("a", 1), ("b", 2), 3, "3", 3.5, True], dtype=object, tupleize_cols=False)
    elif kind == 5:
        values = pd.Index([True, False])
    else:
        values = pd.Index(pick_some(rng, TEXT, 8))
    values = values[values.notna()].unique()
    codes = rng.integers(-1, len(values), size=size) if len(values) else np.full(size, -1)
    return pd.Series(pd.Categorical.from_codes(codes, categories=values, ordered=chance(rng, 0.3)))


def make_pandas(rng: Rng, n_rows: int, n_columns: int) -> Any:
    """Make a frame of pandas: from one array, or from columns of any types."""
    names = draw_names(rng, n_columns)
    if chance(rng, 0.4):
        frame = pd.DataFrame(convert(draw_numbers(rng, (n_rows, n_columns)), pick(rng, NUMBERS)))
    else:
        odd = pick(rng, [0.0, 0.05, 0.5])
        columns = {column: draw_pandas_column(rng, n_rows, odd) for column in range(n_columns)}
        frame = pd.DataFrame(columns) if columns else pd.DataFrame(index=range(n_rows))
    frame.columns = pd.Index(names, tupleize_cols=True)
    if chance(rng, 0.1):
        frame.index = pick(rng, [frame.index[::-1], pd.Index([0] * n_rows), pd.Index([None] * n_rows)])
    if chance(rng, 0.04):
        return pick(rng, [frame.iloc[:, 0] if n_columns else frame, frame.index, frame.columns, frame.iloc[:0]])
    if chance(rng, 0.04) and len(set(names)) == n_columns:
        return nw.from_native(frame)
    return frame


# polars


def draw_polars_column(rng: Rng, size: int, odd: float) -> pl.Series:
    """Draw a column of polars; with probability ``odd``, one of a type that is usually refused."""
    if chance(rng, 0.3):
        return pl.Series(draw_numeric(rng, size))
    words = with_gaps(rng, pick_some(rng, TEXT, size))
    makers: list[Callable[[], pl.Series]] = [
        lambda: pl.Series(with_gaps(rng, rng.integers(-3, 4, size=size).tolist()), dtype=pick(rng, POLARS_NUMBERS)),
        lambda: pl.Series(words, dtype=pick(rng, [pl.String, pl.Categorical, pl.Enum(TEXT)])),
        lambda: pl.Series(with_gaps(rng, pick_some(rng, [True, False], size)), dtype=pl.Boolean),
        lambda: pl.Series(with_gaps(rng, pick_some(rng, DECIMALS, size)), dtype=pl.Decimal(20, 3)),
        lambda: pl.Series(with_gaps(rng, pick_some(rng, WIDE, size)), dtype=pl.Int128),
        lambda: pl.Series([None] * size, dtype=pick(rng, [pl.Null, pl.String, pl.Int8, pl.Categorical, pl.Boolean])),
    ]
    odd_makers: list[Callable[[], pl.Series]] = [
        lambda: pl.Series(with_gaps(rng, pick_some(rng, NESTED, size)), dtype=pl.List(pl.Float64)),
        lambda: pl.Series([[1, 2]] * size, dtype=pl.Array(pl.Int8, 2)),
        lambda: pl.Series([{"a": 1, "b": "x"}] * size, dtype=pl.Struct({"a": pl.Int64, "b": pl.String})),
        lambda: pl.Series(with_gaps(rng, pick_some(rng, DAYS, size)), dtype=pl.Date),
        lambda: pl.Series(with_gaps(rng, pick_some(rng, MOMENTS, size)), dtype=pl.Datetime("us", pick(rng, ZONES))),
        lambda: pl.Series([datetime.timedelta(1)] * size, dtype=pl.Duration),
        lambda: pl.Series([datetime.time(1)] * size, dtype=pl.Time),
        lambda: pl.Series([b"a"] * size, dtype=pl.Binary),
        lambda: pl.Series(values=draw_objects(rng, size), dtype=pl.Object),
    ]
    return pick(rng, odd_makers if chance(rng, odd) else makers)()


def make_polars(rng: Rng, n_rows: int, n_columns: int) -> Any:
    """Make a frame of polars."""
    names = [f"f{column}" for column in range(n_columns)]
    if chance(rng, 0.05):
        names = names[::-1]
    odd = pick(rng, [0.0, 0.05, 0.5])
    frame = pl.DataFrame([draw_polars_column(rng, n_rows, odd).alias(name) for name in names])
    if chance(rng, 0.1) and n_columns:
        frame = pl.concat([frame[: n_rows // 2], frame[n_rows // 2 :]], rechunk=False)
    if chance(rng, 0.06):
        return pick(rng, [frame.lazy(), nw.from_native(frame), frame.to_series(0) if n_columns else frame])
    return frame


# pyarrow


def draw_arrow_column(rng: Rng, size: int, odd: float) -> Any:
    """Draw a column of pyarrow; with probability ``odd``, one of a type that is usually refused."""
    if chance(rng, 0.3):
        return pa.array(draw_numeric(rng, size))
    words = with_gaps(rng, pick_some(rng, TEXT, size))
    integers = with_gaps(rng, rng.integers(-3, 4, size=size).tolist())
    indices = with_gaps(rng, rng.integers(0, 3, size=size).tolist())
    dictionaries = [pa.array(["a", "a", "b"]), pa.array([None, "b", "c"]), pa.array([1.5, np.nan, 2.0])]
    makers: list[Callable[[], Any]] = [
        lambda: pa.array(integers, type=pick(rng, [pa.int8(), pa.int64(), pa.float32(), pa.float64()])),
        lambda: pa.array(words, type=pick(rng, [pa.string(), pa.large_string(), pa.string_view()])),
        lambda: pa.array(words, type=pa.string()).dictionary_encode(),
        lambda: pa.array(integers, type=pa.int16()).dictionary_encode(),
        lambda: pa.DictionaryArray.from_arrays(
            pa.array(indices, type=pick(rng, ARROW_INDICES)), pick(rng, dictionaries)
        ),
        lambda: pa.array(with_gaps(rng, pick_some(rng, DECIMALS, size)), type=pick(rng, ARROW_DECIMALS)),
        lambda: pa.array(with_gaps(rng, pick_some(rng, [True, False], size)), type=pa.bool_()),
        lambda: pa.array(convert(draw_numbers(rng, (size,)), np.float16)),
    ]
    odd_makers: list[Callable[[], Any]] = [
        lambda: pa.array(with_gaps(rng, pick_some(rng, NESTED, size)), type=pa.list_(pa.float64())),
        lambda: pa.array([{"a": 1}] * size, type=pa.struct([("a", pa.int8())])),
        lambda: pa.array([[("a", 1)]] * size, type=pa.map_(pa.string(), pa.int8())),
        lambda: pa.nulls(size, type=pick(rng, [pa.null(), pa.string(), pa.int8(), pa.bool_(), pa.float16()])),
        lambda: pa.array(with_gaps(rng, pick_some(rng, DAYS, size)), type=pick(rng, [pa.date32(), pa.date64()])),
        lambda: pa.array(pick_some(rng, MOMENTS, size), type=pa.timestamp("us", tz=pick(rng, ZONES))),
        lambda: pa.array([1] * size, type=pick(rng, [pa.duration("s"), pa.time32("s"), pa.time64("us")])),
        lambda: pa.array([b"a"] * size, type=pick(rng, [pa.binary(), pa.binary(1), pa.large_binary()])),
    ]
    return pick(rng, odd_makers if chance(rng, odd) else makers)()


def make_arrow(rng: Rng, n_rows: int, n_columns: int) -> Any:
    """Make a table of pyarrow, in one chunk or more, or a batch."""
    names = [f"f{column}" for column in range(n_columns)]
    if chance(rng, 0.05) and n_columns:
        names[-1] = pick(rng, [names[0], "", "\0"])
    kind = int(rng.integers(10))
    odd = pick(rng, [0.0, 0.05, 0.5])
    columns = [draw_arrow_column(rng, n_rows, odd) for _ in names]
    if kind == 0:
        return pa.RecordBatch.from_arrays(columns, names=names)
    table = pa.table(columns, names=names)
    if kind == 1:
        return pa.concat_tables([table.slice(0, n_rows // 2), table.slice(n_rows // 2)])
    if kind == 2:
        is_sound = len(set(names)) == n_columns  # else narwhals refuses it
        return pick(rng, [table.column(0) if n_columns else table, nw.from_native(table) if is_sound else table])
    return table
