"""Convert the text columns of a table to numbers, dates, and true or false, where all of their values allow it."""

from collections import Counter
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mpboost.table_files.dates import ORDER_WORDS, DateText, read_clock_times
from mpboost.table_files.distinct import Distinct, clear_missing
from mpboost.table_files.numbers import NumberText, cast_numbers, is_dotted
from mpboost.table_files.options import Habits, ReadingOptions

#: A converted column, or what its values allow.
Examined = NumberText | DateText | Any


@dataclass(frozen=True)
class Converted:
    """A table with converted columns.

    Attributes
    ----------
    table : Table
        The table.
    habits : Habits
        The decimal mark and the order of dates that the columns show.
    notes : list of str
        What a user may not expect.
    obstacles : dict of str
        Columns that stay words although most of their values look like numbers or dates, and why.
    """

    table: pa.Table
    habits: Habits
    notes: list[str]
    obstacles: dict[str, str]


def convert_text(
    table: pa.Table,
    options: ReadingOptions,
    *,
    as_words: Collection[str] = (),
    usual: Habits | None = None,
    comma_is_usual: bool = False,
) -> Converted:
    """Convert the columns of a table of text.

    A column is examined on its own. What it leaves open, the decimal mark of 1,234 or the month of 3/9/2017, is decided
    by what other columns show, then by what is usual.

    Parameters
    ----------
    table : Table
        The table; columns of other types than text stay as they are.
    options : ReadingOptions
        What the user said: it overrules everything.
    as_words : collection of str
        Columns that stay text even if they look like numbers.
    usual : Habits
        What the training table showed, for a table to predict.
    comma_is_usual : bool
        Whether a comma that can be a decimal mark is one, if nothing else decides.
    """
    usual = usual or Habits()

    def examine(name: str) -> Examined:
        return _examine(table[name], options, is_words=name in as_words)

    with ThreadPoolExecutor() as pool:  # pyarrow computes outside of Python's lock
        found = dict(zip(table.column_names, pool.map(examine, table.column_names), strict=True))
    converter = _Converter(
        options,
        shown=_choose_most_common(_list_decimals(table, found)),
        usual=usual,
        order=options.dates
        or _choose_most_common(each.decides for each in found.values() if isinstance(each, DateText))
        or usual.dates,
        comma_is_usual=comma_is_usual,
    )
    converted = {name: converter.convert(name, each) for name, each in found.items()}
    notes = converter.notes
    if usual.decimal and converter.decimal not in ("", usual.decimal):
        words = {".": "points", ",": "commas"}
        notes.insert(0, f"decimal {words[converter.decimal]}, while the training table has {words[usual.decimal]}")
    order = converter.order if converter.order in ORDER_WORDS else ""
    habits = Habits(converter.decimal, order, options.missing)
    return Converted(pa.table(converted), habits, notes, converter.obstacles)


