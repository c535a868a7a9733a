"""Intervals of numbers and sets of classes: coverage on new rows, groups, and what is refused."""

import warnings
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    load_model,
    save_model,
)
from mpboost.estimators import out_of_patch
from mpboost.estimators.out_of_patch import estimate_given_classes, find_judged_rows, present, read_outputs
from mpboost.outputs.votes import correct_votes

REGRESSORS = [MPBoostRegressor, MPGradientBoostingRegressor]
CLASSIFIERS = [MPBoostClassifier, MPGradientBoostingClassifier]

N_TRAIN = 800


@cache
def make_numbers():
    """Make rows of two groups, of which the second has three times the noise of the first."""
    X, y = make_friedman1(6000, n_features=6, random_state=0)
    noise = np.random.default_rng(1).normal(size=len(y))
    groups = np.where(X[:, 5] > 0.5, "loud", "calm")
    return X, y + noise * np.where(groups == "loud", 3.0, 1.0), groups


@cache
def fit_regressor(cls):
    X, y, _ = make_numbers()
    return cls(random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])


@cache
def make_classes(n_classes, seed=0):
    """Make rows of a rare first class, with a tenth of the labels wrong."""
    shares = [0.1] + [0.9 / (n_classes - 1)] * (n_classes - 1)
    return make_classification(
        6000, 8, n_informative=5, n_classes=n_classes, weights=shares, flip_y=0.1, random_state=seed
    )


@cache
def fit_classifier(cls, n_classes, seed=0):
    X, y = make_classes(n_classes, seed)
    return cls(random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])


