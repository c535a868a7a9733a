"""Intervals whose width depends on the row: by a model of the errors, or by models of two quantiles."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from mpboost import (
    BinnedDataset,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingRegressor,
    fit_spread,
    load_model,
    save_model,
)
from mpboost.outputs.conformal import find_limit

REGRESSORS = [MPBoostRegressor, MPGradientBoostingRegressor]
N_TRAIN = 1000


@cache
def make_numbers():
    """Make rows whose noise grows with the second feature, from a fifth to nine fifths."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5000, 3))
    return X, np.sin(6 * X[:, 0]) + (0.2 + 1.6 * X[:, 1]) * rng.normal(size=len(X))


@cache
def fit_both(cls):
    X, y = make_numbers()
    model = cls(random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    return model, fit_spread(model, X[:N_TRAIN])


@cache
def fit_quantiles(**parameters):
    X, y = make_numbers()
    return tuple(
        MPGradientBoostingRegressor(loss="quantile", alpha=alpha, random_state=0, **parameters).fit(
            X[:N_TRAIN], y[:N_TRAIN]
        )
        for alpha in (0.05, 0.95)
    )


def cover(intervals, y):
    return (intervals[:, 0] <= y) & (y <= intervals[:, 1])


def cover_thirds(intervals):
    """Tell how often the numbers of new rows with little, more and most noise are covered."""
    X, y = make_numbers()
    thirds = np.minimum(3 * X[N_TRAIN:, 1], 2).astype(int)
    held = cover(intervals, y[N_TRAIN:])
    return np.array([held[thirds == third].mean() for third in range(3)])


@pytest.mark.slow
@pytest.mark.parametrize("cls", REGRESSORS)
def test_spread_covers_calm_and_noisy_rows_alike(cls):
    X, _ = make_numbers()
    model, spread = fit_both(cls)
    adapted = model.predict_interval(X[N_TRAIN:], 0.9, spread=spread)
    np.testing.assert_allclose(cover_thirds(adapted), 0.9, atol=0.045)
    same = model.predict_interval(X[N_TRAIN:], 0.9)
    assert cover_thirds(same)[2] < 0.82 < 0.97 < cover_thirds(same)[0]
    assert np.diff(adapted).mean() < np.diff(same).mean()
    assert np.corrcoef(np.diff(adapted)[:, 0], X[N_TRAIN:, 1])[0, 1] > 0.9


@pytest.mark.slow
def test_quantiles_cover_as_often_as_asked_and_noisy_rows_nearly_so():
    X, y = make_numbers()
    low, high = fit_quantiles()
    found = low.predict_interval(X[N_TRAIN:], 0.9, upper=high)
    assert np.mean(cover(found, y[N_TRAIN:])) == pytest.approx(0.9, abs=0.03)
    assert cover_thirds(found).min() > 0.85
    raw = np.column_stack([low.predict(X[N_TRAIN:]), high.predict(X[N_TRAIN:])])
    assert cover_thirds(raw).mean() < 0.88  # what quantiles hold if nothing is done about it


def test_intervals_with_a_spread_are_multiples_of_it():
    X, y = make_numbers()
    model, spread = fit_both(MPGradientBoostingRegressor)
    new = X[-50:]
    scores = (y[:N_TRAIN] - model.oop_prediction_) / spread.oop_prediction_
    down, up = find_limit(-scores, 0.95), find_limit(scores, 0.95)
    low, high = model.predict_interval(new, 0.9, spread=spread).T
    np.testing.assert_allclose(low, model.predict(new) - down * spread.predict(new))
    np.testing.assert_allclose(high, model.predict(new) + up * spread.predict(new))


def test_intervals_of_two_models_have_ends_of_their_own():
    X, y = make_numbers()
    lower, upper = fit_quantiles(n_estimators=60)
    new = X[-50:]
    low, high = lower.predict_interval(new, 0.9, upper=upper).T
    np.testing.assert_allclose(low, lower.predict(new) - find_limit(lower.oop_prediction_ - y[:N_TRAIN], 0.95))
    np.testing.assert_allclose(high, upper.predict(new) + find_limit(y[:N_TRAIN] - upper.oop_prediction_, 0.95))


def test_ends_of_models_that_cross_are_put_in_order():
    X, y = make_numbers()
    high, low = fit_quantiles(n_estimators=60)  # the wrong way round
    new = X[-500:]
    ends = np.column_stack(
        [
            low.predict(new) - find_limit(low.oop_prediction_ - y[:N_TRAIN], 0.51),
            high.predict(new) + find_limit(y[:N_TRAIN] - high.oop_prediction_, 0.51),
        ]
    )
    assert 0 < np.mean(ends[:, 0] > ends[:, 1]) < 1
    np.testing.assert_allclose(low.predict_interval(new, 0.02, upper=high), np.sort(ends, axis=1))


def test_groups_have_limits_of_their_own_with_a_spread():
    X, y = make_numbers()
    model, spread = fit_both(MPGradientBoostingRegressor)
    groups = np.arange(N_TRAIN) % 2
    found = model.predict_interval(X[-9:], 0.8, spread=spread, groups=[1] * 9, training_groups=groups)
    scores = ((y[:N_TRAIN] - model.oop_prediction_) / spread.oop_prediction_)[groups == 1]
    np.testing.assert_allclose(found[:, 1], model.predict(X[-9:]) + find_limit(scores, 0.9) * spread.predict(X[-9:]))


def test_spread_learns_from_judged_rows_alone():
    X, y = make_numbers()
    model = MPGradientBoostingRegressor(n_models=1, oop_size=400, n_estimators=100, random_state=0)
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    spread = fit_spread(model, X[:N_TRAIN])
    assert (spread.oop_counts_ > 0).tolist() == (model.oop_counts_ > 0).tolist()
    assert np.mean(cover(model.predict_interval(X[N_TRAIN:], spread=spread), y[N_TRAIN:])) == pytest.approx(
        0.9, abs=0.03
    )


@pytest.mark.slow
def test_spread_does_not_depend_on_the_units_of_the_target():
    X, y = make_numbers()
    parameters = {"n_estimators": 60, "random_state": 0}
    one, thousand = (
        MPGradientBoostingRegressor(**parameters).fit(X[:300], factor * y[:300]) for factor in (1.0, 1024.0)
    )
    found, scaled = (
        model.predict_interval(X[-20:], spread=fit_spread(model, X[:300])) / factor
        for model, factor in ((one, 1.0), (thousand, 1024.0))
    )
    np.testing.assert_allclose(found, scaled, rtol=1e-5)


def test_spread_of_a_model_without_errors_is_harmless():
    X, _ = make_numbers()
    model = MPBoostRegressor(n_estimators=10, stopping=None, random_state=0).fit(X[:100], np.full(100, 3.0))
    np.testing.assert_array_equal(model.predict_interval(X[:5], 0.8, spread=fit_spread(model, X[:100])), 3.0)


@pytest.mark.slow
def test_spread_takes_datasets_and_frames_like_tables(tmp_path):
    X, y = make_numbers()
    _, spread = fit_both(MPGradientBoostingRegressor)
    with BinnedDataset.from_arrays(X[:N_TRAIN], y[:N_TRAIN], file=tmp_path / "rows.mpd") as dataset:
        again = fit_spread(MPGradientBoostingRegressor(random_state=0).fit(dataset), dataset)
    np.testing.assert_array_equal(again.predict(X[-50:]), spread.predict(X[-50:]))
    frame = pd.DataFrame(X[:300], columns=list("abc")).assign(kind=np.where(X[:300, 1] > 0.5, "loud", "calm"))
    fitted = MPGradientBoostingRegressor(n_estimators=60, random_state=0).fit(frame, y[:300])
    assert fit_spread(fitted, frame).is_categorical_.tolist() == [False, False, False, True]


def test_spread_of_a_dataset_does_not_use_its_weights(tmp_path):
    """Coverage is a share of rows: weights are for the model, not for its errors."""
    X, y = make_numbers()
    weights = np.where(X[:300, 1] > 0.5, 10.0, 1.0)
    model = MPGradientBoostingRegressor(n_estimators=30, random_state=0)
    with BinnedDataset.from_arrays(X[:300], y[:300], sample_weight=weights, file=tmp_path / "rows.mpd") as dataset:
        model.fit(dataset)
        assert (model.oop_counts_ > 0).all()
        found = fit_spread(model, dataset)
    np.testing.assert_array_equal(found.predict(X[-50:]), fit_spread(model, X[:300]).predict(X[-50:]))


def test_intervals_of_loaded_models_are_the_same(tmp_path):
    X, _ = make_numbers()
    model, spread = fit_both(MPBoostRegressor)
    for name, each in (("model", model), ("spread", spread)):
        save_model(each, tmp_path / f"{name}.mpb")
    loaded, known = (load_model(tmp_path / f"{name}.mpb") for name in ("model", "spread"))
    found = loaded.predict_interval(X[-20:], spread=known)
    np.testing.assert_array_equal(found, model.predict_interval(X[-20:], spread=spread))


def test_bad_models_of_errors_are_refused():
    X, _ = make_numbers()
    model, spread = fit_both(MPGradientBoostingRegressor)
    other, others_spread = fit_both(MPBoostRegressor)
    few = MPGradientBoostingRegressor(n_estimators=10, random_state=0).fit(X[:50], np.ones(50))
    for bad in (model, other, others_spread, few, LinearRegression(), 1.0):
        with pytest.raises(ValueError, match=r"spread must be a model of the errors of this model: pass fit_spread"):
            model.predict_interval(X[:3], spread=bad)
    with pytest.raises(NotFittedError):
        model.predict_interval(X[:3], spread=MPGradientBoostingRegressor())
    with pytest.raises(ValueError, match="Pass spread or upper, not both"):
        model.predict_interval(X[:3], spread=spread, upper=model)


def test_spreads_of_other_models_are_refused_if_numbers_are_tiny():
    X, y = make_numbers()
    one, other = (
        MPGradientBoostingRegressor(n_estimators=20, random_state=seed).fit(X[:200], 1e-10 * y[:200]) for seed in (0, 1)
    )
    spread = fit_spread(one, X[:200])
    assert np.isfinite(one.predict_interval(X[:3], spread=spread)).all()
    with pytest.raises(ValueError, match="spread must be a model of the errors of this model"):
        other.predict_interval(X[:3], spread=spread)


def test_upper_models_that_judged_other_rows_are_warned_of():
    X, y = make_numbers()
    lower, same, other = (
        MPGradientBoostingRegressor(
            loss="quantile", alpha=alpha, n_models=1, oop_size=0.1, n_estimators=20, random_state=seed
        ).fit(X[:400], y[:400])
        for alpha, seed in ((0.05, 0), (0.95, 0), (0.95, 1))
    )
    lower.predict_interval(X[:3], 0.2, upper=same)  # warnings are errors
    is_judged = np.array([lower.oop_counts_ > 0, other.oop_counts_ > 0])
    n_both, n_any = is_judged.all(axis=0).sum(), is_judged.any(axis=0).sum()
    assert n_both < n_any / 2
    words = f"Only {n_both} of {n_any} judged rows were judged by both models: fit both with the same random_state and"
    with pytest.warns(UserWarning, match=words) as caught:
        lower.predict_interval(X[:3], 0.2, upper=other)
    assert caught[0].filename == __file__


def test_bad_upper_models_are_refused():
    X, y = make_numbers()
    model, _ = fit_both(MPGradientBoostingRegressor)
    shuffled = MPGradientBoostingRegressor(n_estimators=10, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN][::-1])
    few = MPGradientBoostingRegressor(n_estimators=10, random_state=0).fit(X[:50], y[:50])
    for bad in (shuffled, few, LinearRegression()):
        with pytest.raises(ValueError, match="upper must be a regressor of mpboost that was fitted to the same rows"):
            model.predict_interval(X[:3], upper=bad)


