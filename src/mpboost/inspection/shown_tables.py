"""Tables as the results of functions show them: as text, and as HTML for notebooks."""

from collections.abc import Callable, Iterable, Sequence
from html import escape


def write_text_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    n_others: int = 0,
    *,
    align_first: Callable[[str, int], str] = str.rjust,
) -> list[str]:
    r"""Write the lines of a table: columns are aligned on the right, the first one as you like.

    Parameters
    ----------
    headings : sequence of str
        Headings of the columns.
    rows : iterable of sequences of str
        The cells.
    n_others : int, default=0
        Rows that are not shown; a last line tells how many.
    align_first : {str.rjust, str.ljust}, default=str.rjust
        Aligns the first column.

    Examples
    --------
    >>> print(*write_text_table(["name", "age"], [["Bo", "7"], ["Eve", "12"]], 3, align_first=str.ljust), sep="\n")
    name  age
    Bo      7
    Eve    12
    ... and 3 more
    """
    cells = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join([align_first(row[0], widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells]
    return [*lines, *_word_rest(n_others)]


def write_html_table(headings: Iterable[str], rows: Iterable[Iterable[str]], n_others: int = 0) -> str:
    """Write a table for notebooks.

    Examples
    --------
    >>> write_html_table(["<a>"], [["1"]])
    '<table><thead><tr><th>&lt;a&gt;</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    rest = "".join(f"<p>{words}</p>" for words in _word_rest(n_others))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _word_rest(n_others: int) -> list[str]:
    return [f"... and {n_others} more"] if n_others > 0 else []
