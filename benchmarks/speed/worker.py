"""Default fits with one thread, run on request by this process: ``python -m benchmarks.speed.worker``.

A line of JSON names a contestant as ``workload``, a ``set``, a ``seed``, and perhaps a score as ``target``. The answer
has seconds of the processor for the fit, to the first iteration whose test score is the target, and for the prediction
of 20 000 rows; and the test score in percent. Older revisions of mpboost run this, too, hence public names alone.
"""

import functools
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, r2_score

from benchmarks.compare.worker import serve, time_processor
from benchmarks.data.collection import load_split
from benchmarks.data.made_up import make_noisy_classes
from benchmarks.data.sets import split
from benchmarks.data.split_set import SplitSet

#: Sets that are made up or come with scikit-learn.
SMALLEST, MILLION = "breast cancer", "1M x 20"
N_TEST, N_PREDICTED, N_TREES = 20_000, 20_000, 100


@functools.lru_cache(maxsize=1)
def load(name: str, seed: int) -> SplitSet:
    """Load, make up and split a set; all of breast cancer is learned from, as its users do."""
    if name == SMALLEST:
        X, y = load_breast_cancer(return_X_y=True)
        few = split(name, {"X": X, "y": y}, seed)
        return SplitSet(name, X, y, few.X_test, few.y_test)
    if name == MILLION:
        return make_noisy_classes(name, 1_000_000, 20, N_TEST, seed)
    return load_split(name, seed)


def make_lightgbm(split_set: SplitSet, seed: int) -> tuple[Any, dict[str, Any]]:
    """Make LightGBM's estimator, and what its fit is told."""
    import lightgbm

    estimator = lightgbm.LGBMRegressor if split_set.is_regression else lightgbm.LGBMClassifier
    told = {"categorical_feature": list(split_set.categorical)} if split_set.categorical else {}
    return estimator(n_estimators=N_TREES, n_jobs=1, random_state=seed, verbosity=-1), told


def make_ours(family: str, split_set: SplitSet, seed: int) -> Any:
    """Make an estimator of ours; ``family`` is "MPBoost" or "MPGradientBoosting"."""
    import mpboost

    estimator = getattr(mpboost, f"{family}{'Regressor' if split_set.is_regression else 'Classifier'}")
    told = {"categorical_features": list(split_set.categorical)} if split_set.categorical else {}
    return estimator(n_jobs=1, random_state=seed, **told)


def find_reached(model: Any, split_set: SplitSet, times: list[float], target: float) -> float | None:
    """Find when the test score was first as good as the target; None if it never was."""
    compute_score = r2_score if split_set.is_regression else accuracy_score
    for seconds, predicted in zip(times, model.staged_predict(split_set.X_test), strict=False):
        if 100.0 * compute_score(split_set.y_test, predicted) >= target:
            return seconds
    return None


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Fit, score and predict; or say why that could not be done."""
    try:
        return _measure(request["workload"], request["set"], request["seed"], request.get("target"))
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"}


def _measure(contestant: str, set_name: str, seed: int, target: float | None) -> dict[str, Any]:
    split_set = load(set_name, seed)
    clock = None if target is None or contestant == "LightGBM" else _make_clock()
    if contestant == "LightGBM":
        model, told = make_lightgbm(split_set, seed)
    else:
        model, told = make_ours(contestant, split_set, seed), {}
        if clock is not None:
            model.set_params(callbacks=[clock])

    def fit() -> None:
        if clock is not None:
            clock.start()
        model.fit(split_set.X_train, split_set.y_train, **told)

    _, seconds = time_processor(fit)
    score = 100.0 * float(model.score(split_set.X_test, split_set.y_test))
    rows = split_set.X_test[np.arange(N_PREDICTED) % len(split_set.X_test)]
    _, predict_seconds = time_processor(lambda: model.predict(rows))
    reached = None if clock is None else find_reached(model, split_set, clock.times, target)
    return {"seconds": seconds, "score": score, "predict_seconds": predict_seconds, "reached": reached}


def _make_clock() -> Any:
    """Make a callback that notes the seconds of the processor after each iteration, since it was told to start."""
    from mpboost import Callback

    class Clock(Callback):
        def __init__(self) -> None:
            self.times: list[float] = []
            self._start = 0.0

        def start(self) -> None:
            self._start = time.process_time()

        def on_iteration_end(self, run: Any) -> None:
            self.times.append(time.process_time() - self._start)

    return Clock()


if __name__ == "__main__":
    serve(answer)
