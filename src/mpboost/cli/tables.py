"""Read and write tables: CSV, TSV, Parquet and Arrow with pyarrow, npz with numpy."""

import csv
import io
import os
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from mpboost._files import write_whole
from mpboost.cli.formatting import count, suggest_name

#: Text that means a missing value, in addition to pyarrow's list.
MISSING_VALUES = ["?"]

#: Last suffixes of compressed text files.
COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4"}


def read_table(path: Path, *, as_text: Collection[str] = ()) -> pa.Table:
    """Read a table; the suffix of the file tells its format.

    Parameters
    ----------
    path : Path
        The file.
    as_text : collection of str
        Columns of CSV and TSV files to read as text even if they look like numbers.

    Returns
    -------
    table : Table
        At least one row; no two columns have the same name.
    """
    read = READERS.get(get_suffix(path))
    if read is None:
        raise ValueError(f"{path} is not a supported table. Supported: {', '.join(sorted(READERS))}.")
    if not path.exists():
        raise FileNotFoundError(f"File not found: {path}{_suggest_file(path)}")
    try:
        table = read(path, as_text)
        names = table.column_names
    except (pa.ArrowException, zipfile.BadZipFile, EOFError, UnicodeError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ValueError(f"{path} cannot be read: {reason}.") from error
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{path} has more than one column {twice[0]!r}: rename one.")
    if table.num_rows == 0 or table.num_columns == 0:
        raise ValueError(f"{path} is empty: it has {count(table.num_rows, 'row')}.")
    return table


def get_column(table: pa.Table, name: str, path: Path) -> pa.ChunkedArray:
    """Return a column; if there is none of this name, suggest a similar one."""
    if name not in table.column_names:
        raise ValueError(f"{path} has no column {name!r}{suggest_name(name, table.column_names)}")
    return table[name]


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


def _read_text(path: Path, as_text: Collection[str], separator: str) -> pa.Table:
    missing = [*pa.csv.ConvertOptions().null_values, *MISSING_VALUES]
    options = pa.csv.ConvertOptions(
        null_values=missing, strings_can_be_null=True, column_types=dict.fromkeys(as_text, pa.string())
    )
    table = pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=separator), convert_options=options)
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise ValueError("it is not encoded in UTF-8; save it as UTF-8")
    if separator == "," and table.num_columns == 1 and ";" in table.column_names[0]:
        return _read_text(path, as_text, ";")
    return table


def _read_arrow(path: Path, as_text: Collection[str]) -> pa.Table:
    try:
        return pa.feather.read_table(path)
    except pa.ArrowInvalid:  # a stream has no footer
        with pa.OSFile(str(path)) as file:
            return pa.ipc.open_stream(file).read_all()


def _read_npz(path: Path, as_text: Collection[str]) -> pa.Table:
    with np.load(path, allow_pickle=False) as arrays:
        if not hasattr(arrays, "files") or "X" not in arrays or arrays["X"].ndim != 2:
            raise ValueError("it must contain a two-dimensional array X, and an array y with the target")
        X: np.ndarray[Any, Any] = arrays["X"]
        names = arrays["feature_names"].tolist() if "feature_names" in arrays else [f"x{j}" for j in range(X.shape[1])]
        y = arrays.get("y")
    if len(names) != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, but feature_names has {len(names)}")
    if y is not None and y.shape != X.shape[:1]:
        raise ValueError(f"X has {len(X)} rows, but y has shape {y.shape}")
    # from_pandas: NaN means missing.
    columns = {str(name): pa.array(column, from_pandas=True) for name, column in zip(names, X.T, strict=True)}
    if y is not None:
        if "y" in columns:
            raise ValueError("the target and a feature are both named 'y'")
        columns["y"] = pa.array(y, from_pandas=True)
    return pa.table(columns)


def _suggest_file(path: Path) -> str:
    folder = path.parent
    names = [each.name for each in folder.iterdir() if get_suffix(each) in READERS] if folder.is_dir() else []
    return suggest_name(path.name, names)


READERS: dict[str, Callable[[Path, Collection[str]], pa.Table]] = {
    ".csv": lambda path, as_text: _read_text(path, as_text, ","),
    ".tsv": lambda path, as_text: _read_text(path, as_text, "\t"),
    ".parquet": lambda path, as_text: pa.parquet.ParquetFile(path).read(),
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
    ".npz": _read_npz,
}

WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    ".csv": lambda table, path: path.write_bytes(format_csv(table)),
    ".tsv": lambda table, path: path.write_bytes(format_csv(table, "\t")),
    ".parquet": pa.parquet.write_table,
    ".arrow": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
    ".feather": pa.feather.write_feather,
}
