"""The classifier as its users meet it: what it accepts, what it publishes, and how its outputs hang together."""

import copy
import itertools

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.tree import DecisionTreeClassifier

from mpboost import PAPER, Callback, FeatureProbabilityRecorder, MPBoostClassifier

SMALL = {"n_estimators": 25, "max_samples": 40, "max_features": 3, "random_state": 0}
WEIGHTINGS = ["exponential", "logistic", "hard_exponential", "hard_logistic"]


def make_integers(n_samples=300, seed=0):
    """Make whole numbers that every numeric type can hold, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, size=(n_samples, 5))
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 30, size=n_samples) > 72).astype(int)
    return X, y


def describe_model(model):
    """Hash each thing that a fit leaves on a model, so that two models can be compared byte for byte."""
    parameters = model.get_params(deep=False)
    return {name: joblib.hash(value) for name, value in vars(model).items() if name not in {*parameters, "_run"}}


class PatchKeeper(Callback):
    """Keeps the rows and features of each minipatch."""

    def on_fit_begin(self, run):
        self.rows, self.features = [], []

    def on_iteration_end(self, run):
        self.rows.append(run.rows.copy())
        self.features.append(run.features.copy())


class StopAt(Callback):
    """Ends the fit at an iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def on_iteration_end(self, run):
        return run.iteration == self.iteration


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(cancer):
    """A model that was cut before its last iteration, its patches, and its data."""
    X, y = cancer
    keeper = PatchKeeper()
    model = MPBoostClassifier(
        max_samples=60, max_features=5, n_iter_no_change=20, learning_rate=0.25, callbacks=[keeper], random_state=3
    ).fit(X, y)
    assert model.best_iteration_ < model.n_iter_
    return model, keeper, X, y


# Types and layouts of X


NATIVE_TYPES = ["i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "g"]
FOREIGN_TYPES = [">i2", ">i4", ">i8", ">u2", ">u4", ">f2", ">f4", ">f8"]


@pytest.mark.parametrize("dtype", [*NATIVE_TYPES, *FOREIGN_TYPES, "O"])
def test_fit_gives_the_same_model_for_every_type_of_number(dtype):
    X, y = make_integers()
    expected = MPBoostClassifier(**SMALL).fit(X.astype(np.float64), y)
    model = MPBoostClassifier(**SMALL).fit(X.astype(dtype), y)
    assert describe_model(model) == describe_model(expected)


@pytest.mark.parametrize("dtype", [*NATIVE_TYPES, *FOREIGN_TYPES, "u1", "O"])
def test_predict_gives_the_same_decisions_for_every_type_of_number(dtype):
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X, y)
    X_new, _ = make_integers(seed=1)
    np.testing.assert_array_equal(
        model.decision_function(X_new.astype(dtype)), model.decision_function(X_new.astype(np.float64))
    )


def test_fit_on_bytes_learns_what_it_learns_from_floats():
    X, y = make_integers()
    X[:60] = np.arange(60)[:, None]  # each value occurs, so that the bins of both are the same
    as_bytes = MPBoostClassifier(**SMALL).fit(X.astype(np.uint8), y)
    as_floats = MPBoostClassifier(**SMALL).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(as_bytes.decision_function(X), as_floats.decision_function(X))
    np.testing.assert_array_equal(as_bytes.feature_probabilities_, as_floats.feature_probabilities_)
    np.testing.assert_array_equal(as_bytes.oop_scores_, as_floats.oop_scores_)


def test_predict_of_a_byte_model_judges_bytes_and_floats_alike():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(500, 4), dtype=np.uint8)
    y = X[:, 0] > 200
    model = MPBoostClassifier(**SMALL).fit(X, y)
    X_new = rng.integers(0, 256, size=(500, 4), dtype=np.uint8)
    np.testing.assert_array_equal(model.decision_function(X_new), model.decision_function(X_new.astype(np.float64)))


