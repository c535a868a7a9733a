"""Saved models of many classes, of colours and of numbers; test_model_file.py has those of two classes."""

import numpy as np
import pytest
from sklearn.base import clone

from mpboost import (
    ModelFileError,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    load_model,
    save_model,
)
from tests.support.helpers import SMALL, make_integers
from tests.support.model_files import assert_same, load_changed, read_parts, set_array, set_entry, set_value

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
    "gradient-of-two": (MPGradientBoostingClassifier(**SMALL, monotonic_cst={0: 1}), lambda values: values > 60),
    "gradient-of-classes": (
        MPGradientBoostingClassifier(**SMALL, interaction_cst=[[0, 1], [2]]),
        lambda values: values // 24,
    ),
    "gradient-of-numbers": (MPGradientBoostingRegressor(**SMALL, oop_size=0.3), lambda values: values / 7),
    "gradient-of-counts": (MPGradientBoostingRegressor(**SMALL, loss="poisson"), lambda values: values),
    "gradient-of-large-numbers": (
        MPGradientBoostingRegressor(**SMALL, leaf_refit=False),
        lambda values: np.where(values > 60, 1, -1e100),
    ),
    "gradient-of-same-numbers": (
        MPGradientBoostingRegressor(**SMALL, loss="absolute_error"),
        lambda values: np.full(len(values), -1e100),
    ),
    "gradient-without-oop": (
        MPGradientBoostingRegressor(**SMALL, oop_size=0, stopping=None, n_models=2),
        lambda values: values,
    ),
}


SAVED = "many-classes", "colours", "numbers", "gradient-of-two", "gradient-of-classes", "gradient-of-numbers"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mpb"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The parts of models as they are in the file, by kind."""
    path = tmp_path_factory.mktemp("saved") / "model"
    return {kind: read_parts(fit_kind(kind)[0], path) for kind in SAVED}


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


@pytest.mark.parametrize("kind", ["gradient-of-counts", "gradient-of-two"])
def test_predictions_do_not_mind_that_the_loss_was_changed_after_the_fit(kind):
    model, X = fit_kind(kind)
    expected = model.predict(X)
    model.set_params(loss=object())
    assert model.predict(X).tolist() == expected.tolist()


class OwnLoss:
    """A loss that a user wrote."""

    def gradient_hessian(self, y, raw):
        return raw - y, np.ones_like(raw)


def test_save_refuses_a_loss_of_the_users(path):
    X, y = make_integers()
    model = MPGradientBoostingRegressor(**SMALL, loss=OwnLoss()).fit(X, y)
    for loss in (model.loss, "squared_error"):  # what was learned is still what it is
        with pytest.raises(TypeError, match=r"loss=.*OwnLoss.*pickle or skops"):
            save_model(model.set_params(loss=loss), path)
    assert not path.exists()


def make_one_class(header, arrays):
    arrays["classes"] = np.array([5])
    arrays["ranks"] = np.array([0], dtype=np.uint16)
    arrays["calibration.slopes"] = np.ones(1)
    arrays["oop_decision_function"] = np.zeros((300, 1))


def widen_leaves(arrays, last):
    """Take columns from the values of leaves, or make a column of them."""
    values = arrays["ensemble.leaf_values"]
    arrays["ensemble.leaf_values"] = values[:, None].copy() if last is None else values[:, :last].copy()


CHANGES_OF_KINDS = [
    ("many-classes", make_one_class, "at least two"),
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
    ("numbers", set_array("classes", [0, 1]), "classes is unknown"),
    ("numbers", set_value("parameters.multiclass", "oc"), "multiclass is unknown"),
    ("numbers", lambda header, arrays: header.update(estimator="MPBoostClassifier"), "weighting"),
    ("gradient-of-two", set_array("baseline", np.zeros(2)), "size 2"),
    ("gradient-of-two", set_entry("baseline", 0, np.nan), "1e\\+200"),
    ("gradient-of-two", set_value("loss", "poisson"), "loss is unknown"),
    ("gradient-of-two", set_value("loss", None), "type str"),
    ("gradient-of-two", set_value("n_models", 0), "at least 1"),
    ("gradient-of-two", set_entry("targets", 0, 2), "classes that do not exist"),
    ("gradient-of-two", set_entry("observation_difficulty", 0, 1.1), "between 0 and 1"),
    ("gradient-of-two", set_entry("oop_losses", 0, np.inf), "finite"),
    ("gradient-of-two", lambda header, arrays: arrays.pop("oop_losses"), "missing"),
    ("gradient-of-two", set_array("ranks", [0, 1]), "ranks is unknown"),
    ("gradient-of-two", set_array("classes", np.arange(3)), "dimensions"),
    ("gradient-of-two", lambda header, arrays: header.update(estimator="MPGradientBoostingRegressor"), "learning_rate"),
    ("gradient-of-classes", set_entry("ensemble.leaf_values", (0, 0), np.inf), "1e\\+200"),
    ("gradient-of-classes", lambda header, arrays: widen_leaves(arrays, -1), "size 4"),
    ("gradient-of-classes", set_array("baseline", np.zeros(1)), "size 1"),
    ("gradient-of-numbers", set_entry("ensemble.leaf_values", 0, -1e201), "1e\\+200"),
    ("gradient-of-numbers", lambda header, arrays: widen_leaves(arrays, None), "dimensions"),
    ("gradient-of-numbers", set_value("loss", "log_loss"), "loss is unknown"),
    ("gradient-of-numbers", set_entry("oop_prediction", 0, np.inf), "finite"),
    ("gradient-of-numbers", lambda header, arrays: header.update(estimator="MPBoostRegressor"), "loss"),
]


@pytest.mark.parametrize(("kind", "change", "message"), CHANGES_OF_KINDS)
def test_load_refuses_of_kind(saved, path, kind, change, message):
    with pytest.raises(ModelFileError, match=message):
        load_changed(saved[kind], path, change)
