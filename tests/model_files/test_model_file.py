"""Saved models: the same after loading, in every respect; and refused where anything in the file does not fit."""

import json
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from mpboost import ModelFileError, MPBoostClassifier, load_model, save_model
from mpboost.containers.attribute_kinds import Parts, Plain, Strings
from mpboost.model_files.container import SCHEMA, read_container, write_container
from mpboost.model_files.model_file import FIELDS
from tests.support.helpers import SMALL, StopAt, describe_model, make_integers
from tests.support.model_files import assert_same, load_changed, read_parts, set_array, set_entry, set_value

GOLDEN = Path(__file__).parent / "golden"
LABELS = {
    "int": np.array([-7, 3]),
    "uint8": np.array([0, 255], dtype=np.uint8),
    "uint64": np.array([2, 2**64 - 1], dtype=np.uint64),
    "float": np.array([-1.0, 1.0]),
    "float32": np.array([0.0, 2.0], dtype=np.float32),
    "bool": np.array([False, True]),
    "str": np.array(["ja", "nein, 身長"]),
    "object": np.array(["", "ja"], dtype=object),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mpb"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The parts of a model with names, as they are in the file."""
    X, y = make_integers()
    path = tmp_path_factory.mktemp("saved") / "model"
    named = MPBoostClassifier(**SMALL).fit(pd.DataFrame(X, columns=list("abcde")), y)
    return read_parts(named, path)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_loaded_model_is_the_same_for_labels_of(path, labels):
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X, labels[y])
    save_model(model, path)
    assert_same(model, load_model(path), X)


def test_loaded_model_is_the_same_with_names_and_missing_values(path):
    X, y = make_integers()
    X = pd.DataFrame(X, columns=["age", "größe", "", "5", "x" * 1000]).astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = MPBoostClassifier(**SMALL).fit(X, y)
    save_model(model, str(path))
    assert_same(model, load_model(str(path)), X)
    assert load_model(path).feature_names_in_.dtype == object
    with pytest.raises(ValueError, match="feature names"):
        load_model(path).predict(X[X.columns[::-1]])


@pytest.mark.parametrize(
    "parameters",
    [
        {"stopping": None, "max_samples": 300},  # no out-of-patch score
        {"weighting": "hard_exponential", "learning_rate": 0.1, "importance": "permutation"},
        {"max_depth": np.int64(2), "max_features": np.float32(0.5), "n_jobs": -1, "verbose": False},
        {"n_estimators": 1, "min_samples_leaf": 200},  # a tree without splits
        {"warm_start": True},
    ],
    ids=["no-oop", "other-loss", "numpy-parameters", "one-leaf", "warm-start"],
)
def test_loaded_model_is_the_same_with(path, parameters):
    X, y = make_integers()
    model = MPBoostClassifier(**{**SMALL, **parameters}).fit(X, y)
    save_model(model, path)
    assert_same(model, load_model(path), X)


def test_loaded_model_owns_its_arrays(path):
    X, y = make_integers()
    save_model(MPBoostClassifier(**SMALL).fit(X, y), path)
    loaded = load_model(path)
    arrays = [value for value in vars(loaded).values() if isinstance(value, np.ndarray)]
    assert len(arrays) >= 7
    assert all(array.flags.writeable for array in arrays)


def test_loaded_model_can_be_saved_fitted_and_pickled(path):
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X, y)
    save_model(model, path)
    first = path.read_bytes()
    loaded = load_model(path)
    save_model(loaded, path)
    assert path.read_bytes() == first
    assert describe_model(loaded.fit(X, y)) == describe_model(model)
    assert joblib.hash(loaded) == joblib.hash(load_model(path))


def test_parameters_that_are_objects_become_none(path):
    X, y = make_integers()
    parameters = {**SMALL, "callbacks": [StopAt(5)], "random_state": np.random.RandomState(0)}
    model = MPBoostClassifier(**parameters).fit(X, y)
    save_model(model, path)
    loaded = load_model(path)
    assert loaded.callbacks is None
    assert loaded.random_state is None
    assert loaded.decision_function(X).tolist() == model.decision_function(X).tolist()


OF_THE_COMMAND_LINE = {"target_name_", "table_habits_"}


def test_every_attribute_of_a_fit_has_a_field():
    X, y = make_integers()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(f=pd.Categorical(np.where(y, "u", "v")))
    model = MPBoostClassifier(**SMALL).fit(frame, y, X_val=frame, y_val=y)
    attributes = {field.attribute for field in FIELDS[MPBoostClassifier]} - OF_THE_COMMAND_LINE
    assert set(vars(model)) - set(model.get_params()) == attributes - {"_colours"}
    colours = MPBoostClassifier(multiclass="oc", **SMALL).fit(frame, y + (X[:, 0] > 50), X_val=frame, y_val=y)
    assert set(vars(colours)) - set(model.get_params()) == attributes
    for estimator in FIELDS.keys() - {MPBoostClassifier}:
        other = estimator(**SMALL).fit(frame, y, X_val=frame, y_val=y)
        attributes = {field.attribute for field in FIELDS[estimator]} - OF_THE_COMMAND_LINE
        assert set(vars(other)) - set(other.get_params()) == attributes


