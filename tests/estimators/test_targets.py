"""Numbers to predict: what is read as y, what is refused, and what their size and scale may do."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_friedman1

from mpboost import MPBoostRegressor
from tests.support.value_oracle import RESIDUAL_WEIGHTINGS

SMALL = {"n_estimators": 25, "max_samples": 60, "max_features": 4, "random_state": 0}
X, Y = make_friedman1(300, n_features=7, noise=1.0, random_state=0)
X_NEW, _ = make_friedman1(300, n_features=7, noise=1.0, random_state=1)


def make(**parameters):
    return MPBoostRegressor(**{**SMALL, **parameters})


TARGETS = {
    "list": lambda y: y.tolist(),
    "integers": lambda y: y.astype(int),
    "float32": lambda y: y.astype(np.float32),
    "objects": lambda y: y.astype(object),
    "pandas": pd.Series,
    "pandas-nullable": lambda y: pd.Series(y).convert_dtypes(),
    "polars": pl.Series,
    "bools": lambda y: y > 14,
}


@pytest.mark.parametrize("convert", TARGETS.values(), ids=TARGETS.keys())
def test_fit_takes_numbers_of_any_kind(convert):
    y = convert(Y)
    plain = np.array([float(value) for value in y])
    np.testing.assert_array_equal(make().fit(X, y).predict(X_NEW), make().fit(X, plain).predict(X_NEW))


@pytest.mark.parametrize(
    ("y", "error", "word"),
    [
        (np.where(Y > 14, "high", "low"), ValueError, "not a number"),
        (np.where(np.arange(300) == 3, np.nan, Y), ValueError, "NaN"),
        (np.where(np.arange(300) == 3, np.inf, Y), ValueError, "infinity"),
        (np.column_stack([Y, Y]), ValueError, "1d"),
        (Y[:-1], ValueError, "inconsistent"),
        (Y + 0j, ValueError, "[Cc]omplex"),
        (np.where(np.arange(300) == 3, 1.1e100, Y), ValueError, r"larger than 1e\+100.*divide"),
        (np.where(np.arange(300) == 3, -1e300, Y), ValueError, r"larger than 1e\+100.*divide"),
        (np.full(300, 1.7e308), ValueError, r"larger than 1e\+100.*divide"),
        (np.resize([1.7e308, -1.7e308], 300), ValueError, r"larger than 1e\+100.*divide"),
        (np.full(300, np.finfo(np.longdouble).max), ValueError, r"larger than 1e\+100.*divide|infinity"),
        ([decimal.Decimal("sNaN")] * 300, ValueError, "not a number"),
        (None, ValueError, "requires y"),
    ],
    ids=[
        *("words", "nan", "inf", "two-columns", "shorter", "complex", "huge", "huge-negative", "huge-sum"),
        *("huge-spread", "long-double", "signalling", "none"),
    ],
)
def test_fit_refuses_targets(y, error, word):
    model = make()
    with pytest.raises(error, match=word):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("constant", [0.0, -7.25, 0.1, 1e10 / 7, 5e-324], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_fit_of_a_constant_predicts_it(constant, weighted):
    weights = np.random.default_rng(0).choice([0.5, 2.0], 300) if weighted else None
    model = make(stopping=None).fit(X, np.full(300, constant), sample_weight=weights)
    np.testing.assert_allclose(model.predict(X_NEW), constant, rtol=1e-12)
    assert set(model.oop_scores_) == set(model.train_scores_) == {1.0}
    expected = np.ones(300) if weights is None else weights
    np.testing.assert_allclose(model.observation_probabilities_, expected / expected.sum(), rtol=1e-12)
    assert not model.feature_importances_.any()


@pytest.mark.parametrize("value", [1e100, -1e100, 5e-324], ids=str)
def test_fit_takes_the_largest_and_smallest_numbers(value):
    y = np.where(X[:, 0] > 0.5, value, 0.0)
    model = make(n_estimators=40).fit(X, y)
    predictions = model.predict(X)
    assert np.isfinite(predictions).all()
    shares = predictions / value
    assert -1e-12 <= shares.min() < shares.max() <= 1 + 1e-12


@pytest.mark.parametrize("weighting", RESIDUAL_WEIGHTINGS)
def test_one_outlier_does_not_spoil_the_others(weighting):
    y = Y.copy()
    y[17] = 1e6
    model = make(weighting=weighting, n_estimators=100, stopping=None).fit(X, y)
    assert model.observation_probabilities_[17] < 0.05
    others = np.arange(300) != 17
    plain = make(weighting=weighting, n_estimators=100, stopping=None).fit(X[others], Y[others])
    near = np.abs(model.predict(X_NEW) - plain.predict(X_NEW)) < 5
    assert np.mean(near) > 0.3


@pytest.mark.parametrize(("scale", "shift"), [(4.0, 0.0), (0.5, 1024.0), (-1.0, 0.0), (1e-3, 5.0)])
@pytest.mark.parametrize("weighting", RESIDUAL_WEIGHTINGS)
def test_predictions_follow_the_scale_of_targets(weighting, scale, shift):
    model, moved = make(weighting=weighting).fit(X, Y), make(weighting=weighting).fit(X, scale * Y + shift)
    np.testing.assert_allclose(moved.predict(X_NEW), scale * model.predict(X_NEW) + shift, rtol=1e-9)
    np.testing.assert_allclose(moved.observation_probabilities_, model.observation_probabilities_, rtol=1e-6)
    np.testing.assert_allclose(moved.oop_scores_, model.oop_scores_, rtol=1e-6, atol=1e-9)
