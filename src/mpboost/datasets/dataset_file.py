"""The file of a dataset: what is in it, where, and how it is checked. docs/dataset-file.md describes the format."""

import math
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.containers.attribute_kinds import Array, Field, Labels, Parts, Rule, Scalar, refuse
from mpboost.containers.container import Arrays, ContainerError, Format, pack_container, read_container
from mpboost.containers.features import TABLE_FEATURES, check_categories
from mpboost.data.targets import CodedTargets, Targets
from mpboost.datasets.known import Known

if TYPE_CHECKING:
    from mpboost.datasets.targets import TargetSurvey

MAGIC, SCHEMA = b"\x89MPC\r\n\x1a\n", 1
DATASET_FORMAT = Format(
    MAGIC, SCHEMA, "a dataset of mpboost", "Make one with BinnedDataset.from_parquet or mpboost bin."
)

#: Columns begin at multiples of this, so that they can be mapped; codes are padded to a multiple of BLOCK_ROWS rows.
PAGE, BLOCK_ROWS = 4096, 128

#: The types that targets may have in a file.
TARGET_TYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}

FIELDS = (
    *TABLE_FEATURES,
    Field("n_rows", Scalar(int, size="n_rows")),
    Field("max_bins", Scalar(int, rule=Rule(lambda n: 2 <= n <= 255, "must be from 2 to 255"))),
    Field("edges", Array("float64", "n_edges")),
    Field("edge_offsets", Array("int64", "n_features+1")),
    Field("has_missing", Array("bool", "n_features")),
    Field("checksums", Array("uint32", "n_columns")),
    Field("target_name", Scalar(str), optional=True),
    Field("target_type", Scalar(str, rule=Rule(lambda name: name in TARGET_TYPES, "is unknown")), optional=True),
    Field("target_values", Labels("n_values"), optional=True),
    Field("has_weights", Scalar(bool)),
    Field("table_habits", Scalar(str), optional=True),
)


class DatasetFileError(ContainerError):
    """Raised for a file that is not a dataset, is damaged, or was written by a newer version of mpboost.

    Examples
    --------
    >>> import tempfile
    >>> import mpboost
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     mpboost.BinnedDataset.open(file.name)
    Traceback (most recent call last):
        ...
    mpboost.datasets.dataset_file.DatasetFileError: ...: this is not a dataset of mpboost...
    """


@dataclass(frozen=True)
class Content:
    """What is in the file of a dataset, but for its columns.

    Attributes
    ----------
    known : Known
        The features, their categories and bins.
    n_rows : int
        Number of rows.
    has_missing : bool array of shape (n_features,)
        Which features have missing values.
    checksums : uint32 array of shape (n_columns,)
        CRC-32 of each column: of the features, then of targets and weights, if there are any.
    target_name : str or None
        Name of the target.
    target_dtype : dtype or None
        The type of targets as they are stored: codes, if there are ``target_values``; None without targets.
    target_values : array or None
        The distinct targets; None if targets are stored as they are.
    has_weights : bool
        Whether rows have weights.
    table_habits : str or None
        How the command line read the table.
    """

    known: Known
    n_rows: int
    has_missing: NDArray[np.bool_]
    checksums: NDArray[np.uint32]
    target_name: str | None
    target_dtype: np.dtype[Any] | None
    target_values: NDArray[Any] | None
    has_weights: bool
    table_habits: str | None = None

    @property
    def stride(self) -> int:
        """Bytes from a column of codes to the next."""
        return -(-self.n_rows // BLOCK_ROWS) * BLOCK_ROWS

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.known.features["n_features_in_"])

    def list_ends(self, start: int) -> list[int]:
        """List the ends of codes, targets and weights, which begin at the first page after ``start``."""
        sizes = [self.n_features * self.stride]
        sizes.append(0 if self.target_dtype is None else self.n_rows * self.target_dtype.itemsize)
        sizes.append(self.n_rows * 8 if self.has_weights else 0)
        return list(accumulate(sizes, lambda end, size: align(end) + size if size else end, initial=start))[1:]

    def pack(self) -> Iterator[bytes | memoryview]:
        """Yield the bytes of the container that the file begins with."""
        parts = Parts()
        values: dict[str, Any] = self.known.features | {
            "n_rows": self.n_rows,
            "max_bins": self.known.max_bins,
            "edges": self.known.mapper.edges,
            "edge_offsets": self.known.mapper.offsets,
            "has_missing": self.has_missing,
            "checksums": self.checksums,
            "target_name": self.target_name,
            "target_type": None if self.target_dtype is None else self.target_dtype.name,
            "target_values": self.target_values,
            "has_weights": self.has_weights,
            "table_habits": self.table_habits,
        }
        for each in FIELDS:
            if values[each.attribute] is not None:
                each.kind.write(parts, each.name, values[each.attribute])
        header = {"version": version("mpboost"), "values": parts.values}
        return pack_container(DATASET_FORMAT, header, parts.arrays)


