"""Read a table from one file or several: what the command line does, for Python."""

import glob
import importlib
import os
import warnings
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from mpboost._wording import count, list_names, suggest_name
from mpboost.table_files.bytes import STANDARD_INPUT, FileBytes, FileKind
from mpboost.table_files.conversion import convert_text
from mpboost.table_files.dialects import name_columns
from mpboost.table_files.formats import read_arrow, read_numpy, read_parquet, read_workbook
from mpboost.table_files.options import Habits, ReadingOptions
from mpboost.table_files.text import read_text

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class TableReading:
    """A table that was read, and how.

    Attributes
    ----------
    table : Table
        The table: at least one row, and no two columns of the same name.
    name : str
        The name of the file, for messages.
    description : str
        How the file is written.
    notes : list of str
        What a user may not expect.
    obstacles : dict of str
        Columns that stay words although most of their values look like numbers or dates, and why.
    habits : Habits
        How a table to predict should be read where there is a choice.
    written : Table
        The columns as the file has them: text of a text file is not converted.
    """

    table: pa.Table
    name: str
    description: str
    notes: list[str]
    obstacles: dict[str, str]
    habits: Habits
    written: pa.Table

    @property
    def is_text(self) -> bool:
        """Whether the file is text, so that its columns had to be converted."""
        return self.written is not self.table

    def list_notes(self, besides: Collection[str] = ()) -> list[str]:
        """List the notes, and why columns are read as words, except for some columns."""
        why = {name: obstacle for name, obstacle in self.obstacles.items() if name not in besides}
        return self.notes + [f"{name} is read as words: {obstacle}" for name, obstacle in why.items()]


def read_files(
    paths: Paths, options: ReadingOptions, *, as_words: Collection[str] = (), usual: Habits | None = None
) -> TableReading:
    """Read a table from files of any supported kind; several files must have the same columns.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, patterns such as "part-*.parquet", folders, or "-" for standard input.
    options : ReadingOptions
        What is known about them.
    as_words : collection of str
        Columns of text files to read as words even if they look like numbers.
    usual : Habits
        What the training table showed, for a table to predict.
    """
    files = list_files(paths)
    read = [_read(path, options) for path in files]
    table = _join([each.table for each in read], files)
    name, description = name_files([each.name for each in read], read[0].description)
    if table.num_rows == 0 or table.num_columns == 0:
        raise ValueError(f"{name} is empty: it has {count(table.num_rows, 'row')}.")
    notes = list(dict.fromkeys(note for each in read for note in each.notes))
    if not any(each.has_text for each in read):
        return TableReading(table, name, description, notes, {}, Habits(), table)
    comma_is_usual = any(each.separator == ";" for each in read)
    converted = convert_text(table, options, as_words=as_words, usual=usual, comma_is_usual=comma_is_usual)
    description += ", decimal commas" if converted.habits.decimal == "," else ""
    return TableReading(
        converted.table, name, description, notes + converted.notes, converted.obstacles, converted.habits, table
    )


def read_table(
    path: Paths,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    dates: str | None = None,
    header: bool | None = None,
    missing: str | Sequence[str] = (),
    sheet: str | None = None,
    frame: str | None = None,
    return_notes: bool = False,
) -> Any:
    r"""Read a table from a file as the command line does: CSV of any kind, Parquet, Arrow, workbooks, numpy arrays.

    Encoding, separator, decimal mark and names of columns are found out. Text that can be read as numbers is: 1,000 and
    $1,000, 12 % (0.12), 5 kg, 3,14 in a file with decimal commas. So are dates such as 2024-02-29, 29.2.2024 and
    2/29/2024. NA, ?, - and similar words are missing values.

    Parameters
    ----------
    path : path or list of paths
        The file, a pattern such as ``part-*.parquet``, a folder of Parquet files, or several of them with the same
        columns. Compressed files (.gz, .bz2, .zst, .lz4, .zip) are decompressed. "-" is standard input.
    sep : str, default=None
        The separator of cells: one character, or "tab". None finds it out.
    decimal : {".", ","}, default=None
        The decimal mark. None finds it out.
    encoding : str, default=None
        The encoding, such as "utf-8" or "cp1252". None finds it out.
    dates : {"dmy", "mdy", "words"}, default=None
        Whether dates such as 3/9/2017 begin with the day or the month; "words" leaves dates as text. None finds it out.
    header : bool, default=None
        Whether the first row has the names of the columns. None finds it out.
    missing : str or list of str, default=()
        More words that mean a missing value.
    sheet : str, default=None
        The sheet of a workbook. None reads the first one.
    frame : {"pandas", "polars", "pyarrow"}, default=None
        The kind of data frame to return. None takes the first of these that is installed.
    return_notes : bool, default=False
        Whether to return what is unusual about the file, too. Otherwise each note is given as a warning.

    Returns
    -------
    table : data frame
        The table.
    notes : list of str
        What is unusual about the file, if ``return_notes``.

    See Also
    --------
    load_model : Load a model that the command line saved; it predicts such tables.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mpboost
    >>> path = Path(tempfile.mkdtemp()) / "preise.csv"
    >>> _ = path.write_text("Ort;Preis;Datum\nBonn;1.200,50;31.12.2024\nKiel;-;1.2.2025\n")
    >>> mpboost.read_table(path, frame="pyarrow").to_pylist()[0]
    {'Ort': 'Bonn', 'Preis': 1200.5, 'Datum': datetime.date(2024, 12, 31)}
    """
    options = ReadingOptions(
        sep=sep,
        decimal=decimal,
        encoding=encoding,
        dates=dates,
        header=header,
        missing=(missing,) if isinstance(missing, str) else tuple(missing),
        sheet=sheet,
    )
    reading = read_files(path, options)
    table = _make_frame(reading.table, frame)
    if return_notes:
        return table, reading.list_notes()
    for note in reading.list_notes():
        warnings.warn(f"{reading.name}: {note}.", stacklevel=2)
    return table