def test_fit_on_bools_equals_fit_on_zeros_and_ones():
    X = np.random.default_rng(0).random((300, 6)) < 0.5
    y = X[:, 0] & X[:, 1] | X[:, 2]
    model = MPBoostClassifier(**SMALL).fit(X, y)
    assert describe_model(model) == describe_model(MPBoostClassifier(**SMALL).fit(X.astype(np.float64), y))
    assert model.score(X, y) > 0.95


def test_fit_on_float32_and_float64_of_the_same_values_gives_the_same_model():
    X = np.random.default_rng(0).normal(size=(2000, 5)).astype(np.float32)
    y = X[:, 0] * X[:, 1] > 0
    single, double = (MPBoostClassifier(**SMALL).fit(X.astype(dtype), y) for dtype in (np.float32, np.float64))
    assert describe_model(single) == describe_model(double)


def put_into_records(X):
    """Lay the numbers five bytes apart, so that most of them are not aligned."""
    records = np.zeros(X.shape, dtype=np.dtype([("tag", "u1"), ("value", X.dtype)]))
    records["value"] = X
    return records["value"]


def put_into_every_other_cell(X):
    wide = np.full((2 * X.shape[0], 2 * X.shape[1]), -1, dtype=X.dtype)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def make_read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def lay_out_backwards(X):
    return X[::-1, ::-1].copy()[::-1, ::-1]


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": put_into_every_other_cell,
    "backwards": lay_out_backwards,
    "read-only": make_read_only,
    "records": put_into_records,
    "slice-of-fortran": lambda X: np.asfortranarray(np.vstack([X, X]))[: len(X)],
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("lay_out", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_fit_and_predict_do_not_depend_on_the_layout(lay_out):
    X, y = make_integers()
    X = X.astype(np.float32)
    expected = MPBoostClassifier(**SMALL).fit(X, y)
    model = MPBoostClassifier(**SMALL).fit(lay_out(X), y)
    assert describe_model(model) == describe_model(expected)
    np.testing.assert_array_equal(model.decision_function(lay_out(X)), expected.decision_function(X))


def test_fit_and_predict_read_memory_mapped_files(tmp_path):
    X, y = make_integers()
    X = X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = MPBoostClassifier(**SMALL).fit(mapped, y)
    expected = MPBoostClassifier(**SMALL).fit(X, y)
    assert describe_model(model) == describe_model(expected)
    np.testing.assert_array_equal(model.predict(mapped), expected.predict(X))


def test_fit_leaves_its_input_as_it_was():
    X, y = make_integers()
    X_before, y_before = X.copy(), y.copy()
    MPBoostClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def test_fit_keeps_the_names_of_a_data_frame():
    X, y = make_integers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = MPBoostClassifier(**SMALL).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(
        model.decision_function(frame), MPBoostClassifier(**SMALL).fit(X, y).decision_function(X)
    )


def test_fit_on_an_array_forgets_the_names_of_an_earlier_data_frame():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(pd.DataFrame(X, columns=list("abcde")), y)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_fit_reads_data_frames_of_mixed_columns():
    X, y = make_integers()
    frame = pd.DataFrame({"int": X[:, 0], "float": X[:, 1] / 2, "bool": X[:, 2] > 30, "nullable": X[:, 3]})
    frame["nullable"] = frame["nullable"].astype("Int64")
    frame.loc[::7, "nullable"] = pd.NA
    plain = frame.astype(np.float64).to_numpy()
    expected = MPBoostClassifier(**SMALL).fit(plain, y)
    model = MPBoostClassifier(**SMALL).fit(frame, y)
    np.testing.assert_array_equal(model.decision_function(frame), expected.decision_function(plain))


# Missing values


def test_fit_learns_from_missingness_itself():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.random(400) < 0.5
    X[y, 1] = np.nan
    model = MPBoostClassifier(**SMALL).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) == 1.0


@pytest.mark.parametrize("missing_class", [0, 1])
def test_fit_learns_which_way_missing_values_go(missing_class):
    # The feature tells the classes apart, and missing values belong to one of them.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=600)
    X = (y + rng.uniform(0.0, 0.9, size=600))[:, None]
    X[(y == missing_class) & (rng.random(600) < 0.5)] = np.nan
    model = MPBoostClassifier(n_estimators=11, max_samples=100, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) == 1.0


