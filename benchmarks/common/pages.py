"""Tables of pages that are made of results: each stands between two comments, the first of which names it."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.common.output import print_line

#: The lines that a table stands between: the command that makes it, its name.
BLOCK = re.compile(r"(<!-- made by ([\w. ]+): ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, command: str, tables: Mapping[str, Callable[[], str]]) -> str:
    r"""Replace the tables of a page that a command makes.

    Examples
    --------
    >>> fill("<!-- made by a.b: best -->\nold\n<!-- end -->", "a.b", {"best": lambda: "new"})
    '<!-- made by a.b: best -->\n\nnew\n\n<!-- end -->'
    """

    def make(found: re.Match[str]) -> str:
        return found[0] if found[2] != command else f"{found[1]}\n{tables[found[3]]()}\n\n{found[4]}"

    return BLOCK.sub(make, text)


def write_page(page: Path, command: str, tables: Mapping[str, Callable[[], str]]) -> None:
    """Write the tables of a page anew."""
    page.write_text(fill(page.read_text(encoding="utf-8"), command, tables), encoding="utf-8")
    print_line(f"page: {page}")


def list_tables(text: str, command: str) -> list[str]:
    """List the names of the tables of a page that a command makes."""
    return [found[3] for found in BLOCK.finditer(text) if found[2] == command]


def space(number: str | int) -> str:
    """Write a whole number with spaces between thousands.

    Examples
    --------
    >>> space("1234567")
    '1 234 567'
    """
    return f"{int(number):,}".replace(",", " ")
