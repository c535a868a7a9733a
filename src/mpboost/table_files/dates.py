"""Read text as dates, dates with times, and times of day."""

import re
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from mpboost.table_files.distinct import Distinct

_CLOCK = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp]\.?[Mm]\.?)?"
_TIME = rf"([T ]+{_CLOCK}( ?Z| ?[+-]\d{{2}}:?\d{{2}})?)?"

#: How dates can be written: the order of day, month and year, a pattern, and formats of strptime.
LAYOUTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("ymd", r"\d{4}-\d{1,2}-\d{1,2}", ("%Y-%m-%d",)),
    ("ymd", r"\d{4}/\d{1,2}/\d{1,2}", ("%Y/%m/%d",)),
    ("ymd", r"\d{4}\.\d{1,2}\.\d{1,2}", ("%Y.%m.%d",)),
    ("?", r"\d{1,2}\.\d{1,2}\.\d{4}", ("%d.%m.%Y", "%m.%d.%Y")),
    ("?", r"\d{1,2}/\d{1,2}/\d{4}", ("%d/%m/%Y", "%m/%d/%Y")),
    ("?", r"\d{1,2}-\d{1,2}-\d{4}", ("%d-%m-%Y", "%m-%d-%Y")),
    ("?", r"\d{2}\.\d{2}\.\d{2}", ("%d.%m.%y", "%m.%d.%y")),  # 1.2.10 is rather a version
    ("?", r"\d{1,2}/\d{1,2}/\d{2}", ("%d/%m/%y", "%m/%d/%y")),
    ("?", r"\d{1,2}-\d{1,2}-\d{2}", ("%d-%m-%y", "%m-%d-%y")),
    ("named", r"\d{1,2} [A-Za-z]{3,9} \d{4}", ("%d %b %Y",)),
    ("named", r"\d{1,2}-[A-Za-z]{3}-\d{4}", ("%d-%b-%Y",)),
    ("named", r"\d{1,2}-[A-Za-z]{3}-\d{2}", ("%d-%b-%y",)),
    ("named", r"[A-Za-z]{3,9} \d{1,2}, \d{4}", ("%b %d, %Y",)),
)
_PATTERNS = {"%d": r"(?P<day>\d{1,2})", "%m": r"\d{1,2}", "%Y": r"\d{4}", "%y": r"\d{2}", "%b": "[A-Za-z]+", ".": r"\."}
_DAY_OF = {
    written: "^" + re.sub(r"%.|\.", lambda found: _PATTERNS[found[0]], written)
    for _, _, formats in LAYOUTS
    for written in formats
}
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")

#: What to call the orders.
ORDER_WORDS = {"dmy": "day first", "mdy": "month first"}


@dataclass(frozen=True)
class DateText:
    """A text column that looks like dates.

    Attributes
    ----------
    distinct : Distinct
        The column.
    orders : tuple of str
        How all of its values can be read: "ymd", "named", "dmy", "mdy" or the last two; none if there is an obstacle.
    formats : dict of str
        For each order the format of strptime.
    has_clock : bool
        Whether some values have a time.
    obstacle : str
        Why the column cannot be read as dates; empty if it can.
    """

    distinct: Distinct
    orders: tuple[str, ...]
    formats: dict[str, str]
    has_clock: bool
    obstacle: str = ""

    @classmethod
    def examine(cls, distinct: Distinct) -> Self | None:
        """Examine a column; None if fewer than half of its rows look like dates of one kind."""
        for order, pattern, formats in LAYOUTS:
            is_like = pc.match_substring_regex(distinct.values, f"^{pattern}{_TIME}$")
            if distinct.share_of(is_like) < 0.5:
                continue
            named = dict(zip(("dmy", "mdy") if order == "?" else (order,), formats, strict=True))
            if not pc.all(is_like).as_py():
                return cls(distinct, (), named, False, distinct.name_first(pc.invert(is_like), "is not a valid date"))
            has_clock = pc.any(pc.match_substring(distinct.values, ":")).as_py()
            parsed = {each: _parse(distinct.values, form) for each, form in named.items()}
            orders = tuple(each for each, moments in parsed.items() if not moments.null_count)
            if orders:
                return cls(distinct, orders, named, has_clock)
            best = min(parsed.values(), key=lambda moments: moments.null_count)
            return cls(distinct, (), named, has_clock, distinct.name_first(pc.is_null(best), "is not a valid date"))
        return None

    @property
    def decides(self) -> str:
        """The order of day and month that this column shows; empty if its values do not tell."""
        return self.orders[0] if len(self.orders) == 1 and self.orders[0] in ORDER_WORDS else ""

    def choose_order(self, usual: str) -> str:
        """Choose the order: what the values show, else what is usual; dates with dots begin with the day."""
        if len(self.orders) == 1:
            return self.orders[0]
        return usual if usual in self.orders else "dmy" if "." in self.formats["dmy"] else "mdy"

    def convert(self, order: str) -> pa.ChunkedArray:
        """Convert the column to dates, or to dates with times."""
        moments = _parse(self.distinct.values, self.formats[order])
        return self.distinct.spread(moments if self.has_clock else moments.cast(pa.date32()))


def read_clock_times(distinct: Distinct) -> pa.ChunkedArray | None:
    """Read a column of times of day, such as 14:30; None if it has other values."""
    if not len(distinct.values) or not pc.all(pc.match_substring_regex(distinct.values, f"^{_CLOCK}$")).as_py():
        return None
    whole = pc.replace_substring_regex(distinct.values, "^", "1970-01-01 ")
    moments = _parse(whole, "%Y-%m-%d")
    return None if moments.null_count else distinct.spread(moments.cast(pa.time64("us")))


def _parse(values: pa.Array, date_format: str) -> pa.Array:
    """Parse dates with or without times; null where that fails. Only ISO dates may have a time zone."""
    has_zone = pc.any(pc.match_substring_regex(values, r":.*(Z|[+-]\d{2}:?\d{2})$")).as_py()
    kind = pa.timestamp("us", "UTC") if has_zone else pa.timestamp("us")
    if date_format == "%Y-%m-%d":
        try:
            plain = pc.replace_substring_regex(values, r"(\.\d{6})\d+", r"\1")
            if has_zone and _have_one_offset(values):  # the time that the clock showed
                plain, kind = pc.replace_substring_regex(plain, r" ?[+-]\d{2}:?\d{2}$", ""), pa.timestamp("us")
            return pc.cast(plain, kind)
        except pa.ArrowInvalid:  # such as a day of one digit
            pass
    parsed = pa.nulls(len(values), kind)
    if has_zone:
        return parsed
    plain = pc.replace_substring_regex(values, r"[T ]+(\d{1,2}:)", r" \1")
    plain = pc.replace_substring_regex(plain, r" ?([AaPp])\.?[Mm]\.?$", r" \1M")
    for clock in CLOCKS:
        moments = pc.strptime(plain, format=date_format + clock, unit="us", error_is_null=True)
        parsed = pc.coalesce(parsed, moments.cast(kind))
    # Some systems take 30 February for 1 March.
    days = pc.extract_regex(plain, _DAY_OF[date_format]).field("day").cast(pa.int64())
    return pc.if_else(pc.equal(pc.day(parsed), days), parsed, pa.scalar(None, kind))


def _have_one_offset(values: pa.Array) -> bool:
    """Check whether all moments have the same offset from UTC, other than none."""
    offsets = pc.unique(pc.extract_regex(values, r"(?P<offset>[+-]\d{2}:?\d{2}|Z)$").field("offset"))
    return len(offsets) == 1 and offsets[0].as_py() not in ("Z", "")