def test_save_refuses_a_model_that_is_not_fitted(path):
    with pytest.raises(NotFittedError):
        save_model(MPBoostClassifier(), path)
    assert not path.exists()


@pytest.mark.parametrize("model", [LogisticRegression(), None, "model"], ids=str)
def test_save_refuses_other_objects(path, model):
    with pytest.raises(TypeError, match=r"Only MPBoostClassifier, .*Regressor can be .* pickle or skops"):
        save_model(model, path)


def test_save_says_how_to_save_a_model_of_a_cluster(path):
    pytest.importorskip("distributed", reason="mpboost[dask] is not installed")
    from mpboost.dask import DaskMPBoostClassifier

    with pytest.raises(TypeError, match=r"not DaskMPBoostClassifier; pass model\.to_local\(\)\.$"):
        save_model(DaskMPBoostClassifier(), path)


def test_save_refuses_other_weak_learners(path):
    X, y = make_integers()
    model = MPBoostClassifier(DecisionTreeClassifier(max_depth=1), **SMALL).fit(X, y)
    with pytest.raises(TypeError, match=r"estimator|skops.*pickle"):
        save_model(model, path)
    model.set_params(estimator=None)  # its learners are still what they are
    with pytest.raises(TypeError, match=r"native trees.*skops.*pickle"):
        save_model(model, path)
    assert not path.exists()


def test_save_refuses_a_model_that_would_not_load(path):
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X, y)
    model.feature_importances_ = model.feature_importances_[:-1]
    with pytest.raises(ValueError, match=r"cannot be saved.*feature_importances") as caught:
        save_model(model, path)
    assert not isinstance(caught.value, ModelFileError)
    with pytest.raises(ValueError, match=r"cannot be saved.*max_bins"):
        save_model(MPBoostClassifier(**SMALL).fit(X, y).set_params(max_bins=1000), path)
    assert not path.exists()


def test_load_names_the_file(path):
    path.write_text("something else")
    with pytest.raises(ModelFileError, match=r"model\.mpb: this is not a model file"):
        load_model(path)
    assert issubclass(ModelFileError, ValueError)


def swap(one, two):
    return lambda header, arrays: arrays.update({one: arrays[two], two: arrays[one]})