def test_predict_takes_missing_values_that_fit_never_saw():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X.astype(np.float64), y)
    holed = X.astype(np.float64)
    holed[:, 4] = np.nan  # says nothing about y
    assert model.score(holed, y) > 0.8
    assert np.isin(model.predict(np.full((3, 5), np.nan)), model.classes_).all()


def test_fit_gives_no_credit_to_features_that_are_all_missing_or_constant():
    X, y = make_integers()
    X = np.column_stack([np.full(len(X), np.nan), X, np.ones(len(X))])
    model = MPBoostClassifier(n_estimators=60, max_samples=60, max_features=7, random_state=0).fit(X, y)
    assert model.feature_importances_[[0, -1]].tolist() == [0.0, 0.0]
    assert model.feature_probabilities_[[0, -1]].max() < 1e-6


# Labels


LABELS = {
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "bools": np.array([False, True]),
    "signs": np.array([-1, 1]),
    "integers": np.array([-1000, 70000]),
    "bytes": np.array([254, 255], dtype=np.uint8),
    "whole-floats": np.array([2.0, 5.0]),
}


@pytest.mark.parametrize("classes", LABELS.values(), ids=LABELS.keys())
def test_predict_answers_in_the_labels_of_y(classes):
    X, y = make_integers()
    expected = MPBoostClassifier(**SMALL).fit(X, y).predict(X)
    model = MPBoostClassifier(**SMALL).fit(X, classes[y])
    np.testing.assert_array_equal(model.classes_, classes)
    assert model.classes_.dtype == classes.dtype
    np.testing.assert_array_equal(model.predict(X), classes[expected])
    assert model.predict(X).dtype == classes.dtype


def test_fit_sorts_classes_whatever_comes_first():
    X, y = make_integers()
    labels = np.array(["z", "a"])[y]
    model = MPBoostClassifier(**SMALL).fit(X, labels)
    assert model.classes_.tolist() == ["a", "z"]
    assert model.score(X, labels) > 0.85
    assert ((model.decision_function(X) > 0) <= (model.predict(X) == "z")).all()


@pytest.mark.parametrize("make", [pd.Series, pd.Categorical, list], ids=["series", "categorical", "list"])
def test_fit_takes_string_labels_in_other_containers(make):
    X, y = make_integers()
    labels = np.array(["no", "yes"])[y]
    model = MPBoostClassifier(**SMALL).fit(X, make(labels))
    np.testing.assert_array_equal(model.predict(X), MPBoostClassifier(**SMALL).fit(X, labels).predict(X))


# Parameters


@pytest.mark.parametrize(
    ("max_samples", "n_samples", "expected"),
    [(7, 300, 7), (0.1, 300, 30), (1e-9, 300, 1), ("sqrt", 300, 17), ("auto", 300, 100), ("auto", 30, 15)],
)
def test_fit_draws_max_samples_rows(max_samples, n_samples, expected):
    X, y = make_integers(n_samples)
    keeper = PatchKeeper()
    MPBoostClassifier(n_estimators=3, max_samples=max_samples, callbacks=[keeper], random_state=0).fit(X, y)
    assert [len(np.unique(rows)) for rows in keeper.rows] == [expected] * 3


@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [(7, 40, 7), (0.1, 40, 4), (1.0, 40, 40), (1, 40, 1), ("sqrt", 40, 6), ("auto", 40, 8), ("auto", 5, 5)],
)
def test_fit_draws_max_features_columns(max_features, n_features, expected):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, n_features)), np.arange(100) % 2
    keeper = PatchKeeper()
    MPBoostClassifier(n_estimators=3, max_features=max_features, callbacks=[keeper], random_state=0).fit(X, y)
    assert [len(np.unique(features)) for features in keeper.features] == [expected] * 3


