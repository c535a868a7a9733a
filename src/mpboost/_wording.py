"""Words for messages: counts, names, shares and times; characters that a terminal would obey are made visible."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

#: Characters that are no text: controls but the line end, marks that turn the direction of text, and halves of pairs.
_NOT_TEXT = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def make_visible(text: str, write: Callable[[int], str] = lambda code: ascii(chr(code))[1:-1]) -> str:
    r"""Write characters that a terminal would obey, such as escape sequences, as Python does or as ``write`` does.

    Examples
    --------
    >>> print(make_visible("red: \x1b[31m"))
    red: \x1b[31m
    """
    return _NOT_TEXT.sub(lambda found: write(ord(found[0])), text)


def count(n: int, noun: str) -> str:
    """Format a count and its noun, in the plural where needed.

    Examples
    --------
    >>> count(1, "row"), count(12000, "row"), count(2, "class")
    ('1 row', '12 000 rows', '2 classes')
    """
    plural = "" if n == 1 else "es" if noun.endswith("s") else "s"
    return f"{n:,}".replace(",", " ") + f" {noun}{plural}"


def format_number(value: float) -> str:
    """Format a number with four significant digits, or all before the point; thousands are apart.

    Examples
    --------
    >>> [format_number(value) for value in (85000.0, -0.012345, 9e6, 12.3456, 1e20)]
    ['85 000', '-0.01235', '9 000 000', '12.35', '1e+20']
    """
    return f"{value:,.0f}".replace(",", " ") if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def list_names(names: Iterable[object], most: int = 8) -> str:
    """Join names by commas; if there are many, only the first ones.

    Examples
    --------
    >>> list_names("abcdef", most=3)
    'a, b, c and 3 more'
    """
    words = [str(name).replace("\n", "\\n") for name in names]
    if len(words) <= most + 1:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most} more"


def suggest_name(name: str, known: Iterable[str]) -> str:
    """End an error message: suggest the most similar known name, or list the known names.

    Examples
    --------
    >>> suggest_name("incme", ["age", "income"])
    "; did you mean 'income'?"
    >>> suggest_name("outcome", ["age", "income"])
    '. Available: age, income.'
    """
    known = list(known)
    lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), lower, n=1, cutoff=0.75)
    if close:
        return f"; did you mean {lower[close[0]]!r}?"
    return f". Available: {list_names(known)}." if known else "."


def format_share(share: float) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> format_share(0.071), format_share(0.0004)
    ('7.1 %', '< 0.1 %')
    """
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"


def format_seconds(seconds: float) -> str:
    """Format a duration.

    Examples
    --------
    >>> format_seconds(0.123), format_seconds(75.2)
    ('0.12 s', '75 s')
    """
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
