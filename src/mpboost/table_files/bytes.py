"""The bytes of a file: opened, decompressed, and recognised by how they begin."""

import sys
import zipfile
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa

#: Standard input, as users write it.
STANDARD_INPUT = "-"

#: Bytes that are read to recognise a file and to find out how it is written.
SAMPLE_BYTES = 1 << 20

#: How compressed files begin.
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}


class FileKind(StrEnum):
    """What a file is; the values appear in messages."""

    TEXT = "text"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    WORKBOOK = "a workbook"
    NUMPY = "numpy arrays"


#: What names of files promise. A text file may be called .xls: some programs do that.
PROMISES = {
    ".parquet": FileKind.PARQUET,
    ".arrow": FileKind.ARROW,
    ".feather": FileKind.ARROW,
    ".npz": FileKind.NUMPY,
}

#: How files begin that are no tables, what they are, and what to do.
NOT_TABLES = {
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\xfd7zXZ": "compressed by xz: decompress it first",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"\x89MPB": "a model of mpboost",
    b"\x89MPC": "a dataset of mpboost",
}


class FileBytes:
    """A file, or standard input, which can be opened several times.

    Parameters
    ----------
    path : str
        The path of the file; "-" is standard input.
    """

    def __init__(self, path: str):
        self.name = "standard input" if path == STANDARD_INPUT else path
        self._source: Any = sys.stdin.buffer.read() if path == STANDARD_INPUT else path
        with self._open_raw() as raw:
            start = raw.read(16)
        self._compression = next((name for magic, name in COMPRESSIONS.items() if start.startswith(magic)), None)
        self._member: bytes | None = None

    def open(self) -> Any:
        """Open the file for reading, decompressed, from its beginning."""
        if self._member is not None:
            return BytesIO(self._member)
        raw = self._open_raw()
        return pa.CompressedInputStream(raw, self._compression) if self._compression else raw

    def open_seekable(self) -> Any:
        """Open the file so that its parts can be read in any order; a compressed one is read into memory."""
        if self._compression or self._member is not None:
            with self.open() as stream:
                return BytesIO(stream.read())
        return BytesIO(self._source) if isinstance(self._source, bytes) else open(self._source, "rb")

    def read_sample(self) -> bytes:
        """Read the beginning of the decompressed file."""
        with self.open() as stream:
            return bytes(stream.read(SAMPLE_BYTES))

    def recognise(self) -> FileKind:
        """Recognise the kind of file by how it begins; raise a ValueError if it is no table."""
        sample = self.read_sample()
        for magic, what in NOT_TABLES.items():
            if sample.startswith(magic):
                raise ValueError(f"it is {what}, not a table")
        if sample.startswith(b"PAR1"):
            return FileKind.PARQUET
        if sample.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
            return FileKind.ARROW
        if sample.startswith(b"\xd0\xcf\x11\xe0"):  # .xls
            return FileKind.WORKBOOK
        if sample.startswith(b"PK\x03\x04"):
            return self._recognise_archive()
        if sample.startswith(b"\x93NUMPY"):
            raise ValueError("it is a single numpy array: save X and y with numpy.savez")
        if (promised := PROMISES.get(Path(self.name).suffix.lower())) is not None:
            raise ValueError(f"it is damaged, or not {promised}, although its name says so")
        return FileKind.TEXT

    def _recognise_archive(self) -> FileKind:
        """Look into a zip file: a workbook, numpy arrays, or one compressed text file."""
        with self.open_seekable() as stream, zipfile.ZipFile(stream) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if "xl/workbook.xml" in names or "xl/workbook.bin" in names or "content.xml" in names:
                return FileKind.WORKBOOK
            if names and all(name.endswith(".npy") for name in names):
                return FileKind.NUMPY
            names = [name for name in names if not name.startswith("__MACOSX/")]
            if len(names) != 1:
                raise ValueError(f"it is an archive of {len(names)} files: extract the one with the table")
            self._member = archive.read(names[0])
        return FileKind.TEXT

    def _open_raw(self) -> Any:
        return pa.BufferReader(self._source) if isinstance(self._source, bytes) else pa.OSFile(str(Path(self._source)))