@pytest.mark.parametrize("name", ["max_samples", "max_features"])
@pytest.mark.parametrize("share", [np.float32(0.5), np.float64(0.5)], ids=["float32", "float64"])
def test_fit_takes_shares_of_any_float_type(name, share):
    X, y = make_integers()
    expected = MPBoostClassifier(n_estimators=5, random_state=0).set_params(**{name: 0.5}).fit(X, y)
    model = MPBoostClassifier(n_estimators=5, random_state=0).set_params(**{name: share}).fit(X, y)
    assert describe_model(model) == describe_model(expected)


@pytest.mark.parametrize(
    "changed",
    [
        {"max_depth": 1},
        {"min_samples_leaf": 10},
        {"max_bins": 3},
        {"feature_momentum": 0.1},
        {"feature_exploration": 0.5},
        {"learning_rate": 0.1},
        {"weighting": "hard_exponential"},
        {"importance": "permutation"},
        {"adaptive_features": False},
        {"adaptive_observations": False},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_fit_heeds_parameter(changed):
    X, y = make_integers()
    usual = MPBoostClassifier(**SMALL).fit(X, y)
    model = MPBoostClassifier(**SMALL, **changed).fit(X, y)
    assert not np.array_equal(usual.oop_scores_, model.oop_scores_)


def test_fit_at_depth_one_splits_each_tree_once():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=1, max_features=5, max_depth=1, random_state=0).fit(X, y)
    assert np.count_nonzero(model.feature_importances_) == 1


@pytest.mark.parametrize("learning_rate", [1e-300, 1e6])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_fit_keeps_p_a_distribution_at_extreme_learning_rates(weighting, learning_rate):
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL, weighting=weighting, learning_rate=learning_rate, stopping=None).fit(X, y)
    p = model.observation_probabilities_
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1.0, abs=1e-12)


def test_fit_without_adaptive_observations_keeps_p_uniform():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL, adaptive_observations=False).fit(X, y)
    np.testing.assert_array_equal(model.observation_probabilities_, np.full(len(X), 1 / len(X)))


def test_fit_without_adaptive_features_keeps_q_uniform():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL, adaptive_features=False).fit(X, y)
    np.testing.assert_array_equal(model.feature_probabilities_, np.full(5, 1 / 5))
    assert model.feature_importances_.sum() == pytest.approx(1.0)


# What a fit publishes


def test_fit_returns_the_estimator_itself():
    model = MPBoostClassifier(**SMALL)
    assert model.fit(*make_integers()) is model


def test_fitted_attributes_have_their_shapes_and_types(fitted):
    model, _, X, _ = fitted
    shapes = {
        "train_scores_": (model.n_iter_,),
        "oop_scores_": (model.n_iter_,),
        "oop_decision_function_": (len(X),),
        "observation_probabilities_": (len(X),),
        "feature_probabilities_": (X.shape[1],),
        "feature_importances_": (X.shape[1],),
    }
    assert {name: getattr(model, name).shape for name in shapes} == shapes
    assert {getattr(model, name).dtype for name in shapes} == {np.dtype(np.float64)}
    assert all(type(getattr(model, name)) is int for name in ("n_iter_", "best_iteration_", "n_features_in_"))
    assert type(model.oop_score_) is float
    assert type(model.stop_reason_) is str


@pytest.mark.parametrize("name", ["observation_probabilities_", "feature_probabilities_", "feature_importances_"])
def test_fitted_distributions_sum_to_one(fitted, name):
    values = getattr(fitted[0], name)
    assert values.min() >= 0
    assert values.sum() == pytest.approx(1.0, abs=1e-12)


def test_feature_importances_are_zero_where_no_tree_found_a_split():
    X, y = np.ones((40, 3)), np.arange(40) % 2
    model = MPBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert model.feature_importances_.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(model.feature_probabilities_, np.full(3, 1 / 3))


