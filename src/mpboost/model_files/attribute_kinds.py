"""How the kinds of attributes of a model are kept in a file: each both written and read, and checked when read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost.model_files.container import Arrays, ModelFileError

#: A dimension: a number, or the name of a size ("n_features", "n_features+1") that must be the same wherever it occurs.
Dimension = int | str


class Rule(NamedTuple):
    """What must hold for a value."""

    holds: Callable[[Any], Any]
    wording: str


#: How deep lists and dicts among the parameters may be nested; their names grow by a dot each time.
MAX_DEPTH = 10
#: The largest share: sums of floats may end a little beyond 1.
ONE = 1.0 + 1e-9

FINITE = Rule(lambda values: np.isfinite(values).all(), "must be finite")
FINITE_OR_NAN = Rule(lambda values: not np.isinf(values).any(), "must be finite, or NaN")
SHARE = Rule(lambda values: np.all((values >= 0) & (values <= ONE)), "must be between 0 and 1")
SCORE = Rule(
    lambda values: np.all((values >= 0) & (values <= ONE) | np.isnan(values)), "must be between 0 and 1, or NaN"
)
ASCENDING = Rule(lambda values: all(low < high for low, high in pairwise(values)), "must ascend")


def refuse(name: str, reason: str) -> NoReturn:
    """Raise the error for a part of a file."""
    raise ModelFileError(f"it holds no valid model: {name} {reason}.")


@dataclass
class Parts:
    """What a file holds of a model, by name; parts that are read are taken out, so that none is left in the end."""

    values: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Tell whether there is anything of this name."""
        return name in self.values or any(key == name or key.startswith(name + ".") for key in self.arrays)

    def take_value(self, name: str) -> Any:
        """Take out a plain value."""
        if name not in self.values:
            refuse(name, "is missing")
        return read_plain(self, name, self.values.pop(name))

    def take_array(self, name: str, dtype: str | None, *shape: Dimension) -> NDArray[Any]:
        """Take out an array of a given type, None for any, and of a shape that fits with all others."""
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
        """Check a size against what is known of it; remember it if it is new."""
        if isinstance(dimension, str):
            extra = int(dimension.endswith("+1"))
            dimension = self.sizes.setdefault(dimension.removesuffix("+1"), size - extra) + extra
        if size != dimension:
            refuse(name, f"has the size {size}, but {dimension} is needed")

    def take_offsets(self, name: str, end: int, *shape: Dimension) -> NDArray[np.int64]:
        """Take out an array that tells where stretches of another one, up to its end, begin and end."""
        offsets = self.take_array(name, "int64", *shape)
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
            refuse(name, "must ascend from 0 to the end")
        return offsets


class AttributeKind(Protocol):
    """A kind of attribute."""

    def write(self, parts: Parts, name: str, value: Any) -> None:
        """Add a value to the parts."""

    def read(self, parts: Parts, name: str) -> Any:
        """Take a value out of the parts, or refuse it."""


@dataclass(frozen=True)
class Field:
    """An attribute of a fitted model."""

    attribute: str
    kind: AttributeKind
    optional: bool = False

    @property
    def name(self) -> str:
        """What it is called in the file."""
        return self.attribute.strip("_")


@dataclass(frozen=True)
class Plain:
    """None, a bool, a number, a string, or lists and dicts of these."""

    def write(self, parts: Parts, name: str, value: Any) -> None:
        """Add a value to the parts."""
        parts.values[name] = write_plain(parts, name, value)

    def read(self, parts: Parts, name: str) -> Any:
        """Take a value out of the parts."""
        return parts.take_value(name)


@dataclass(frozen=True)
class Scalar(Plain):
    """A value of one type; a count may give its name to a size, and have a limit among the sizes."""

    type: type[Any]
    rule: Rule | None = None
    size: str | None = None
    at_most: str | None = None

    def read(self, parts: Parts, name: str) -> Any:
        """Take a value out of the parts, or refuse it."""
        value = parts.take_value(name)
        if value.__class__ is not self.type:  # True is no integer
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
    """Numbers of one type, in a given shape."""

    def __init__(self, dtype: str, *shape: Dimension, rule: Rule | None = None):
        self.dtype = dtype
        self.shape = shape
        self.rule = rule

    def write(self, parts: Parts, name: str, value: NDArray[Any]) -> None:
        """Add a value to the parts."""
        parts.arrays[name] = value

    def read(self, parts: Parts, name: str) -> NDArray[Any]:
        """Take a value out of the parts, or refuse it."""
        array = parts.take_array(name, self.dtype, *self.shape)
        if self.rule and not self.rule.holds(array):
            refuse(name, self.rule.wording)
        return array.copy()


class Decisions(Array):
    """An array with a column for each class, or without rows an entry for each; of two classes a single one.

    Where there are rows, that single column has no axis of its own.
    """

    def read(self, parts: Parts, name: str) -> NDArray[Any]:
        """Take a value out of the parts, or refuse it."""
        *rows, classes = self.shape
        shape = (rows or [1]) if parts.sizes[str(classes)] == 2 else self.shape
        return Array(self.dtype, *shape, rule=self.rule).read(parts, name)


