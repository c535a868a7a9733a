"""Effective numbers are those of the history."""

from pathlib import Path

import numpy as np
import pytest

from mpboost import EffectiveNumbersDisplay, FeatureProbabilitiesDisplay, load_model
from tests.support.pictures import draw, each_task

OLD = Path(__file__).parents[1] / "model_files" / "golden" / "format-1-numbers.mpb"


@each_task
def test_effective_numbers_are_shares_of_all(models, data, task):
    model, (_, X, _) = models[task], data[task]
    display = EffectiveNumbersDisplay.from_estimator(model)
    draw(display)
    rows, features = (display.lines_[name].get_ydata() for name in ("observations", "features"))
    np.testing.assert_allclose(rows, 100 * model.history_.effective_observations / len(X))
    np.testing.assert_allclose(features, 100 * model.history_.effective_features / X.shape[1])
    np.testing.assert_array_equal(display.lines_["features"].get_xdata(), model.history_.iterations)
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"best iteration {model.best_iteration_}" in words


@pytest.mark.parametrize(("last", "scale"), [(50, "linear"), (1, "log")])
def test_effective_numbers_that_are_small_show_on_a_logarithmic_axis(last, scale):
    display = EffectiveNumbersDisplay([1, 10], [100, last], [10, 9], n_samples=100, n_features=10).plot()
    draw(display)
    assert display.ax_.get_yscale() == scale
    low, high = display.ax_.get_ylim()
    assert low < last < 100 < high


def test_effective_numbers_refuse_other_lengths():
    with pytest.raises(ValueError, match="equally long"):
        EffectiveNumbersDisplay([1, 2], [1.0], [1.0, 1.0], n_samples=1, n_features=1)


@pytest.mark.parametrize(
    "make",
    [
        EffectiveNumbersDisplay.from_estimator,
        lambda model: FeatureProbabilitiesDisplay.from_estimator(model, kind="path"),
    ],
    ids=["numbers", "paths"],
)
def test_models_of_older_files_have_no_history_to_draw(make):
    with pytest.raises(ValueError, match="an older version saved it"):
        make(load_model(OLD))