def test_feature_importances_are_the_mean_over_the_learners():
    # So each learner adds its own, which are a distribution, to the sum of those before it.
    X, y = make_integers()
    models = [MPBoostClassifier(**{**SMALL, "n_estimators": t}, stopping=None).fit(X, y) for t in range(1, 13)]
    sums = np.array([model.n_iter_ * model.feature_importances_ for model in models])
    added = np.diff(sums, axis=0)
    assert added.min() > -1e-12
    np.testing.assert_allclose(added.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.count_nonzero(added > 1e-12, axis=1) <= SMALL["max_features"]).all()


def test_oop_score_is_that_of_the_best_iteration(fitted):
    model, *_ = fitted
    assert model.oop_score_ == model.oop_scores_[model.best_iteration_ - 1]


def test_oop_decision_function_yields_oop_score(fitted):
    model, _, _, y = fitted
    signs = np.where(y == model.classes_[1], 1, -1)
    assert np.mean(signs * model.oop_decision_function_ > 0) == model.oop_score_


def test_train_scores_at_the_best_iteration_are_the_score_on_the_training_data(fitted):
    model, _, X, y = fitted
    assert model.train_scores_[model.best_iteration_ - 1] == model.score(X, y)


def test_train_scores_are_the_staged_accuracies(fitted):
    model, _, X, y = fitted
    accuracies = [np.mean(labels == y) for labels in model.staged_predict(X)]
    np.testing.assert_array_equal(model.train_scores_[: model.best_iteration_], accuracies)


def test_oop_scores_count_the_votes_of_learners_that_never_saw_the_row(fitted):
    model, keeper, X, y = fitted
    signs = np.where(y == model.classes_[1], 1, -1)
    stages = np.array(list(model.staged_decision_function(X)))
    steps = np.diff(stages, axis=0, prepend=0.0)
    for step, rows in zip(steps, keeper.rows, strict=False):
        step[rows] = 0.0
    curves = steps.cumsum(axis=0)
    np.testing.assert_array_equal(model.oop_decision_function_, curves[-1])
    np.testing.assert_array_equal(model.oop_scores_[: model.best_iteration_], np.mean(signs * curves > 0, axis=1))


@pytest.mark.parametrize("n_estimators", [25, 700])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_observation_probabilities_follow_the_weighting(cancer, weighting, n_estimators):
    X, y = cancer
    settings = {"weighting": weighting, "learning_rate": 0.03, "n_estimators": n_estimators, "stopping": None}
    model = MPBoostClassifier(**{**SMALL, **settings}).fit(X, y)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert margins.max() > 0.5 * 0.03 * n_estimators
    if weighting.startswith("hard"):
        margins = np.sign(margins)
    weights = np.exp(-margins) if weighting.endswith("exponential") else 1 / (1 + np.exp(margins))
    np.testing.assert_allclose(model.observation_probabilities_, weights / weights.sum(), rtol=1e-12)


def test_feature_probabilities_are_those_after_the_best_iteration(cancer):
    X, y = cancer
    recorder = FeatureProbabilityRecorder(range(1000))
    model = MPBoostClassifier(n_iter_no_change=20, callbacks=[recorder], random_state=0).fit(X, y)
    assert model.best_iteration_ < model.n_iter_
    np.testing.assert_array_equal(model.feature_probabilities_, recorder.probabilities_[model.best_iteration_])
    assert not np.array_equal(model.feature_probabilities_, recorder.probabilities_[model.n_iter_])


def test_feature_probabilities_move_inside_the_minipatch_only(cancer):
    X, y = cancer
    recorder, keeper = FeatureProbabilityRecorder(range(21)), PatchKeeper()
    MPBoostClassifier(n_estimators=20, max_features=5, callbacks=[recorder, keeper], random_state=0).fit(X, y)
    for t, features in enumerate(keeper.features, start=1):
        before, after = recorder.probabilities_[t - 1], recorder.probabilities_[t]
        outside = np.setdiff1d(np.arange(X.shape[1]), features)
        np.testing.assert_array_equal(after[outside], before[outside])
        assert after[features].sum() == pytest.approx(before[features].sum(), rel=1e-12)
        assert not np.array_equal(after[features], before[features])


# Outputs


