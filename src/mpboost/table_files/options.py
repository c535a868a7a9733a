"""What users can say about a file with a table, in place of what is found out."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Self

#: Orders of day, month and year in dates such as 3/9/2017; "words" leaves dates as text.
DATE_ORDERS = ("dmy", "mdy", "words")


def write_argument(name: str, value: str | bool) -> str:
    """Write an option as a Python argument, for messages.

    Examples
    --------
    >>> write_argument("dates", "dmy")
    "dates='dmy'"
    """
    return f"{name}={value!r}"


@dataclass(frozen=True)
class ReadingOptions:
    """How to read a table; None is found out.

    Attributes
    ----------
    sep : str or None
        The separator of cells: one character, or "tab".
    decimal : {".", ","} or None
        The decimal mark.
    encoding : str or None
        The encoding of text, by a name that Python knows.
    dates : {"dmy", "mdy", "words"} or None
        What comes first in dates such as 3/9/2017, the day or the month; "words" leaves dates as text.
    header : bool or None
        Whether the first row has the names of the columns.
    missing : tuple of str
        More words that mean a missing value.
    sheet : str or None
        The sheet of a workbook.
    write : callable
        Writes an option and its value for messages.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    dates: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    write: Callable[[str, str | bool], str] = write_argument

    def __post_init__(self) -> None:
        if self.sep is not None:
            separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(self.sep, self.sep)
            if len(separator) != 1 or not separator.isascii():
                raise ValueError(f"sep must be one character, or 'tab', not {self.sep!r}.")
            object.__setattr__(self, "sep", separator)
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', not {self.decimal!r}.")
        if self.decimal is not None and self.decimal == self.sep:
            raise ValueError(f"sep and decimal cannot both be {self.sep!r}.")
        if self.dates not in (None, *DATE_ORDERS):
            raise ValueError(f"dates must be 'dmy' (day first), 'mdy' (month first) or 'words', not {self.dates!r}.")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except LookupError as error:
                raise ValueError(
                    f"encoding {self.encoding!r} is unknown: use a name such as utf-8, cp1252 or utf-16."
                ) from error


@dataclass(frozen=True)
class Habits:
    """How a training table was read where there was a choice; a model remembers it for tables to predict.

    Attributes
    ----------
    decimal : str
        The decimal mark; "" if there was none.
    dates : str
        "dmy" or "mdy"; "" if there were no such dates.
    missing : tuple of str
        Words that the user said mean a missing value.

    Examples
    --------
    >>> Habits.parse(str(Habits(decimal=",", dates="dmy", missing=("-999",))))
    Habits(decimal=',', dates='dmy', missing=('-999',))
    """

    decimal: str = ""
    dates: str = ""
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``str`` writes; ignore anything else."""
        try:
            facts = json.loads(text)
        except ValueError:
            return cls()
        if not isinstance(facts, dict):
            return cls()
        decimal, dates, missing = facts.get("decimal"), facts.get("dates"), facts.get("missing")
        return cls(
            decimal if decimal in (".", ",") else "",
            dates if dates in ("dmy", "mdy") else "",
            tuple(map(str, missing)) if isinstance(missing, list) else (),
        )