def cover(intervals, y):
    return (intervals[:, 0] <= y) & (y <= intervals[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("cls", REGRESSORS)
def test_intervals_hold_new_numbers_as_often_as_asked(cls, coverage):
    X, y, _ = make_numbers()
    intervals = fit_regressor(cls).predict_interval(X[N_TRAIN:], coverage)
    assert np.mean(cover(intervals, y[N_TRAIN:])) == pytest.approx(coverage, abs=0.03)
    below = np.mean(y[N_TRAIN:] < intervals[:, 0])
    assert below == pytest.approx((1 - coverage) / 2, abs=0.025)  # as many below as above


@pytest.mark.slow
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_sets_hold_new_classes_as_often_as_asked(cls, n_classes, coverage):
    X, y = make_classes(n_classes)
    sets = fit_classifier(cls, n_classes).predict_set(X[N_TRAIN:], coverage)
    # Rather more often: a row was judged by some of the learners, and all of them together are better.
    assert coverage - 0.02 <= np.mean(sets[np.arange(len(sets)), y[N_TRAIN:]]) <= coverage + 0.05
    assert sets.sum(axis=1).mean() < n_classes * coverage  # fewer classes than sets drawn blindly would have


@pytest.mark.slow
@pytest.mark.parametrize("cls", REGRESSORS)
def test_groups_are_covered_alike(cls):
    X, y, groups = make_numbers()
    model, new = fit_regressor(cls), slice(N_TRAIN, None)
    together = model.predict_interval(X[new])
    apart = model.predict_interval(X[new], groups=groups[new], training_groups=groups[:N_TRAIN])
    for name, least in (("calm", 0.95), ("loud", 0.0)):
        rows = groups[new] == name
        assert np.mean(cover(apart, y[new])[rows]) == pytest.approx(0.9, abs=0.04)
        assert np.mean(cover(together, y[new])[rows]) >= least
    assert np.mean(cover(together, y[new])[groups[new] == "loud"]) < 0.87  # without groups, loud rows pay for calm ones
    assert (np.diff(apart)[groups[new] == "calm"] < np.diff(apart)[groups[new] == "loud"].min()).all()


@pytest.mark.slow
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_rare_classes_are_covered_alike_if_asked(cls):
    new, coverages = slice(N_TRAIN, None), []
    for seed in range(5):  # of a single table the limit for the rare class follows from a hundred rows
        X, y = make_classes(2, seed)
        model, rare = fit_classifier(cls, 2, seed), y[new] == 0
        both, each = (model.predict_set(X[new], 0.9, per_class=per_class) for per_class in (False, True))
        coverages.append([both[rare, 0].mean(), each[rare, 0].mean(), each[~rare, 1].mean()])
    of_rare_together, of_rare, of_others = np.mean(coverages, axis=0)
    assert of_rare_together < 0.6
    assert 0.87 < of_rare < 0.97
    assert of_others == pytest.approx(0.9, abs=0.04)


def test_sets_of_groups_use_the_limits_of_their_group():
    X, _ = make_classes(2)
    model = fit_classifier(MPBoostClassifier, 2)
    groups = np.array(["a", "b"])[np.arange(len(X)) % 2]
    training = groups[:N_TRAIN]
    new = X[N_TRAIN:]
    for name in "ab":
        own = 1.0 - estimate_own(model)[training == name]
        place = int(np.ceil(0.9 * (len(own) + 1)))
        limit = np.sort(own)[place - 1]
        found = model.predict_set(new, groups=[name] * len(new), training_groups=training)
        np.testing.assert_array_equal(found, 1.0 - model.predict_proba(new) <= limit)


def estimate_own(model, *, corrects=True):
    """Estimate the probability of the own class of all training rows, from votes that are corrected as a whole."""
    rows = find_judged_rows(model)
    assert len(rows) == N_TRAIN
    codes, votes = model._targets.astype(int), read_outputs(model, rows)
    if corrects:
        votes = correct_votes(votes, codes, model.oop_counts_, model.best_iteration_)
    return present(model, votes).estimate()[rows, codes]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sets_use_votes_that_are_corrected_for_an_adaptive_p(n_classes, monkeypatch):
    monkeypatch.setattr(out_of_patch, "BATCH_ROWS", 100)
    model = fit_classifier(MPBoostClassifier, n_classes)
    own = estimate_given_classes(model, find_judged_rows(model))
    np.testing.assert_allclose(own, estimate_own(model), rtol=1e-12)
    assert own.mean() > estimate_own(model, corrects=False).mean()


def test_sets_use_corrected_votes_also_if_the_paper_says_when_to_stop():
    X, y = make_classes(2)
    model = MPBoostClassifier(n_estimators=50, stopping="paper", random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    own = estimate_given_classes(model, find_judged_rows(model))
    np.testing.assert_allclose(own, estimate_own(model), rtol=1e-12)


def test_sets_use_the_votes_themselves_if_p_is_uniform():
    X, y = make_classes(2)
    model = MPBoostClassifier(n_estimators=50, adaptive_observations=False, random_state=0).fit(
        X[:N_TRAIN], y[:N_TRAIN]
    )
    own = estimate_given_classes(model, find_judged_rows(model))
    np.testing.assert_array_equal(own, estimate_own(model, corrects=False))


@pytest.mark.slow
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_intervals_and_sets_of_reserved_rows_are_those_of_split_conformal_prediction(coverage):
    """With one model that does not stop by its reserved rows, these are a hold-out: MAPIE finds the same."""
    regression = pytest.importorskip("mapie.regression")
    classification = pytest.importorskip("mapie.classification")
    scores = pytest.importorskip("mapie.conformity_scores")
    parameters = {"n_models": 1, "oop_size": 300, "n_estimators": 60, "stopping": None, "random_state": 0}
    new, train = slice(N_TRAIN, None), slice(0, N_TRAIN)

    X, y, _ = make_numbers()
    model = MPGradientBoostingRegressor(**parameters).fit(X[train], y[train])
    held = np.flatnonzero(model.oop_counts_)
    assert len(held) == 300
    each_side = scores.AbsoluteConformityScore(sym=False)
    theirs = regression.SplitConformalRegressor(model, coverage, prefit=True, conformity_score=each_side)
    _, found = theirs.conformalize(X[held], y[held]).predict_interval(X[new])
    np.testing.assert_allclose(model.predict_interval(X[new], coverage), found[:, :, 0], atol=1e-5)

    X, y = make_classes(4)
    classifier = MPGradientBoostingClassifier(**parameters).fit(X[train], y[train])
    held = np.flatnonzero(classifier.oop_counts_)
    theirs = classification.SplitConformalClassifier(classifier, coverage, prefit=True, conformity_score="lac")
    _, found = theirs.conformalize(X[held], y[held]).predict_set(X[new])
    assert np.mean(classifier.predict_set(X[new], coverage) != found[:, :, 0]) < 1e-3  # rounding at the limit


def test_more_coverage_never_makes_intervals_or_sets_smaller():
    X, _, _ = make_numbers()
    intervals = [fit_regressor(MPBoostRegressor).predict_interval(X[-20:], share) for share in (0.5, 0.8, 0.99)]
    for inner, outer in pairwise(intervals):
        assert (outer[:, 0] < inner[:, 0]).all()
        assert (outer[:, 1] > inner[:, 1]).all()
    X, _ = make_classes(4)
    sets = [fit_classifier(MPBoostClassifier, 4).predict_set(X[-200:], share) for share in (0.5, 0.8, 0.99)]
    for inner, outer in pairwise(sets):
        assert (outer | ~inner).all()
        assert outer.sum() > inner.sum()


def test_intervals_of_counts_do_not_go_below_zero():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    y = rng.poisson(np.exp(2 * X[:, 0]))
    model = MPGradientBoostingRegressor(loss="poisson", n_estimators=40, random_state=0).fit(X, y)
    low, high = model.predict_interval(X, 0.95).T
    assert low.min() == 0.0
    assert (high > model.predict(X)).all()
    squares = MPGradientBoostingRegressor(n_estimators=40, random_state=0).fit(X, y)
    assert squares.predict_interval(X, 0.95).min() < 0


def test_intervals_around_quantiles_still_hold_the_numbers():
    X, y, _ = make_numbers()
    model = MPGradientBoostingRegressor(loss="quantile", alpha=0.8, n_estimators=100, random_state=0)
    low, high = model.fit(X[:N_TRAIN], y[:N_TRAIN]).predict_interval(X[N_TRAIN:], 0.9).T
    predicted = model.predict(X[N_TRAIN:])
    assert np.mean((low <= y[N_TRAIN:]) & (y[N_TRAIN:] <= high)) == pytest.approx(0.9, abs=0.03)
    assert (predicted - low > 1.5 * (high - predicted)).all()  # most numbers are below the prediction


def test_given_estimators_have_intervals_too():
    X, y, _ = make_numbers()
    model = MPBoostRegressor(LinearRegression(), n_estimators=20, random_state=0).fit(X[:300], y[:300])
    assert np.mean(cover(model.predict_interval(X[300:]), y[300:])) == pytest.approx(0.9, abs=0.04)


def test_rows_of_weight_zero_do_not_count():
    X, y, _ = make_numbers()
    weights = np.ones(400)
    weights[200:] = 0
    wild = np.where(weights > 0, y[:400], 1e6)
    parameters = {"n_estimators": 20, "stopping": None, "random_state": 0}
    all_rows = MPBoostRegressor(**parameters).fit(X[:400], wild, weights)
    some = MPBoostRegressor(**parameters).fit(X[:200], y[:200])
    np.testing.assert_array_equal(all_rows.predict_interval(X), some.predict_interval(X))


def test_intervals_and_sets_of_a_file_are_the_same(tmp_path):
    X, _, _ = make_numbers()
    for model, method, rows in (
        (fit_regressor(MPGradientBoostingRegressor), "predict_interval", X[:30]),
        (fit_classifier(MPBoostClassifier, 4), "predict_set", make_classes(4)[0][:30]),
    ):
        save_model(model, tmp_path / f"{method}.mpb")
        loaded = load_model(tmp_path / f"{method}.mpb")
        np.testing.assert_array_equal(getattr(loaded, method)(rows), getattr(model, method)(rows))


def test_too_few_rows_give_endless_intervals_and_a_warning():
    X, y, _ = make_numbers()
    model = MPBoostRegressor(n_estimators=20, stopping=None, random_state=0).fit(X[:12], y[:12])
    with pytest.warns(UserWarning, match="19 training rows must have been judged, but there are 12: intervals are inf"):
        found = model.predict_interval(X[:3], 0.9)
    assert np.isinf(found).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.predict_interval(X[:3], 0.8)).all()
    labels = np.arange(12) % 2
    classes = MPBoostClassifier(n_estimators=20, stopping=None, random_state=0).fit(X[:12], labels)
    with pytest.warns(UserWarning, match=r"9 training rows of 0, 1 must .* there are 6: sets have all classes"):
        assert classes.predict_set(X[:3], per_class=True).all()


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, np.nan, "90", None])
def test_bad_coverage_is_refused(coverage):
    X, _, _ = make_numbers()
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        fit_regressor(MPBoostRegressor).predict_interval(X[:3], coverage)


