"""Small files as they really are: each is read right, or refused with words that help.

``python -m tests.support.awkward_files`` writes their table into docs/command-line.md.
"""

import bz2
import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
BEGIN, END = "<!-- awkward files -->\n", "<!-- end of awkward files -->\n"


@dataclass(frozen=True)
class AwkwardFile:
    """A file that is not what textbooks show.

    Attributes
    ----------
    name : str
        Its name.
    what : str
        What is awkward about it, for the documentation.
    content : bytes
        Its bytes, or a function that makes them.
    columns : dict of lists
        How it must be read; empty if it must be refused.
    says : str
        A part of the note about it, or of the error.
    options : dict
        Options that help.
    """

    name: str
    what: str
    content: bytes | Callable[[], bytes]
    columns: dict[str, list[Any]] = field(default_factory=dict)
    says: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write the file into a folder."""
        path = folder / self.name
        path.write_bytes(self.content if isinstance(self.content, bytes) else self.content())
        return path


def make_workbook() -> bytes:
    """Make a workbook with a title, two sheets, dates and empty cells."""
    pytest.importorskip("python_calamine", reason="reads workbooks")
    Workbook = pytest.importorskip("openpyxl", reason="writes workbooks").Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = "Sales"
    for row in (
        ["Sales of the year"],
        [],
        ["shop", "sold", "day", "open"],
        ["north", 3, datetime(2024, 2, 29), True],
        ["south", None, datetime(2024, 3, 1), False],
    ):
        sheet.append(row)
    book.create_sheet("Notes").append(["see also"])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def make_open_document() -> bytes:
    """Make a workbook of LibreOffice; one column has numbers as text, with a decimal comma."""
    pytest.importorskip("python_calamine", reason="reads workbooks")
    pytest.importorskip("odf", reason="writes workbooks")
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    book = OpenDocumentSpreadsheet()
    sheet = Table(name="Tabelle1")
    for cells in (["Ort", "Preis", "Menge"], ["Bonn", "1,50", 2], ["Kiel", "2,75", 5]):
        row = TableRow()
        for cell in cells:
            is_text = isinstance(cell, str)
            kind = {"valuetype": "string"} if is_text else {"valuetype": "float", "value": str(cell)}
            made = TableCell(**kind)
            made.addElement(P(text=str(cell)))
            row.addElement(made)
        sheet.addElement(row)
    book.spreadsheet.addElement(sheet)
    stream = io.BytesIO()
    book.write(stream)
    return stream.getvalue()


def make_long_file() -> bytes:
    """Make a file that is longer than what is looked at first: text appears late, and cells have line breaks."""
    rows = [f'{i},"first line\nsecond line {i % 7}",{i / 4}' for i in range(60_000)]
    return ("id,text,size\n" + "\n".join(rows) + "\n60000,plain,unknown\n").encode()


def compress_zstandard(text: bytes) -> bytes:
    """Compress bytes as the program zstd does."""
    return bytes(pa.Codec("zstd").compress(text, asbytes=True))


def make_archive(*files: tuple[str, bytes]) -> bytes:
    """Make a zip file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files:
            archive.writestr(name, content)
    return stream.getvalue()


PLAIN = {"a": [1, 2], "b": ["x", "y"]}
GERMAN = "Ort;Preis;Datum\nMünchen, Süd;1.200,50;31.12.2024\nKöln;-;1.2.2025\n"
GERMAN_COLUMNS = {
    "Ort": ["München, Süd", "Köln"],
    "Preis": [1200.5, None],
    "Datum": [date(2024, 12, 31), date(2025, 2, 1)],
}

