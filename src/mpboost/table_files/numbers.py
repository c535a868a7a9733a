"""Read text as numbers: decimal commas, separators of thousands, currencies, percentages."""

import re
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from mpboost.table_files.distinct import Distinct

CURRENCIES = r"[$€£¥₹]|USD|EUR|GBP|CHF"
_SPACES = r"\s\x{00a0}\x{202f}'\x{2019}"  # in Switzerland, apostrophes
_MINUS = r"\-\x{2212}"
_EXPONENT = r"([eE][-+]?\d+)?"

#: What may be a number, whatever its marks mean.
NUMBER_LIKE = (
    rf"^(\(|[+{_MINUS}]\s*)?({CURRENCIES})?\s*(\d[\d.,{_SPACES}]*|[.,]\d+){_EXPONENT}\s*({CURRENCIES}|%)?\)?$"
    rf"|^({CURRENCIES})\s*[{_MINUS}](\d[\d.,{_SPACES}]*|[.,]\d+)$"
)

#: Numbers with a decimal mark and, perhaps, the other mark or spaces between thousands; in India, 12,34,567.
BY_MARK = {
    ".": rf"^-?(\d+|[1-9]\d{{0,2}}([,{_SPACES}]\d{{3}})+|[1-9]\d?(,\d\d)+,\d{{3}})?(\.\d*)?{_EXPONENT}$",
    ",": rf"^-?(\d+|[1-9]\d{{0,2}}([.{_SPACES}]\d{{3}})+)?(,\d*)?{_EXPONENT}$",
}

#: A value that shows its decimal mark: it has one mark, or both. Several dots alone may be an address.
SHOWS_MARK = r"^[^.,]*[.,][^.,]*$|\.[^.]*,|,[^,]*\."

#: Whole numbers from about this size on are rounded in float64.
LONG_NUMBER, MAX_EXACT = r"^[-+]?\d{16,}$", 2.0**53

#: A number and its unit.
WITH_UNIT = rf"^[{_MINUS}]?\d[\d.,]*\s*(?P<unit>[A-Za-z\x{{b5}}\x{{b0}}][A-Za-z/\x{{b2}}\x{{b3}}]*)"

#: Addresses of computers.
ADDRESS = r"^\d{1,3}(\.\d{1,3}){3}$"

#: Rows that are looked at first.
N_HEAD = 1000

#: Dots that can only stand between thousands.
DOTTED_THOUSANDS = r"^-?[1-9]\d{0,2}(\.\d{3})+$"


