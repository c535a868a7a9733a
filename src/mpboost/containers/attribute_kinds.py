"""Kinds of attributes in a file: how each is written, read, and checked when read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost.containers.container import Arrays, ContainerError

#: A dimension: a number, or the name of a size ("n_features", "n_features+1"), which is the same in the whole file.
Dimension = int | str


class Rule(NamedTuple):
    """A condition that a value must meet, and its wording in errors."""

    holds: Callable[[Any], Any]
    wording: str


#: Maximum nesting of lists and dicts among the parameters; each level adds a dot to their names.
MAX_DEPTH = 10
#: The largest share: rounding may carry sums of floats a little above 1.
ONE = 1.0 + 1e-9

FINITE = Rule(lambda values: np.isfinite(values).all(), "must be finite")
FINITE_OR_NAN = Rule(lambda values: not np.isinf(values).any(), "must be finite, or NaN")
SHARE = Rule(lambda values: np.all((values >= 0) & (values <= ONE)), "must be between 0 and 1")
SCORE = Rule(
    lambda values: np.all((values >= 0) & (values <= ONE) | np.isnan(values)), "must be between 0 and 1, or NaN"
)
ASCENDING = Rule(lambda values: all(low < high for low, high in pairwise(values)), "must ascend")


def refuse(name: str, reason: str) -> NoReturn:
    """Raise an error about a part of a file."""
    raise ContainerError(f"its content is invalid: {name} {reason}.")


@dataclass
class Parts:
    """The parts of a model in a file, by name; reading a part removes it, so that none must be left at the end."""

    values: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Check whether there is a part of this name."""
        return name in self.values or any(key == name or key.startswith(name + ".") for key in self.arrays)

    def take_value(self, name: str) -> Any:
        """Read and remove a plain value."""
        if name not in self.values:
            refuse(name, "is missing")
        return read_plain(self, name, self.values.pop(name))

    def take_array(self, name: str, dtype: str | None, *shape: Dimension) -> NDArray[Any]:
        """Read and remove an array; check its type (None: any) and its shape."""
        if name not in self.arrays:
            refuse(name, "is missing")
        array = self.arrays.pop(name)
        if dtype is not None and array.dtype != dtype:
            refuse(name, f"has the type {array.dtype} instead of {dtype}")
        if array.ndim != len(shape):
            refuse(name, f"has {array.ndim} dimensions instead of {len(shape)}")
        for size, dimension in zip(array.shape, shape, strict=True):
            self.check_size(name, size, dimension)
        return array

    def check_size(self, name: str, size: int, dimension: Dimension) -> None:
        """Check a size against earlier ones of the same name; store it if it is the first."""
        if isinstance(dimension, str):
            extra = int(dimension.endswith("+1"))
            dimension = self.sizes.setdefault(dimension.removesuffix("+1"), size - extra) + extra
        if size != dimension:
            refuse(name, f"has the size {size}, but must have {dimension}")

    def take_offsets(self, name: str, end: int, *shape: Dimension) -> NDArray[np.int64]:
        """Read and remove offsets: where the stretches of another array begin, and its end."""
        offsets = self.take_array(name, "int64", *shape)
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
            refuse(name, "must ascend from 0 to the end")
        return offsets


class AttributeKind(Protocol):
    """How to write and read one kind of attribute."""

    def write(self, parts: Parts, name: str, value: Any) -> None:
        """Add a value to the parts."""

    def read(self, parts: Parts, name: str) -> Any:
        """Read a value, remove it from the parts, and check it."""


@dataclass(frozen=True)
class Field:
    """An attribute of a fitted model."""

    attribute: str
    kind: AttributeKind
    optional: bool = False

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.attribute.strip("_")


@dataclass(frozen=True)
class Plain:
    """None, a bool, a number, a string, or lists and dicts of these."""

    def write(self, parts: Parts, name: str, value: Any) -> None:
        """Add a value to the parts."""
        parts.values[name] = write_plain(parts, name, value)

    def read(self, parts: Parts, name: str) -> Any:
        """Read a value and remove it from the parts."""
        return parts.take_value(name)


@dataclass(frozen=True)
class Scalar(Plain):
    """A value of one type; a count may define a size, and may be limited by another."""

    type: type[Any]
    rule: Rule | None = None
    size: str | None = None
    at_most: str | None = None

    def read(self, parts: Parts, name: str) -> Any:
        """Read a value, remove it from the parts, and check it."""
        value = parts.take_value(name)
        if value.__class__ is not self.type:  # so that True is not an int
            refuse(name, f"must be of type {self.type.__name__}")
        if self.rule and not self.rule.holds(value):
            refuse(name, self.rule.wording)
        if self.size and value < 1:
            refuse(name, "must be at least 1")
        if self.at_most and value > parts.sizes[self.at_most]:
            refuse(name, f"must be at most {parts.sizes[self.at_most]}")
        if self.size:
            parts.check_size(name, value, self.size)
        return value