FILES = [
    # Separators.
    AwkwardFile("plain.csv", "commas", b"a,b\n1,x\n2,y\n", PLAIN),
    AwkwardFile(
        "german.csv", "semicolons, commas in cells, decimal commas, day.month.year", GERMAN.encode(), GERMAN_COLUMNS
    ),
    AwkwardFile("tabs.csv", "tabs in a .csv", b"a\tb\n1\tx\n2\ty\n", PLAIN),
    AwkwardFile("bars.csv", "vertical bars in a .csv", b"a|b\n1|x\n2|y\n", PLAIN),
    AwkwardFile("sep_line.csv", "a first line `sep=;` for Excel", b"sep=;\na;b\n1;x\n2;y\n", PLAIN),
    AwkwardFile("colons.txt", "another separator, with `--sep :`", b"a:b\n1:x\n2:y\n", PLAIN, options={"sep": ":"}),
    AwkwardFile(
        "blanks.txt",
        "spaces between cells",
        b"a b\n1 x\n2 y\n",
        {"a b": ["1 x", "2 y"]},
        says="one column only; sep='space' cuts its cells at spaces",
    ),
    AwkwardFile("told_blanks.txt", "the same, with `--sep space`", b"a b\n1 x\n2 y\n", PLAIN, options={"sep": "space"}),
    AwkwardFile("one_column.csv", "a single column", b"a\n1\n2\n", {"a": [1, 2]}),
    AwkwardFile("no_suffix", "no suffix", b"a,b\n1,x\n2,y\n", PLAIN),
    # Numbers.
    AwkwardFile(
        "thousands.csv",
        "1,000 and $1,000.50",
        b'a,b\n"1,000",$5\n"1,234,567","$1,000.50"\n',
        {"a": [1000, 1234567], "b": [5.0, 1000.5]},
    ),
    AwkwardFile(
        "dotted_thousands.csv",
        "1.234 beside 1,5",
        b"a;b\n1.234;1,5\n2.345;2,5\n",
        {"a": [1234, 2345], "b": [1.5, 2.5]},
        says="a: the point of '1.234' is taken as a separator of thousands",
    ),
    AwkwardFile(
        "points.csv",
        "1.234 between semicolons, with nothing beside it",
        b"a;b\n1.234;x\n2.345;y\n",
        {"a": [1.234, 2.345], "b": ["x", "y"]},
        says="a: the point of '1.234' is taken as a decimal mark",
    ),
    AwkwardFile(
        "unclear_comma.csv",
        "only commas such as that of 1,234",
        b'a,b\n"1,234",x\n"2,345",y\n',
        {"a": [1234, 2345], "b": ["x", "y"]},
        says="taken as a separator of thousands",
    ),
    AwkwardFile(
        "told_comma.csv",
        "the same, with `--decimal ,`",
        b'a,b\n"1,234",x\n"2,345",y\n',
        {"a": [1.234, 2.345], "b": ["x", "y"]},
        options={"decimal": ","},
    ),
    AwkwardFile(
        "french.csv",
        "spaces between thousands, decimal commas",
        "a;b\n1\u202f234,50;x\n2 345,00;y\n".encode(),
        {"a": [1234.5, 2345.0], "b": ["x", "y"]},
    ),
    AwkwardFile("swiss.csv", "1'234.50", b"a;b\n1'234.50;x\n2'345;y\n", {"a": [1234.5, 2345.0], "b": ["x", "y"]}),
    AwkwardFile(
        "percent.csv", "percentages: 5% is 0.05", b"a,b\n5%,x\n12.5 %,y\n", {"a": [0.05, 0.125], "b": ["x", "y"]}
    ),
    AwkwardFile(
        "euros.csv",
        "amounts in euros",
        "a;b\n1.500,00 €;x\n€ 20,00;y\n".encode(),
        {"a": [1500.0, 20.0], "b": ["x", "y"]},
    ),
    AwkwardFile(
        "negative.csv",
        "minus signs and brackets",
        "a,b\n(5),\N{MINUS SIGN}3\n7,+4\n".encode(),
        {"a": [-5, 7], "b": [-3, 4]},
    ),
    AwkwardFile(
        "kilograms.csv",
        "numbers with a unit",
        b"a,b\n5 kg,x\n7.5kg,y\n",
        {"a": [5.0, 7.5], "b": ["x", "y"]},
        says="a: the unit 'kg' is left out",
    ),
    AwkwardFile("seats.csv", "seats such as 12A", b"a,b\n12A,1\n14C,2\n", {"a": ["12A", "14C"], "b": [1, 2]}),
    AwkwardFile(
        "mixed_units.csv",
        "some numbers with %, some without",
        b"a,b\n5%,1\n12,2\n7%,1\n",
        {"a": ["5%", "12", "7%"], "b": [1, 2, 1]},
        says="'12' in row 1 (counted from 0) has no %",
    ),
    AwkwardFile(
        "word_among_numbers.csv",
        "a word among numbers",
        b"a,b\n5,1\n6,2\nn.d.,3\n7,1\n",
        {"a": ["5", "6", "n.d.", "7"], "b": [1, 2, 3, 1]},
        says="'n.d.' in row 2 (counted from 0) is not a number",
    ),
    AwkwardFile(
        "told_missing.csv",
        "the same, with `--missing n.d.`",
        b"a,b\n5,1\n6,2\nn.d.,3\n7,1\n",
        {"a": [5, 6, None, 7], "b": [1, 2, 3, 1]},
        options={"missing": "n.d."},
    ),
    AwkwardFile(
        "late_word.csv.gz",
        "60 000 rows with line breaks in cells; a word among numbers in the last",
        lambda: gzip.compress(make_long_file(), 1),
        says="'unknown' in row 60000 (counted from 0) is not a number",
    ),
    # Missing values, names, rows.
    AwkwardFile(
        "missing.csv",
        "`NA`, `-`, `?`, `n/a`, `NULL`, `#N/A` and empty cells",
        b"a,b\nNA,x\n-,?\n3,n/a\n4,NULL\n#N/A,\n",
        {"a": [None, None, 3, 4, None], "b": ["x", None, None, None, None]},
    ),
    AwkwardFile("spaces.csv", "spaces after separators", b"a, b\n1, x\n2, y\n", PLAIN),
    AwkwardFile(
        "duplicates.csv",
        "two columns of one name, one without a name",
        b"a,a,\n1,x,5\n2,y,6\n",
        {"a": [1, 2], "a.1": ["x", "y"], "Unnamed: 2": [5, 6]},
        says="2 columns are called 'a'",
    ),
    AwkwardFile(
        "no_names.csv",
        "no names",
        b"1.5,x\n2.5,y\n",
        {"column1": [1.5, 2.5], "column2": ["x", "y"]},
        says="the columns are called column1 to column2",
    ),
    AwkwardFile(
        "numbered.csv", "names that are numbers", b"0,1,2\n5,6,7\n8,9,1\n", {"0": [5, 8], "1": [6, 9], "2": [7, 1]}
    ),
    AwkwardFile(
        "title.csv", "a title above the names", b"Sales of 2024\n\na,b\n1,x\n2,y\n", PLAIN, says="above the names"
    ),
    AwkwardFile(
        "trailing.csv", "a separator at the end of each row", b"a,b\n1,x,\n2,y,\n", PLAIN | {"Unnamed: 2": [None, None]}
    ),
    AwkwardFile(
        "quotes.csv",
        "quotes, line breaks and separators in cells",
        b'a,b\n1,"say ""hi"", then\ngo"\n2,y\n',
        {"a": [1, 2], "b": ['say "hi", then\ngo', "y"]},
    ),
    AwkwardFile("blank_lines.csv", "empty lines", b"\n\na,b\n\n1,x\n\n2,y\n\n", PLAIN),
    AwkwardFile("truths.csv", "TRUE and false", b"a,b\nTRUE,x\nfalse,y\n", {"a": [True, False], "b": ["x", "y"]}),
    AwkwardFile(
        "codes.csv",
        "addresses and versions",
        b"a,b\n10.0.0.1,1.2.3\n10.0.0.2,1.2.4\n",
        {"a": ["10.0.0.1", "10.0.0.2"], "b": ["1.2.3", "1.2.4"]},
    ),
    # Dates.
    AwkwardFile(
        "dates.csv",
        "ISO dates with and without times and zones",
        b"a,b,c\n2024-02-29,2024-02-29 18:30,2024-02-29T18:30:00Z\n"
        b"2024-3-1,2024-03-01T00:00:05.5,2024-03-01T02:00:00+02:00\n",
        {
            "a": [date(2024, 2, 29), date(2024, 3, 1)],
            "b": [datetime(2024, 2, 29, 18, 30), datetime(2024, 3, 1, 0, 0, 5, 500_000)],
            "c": ["2024-02-29 18:30:00+00:00", "2024-03-01 00:00:00+00:00"],
        },
    ),
    AwkwardFile(
        "american.csv",
        "month/day/year, and a time with PM",
        b"a,b\n2/29/2024,2/29/24 6:30 PM\n3/1/2024,12/31/24 9:05 AM\n",
        {
            "a": [date(2024, 2, 29), date(2024, 3, 1)],
            "b": [datetime(2024, 2, 29, 18, 30), datetime(2024, 12, 31, 9, 5)],
        },
        says="b: '2/29/24 6:30 PM' is taken as 2024-02-29",
    ),
    AwkwardFile(
        "unclear_dates.csv",
        "dates that may begin with the day or the month",
        b"a,b\n3/9/2017,x\n4/10/2017,y\n",
        {"a": [date(2017, 3, 9), date(2017, 4, 10)], "b": ["x", "y"]},
        says="taken as month first",
    ),
    AwkwardFile(
        "told_dates.csv",
        "the same, with `--dates dmy`",
        b"a,b\n3/9/2017,x\n4/10/2017,y\n",
        {"a": [date(2017, 9, 3), date(2017, 10, 4)], "b": ["x", "y"]},
        options={"dates": "dmy"},
    ),
    AwkwardFile(
        "shown_dates.csv",
        "the same beside a date that is clear",
        b"a,b\n3/9/2017,25/12/2017\n4/10/2017,1/1/2018\n",
        {"a": [date(2017, 9, 3), date(2017, 10, 4)], "b": [date(2017, 12, 25), date(2018, 1, 1)]},
    ),
    AwkwardFile(
        "named_months.csv",
        "months by their names, times of day",
        b'a,b,c\n29 Feb 2024,"March 1, 2024",14:30\n1 Mar 2024,"April 2, 2024",9:05\n',
        {
            "a": [date(2024, 2, 29), date(2024, 3, 1)],
            "b": [date(2024, 3, 1), date(2024, 4, 2)],
            "c": [time(14, 30), time(9, 5)],
        },
    ),
    AwkwardFile(
        "impossible_date.csv",
        "a date that does not exist",
        b"a,b\n31.12.2024,1\n30.2.2024,2\n1.3.2024,3\n",
        {"a": ["31.12.2024", "30.2.2024", "1.3.2024"], "b": [1, 2, 3]},
        says="'30.2.2024' in row 1 (counted from 0) is not a valid date",
    ),
    AwkwardFile(
        "addresses.csv",
        "addresses beside 1.201",
        b"ip,w,f\n192.168.100.100,1.201,0.5\n192.168.100.101,1.202,1.5\n",
        {"ip": ["192.168.100.100", "192.168.100.101"], "w": [1.201, 1.202], "f": [0.5, 1.5]},
    ),
    AwkwardFile("dollars.csv", "$2 beside 3", b"a,b\n$2,x\n3,y\n$4,x\n", {"a": [2, 3, 4], "b": ["x", "y", "x"]}),
    AwkwardFile("india.csv", "12,34,567", b'a,b\n"12,34,567",x\n"1,000",y\n', {"a": [1234567, 1000], "b": ["x", "y"]}),
    AwkwardFile(
        "long_numbers.csv",
        "numbers with too many digits, hexadecimal numbers",
        b"a,b\n12345678901234568142,0x1A\n12345678901234568143,0x1B\n",
        {"a": ["12345678901234568142", "12345678901234568143"], "b": ["0x1A", "0x1B"]},
    ),
    AwkwardFile(
        "comma_names.csv",
        "semicolons, commas in names",
        "Größe, cm;Gewicht, kg\n1,5;2,5\n2,5;3,5\n".encode(),
        {"Größe, cm": [1.5, 2.5], "Gewicht, kg": [2.5, 3.5]},
    ),
    AwkwardFile(
        "row_names.csv",
        "names of rows without a name above, as R writes them",
        b'"a","b"\n"r1",1,"x"\n"r2",2,"y"\n',
        {"Unnamed: 0": ["r1", "r2"], "a": [1, 2], "b": ["x", "y"]},
        says="taken for names of rows",
    ),
    AwkwardFile("comment.csv", "a comment above the names", b"# made by a logger, v2\na,b\n1,x\n2,y\n", PLAIN),
    AwkwardFile(
        "comment_no_names.csv",
        "a comment, and no names",
        b"# 1, 2\n1.5,x\n2.5,y\n",
        {"column1": [1.5, 2.5], "column2": ["x", "y"]},
        says="the columns are called column1 to column2",
    ),
    AwkwardFile("brackets.csv", "names in brackets", b"[a],[b]\n1,x\n2,y\n", {"[a]": [1, 2], "[b]": ["x", "y"]}),
    AwkwardFile("null.csv", "`\\\\N` of databases", b"a,b\n1,\\N\n\\N,y\n", {"a": [1, None], "b": [None, "y"]}),
    AwkwardFile(
        "long_cell.csv",
        "a cell of 200 000 characters",
        lambda: b"a,b\n1," + b"x" * 200_000 + b"\n2,y\n",
        {"a": [1, 2], "b": ["x" * 200_000, "y"]},
    ),
    AwkwardFile(
        "versions.csv",
        "versions such as 1.2.10",
        b"a,b\n1.2.10,1\n2.4.11,2\n",
        {"a": ["1.2.10", "2.4.11"], "b": [1, 2]},
    ),
    AwkwardFile(
        "offsets.csv",
        "moments of one time zone",
        b"a,b\n2024-01-01T09:15:00+05:30,1\n2024-01-02T23:00:00+05:30,2\n",
        {"a": [datetime(2024, 1, 1, 9, 15), datetime(2024, 1, 2, 23)], "b": [1, 2]},
    ),
    # Encodings and line ends.
    AwkwardFile("bom.csv", "UTF-8 with a byte order mark", GERMAN.encode("utf-8-sig"), GERMAN_COLUMNS),
    AwkwardFile("utf16.csv", "UTF-16", GERMAN.encode("utf-16"), GERMAN_COLUMNS),
    AwkwardFile("utf16_bare.csv", "UTF-16 without a byte order mark", GERMAN.encode("utf-16-le"), GERMAN_COLUMNS),
    AwkwardFile("latin1.csv", "Latin-1", GERMAN.encode("latin-1"), GERMAN_COLUMNS, says="not UTF-8, so read as cp1252"),
    AwkwardFile(
        "greek.csv",
        "another encoding, with `--encoding iso8859-7`",
        "a,b\n1,Αθήνα\n".encode("iso8859-7"),
        {"a": [1], "b": ["Αθήνα"]},
        options={"encoding": "iso8859-7"},
    ),
    AwkwardFile("crlf.csv", "line ends of Windows", b"a,b\r\n1,x\r\n2,y\r\n", PLAIN),
    AwkwardFile("cr.csv", "line ends of old Macs", b"a,b\r1,x\r2,y\r", PLAIN),
    AwkwardFile("no_end.csv", "no line end after the last row", b"a,b\n1,x\n2,y", PLAIN),
    # Other files.
    AwkwardFile("packed.csv.gz", "gzip", lambda: gzip.compress(b"a,b\n1,x\n2,y\n"), PLAIN),
    AwkwardFile("packed.csv.zst", "Zstandard", lambda: compress_zstandard(b"a,b\n1,x\n2,y\n"), PLAIN),
    AwkwardFile("packed.csv", "bzip2, not said by the suffix", lambda: bz2.compress(b"a,b\n1,x\n2,y\n"), PLAIN),
    AwkwardFile("packed.zip", "a zip file with one table", lambda: make_archive(("t.csv", b"a,b\n1,x\n2,y\n")), PLAIN),
    AwkwardFile(
        "sales.xlsx",
        "a workbook with a title, two sheets, dates, empty cells",
        make_workbook,
        {
            "shop": ["north", "south"],
            "sold": [3, None],
            "day": [date(2024, 2, 29), date(2024, 3, 1)],
            "open": [True, False],
        },
        says="sheet 'Sales' is read",
    ),
    AwkwardFile(
        "preise.ods",
        "a workbook of LibreOffice with numbers as text",
        make_open_document,
        {"Ort": ["Bonn", "Kiel"], "Preis": [1.5, 2.75], "Menge": [2, 5]},
    ),
    # Refused.
    AwkwardFile(
        "ragged.csv", "a row with too many cells", b"a,b\n1,x\n1,2,3\n", says="a row has 3 cells, but there are 2"
    ),
    AwkwardFile(
        "page.xls", "HTML that calls itself a workbook", b"<html><table></table></html>", says="it is HTML or XML"
    ),
    AwkwardFile("records.csv", "JSON", b'[{"a": 1}]', says="it is JSON"),
    AwkwardFile("empty.csv", "no bytes", b"", says="it is empty"),
    AwkwardFile("names_only.csv", "names, but no rows", b"a,b\n", says="it has 0 rows"),
    AwkwardFile("one_line.csv", "names, but no line end", b"a,b", says="it has no rows below the names"),
    AwkwardFile("photo.csv", "a picture", b"\x89PNG\r\n\x1a\n", says="it is a picture, not a table"),
    AwkwardFile(
        "cut.csv.gz",
        "a compressed file that was cut off",
        lambda: gzip.compress(b"a,b\n1,x\n" * 99)[:-9],
        says="cannot be read",
    ),
    AwkwardFile(
        "many.zip",
        "a zip file with two tables",
        lambda: make_archive(("t.csv", b"a\n1\n"), ("u.csv", b"a\n1\n")),
        says="it is an archive of 2 files",
    ),
]


def make_page_table() -> str:
    """Make the table for the documentation."""
    rows = [f"| `{each.name}` | {each.what} | {_tell(each)} |" for each in FILES]
    return "\n".join(["| file | what is awkward | |", "| --- | --- | --- |", *rows]) + "\n"


def _tell(file: AwkwardFile) -> str:
    says = f"“{file.says}”" if file.says else ""
    if not file.columns and not file.name.startswith("late"):
        return f"refused: {says}"
    return f"read, with a note: {says}" if says else "read"


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + make_page_table() + END + rest.partition(END)[2], encoding="utf-8")
