"""Influences are how scores change with the weights of rows."""

import numpy as np
import pytest

from mpboost.outputs.influences import compute_influences
from mpboost.outputs.metrics import Metric
from mpboost.outputs.predictions import NumberPredictions
from mpboost.tasks.losses import RawPredictions

N = 40
OF_CLASSES = ["neg_log_loss", "neg_brier_score", "balanced_accuracy"]


def make(kind, seed=0):
    """Make predictions with ties, labels, and classes or None."""
    rng = np.random.default_rng(seed)
    if kind == "numbers":
        y = rng.normal(size=N)
        return NumberPredictions(y + rng.normal(size=N)), y, None
    n_classes = 2 if kind == "two" else 3
    codes = np.r_[np.arange(n_classes), rng.integers(0, n_classes, N - n_classes)]
    raw = 2.0 * codes - 1 if n_classes == 2 else 2.0 * np.eye(3)[codes]
    return RawPredictions("log_loss", np.round(raw + rng.normal(size=raw.shape), 1)), codes, np.arange(n_classes)


@pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("two", name) for name in [*OF_CLASSES, "roc_auc", "average_precision"]),
        *(("three", name) for name in [*OF_CLASSES, "roc_auc_ovr", "average_precision_ovr"]),
        *(("numbers", f"neg_{name}_error") for name in ("mean_absolute", "mean_squared", "root_mean_squared")),
        ("numbers", "r2"),
    ],
)
def test_influence_is_the_derivative_by_the_weight_of_a_row(kind, name, is_weighted):
    predictions, labels, classes = make(kind)
    metric = Metric(name, classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N) if is_weighted else np.ones(N)
    score = metric.compute(predictions, labels, weights)
    found = compute_influences(name, score, predictions, labels, weights if is_weighted else None)
    step, expected = 1e-6, []
    for row in range(N):
        up, down = (weights + sign * step * (np.arange(N) == row) for sign in (1, -1))
        change = metric.compute(predictions, labels, up) - metric.compute(predictions, labels, down)
        expected.append(weights.sum() * change / (2 * step))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.average(found, weights=weights) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("kind", "name"), [("two", "f1"), ("three", "average_precision"), ("two", "roc_auc_ovr")])
def test_influences_without_a_formula_are_unknown(kind, name):
    predictions, labels, _ = make(kind)
    assert compute_influences(name, 0.5, predictions, labels, None) is None
