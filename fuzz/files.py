"""Tests load_model with damaged files: ``python -m fuzz.files --count 100000 --seed 0``.

Loading must either raise a ModelFileError or return a model that predicts and can be saved again. It may take 1 s, and
ten times the memory of the file plus 1 MiB.
"""

import functools
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_regressor

import mpboost
from fuzz.mutations import mutate
from fuzz.pool import measure, run_command
from mpboost.inspection.judgement import compute_probabilities, judge

MAX_SECONDS = 1.0
#: Bytes of memory that loading may use: so many per byte of the file, plus a constant.
MAX_GROWTH, ALLOWANCE = 10, 1 << 20


@functools.cache
def make_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder that exists as long as the process; in memory if possible, since disks are slow."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


@functools.cache
def make_originals() -> list[bytes]:
    """Save models of several kinds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nansum(X[:, :3], axis=1) > 0
    named = pd.DataFrame(X, columns=["age", "größe", "x" * 50, "", "5", "身長"])
    small = {"n_estimators": 8, "max_samples": 40, "max_features": 3, "random_state": 0}
    fits = [
        (mpboost.MPBoostClassifier(**small), named, np.where(y, "yes", "no")),
        (mpboost.MPBoostClassifier(**small), named, np.where(y, "yes", "no").astype(object)),
        (
            mpboost.MPBoostClassifier(**{**small, "n_estimators": 1, "max_features": 1}),
            X[:60, :1],
            y[:60].astype(np.int8),
        ),
        (mpboost.MPBoostClassifier(**{**small, "n_estimators": 60}), X, y),
    ]
    mixed = named.assign(colour=pd.Categorical(rng.choice(["red", "green", "blue"], 300)), city=rng.integers(0, 9, 300))
    fits.append((mpboost.MPBoostClassifier(**small, categorical_features=["colour", "city"]), mixed, y))
    values = np.nansum(X[:, :3], axis=1)
    quarters = np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values)
    fits += [
        (mpboost.MPBoostClassifier(**small), named, np.array(["a", "b", "c", "d"])[quarters]),
        (mpboost.MPBoostClassifier(**small, multiclass="oc"), X, quarters),
        (mpboost.MPBoostRegressor(**small), X, values),
        (mpboost.MPBoostRegressor(**small), mixed, values),
        (mpboost.MPGradientBoostingClassifier(**small), named, np.where(y, "yes", "no")),
        (mpboost.MPGradientBoostingClassifier(**small), mixed, quarters),
        (mpboost.MPGradientBoostingRegressor(**small), mixed, values),
        (mpboost.MPGradientBoostingRegressor(**small, loss="poisson"), X, np.abs(values)),
    ]
    path = Path(make_folder().name, "original")
    originals = []
    for model, table, labels in fits:
        mpboost.save_model(model.fit(table, labels), path)
        originals.append(path.read_bytes())
    return originals


def run_case(case: int) -> tuple[str, str]:
    """Change a file, load it, and use the model if it could be loaded."""
    rng = np.random.default_rng(case)
    originals = make_originals()
    changes, data = mutate(originals[rng.integers(len(originals))], rng)
    path = Path(make_folder().name, "changed")
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = measure(lambda: mpboost.load_model(path))
    if loaded.error is not None and not isinstance(loaded.error, mpboost.ModelFileError):
        return "error", f"{changes}: {loaded.error!r}"
    if loaded.seconds > MAX_SECONDS:
        return "slow", f"{changes}: {loaded.seconds:.2f} s"
    if loaded.peak > MAX_GROWTH * len(data) + ALLOWANCE:
        return "memory", f"{changes}: {loaded.peak} bytes for a file of {len(data)}"
    if loaded.error is not None:
        return "refused", str(loaded.error)
    use(loaded.result, path)
    return "loaded", ", ".join(changes)


def use(model: Any, path: Path) -> None:
    """Predict, judge the training rows, save and load the model again, and compare."""
    X = np.random.default_rng(0).normal(size=(150, model.n_features_in_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # X has no names
        warnings.simplefilter("error", RuntimeWarning)
        outputs = predict(model, X)
        *_, last = model.staged_predict(X)
        if judgement := judge(model):
            given = compute_probabilities(model, judgement)[1] if hasattr(model, "classes_") else judgement.given
            if not (np.isfinite(given).all() and np.isfinite(judgement.predicted).all()):
                raise AssertionError("the judgement of training rows contains values that are not finite")
        mpboost.save_model(model, path)
        again = predict(mpboost.load_model(path), X)
    if [each.tobytes() for each in outputs] != [each.tobytes() for each in again]:
        raise AssertionError("a model that was saved again predicts something else")
    if not all(np.isfinite(each).all() for each in outputs) or len(last) != len(X):
        raise AssertionError("predictions are not finite, or their number is wrong")


def predict(model: Any, X: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Call the prediction methods; return numbers."""
    if is_regressor(model):
        return [model.predict(X)]
    return [model.decision_function(X), model.predict_proba(X), np.searchsorted(model.classes_, model.predict(X))]


if __name__ == "__main__":
    sys.exit(run_command("fuzz.files:run_case", __doc__))
