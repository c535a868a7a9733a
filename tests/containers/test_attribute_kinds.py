"""The kinds of values that a model file holds: they pass through a file unchanged, or are refused."""

import json
import math

import numpy as np
import pytest

from mpboost.containers.attribute_kinds import (
    Array,
    Decisions,
    Field,
    Labels,
    Lists,
    MixedValues,
    ObjectState,
    Parts,
    Plain,
)
from mpboost.containers.container import ContainerError


def pass_through(kind, value):
    parts = Parts()
    kind.write(parts, "name", value)
    parts = Parts(json.loads(json.dumps(parts.values, allow_nan=False)), parts.arrays)
    result = kind.read(parts, "name")
    assert not parts.values
    assert not parts.arrays
    return result


PLAIN_VALUES = [
    *(None, True, 0, -(2**70), 0.1, -0.0, 1e308, math.inf, -math.inf, "", "\ud800é"),
    *([], [1, 2.5, "a", None, True, "\ud800"], ["1", ""] * 5000, [[1, 2], []], [[]]),
    *({}, {"a": 1}, {0: 0.5, 1: 2.0}, {"a": [1], "b": {"c": None}}, [{"x": 1}]),
]


@pytest.mark.parametrize("value", PLAIN_VALUES, ids=lambda value: repr(value)[:30].encode("ascii", "replace").decode())
def test_plain_values_pass_through_a_file(value):
    result = pass_through(Plain(), value)
    assert repr(result) == repr(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [((1, 2), [1, 2]), (np.float32(0.5), 0.5), (np.array([1, 2]), [1, 2]), ([np.int8(3)], [3])],
    ids=["tuple", "numpy-scalar", "array", "list-of-numpy"],
)
def test_plain_values_become_those_of_python(value, expected):
    assert repr(pass_through(Plain(), value)) == repr(expected)


def test_plain_values_may_be_nan():
    assert math.isnan(pass_through(Plain(), math.nan))


@pytest.mark.parametrize(
    "value", [object(), {1}, 1j, [object()], {"a": b""}], ids=["object", "set", "complex", "list of objects", "bytes"]
)
def test_plain_values_exclude_other_objects(value):
    with pytest.raises(TypeError, match="pickle or skops"):
        pass_through(Plain(), value)


def test_lists_pass_through_a_file():
    value = [None, ["a", "", 1, 2.5, True, None], [], None]
    assert repr(pass_through(Lists(4), value)) == repr(value)


def test_lists_refuse_entries_where_there_is_none():
    parts = Parts()
    Lists(2).write(parts, "name", [[1, 2], [3]])
    parts.arrays["name.present"][0] = False
    with pytest.raises(ContainerError, match="where it must have none"):
        Lists(2).read(parts, "name")


@pytest.mark.parametrize("text", ["", "x", "b2", "n1", "ix", "f", "i" + "9" * 5000], ids=lambda text: text[:5])
def test_values_refuse_what_means_nothing(text):
    parts = Parts(
        arrays={"name.text": np.frombuffer(text.encode(), np.uint8), "name.offsets": np.array([0, len(text)])}
    )
    with pytest.raises(ContainerError, match="invalid entry"):
        MixedValues(1).read(parts, "name")


def test_labels_that_cannot_be_compared_are_refused():
    parts = Parts()
    MixedValues(2).write(parts, "name", [1, "a"])
    with pytest.raises(ContainerError, match="cannot be compared"):
        Labels(2).read(parts, "name")


@pytest.mark.parametrize("dtype", ["complex64", "datetime64[s]", "S3", np.longdouble], ids=str)
def test_labels_of_other_types_are_refused_when_saving(dtype):
    with pytest.raises(TypeError, match="pickle or skops"):
        Labels(2).write(Parts(), "name", np.zeros(2, dtype=dtype))


@pytest.mark.parametrize(("n_classes", "shape"), [(2, (5,)), (3, (5, 3))], ids=["two", "three"])
def test_decisions_have_a_column_per_class_but_for_two(n_classes, shape):
    kind = Decisions("float64", "n_samples", "n_classes")
    for other in ((5,), (5, 2), (5, 3)):
        parts = Parts(arrays={"name": np.zeros(other)}, sizes={"n_classes": n_classes})
        if other == shape:
            assert kind.read(parts, "name").shape == shape
        else:
            with pytest.raises(ContainerError, match=r"dimensions|size"):
                kind.read(parts, "name")


@pytest.mark.parametrize(("n_classes", "size"), [(2, 1), (3, 3)])
def test_decisions_without_rows_have_an_entry_for_each_class_but_one_for_two(n_classes, size):
    kind = Decisions("float64", "n_classes")
    for other in (1, 2, 3):
        parts = Parts(arrays={"name": np.zeros(other)}, sizes={"n_classes": n_classes})
        if other == size:
            assert kind.read(parts, "name").shape == (size,)
        else:
            with pytest.raises(ContainerError, match="size"):
                kind.read(parts, "name")


class Curve:
    """Stands for an object of a model, without a way of its own to be pickled."""

    def __init__(self, parameters):
        self.parameters = parameters


def test_state_keeps_objects():
    kind = ObjectState(Curve, Field("parameters", Array("float64", "n")))
    assert pass_through(kind, Curve(np.array([1.0, 2.0]))).parameters.tolist() == [1.0, 2.0]


def test_fields_are_called_as_in_python_without_underscores():
    assert Field("learning_rate_", Plain()).name == "learning_rate"
    assert Field("oop_scores_", Plain()).name == "oop_scores"
