"""Ways to compare models."""

from dataclasses import fields, is_dataclass

import numpy as np

#: What depends on the names of features, or on how a fit came about, and not on what was learned.
UNLEARNED = {"feature_names_in_", "stop_reason_"}


def list_learned(model):
    """List all that a fit publishes, but for names."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name not in UNLEARNED}


def assert_equal_bytes(one, other):
    """Assert that two arrays, numbers, lists or records of these are the same to the last bit."""
    if is_dataclass(one):
        for each in fields(one):
            assert_equal_bytes(*(getattr(record, each.name) for record in (one, other)))
        return
    if isinstance(one, list):
        assert one == other
        return
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)
    assert one.dtype == object or one.tobytes() == other.tobytes()  # bytes of objects are their addresses


def assert_same_model(subject, one, other, X, other_X=None):
    """Assert that two models have learned the same, and say the same of X, to the last bit.

    ``other_X`` is X in the form that the other model is to read.
    """
    learned, others = list_learned(one), list_learned(other)
    assert learned.keys() == others.keys()
    for name, value in learned.items():
        assert_equal_bytes(value, others[name])
    for method in subject.predictions:
        assert_equal_bytes(getattr(one, method)(X), getattr(other, method)(X if other_X is None else other_X))
