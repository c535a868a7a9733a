"""The layout of a model file: a header of names and numbers, then arrays. docs/model-file.md describes it.

What the names mean is told in ``model_file.py``; here it only matters that a file is whole, that each array lies where
it should, and that nothing is believed before it is checked.
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

#: As PNG's mark: not text, and changed by any transfer that takes it for text.
MAGIC = b"\x89MPB\r\n\x1a\n"
#: Number of the format that is written; all up to it are read.
SCHEMA = 3
#: Mark, schema, bytes of the header, bytes of the file.
PROLOGUE = struct.Struct("<8sIIQ")
#: The last bytes: CRC-32 of all before.
CHECKSUM = struct.Struct("<I")
#: Arrays begin at multiples of it.
ALIGNMENT = 64
#: A parsed header takes many times its text. All that grows with a model is in arrays, so that both can be small.
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
    """A file that is no model, is damaged, or was written by a newer version of mpboost.

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
    """Write a header of plain values, and arrays, as one file: at once and as a whole, or not at all."""
    arrays = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    table = {name: [array.dtype.name, *array.shape] for name, array in arrays.items()}
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_HEADER_BYTES or _count_items(text) > MAX_HEADER_ITEMS:
        raise ValueError("The parameters of this model are too large for a model file; shorten them, or use pickle.")
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
    """Read what ``write_container`` wrote; the arrays are views that cannot be written to."""
    with open(os.fspath(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header_end = _check_prologue(file.read(PROLOGUE.size), size)  # before a large file is read in vain
        file.seek(0)
        data = file.read(size)
    if zlib.crc32(memoryview(data)[: -CHECKSUM.size]) != CHECKSUM.unpack(data[-CHECKSUM.size :])[0]:
        raise ModelFileError("it is damaged: its checksum is wrong. Copy it anew or take a backup.")
    header = _parse_header(data[PROLOGUE.size : header_end])
    arrays = header.pop("arrays", None)
    if not isinstance(arrays, dict):
        raise ModelFileError("its header lists no arrays.")
    return header, dict(_read_arrays(data, header_end, arrays))


def _check_prologue(prologue: bytes, size: int) -> int:
    """Return where the header ends."""
    if not prologue.startswith(MAGIC):
        raise ModelFileError("this is not a model file of mpboost. (Pickled models are loaded by pickle or joblib.)")
    if len(prologue) < PROLOGUE.size:
        raise ModelFileError("it is cut short. Copy it anew or take a backup.")
    _, schema, header_size, stated_size = PROLOGUE.unpack(prologue)
    if schema > SCHEMA:
        raise ModelFileError(f"its format is {schema}, but this version knows them up to {SCHEMA}: upgrade mpboost.")
    if schema < 1:
        raise ModelFileError("it is damaged: there is no format 0. Copy it anew or take a backup.")
    if size != stated_size:
        raise ModelFileError(
            f"it should have {stated_size} bytes, but it has {size}. Was a copy interrupted? Copy it anew."
        )
    if header_size > min(MAX_HEADER_BYTES, size - PROLOGUE.size - CHECKSUM.size):
        raise ModelFileError(f"a header of {header_size} bytes is too large.")
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
    """Count what stands before each item: no more than these can be there."""
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
    # Places follow from sizes, so that arrays can neither overlap nor leave gaps; sizes are Python's integers.
    ends = _compute_ends(header_end, [math.prod(shape) * dtype.itemsize for dtype, shape in entries.values()])
    if ends[-1] + CHECKSUM.size != len(data):
        raise ModelFileError("its arrays do not fill the file.")
    for (name, (dtype, shape)), end in zip(entries.items(), ends[1:], strict=True):
        array = np.ndarray(shape, dtype, data, offset=end - math.prod(shape) * dtype.itemsize)
        if dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
            raise ModelFileError(f"the array {name!r} has entries that are neither true nor false.")
        yield name, array


def _check_entry(name: str, entry: Any, limit: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    match entry:
        case [str(dtype), *shape] if dtype in DTYPES and len(shape) in (1, 2):
            # No dimension is longer than the file, not even of an array without entries.
            if all(type(n) is int and 0 <= n <= limit for n in shape):
                return DTYPES[dtype], tuple(shape)
    raise ModelFileError(f"the type or shape of the array {name!r} is wrong.")


def _compute_ends(header_end: int, sizes: list[int]) -> list[int]:
    """Compute where the header and each array end."""
    ends = [header_end]
    for size in sizes:
        ends.append(-(-ends[-1] // ALIGNMENT) * ALIGNMENT + size)
    return ends
