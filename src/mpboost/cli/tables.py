"""Write tables: CSV, TSV, Parquet and Arrow."""

import csv
import io
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from mpboost._files import write_whole

#: Last suffixes of compressed text files.
COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4"}


def get_suffix(path: Path) -> str:
    """Return the suffix that tells the format of a file, without that of its compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
        return suffixes[-1] if suffixes and suffixes[-1] in (".csv", ".tsv") else "".join(path.suffixes[-2:])
    return suffixes[-1] if suffixes else ""


def write_table(table: pa.Table, path: Path, *, force: bool) -> None:
    """Write a table in the format of the suffix, whole or not at all; only ``force`` replaces a file."""
    with write_whole(path, force=force) as temporary:
        WRITERS[get_suffix(path)](table, temporary)


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


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    ".csv": lambda table, path: path.write_bytes(format_csv(table)),
    ".tsv": lambda table, path: path.write_bytes(format_csv(table, "\t")),
    ".parquet": pa.parquet.write_table,
    ".arrow": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
    ".feather": pa.feather.write_feather,
}