def test_staged_decision_function_has_a_stage_for_each_learner_of_the_model(fitted):
    model, _, X, _ = fitted
    assert len(list(model.staged_decision_function(X))) == model.best_iteration_


def test_staged_predict_has_a_stage_for_each_learner_of_the_model(fitted):
    model, _, X, _ = fitted
    assert len(list(model.staged_predict(X))) == model.best_iteration_


def test_staged_decision_function_ends_with_the_decision_function(fitted):
    model, _, X, _ = fitted
    *_, last = model.staged_decision_function(X)
    np.testing.assert_array_equal(last, model.decision_function(X))


def test_staged_predict_ends_with_predict(fitted):
    model, _, X, _ = fitted
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


def test_staged_decision_function_yields_arrays_of_their_own(fitted):
    model, _, X, _ = fitted
    first, second = itertools.islice(model.staged_decision_function(X), 2)
    assert not np.shares_memory(first, second)
    assert set(np.abs(first)) == {model.learning_rate}


def test_decision_function_is_learning_rate_times_votes(fitted):
    model, _, X, _ = fitted
    votes = model.decision_function(X) / model.learning_rate
    assert (votes % 2 == model.best_iteration_ % 2).all()
    assert np.abs(votes).max() <= model.best_iteration_
    steps = np.diff(np.array(list(model.staged_decision_function(X))), axis=0)
    assert set(np.unique(steps)) == {-model.learning_rate, model.learning_rate}


def test_decision_function_scales_with_the_learning_rate_where_p_is_uniform(cancer):
    X, y = cancer
    one, quarter = (
        MPBoostClassifier(**SMALL, adaptive_observations=False, learning_rate=rate).fit(X, y) for rate in (1.0, 0.25)
    )
    np.testing.assert_array_equal(quarter.decision_function(X), 0.25 * one.decision_function(X))
    np.testing.assert_array_equal(quarter.oop_decision_function_, 0.25 * one.oop_decision_function_)


def test_decision_function_keeps_the_learning_rate_of_the_fit(cancer):
    X, y = cancer
    model = MPBoostClassifier(**SMALL, learning_rate=0.5).fit(X, y)
    before = model.decision_function(X)
    model.set_params(learning_rate=0.1)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_predict_proba_gives_the_shares_of_votes(fitted):
    model, _, X, _ = fitted
    votes = model.decision_function(X) / model.learning_rate
    n_for = (model.best_iteration_ + votes) / 2
    shares = np.column_stack([model.best_iteration_ - n_for, n_for]) / model.best_iteration_
    np.testing.assert_allclose(model.predict_proba(X), shares, rtol=0, atol=1e-15)


def test_predict_proba_rows_sum_to_one(fitted):
    model, _, X, _ = fitted
    shares = model.predict_proba(X)
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("n_positive", "expected"), [(100, 0), (150, 1), (200, 1)], ids=["few", "as-many", "many"])
def test_predict_gives_ties_to_the_more_frequent_class(n_positive, expected):
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = (np.arange(300) < n_positive).astype(int)
    model = MPBoostClassifier(n_estimators=2, max_samples=30, stopping=None, random_state=0).fit(X, y)
    tied = model.decision_function(X) == 0
    assert tied.any()
    assert set(model.predict(X[tied])) == {expected}


def test_oop_scores_count_ties_as_wrong():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=2, max_samples=30, stopping=None, random_state=0).fit(X, y)
    tied = model.oop_decision_function_ == 0
    assert tied.any()
    right = np.where(y == 1, 1, -1) * model.oop_decision_function_ > 0
    assert model.oop_score_ == right.sum() / len(y)


def test_score_weighs_samples():
    X, y = make_integers()
    model = MPBoostClassifier(**{**SMALL, "n_estimators": 1}).fit(X, y)
    hits = model.predict(X) == y
    assert not hits.all()
    assert model.score(X, y, sample_weight=hits + 0.0) == 1.0


def test_predict_of_a_single_row_equals_its_place_in_a_batch(fitted):
    model, _, X, _ = fitted
    singles = [model.decision_function(X[i : i + 1])[0] for i in range(70)]
    np.testing.assert_array_equal(singles, model.decision_function(X)[:70])


