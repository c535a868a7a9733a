"""The classifier as its users meet it: what it heeds, what it publishes, and how its outputs hang together."""

import itertools

import numpy as np
import pytest

from mpboost import FeatureProbabilityRecorder, MPBoostClassifier
from mpboost.outputs.calibration import VoteCalibration
from mpboost.outputs.votes import count_votes
from mpboost.sampling.sizes import count_patch_features, count_patch_rows
from tests.support.helpers import SMALL, PatchKeeper, as_votes, describe_model, make_integers
from tests.support.oracle import WEIGHTINGS


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


# Parameters


@pytest.mark.parametrize(
    ("max_samples", "n_samples", "expected"),
    [
        (7, 300, 7),
        (0.1, 300, 30),
        (1e-9, 300, 1),
        ("sqrt", 300, 17),
        ("auto", 300, count_patch_rows("auto", 300)),
        ("auto", 30, 9),
    ],
)
def test_fit_draws_max_samples_rows(max_samples, n_samples, expected):
    X, y = make_integers(n_samples)
    keeper = PatchKeeper()
    model = MPBoostClassifier(n_estimators=3, max_samples=max_samples, callbacks=[keeper], random_state=0).fit(X, y)
    assert [len(np.unique(rows)) for rows in keeper.rows] == [expected] * 3
    assert model.max_samples_ == expected


@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [
        (7, 40, 7),
        (0.1, 40, 4),
        (1.0, 40, 40),
        (1, 40, 1),
        ("sqrt", 40, 6),
        ("auto", 40, count_patch_features("auto", 40)),
        ("auto", 5, 5),
    ],
)
def test_fit_draws_max_features_columns(max_features, n_features, expected):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, n_features)), np.arange(100) % 2
    keeper = PatchKeeper()
    model = MPBoostClassifier(n_estimators=3, max_features=max_features, callbacks=[keeper], random_state=0).fit(X, y)
    assert [len(np.unique(features)) for features in keeper.features] == [expected] * 3
    assert model.max_features_ == expected


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
        {"round_size": 5},
        {"max_depth": 1},
        {"min_samples_leaf": 10},
        {"max_bins": 3},
        {"feature_momentum": 0.9},
        {"feature_exploration": 0.5},
        {"learning_rate": 1.0},
        {"weighting": "hard_exponential"},
        {"importance": "permutation"},
        {"importance": "impurity"},
        {"adaptive_features": False},
        {"adaptive_observations": False},
    ],
    ids=lambda changed: "-".join(str(part) for part in next(iter(changed.items()))),
)
def test_fit_heeds_parameter(changed):
    X, y = make_integers()
    rounds = {"round_size": 2}  # few learners in all: in larger rounds, q would hardly shape draws
    usual = MPBoostClassifier(**SMALL | rounds).fit(X, y)
    model = MPBoostClassifier(**SMALL | rounds | changed).fit(X, y)
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
    parameters = {**SMALL, "importance": "impurity", "stopping": None}
    models = [MPBoostClassifier(**{**parameters, "n_estimators": t}).fit(X, y) for t in range(1, 13)]
    sums = np.array([model.n_iter_ * model.feature_importances_ for model in models])
    added = np.diff(sums, axis=0)
    assert added.min() > -1e-12
    np.testing.assert_allclose(added.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.count_nonzero(added > 1e-12, axis=1) <= SMALL["max_features"]).all()


def test_oop_decision_function_yields_oop_scores(fitted):
    model, _, _, y = fitted
    signs = np.where(y == model.classes_[1], 1, -1)
    assert np.mean(signs * model.oop_decision_function_ > 0) == model.oop_scores_[model.best_iteration_ - 1]


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
    stages = as_votes(list(model.staged_decision_function(X)), model.learning_rate)
    steps = np.diff(stages, axis=0, prepend=0.0)
    for step, rows in zip(steps, keeper.rows, strict=False):
        step[rows] = 0.0
    curves = steps.cumsum(axis=0)
    np.testing.assert_array_equal(model.oop_decision_function_, model.learning_rate * curves[-1])
    np.testing.assert_array_equal(model.oop_scores_[: model.best_iteration_], np.mean(signs * curves > 0, axis=1))


