"""What tests of datasets use: tables of many types, ways to cut them into batches, and the bytes of models."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from mpboost import (
    BinnedDataset,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    save_model,
)

#: Parameters of a model that is fitted in a moment.
QUICK = {"n_estimators": 8, "max_samples": 50, "max_features": 0.6, "random_state": 0, "stopping": None}

CLASSIFIERS = (MPBoostClassifier, MPGradientBoostingClassifier)
REGRESSORS = (MPBoostRegressor, MPGradientBoostingRegressor)
ESTIMATORS = CLASSIFIERS + REGRESSORS


def save_bytes(model):
    """Return the bytes of a model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mpb")
        save_model(model, path)
        return path.read_bytes()


def make_numbers(n_rows=200, seed=0):
    """Make columns of numbers, some of them missing, and numbers that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).round(2)
    values = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) / 4
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, values


def make_mixed(n_rows=200, seed=0):
    """Make a data frame of numbers, words, categories, dates and missing values, and text labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(make_numbers(n_rows, seed)[0][:, :2], columns=["height", "größe"])
    X["count"] = rng.integers(0, 9, n_rows)
    X["colour"] = rng.choice(["red", "green", "blue", None], n_rows)
    X["shape"] = pd.Categorical(rng.choice(["round", "square"], n_rows), categories=["square", "none", "round"])
    X["when"] = pd.Timestamp("2024-02-27") + pd.to_timedelta(rng.integers(0, 4, n_rows), unit="D")
    X["is_new"] = rng.random(n_rows) < 0.5
    score = X["count"] + 3 * (X["colour"] == "red") + 2 * X["is_new"] + rng.normal(size=n_rows)
    return X, np.where(score > score.median(), "yes", "no")


def take(table, start, stop):
    """Take some rows of a table of any library."""
    if table is None:
        return None
    if hasattr(table, "iloc"):
        return table.iloc[start:stop]
    if hasattr(table, "slice") and not isinstance(table, np.ndarray):
        return table.slice(start, max(0, stop - start))
    return table[start:stop]


def cut(X, y, weights=None, *, places=(70, 71, 71, 150)):
    """Make a function that yields batches: the rows between these places, one batch of one row and an empty one."""
    n_rows = X.shape[0]

    def read_batches():
        for start, stop in zip((0, *places), (*places, n_rows), strict=True):
            yield take(X, start, stop), take(y, start, stop), take(weights, start, stop)

    return read_batches


def build_cut(X, y, weights=None, *, places=(70, 71, 71, 150), **options):
    """Build a dataset from batches of a table."""
    return BinnedDataset.from_batches(cut(X, y, weights, places=places), **options)


def describe_dataset(dataset):
    """Return all that a dataset contains, but for its path, in a form that can be compared."""
    features = {name: np.array(value, dtype=object).tolist() for name, value in dataset.known.features.items()}
    targets = None if dataset.y is None else (dataset.y.dtype, dataset.y.tolist())
    weights = None if dataset.sample_weight is None else dataset.sample_weight.tolist()
    mapper = dataset.known.mapper
    return (
        features,
        mapper.edges.tolist(),
        mapper.offsets.tolist(),
        dataset.table.columns.codes.tolist(),
        targets,
        weights,
    )
