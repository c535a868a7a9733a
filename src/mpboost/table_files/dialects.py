"""Find out how a text file is written: its encoding, its separator, and where its names are."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mpboost.table_files.options import ReadingOptions

#: Separators that are tried; of several that fit equally well, the first: commas stand in names and cells, too.
SEPARATORS = {"\t": "tabs", "|": "vertical bars", ";": "semicolons", ",": "commas"}

#: Byte order marks, the longest first, and the encodings that they stand for.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

#: What to call encodings.
ENCODINGS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8 with a byte order mark", "cp1252": "Windows-1252 (Latin-1)"}

#: Records that are looked at, and lines that may stand above the names.
N_RECORDS, N_PREAMBLE = 200, 20

NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    encoding, separator : str
        The encoding, by Python's name; the separator of cells.
    names : list of str
        The names of the columns, all different.
    n_lines_before : int
        Lines to skip: those above the names, and that of the names.
    has_header : bool
        Whether the names were found in the file.
    notes : tuple of str
        What a user may not expect.
    """

    encoding: str
    separator: str
    names: list[str]
    n_lines_before: int
    has_header: bool
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        separator = SEPARATORS.get(self.separator, f"separator {self.separator!r}")
        words = ["text", separator if len(self.names) > 1 else "one column"]
        words += [ENCODINGS.get(self.encoding, self.encoding.upper())]
        return ", ".join([*words, "names in the first row" if self.has_header else "no names"])


def find_dialect(sample: bytes, options: ReadingOptions, *, is_whole: bool, default: str = "utf-8") -> Dialect:
    r"""Find out how a text file is written, from its beginning.

    Parameters
    ----------
    sample : bytes
        The beginning of the file.
    options : ReadingOptions
        What the user said about it.
    is_whole : bool
        Whether the sample is the whole file.
    default : str
        The encoding if nothing shows another one.

    Examples
    --------
    >>> dialect = find_dialect(b"a;b\n1,5;2\n", ReadingOptions(), is_whole=True)
    >>> dialect.separator, dialect.names
    (';', ['a', 'b'])
    """
    encoding = options.encoding or find_encoding(sample, default)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample, final=is_whole)
    _refuse_other_text(text)
    skipped = 0
    if declared := re.match(r'"?sep=(.)"?(\r\n|\r|\n)', text):  # a line that Excel writes and obeys
        text, skipped = text[declared.end() :], 1
    separator = options.sep or (declared[1] if declared else find_separator(text, is_whole=is_whole))
    records, starts = _split(text, separator, is_whole=is_whole)
    if not records:
        raise ValueError("it is empty")
    first = _find_first(records)
    above = [f"{first} line{'s' * (first > 1)} above the names of the columns skipped"] if first else []
    names, has_header, notes = _find_names(records[first], records[first + 1 :], options)
    return Dialect(encoding, separator, names, skipped + starts[first + has_header], has_header, (*above, *notes))


def _find_names(head: list[str], body: list[list[str]], options: ReadingOptions) -> tuple[list[str], bool, list[str]]:
    """Find the names of the columns: in the first row, or made up; also tell which, and what is unusual."""
    notes = []
    if len(head) == 1 and body and all(len(" ".join(row).split()) == len(head[0].split()) > 1 for row in body):
        notes.append(f"one column only; {options.write('sep', 'space')} cuts its cells at spaces")
    n_usual = Counter(map(len, body)).most_common(1)[0][0] if body else 0
    if not (is_header(head, body) if options.header is None else options.header):
        names = [f"column{j + 1}" for j in range(max(len(head), n_usual))]
        advice = f" ({options.write('header', True)} takes the first row as names)" if options.header is None else ""
        notes.append(f"no names found in the first row: the columns are called {names[0]} to {names[-1]}{advice}")
        return names, False, notes
    if len(body) > 1 and all(len(row) == len(head) + 1 and row[-1] for row in body):
        head = ["", *head]
        notes.append("one name is missing: the first column is taken for names of rows, as R writes them")
    elif not any(cell for row in body for cell in row[len(head) :]):  # others are refused when they are read
        head = [*head, *[""] * (n_usual - len(head))]
    names, renamed = name_columns(head)
    return names, True, notes + renamed


def find_encoding(sample: bytes, default: str) -> str:
    """Find out the encoding by a byte order mark, or by the zeros of UTF-16."""
    for mark, encoding in MARKS:
        if sample.startswith(mark):
            return encoding
    even, odd = sample[:4096:2].count(0), sample[1:4096:2].count(0)
    if max(even, odd) > min(len(sample), 4096) / 8:  # every other byte of plain text is zero
        return "utf-16-le" if odd > even else "utf-16-be"
    return default


