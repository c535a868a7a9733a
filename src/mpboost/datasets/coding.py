"""The second pass over the rows of a dataset: codes them and writes them to its file."""

import os
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.data.categories import Categories, Factors
from mpboost.data.checks import check_table
from mpboost.data.sources import view_as_block
from mpboost.data.tables import ColumnTable, DenseTable, Table, as_native
from mpboost.datasets.batches import Batches
from mpboost.datasets.dataset_file import Content, align, describe_size
from mpboost.datasets.known import Known
from mpboost.datasets.reading import BatchReader, Column, named_errors
from mpboost.datasets.survey import Survey, count_rows
from mpboost.datasets.targets import read_weights

CHANGED = (
    "the rows are not those that were read before: batches are read twice, and must be the same each time, in the same "
    "order."
)


class ColumnCoder:
    """Converts the columns of a batch to a table, with the categories of the whole dataset."""

    def __init__(self, known: Known, reader: BatchReader):
        features = known.features
        self._reader = reader
        names, n_features = features["feature_names_in_"], features["n_features_in_"]
        self._names = list(reader.kinds) if names is None else names.tolist()
        self._categories: list[Categories | None] = [None] * n_features
        if features["categories_"] is not None:
            self._categories = [
                None if values is None else Categories(values, bool(has_other))
                for values, has_other in zip(features["categories_"], features["has_other_category_"], strict=True)
            ]

    def read(self, X: Any, place: str) -> tuple[Table, int]:
        """Read a batch; return its table, and a number to know it again by."""
        columns, checksum = self._reader.read(X, place)
        n_rows = count_rows(X)
        pairs = zip(self._names, self._categories, strict=True)
        coded = [self._encode(columns.get(name), chosen, n_rows) for name, chosen in pairs]
        block = None if any(self._categories) else view_as_block(coded)
        if block is not None:
            return DenseTable(as_native(block)), checksum
        return ColumnTable(coded, [None if each is None else each.n_codes for each in self._categories]), checksum

    @staticmethod
    def _encode(column: Column | None, categories: Categories | None, n_rows: int) -> NDArray[Any]:
        if categories is None:
            return np.full(n_rows, np.nan, dtype=np.float32) if column is None else np.asarray(column)
        if not isinstance(column, Factors):  # nothing but missing values
            column = Factors([None], np.zeros(n_rows, dtype=np.int64))
        return categories.encode(column)


def write_dataset(
    path: Path,
    content: Content,
    survey: Survey,
    batches: Batches,
    reader: BatchReader | None,
    move: Callable[[int, int], None],
    threads: _native.Threads,
) -> None:
    """Write the file of a dataset, whose rows are read a second time."""
    known, coder = content.known, None if reader is None else ColumnCoder(content.known, reader)
    judge = known.make_reader()
    start = sum(map(len, content.pack()))
    with DatasetWriter(path, content, start) as writer:
        numbers = iter(survey.checksums)
        for batch in batches:
            with named_errors(batch.place):
                n_rows = count_rows(batch.X)
                if n_rows == 0:
                    continue
                if coder is not None:
                    table, checksum = coder.read(batch.X, batch.place)
                else:
                    table, checksum = check_table(judge, batch.X), n_rows
                has_targets, has_weights = batch.y is not None, batch.sample_weight is not None
                expected = next(numbers, None), survey.targets is not None, survey.has_weights
                if (checksum, has_targets, has_weights) != expected:
                    raise ValueError(CHANGED)
                y = None if survey.targets is None else survey.targets.encode(batch.y)
                columns = table.bin(known.mapper, threads)
                assert isinstance(columns, _native.BinnedColumns)  # batches are never sparse
                writer.append(columns, y, read_weights(batch.sample_weight, n_rows))
            move(n_rows, content.n_features)
        if writer.n_written != content.n_rows:
            raise ValueError(f"There were {content.n_rows} rows at first, then {writer.n_written}: {CHANGED}")
        writer.finish()


class DatasetWriter:
    """Writes the columns of a dataset, some rows of each at a time, and then its header.

    Parameters
    ----------
    path : Path
        A file that does not exist, or is empty.
    content : Content
        What will be in the file; the checksums and the mask of missing values are found while writing.
    start : int
        Size of the header.
    """

    def __init__(self, path: Path, content: Content, start: int):
        self._content = content
        self._ends = content.list_ends(start)
        self._first = align(start)
        self._checksums = [0] * len(content.checksums)
        self._has_missing = np.zeros(content.n_features, dtype=bool)
        self.n_written = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _reserve(self._file, path, self._ends[-1])
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> "DatasetWriter":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def append(
        self, columns: _native.BinnedColumns, y: NDArray[Any] | None, weights: NDArray[np.float64] | None
    ) -> None:
        """Write the next rows."""
        content, codes = self._content, columns.codes
        n_rows = codes.shape[1]
        if self.n_written + n_rows > content.n_rows:
            raise ValueError(CHANGED)
        for feature in range(content.n_features):
            self._write(feature, codes[feature], self._first + feature * content.stride + self.n_written)
            self._has_missing[feature] |= columns.has_missing(feature)
        number = content.n_features
        for values, end in ((y, self._ends[1]), (weights, self._ends[2])):
            if values is not None:
                begin = end - content.n_rows * values.itemsize
                stored = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
                self._write(number, stored.view(np.uint8), begin + self.n_written * values.itemsize)
                number += 1
        self.n_written += n_rows

    def _write(self, column: int, data: NDArray[np.uint8], position: int) -> None:
        self._checksums[column] = zlib.crc32(data.data, self._checksums[column])
        view = data.data
        while len(view):
            n_written = os.pwrite(self._file, view, position)
            view, position = view[n_written:], position + n_written

    def finish(self) -> None:
        """Write the header, when all rows are written."""
        checksums = np.array(self._checksums, dtype=np.uint32)
        whole = replace(self._content, checksums=checksums, has_missing=self._has_missing)
        os.lseek(self._file, 0, os.SEEK_SET)
        for piece in whole.pack():
            view = memoryview(piece)
            while len(view):
                view = view[os.write(self._file, view) :]


def check_room(folder: Path, n_rows: int, n_features: int) -> None:
    """Raise an OSError if a file of so many rows would not fit into a folder."""
    free, needed = shutil.disk_usage(folder).free, n_rows * n_features
    if needed > free:
        raise OSError(
            f"{n_rows} rows of {n_features} features need {describe_size(needed)}, but only {describe_size(free)} are "
            f"free in {folder}: choose another file= (on the command line -o), or check that "
            "the batches end."
        )


def _reserve(file: int, path: Path, size: int) -> None:
    """Reserve room on the disk, so that it is not full later."""
    with suppress(AttributeError):  # not on all systems
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as error:
            free = shutil.disk_usage(path.parent).free
            raise OSError(
                error.errno,
                f"The dataset needs {describe_size(size)}, but {path.parent} has only {describe_size(free)} free "
                f"({error.strerror}): choose another file=, on the command line -o",
            ) from error
    os.ftruncate(file, size)
