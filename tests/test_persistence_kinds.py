"""Saved models of many classes, of colours and of numbers; test_persistence.py has those of two classes."""

import numpy as np
import pytest
from helpers import SMALL, make_integers
from model_files import assert_same, load_changed, read_parts, set_array, set_entry, set_value
from sklearn.base import clone

from mpboost import ModelFileError, MPBoostClassifier, MPBoostRegressor, load_model, save_model

#: Models of other kinds than of two classes, and how targets are made of whole numbers up to 118.
KINDS = {
    "many-classes": (MPBoostClassifier(**SMALL), lambda values: values // 24),
    "one-against-rest": (MPBoostClassifier(**SMALL, multiclass="mh"), lambda values: values // 24),
    "words": (MPBoostClassifier(**SMALL), lambda values: np.array(["ja", "nein", "身長"])[values // 40]),
    "objects": (MPBoostClassifier(**SMALL), lambda values: np.array(["", "a", "é"], dtype=object)[values // 40]),
    "200-classes": (MPBoostClassifier(**SMALL), lambda values: values % 200),
    "colours": (MPBoostClassifier(**SMALL, multiclass="oc"), lambda values: values // 24),
    "numbers": (MPBoostRegressor(**SMALL), lambda values: values / 7),
    "large-numbers": (
        MPBoostRegressor(**SMALL, weighting="threshold"),
        lambda values: np.where(values > 60, 1, -1e100),
    ),
    "same-numbers": (MPBoostRegressor(**SMALL), lambda values: np.full(len(values), -1e100)),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mpboost"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The parts of models as they are in the file, by kind."""
    path = tmp_path_factory.mktemp("saved") / "model"
    return {kind: read_parts(fit_kind(kind)[0], path) for kind in ("many-classes", "colours", "numbers")}


def fit_kind(kind):
    """Fit a model of another kind; give it, and X."""
    X, _ = make_integers()
    model, make_target = KINDS[kind]
    return clone(model).fit(X, make_target(X[:, 0] + X[:, 1])), X


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_model_is_the_same_for(path, kind):
    model, X = fit_kind(kind)
    save_model(model, path)
    assert_same(model, load_model(path), X)


def test_loaded_model_does_not_mind_that_a_parameter_was_changed_after_the_fit(path):
    model, X = fit_kind("colours")
    save_model(model.set_params(multiclass="margin", learning_rate=1.0), path)
    assert_same(model, load_model(path), X)


def make_one_class(header, arrays):
    arrays["classes"] = np.array([5])
    arrays["ranks"] = np.array([0], dtype=np.uint16)
    arrays["calibration.slopes"] = np.ones(1)
    arrays["oop_decision_function"] = np.zeros((300, 1))


CHANGES_OF_KINDS = [
    ("many-classes", make_one_class, "two at least"),
    ("many-classes", set_entry("ensemble.leaf_values", 0, 5.0), "classes that do not exist"),
    ("many-classes", set_entry("ensemble.leaf_values", 0, -1.0), "classes that do not exist"),
    ("many-classes", set_entry("ensemble.leaf_values", 0, 0.5), "classes that do not exist"),
    ("many-classes", set_entry("ensemble.leaf_values", 0, np.inf), "finite"),
    ("many-classes", set_entry("ranks", 0, 5), "permutation"),
    ("many-classes", set_array("ranks", np.arange(5)), "type int64"),
    ("many-classes", set_array("classes", np.arange(4)), "size 5"),
    ("many-classes", set_array("oop_decision_function", np.zeros(300)), "1 dimensions"),
    ("many-classes", set_array("oop_decision_function", np.zeros((300, 4))), "size 4"),
    ("many-classes", lambda header, arrays: header.update(estimator="MPBoostRegressor"), "weighting"),
    ("colours", lambda header, arrays: arrays.pop("colours"), "classes that do not exist"),
    ("colours", set_entry("colours", (3, 2), 0), "-1 or 1"),
    ("colours", set_array("colours", np.ones((25, 4), dtype=np.int8)), "size 4"),
    ("colours", set_array("colours", np.ones((24, 5), dtype=np.int8)), "size 24"),
    ("colours", set_array("colours", np.ones((25, 5))), "type float64"),
    ("numbers", set_entry("ensemble.leaf_values", 0, np.nan), "1e\\+100"),
    ("numbers", set_entry("ensemble.leaf_values", 0, -1e101), "1e\\+100"),
    ("numbers", set_entry("train_scores", 0, 1.1), "at most 1"),
    ("numbers", set_value("oop_score", 1.1), "at most 1"),
    ("numbers", set_entry("oop_prediction", 0, np.inf), "finite"),
    ("numbers", set_array("oop_prediction", np.zeros(299)), "size 299"),
    ("numbers", set_array("classes", [0, 1]), "classes is not known"),
    ("numbers", set_value("parameters.multiclass", "oc"), "multiclass is not known"),
    ("numbers", lambda header, arrays: header.update(estimator="MPBoostClassifier"), "weighting"),
]


@pytest.mark.parametrize(("kind", "change", "message"), CHANGES_OF_KINDS)
def test_load_refuses_of_kind(saved, path, kind, change, message):
    with pytest.raises(ModelFileError, match=message):
        load_changed(saved[kind], path, change)
