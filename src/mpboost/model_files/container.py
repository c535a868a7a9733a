"""Write and read the container of a model file: a header and arrays. docs/model-file.md describes the layout.

This module checks that a file is complete and that each array is in its place; ``model_file.py`` gives the names
their meaning.
"""

import json
import math
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mpboost._files import write_whole

#: First bytes, like those of PNG: not text, and damaged by any transfer in text mode.
MAGIC = b"\x89MPB\r\n\x1a\n"
#: Number of the format that is written; this and all earlier formats can be read.
SCHEMA = 4
#: Magic bytes, schema, size of the header, size of the file.
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


class ModelFileError(ValueError):
    """Raised for a file that is not a model, is damaged, or was written by a newer version of mpboost.

    Examples
    --------
    >>> import tempfile
    >>> import mpboost
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     mpboost.load_model(file.name)
    Traceback (most recent call last):
        ...
    mpboost.model_files.container.ModelFileError: ...: this is not a model file of mpboost...
    """


def write_container(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays to a file; if that fails, no partial file is left."""
    arrays = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    table = {name: [array.dtype.name, *array.shape] for name, array in arrays.items()}
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_HEADER_BYTES or _count_items(text) > MAX_HEADER_ITEMS:
        raise ValueError("The parameters of this model are too large for a model file: shorten them, or use pickle.")
    ends = _compute_ends(PROLOGUE.size + len(text), [array.nbytes for array in arrays.values()])
    pieces: list[bytes | memoryview] = [PROLOGUE.pack(MAGIC, SCHEMA, len(text), ends[-1] + CHECKSUM.size), text]
    position = PROLOGUE.size + len(text)
    for array, end in zip(arrays.values(), ends[1:], strict=True):
        pieces += [bytes(end - array.nbytes - position), array.reshape(-1).view(np.uint8).data]
        position = end
    with write_whole(path) as temporary, open(temporary, "xb") as file:
        checksum = 0
        for piece in pieces:
            file.write(piece)
            checksum = zlib.crc32(piece, checksum)
        file.write(CHECKSUM.pack(checksum))


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Read the header and the arrays of a file; the arrays are read-only views."""
    with open(os.fspath(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header_end = _check_prologue(file.read(PROLOGUE.size), size)  # before reading a large file
        file.seek(0)
        data = file.read(size)
    if zlib.crc32(memoryview(data)[: -CHECKSUM.size]) != CHECKSUM.unpack(data[-CHECKSUM.size :])[0]:
        raise ModelFileError("it is damaged: its checksum is wrong. Copy it again or use a backup.")
    header = _parse_header(data[PROLOGUE.size : header_end])
    arrays = header.pop("arrays", None)
    if not isinstance(arrays, dict):
        raise ModelFileError("its header does not list the arrays.")
    return header, dict(_read_arrays(data, header_end, arrays))


def _check_prologue(prologue: bytes, size: int) -> int:
    """Check the first bytes and return the end of the header."""
    if not prologue.startswith(MAGIC):
        raise ModelFileError("this is not a model file of mpboost. (Load pickled models with pickle or joblib.)")
    if len(prologue) < PROLOGUE.size:
        raise ModelFileError("it is incomplete. Copy it again or use a backup.")
    _, schema, header_size, stated_size = PROLOGUE.unpack(prologue)
    if schema > SCHEMA:
        raise ModelFileError(f"it has format {schema}, but this version reads formats up to {SCHEMA}: upgrade mpboost.")
    if schema < 1:
        raise ModelFileError("it is damaged: there is no format 0. Copy it again or use a backup.")
    if size != stated_size:
        raise ModelFileError(
            f"it should have {stated_size} bytes, but has {size}. Was copying interrupted? Copy it again."
        )
    if header_size > min(MAX_HEADER_BYTES, size - PROLOGUE.size - CHECKSUM.size):
        raise ModelFileError(f"its header of {header_size} bytes is too large.")
    return PROLOGUE.size + header_size


def _parse_header(text: bytes) -> dict[str, Any]:
    if _count_items(text) > MAX_HEADER_ITEMS:
        raise ModelFileError(f"its header has more than {MAX_HEADER_ITEMS} items.")
    try:
        header = json.loads(
            text.decode(), object_pairs_hook=_make_object, parse_float=_parse_float, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its header cannot be read ({error}).") from None
    if not isinstance(header, dict):
        raise ModelFileError("its header is not an object.")
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
        raise ModelFileError("its arrays do not fill the file.")
    for (name, (dtype, shape)), end in zip(entries.items(), ends[1:], strict=True):
        array = np.ndarray(shape, dtype, data, offset=end - math.prod(shape) * dtype.itemsize)
        if dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
            raise ModelFileError(f"the bool array {name!r} has entries that are neither true nor false.")
        yield name, array


def _check_entry(name: str, entry: Any, limit: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    match entry:
        case [str(dtype), *shape] if dtype in DTYPES and len(shape) in (1, 2):
            # No dimension may exceed the size of the file, not even of an empty array.
            if all(type(n) is int and 0 <= n <= limit for n in shape):
                return DTYPES[dtype], tuple(shape)
    raise ModelFileError(f"the type or shape of the array {name!r} is invalid.")


def _compute_ends(header_end: int, sizes: list[int]) -> list[int]:
    """Compute the ends of the header and of each array."""
    ends = [header_end]
    for size in sizes:
        ends.append(-(-ends[-1] // ALIGNMENT) * ALIGNMENT + size)
    return ends
