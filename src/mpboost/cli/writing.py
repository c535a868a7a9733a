"""Write tables piece by piece, whole or not at all: CSV, TSV, Parquet and Arrow with pyarrow."""

import csv
import io
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from mpboost._files import write_whole

#: The output path that means standard output.
STDOUT = Path("-")

#: Writes the next piece of a table; all pieces have the columns of the schema.
WritePiece = Callable[[pa.Table], object]


def check_writable(path: Path, force: bool, suffixes: Collection[str] = ()) -> None:
    """Raise an error, before any work is done, if the file exists already or cannot be written."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} cannot be written: the name must end in {', '.join(sorted(suffixes))}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file.")
    if os.path.lexists(path) and not force:  # a link to a file that does not exist, too
        raise FileExistsError(f"{path} exists already: use --force to overwrite it, or -o to write another file.")
    if not Path(os.path.realpath(path)).parent.is_dir():  # where a link points to
        raise FileNotFoundError(f"Folder not found: {path.parent}, needed to write {path.name}.")


@contextmanager
def open_table(path: Path, schema: pa.Schema, *, force: bool) -> Iterator[WritePiece]:
    """Open a table for writing in the format of the suffix, and yield a function that writes the next piece.

    If anything fails, an older file stays as it was, and no part of the new one is left. Only ``force`` replaces a
    file. The path ``-`` is standard output, as CSV.
    """
    if path == STDOUT or path.suffix.lower() in (".csv", ".tsv"):
        for field in schema:
            if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
                raise ValueError(
                    f"Column {field.name!r} has values that text cannot hold ({field.type}): write .parquet."
                )
    if path == STDOUT:
        yield _write_text(sys.stdout, schema, ",")
        return
    with write_whole(path, force=force) as temporary, WRITERS[path.suffix.lower()](temporary, schema) as write:
        yield write


def write_table(table: pa.Table, path: Path, *, force: bool) -> None:
    """Write a table in one piece."""
    with open_table(path, table.schema, force=force) as write:
        write(table)


def format_csv(table: pa.Table, separator: str = ",") -> bytes:
    """Format a table as CSV; text is quoted only if some value needs it."""
    header = io.StringIO()
    csv.writer(header, delimiter=separator, lineterminator="\n").writerow(table.column_names)
    for style in ("none", "needed"):
        body = io.BytesIO()
        options = pa.csv.WriteOptions(include_header=False, delimiter=separator, quoting_style=style)
        try:
            pa.csv.write_csv(table, body, options)
            break
        except pa.ArrowInvalid:  # a value with a quote, a separator or a line end
            if style == "needed":
                raise
    return header.getvalue().encode() + body.getvalue()


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
