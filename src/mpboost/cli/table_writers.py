"""Write tables piece by piece, whole or not at all: CSV, TSV, Parquet and Arrow with pyarrow."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from mpboost._files import write_whole
from mpboost.cli.tables import format_csv, get_suffix

#: The output path that means standard output.
STDOUT = Path("-")

#: Writes the next piece of a table; all pieces have the columns of the schema.
WritePiece = Callable[[pa.Table], object]


@contextmanager
def open_table(path: Path, schema: pa.Schema, *, force: bool) -> Iterator[WritePiece]:
    """Open a table for writing in the format of the suffix, and yield a function that writes the next piece.

    If anything fails, an older file stays as it was, and no part of the new one is left. Only ``force`` replaces a
    file. The path ``-`` is standard output, as CSV.
    """
    if path == STDOUT:
        yield _write_text(sys.stdout, schema, ",")
        return
    with write_whole(path, force=force) as temporary, WRITERS[get_suffix(path)](temporary, schema) as write:
        yield write


@contextmanager
def _open_text(path: Path, schema: pa.Schema, separator: str) -> Iterator[WritePiece]:
    with open(path, "x", encoding="utf-8", newline="") as file:
        yield _write_text(file, schema, separator)


def _write_text(file: TextIO, schema: pa.Schema, separator: str) -> WritePiece:
    """Write the header, and return a function that writes the rows of a piece."""
    header = format_csv(schema.empty_table(), separator).decode()
    file.write(header)
    return lambda piece: file.write(format_csv(piece, separator).decode().removeprefix(header))


@contextmanager
def _open_parquet(path: Path, schema: pa.Schema) -> Iterator[WritePiece]:
    with pa.parquet.ParquetWriter(path, schema) as writer:
        yield writer.write_table


@contextmanager
def _open_arrow(path: Path, schema: pa.Schema, compression: str | None) -> Iterator[WritePiece]:
    options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema, options=options) as writer:
        yield writer.write_table


#: How to write each kind of file.
WRITERS: dict[str, Callable[[Path, pa.Schema], AbstractContextManager[WritePiece]]] = {
    ".csv": lambda path, schema: _open_text(path, schema, ","),
    ".tsv": lambda path, schema: _open_text(path, schema, "\t"),
    ".parquet": _open_parquet,
    ".arrow": lambda path, schema: _open_arrow(path, schema, None),
    ".feather": lambda path, schema: _open_arrow(path, schema, "lz4"),
}