def test_bad_input_of_fit_spread_is_refused():
    X, y = make_numbers()
    model, _ = fit_both(MPGradientBoostingRegressor)
    with pytest.raises(ValueError, match="X has 3 rows, but the model was fitted to 1000: pass the same rows"):
        fit_spread(model, X[:3])
    for bad in (LinearRegression(), MPBoostClassifier()):
        with pytest.raises(TypeError, match=f"needs a regressor of mpboost, not {type(bad).__name__}"):
            fit_spread(bad, X)
    with pytest.raises(NotFittedError):
        fit_spread(MPBoostRegressor(), X)
    whole = MPBoostRegressor(n_estimators=5, max_samples=1.0, stopping=None, random_state=0).fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="no out-of-patch predictions"):
        fit_spread(whole, X[:50])


def test_spread_needs_ten_judged_rows():
    X, y = make_numbers()
    nine, ten = (
        MPBoostRegressor(n_estimators=20, stopping=None, random_state=0).fit(X[:n_rows], y[:n_rows])
        for n_rows in (9, 10)
    )
    words = "Only 9 training rows have out-of-patch predictions, too few to learn a spread: 10 or more are needed. Use"
    with pytest.raises(ValueError, match=words):
        fit_spread(nine, X[:9])
    assert (fit_spread(ten, X[:10]).predict(X[:3]) > 0).all()
