"""Feature probabilities as bars, images and paths."""

import numpy as np
import pytest

from mpboost import (
    FeatureProbabilitiesDisplay,
    FeatureProbabilityRecorder,
    MPBoostClassifier,
)
from mpboost.boosting import history
from tests.support.pictures import DIGITS, assert_apart, draw, each_task, fit, read_boxes

plt = pytest.importorskip("matplotlib.pyplot", reason="displays draw with matplotlib")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def recorded():
    X = pd.DataFrame(DIGITS.data, columns=[f"pixel {i}" for i in range(64)])
    recorder = FeatureProbabilityRecorder([0, 3, 6, 100])
    model = fit(MPBoostClassifier, X, DIGITS.target, stopping=None, callbacks=[recorder])
    return model, recorder


def test_bars_rank_the_features_by_name(recorded):
    model, _ = recorded
    display = FeatureProbabilitiesDisplay.from_estimator(model, n_features=5)
    best = np.argsort(-model.feature_probabilities_, kind="stable")[:5]
    np.testing.assert_array_equal([bar.get_width() for bar in display.bars_], model.feature_probabilities_[best])
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [f"pixel {i}" for i in best]
    draw(display)
    assert_apart(read_boxes(display.ax_.get_yticklabels()))
    top, bottom = (bar.get_window_extent().y0 for bar in (display.bars_[0], display.bars_[4]))
    assert top > bottom


@each_task
def test_bars_are_for_every_model(models, task):
    display = FeatureProbabilitiesDisplay.from_estimator(models[task])
    assert len(display.bars_) == min(20, models[task].n_features_in_)
    assert display.ax_.get_yticklabels()[0].get_text().startswith("feature ")


def test_images_show_all_moments_on_one_scale(recorded):
    model, recorder = recorded
    display = FeatureProbabilitiesDisplay.from_estimator(model, kind="image", recorder=recorder, image_shape=(8, 8))
    assert [axes.get_title() for axes in display.ax_] == ["t = 0", "t = 3", "t = 6", "t = 12"]
    np.testing.assert_array_equal(display.images_[1].get_array().ravel(), recorder.probabilities_[3])
    np.testing.assert_array_equal(display.images_[-1].get_array().ravel(), model.feature_probabilities_)
    assert len({image.get_clim() for image in display.images_}) == 1
    draw(display)


@pytest.mark.slow
def test_images_are_drawn_where_asked(recorded):
    model, recorder = recorded
    _, panels = plt.subplots(2, 2)
    display = FeatureProbabilitiesDisplay.from_estimator(
        model, kind="image", recorder=recorder, image_shape=(8, 8), ax=panels
    )
    assert list(display.ax_) == list(panels.flat)
    with pytest.raises(ValueError, match="1 images need as many axes, but ax has 4"):
        FeatureProbabilitiesDisplay.from_estimator(model, kind="image", image_shape=(8, 8), ax=panels)


def test_images_go_over_several_rows():
    q = {t: np.full(6, 1 / 6) for t in range(10)}
    display = FeatureProbabilitiesDisplay(q, image_shape=(2, 3)).plot(kind="image")
    assert len(display.ax_) == 10
    assert sum(axes.axison for axes in display.figure_.axes) == 10 + 1  # the scale
    with pytest.raises(ValueError, match="record fewer iterations"):
        FeatureProbabilitiesDisplay({t: [1.0] for t in range(33)}, image_shape=(1, 1)).plot(kind="image")


def test_paths_follow_the_likeliest_features(recorded):
    model, recorder = recorded
    display = FeatureProbabilitiesDisplay.from_estimator(model, kind="path", recorder=recorder, n_features=3)
    best = np.argsort(-model.feature_probabilities_, kind="stable")[:3]
    assert list(display.lines_) == [f"pixel {i}" for i in best]
    line = display.lines_[f"pixel {best[0]}"]
    np.testing.assert_array_equal(line.get_xdata(), [0, 3, 6, 12])
    assert line.get_ydata()[-1] == model.feature_probabilities_.max()


def test_paths_end_with_the_model(data):
    _, X, y = data["two classes"]
    recorder = FeatureProbabilityRecorder(range(1000))
    model = fit(MPBoostClassifier, X, y, n_estimators=100, n_iter_no_change=10, callbacks=[recorder])
    assert model.best_iteration_ < model.n_iter_
    display = FeatureProbabilitiesDisplay.from_estimator(model, kind="path", recorder=recorder)
    assert list(display.probabilities)[-1] == model.best_iteration_


@each_task
def test_paths_are_known_without_a_recorder(models, task):
    model = models[task]
    display = FeatureProbabilitiesDisplay.from_estimator(model, kind="path", n_features=2)
    best = model.history_.iterations <= model.best_iteration_
    likeliest = np.argmax(model.feature_probabilities_)
    line = display.lines_[f"feature {likeliest}"]
    np.testing.assert_array_equal(line.get_xdata(), model.history_.iterations[best])
    np.testing.assert_allclose(line.get_ydata(), model.history_.feature_probabilities[best, likeliest], rtol=1e-6)


def test_paths_of_too_many_features_need_a_recorder(monkeypatch):
    monkeypatch.setattr(history, "MAX_FEATURES", 63)
    model = fit(MPBoostClassifier, DIGITS.data, DIGITS.target)
    with pytest.raises(ValueError, match="pass recorder=recorder"):
        FeatureProbabilitiesDisplay.from_estimator(model, kind="path")
    with pytest.raises(ValueError, match="more than one iteration"):
        FeatureProbabilitiesDisplay({1: [1.0]}).plot(kind="path")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "pie"}, "kind='pie' must be"),
        ({"kind": "image"}, "needs image_shape"),
        ({"kind": "image", "image_shape": (8, 9)}, "product is 64"),
        ({"kind": "image", "image_shape": (-8, -8)}, "product is 64"),
        ({"kind": "image", "image_shape": (64,)}, "product is 64"),
    ],
)
def test_feature_probabilities_refuse_what_makes_no_picture(recorded, arguments, message):
    with pytest.raises(ValueError, match=message):
        FeatureProbabilitiesDisplay.from_estimator(recorded[0], **arguments)


def test_feature_probabilities_refuse_the_recorder_of_another_fit(recorded, models):
    with pytest.raises(ValueError, match="another fit"):
        FeatureProbabilitiesDisplay.from_estimator(models["numbers"], recorder=recorded[1])


def test_feature_probabilities_refuse_other_numbers_of_features():
    with pytest.raises(ValueError, match="one number per feature"):
        FeatureProbabilitiesDisplay({0: [0.5, 0.5], 1: [1.0]})
    with pytest.raises(ValueError, match="1 feature_names for 2 features"):
        FeatureProbabilitiesDisplay({0: [0.5, 0.5]}, feature_names=["a"])
