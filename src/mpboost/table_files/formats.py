"""Read tables that are no text: Parquet, Arrow, workbooks and numpy arrays."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from mpboost._wording import list_names, suggest_name
from mpboost.table_files.bytes import FileBytes
from mpboost.table_files.dialects import is_header, name_columns
from mpboost.table_files.distinct import MISSING_WORDS
from mpboost.table_files.options import ReadingOptions


def read_parquet(file: FileBytes) -> pa.Table:
    """Read a Parquet file."""
    with file.open_seekable() as stream:
        return pa.parquet.ParquetFile(stream).read()


def read_arrow(file: FileBytes) -> pa.Table:
    """Read an Arrow file, a stream, or a Feather file."""
    with file.open_seekable() as stream:
        try:
            return pa.feather.read_table(stream)
        except pa.ArrowInvalid:  # a stream has no footer
            stream.seek(0)
            return pa.ipc.open_stream(stream).read_all()


def read_numpy(file: FileBytes) -> pa.Table:
    """Read numpy arrays: X, and optionally y and feature_names."""
    with file.open_seekable() as stream, np.load(stream, allow_pickle=False) as arrays:
        if "X" not in arrays or arrays["X"].ndim != 2:
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


def read_workbook(file: FileBytes, options: ReadingOptions) -> tuple[pa.Table, str, list[str]]:
    """Read a sheet of a workbook (.xlsx, .xlsb, .xls, .ods): a table, a description, and notes.

    A column of one type has that type; any other is text, which is then converted like that of a text file.
    """
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise ImportError('workbooks need python-calamine: pip install "mpboost[excel]"') from error
    try:
        with file.open_seekable() as stream:
            workbook = CalamineWorkbook.from_filelike(stream)
            sheets = workbook.sheet_names
            if options.sheet is not None and options.sheet not in sheets:
                raise ValueError(f"it has no sheet {options.sheet!r}{suggest_name(options.sheet, sheets).rstrip('.')}")
            sheet = options.sheet or sheets[0]
            rows = workbook.get_sheet_by_name(sheet).to_python(skip_empty_area=True)
    except CalamineError as error:
        raise ValueError(f"the workbook is damaged or protected ({error})") from error
    table, notes = _make_table(rows, options)
    if len(sheets) > 1 and options.sheet is None:
        notes.insert(
            0, f"sheet {sheet!r} is read, of {list_names(sheets)} ({options.write('sheet', 'NAME')} reads another)"
        )
    return table, f"workbook, sheet {sheet}", notes


def _make_table(rows: list[list[Any]], options: ReadingOptions) -> tuple[pa.Table, list[str]]:
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if not rows:
        raise ValueError("the sheet is empty")
    usual = Counter(sum(cell != "" for cell in row) for row in rows).most_common(1)[0][0]
    first = next(i for i, row in enumerate(rows) if sum(cell != "" for cell in row) > usual / 2)
    notes = [f"{first} row{'s' * (first > 1)} above the names of the columns skipped"] if first else []
    head, body = [_write_cell(cell) for cell in rows[first]], rows[first + 1 :]
    has_header = is_header(head, [[_write_cell(cell) for cell in row] for row in body[:200]])
    if options.header if options.header is not None else has_header:
        names, renamed = name_columns(head)
        notes += renamed
    else:
        names, body = [f"column{j + 1}" for j in range(len(head))], rows[first:]
        notes.append(f"no names found in the first row: the columns are called {names[0]} to {names[-1]}")
    return pa.table({name: _make_column([row[j] for row in body]) for j, name in enumerate(names)}), notes


def _make_column(cells: Sequence[Any]) -> pa.Array:
    cells = ["" if isinstance(cell, str) and cell.strip() in MISSING_WORDS else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell != ""}
    if kinds == {float} and all(cell == "" or (cell.is_integer() and abs(cell) < 2**53) for cell in cells):
        return pa.array([None if cell == "" else int(cell) for cell in cells])  # workbooks know no whole numbers
    if kinds in ({datetime}, {date}, {time}, {bool}) or (kinds and kinds <= {int, float}):
        return pa.array([None if cell == "" else cell for cell in cells])
    if kinds == {date, datetime}:
        return pa.array([datetime(c.year, c.month, c.day) if type(c) is date else c or None for c in cells])
    return pa.array([_write_cell(cell) for cell in cells], pa.string())


def _write_cell(cell: Any) -> str:
    """Write a cell as it looks: whole numbers without a fraction."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell.total_seconds()) if isinstance(cell, timedelta) else str(cell)
