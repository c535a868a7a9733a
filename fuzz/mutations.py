"""Random changes of a model file, or of the container of a dataset: of its bytes, its header and its arrays."""

import json
import math
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpboost.containers.container import ALIGNMENT, CHECKSUM, DTYPES, PROLOGUE
from mpboost.model_files.container import MAGIC, SCHEMA

Rng = np.random.Generator
encode = json.JSONEncoder().encode

NUMBERS: list[Any] = [
    0,
    -1,
    1,
    2,
    3,
    255,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    10**30,
    0.5,
    -1.5,
    1e308,
]
OTHERS: list[Any] = [
    None,
    True,
    False,
    "",
    "x",
    "auto",
    "nan",
    [],
    {},
    [1],
    {"float": "nan"},
    {"list": 3},
    {"dict": [[], []]},
]


class Raw(str):
    """JSON text that is written without quotes."""


TEXTS = [
    Raw(text)
    for text in ("NaN", "-Infinity", "1e999", "9" * 5000, "[" * 30_000, "[" * 500 + "]" * 500, "{", '"\\ud800"')
]


class Pairs(list[tuple[str, Any]]):
    """A JSON object that may contain a key twice."""


@dataclass
class Document:
    """The parts of a container."""

    header: Pairs
    blobs: list[bytearray]
    magic: bytes = MAGIC
    schema: int = SCHEMA

    @property
    def table(self) -> Pairs:
        """The list of arrays."""
        return next(value for key, value in self.header if key == "arrays" and isinstance(value, Pairs))


def mutate(data: bytes, rng: Rng) -> tuple[list[str], bytes]:
    """Change a file in a few ways; usually correct its sizes and checksum, so that more of it is read."""
    names = []
    if rng.random() < 0.75:
        document = parse(data)
        for _ in range(rng.integers(1, 4)):
            change = pick(rng, STRUCTURED)
            with suppress(
                LookupError, StopIteration, TypeError, ValueError
            ):  # an earlier change may have left nothing to change
                change(document, rng)
            names.append(change.__name__)
        data = assemble(document)
    if not names or rng.random() < 0.15:
        change = pick(rng, BYTEWISE)
        data = bytes(change(bytearray(data), rng))
        names.append(change.__name__)
        if rng.random() < 0.5:
            data = mend(data)
            names.append("mend")
    elif rng.random() < 0.05:
        data = change_bytes(bytearray(data), rng)  # without correcting the checksum
        names.append("change_bytes")
    return names, bytes(data)


