"""Parquet files that are read as one table, batch by batch: they may be larger than memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet

from mpboost._wording import count
from mpboost.table_files.bytes import STANDARD_INPUT
from mpboost.table_files.dialects import name_columns
from mpboost.table_files.reading import Paths, check_same_columns, describe_error, list_files, name_files

#: Bytes of a text in memory, beside its characters, and of other values whose size is not known.
BYTES_OF_TEXT = 16

#: Bytes of a column that are read at a time.
BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files with the same columns, one below the other.

    Attributes
    ----------
    paths : list of str
        The files.
    name : str
        Name of the first file, for messages.
    description : str
        What they are, for people.
    schema : Schema
        Names and types of the columns, united over the files.
    n_rows : int
        Number of rows of all files.
    n_bytes : int
        Estimated size of the whole table in memory.
    """

    paths: list[str]
    name: str
    description: str
    schema: pa.Schema
    n_rows: int
    n_bytes: int

    def read_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[pa.Table]:
        """Read some columns of all rows, about ``n_rows`` rows at a time."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        for path in self.paths:
            for table in read_file(path, list(columns), n_rows):
                yield table.select(list(columns)).cast(schema)


def open_parquet(paths: Paths) -> ParquetFiles | None:
    """Open Parquet files to read them batch by batch; None if a file is of another kind or has to be read whole.

    Standard input and compressed files have to be; and so have files some of whose columns get other names, since two
    of them have the same.
    """
    files = list_files(paths)
    if not all(map(_is_parquet, files)):
        return None
    schemas, n_rows, n_stored = [], 0, 0
    for path in files:
        with open_file(path) as file:
            schemas.append(file.schema_arrow.remove_metadata())
            n_rows += file.metadata.num_rows
            n_stored += sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
    names = schemas[0].names
    if name_columns(names)[0] != names:
        return None
    name, description = name_files(files, "Parquet")
    if n_rows == 0 or not names:
        raise ValueError(f"{name} is empty: it has {count(n_rows, 'row')}.")
    schema = _unite(schemas, files)
    return ParquetFiles(files, name, description, schema, n_rows, max(n_stored, n_rows * _count_row_bytes(schema)))


def _is_parquet(path: str) -> bool:
    if path == STANDARD_INPUT:
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def read_file(path: str, columns: list[str] | None, n_rows: int) -> Iterator[pa.Table]:
    """Read some columns of a file, or all, about ``n_rows`` rows at a time; only some row groups are in memory."""
    with open_file(path) as file:
        n_left = file.metadata.num_rows
        for batch in file.iter_batches(n_rows, columns=columns):
            n_left -= batch.num_rows
            yield pa.Table.from_batches([batch])
    if n_left:  # pyarrow ends without an error where a file was cut
        raise ValueError(f"{path} cannot be read: its last {count(n_left, 'row')} are damaged or were cut off.")


@contextmanager
def open_file(path: str) -> Iterator[pa.parquet.ParquetFile]:
    """Open a file; errors name it."""
    try:
        # Not mapped: a file that is cut meanwhile would end the process. pre_buffer would keep all that was read.
        with pa.parquet.ParquetFile(path, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read: {describe_error(error)}.") from error


def _unite(schemas: Sequence[pa.Schema], files: Sequence[str]) -> pa.Schema:
    """Unite the types of columns as ``read_files`` does."""
    names = schemas[0].names
    check_same_columns([schema.names for schema in schemas], files)
    try:
        ordered = [pa.schema([schema.field(name) for name in names]) for schema in schemas]
        return pa.unify_schemas(ordered, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"The files have columns of different types: {str(error).splitlines()[0]}") from error


def _count_row_bytes(schema: pa.Schema) -> int:
    """Estimate the bytes of a row in memory."""
    n_bits = 0
    for field in schema:
        try:
            n_bits += field.type.bit_width
        except ValueError:  # text and others
            n_bits += 8 * BYTES_OF_TEXT
    return n_bits // 8
