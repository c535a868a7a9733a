"""The regressor as its users meet it: what it publishes, how its outputs hang together, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor

from mpboost import Callback, MPBoostRegressor, load_model, save_model
from tests.support.helpers import StopAt, describe_model
from tests.support.value_oracle import RESIDUAL_WEIGHTINGS

SMALL = {"n_estimators": 25, "max_samples": 60, "max_features": 4, "random_state": 0}
X, Y = make_friedman1(300, n_features=7, noise=1.0, random_state=0)
X_NEW, Y_NEW = make_friedman1(300, n_features=7, noise=1.0, random_state=1)


def make(**parameters):
    return MPBoostRegressor(**{**SMALL, **parameters})


class PatchKeeper(Callback):
    """Keeps the rows of each minipatch."""

    def on_fit_begin(self, run):
        self.rows = []

    def on_iteration_end(self, run):
        self.rows.append(run.rows.copy())


@pytest.fixture(scope="module")
def fitted():
    """A model that was cut before its last iteration, and its patches."""
    keeper = PatchKeeper()
    model = make(n_estimators=500, n_iter_no_change=10, callbacks=[keeper]).fit(X, Y)
    assert model.best_iteration_ < model.n_iter_
    return model, keeper


# Parameters


@pytest.mark.parametrize(
    "changed",
    [
        {"max_depth": 1},
        {"min_samples_leaf": 10},
        {"max_bins": 3},
        {"feature_momentum": 0.9},
        {"feature_exploration": 0.5},
        {"weighting": "square"},
        {"weighting": "exponential"},
        {"weighting": "threshold"},
        {"observation_exploration": 0.9},
        {"importance": "permutation"},
        {"importance": "impurity"},
        {"adaptive_features": False},
        {"adaptive_observations": False},
    ],
    ids=lambda changed: "-".join(map(str, next(iter(changed.items())))),
)
def test_fit_heeds_parameter(changed):
    assert not np.array_equal(make().fit(X, Y).oop_scores_, make(**changed).fit(X, Y).oop_scores_)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("weighting", "logistic", None),
        ("weighting", None, None),
        ("observation_exploration", -0.1, None),
        ("observation_exploration", 1.1, None),
        ("observation_exploration", float("nan"), None),
        ("estimator", LogisticRegression(), "regressor"),
        ("estimator", DecisionTreeRegressor, "instance"),
        ("max_samples", 300, "stopping=None"),
    ],
)
def test_fit_refuses_parameter(name, value, word):
    with pytest.raises((ValueError, TypeError), match=word or name):
        make(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("name", ["learning_rate", "class_weight", "multiclass"])
def test_regressor_has_no_parameter_of_classes(name):
    with pytest.raises(TypeError, match=name):
        make(**{name: None})


def test_fit_draws_uniformly_at_full_exploration():
    uniform, explored = make(adaptive_observations=False).fit(X, Y), make(observation_exploration=1.0).fit(X, Y)
    np.testing.assert_allclose(explored.observation_probabilities_, 1 / 300, rtol=1e-12)
    np.testing.assert_array_equal(uniform.predict(X_NEW), explored.predict(X_NEW))


# What a fit publishes


def test_regressor_is_one_for_scikit_learn():
    assert is_regressor(make())


def test_fitted_attributes_have_their_shapes_and_types(fitted):
    model, _ = fitted
    shapes = {
        "train_scores_": (model.n_iter_,),
        "oop_scores_": (model.n_iter_,),
        "oop_prediction_": (300,),
        "observation_probabilities_": (300,),
        "feature_probabilities_": (7,),
        "feature_importances_": (7,),
    }
    assert {name: getattr(model, name).shape for name in shapes} == shapes
    assert {getattr(model, name).dtype for name in shapes} == {np.dtype(np.float64)}
    assert type(model.oop_score_) is float
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("name", ["observation_probabilities_", "feature_probabilities_", "feature_importances_"])
def test_fitted_distributions_sum_to_one(fitted, name):
    values = getattr(fitted[0], name)
    assert values.min() >= 0
    assert values.sum() == pytest.approx(1.0, abs=1e-12)


def test_oop_score_is_the_r2_of_the_oop_prediction(fitted):
    model, _ = fitted
    assert not np.isnan(model.oop_prediction_).any()
    assert model.oop_score_ == pytest.approx(r2_score(Y, model.oop_prediction_), rel=1e-12)
    assert model.oop_score_ == model.oop_scores_[model.best_iteration_ - 1]


def test_oop_prediction_is_the_mean_of_learners_that_never_saw_the_row(fitted):
    model, keeper = fitted
    means = np.array(list(model.staged_predict(X)))
    sums = means * np.arange(1, len(means) + 1)[:, None]
    outputs = np.diff(sums, axis=0, prepend=0.0)
    outside = np.array([~np.isin(np.arange(300), rows) for rows in keeper.rows[: len(means)]])
    expected = np.sum(outputs * outside, axis=0) / outside.sum(axis=0)
    np.testing.assert_allclose(model.oop_prediction_, expected, rtol=1e-9)


def test_oop_prediction_is_missing_where_every_learner_saw_the_row():
    model = make(n_estimators=2, max_samples=200, stopping=None, adaptive_observations=False).fit(X, Y)
    missing = np.isnan(model.oop_prediction_)
    assert 0 < missing.sum() < 300
    assert model.oop_score_ == pytest.approx(r2_score(Y, np.where(missing, Y.mean(), model.oop_prediction_)))


def test_train_scores_are_the_staged_scores(fitted):
    model, _ = fitted
    staged = [r2_score(Y, predictions) for predictions in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_scores_[: model.best_iteration_], staged, rtol=1e-9, atol=1e-12)
    assert model.score(X, Y) == pytest.approx(model.train_scores_[model.best_iteration_ - 1])


def test_staged_predict_ends_with_predict(fitted):
    model, _ = fitted
    stages = list(model.staged_predict(X_NEW))
    assert len(stages) == model.best_iteration_
    np.testing.assert_allclose(stages[-1], model.predict(X_NEW), rtol=1e-12)
    assert not np.shares_memory(stages[0], stages[1])


def test_predictions_stay_inside_the_range_of_targets(fitted):
    predictions = fitted[0].predict(1e6 * (X_NEW - 0.5))
    assert Y.min() <= predictions.min() < predictions.max() <= Y.max()
    single = make(n_estimators=1, min_samples_leaf=1).fit(X, Y).predict(X_NEW)
    assert np.isin(single, Y).mean() > 0.9  # the mean of leaves of one row, which are the numbers themselves


def test_stopping_cuts_a_longer_run_to_the_same_model(fitted):
    model, _ = fitted
    full = make(n_estimators=model.best_iteration_, stopping=None).fit(X, Y)
    for name in ("observation_probabilities_", "feature_probabilities_", "oop_prediction_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(full, name))
    np.testing.assert_array_equal(model.predict(X_NEW), full.predict(X_NEW))


def test_fit_on_all_rows_has_no_out_of_patch_score():
    model = make(max_samples=1.0, stopping=None).fit(X, Y)
    assert np.isnan(model.oop_score_)
    assert np.isnan(model.oop_prediction_).all()
    assert model.score(X, Y) > 0.9


def test_fit_does_not_depend_on_the_number_of_threads():
    assert describe_model(make(n_jobs=1).fit(X, Y)) == describe_model(make(n_jobs=2).fit(X, Y))


def test_warm_start_equals_one_long_fit():
    whole = make(n_estimators=100, stopping=None).fit(X, Y)
    model = make(n_estimators=50, stopping=None, warm_start=True).fit(X, Y)
    assert describe_model(model.set_params(n_estimators=100).fit(X, Y)) == describe_model(whole)


def test_warm_start_on_other_targets_is_refused():
    model = make(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="same X, y"):
        model.set_params(n_estimators=30).fit(X, Y + 1e-9)


def test_callback_ends_the_fit():
    assert make(callbacks=[StopAt(7)]).fit(X, Y).n_iter_ == 7


def test_model_is_the_same_after_a_file(tmp_path):
    model = make().fit(X, Y)
    save_model(model, tmp_path / "model.mpb")
    same = load_model(tmp_path / "model.mpb")
    assert type(same) is MPBoostRegressor
    np.testing.assert_array_equal(same.predict(X_NEW), model.predict(X_NEW))


# Weights


def test_rows_of_weight_zero_are_as_good_as_absent():
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 300)
    there = weights > 0
    model = make().fit(X, np.where(there, Y, 1e9), sample_weight=weights)
    expected = make().fit(X[there], Y[there], sample_weight=weights[there])
    np.testing.assert_array_equal(model.predict(X_NEW), expected.predict(X_NEW))
    np.testing.assert_array_equal(model.oop_prediction_[there], expected.oop_prediction_)
    assert np.isnan(model.oop_prediction_[~there]).all()
    assert not model.observation_probabilities_[~there].any()


def test_weights_move_predictions_and_count_in_the_scores():
    y, weights = np.where(np.arange(300) % 4 == 0, 1.0, 0.0), np.where(np.arange(300) % 4 == 0, 10.0, 1.0)
    plain, weighted = make().fit(X, y), make(n_estimators=100).fit(X, y, sample_weight=weights)
    assert weighted.predict(X_NEW).mean() > plain.predict(X_NEW).mean() + 0.2
    expected = r2_score(y, weighted.oop_prediction_, sample_weight=weights)
    assert weighted.oop_score_ == pytest.approx(expected, rel=1e-9)
    assert weighted.train_scores_[weighted.best_iteration_ - 1] == pytest.approx(
        weighted.score(X, y, sample_weight=weights)
    )


def test_weights_count_by_their_ratios():
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 300)
    one, other = make().fit(X, Y, sample_weight=weights), make().fit(X, Y, sample_weight=1024 * weights)
    np.testing.assert_array_equal(one.predict(X_NEW), other.predict(X_NEW))


# Validation


def test_validation_scores_are_the_staged_scores():
    weights = np.random.default_rng(0).uniform(0.1, 2.0, 300)
    model = make(stopping=None).fit(X, Y, X_val=X_NEW, y_val=Y_NEW, sample_weight_val=weights)
    staged = [r2_score(Y_NEW, predictions, sample_weight=weights) for predictions in model.staged_predict(X_NEW)]
    np.testing.assert_allclose(model.validation_scores_, staged, rtol=1e-9)


# Other weak learners and learning


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (DecisionTreeRegressor(), {}),
        (LinearRegression(), {}),
        (DecisionTreeRegressor(), {"importance": "permutation"}),
        (None, {"importance": "permutation"}),
    ],
    ids=["tree", "linear", "tree-permutation", "native-permutation"],
)
def test_weak_learner_learns(estimator, parameters):
    model = make(estimator=estimator, n_estimators=60, **parameters).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.6
    assert model.feature_importances_[:5].sum() > 0.8
    assert model.feature_probabilities_.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_weak_learner_that_is_a_tree_comes_close_to_the_native_one():
    parameters = {"n_estimators": 100, "stopping": None}
    native = make(**parameters).fit(X, Y).score(X_NEW, Y_NEW)
    foreign = make(estimator=DecisionTreeRegressor(min_samples_leaf=2), **parameters).fit(X, Y).score(X_NEW, Y_NEW)
    assert native == pytest.approx(foreign, abs=0.03)


def test_weak_learner_that_predicts_no_numbers_is_refused():
    class Broken(LinearRegression):
        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="Broken"):
        make(estimator=Broken()).fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("weighting", RESIDUAL_WEIGHTINGS)
def test_friedman_is_learned_as_by_a_forest(weighting):
    model = MPBoostRegressor(weighting=weighting, n_estimators=300, max_features=7, random_state=0).fit(X, Y)
    forest = RandomForestRegressor(100, random_state=0).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > forest.score(X_NEW, Y_NEW) - 0.02
    assert model.oop_score_ == pytest.approx(model.score(X_NEW, Y_NEW), abs=0.1)


def test_categories_are_split_by_subsets():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, 400)
    effects = rng.permutation(20).astype(float)
    frame = pd.DataFrame({"a": pd.Categorical([f"c{code}" for code in codes]), "b": rng.normal(size=400)})
    model = make(max_features=2, max_samples=200, n_estimators=40).fit(frame, effects[codes])
    assert model.score(frame, effects[codes]) > 0.95
    assert model.feature_importances_[0] > 0.9