def make_content(
    known: Known,
    n_rows: int,
    targets: "TargetSurvey | None",
    target_name: str | None,
    has_weights: bool,
    table_habits: str | None = None,
) -> Content:
    """Describe a dataset whose columns are not written yet."""
    n_columns = int(known.features["n_features_in_"]) + (targets is not None) + has_weights
    return Content(
        known,
        n_rows,
        np.zeros(int(known.features["n_features_in_"]), dtype=bool),
        np.zeros(n_columns, dtype=np.uint32),
        target_name,
        None if targets is None else targets.stored_dtype,
        None if targets is None else targets.values,
        has_weights,
        table_habits,
    )


@np.errstate(over="ignore", invalid="ignore")  # checks refuse numbers that are too large
def read_content(file: BinaryIO) -> tuple[Content, int]:
    """Read and check what is in a file; return it, and where its columns begin."""
    header, arrays = read_container(DATASET_FORMAT, file, is_whole=False)
    start = file.tell()
    content = _unpack(header, arrays)
    size, end = os.fstat(file.fileno()).st_size, content.list_ends(start)[-1]
    if size != end:
        raise ContainerError(f"it should have {end} bytes, but has {size}. Was copying interrupted? Copy it again.")
    return content, align(start)


def _unpack(header: dict[str, Any], arrays: Arrays) -> Content:
    match header:
        case {"version": str(), "values": dict(values)} if len(header) == 2:
            parts = Parts(dict(values), dict(arrays))
        case _:
            raise ContainerError("its header has wrong keys.")
    found: dict[str, Any] = dict.fromkeys(each.attribute for each in FIELDS)
    for each in FIELDS:
        if parts.has(each.name) or not each.optional:
            found[each.attribute] = each.kind.read(parts, each.name)
    for left in (*parts.values, *parts.arrays):
        refuse(left, "is unknown")
    try:
        mapper = _native.BinMapper(found["edges"], found["edge_offsets"])
    except ValueError as error:
        refuse("edges", f"is invalid ({error})")
    features = {each.attribute: found[each.attribute] for each in TABLE_FEATURES}
    check_categories(features, found["edge_offsets"])
    target_type, target_values = found["target_type"], found["target_values"]
    if target_values is not None and target_type not in ("uint8", "uint16"):
        refuse("target_type", "must be that of codes")
    content = Content(
        Known(features, mapper, found["max_bins"]),
        found["n_rows"],
        found["has_missing"],
        found["checksums"],
        found["target_name"],
        None if target_type is None else TARGET_TYPES[target_type],
        target_values,
        found["has_weights"],
        found["table_habits"],
    )
    if len(content.checksums) != content.n_features + (target_type is not None) + content.has_weights:
        refuse("checksums", "must be one for each column")
    return content


class Columns:
    """The columns of a mapped file.

    Parameters
    ----------
    content : Content
        What is in the file.
    data : uint8 array
        The bytes of the file.
    start : int
        Where the columns begin.
    """

    def __init__(self, content: Content, data: NDArray[np.uint8], start: int):
        self._content = content
        ends = content.list_ends(start)
        n_codes = content.n_features * content.stride
        self.codes = data[start : start + n_codes].reshape(content.n_features, content.stride)
        self._targets = data[align(ends[0]) : ends[1]]
        self._weights = data[align(ends[1]) : ends[2]]

    def read_targets(self) -> Targets | None:
        """Return the targets, checked as far as memory may depend on them."""
        content = self._content
        if content.target_dtype is None:
            return None
        stored = self._targets.view(content.target_dtype)
        if content.target_values is None:
            return stored
        if stored.max() >= len(content.target_values):
            raise ContainerError("its targets are damaged. Copy it again or build it anew.")
        return CodedTargets(content.target_values, stored)

    def read_weights(self) -> NDArray[np.float64] | None:
        """Return the weights."""
        return self._weights.view("<f8") if self._content.has_weights else None

    def find_damaged(self) -> int | None:
        """Return the number of the first column whose checksum is wrong; None if all are right."""
        content = self._content
        columns = [codes[: content.n_rows] for codes in self.codes]
        columns += [self._targets] if content.target_dtype is not None else []
        columns += [self._weights] if content.has_weights else []
        for number, (column, checksum) in enumerate(zip(columns, content.checksums.tolist(), strict=True)):
            if zlib.crc32(column.data) != checksum:
                return number
        return None


def describe_size(n_bytes: float) -> str:
    """Spell a number of bytes.

    Examples
    --------
    >>> describe_size(3 * 2**30)
    '3.0 GiB'
    """
    power = min(int(math.log2(max(1, n_bytes)) // 10), 4)
    return f"{n_bytes / 2 ** (10 * power):.{1 if power else 0}f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def align(position: int) -> int:
    """Return the first place at or after a position where columns may begin."""
    return -(-position // PAGE) * PAGE


def read_dataset_file(path: Path) -> tuple[Content, int]:
    """Read and check what is in the file of a dataset; errors name the file."""
    with open(path, "rb") as file:
        try:
            return read_content(file)
        except ContainerError as error:
            raise DatasetFileError(f"{path}: {error}") from error.__cause__