@dataclass(frozen=True)
class _FileReading:
    """A table as one file has it."""

    name: str
    table: pa.Table
    description: str
    notes: Sequence[str] = ()
    separator: str = ""
    has_text: bool = False


def _read(path: str, options: ReadingOptions) -> _FileReading:
    file = FileBytes(path)
    try:
        kind = file.recognise()
        if kind is FileKind.TEXT:
            table, dialect = read_text(file, options)
            return _FileReading(file.name, table, str(dialect), dialect.notes, dialect.separator, True)
        if kind is FileKind.WORKBOOK:
            table, description, notes = read_workbook(file, options)
            return _FileReading(file.name, table, description, notes, has_text=True)
        read = {FileKind.PARQUET: read_parquet, FileKind.ARROW: read_arrow, FileKind.NUMPY: read_numpy}[kind]
        table = read(file)
        names, notes = name_columns(table.column_names)
        return _FileReading(file.name, table.rename_columns(names), str(kind), notes)
    except (pa.ArrowException, zipfile.BadZipFile, OSError, EOFError, UnicodeError, ValueError) as error:
        raise ValueError(f"{file.name} cannot be read: {describe_error(error)}.") from error


def list_files(paths: Paths) -> list[str]:
    """List the files that paths, patterns and folders stand for."""
    files: list[str] = []
    for each in [paths] if isinstance(paths, str | os.PathLike) else paths:
        path = os.fspath(each)
        if path == STANDARD_INPUT or os.path.isfile(path):
            files.append(path)
        elif os.path.isdir(path):
            inside = sorted(glob.glob(os.path.join(glob.escape(path), "*.parquet")))
            if not inside:
                raise IsADirectoryError(f"{path} is a folder without Parquet files: give the name of a file.")
            files += inside
        elif matches := sorted(glob.glob(path)):
            files += matches
        elif glob.has_magic(path):
            raise FileNotFoundError(f"No file matches {path}.")
        else:
            raise FileNotFoundError(f"File not found: {path}{_suggest_file(Path(path))}")
    if not files:
        raise ValueError("No file is given.")
    return files


def _join(tables: Sequence[pa.Table], files: Sequence[str]) -> pa.Table:
    """Put the rows of several tables below each other; all must have the columns of the first."""
    first = tables[0]
    check_same_columns([table.column_names for table in tables], files)
    try:
        return pa.concat_tables([table.select(first.column_names) for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"The files have columns of different types: {str(error).splitlines()[0]}") from error


def check_same_columns(columns: Sequence[Sequence[str]], files: Sequence[str]) -> None:
    """Raise a ValueError if a file has other columns than the first."""
    for others, path in zip(columns[1:], files[1:], strict=True):
        if differing := set(columns[0]) ^ set(others):
            names_of_one = list_names(map(repr, sorted(differing)))
            raise ValueError(f"{files[0]} and {path} have different columns: only one of them has {names_of_one}.")


def name_files(names: Sequence[str], description: str) -> tuple[str, str]:
    """Name the files that are read as one table, and describe them, given the description of the first."""
    if len(names) == 1:
        return names[0], description
    return f"{names[0]} and {len(names) - 1} more", f"{description}, {len(names)} files"


def describe_error(error: Exception) -> str:
    """Describe an error of a library in one line, without a point at its end."""
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


def _make_frame(table: pa.Table, kind: str | None) -> Any:
    if kind not in (None, "pandas", "polars", "pyarrow"):
        raise ValueError(f"frame must be 'pandas', 'polars' or 'pyarrow', not {kind!r}.")
    for name in ("pandas", "polars") if kind is None else (kind,):
        try:
            library = importlib.import_module(name)
        except ImportError:
            if kind is not None:
                raise
            continue
        if name == "pandas":
            return table.to_pandas(date_as_object=False)
        if name == "polars":
            return library.from_arrow(table)
    return table


def _suggest_file(path: Path) -> str:
    names = [each.name for each in path.parent.iterdir() if each.is_file()] if path.parent.is_dir() else []
    return suggest_name(
        path.name, [name for name in names if Path(name).suffix == path.suffix or name[:3] == path.name[:3]]
    )
