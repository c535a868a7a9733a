"""Models of all kinds, and rows that tell exports of these from ``predict``; the tests use them, too."""

from typing import Any

import numpy as np
import pandas as pd

import mpboost
from mpboost.export import describe_model

N_NUMBERS = 5
NUMBERS = [f"number{j}" for j in range(N_NUMBERS)]
#: What goes into a column of an ONNX model where a category is missing.
MISSING_TEXT, MISSING_WHOLE = "", np.iinfo(np.int64).min

VOTES, GRADIENT = "MPBoostClassifier", "MPGradientBoostingClassifier"
REGRESSOR, GRADIENT_REGRESSOR = "MPBoostRegressor", "MPGradientBoostingRegressor"
#: The estimator, the target and the parameters of each model.
RECIPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "two classes": (VOTES, "words", {"n_estimators": 24}),  # an even number of votes: ties
    "many classes": (VOTES, "classes", {"n_estimators": 6}),  # few votes: many ties
    "many classes, m2": (VOTES, "classes", {"multiclass": "m2"}),
    "many classes, mh": (VOTES, "classes", {"multiclass": "mh"}),
    "colours": (VOTES, "classes", {"multiclass": "oc"}),
    "numbers": (REGRESSOR, "numbers", {}),
    "gradient, two classes": (GRADIENT, "truth", {}),
    "gradient, many classes": (GRADIENT, "classes", {}),
    "gradient, squared error": (GRADIENT_REGRESSOR, "numbers", {}),
    "gradient, absolute error": (GRADIENT_REGRESSOR, "numbers", {"loss": "absolute_error"}),
    "gradient, quantile": (GRADIENT_REGRESSOR, "numbers", {"loss": "quantile"}),
    "gradient, huber": (GRADIENT_REGRESSOR, "numbers", {"loss": "huber"}),
    "gradient, poisson": (GRADIENT_REGRESSOR, "positive", {"loss": "poisson"}),
    "gradient, gamma": (GRADIENT_REGRESSOR, "positive", {"loss": "gamma"}),
}
#: Names of models of all kinds; those with "+" have categories, of which some features have too many.
NAMES = [*RECIPES, *(f"{name} +" for name in RECIPES)]


def make_table(n_rows: int, seed: int, *, has_categories: bool) -> tuple[Any, Any]:
    """Make numbers with missing values and, if asked, categories: few words, many words, and whole numbers."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, N_NUMBERS)).round(2)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    score = np.nan_to_num(numbers[:, 0] + numbers[:, 1] * np.nan_to_num(numbers[:, 2]))
    if not has_categories:
        return numbers, score
    words = np.array(["red", "grün", 'a "quoted" word', None], dtype=object)
    table = pd.DataFrame(numbers, columns=NUMBERS)
    table["few"] = words[rng.integers(4, size=n_rows)]
    table["many"] = [f"w{k}" for k in rng.exponential(12, size=n_rows).astype(int)]
    table["whole"] = pd.Categorical(rng.integers(0, 9, size=n_rows))
    return table, score + (table["few"] == "red") - (table["whole"].astype(int) % 2) + (table["many"].str[-1] == "3")


def fit_subject(name: str, n_rows: int, **params: Any) -> Any:
    """Fit the model of a name."""
    estimator, target, own_params = RECIPES[name.removesuffix(" +")]
    X, score = make_table(n_rows, 0, has_categories=name.endswith("+"))
    score = np.asarray(score) + np.random.default_rng(1).normal(size=n_rows) / 3
    targets = {
        "words": np.where(score > 0, "yes", "no"),
        "truth": score > 0,
        "classes": np.digitize(score, [-1, 0, 1]) * 10,
        "numbers": score,
        "positive": np.exp(score / 3),
    }
    params = {"n_estimators": 25, "max_bins": 20, "stopping": None, "random_state": 0} | own_params | params
    return getattr(mpboost, estimator)(**params).fit(X, targets[target])


def make_rows(model: Any, n_rows: int, float_type: str = "float64", seed: int = 2) -> Any:
    """Make rows at thresholds, one step beside them, missing, infinite, and with unseen categories."""
    rng = np.random.default_rng(seed)
    description = describe_model(model)
    numbers = np.empty((n_rows, N_NUMBERS), dtype=float_type)
    for j in range(N_NUMBERS):
        edges = description.features[j].edges.astype(float_type)
        low, high = (np.nextafter(edges, edges.dtype.type(limit)) for limit in (-np.inf, np.inf))
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30], dtype=float_type)
        numbers[:, j] = rng.choice(np.concatenate([edges, low, high, special]), n_rows)
    if not description.has_categories:
        return numbers
    table, _ = make_table(n_rows, seed, has_categories=True)
    table[NUMBERS] = numbers
    table.loc[rng.random(n_rows) < 0.1, ["few", "many"]] = "unseen"
    whole = rng.integers(-2, 12, size=n_rows).astype(float)
    whole[rng.random(n_rows) < 0.1] = np.nan
    table["whole"] = whole
    return table


def make_feed(rows: Any, float_type: str) -> dict[str, Any]:
    """Make the inputs of an ONNX model."""
    if isinstance(rows, np.ndarray):
        return {"X": rows.astype(float_type)}
    columns = {name: rows[[name]].to_numpy().astype(float_type) for name in NUMBERS}
    for name in ("few", "many"):
        columns[name] = rows[[name]].fillna(MISSING_TEXT).to_numpy(dtype=object)
    return columns | {"whole": rows[["whole"]].fillna(MISSING_WHOLE).to_numpy().astype(np.int64)}


def predict_raw(model: Any, rows: Any) -> Any:
    """Compute what exports without calibration and links predict: shares of trees that vote, log odds, raw values."""
    totals = model._total(rows)
    if hasattr(model, "baseline_"):
        return model._add_baseline(totals).reshape(len(rows), -1)
    if hasattr(model, "classes_"):
        votes = model._read_totals(totals, len(model._ensemble))
        totals = votes[:, 1:] if len(model.classes_) == 2 else votes
    return totals.reshape(len(rows), -1) / len(model._ensemble)
