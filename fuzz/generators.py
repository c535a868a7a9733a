"""Makes values, arrays, sparse matrices and other objects that somebody might pass as a table."""

import datetime
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

Rng = np.random.Generator
#: Makes a table of some rows and columns, or an object that looks like one.
Maker = Callable[[Rng, int, int], Any]

NUMBERS = "?bhilqBHILQefdg"
SPECIAL = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, -0.0, 2.0**63, 2.0**64, -(2.0**63), 65520.0, 1e39]
WORDS = ["a", "b", "", "nan", "1", "1.5", "é", "\0", "\ud800", "x" * 300, "0", "True", " a"]


class LieError(Exception):
    """Raised by objects that are made to fail; mpboost may let it pass."""


def pick(rng: Rng, options: Sequence[Any]) -> Any:
    """Draw one of some options."""
    return options[int(rng.integers(len(options)))]


def chance(rng: Rng, share: float) -> bool:
    """Return True with this probability."""
    return bool(rng.random() < share)


def pick_some(rng: Rng, options: Sequence[Any], size: int) -> list[Any]:
    """Draw ``size`` values from a few options, so that values repeat."""
    few = [pick(rng, options) for _ in range(int(rng.integers(1, 6)))]
    return [few[index] for index in rng.integers(len(few), size=size)]


# Numbers.