def cast_numbers(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    """Convert plain numbers, with a decimal point or without; None if some value is no such number.

    Hexadecimal numbers, and whole numbers that float64 would round, are no such numbers: they are rather names.
    """
    for dtype in (pa.int64(), pa.float64()):
        try:
            numbers = pc.cast(values, dtype)
        except pa.ArrowInvalid:
            continue
        if dtype == pa.int64():
            return None if _have(values, "x") or _have(values, "X") else numbers
        is_rounded = (pc.max(pc.abs(numbers)).as_py() or 0.0) >= MAX_EXACT
        return None if is_rounded and pc.any(pc.match_substring_regex(values, LONG_NUMBER)).as_py() else numbers
    return None


def _have(values: pa.ChunkedArray | pa.Array, text: str) -> bool:
    return bool(pc.any(pc.match_substring(values, text)).as_py())


@dataclass(frozen=True)
class NumberText:
    """A text column that looks like numbers.

    Attributes
    ----------
    distinct : Distinct
        The column.
    digits : StringArray
        Its distinct values without currencies, percent signs and plus signs; null where a value is not a number.
    marks : tuple of str
        The decimal marks with which all values can be read: none, "." or "," or both.
    obstacle : str
        Why the column cannot be read as numbers; empty if it can.
    unit : str
        The unit that all values have, such as "kg"; empty if there is none.
    """

    distinct: Distinct
    digits: pa.Array
    marks: tuple[str, ...]
    obstacle: str = ""
    unit: str = ""

    @classmethod
    def examine(cls, distinct: Distinct) -> Self | None:
        """Examine a column; None if fewer than half of its rows look like numbers."""
        unit = _find_unit(distinct.values)
        values = pc.replace_substring_regex(distinct.values, rf"\s*{re.escape(unit)}$", "") if unit else distinct.values
        is_like = pc.match_substring_regex(values, NUMBER_LIKE)
        digits = pc.replace_substring_regex(values, r"^\((.*)\)$", r"-\1")  # accountants' negative numbers
        digits = pc.replace_substring_regex(digits, rf"{CURRENCIES}|%|\+", "")
        digits = pc.replace_substring_regex(pc.utf8_trim_whitespace(digits), rf"^[{_MINUS}]\s*", "-")
        digits = pc.if_else(is_like, digits, pa.scalar(None, values.type))
        fits = {mark: pc.fill_null(pc.match_substring_regex(digits, form), False) for mark, form in BY_MARK.items()}
        best = max(fits.values(), key=distinct.share_of)
        if distinct.share_of(best) < 0.5 or pc.all(pc.match_substring_regex(values, ADDRESS)).as_py():
            return None
        if not pc.all(is_like).as_py():
            return cls(distinct, digits, (), distinct.name_first(pc.invert(is_like), "is not a number"))
        has_percent = pc.match_substring(values, "%")
        if pc.any(has_percent).as_py() and not pc.all(has_percent).as_py():
            return cls(distinct, digits, (), distinct.name_first(pc.invert(has_percent), "has no %, while others have"))
        priced = values.filter(pc.match_substring_regex(values, CURRENCIES))
        if len(pc.unique(pc.extract_regex(priced, f"(?P<unit>{CURRENCIES})").field("unit"))) > 1:
            return cls(distinct, digits, (), "it has several currencies")
        marks = tuple(mark for mark, is_fit in fits.items() if pc.all(is_fit).as_py())
        if marks:
            return cls(distinct, digits, marks, unit=unit)
        return cls(distinct, digits, (), distinct.name_first(pc.invert(best), "is written unlike the other numbers"))

    @property
    def decides(self) -> str:
        """The decimal mark that this column shows; empty if its values do not tell."""
        shows = pc.any(pc.match_substring_regex(self.digits, SHOWS_MARK)).as_py()
        return self.marks[0] if len(self.marks) == 1 and shows else ""

    @property
    def example(self) -> str:
        """The first value with a mark; empty if there is none."""
        marked = self.digits.filter(pc.match_substring_regex(self.digits, "[.,]"))
        return str(marked[0].as_py()) if len(marked) else ""

    def convert(self, decimal: str) -> pa.ChunkedArray:
        """Convert the column; ``decimal`` is the mark to use where both would do."""
        mark = decimal if decimal in self.marks else self.marks[0]
        digits = pc.replace_substring_regex(self.digits, rf"[{'.' if mark == ',' else ','}{_SPACES}]", "")
        numbers = cast_numbers(pc.replace_substring(digits, ",", "."))
        if numbers is None:  # such as more digits than a number can hold
            return self.distinct.spread(self.distinct.values)
        if pc.all(pc.match_substring(self.distinct.values, "%")).as_py():
            numbers = pc.divide(pc.cast(numbers, pa.float64()), 100.0)
        return self.distinct.spread(numbers)


def _find_unit(values: pa.Array) -> str:
    """Find the unit that all values have behind their number; empty if there is none, or several."""
    if not pc.all(pc.match_substring_regex(values, f"{WITH_UNIT}$")).as_py():
        return ""
    units = pc.unique(pc.extract_regex(values, f"{WITH_UNIT}$").field("unit"))
    return str(units[0].as_py()) if len(units) == 1 else ""


def is_dotted(values: pa.ChunkedArray) -> bool:
    """Check whether all dots of a column of numbers can stand between thousands, and there are some."""
    for part in (values.slice(0, N_HEAD), values):  # the first rows show for most columns that this is not so
        dotted = part.filter(pc.match_substring(part, "."))
        if not pc.all(pc.match_substring_regex(dotted, DOTTED_THOUSANDS), min_count=0).as_py():
            return False
    return len(dotted) > 0