def parse(data: bytes) -> Document:
    """Split a valid file into its parts."""
    magic, schema, header_size, _ = PROLOGUE.unpack_from(data)
    position = PROLOGUE.size + header_size
    document = Document(json.loads(data[PROLOGUE.size : position], object_pairs_hook=Pairs), [], magic, schema)
    for _, (dtype, *shape) in document.table:
        begin = -(-position // ALIGNMENT) * ALIGNMENT
        position = begin + math.prod(shape) * DTYPES[dtype].itemsize
        document.blobs.append(bytearray(data[begin:position]))
    return document


def assemble(document: Document) -> bytes:
    """Write a file with right sizes and checksum, whatever its header says."""
    data = bytearray(PROLOGUE.size) + dump(document.header).encode("utf-8", "surrogatepass")
    header_size = len(data) - PROLOGUE.size
    for blob in document.blobs:
        data += bytes(-len(data) % ALIGNMENT) + blob
    PROLOGUE.pack_into(data, 0, document.magic, document.schema, header_size, len(data) + CHECKSUM.size)
    return bytes(data) + CHECKSUM.pack(zlib.crc32(data))


def mend(data: bytes) -> bytes:
    """Correct the size and the checksum of a file."""
    if len(data) < PROLOGUE.size + CHECKSUM.size:
        return data
    content = bytearray(data[: -CHECKSUM.size])
    magic, schema, header_size, _ = PROLOGUE.unpack_from(content)
    PROLOGUE.pack_into(content, 0, magic, schema, header_size, len(data))
    return bytes(content) + CHECKSUM.pack(zlib.crc32(content))


def dump(node: Any) -> str:
    """Write JSON, with keys that occur twice."""
    if isinstance(node, Raw):
        return node
    if isinstance(node, Pairs):
        return "{" + ",".join(f"{encode(key)}:{dump(value)}" for key, value in node) + "}"
    if isinstance(node, list):
        return "[" + ",".join(map(dump, node)) + "]"
    return encode(node)


def pick(rng: Rng, options: list[Any]) -> Any:
    """Draw one of a list."""
    return options[rng.integers(len(options))]


def draw_stretch(data: bytearray, rng: Rng) -> tuple[int, int]:
    """Draw the begin and the end of a range of bytes; often near the start of the file, and usually short."""
    begin = int(rng.integers(len(data) if rng.random() < 0.5 else min(len(data), 2500)))
    return begin, min(len(data), begin + int(2 ** rng.uniform(0, 10)))


def change_bytes(data: bytearray, rng: Rng) -> bytearray:
    """Change a few bytes or bits."""
    for _ in range(rng.integers(1, 9)):
        place, _ = draw_stretch(data, rng)
        data[place] = data[place] ^ (1 << rng.integers(8)) if rng.random() < 0.5 else rng.integers(256)
    return data


def fill_stretch(data: bytearray, rng: Rng) -> bytearray:
    """Overwrite a range by one value."""
    begin, end = draw_stretch(data, rng)
    data[begin:end] = bytes([pick(rng, [0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x5B])]) * (end - begin)
    return data


def remove_stretch(data: bytearray, rng: Rng) -> bytearray:
    """Remove a range."""
    begin, end = draw_stretch(data, rng)
    del data[begin:end]
    return data


def insert_stretch(data: bytearray, rng: Rng) -> bytearray:
    """Insert random bytes or a copy of a range."""
    begin, end = draw_stretch(data, rng)
    piece = rng.bytes(end - begin) if rng.random() < 0.5 else bytes(data[begin:end])
    place, _ = draw_stretch(data, rng)
    data[place:place] = piece
    return data


def truncate(data: bytearray, rng: Rng) -> bytearray:
    """Remove the end of the file."""
    return data[: draw_stretch(data, rng)[0]]


def change_prologue(data: bytearray, rng: Rng) -> bytearray:
    """Write a wrong schema or a wrong size."""
    fields = list(PROLOGUE.unpack_from(data)) if len(data) >= PROLOGUE.size else [MAGIC, SCHEMA, 0, 0]
    place = int(rng.integers(1, 4))
    fields[place] = pick(rng, [0, 1, 2, len(data), fields[place] + 1, max(fields[place], 1) - 1, 2**31, 2**32 - 1])
    data[: PROLOGUE.size] = PROLOGUE.pack(*fields)
    return data


BYTEWISE: list[Callable[[bytearray, Rng], bytearray]] = [
    change_bytes, change_bytes, fill_stretch, remove_stretch, insert_stretch, truncate, change_prologue,
]  # fmt: skip


def list_containers(node: Any) -> list[Any]:
    """List all objects and lists of a header that are not empty."""
    if not isinstance(node, list) or not node:
        return []
    children = [value for _, value in node] if isinstance(node, Pairs) else node
    return [node, *(found for child in children for found in list_containers(child))]


def change_value(document: Document, rng: Rng) -> None:
    """Change a value of the header."""
    node = pick(rng, list_containers(document.header))
    place = rng.integers(len(node))
    old = node[place][1] if isinstance(node, Pairs) else node[place]
    new = pick(rng, pick(rng, [NUMBERS, NUMBERS, OTHERS, TEXTS]))
    if type(old) is int and rng.random() < 0.4:
        new = old + pick(rng, [-1, 1, 64, -64])
    if isinstance(old, str) and rng.random() < 0.5:
        new = pick(
            rng, [*DTYPES, old + "x", old[:-1], "MPBoostClassifier", "MPBoostRegressor", "os.system", "x" * 40_000]
        )
    node[place] = (node[place][0], new) if isinstance(node, Pairs) else new


def change_keys(document: Document, rng: Rng) -> None:
    """Remove, repeat, rename, add or move keys."""
    pairs = pick(rng, [node for node in list_containers(document.header) if isinstance(node, Pairs)])
    place, other = rng.integers(len(pairs), size=2)
    key, value = pairs[place]
    match rng.integers(5):
        case 0:
            del pairs[place]
        case 1:
            pairs.insert(other, (key, pairs[other][1]))
        case 2:
            pairs[place] = (pick(rng, [key + "x", key[1:], pairs[other][0], "", "__class__", "ensemble.edges"]), value)
        case 3:
            # No copies of values: with copies of copies it would take seconds just to write the file.
            pairs.extend((f"{key}{i}", pick(rng, [0, [], "x"])) for i in range(pick(rng, [1, 100, 3000])))
        case 4:
            pairs[place], pairs[other] = pairs[other], pairs[place]


def change_shape(document: Document, rng: Rng) -> None:
    """Change the type or shape of an array, often without changing its size in bytes."""
    table = document.table
    place = rng.integers(len(table))
    name, (dtype, *shape) = table[place]
    size = math.prod(shape) * DTYPES[dtype].itemsize if dtype in DTYPES and all(type(n) is int for n in shape) else 0
    dtype = pick(rng, list(DTYPES)) if rng.random() < 0.7 else dtype
    count = size // DTYPES[dtype].itemsize if dtype in DTYPES else 0
    shape = pick(
        rng,
        [[count], [count, 1], [1, count], [count // 2, 2], [0, 2**62], [2**62, 4], [-1, count], [], [1] * 40, shape],
    )
    table[place] = (name, [dtype, *shape])


def swap_arrays(document: Document, rng: Rng) -> None:
    """Swap two arrays: their contents, or their names."""
    table, blobs = document.table, document.blobs
    one, two = rng.integers(len(blobs), size=2)
    if rng.random() < 0.5 or max(one, two) >= len(table):
        blobs[one], blobs[two] = blobs[two], blobs[one]
    else:
        table[one], table[two] = (table[two][0], table[one][1]), (table[one][0], table[two][1])


def resize_array(document: Document, rng: Rng) -> None:
    """Make an array longer or shorter, and correct its shape in the header."""
    table = document.table
    place = rng.integers(min(len(table), len(document.blobs)))
    name, (dtype, *shape) = table[place]
    if dtype not in DTYPES or len(shape) != 1 or type(shape[0]) is not int or shape[0] > 10**6:
        return
    blob, item = document.blobs[place], DTYPES[dtype].itemsize
    count = max(0, shape[0] + int(pick(rng, [-1, 1, -shape[0], shape[0], 10, -10, 2000])))
    blob[:] = (blob + bytes(max(0, count * item - len(blob))))[: count * item]
    table[place] = (name, [dtype, count])


def change_entries(document: Document, rng: Rng) -> None:
    """Change entries of an array, often one of the trees, to values that may cause errors."""
    table, blobs = document.table, document.blobs
    trees = [place for place, (name, _) in enumerate(table) if name.startswith("ensemble.")]
    place = pick(rng, trees if trees and rng.random() < 0.5 else range(len(table)))
    dtype = DTYPES.get(str(table[place][1][0]) if isinstance(table[place][1], list) else "", np.dtype(np.uint8))
    if table[place][0] == "ensemble.splits" and rng.random() < 0.8:
        dtype = np.dtype("<i4")  # most fields of a split are indices
    blob = blobs[place]
    array = np.frombuffer(blob, dtype, len(blob) // dtype.itemsize)
    if array.size == 0:
        return
    begin = rng.integers(array.size)
    stretch = array[begin : begin + int(2 ** rng.uniform(0, 5))] if rng.random() < 0.5 else array
    match rng.integers(5):
        case 0:
            array[begin] = pick_entry(dtype, array.size, rng)
        case 1:
            stretch[:] = pick_entry(dtype, array.size, rng)
        case 2:
            rng.shuffle(stretch)
        case 3:
            stretch[:] = np.sort(stretch)[::-1] if rng.random() < 0.5 else stretch[::-1].copy()
        case 4:
            with np.errstate(all="ignore"):
                stretch += np.array(pick(rng, [0, 1]), dtype)


def pick_entry(dtype: np.dtype[Any], size: int, rng: Rng) -> Any:
    """Draw a value that may cause errors."""
    if dtype.kind == "f":
        values = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny, 0.5]
        return dtype.type(pick(rng, values))
    if dtype.kind == "b":
        return pick(rng, [False, True])
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    value = int(pick(rng, [0, 1, -1, size, size + 1, -size, low, high, rng.integers(size + 1)]))
    return max(low, min(high, value))


STRUCTURED: list[Callable[[Document, Rng], None]] = [
    change_value, change_keys, change_shape, swap_arrays, resize_array, change_entries, change_entries, change_entries,
]  # fmt: skip