def test_predict_of_more_rows_than_a_batch_equals_its_parts():
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL).fit(X, y)
    many = np.random.default_rng(1).integers(0, 60, size=(150_001, 5))
    parts = [model.decision_function(part) for part in np.array_split(many, 7)]
    np.testing.assert_array_equal(model.decision_function(many), np.concatenate(parts))


# Stopping


def test_stop_reason_names_the_limit(cancer):
    model = MPBoostClassifier(n_estimators=12, random_state=0).fit(*cancer)
    assert "n_estimators" in model.stop_reason_
    assert model.n_iter_ == 12


def test_stopping_by_patience_waits_that_long_after_the_best(cancer):
    model = MPBoostClassifier(n_iter_no_change=15, random_state=0).fit(*cancer)
    assert "15 iterations" in model.stop_reason_
    assert model.n_iter_ - model.best_iteration_ == 15
    assert model.n_iter_ < 1000


def test_stopping_by_patience_keeps_the_first_best_after_the_early_iterations(cancer):
    model = MPBoostClassifier(n_iter_no_change=30, random_state=0).fit(*cancer)
    early = 15
    assert model.best_iteration_ == early + np.argmax(model.oop_scores_[early - 1 :])


def test_stopping_of_the_paper_keeps_the_first_best(cancer):
    model = MPBoostClassifier(**PAPER, max_samples=60, max_features=5, random_state=0).fit(*cancer)
    assert "Algorithm 2" in model.stop_reason_
    assert model.n_iter_ < 1000
    assert model.best_iteration_ == 1 + np.argmax(model.oop_scores_)


def test_stopping_by_a_callback_names_it(cancer):
    model = MPBoostClassifier(callbacks=[StopAt(7)], random_state=0).fit(*cancer)
    assert model.stop_reason_ == "stopped by StopAt"
    assert model.n_iter_ == 7


def test_stopping_none_keeps_all_learners(cancer):
    model = MPBoostClassifier(n_estimators=150, n_iter_no_change=5, stopping=None, random_state=0).fit(*cancer)
    assert (model.n_iter_, model.best_iteration_) == (150, 150)


@pytest.mark.parametrize("n_iter_no_change", [1, 2, 3, 10, 40])
def test_stopping_cuts_a_longer_run_to_the_same_model(cancer, n_iter_no_change):
    X, y = cancer
    stopped = MPBoostClassifier(n_iter_no_change=n_iter_no_change, random_state=0).fit(X, y)
    assert stopped.best_iteration_ < stopped.n_iter_
    full = MPBoostClassifier(n_estimators=stopped.best_iteration_, stopping=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(stopped.decision_function(X), full.decision_function(X))
    np.testing.assert_array_equal(stopped.feature_probabilities_, full.feature_probabilities_)
    np.testing.assert_array_equal(stopped.feature_importances_, full.feature_importances_)
    np.testing.assert_array_equal(stopped.observation_probabilities_, full.observation_probabilities_)


# warm_start


def extend(model, X, y, n_estimators):
    return model.set_params(n_estimators=n_estimators).fit(X, y)


@pytest.mark.parametrize("stopping", [None, "patience", "paper"])
def test_warm_start_equals_one_long_fit(stopping):
    X, y = make_classification(1500, 20, flip_y=0.05, random_state=0)
    parameters = {"stopping": stopping, "max_samples": 50, "max_features": 4, "random_state": 0}
    whole = MPBoostClassifier(n_estimators=60, **parameters).fit(X, y)
    model = MPBoostClassifier(n_estimators=30, warm_start=True, **parameters).fit(X, y)
    assert model.n_iter_ == 30
    assert describe_model(extend(model, X, y, 60)) == describe_model(whole)


def test_warm_start_set_after_the_first_fit_starts_anew():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, stopping=None, random_state=0).fit(X, y)
    model.set_params(n_estimators=20, warm_start=True, random_state=1).fit(X, y)
    expected = MPBoostClassifier(n_estimators=20, stopping=None, random_state=1).fit(X, y)
    assert describe_model(model) == describe_model(expected)


