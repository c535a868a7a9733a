"""What tests of model files use: to read, change and compare them."""

import json

import numpy as np
from sklearn.base import is_classifier

from mpboost import load_model, save_model
from mpboost.model_files.container import read_container, write_container

from .helpers import describe_model


def read_parts(model, path):
    save_model(model, path)
    return read_container(path)


def load_changed(saved, path, change):
    """Load a file after a change of its header or arrays."""
    header, arrays = json.loads(json.dumps(saved[0])), {k: array.copy() for k, array in saved[1].items()}
    change(header, arrays)
    write_container(path, header, arrays)
    return load_model(path)


def assert_same(model, loaded, X):
    assert type(loaded) is type(model)
    assert describe_model(loaded) == describe_model(model)
    assert loaded.get_params() == model.get_params()
    for method in ("predict", "predict_proba", "decision_function")[: 3 if is_classifier(model) else 1]:
        before, after = getattr(model, method)(X), getattr(loaded, method)(X)
        assert before.dtype == after.dtype
        assert before.tolist() == after.tolist()


def set_value(name, value):
    return lambda header, arrays: header["values"].__setitem__(name, value)


def set_entry(name, place, value):
    return lambda header, arrays: arrays[name].__setitem__(place, value)


def set_array(name, array):
    return lambda header, arrays: arrays.__setitem__(name, np.asarray(array))