class _Converter:
    """Converts examined columns, and writes down what a user may not expect."""

    def __init__(self, options: ReadingOptions, *, shown: str, usual: Habits, order: str, comma_is_usual: bool):
        self.options, self.order, self._comma_is_usual = options, order, comma_is_usual
        self._is_shown = bool(options.decimal or shown)
        self.decimal = options.decimal or shown or usual.decimal
        self.notes: list[str] = []
        self.obstacles: dict[str, str] = {}

    def convert(self, name: str, examined: Examined) -> pa.ChunkedArray:
        """Convert a column, or leave it as text if there is an obstacle."""
        if isinstance(examined, pa.ChunkedArray):
            return examined
        if examined.obstacle:
            if not examined.distinct.are_codes:
                is_word = " is not a " in examined.obstacle
                advice = f" ({self.options.write('missing', 'WORD')} for missing values)" if is_word else ""
                self.obstacles[name] = examined.obstacle + advice
            return examined.distinct.spread(examined.distinct.values)
        return (
            self._convert_number(name, examined)
            if isinstance(examined, NumberText)
            else self._convert_date(name, examined)
        )

    def _convert_number(self, name: str, number: NumberText) -> pa.ChunkedArray:
        example = number.example
        if number.unit:
            self.notes.append(f"{name}: the unit {number.unit!r} is left out")
        if number.marks == (",",) and not number.decides and not (self.decimal == "," or self._comma_is_usual):
            return number.distinct.spread(number.distinct.values)  # 1.234.567 in a table with decimal points
        if len(number.marks) < 2 or not example:
            return number.convert(self.decimal)
        decimal = self.decimal
        if not self._is_shown:
            decimal = "," if self._comma_is_usual and "," in example else decimal or "."
            self.decimal = self.decimal or decimal
        is_decimal, is_comma = decimal in example, "," in example
        if not self.options.decimal and (is_comma or not is_decimal or self._comma_is_usual):
            mark, other = "comma" if is_comma else "point", "," if decimal == "." else "."
            meaning = "a decimal mark" if is_decimal else "a separator of thousands"
            self.notes.append(
                f"{name}: the {mark} of {example!r} is taken as {meaning} ({self.options.write('decimal', other)} "
                "takes it otherwise)"
            )
        return number.convert(decimal)

    def _convert_date(self, name: str, date: DateText) -> pa.ChunkedArray:
        order = date.choose_order(self.order)
        if "%y" in date.formats[order]:
            first = date.convert(order).drop_null()[0].as_py()
            self.notes.append(f"{name}: {date.distinct.values[0].as_py()!r} is taken as {first:%Y-%m-%d}")
        elif len(date.orders) == 2 and not self.order and "." not in date.formats[order]:
            other = "mdy" if order == "dmy" else "dmy"
            self.notes.append(
                f"{name}: {date.distinct.values[0].as_py()!r} may begin with the day or the month; taken as "
                f"{ORDER_WORDS[order]} ({self.options.write('dates', other)} takes it otherwise)"
            )
        return date.convert(order)


def _examine(column: pa.ChunkedArray, options: ReadingOptions, *, is_words: bool) -> Examined:
    """Convert a column if its values leave no choice; else tell what they allow."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    if not is_words and not options.missing and (numbers := _cast_complete(column)) is not None:
        return numbers
    cleared = clear_missing(column, options.missing)
    if cleared.null_count == len(cleared):
        return pa.chunked_array([pa.nulls(len(cleared))])
    if is_words:
        return cleared
    numbers = cast_numbers(cleared)
    if numbers is not None and not (pa.types.is_floating(numbers.type) and is_dotted(cleared)):
        return numbers
    distinct = Distinct.of(cleared)
    truths = _read_truths(distinct)
    if truths is not None:
        return truths
    number = NumberText.examine(distinct)
    if (number is not None and not number.obstacle) or options.dates == "words":
        return cleared if number is None else number
    if (times := read_clock_times(distinct)) is not None:
        return times
    date = DateText.examine(distinct)
    return number or cleared if date is None or (date.obstacle and number) else date


def _cast_complete(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Convert a column of plain numbers without missing values, at once; None if it is none."""
    numbers = cast_numbers(column)
    if numbers is None or not pa.types.is_floating(numbers.type):
        return numbers
    return None if pc.any(pc.is_nan(numbers)).as_py() or is_dotted(column) else numbers


def _read_truths(distinct: Distinct) -> pa.ChunkedArray | None:
    """Read a column of true and false, in any case of letters; None if it has other values."""
    lower = pc.utf8_lower(distinct.values)
    if not pc.all(pc.is_in(lower, value_set=pa.array(["true", "false"], lower.type))).as_py():
        return None
    return distinct.spread(pc.equal(lower, pa.scalar("true", lower.type)))


def _list_decimals(table: pa.Table, found: dict[str, Examined]) -> list[str]:
    """List the decimal marks that columns show."""
    shown = [each.decides for each in found.values() if isinstance(each, NumberText)]
    plain = [
        "."
        for name, each in found.items()
        if isinstance(each, pa.ChunkedArray)
        and pa.types.is_floating(each.type)
        and pa.types.is_string(table[name].type)
    ]
    return [*plain, *shown]  # the point wins a tie


def _list_orders(found: dict[str, Examined]) -> list[str]:
    """List the orders of day and month that columns show."""
    return [each.decides for each in found.values() if isinstance(each, DateText)]


def _choose_most_common(votes: Iterable[str]) -> str:
    counts = Counter(vote for vote in votes if vote)
    return counts.most_common(1)[0][0] if counts else ""