@pytest.mark.parametrize("n_estimators", [25, 700])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_observation_probabilities_follow_the_weighting(cancer, weighting, n_estimators):
    X, y = cancer
    settings = {"weighting": weighting, "learning_rate": 0.03, "n_estimators": n_estimators, "stopping": None}
    model = MPBoostClassifier(**{**SMALL, **settings}).fit(X, y)
    margins = np.where(y == 1, 1, -1) * 0.03 * as_votes(model.decision_function(X), 0.03)
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
    votes = as_votes(model.decision_function(X), model.learning_rate)
    assert (votes % 2 == model.best_iteration_ % 2).all()
    assert np.abs(votes).max() <= model.best_iteration_
    steps = np.diff(as_votes(list(model.staged_decision_function(X)), model.learning_rate), axis=0)
    assert set(np.unique(steps)) == {-1.0, 1.0}


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


def test_predict_vote_share_gives_the_shares_of_votes(fitted):
    model, _, X, _ = fitted
    votes = as_votes(model.decision_function(X), model.learning_rate)
    n_for = (model.best_iteration_ + votes) / 2
    shares = np.column_stack([model.best_iteration_ - n_for, n_for]) / model.best_iteration_
    np.testing.assert_allclose(model.predict_vote_share(X), shares, rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", ["predict_proba", "predict_vote_share"])
def test_predict_proba_rows_sum_to_one(fitted, method):
    model, _, X, _ = fitted
    shares = getattr(model, method)(X)
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_predict_proba_calibrates_the_out_of_patch_votes(fitted):
    model, keeper, X, y = fitted
    n_drawn = np.zeros(len(X), dtype=int)
    for rows in keeper.rows[: model.best_iteration_]:
        n_drawn[rows] += 1
    votes = np.rint(model.oop_decision_function_ / model.learning_rate).astype(int)
    oop_counts = count_votes(votes, model.best_iteration_ - n_drawn)
    calibration = VoteCalibration.fit(oop_counts, np.searchsorted(model.classes_, y))
    decisions = model.decision_function(X) / model.learning_rate  # half a vote stands for a tie
    counts = np.column_stack([model.best_iteration_ - decisions, model.best_iteration_ + decisions]) / 2
    expected = calibration.predict(counts, (decisions > 0).astype(int))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)


def test_predict_proba_finds_the_predicted_class_more_probable(fitted):
    model, _, X, _ = fitted
    for labels, probabilities in zip(model.staged_predict(X), model.staged_predict_proba(X), strict=True):
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], labels)
    np.testing.assert_array_equal(probabilities, model.predict_proba(X))


@pytest.mark.parametrize(("n_positive", "expected"), [(100, 0), (150, 1), (200, 1)], ids=["few", "as-many", "many"])
def test_predict_gives_ties_to_the_more_frequent_class(n_positive, expected):
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = (np.arange(300) < n_positive).astype(int)
    model = MPBoostClassifier(n_estimators=2, max_samples=30, stopping=None, random_state=0).fit(X, y)
    tied = model.predict_vote_share(X)[:, 0] == 0.5
    assert tied.any()
    assert set(model.predict(X[tied])) == {expected}
    assert set(model.decision_function(X[tied])) == {(expected - 0.5) * model.learning_rate_}


def test_oop_scores_count_ties_as_wrong():
    X, y = make_integers()
    model = MPBoostClassifier(n_estimators=2, max_samples=30, stopping=None, random_state=0).fit(X, y)
    tied = model.oop_decision_function_ == 0
    assert tied.any()
    right = np.where(y == 1, 1, -1) * model.oop_decision_function_ > 0
    assert model.oop_scores_[-1] == right.sum() / len(y)


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
