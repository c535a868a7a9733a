"""Print a fingerprint of each of a list of models: equal before and after a change that must not change any model.

    python -m benchmarks.compare.fingerprints > before.txt

With ``PYTHONPATH=build/compare/COMMIT/site`` before it, models are those of a revision that ``benchmarks.compare`` has
built; for that, only public names of mpboost are used here, and ``__getstate__`` of an ensemble.

Each line is a name and a hash of all that a fit learned: trees, curves of scores, p and q, importances, out-of-patch
outputs, and predictions for other rows. Data are generated, so that it runs anywhere.
"""

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification, make_friedman1
from sklearn.tree import DecisionTreeClassifier

from mpboost import (
    PAPER,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)

#: Fitted attributes and methods that make up a fingerprint, where a model has them.
ATTRIBUTES = (
    "best_iteration_", "n_iter_", "max_samples_", "train_scores_", "oop_scores_", "oop_losses_", "validation_scores_",
    "validation_losses_", "observation_probabilities_", "feature_probabilities_", "feature_importances_",
    "observation_difficulty_", "oop_decision_function_", "oop_prediction_", "learning_rate_", "baseline_",
)  # fmt: skip
METHODS = ("predict", "predict_proba", "decision_function", "predict_vote_share")

Fit = Callable[[], tuple[Any, Any]]


class HalvedError:
    """A loss of our own: squared error by another name."""

    def gradient_hessian(self, y: Any, raw: Any) -> tuple[Any, Any]:
        """Give both derivatives."""
        return raw - y, np.ones_like(raw)


def take_fingerprint(model: Any, X: Any) -> str:
    """Hash what a model learned, and what it says about some rows."""
    digest = hashlib.sha256()

    def add(name: str, value: Any) -> None:
        array = np.ascontiguousarray(value)
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())

    for name in ATTRIBUTES:
        if getattr(model, name, None) is not None:
            add(name, getattr(model, name))
    trees = model._ensemble.__getstate__()
    for name, value in trees.items() if "splits" in trees else ():
        add(name, value)
    for name in ("iterations", "effective_observations", "effective_features", "feature_probabilities"):
        add(name, getattr(model.history_, name))
    for name in METHODS:
        if hasattr(model, name):
            add(name, getattr(model, name)(X))
    return digest.hexdigest()[:16]


