"""Summarise parameters, versions and timings."""

import inspect
import platform
import time
from importlib.metadata import version
from typing import Any

import numpy as np

from mpboost.datasets.dataset import BinnedDataset
from mpboost.estimators.base import MinipatchBooster
from mpboost.reporting.plain import simplify

#: Attributes with the values that were chosen for parameters such as "auto".
OUTCOMES = {"max_samples": "max_samples_", "max_features": "max_features_", "learning_rate": "learning_rate_",
            "n_models": "n_models_"}  # fmt: skip


def list_parameters(model: MinipatchBooster) -> list[dict[str, Any]]:
    """List the parameters in the order of the signature, and mark those that differ from their defaults."""
    defaults = {name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()}
    return [
        {
            "name": name,
            "value": _write(value),
            "default": _write(defaults[name]),
            "is_changed": _write(value) != _write(defaults[name]),
            "outcome": simplify(getattr(model, OUTCOMES.get(name, ""), None)) if isinstance(value, str) else None,
        }
        for name, value in sorted(model.get_params(deep=False).items(), key=lambda item: list(defaults).index(item[0]))
    ]


def _write(value: Any) -> str:
    """Format a value as in code, shortened."""
    return str(simplify(repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)))


def list_versions() -> dict[str, str]:
    """List the versions of mpboost, its dependencies, and Python."""
    packages = {name: version(name) for name in ("mpboost", "scikit-learn", "numpy", "scipy")}
    return packages | {"Python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}


def time_prediction(model: MinipatchBooster, X: Any, n_rows: int = 1000) -> dict[str, Any]:
    """Measure the time to predict the first rows."""
    if isinstance(X, BinnedDataset):
        batches, n_rows = model._predict_in_batches(X, n_rows), min(n_rows, len(X))
        start = time.perf_counter()
        next(batches)
    else:
        rows = X[:n_rows] if hasattr(X, "shape") else np.asarray(X)[:n_rows]
        n_rows = rows.shape[0]
        start = time.perf_counter()
        model.predict(rows)
    return {"n_rows": n_rows, "seconds": time.perf_counter() - start}
