"""Losses of numbers on rows that a model does not learn from, against plain NumPy."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.everywhere import call_everywhere

PARAMETERS = {"squared": 0.0, "absolute": 0.0, "quantile": 0.3, "huber": 0.7, "poisson": 0.0, "gamma": 0.0}
UNIT = 4.0


def make_rows(loss, n_rows, weighted):
    rng = np.random.default_rng(n_rows)
    raw, labels = 2.0 * rng.normal(size=n_rows), rng.gamma(2.0, size=n_rows)
    if loss not in ("poisson", "gamma"):
        labels[::5] = raw[::5]
    return raw, labels, rng.random(n_rows) if weighted else None


def sum_naively(loss, raw, labels, weights):
    bounded = np.clip(raw, -700.0, 700.0)
    predictions = np.exp(bounded) if loss in ("poisson", "gamma") else raw
    residuals, parameter = (raw - labels) / UNIT, PARAMETERS[loss]
    sizes = np.abs(residuals)
    with np.errstate(over="ignore", divide="ignore"):  # all losses are computed, one is asked for
        losses = {
            "squared": 0.5 * residuals**2,
            "absolute": sizes,
            "quantile": np.where(residuals < 0, parameter, 1.0 - parameter) * sizes,
            "huber": np.where(sizes <= parameter, 0.5 * sizes**2, parameter * (sizes - 0.5 * parameter)),
            "poisson": (predictions - labels * bounded) / UNIT,
            "gamma": bounded + labels / predictions,
        }[loss]
        squares = (labels - predictions) ** 2
    w = np.ones(len(raw)) if weights is None else weights
    return (w * np.clip(losses, -1e300, 1e300)).sum(), (w * squares).sum()


@pytest.mark.parametrize("n_rows", [0, 1, 7, 1024, 5000])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("loss", PARAMETERS)
def test_sum_value_losses_matches_naive_twin(kernels, loss, n_rows, weighted):
    rows = make_rows(loss, n_rows, weighted)
    sums = _native.sum_value_losses(loss, PARAMETERS[loss], UNIT, *rows)
    assert sums == pytest.approx(sum_naively(loss, *rows), rel=1e-11)


@pytest.mark.parametrize("loss", PARAMETERS)
def test_sum_value_losses_has_the_same_bits_with_all_kernels(loss):
    rows = make_rows(loss, 20_000, True)
    call = PARAMETERS[loss], UNIT, *rows
    assert len(set(call_everywhere(lambda _: _native.sum_value_losses(loss, *call)))) == 1


@pytest.mark.parametrize("loss", PARAMETERS)
def test_sum_value_losses_cuts_losses_that_are_too_large(loss):
    raw, labels = np.array([1e200, -1e200, 0.0]), np.ones(3)
    sum_of_losses, _ = _native.sum_value_losses(loss, PARAMETERS[loss], UNIT, raw, labels, None)
    assert np.isfinite(sum_of_losses)
    assert sum_of_losses == pytest.approx(sum_naively(loss, raw, labels, None)[0], rel=1e-11)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"loss": "cubic"}, "no such loss"),
        ({"loss": "quantile", "parameter": 2.0}, "quantile"),
        ({"labels": np.zeros(2)}, "one entry per row"),
        ({"weights": np.zeros(2)}, "one entry per row"),
    ],
    ids=["loss", "parameter", "labels", "weights"],
)
def test_sum_value_losses_rejects_wrong_arguments(wrong, message):
    arguments = {"loss": "squared", "parameter": 0.0, "unit": 1.0, "raw": np.zeros(3), "labels": np.zeros(3)}
    with pytest.raises(ValueError, match=message):
        _native.sum_value_losses(**({"weights": None} | arguments | wrong))


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_to_users_units_matches_naive_twin(shape):
    rng = np.random.default_rng(0)
    raw, rows = rng.normal(size=(50, *shape)).astype(np.float32), rng.permutation(50)[:30]
    offset, out = rng.normal(size=shape or 1), np.empty((30, *shape))
    _native.to_users_units(raw, rows, offset, 0.3, out)
    np.testing.assert_array_equal(out, offset + 0.3 * raw[rows].astype(np.float64))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"out": np.empty(3)}, "one entry per row"),
        ({"out": np.empty((2, 2))}, "one entry per row"),
        ({"offset": np.zeros(2)}, "offset per output"),
        ({"rows": np.array([0, 2])}, "no such row"),
    ],
    ids=["long", "outputs", "offset", "row"],
)
def test_to_users_units_rejects_wrong_arguments(wrong, message):
    arguments = {"raw": np.zeros(2, np.float32), "rows": np.arange(2), "offset": np.zeros(1), "out": np.empty(2)}
    with pytest.raises(ValueError, match=message):
        _native.to_users_units(**(arguments | wrong), scale=1.0)