class Array:
    """An array of one type and shape."""

    def __init__(self, dtype: str, *shape: Dimension, rule: Rule | None = None):
        self.dtype = dtype
        self.shape = shape
        self.rule = rule

    def write(self, parts: Parts, name: str, value: NDArray[Any]) -> None:
        """Add a value to the parts."""
        parts.arrays[name] = value

    def read(self, parts: Parts, name: str) -> NDArray[Any]:
        """Read a value, remove it from the parts, and check it."""
        array = parts.take_array(name, self.dtype, *self.shape)
        if self.rule and not self.rule.holds(array):
            refuse(name, self.rule.wording)
        return array.copy()


class Decisions(Array):
    """An array with one value per class on its last axis; with two classes, a single value.

    If the array has rows, this single value has no axis of its own.
    """

    def read(self, parts: Parts, name: str) -> NDArray[Any]:
        """Read a value, remove it from the parts, and check it."""
        *rows, classes = self.shape
        shape = (rows or [1]) if parts.sizes[str(classes)] == 2 else self.shape
        return Array(self.dtype, *shape, rule=self.rule).read(parts, name)


@dataclass(frozen=True)
class Strings:
    """An array of strings: their concatenated UTF-8 bytes, and offsets."""

    size: Dimension

    def write(self, parts: Parts, name: str, value: Iterable[str]) -> None:
        """Add a value to the parts."""
        texts = [text.encode("utf-8", "surrogatepass") for text in value]
        parts.arrays[f"{name}.text"] = np.frombuffer(b"".join(texts), np.uint8)
        parts.arrays[f"{name}.offsets"] = np.cumsum([0, *map(len, texts)], dtype=np.int64)

    def read(self, parts: Parts, name: str) -> NDArray[np.object_]:
        """Read a value, remove it from the parts, and check it."""
        return np.array(self.read_list(parts, name), dtype=object)

    def read_list(self, parts: Parts, name: str) -> list[Any]:
        """Read the strings as a list."""
        text = parts.take_array(f"{name}.text", "uint8", f"bytes of {name}").tobytes()
        offsets = parts.take_offsets(f"{name}.offsets", len(text), f"length of {name}+1")
        parts.check_size(name, len(offsets) - 1, self.size)
        try:
            return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(offsets)]
        except UnicodeDecodeError:
            refuse(name, "is not encoded in UTF-8")


@dataclass(frozen=True)
class MixedValues:
    """A list of None, bools, numbers and strings, written as strings whose first letter is the type."""

    size: Dimension

    def write(self, parts: Parts, name: str, value: Iterable[Any]) -> None:
        """Add a value to the parts."""
        Strings(self.size).write(parts, name, [_spell(entry) for entry in value])

    def read(self, parts: Parts, name: str) -> list[Any]:
        """Read a value, remove it from the parts, and check it."""
        values = Strings(self.size).read_list(parts, name)
        for i, text in enumerate(values):  # in place, since a second list would need too much memory
            try:
                values[i] = _SPELLINGS[text[:1]](text[1:])
            except (KeyError, ValueError):
                refuse(name, f"has an invalid entry, {text[:20]!r}")
        return values


@dataclass(frozen=True)
class Labels:
    """An ascending array of labels: numbers or bools of any type, fixed-width strings, or Python objects."""

    size: Dimension

    def write(self, parts: Parts, name: str, value: NDArray[Any]) -> None:
        """Add a value to the parts."""
        if value.dtype.kind == "O":
            MixedValues(self.size).write(parts, name, value.tolist())
        elif value.dtype.kind == "U":
            # As code points, so that reading takes no more memory than the file, even if lengths differ much.
            parts.arrays[name] = value.astype(value.dtype.newbyteorder("<")).view("<u4").reshape(len(value), -1)
        elif value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            parts.arrays[name] = value
        else:
            raise TypeError(f"Labels of type {value.dtype} cannot be saved in a model file; use pickle or skops.")

    def read(self, parts: Parts, name: str) -> NDArray[Any]:
        """Read a value, remove it from the parts, and check it."""
        if name not in parts.arrays:
            values = MixedValues(self.size).read(parts, name)
            labels: NDArray[Any] = np.empty(len(values), dtype=object)
            labels[:] = values
        elif parts.arrays[name].ndim == 2:
            codes = parts.take_array(name, "uint32", self.size, f"width of {name}")
            if codes.size == 0 or codes.max() > 0x10FFFF:
                refuse(name, "are not strings")
            labels = codes.copy().view(f"<U{codes.shape[1]}")[:, 0]
        else:
            labels = parts.take_array(name, None, self.size).copy()
        try:
            if not ASCENDING.holds(labels):
                refuse(name, ASCENDING.wording)
        except TypeError:
            refuse(name, "cannot be compared with each other")
        return labels