CHANGES = [
    (lambda header, arrays: header.pop("estimator"), "keys"),
    (lambda header, arrays: header.update(extra=1), "keys"),
    (lambda header, arrays: header.update(version=1), "keys"),
    (lambda header, arrays: header.update(values=[]), "keys"),
    (lambda header, arrays: header.update(estimator="Unheard"), "Unheard.*upgrade"),
    (lambda header, arrays: header["values"].pop("n_iter"), "n_iter is missing"),
    (lambda header, arrays: arrays.pop("oop_scores"), "oop_scores is missing"),
    (lambda header, arrays: arrays.pop("ensemble.splits"), "splits is missing"),
    (lambda header, arrays: arrays.pop("feature_names_in.offsets"), "offsets is missing"),
    (set_value("extra", 1), "extra is unknown"),
    (set_value("parameters.extra", 1), "extra is unknown"),
    (set_array("extra", [1]), "extra is unknown"),
    (set_value("parameters.max_bins", 256), "max_bins"),
    (set_value("parameters.n_jobs", 0), "n_jobs"),
    (set_value("parameters.max_bins", {"float": "inf"}), "max_bins"),
    (set_value("parameters.weighting", ["logistic"]), "weighting"),
    (set_value("parameters.weighting", {"list": 1}), "missing"),
    (set_value("parameters.weighting", {"code": "x"}), "weighting is invalid"),
    (set_value("n_iter", json.loads("[" * 400 + "]" * 400)), "nested too deeply"),
    (set_value("parameters.estimator", "sklearn.svm.SVC"), "estimator"),
    (set_value("n_iter", True), "type int"),
    (set_value("n_iter", 25.0), "type int"),
    (set_value("n_iter", 2**63), "train_scores has the size"),
    (set_value("n_iter", 0), "at least 1"),
    (set_value("best_iteration", 26), "at most 25"),
    (set_value("best_iteration", -1), "at least 1"),
    (set_value("n_features_in", 6), "feature_names_in has the size 5"),
    (set_value("stop_reason", None), "type str"),
    (set_value("oop_score", 2.0), "between 0 and 1"),
    (set_value("oop_score", None), "type float"),
    (set_value("tie_label", 1), "is unknown"),
    (set_array("ranks", np.array([0, 0], dtype=np.uint16)), "permutation"),
    (set_array("colours", np.ones((25, 2), dtype=np.int8)), "more than two classes"),
    (set_value("learning_rate", {"float": "nan"}), "positive"),
    (set_value("learning_rate", 1e7), "at most 1e"),
    (set_array("classes", [1, 1]), "must ascend"),
    (set_array("classes", [1.0, np.nan]), "must ascend"),
    (set_array("classes", [0, 1, 2]), "oop_decision_function has 1 dimensions"),
    (set_array("classes", [0]), "oop_decision_function has 1 dimensions"),
    (set_array("classes", np.array([[97], [0x110000]], dtype=np.uint32)), "not strings"),
    (set_array("classes", np.empty((2, 0), dtype=np.uint32)), "not strings"),
    (set_array("classes", np.array([[97], [98]], dtype=np.uint16)), "type uint16"),
    (set_array("train_scores", np.zeros(25, dtype=np.float32)), "type float32"),
    (set_array("train_scores", np.zeros((25, 1))), "2 dimensions"),
    (set_entry("train_scores", 3, -0.1), "between 0 and 1"),
    (set_entry("observation_probabilities", 3, np.nan), "between 0 and 1"),
    (set_entry("feature_probabilities", 3, 1.1), "between 0 and 1"),
    (set_entry("feature_importances", 0, -np.inf), "between 0 and 1"),
    (set_entry("oop_decision_function", 0, np.inf), "finite"),
    (swap("oop_decision_function", "feature_importances"), "size"),
    (swap("feature_names_in.offsets", "ensemble.edge_offsets"), "feature_names_in.offsets must ascend"),
    (set_entry("feature_names_in.offsets", 2, 2**62), "must ascend"),
    (set_entry("feature_names_in.offsets", 2, -1), "must ascend"),
    (set_entry("feature_names_in.text", 0, 0xFF), "UTF-8"),
    (set_entry("ensemble.edges", 0, np.nan), "edges"),
    (set_entry("ensemble.edge_offsets", 1, 2**62), "offsets"),
    (set_entry("ensemble.leaf_values", 0, np.nan), "finite"),
    (set_entry("ensemble.split_offsets", 1, -1), "valid trees"),
    (set_entry("ensemble.leaf_covers", 0, -1.0), "negative"),
    (set_entry("ensemble.leaf_covers", 0, np.nan), "finite"),
    (set_entry("ensemble.splits", 0, 5), "valid trees"),  # a feature that there is not
    (set_entry("ensemble.splits", 4, 0), "valid trees"),  # a split that is its own child
    (set_entry("ensemble.splits", 16, 255), "valid trees"),  # the bin of missing values
    (set_array("ensemble.splits", np.zeros(15, dtype=np.uint8)), "20 bytes"),
    (set_array("calibration.slopes", [1.0, np.nan]), "slopes"),
    (set_entry("observation_difficulty", 0, 1.1), "observation_difficulty must be between 0 and 1, or NaN"),
    (set_array("oop_counts", np.zeros(300)), "oop_counts has the type float64"),
    (set_array("oop_counts", np.zeros(299, dtype=np.int32)), "oop_counts has the size 299"),
    (set_entry("oop_counts", 0, -1), "oop_counts must be between 0 and best_iteration"),
    (set_entry("oop_counts", 0, 26), "oop_counts must be between 0 and best_iteration"),
    (set_entry("oop_counts", 0, 0), "oop_counts does not match"),
    (set_entry("oop_decision_function", 0, np.nan), "oop_counts must be 0 for rows"),
    (set_entry("oop_decision_function", 0, 1e9), "oop_counts does not match"),
    (set_entry("targets", 0, 2), "targets contains classes that do not exist"),
    (set_entry("targets", 0, 2**16 - 1), "targets contains classes that do not exist"),
    (set_array("calibration.slopes", [1.0, 1.0, 1.0]), "size 3"),
    (set_array("is_categorical", np.ones(5, dtype=bool)), "do not match is_categorical"),
    (set_entry("history.iterations", 0, 0), "history.iterations must ascend from 1"),
    (set_entry("history.iterations", 2, 2), "history.iterations must ascend from 1"),
    (set_array("history.iterations", [1, 2]), "history.effective_observations has the size"),
    (set_entry("history.effective_features", 0, 0.5), "history.effective_features must be finite, at least 1"),
    (set_entry("history.effective_observations", 0, np.inf), "must be finite, at least 1"),
    (set_entry("history.feature_probabilities", (0, 0), np.nan), "history.feature_probabilities must be between"),
    (lambda header, arrays: arrays.pop("history.iterations"), "history.iterations is missing"),
]