@pytest.mark.parametrize(
    ("groups", "training_groups", "message"),
    [
        ([1, 2, 3], None, "Pass both groups and training_groups"),
        (None, [1] * N_TRAIN, "Pass both groups and training_groups"),
        ([1, 1], [1] * N_TRAIN, "groups has 2 entries, but there are 3 rows"),
        ([1, 1, 1], [1, 1], "training_groups has 2 entries, but there are 800 rows"),
        (["north", "east", "west"], ["north"] * N_TRAIN, "No training row is in these groups: east, west"),
    ],
    ids=["groups alone", "training groups alone", "few", "few of training", "unknown"],
)
def test_bad_groups_are_refused(groups, training_groups, message):
    X, _, _ = make_numbers()
    with pytest.raises(ValueError, match=message):
        fit_regressor(MPBoostRegressor).predict_interval(X[:3], groups=groups, training_groups=training_groups)


def test_groups_without_judged_rows_are_refused():
    X, y, _ = make_numbers()
    model = MPGradientBoostingRegressor(n_models=1, oop_size=0.2, n_estimators=10, random_state=0).fit(X[:99], y[:99])
    groups = np.where(model.oop_counts_ > 0, "judged", "learned")
    with pytest.raises(ValueError, match=r"No training row of these groups was judged out of patch: learned\. Predict"):
        model.predict_interval(X[:2], 0.5, groups=["judged", "learned"], training_groups=groups)
    with pytest.raises(ValueError, match=r"No training row is in these groups: new\. Predict"):
        model.predict_interval(X[:2], 0.5, groups=["new", "learned"], training_groups=groups)


def test_groups_and_classes_at_once_are_refused():
    X, _ = make_classes(2)
    with pytest.raises(ValueError, match="Pass groups or per_class=True, not both"):
        fit_classifier(MPBoostClassifier, 2).predict_set(
            X[:2], per_class=True, groups=[1, 1], training_groups=[1] * N_TRAIN
        )


def test_models_without_out_of_patch_predictions_are_refused():
    X, y, _ = make_numbers()
    model = MPBoostRegressor(n_estimators=5, max_samples=1.0, stopping=None, random_state=0).fit(X[:50], y[:50])
    with pytest.raises(ValueError, match=r"no out-of-patch predictions\. max_samples=1\.0 puts all rows"):
        model.predict_interval(X[:3])
    with pytest.raises(AttributeError, match="made by truncate"):
        fit_regressor(MPBoostRegressor).truncate(3).predict_interval(X[:3])
    with pytest.raises(NotFittedError):
        MPBoostClassifier().predict_set(X[:3])