@dataclass(frozen=True)
class Lists:
    """A list of which each entry is None or a list of None, bools, numbers and strings."""

    size: Dimension

    def write(self, parts: Parts, name: str, value: list[list[Any] | None]) -> None:
        """Add a value to the parts."""
        MixedValues(f"values of {name}").write(parts, name, [entry for entries in value for entry in entries or ()])
        parts.arrays[f"{name}.begins"] = np.cumsum([0, *(len(entries or ()) for entries in value)], dtype=np.int64)
        parts.arrays[f"{name}.present"] = np.array([entries is not None for entries in value], dtype=bool)

    def read(self, parts: Parts, name: str) -> list[list[Any] | None]:
        """Read a value, remove it from the parts, and check it."""
        present = parts.take_array(f"{name}.present", "bool", self.size)
        values = MixedValues(f"values of {name}").read(parts, name)
        begins = parts.take_offsets(f"{name}.begins", len(values), f"entries of {name}+1")
        parts.check_size(name, len(begins) - 1, self.size)
        if (np.diff(begins)[~present] != 0).any():
            refuse(name, "has values where it must have none")
        stretches = zip(pairwise(begins), present, strict=True)
        return [values[begin:end] if is_present else None for (begin, end), is_present in stretches]


class ObjectState:
    """An object, written as its state (``__getstate__``): one field per entry; optional entries may be None."""

    def __init__(self, cls: type[Any], *fields: Field):
        self.cls = cls
        self.fields = fields

    def write(self, parts: Parts, name: str, value: Any) -> None:
        """Add a value to the parts."""
        if type(value) is not self.cls:
            raise TypeError(
                "Only models of native trees can be saved in a model file. For other weak learners use skops, or "
                "pickle if everyone who loads the file trusts you."
            )
        state = value.__getstate__()
        for each in self.fields:
            if state[each.attribute] is not None or not each.optional:
                each.kind.write(parts, f"{name}.{each.name}", state[each.attribute])

    def read(self, parts: Parts, name: str) -> Any:
        """Read a value, remove it from the parts, and check it."""
        state = dict.fromkeys(each.attribute for each in self.fields)
        for each in self.fields:
            if parts.has(f"{name}.{each.name}") or not each.optional:
                state[each.attribute] = each.kind.read(parts, f"{name}.{each.name}")
        value = object.__new__(self.cls)
        try:
            if hasattr(value, "__setstate__"):
                value.__setstate__(state)
            else:
                vars(value).update(state)
        except ValueError as error:
            refuse(name, f"is invalid ({error})")
        return value


def write_plain(parts: Parts, name: str, value: Any) -> Any:
    """Convert a plain value to types that JSON has; lists become arrays, since they may be long."""
    value = value.tolist() if hasattr(value, "tolist") else value
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if np.isfinite(value) else {"float": str(value)}
        case list() | tuple() if all(
            isinstance(entry, None | bool | int | float | str | np.generic) for entry in value
        ):
            MixedValues(f"length of {name}").write(parts, name, value)
            return {"list": len(value)}
        case list() | tuple():
            return [write_plain(parts, f"{name}.{i}", entry) for i, entry in enumerate(value)]
        case dict():
            keys, values = list(value), list(value.values())
            return {"dict": [write_plain(parts, f"{name}.keys", keys), write_plain(parts, f"{name}.values", values)]}
    raise TypeError(f"{name}={value!r} cannot be saved in a model file; use pickle or skops.")


def read_plain(parts: Parts, name: str, value: Any) -> Any:
    """Convert a value that ``write_plain`` wrote back."""
    if name.count(".") > MAX_DEPTH:
        refuse(name[:100], "is nested too deeply")
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [read_plain(parts, f"{name}.{i}", entry) for i, entry in enumerate(value)]
        case {"float": "nan" | "inf" | "-inf" as text} if len(value) == 1:
            return float(text)
        case {"list": int(length)} if len(value) == 1:
            return MixedValues(length).read(parts, name)
        case {"dict": [keys, values]} if len(value) == 1:
            keys, values = read_plain(parts, f"{name}.keys", keys), read_plain(parts, f"{name}.values", values)
            if isinstance(keys, list) and isinstance(values, list) and len(keys) == len(values):
                try:
                    return dict(zip(keys, values, strict=True))
                except TypeError:
                    pass  # a key that is a list
    refuse(name, "is invalid")


def _spell(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    match value:
        case None:
            return "n"
        case bool():
            return f"b{value:d}"
        case int():
            return f"i{value}"
        case float():
            return f"f{value!r}"
        case str():
            return f"s{value}"
    raise TypeError(f"{value!r} cannot be saved in a model file; use pickle or skops.")


#: The inverse of ``_spell`` by first letter.
_SPELLINGS: dict[str, Callable[[str], Any]] = {
    "n": {"": None}.__getitem__,
    "b": {"0": False, "1": True}.__getitem__,
    "i": int,
    "f": float,
    "s": str,
}
