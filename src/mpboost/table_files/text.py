"""Read text files with separators, such as CSV: all cells as text."""

import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.csv

from mpboost.table_files.bytes import SAMPLE_BYTES, FileBytes
from mpboost.table_files.dialects import Dialect, find_dialect
from mpboost.table_files.options import ReadingOptions

#: Bytes that are parsed at a time: no row may be longer.
BLOCK_BYTES = 1 << 22

#: Encodings that are tried if a file is not in UTF-8; the last one can read anything.
FALLBACKS = ("utf-8", "cp1252", "latin-1")

#: Characters of a bad row that are shown.
SHOWN = 80


def read_text(file: FileBytes, options: ReadingOptions) -> tuple[pa.Table, Dialect]:
    """Read a text file: a table of text, and how the file is written.

    Every cell is text here, an empty one too: columns are converted when all of their values are known.
    """
    sample = file.read_sample()
    is_whole = len(sample) < SAMPLE_BYTES
    for fallback in FALLBACKS:
        dialect = find_dialect(sample, options, is_whole=is_whole, default=fallback)
        try:
            table = _parse(file, dialect, use_threads=not is_whole)
        except (UnicodeError, pa.ArrowInvalid) as error:
            is_about_encoding = isinstance(error, UnicodeError) or "UTF8" in str(error)
            if is_about_encoding and dialect.encoding == fallback and not options.encoding:
                continue
            if is_about_encoding:
                raise ValueError(f"it is not encoded in {dialect.encoding}") from error
            raise
        if fallback != "utf-8" and dialect.encoding == fallback:
            note = f"not UTF-8, so read as {fallback} ({options.write('encoding', 'NAME')} for another encoding)"
            dialect = replace(dialect, notes=(*dialect.notes, note))
        return table, dialect
    raise AssertionError("latin-1 reads any bytes")  # pragma: no cover


def _parse(file: FileBytes, dialect: Dialect, *, use_threads: bool) -> pa.Table:
    is_utf8 = dialect.encoding in ("utf-8", "utf-8-sig")
    reading = pa.csv.ReadOptions(
        column_names=dialect.names,
        skip_rows=dialect.n_lines_before,
        encoding="utf8" if is_utf8 else dialect.encoding,
        block_size=BLOCK_BYTES,
        use_threads=use_threads,
    )
    parsing = pa.csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True)
    as_text = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(dialect.names, pa.string()), strings_can_be_null=False, null_values=[]
    )
    try:
        with file.open() as stream:
            return pa.csv.read_csv(stream, reading, parsing, as_text)
    except pa.ArrowInvalid as error:
        if "Could not skip initial" in str(error):
            raise ValueError("it has no rows below the names of its columns") from error
        row = re.search(r"Expected (\d+) columns, got (\d+)(?:: (.*))?", str(error), re.DOTALL)
        if row is None:
            raise
        text = (row[3] or "").strip()
        shown = f": {text[:SHOWN] + '…' * (len(text) > SHOWN)!r}" if text else ""
        raise ValueError(
            f"a row has {row[2]} cells, but there are {row[1]} columns{shown}. Put quotes around cells that have the "
            "separator, and check that the separator is right"
        ) from error