def find_separator(text: str, *, is_whole: bool) -> str:
    r"""Find out the separator: the one that cuts most rows into as many cells as the first of them has.

    Examples
    --------
    >>> find_separator("name, place;size\nBerg, hoch;1,5\nTal, tief;2\n", is_whole=True)
    ';'
    """

    def judge(separator: str) -> float:
        records, _ = _split(text, separator, is_whole=is_whole)
        n_cells = len(records[_find_first(records)]) if records else 0
        if n_cells < 2:
            return 0.0
        breaks_quotes = any(re.search(r'"[,;|\t]|[,;|\t]"', cell) for record in records for cell in record)
        return round(sum(len(record) == n_cells for record in records) / len(records), 1) - 0.5 * breaks_quotes

    shares = {separator: judge(separator) for separator in SEPARATORS}
    return max(shares, key=shares.__getitem__) if any(shares.values()) else ","


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Check whether the first row has names: not if it has numbers where the rows below have numbers.

    Whole numbers that count up, such as years or the numbers of pixels, are names.

    Examples
    --------
    >>> is_header(["age", "city"], [["31", "Rome"]]), is_header(["31", "Rome"], [["45", "Oslo"]])
    (True, False)
    >>> is_header(["city", "2019", "2020"], [["Rome", "1", "2"]])
    True
    """
    cells = [cell.strip() for cell in first]
    if not body or not all(cells[1:]):  # the name of the first column is often empty
        return True
    numeric = [j for j in range(len(cells)) if all(_is_number(row[j]) for row in body if j < len(row) and row[j])]
    numbers = [cells[j] for j in numeric if cells[j]]
    if not numbers or not all(map(_is_number, numbers)):
        return True
    if len(numbers) > 1 and all(number.isdigit() for number in numbers):
        counted = [int(number) for number in numbers]
        return all(after == before + 1 for before, after in pairwise(counted))
    return False


def name_columns(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Make different names for columns, as pandas does; also return notes about those that were changed.

    Examples
    --------
    >>> name_columns(["", "size", "size"])[0]
    ['Unnamed: 0', 'size', 'size.1']
    """
    wanted = [cell.strip() or f"Unnamed: {j}" for j, cell in enumerate(cells)]
    names: list[str] = []
    renamed: dict[str, list[str]] = {}
    for name in wanted:
        unique, k = name, 0
        while unique in names or (k and unique in wanted):
            k += 1
            unique = f"{name}.{k}"
        if k:
            renamed.setdefault(name, []).append(unique)
        names.append(unique)
    notes = [
        f"{len(others) + 1} columns are called {name!r}: the others become {', '.join(map(repr, others))}"
        for name, others in renamed.items()
    ]
    return names, notes


def _split(text: str, separator: str, *, is_whole: bool) -> tuple[list[list[str]], list[int]]:
    """Split the beginning of a text into records, without comments above them.

    Also return the number of lines above each record, and above the one behind the last.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    records: list[list[str]] = []
    starts = [0]
    limit = csv.field_size_limit(len(text) + 1)
    try:
        for record in reader:
            if record and (records or not record[0].startswith("#")):
                records.append(record)
                starts.append(reader.line_num)
            elif not records:
                starts = [reader.line_num]
            if len(records) > N_RECORDS:
                break
    except csv.Error:
        return [], []
    finally:
        csv.field_size_limit(limit)
    if not is_whole and 1 < len(records) <= N_RECORDS:  # the last record may be cut off
        return records[:-1], starts[:-1]
    return records, starts


def _find_first(records: Sequence[Sequence[str]]) -> int:
    """Find the row with the names: the first one with more than one cell, if those above look like a title."""
    if not records:
        return 0
    usual = Counter(map(len, records)).most_common(1)[0][0]
    for place, record in enumerate(records[:N_PREAMBLE]):
        if len(record) == usual and sum(bool(cell.strip()) for cell in record) > usual / 2:
            return place if all(sum(map(bool, each)) <= 1 for each in records[:place]) else 0
    return 0


def _is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell.strip().strip("%$€£")) is not None


def _refuse_other_text(text: str) -> None:
    start = text[:2000].lstrip("\ufeff \t\r\n")
    if re.match(r'\{\s*"|\[\s*[\[{"\d]', start):
        raise ValueError("it is JSON, not a table: save it as CSV or Parquet first")
    if start[:1] == "<" and re.match(r"<(!doctype|html|\?xml|table|svg)", start, re.IGNORECASE):
        raise ValueError("it is HTML or XML, not a table: open it in a spreadsheet program and save it as CSV")
    if "\x00" in start:
        raise ValueError("it is neither text nor a known kind of file")
