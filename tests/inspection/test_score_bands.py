"""Score bands are the mean and the range of runs."""

import numpy as np
import pytest

from mpboost import (
    MPBoostRegressor,
    ScoreBandsDisplay,
)
from tests.support.pictures import draw, fit


def test_bands_are_mean_and_range_of_runs():
    scores = {"a": [[0.1, 0.5], [0.3, 0.9]], "b": [[0.2, 0.4, 0.6]]}
    display = ScoreBandsDisplay(scores, score_name="accuracy").plot()
    np.testing.assert_allclose(display.lines_["a"].get_ydata(), [0.2, 0.7])
    heights = display.bands_["a"].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.1, 0.9)
    assert display.ax_.get_xlim() == (0, 3)
    assert display.ax_.get_legend().get_title().get_text() == "mean and range of 1 to 2 runs"


def test_bands_draw_errors_on_a_logarithmic_axis():
    display = ScoreBandsDisplay({"a": [[0.5, 0.9, 1.0], [0.5, 0.99, 1.0]]}, score_name="accuracy").plot(as_error=True)
    draw(display)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylabel() == "1 - accuracy"
    np.testing.assert_allclose(display.lines_["a"].get_ydata(), [0.5, 0.055, 0.0], atol=1e-12)


def test_bands_of_models_are_as_long_as_the_shortest(models, data):
    _, X, y = data["numbers"]
    long, short = models["numbers"], fit(MPBoostRegressor, X, y, n_estimators=7, stopping=None)
    runs = {"a": [long, short]}
    length = min(long.n_iter_, 7)
    display = ScoreBandsDisplay.from_estimators(runs)
    np.testing.assert_array_equal(display.scores["a"][1], short.oop_scores_[:length])
    assert display.ax_.get_ylabel() == "out-of-patch R²"
    display = ScoreBandsDisplay.from_estimators(runs, X, y)
    assert display.scores["a"][1, -1] == pytest.approx(short.score(X, y))
    assert display.ax_.get_ylabel() == "test R²"


def test_bands_refuse_a_setting_without_runs():
    with pytest.raises(ValueError, match="n_runs, n_iterations"):
        ScoreBandsDisplay.from_estimators({"a": []})
