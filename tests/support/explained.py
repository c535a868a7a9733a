"""Small models of all kinds on a table with missing values and categories, and the output that is explained."""

from functools import cache

import numpy as np
import pandas as pd

import mpboost


def make_table(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)).round(2), columns=["age", "größe", "", "x"])
    X[rng.random(X.shape) < 0.1] = np.nan
    X["colour"] = rng.choice(["red", "green", "blue"], n_rows)
    return X


def make_values(X):
    return X.drop(columns="colour").fillna(0).sum(axis=1).to_numpy() + (X["colour"] == "red").to_numpy()


#: For each kind: a model, how targets are made of numbers, and the output that contributions add up to.
KINDS = {
    "two classes": (
        mpboost.MPBoostClassifier(),
        lambda values: np.where(values > 0, "yes", "no"),
        lambda model, X: model.predict_vote_share(X)[:, 1],
    ),
    "many classes": (
        mpboost.MPBoostClassifier(),
        lambda values: np.digitize(values, [-1.0, 1.0]),
        lambda model, X: model.predict_vote_share(X),
    ),
    "colours": (
        mpboost.MPBoostClassifier(multiclass="oc"),
        lambda values: np.digitize(values, [-1.0, 0.0, 1.0]),
        lambda model, X: model._judge(X) / len(model.trees_),
    ),
    "numbers": (mpboost.MPBoostRegressor(), lambda values: values, lambda model, X: model.predict(X)),
    "gradient, two classes": (
        mpboost.MPGradientBoostingClassifier(),
        lambda values: np.where(values > 0, "yes", "no"),
        lambda model, X: model.decision_function(X),
    ),
    "gradient, many classes": (
        mpboost.MPGradientBoostingClassifier(),
        lambda values: np.digitize(values, [-1.0, 1.0]),
        lambda model, X: model.decision_function(X),
    ),
    "gradient, numbers": (
        mpboost.MPGradientBoostingRegressor(loss="poisson"),
        lambda values: np.exp(values / 3),
        lambda model, X: np.log(model.predict(X)),
    ),
}


@cache
def fit_kind(kind):
    """Fit a model; return it with the table that it was trained on."""
    model, make_target, _ = KINDS[kind]
    X = make_table()
    model.set_params(n_estimators=12, max_samples=60, random_state=0)
    return model.fit(X, make_target(make_values(X))), X


def compute_output(kind, model, X):
    return KINDS[kind][2](model, X)