def list_fits() -> Iterator[tuple[str, Fit]]:
    """Name the fits: all estimators, kinds of tables, weights and losses."""
    rng = np.random.default_rng(0)
    X2, y2 = make_classification(1200, 20, n_informative=6, flip_y=0.05, random_state=0)
    Xk, yk = make_classification(1500, 20, n_informative=8, n_classes=5, random_state=1)
    Xv, yv = make_friedman1(1000, n_features=12, noise=1.0, random_state=2)
    weights, weights_v = rng.exponential(size=len(y2)), rng.integers(0, 3, size=len(yv)).astype(float)
    holed = np.where(rng.random(X2.shape) < 0.1, np.nan, X2)
    words = X2.copy()
    words[:, 3] = rng.integers(0, 40, size=len(words))
    words[:, 7] = rng.integers(0, 300, size=len(words))
    words_v = Xv.copy()
    words_v[:, 3] = rng.integers(0, 30, size=len(words_v))
    thin = sparse.csr_matrix(np.where(rng.random(X2.shape) < 0.7, 0.0, X2))
    counts = np.rint(np.exp(yv / 8.0))

    def fit(make: Callable[..., Any], X: Any, y: Any, *args: Any, fit_params: Any = None, **params: Any) -> Fit:
        def run() -> tuple[Any, Any]:
            return make(**{"n_estimators": 150, "random_state": 0} | params).fit(X, y, *args, **fit_params or {}), X

        return run

    votes, gradient = MPBoostClassifier, MPGradientBoostingClassifier
    values, gradient_values = MPBoostRegressor, MPGradientBoostingRegressor
    for name, make in (("votes", votes), ("gradient", gradient)):
        yield f"{name}, two classes", fit(make, X2, y2)
        yield f"{name}, two classes, two threads", fit(make, X2, y2, n_jobs=2)
        yield f"{name}, words as labels", fit(make, X2, np.array(["no", "yes"])[y2])
        yield f"{name}, many classes", fit(make, Xk, yk)
        yield f"{name}, weights", fit(make, X2, y2, weights)
        yield f"{name}, class weights", fit(make, X2, y2, class_weight={0: 1.0, 1: 3.0})
        yield f"{name}, many classes, balanced", fit(make, Xk, yk, class_weight="balanced")
        yield f"{name}, missing", fit(make, holed, y2)
        yield f"{name}, categories", fit(make, words, y2, categorical_features=[3, 7])
        yield f"{name}, sparse", fit(make, thin, y2)
        yield f"{name}, validation", fit(make, X2[:800], y2[:800], fit_params={"X_val": X2[800:], "y_val": y2[800:]})
        yield f"{name}, all iterations", fit(make, X2, y2, stopping=None)
        yield f"{name}, uniform", fit(make, X2, y2, adaptive_observations=False, adaptive_features=False)
        yield f"{name}, few bins", fit(make, X2, y2, max_bins=16, max_samples=0.2, max_features=7)
    for name, make in (("values", values), ("gradient values", gradient_values)):
        yield f"{name}", fit(make, Xv, yv)
        yield f"{name}, weights", fit(make, Xv, yv, weights_v)
        yield f"{name}, categories", fit(make, words_v, yv, categorical_features=[3])
        yield f"{name}, validation", fit(make, Xv[:700], yv[:700], fit_params={"X_val": Xv[700:], "y_val": yv[700:]})
        yield f"{name}, sparse", fit(make, sparse.csr_matrix(np.where(Xv < 0.5, 0.0, Xv)), yv)
    yield "paper", fit(votes, X2, y2, **PAPER, max_samples=100, max_features=5)
    for way in ("m2", "mh", "oc"):
        yield f"votes, {way}", fit(votes, Xk, yk, multiclass=way)
        yield f"votes, {way}, weights", fit(votes, X2[:, :], (2 * y2 + (X2[:, 0] > 0)), weights, multiclass=way)
    for weighting in ("exponential", "hard_exponential", "hard_logistic"):
        yield f"votes, {weighting}", fit(votes, X2, y2, weighting=weighting, learning_rate=0.05)
    for importance in ("impurity", "permutation"):
        yield f"votes, {importance}", fit(votes, X2, y2, importance=importance)
    yield "votes, given estimator", fit(votes, X2, y2, estimator=DecisionTreeClassifier(max_depth=3), n_estimators=40)
    yield "votes, many classes, given", fit(votes, Xk, yk, estimator=DecisionTreeClassifier(), n_estimators=30)
    for weighting in ("square", "exponential", "threshold"):
        yield f"values, {weighting}", fit(values, Xv, yv, weighting=weighting)
    for loss in ("absolute_error", "quantile", "huber", "poisson", "gamma"):
        y = counts + 1.0 if loss == "gamma" else counts if loss == "poisson" else yv
        yield f"gradient values, {loss}", fit(gradient_values, Xv, y, loss=loss)
        yield f"gradient values, {loss}, weights", fit(gradient_values, Xv, y, weights_v, loss=loss)
    yield "gradient values, own loss", fit(gradient_values, Xv, yv, loss=HalvedError())
    yield "gradient, patch leaves", fit(gradient, X2, y2, leaf_refit=False)
    yield "gradient, literal out-of-patch", fit(gradient, X2, y2, leaf_refit=False, oop_size=0)
    yield "gradient values, patch leaves", fit(gradient_values, Xv, yv, leaf_refit=False, loss="absolute_error")
    yield "gradient, one model", fit(gradient, X2, y2, n_models=1)
    yield "gradient, many classes, one model", fit(gradient, Xk, yk, n_models=1)
    yield "gradient, gains", fit(gradient, X2, y2, importance="gain")
    yield "gradient, monotonic", fit(gradient, X2, y2, monotonic_cst=[1, -1] + [0] * 18)
    yield "gradient, interactions", fit(gradient, X2, y2, interaction_cst="pairwise")

    def warm(make: Any, X: Any, y: Any) -> Fit:
        def run() -> tuple[Any, Any]:
            model = make(n_estimators=60, warm_start=True, random_state=0).fit(X, y)
            return model.set_params(n_estimators=120).fit(X, y), X

        return run

    yield "votes, warm start", warm(votes, X2, y2)
    yield "gradient, warm start", warm(gradient, Xk, yk)
    yield "values, warm start", warm(values, Xv, yv)


def main() -> None:
    """Fit all models and print their fingerprints."""
    warnings.simplefilter("ignore")
    for name, fit in list_fits():
        print(f"{take_fingerprint(*fit())}  {name}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
