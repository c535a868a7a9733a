"""Small workloads, run on request by the build that PYTHONPATH names: ``python -m benchmarks.compare.worker``.

A first line of JSON says where the library is; then each line ``{"workload": name, "seed": n}`` is answered by one with
seconds of the processor and a score in percent, or with a failure. What an older library has not fails within its
workload alone: nothing but ``import mpboost`` must work.
"""

import functools
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data.made_up import make_table
from benchmarks.data.split_set import SplitSet

#: Seconds, and a score if there is one.
Measured = tuple[float, float | None]

#: Rows to be judged by, and rows to be predicted in the workload that does nothing else.
N_TEST, N_PREDICTED = 5000, 200_000


def fit_paper(seed: int) -> Measured:
    """Fit Algorithm 1 to the letter to a wide table, for a fixed number of iterations."""
    from mpboost import PAPER, MPBoostClassifier

    sizes = {"max_samples": 300, "max_features": 30, "n_estimators": 300, "stopping": None}
    return _time_fit(MPBoostClassifier(**PAPER | sizes, random_state=seed), _make_split_set(3000, 1000))


def fit_classifier(seed: int) -> Measured:
    """Fit the default classifier."""
    from mpboost import MPBoostClassifier

    return _time_fit(MPBoostClassifier(random_state=seed), _make_split_set(10_000, 20))


def fit_regressor(seed: int) -> Measured:
    """Fit the default regressor."""
    from mpboost import MPBoostRegressor

    return _time_fit(MPBoostRegressor(random_state=seed), _make_split_set(1000, 20, _make_numbers))


def fit_gradient(seed: int) -> Measured:
    """Fit gradient boosting with its defaults."""
    from mpboost import MPGradientBoostingClassifier

    return _time_fit(MPGradientBoostingClassifier(random_state=seed), _make_split_set(10_000, 20))


def fit_many_classes(seed: int) -> Measured:
    """Fit the default classifier to ten classes, for a fixed number of iterations."""
    from mpboost import MPBoostClassifier

    model = MPBoostClassifier(n_estimators=200, stopping=None, random_state=seed)
    return _time_fit(model, _make_split_set(5000, 20, _make_classes))


def predict(seed: int) -> Measured:
    """Predict many rows by one model for all seeds."""
    model, (X, y) = _fit_once(), make_table(N_PREDICTED, 20, seed=1)
    predicted, seconds = time_processor(lambda: model.predict(X))
    return seconds, 100.0 * float(np.mean(predicted == y))


def import_library(seed: int) -> Measured:
    """Import the library in a new process."""
    before = os.times()
    subprocess.run([sys.executable, "-c", "import mpboost"], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, None


WORKLOADS: dict[str, Callable[[int], Measured]] = {
    "PAPER, 3000 x 1000": fit_paper,
    "MPBoostClassifier, 10k x 20": fit_classifier,
    "MPBoostRegressor, 1000 x 20": fit_regressor,
    "MPGradientBoostingClassifier, 10k x 20": fit_gradient,
    "ten classes, 5000 x 20": fit_many_classes,
    "predict 200k x 20": predict,
    "import": import_library,
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run a workload; say what it took, or why it could not run."""
    try:
        seconds, score = WORKLOADS[request["workload"]](request["seed"])
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"}
    return {"seconds": seconds, "score": score}


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Say where the library is, then answer each line of the input by one of the output."""
    import mpboost

    output, sys.stdout = sys.stdout, sys.stderr  # whatever prints must not answer
    print(json.dumps({"library": mpboost.__file__}), file=output, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=output, flush=True)


def time_processor(call: Callable[[], Any]) -> tuple[Any, float]:
    """Call once; return the result and the seconds of the processor."""
    gc.collect()
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def _time_fit(model: Any, split_set: SplitSet) -> Measured:
    _, seconds = time_processor(lambda: model.fit(split_set.X_train, split_set.y_train))
    return seconds, 100.0 * float(model.score(split_set.X_test, split_set.y_test))


@functools.cache
def _make_split_set(n_rows: int, n_columns: int, make_labels: Callable[..., Any] | None = None) -> SplitSet:
    """Make up a table, and fresh rows to be judged by; its own labels may be replaced."""
    X, y = make_table(n_rows + N_TEST, n_columns)
    y = y if make_labels is None else make_labels(X, np.random.default_rng(1))
    return SplitSet("made up", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def _make_numbers(X: Any, rng: np.random.Generator) -> Any:
    return X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(0.0, 0.1, len(X))


def _make_classes(X: Any, rng: np.random.Generator) -> Any:
    classes = 2 * (5 * X[:, 0]).astype(int) + (X[:, 1] > 0.5)
    return np.where(rng.random(len(X)) < 0.1, rng.integers(0, 10, len(X)), classes)


@functools.cache
def _fit_once() -> Any:
    from mpboost import MPBoostClassifier

    split_set = _make_split_set(10_000, 20)
    return MPBoostClassifier(n_estimators=200, stopping=None, random_state=0).fit(split_set.X_train, split_set.y_train)


if __name__ == "__main__":
    serve(answer)