def forget(name):
    return lambda header, arrays: [arrays.pop(key) for key in list(arrays) if key.split(".")[0] == name]


CATEGORY_CHANGES = {
    "no mask": forget("is_categorical"),
    "no categories": forget("categories"),
    "no flags": forget("has_other_category"),
    "a number as category": set_entry("is_categorical", 0, True),
    "a category as number": set_entry("is_categorical", 1, False),
    "one more code": set_entry("has_other_category", 1, True),
    "other numbers": set_entry("has_other_category", 0, True),
}


@pytest.mark.parametrize("change", CATEGORY_CHANGES.values(), ids=CATEGORY_CHANGES.keys())
def test_load_refuses_categories_that_do_not_fit_together(path, change):
    X, y = make_integers()
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(X[:, 1] % 5)})
    save_model(MPBoostClassifier(**{**SMALL, "max_features": 2}).fit(frame, y), path)
    header, arrays = read_container(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    write_container(path, header, arrays)
    with pytest.raises(ModelFileError, match="do not match is_categorical"):
        load_model(path)


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_load_refuses(saved, path, change, message):
    assert load_changed(saved, path, lambda header, arrays: None).n_iter_ == 25
    with pytest.raises(ModelFileError, match=message):
        load_changed(saved, path, change)


def test_load_and_save_of_numbers_near_the_limit_warn_of_nothing(saved, path):
    largest = np.finfo(np.float64).max
    loaded = load_changed(saved, path, set_entry("history.effective_features", 0, largest))
    save_model(loaded, path)
    assert load_model(path).history_.effective_features[0] == largest


def test_load_gives_a_parameter_that_is_newer_than_the_file_its_default(saved, path):
    loaded = load_changed(saved, path, lambda header, arrays: header["values"].pop("parameters.max_features"))
    assert loaded.max_features == "auto"


def spend_header(header, arrays):
    header["values"]["parameters.callbacks"] = [[]] * 900


def spend_values(header, arrays):
    Plain().write(parts := Parts(), "parameters.callbacks", ["Ā"] * 200_000)  # 11 bytes in the file, 90 in memory
    header["values"] |= parts.values
    arrays |= parts.arrays


def spend_names(header, arrays):
    n_features = 50_000
    Strings(n_features).write(parts := Parts(), "feature_names_in", ["Ā"] * n_features)
    header["values"]["n_features_in"] = n_features
    arrays |= parts.arrays
    for name in ("feature_probabilities", "feature_importances"):
        arrays[name] = np.zeros(n_features)
    del arrays["history.feature_probabilities"]
    offsets = arrays["ensemble.edge_offsets"]
    arrays["ensemble.edge_offsets"] = np.append(offsets, np.full(n_features + 1 - len(offsets), offsets[-1]))


@pytest.mark.slow
@pytest.mark.parametrize("spend", [spend_header, spend_values, spend_names])
def test_load_takes_little_memory_whatever_the_file_holds(saved, path, spend):
    load_changed(saved, path, spend)
    tracemalloc.start()
    load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 10 * path.stat().st_size + 2**20


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.mpb")), ids=lambda path: path.stem)
def test_golden_file_loads_and_predicts_as_ever(golden):
    model = load_model(golden)
    expected = json.loads(golden.with_suffix(".json").read_text(encoding="utf-8"))
    X = pd.DataFrame(expected["rows"], columns=expected["feature_names"])
    numeric = X.columns.drop("colour")
    X[numeric] = X[numeric].astype(float)
    for method, outputs in expected["outputs"].items():
        if method == "predict_proba":  # logarithms may differ in the last bit from processor to processor
            np.testing.assert_allclose(model.predict_proba(X), outputs, rtol=1e-12)
        else:
            assert getattr(model, method)(X).tolist() == outputs
    assert model.oop_score_ == expected["oop_score"]


@pytest.mark.parametrize("kind", ["many-classes", "colours", "gradient-two-classes", "gradient-numbers"])
def test_golden_file_of_an_older_format_has_the_oop_counts_of_the_same_model(kind):
    older, newer = (load_model(GOLDEN / f"format-{schema}-{kind}.mpb") for schema in (2, 3))
    np.testing.assert_array_equal(older.oop_counts_, newer.oop_counts_)


def test_golden_files_have_covers_since_format_6():
    older, newer = (load_model(GOLDEN / f"format-{schema}-two-classes.mpb") for schema in (5, 6))
    assert not older._ensemble.forest.has_covers
    assert newer._ensemble.forest.has_covers


def test_golden_files_are_there_for_every_format():
    assert {path.stem.split("-")[1] for path in GOLDEN.glob("*.mpb")} == {str(i + 1) for i in range(SCHEMA)}