def test_warm_start_with_fewer_estimators_is_refused():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=20, warm_start=True, stopping=None, random_state=0).fit(X, y)
    before = describe_model(model)
    with pytest.raises(ValueError, match="n_estimators=10"):
        extend(model, X, y, 10)
    assert describe_model(model) == before


def change_labels(X, y):
    return X, 1 - y


def drop_rows(X, y):
    return X[:-1], y[:-1]


def drop_a_feature(X, y):
    return X[:, :-1], y


def change_values(X, y):
    return X + 1, y


@pytest.mark.parametrize("change", [change_labels, drop_rows, drop_a_feature, change_values])
def test_warm_start_on_other_data_is_refused(change):
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, warm_start=True, stopping=None, random_state=0).fit(X, y)
    before = describe_model(model)
    with pytest.raises(ValueError, match="same X and y"):
        extend(model, *change(X, y), 20)
    assert describe_model(model) == before


def test_warm_start_leaves_a_run_ended_that_its_rule_has_stopped(cancer):
    X, y = cancer
    model = MPBoostClassifier(n_estimators=500, n_iter_no_change=10, warm_start=True, random_state=0).fit(X, y)
    assert model.n_iter_ < 500
    before = describe_model(model)
    assert describe_model(extend(model, X, y, 1000)) == before


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3)], ids=["native", "scikit-learn"])
def test_warm_start_accepts_a_copy_of_the_same_data(estimator):
    X, y = make_integers()
    X = np.where(X == 7, np.nan, X)
    parameters = {"stopping": None, "random_state": 0}
    model = MPBoostClassifier(estimator, n_estimators=5, warm_start=True, **parameters).fit(X, y)
    extend(model, X.copy(), y.copy(), 10)
    whole = MPBoostClassifier(estimator, n_estimators=10, **parameters).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize("change", [change_labels, drop_rows, drop_a_feature, change_values])
def test_warm_start_of_another_weak_learner_on_other_data_is_refused(change):
    X, y = make_integers()
    model = MPBoostClassifier(DecisionTreeClassifier(), n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="same X and y"):
        extend(model, *change(X, y), 5)


@pytest.mark.parametrize(
    "changed",
    [
        {"learning_rate": 0.1},
        {"weighting": "exponential"},
        {"max_samples": 17},
        {"max_depth": 1},
        {"estimator": DecisionTreeClassifier()},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_warm_start_does_not_ignore_a_changed_parameter(changed):
    # A run goes on as it began: to change the learning rate for the old votes and not for p would be worse than no.
    X, y = make_integers()
    model = MPBoostClassifier(**SMALL, warm_start=True, stopping=None).fit(X, y)
    before = describe_model(model)
    with pytest.raises(ValueError, match=next(iter(changed))):
        extend(model.set_params(**changed), X, y, 40)
    assert describe_model(model) == before


def test_warm_start_with_as_many_estimators_changes_nothing():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, warm_start=True, stopping=None, random_state=0).fit(X, y)
    before = describe_model(model)
    assert describe_model(model.fit(X, y)) == before


def test_warm_start_switched_off_starts_anew():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, warm_start=True, stopping=None, random_state=0).fit(X, y)
    model.set_params(warm_start=False, n_estimators=5).fit(X, y)
    expected = MPBoostClassifier(n_estimators=5, stopping=None, random_state=0).fit(X, y)
    assert describe_model(model) == describe_model(expected)


def test_warm_start_of_a_copy_does_not_move_the_original():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=10, warm_start=True, stopping=None, random_state=0).fit(X, y)
    before = describe_model(model)
    extend(copy.deepcopy(model), X, y, 20)
    assert describe_model(model) == before
    whole = MPBoostClassifier(n_estimators=20, stopping=None, random_state=0).fit(X, y)
    assert describe_model(extend(model, X, y, 20)) == describe_model(whole)