@dataclass(frozen=True)
class Strings:
    """An array of strings of any length: their UTF-8 bytes end to end, and where each begins."""

    size: Dimension

    def write(self, parts: Parts, name: str, value: Iterable[str]) -> None:
        """Add a value to the parts."""
        texts = [text.encode("utf-8", "surrogatepass") for text in value]
        parts.arrays[f"{name}.text"] = np.frombuffer(b"".join(texts), np.uint8)
        parts.arrays[f"{name}.offsets"] = np.cumsum([0, *map(len, texts)], dtype=np.int64)

    def read(self, parts: Parts, name: str) -> NDArray[np.object_]:
        """Take a value out of the parts, or refuse it."""
        return np.array(self.read_list(parts, name), dtype=object)

    def read_list(self, parts: Parts, name: str) -> list[Any]:
        """Take them out as a list."""
        text = parts.take_array(f"{name}.text", "uint8", f"bytes of {name}").tobytes()
        offsets = parts.take_offsets(f"{name}.offsets", len(text), f"length of {name}+1")
        parts.check_size(name, len(offsets) - 1, self.size)
        try:
            return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(offsets)]
        except UnicodeDecodeError:
            refuse(name, "is not encoded in UTF-8")


@dataclass(frozen=True)
class MixedValues:
    """A list of None, bools, numbers and strings, in any mixture: strings that begin with a letter for their type."""

    size: Dimension

    def write(self, parts: Parts, name: str, value: Iterable[Any]) -> None:
        """Add a value to the parts."""
        Strings(self.size).write(parts, name, [_spell(entry) for entry in value])

    def read(self, parts: Parts, name: str) -> list[Any]:
        """Take a value out of the parts, or refuse it."""
        values = Strings(self.size).read_list(parts, name)
        for i, text in enumerate(values):  # in place: a second list would cost more memory than the file is worth
            try:
                values[i] = _SPELLINGS[text[:1]](text[1:])
            except (KeyError, ValueError):
                refuse(name, f"has an entry that means nothing, {text[:20]!r}")
        return values


@dataclass(frozen=True)
class Labels:
    """An array of labels, ascending: numbers or bools of any type, strings of a fixed width, or Python objects."""

    size: Dimension

    def write(self, parts: Parts, name: str, value: NDArray[Any]) -> None:
        """Add a value to the parts."""
        if value.dtype.kind == "O":
            MixedValues(self.size).write(parts, name, value.tolist())
        elif value.dtype.kind == "U":
            # The code points of each: no more memory when read than in the file, however much the lengths differ.
            parts.arrays[name] = value.astype(value.dtype.newbyteorder("<")).view("<u4").reshape(len(value), -1)
        elif value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            parts.arrays[name] = value
        else:
            raise TypeError(f"Labels of type {value.dtype} have no place in a model file; use pickle or skops.")

    def read(self, parts: Parts, name: str) -> NDArray[Any]:
        """Take a value out of the parts, or refuse it."""
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
    """A list with an entry per feature, or the like: None, or a list of None, bools, numbers and strings."""

    size: Dimension

    def write(self, parts: Parts, name: str, value: list[list[Any] | None]) -> None:
        """Add a value to the parts."""
        MixedValues(f"values of {name}").write(parts, name, [entry for entries in value for entry in entries or ()])
        parts.arrays[f"{name}.begins"] = np.cumsum([0, *(len(entries or ()) for entries in value)], dtype=np.int64)
        parts.arrays[f"{name}.present"] = np.array([entries is not None for entries in value], dtype=bool)

    def read(self, parts: Parts, name: str) -> list[list[Any] | None]:
        """Take a value out of the parts, or refuse it."""
        present = parts.take_array(f"{name}.present", "bool", self.size)
        values = MixedValues(f"values of {name}").read(parts, name)
        begins = parts.take_offsets(f"{name}.begins", len(values), f"entries of {name}+1")
        parts.check_size(name, len(begins) - 1, self.size)
        if (np.diff(begins)[~present] != 0).any():
            refuse(name, "has entries where there should be none")
        stretches = zip(pairwise(begins), present, strict=True)
        return [values[begin:end] if is_present else None for (begin, end), is_present in stretches]


class ObjectState:
    """An object, by the dict that pickle would be given of it: a field for each of its entries, None if optional."""

    def __init__(self, cls: type[Any], *fields: Field):
        self.cls = cls
        self.fields = fields

    def write(self, parts: Parts, name: str, value: Any) -> None:
        """Add a value to the parts."""
        if type(value) is not self.cls:
            raise TypeError(
                "Only models of native trees can be saved in a model file. For those with another weak learner use "
                "pickle, if all who load it trust you, or skops."
            )
        state = value.__getstate__()
        for each in self.fields:
            if state[each.attribute] is not None or not each.optional:
                each.kind.write(parts, f"{name}.{each.name}", state[each.attribute])

    def read(self, parts: Parts, name: str) -> Any:
        """Take a value out of the parts, or refuse it."""
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
            refuse(name, f"is wrong ({error})")
        return value


def write_plain(parts: Parts, name: str, value: Any) -> Any:
    """Turn a plain value into what JSON has; lists become arrays, since they may be long."""
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
    raise TypeError(f"{name}={value!r} has no place in a model file; use pickle or skops.")


def read_plain(parts: Parts, name: str, value: Any) -> Any:
    """Turn back what ``write_plain`` made."""
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
    refuse(name, "cannot be understood")


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
    raise TypeError(f"{value!r} has no place in a model file; use pickle or skops.")


#: The inverse of ``_spell`` by first letter.
_SPELLINGS: dict[str, Callable[[str], Any]] = {
    "n": {"": None}.__getitem__,
    "b": {"0": False, "1": True}.__getitem__,
    "i": int,
    "f": float,
    "s": str,
}
