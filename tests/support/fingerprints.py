"""Print the fingerprints of many kinds of models, and of functions of NumPy and of the C library, as JSON.

    python -m tests.support.fingerprints [KERNELS]

The data are uniform numbers and sums of them, which have the same bits on any processor.
"""

import hashlib
import json
import math
import sys
import warnings

import numpy as np

from benchmarks.compare.fingerprints import HalvedError, take_fingerprint
from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    _native,
)

N_ROWS, N_FEATURES = 400, 6


def list_models():
    """List names, models, tables, labels and weights."""
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, N_FEATURES))
    values = 4.0 * X[:, 0] + 2.0 * X[:, 1] * X[:, 2] + rng.random(N_ROWS)
    two, many = (values > 2.9).astype(int), np.minimum(values.astype(int), 4)
    counts = np.rint(values * X[:, 3])
    weights = rng.random(N_ROWS) + 0.1
    table = X.copy()
    table[:, 5] = rng.integers(0, 12, size=N_ROWS)
    table[rng.random(N_ROWS) < 0.2, 0] = np.nan
    categories = {"categorical_features": [5]}

    def make(kind, X, y, weights=None, **parameters):
        defaults = {"n_estimators": 12, "stopping": None, "random_state": 0}
        return kind(**defaults | parameters), X, y, weights

    votes, numbers = MPBoostClassifier, MPBoostRegressor
    gradient, gradient_numbers = MPGradientBoostingClassifier, MPGradientBoostingRegressor
    for name, kind in (("votes", votes), ("gradient", gradient)):
        yield f"{name}, two classes", make(kind, X, two)
        yield f"{name}, many classes", make(kind, X, many)
        yield f"{name}, two classes, weights", make(kind, X, two, weights)
        yield f"{name}, many classes, weights", make(kind, X, many, weights)
        yield f"{name}, two classes, class_weight", make(kind, X, two, class_weight="balanced")
        yield f"{name}, many classes, class_weight", make(kind, X, many, class_weight="balanced")
        yield f"{name}, categories, missing values", make(kind, table, two, **categories)
        yield f"{name}, log loss as the score", make(kind, X, many, scoring="neg_log_loss", stopping="patience")
        yield f"{name}, default stopping", make(kind, X, two, n_estimators=100, stopping="patience")
    yield "votes, stopping of the paper", make(votes, X, two, n_estimators=100, stopping="paper")
    for weighting in ("exponential", "logistic", "hard_exponential", "hard_logistic"):
        yield f"votes, {weighting}", make(votes, X, two, weighting=weighting, learning_rate=0.3)
        for multiclass in ("m2", "mh", "oc"):
            parameters = {"multiclass": multiclass, "weighting": weighting, "learning_rate": 0.3}
            yield f"votes, {multiclass}, {weighting}", make(votes, X, many, weights, **parameters)
    for weighting in ("linear", "square", "exponential", "threshold"):
        yield f"numbers, {weighting}", make(numbers, X, values, weighting=weighting)
        yield f"numbers, {weighting}, weights", make(numbers, table, values, weights, weighting=weighting, **categories)
    for loss in ("squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"):
        y = counts if loss == "poisson" else values
        yield f"gradient numbers, {loss}", make(gradient_numbers, X, y, loss=loss)
        yield f"gradient numbers, {loss}, weights", make(gradient_numbers, table, y, weights, loss=loss, **categories)
    yield "gradient numbers, own loss", make(gradient_numbers, X, values, loss=HalvedError())


def take_fingerprints():
    """Fit and hash all models."""
    fingerprints = {}
    for name, (model, X, y, weights) in list_models():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fingerprints[name] = take_fingerprint(model.fit(X, y, sample_weight=weights), X)
    return fingerprints


def hash_functions():
    """Hash what functions give that depend on instructions of the processor."""
    numbers = np.random.default_rng(0).random(10_000)
    of_numpy = np.concatenate([np.exp(numbers), np.log(numbers), np.expm1(numbers)])
    of_library = np.array([function(x) for x in numbers.tolist() for function in (math.exp, math.log, math.expm1)])
    return {name: hashlib.sha256(x.tobytes()).hexdigest() for name, x in (("numpy", of_numpy), ("libm", of_library))}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _native.use_kernels(sys.argv[1])
    results = {"models": take_fingerprints(), **hash_functions(), "kernels": _native.current_kernels()}
    sys.stdout.write(json.dumps(results))
