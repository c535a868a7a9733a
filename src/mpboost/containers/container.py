"""Write and read containers: a header and arrays, complete and in their places. docs/model-file.md has the layout.

What the names mean is known by those who write and read models (``model_files``) and datasets (``datasets``).
"""

import json
import math
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

#: Magic bytes, schema, size of the header, size of the container.
PROLOGUE = struct.Struct("<8sIIQ")
#: The last bytes: CRC-32 of all bytes before.
CHECKSUM = struct.Struct("<I")
#: Arrays begin at multiples of this.
ALIGNMENT = 64
#: A parsed header takes many times the memory of its text. These limits can be small, since large data are in arrays.
MAX_HEADER_BYTES, MAX_HEADER_ITEMS = 1 << 16, 2048

DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        *("bool", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
}

Arrays = dict[str, NDArray[Any]]


class ContainerError(ValueError):
    """Raised for a file of another kind, a damaged one, or one that a newer version of mpboost wrote."""


class Format(NamedTuple):
    """A kind of file.

    Attributes
    ----------
    magic : bytes
        First bytes, like those of PNG: not text, and damaged by any transfer in text mode.
    schema : int
        Number of the format that is written; this and all earlier formats can be read.
    name : str
        What such a file is called, for people.
    advice : str
        What to do with another file.
    """

    magic: bytes
    schema: int
    name: str
    advice: str


def pack_container(kind: Format, header: dict[str, Any], arrays: Arrays) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a container, piece by piece."""
    arrays = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    table = {name: [array.dtype.name, *array.shape] for name, array in arrays.items()}
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_HEADER_BYTES or _count_items(text) > MAX_HEADER_ITEMS:
        raise ValueError(f"What is not in arrays, such as parameters, is too large for {kind.name}: shorten it.")
    ends = _compute_ends(PROLOGUE.size + len(text), [array.nbytes for array in arrays.values()])
    pieces: list[bytes | memoryview] = [PROLOGUE.pack(kind.magic, kind.schema, len(text), ends[-1] + CHECKSUM.size)]
    pieces.append(text)
    position = PROLOGUE.size + len(text)
    for array, end in zip(arrays.values(), ends[1:], strict=True):
        pieces += [bytes(end - array.nbytes - position), array.reshape(-1).view(np.uint8).data]
        position = end
    checksum = 0
    for piece in pieces:
        yield piece
        checksum = zlib.crc32(piece, checksum)
    yield CHECKSUM.pack(checksum)


def read_container(kind: Format, file: BinaryIO, *, is_whole: bool = True) -> tuple[dict[str, Any], Arrays]:
    """Read the header and the arrays of a container; the arrays are read-only views.

    The file is left where the container ends: at its own end, unless other data may follow (``is_whole=False``).
    """
    size = os.fstat(file.fileno()).st_size
    header_end, size = _check_prologue(kind, file.read(PROLOGUE.size), size, is_whole)  # before reading a large file
    file.seek(0)
    data = file.read(size)
    if zlib.crc32(memoryview(data)[: -CHECKSUM.size]) != CHECKSUM.unpack(data[-CHECKSUM.size :])[0]:
        raise ContainerError("it is damaged: its checksum is wrong. Copy it again or use a backup.")
    header = _parse_header(data[PROLOGUE.size : header_end])
    arrays = header.pop("arrays", None)
    if not isinstance(arrays, dict):
        raise ContainerError("its header does not list the arrays.")
    return header, dict(_read_arrays(data, header_end, arrays))


def _check_prologue(kind: Format, prologue: bytes, size: int, is_whole: bool) -> tuple[int, int]:
    """Check the first bytes; return the ends of the header and of the container."""
    if not prologue.startswith(kind.magic):
        raise ContainerError(f"this is not {kind.name}. ({kind.advice})")
    if len(prologue) < PROLOGUE.size:
        raise ContainerError("it is incomplete. Copy it again or use a backup.")
    _, schema, header_size, stated_size = PROLOGUE.unpack(prologue)
    if schema > kind.schema:
        raise ContainerError(
            f"it has format {schema}, but this version reads formats up to {kind.schema}: upgrade mpboost."
        )
    if schema < 1:
        raise ContainerError("it is damaged: there is no format 0. Copy it again or use a backup.")
    if size < stated_size or (is_whole and size > stated_size):
        raise ContainerError(
            f"it should have {stated_size} bytes, but has {size}. Was copying interrupted? Copy it again."
        )
    if header_size > min(MAX_HEADER_BYTES, stated_size - PROLOGUE.size - CHECKSUM.size):
        raise ContainerError(f"its header of {header_size} bytes is too large.")
    return PROLOGUE.size + header_size, stated_size


def _parse_header(text: bytes) -> dict[str, Any]:
    if _count_items(text) > MAX_HEADER_ITEMS:
        raise ContainerError(f"its header has more than {MAX_HEADER_ITEMS} items.")
    try:
        header = json.loads(
            text.decode(), object_pairs_hook=_make_object, parse_float=_parse_float, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise ContainerError(f"its header cannot be read ({error}).") from None
    if not isinstance(header, dict):
        raise ContainerError("its header is not an object.")
    return header


def _count_items(text: bytes) -> int:
    """Count the separators in a JSON text: an upper limit of its items."""
    return sum(map(text.count, (b",", b"[", b"{")))


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key occurs twice")
    return values


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed")


def _read_arrays(data: bytes, header_end: int, table: dict[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    entries = {name: _check_entry(name, entry, len(data)) for name, entry in table.items()}
    # Positions follow from sizes, so that arrays cannot overlap or leave gaps; sizes are Python integers.
    ends = _compute_ends(header_end, [math.prod(shape) * dtype.itemsize for dtype, shape in entries.values()])
    if ends[-1] + CHECKSUM.size != len(data):
        raise ContainerError("its arrays do not fill the file.")
    for (name, (dtype, shape)), end in zip(entries.items(), ends[1:], strict=True):
        array = np.ndarray(shape, dtype, data, offset=end - math.prod(shape) * dtype.itemsize)
        if dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
            raise ContainerError(f"the bool array {name!r} has entries that are neither true nor false.")
        yield name, array


def _check_entry(name: str, entry: Any, limit: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    match entry:
        case [str(dtype), *shape] if dtype in DTYPES and len(shape) in (1, 2):
            # No dimension may exceed the size of the file, not even of an empty array.
            if all(type(n) is int and 0 <= n <= limit for n in shape):
                return DTYPES[dtype], tuple(shape)
    raise ContainerError(f"the type or shape of the array {name!r} is invalid.")


def _compute_ends(header_end: int, sizes: list[int]) -> list[int]:
    """Compute the ends of the header and of each array."""
    ends = [header_end]
    for size in sizes:
        ends.append(-(-ends[-1] // ALIGNMENT) * ALIGNMENT + size)
    return ends