def draw_numbers(rng: Rng, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Draw numbers of one of many kinds, sometimes with special values."""
    kind = int(rng.integers(8))
    if kind < 3:
        numbers = rng.normal(size=shape)
    elif kind < 5:
        numbers = rng.integers(-3, 4, size=shape).astype(float)
    elif kind == 5:
        numbers = np.full(shape, pick(rng, SPECIAL))
    elif kind == 6:
        numbers = rng.normal(size=shape) * pick(rng, [1e308, 5e-324, 1e-310, 1e18, 1e-30])
    else:
        numbers = rng.choice(np.array(SPECIAL), size=shape)
    if chance(rng, 0.4):
        numbers = np.where(rng.random(shape) < rng.random() ** 2, pick(rng, SPECIAL), numbers)
    return numbers


def convert(numbers: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Convert numbers to another type; overflows are ignored."""
    with np.errstate(all="ignore"):
        return numbers.astype(dtype)


def draw_objects(rng: Rng, size: int) -> list[Any]:
    """Draw Python objects of one or two kinds."""
    kinds: list[list[Any]] = [
        [0, 1, 2, 3],
        [0.5, 1.5, -2.0],
        [*SPECIAL],
        [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT")],
        WORDS,
        [True, False, np.True_],
        [np.float32(1.5), np.int8(3), np.uint64(2**64 - 1), np.longdouble("1e4000"), np.float16(2)],
        [2**63, -(2**63) - 1, 2**64, 10**400, -(10**400)],
        [Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999"), Fraction(1, 3), Fraction(10**400, 3)],
        [1j, complex("nan")],
        [b"a", b"\xff", b"1"],
        [[1], [1, 2], (), {}, {"a": 1}, {1}],
        [datetime.date(2020, 1, 1), datetime.datetime(1, 1, 1), datetime.timedelta(1), pd.Timestamp(0)],
        [pd.Period("2020"), pd.Interval(0, 1), np.str_("a"), np.bytes_(b"a")],
        [object(), len, int, Ellipsis, NotImplemented, np.array([1, 2]), np.array(1.0)],
        [Liar("float"), Liar("eq"), Liar("hash"), Liar("str"), Liar("bool"), Liar("len")],
    ]
    chosen = [kind for _ in range(int(rng.integers(1, 3))) for kind in pick(rng, kinds)]
    return pick_some(rng, chosen, size)


class Liar:
    """An object with a method that fails."""

    def __init__(self, method: str):
        self._method = method

    def _fail(self, method: str, otherwise: Any) -> Any:
        if self._method == method:
            raise LieError(method)
        return otherwise

    def __float__(self) -> float:
        return self._fail("float", 1.0)

    def __eq__(self, other: object) -> bool:
        return self._fail("eq", self is other)

    def __hash__(self) -> int:
        return self._fail("hash", 1)

    def __str__(self) -> str:
        return self._fail("str", "liar")

    def __bool__(self) -> bool:
        return self._fail("bool", True)

    def __len__(self) -> int:
        return self._fail("len", 1)


# Arrays.


def make_array(rng: Rng, n_rows: int, n_columns: int) -> NDArray[Any]:
    """Make an array of numbers, in any memory layout."""
    return lay_out(rng, convert(draw_numbers(rng, (n_rows, n_columns)), pick(rng, NUMBERS)))


def make_floats(rng: Rng, n_rows: int, n_columns: int) -> NDArray[Any]:
    """Make a plain array of numbers."""
    return rng.normal(size=(n_rows, n_columns)).round(1).astype(pick(rng, "fd"))


def make_huge_integers(rng: Rng, n_rows: int, n_columns: int) -> NDArray[Any]:
    """Make an array of integers at the ends of their range."""
    dtype = np.dtype(pick(rng, "bhilqBHILQ"))
    ends = np.iinfo(dtype)
    return rng.choice(np.array([ends.min, ends.max, ends.max - 1, ends.min + 1, 0], dtype=dtype), (n_rows, n_columns))


def make_other_array(rng: Rng, n_rows: int, n_columns: int) -> NDArray[Any]:
    """Make an array of values that are not real numbers."""
    shape = n_rows, n_columns
    dtype = pick(rng, ["F", "D", "G", "M8[ns]", "M8[D]", "m8[s]", "m8", "S3", "U3", "V4", "T", "record", "subarray"])
    if dtype == "record":
        fields = [("x", pick(rng, NUMBERS)), ("y", pick(rng, ["f8", "U2", "O"]))]
        return np.zeros(pick(rng, [n_rows, shape]), dtype=fields).view(pick(rng, [np.ndarray, np.recarray]))
    if dtype == "subarray":
        return np.zeros(n_rows, dtype=[("x", "f4", (n_columns,))])
    integers = rng.integers(-2, 3, size=shape)
    if dtype == "V4":
        return integers.astype(np.int32).view("V4")
    if dtype == "T":
        missing = {"na_object": pick(rng, [None, np.nan])} if chance(rng, 0.5) else {}
        return integers.astype("U3").astype(np.dtypes.StringDType(**missing))
    return lay_out(rng, integers.astype(dtype) if dtype[0] in "SUm" else convert(draw_numbers(rng, shape), dtype))


def make_objects(rng: Rng, n_rows: int, n_columns: int) -> NDArray[Any]:
    """Make an array of objects, column by column."""
    array = draw_numbers(rng, (n_rows, n_columns)).astype(object)
    for column in np.flatnonzero(rng.random(n_columns) < pick(rng, [0.0, 0.1, 0.5])):
        for row, value in enumerate(draw_objects(rng, n_rows)):
            array[row, column] = value
    if chance(rng, 0.3):
        array[rng.random(array.shape) < 0.1] = None
    return lay_out(rng, array) if chance(rng, 0.3) else array


def lay_out(rng: Rng, array: NDArray[Any]) -> NDArray[Any]:
    """Change the memory layout of an array, or convert it to another class."""
    kind = int(rng.integers(14))
    if kind == 0:
        return np.asfortranarray(array)
    if kind == 1:
        return np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3]
    if kind == 2:
        return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
    if kind == 3 and array.size:
        return np.broadcast_to(array[: pick(rng, [1, len(array)]), :1], array.shape)
    if kind == 4:
        array.flags.writeable = False
    if kind == 5 and not array.dtype.hasobject:
        return _misalign(array)
    if kind == 6:
        return array.astype(array.dtype.newbyteorder())
    if kind == 7 and array.size and not array.dtype.hasobject and array.dtype.kind != "T":
        with tempfile.TemporaryFile() as file:
            array.tofile(file)
            return np.memmap(file, dtype=array.dtype, mode=pick(rng, ["r", "r+", "c"]), shape=array.shape)
    if kind == 8 and array.dtype.kind != "T":
        return np.matrix(array)
    if kind == 9 and array.dtype.kind not in "TV":
        return np.ma.MaskedArray(array, mask=rng.random(array.shape) < 0.2)
    if kind == 10 and chance(rng, 0.5):
        return pick(rng, [array[..., None], array.ravel(), array[:, :1].ravel(), array[:0], array[None, None]])
    if kind == 11 and not array.dtype.hasobject and array.dtype.kind != "T":
        record = np.zeros(array.shape, dtype={"names": ["x"], "formats": [array.dtype], "itemsize": array.itemsize + 1})
        record["x"] = array
        return record["x"]
    return array


def _misalign(array: NDArray[Any]) -> NDArray[Any]:
    memory = np.zeros(array.nbytes + 1, dtype=np.uint8)
    moved = memory[1:].view(array.dtype) if array.nbytes else array.ravel()
    moved[...] = array.ravel()
    return moved.reshape(array.shape)


# Sparse matrices.

FORMATS = ["csr", "csc", "csr", "csc", "coo", "bsr", "dia", "dok", "lil"]


def make_sparse(rng: Rng, n_rows: int, n_columns: int) -> Any:
    """Make a sparse matrix or array of any format, valid or damaged."""
    numbers = draw_numbers(rng, (n_rows, n_columns))
    numbers[rng.random(numbers.shape) < rng.random()] = 0
    make = pick(rng, [sparse.coo_array, sparse.coo_matrix])
    matrix = make(convert(numbers, pick(rng, "?bhilqBHILQfdgFD")))
    if chance(rng, 0.3):  # duplicate cells, unsorted, with zeros
        order = rng.integers(max(matrix.nnz, 1), size=2 * matrix.nnz)
        matrix = make((matrix.data[order] * 0, (matrix.row[order], matrix.col[order])), shape=matrix.shape)
    matrix = matrix.asformat(pick(rng, FORMATS))
    if chance(rng, 0.2) and matrix.format in ("csr", "csc"):
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    if chance(rng, 0.25):
        damage(rng, matrix)
    elif chance(rng, 0.05):
        return sparse.coo_array(pick(rng, [numbers[:, 0] if n_columns else np.zeros(3), numbers[..., None]]))
    return matrix


def damage(rng: Rng, matrix: Any) -> None:
    """Write wrong values into the arrays of a sparse matrix."""
    wrong = pick(rng, [-1, 10**6, 2**31 - 1, -(2**31), 1, 0, matrix.shape[0], matrix.shape[1]])
    parts = {
        "csr": ["indptr", "indices", "data"],
        "csc": ["indptr", "indices", "data"],
        "bsr": ["indptr", "indices", "data"],
        "coo": ["row", "col", "data"],
        "dia": ["offsets", "data"],
    }.get(matrix.format)
    if parts is None:
        _damage_lists(rng, matrix, wrong)
        return
    part = getattr(matrix, name := pick(rng, parts))
    if chance(rng, 0.3):
        changed = pick(rng, [part[:-1], part[:0], np.concatenate([part, part]), part.astype(float), part[..., None]])
        if matrix.format == "coo" and name != "data":  # row and col are views there
            coords = (changed, matrix.col) if name == "row" else (matrix.row, changed)
            matrix.coords = coords
        else:
            setattr(matrix, name, changed)
    elif part.size:
        part.flat[int(rng.integers(part.size))] = wrong if name != "data" else 7
    if chance(rng, 0.3):
        matrix.has_canonical_format = matrix.has_sorted_indices = True


def _damage_lists(rng: Rng, matrix: Any, wrong: int) -> None:
    if matrix.format == "dok":
        matrix._dict[(wrong, pick(rng, [0, wrong]))] = pick(rng, [1.0, "a", None])
        return
    rows = [row for row in range(matrix.shape[0]) if matrix.rows[row]]
    if rows:
        row = pick(rng, rows)
        pick(rng, [matrix.rows, matrix.data])[row].append(wrong)
        if chance(rng, 0.5):
            matrix.rows[row][0] = wrong


# Lists, and objects that are not tables.


def make_lists(rng: Rng, n_rows: int, n_columns: int) -> Any:
    """Make lists of lists, of tuples, of arrays and so on; sometimes rows differ in length."""
    rows = draw_numbers(rng, (n_rows, n_columns)).tolist()
    if has_objects := chance(rng, 0.2):
        rows = [list(row) for row in np.atleast_2d(make_objects(rng, n_rows, n_columns))]
    if chance(rng, 0.1) and rows:
        pick(rng, rows).append(pick(rng, [0.0, None, [1.0]]))
    kind = int(rng.integers(6))
    if kind == 0:
        return [tuple(row) for row in rows]
    if kind == 1:
        return tuple(rows)
    if kind == 2:
        return deque(rows)
    if kind == 3 and not has_objects:
        return [np.array(row, dtype=object if any(isinstance(cell, list) for cell in row) else None) for row in rows]
    return rows


class Pretender:
    """An object that looks like an array, and fails or returns something else."""

    shape = (10, 3)
    dtype = np.dtype("f8")
    ndim = 2

    def __init__(self, answer: Any):
        self._answer = answer

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def __len__(self) -> int:
        return 10


class Silent:
    """An object that fails when any attribute is read."""

    def __getattr__(self, name: str) -> Any:
        raise LieError(name)


def make_nonsense(rng: Rng, n_rows: int, n_columns: int) -> Any:
    """Make an object that is not a table, or an unusual one."""
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = 1.0
    for _ in range(int(rng.choice([3, 40, 500]))):
        deep = [deep]
    numbers = rng.normal(size=(n_rows, n_columns))
    plain = [None, 5, 1.5, "abc", b"abc", True, object(), len, dict, set(), range(n_rows), iter([1]), Ellipsis]
    return pick(
        rng,
        [
            *plain,
            (row for row in numbers),
            {"a": [1, 2], "b": [3, 4]},
            {0: numbers},
            {1, 2},
            frozenset({(1, 2)}),
            [],
            [[]],
            [[], []],
            [None],
            [[None]],
            [[[1.0]]],
            [[1], [1, 2]],
            [{"a": 1}, {"a": 2}],
            [1, [2]],
            endless,
            deep,
            memoryview(numbers),
            memoryview(b"abc"),
            bytearray(b"abc"),
            numbers.tolist if n_rows else None,
            Pretender(LieError("no array")),
            Pretender(numbers),
            Pretender(numbers[:1]),
            Pretender(numbers.tolist()),
            Pretender(None),
            Pretender(np.array(None)),
            Silent(),
            Liar("len"),
            np.float64(1.0),
            np.array(3),
            np.empty((0, 0)),
            np.empty((3, 0, 2)),
            [numbers, numbers],
            [np.array(1.0)] * max(n_rows, 1),
        ],
    )
