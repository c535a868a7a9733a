"""Facts from a model file, read without the model: the same as those of the model itself."""

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import mpboost
from mpboost import ModelFileError, load_model, save_model
from mpboost.containers.container import PROLOGUE
from mpboost.model_files.container import MAGIC, write_container
from mpboost.model_files.facts import HOMES, collect_facts, read_defaults, read_facts
from mpboost.model_files.model_file import ESTIMATORS
from tests.support.model_files import read_parts, set_array, set_value

GOLDEN = sorted(Path(__file__).parent.joinpath("golden").glob("*.mpb"))


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(80, 3))
    return mpboost.MPBoostClassifier(n_estimators=5, max_depth=2, class_weight={0: 1.0, 1: 2.0}, random_state=0).fit(
        X, (X[:, 0] > 0).astype(int)
    )


def assert_same_facts(path):
    read, expected = (dataclasses.asdict(each) for each in (read_facts(path), collect_facts(load_model(path))))
    np.testing.assert_equal(read, expected)
    assert list(read["parameters"]) == list(expected["parameters"])


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_facts_of_a_file_are_those_of_the_model(path):
    assert_same_facts(path)


def test_facts_of_a_file_have_parameters_of_any_kind(model, tmp_path):
    save_model(model, tmp_path / "model.mpb")
    assert read_facts(tmp_path / "model.mpb").parameters["class_weight"] == {0: 1.0, 1: 2.0}
    assert_same_facts(tmp_path / "model.mpb")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_defaults_from_the_source_are_those_of_the_signature(name):
    assert read_defaults(name) == ESTIMATORS[name]().get_params()
    assert HOMES[name] == inspect.getmodule(ESTIMATORS[name]).__name__


def damage_prologue(data):
    return PROLOGUE.pack(MAGIC, 99, 10, len(data)) + data[PROLOGUE.size :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"a,b\n1,2\n",
        lambda data: data[:-9],
        lambda data: data[:500] + bytes([data[500] ^ 1]) + data[501:],
        damage_prologue,
    ],
    ids=["empty", "table", "cut off", "damaged", "newer format"],
)
def test_facts_of_a_damaged_file_are_refused_like_the_model(model, tmp_path, damage):
    path = tmp_path / "model.mpb"
    save_model(model, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelFileError) as error:
        load_model(path)
    with pytest.raises(ModelFileError, match=f"^{re.escape(str(error.value))}$"):
        read_facts(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: header.__setitem__("estimator", "MPBoostRanker"),
        lambda header, arrays: header.__setitem__("more", 1),
        set_value("n_iter", "5"),
        set_value("oop_score", 1.5),
        set_value("parameters.new", 1),
        set_array("targets", np.full(80, 2, dtype=np.uint16)),
        lambda header, arrays: arrays.pop("feature_probabilities"),
    ],
    ids=["estimator", "header", "type", "score", "parameter", "targets", "missing array"],
)
def test_facts_of_a_forged_file_are_refused_like_the_model(model, tmp_path, change):
    path = tmp_path / "model.mpb"
    header, arrays = read_parts(model, path)
    change(header, arrays)
    write_container(path, header, arrays)
    with pytest.raises(ModelFileError) as error:
        load_model(path)
    with pytest.raises(ModelFileError, match=f"^{re.escape(str(error.value))}$"):
        read_facts(path)
