"""Tables in files: CSV, TSV, Parquet, Arrow and npz, read and written with pyarrow."""

import csv
import io
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
from mpboost.cli.wording import count, find_closest

#: What stands for a missing value in text, beside what pyarrow knows of.
MISSING_WORDS = ["?"]

#: Text files may be compressed, as their last suffix tells.
COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4"}


def read_table(path: Path, *, as_text: Collection[str] = ()) -> pa.Table:
    """Read a table of any kind; its suffix tells which.

    Parameters
    ----------
    path : Path
        The file.
    as_text : collection of str
        Columns of text files that are text even where they look like numbers.

    Returns
    -------
    table : Table
        With at least one row and columns of different names.
    """
    read = READERS.get(find_suffix(path))
    if read is None:
        raise ValueError(f"{path} is none of the tables that can be read: {', '.join(sorted(READERS))}.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}{_suggest_file(path)}")
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
    """Find a column by its name, or say which one may be meant."""
    if name not in table.column_names:
        raise ValueError(f"{path} has no column {name!r}{find_closest(name, table.column_names)}")
    return table[name]


def find_suffix(path: Path) -> str:
    """Find the suffix that tells the kind of a file, that of a compression apart."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
        return suffixes[-1] if suffixes and suffixes[-1] in (".csv", ".tsv") else "".join(path.suffixes[-2:])
    return suffixes[-1] if suffixes else ""


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as the suffix tells: at once and as a whole, or not at all."""
    with write_whole(path) as temporary:
        WRITERS[find_suffix(path)](table, temporary)


def check_writable(path: Path, force: bool, suffixes: Collection[str] = ()) -> None:
    """Refuse to write over a file, or where nothing can be written, before any work is done."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} cannot be written: the name must end in {', '.join(sorted(suffixes))}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already: --force writes over it, -o names another.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to.")


def format_csv(table: pa.Table, separator: str = ",") -> bytes:
    """Write a table as text, with quotes only where some value needs them."""
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
    words = [*pa.csv.ConvertOptions().null_values, *MISSING_WORDS]
    options = pa.csv.ConvertOptions(
        null_values=words, strings_can_be_null=True, column_types=dict.fromkeys(as_text, pa.string())
    )
    table = pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=separator), convert_options=options)
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise ValueError("it is not UTF-8; save it in that encoding")
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
            raise ValueError("it must hold an array X of two dimensions, and y for the target")
        X: np.ndarray[Any, Any] = arrays["X"]
        names = arrays["feature_names"].tolist() if "feature_names" in arrays else [f"x{j}" for j in range(X.shape[1])]
        y = arrays.get("y")
    if len(names) != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, but feature_names has {len(names)}")
    if y is not None and y.shape != X.shape[:1]:
        raise ValueError(f"X has {len(X)} rows, but y has the shape {y.shape}")
    # NaN is how arrays say missing.
    columns = {str(name): pa.array(column, from_pandas=True) for name, column in zip(names, X.T, strict=True)}
    if y is not None:
        if "y" in columns:
            raise ValueError("both an array and a feature are called 'y'")
        columns["y"] = pa.array(y, from_pandas=True)
    return pa.table(columns)


def _suggest_file(path: Path) -> str:
    folder = path.parent
    names = [each.name for each in folder.iterdir() if find_suffix(each) in READERS] if folder.is_dir() else []
    return find_closest(path.name, names)


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
