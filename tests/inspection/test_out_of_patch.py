"""Pictures of out-of-patch predictions show what the model knows, and only of rows that were judged."""

import numpy as np
import pytest
from sklearn.base import clone

from mpboost import (
    MPGradientBoostingClassifier,
    OOPCalibrationDisplay,
    OOPConfusionDisplay,
    OOPResidualsDisplay,
)
from mpboost.inspection.judgement import require_judgement
from tests.support.pictures import TASKS, assert_apart, draw, fit, read_boxes

CLASSES = [task for task in TASKS if "numbers" not in task]
NUMBERS = [task for task in TASKS if "numbers" in task]


@pytest.mark.parametrize("task", CLASSES)
def test_calibration_groups_the_rows_that_were_judged(models, task):
    model = models[task]
    display = OOPCalibrationDisplay.from_estimator(model, n_bins=5)
    draw(display)
    judged = require_judgement(model)
    assert display.n_rows == display.counts.sum() == len(judged.rows)
    assert not np.isnan(model.observation_difficulty_[judged.rows]).any()
    is_right = np.mean(judged.predicted == judged.given)
    expected = is_right if len(model.classes_) > 2 else np.mean(judged.given == 1)
    assert np.nansum(display.shares * display.counts) == pytest.approx(expected * display.n_rows)
    np.testing.assert_array_equal([bar.get_height() for bar in display.bars_], display.counts)
    assert f"{display.n_rows:,} rows" in display.ax_.get_xlabel()


def test_calibration_of_one_class_of_many(models):
    model = models["many classes"]
    display = OOPCalibrationDisplay.from_estimator(model, pos_label="c")
    assert display.ax_.get_xlabel().startswith("probability of class c\n")
    share = np.mean(model._targets[require_judgement(model).rows] == 2)
    assert np.nansum(display.shares * display.counts) / display.n_rows == pytest.approx(share)
    with pytest.raises(ValueError, match="pos_label='z' is not among"):
        OOPCalibrationDisplay.from_estimator(model, pos_label="z")


def test_calibration_error_and_intervals_are_by_the_book():
    display = OOPCalibrationDisplay([0.1] * 10 + [1.0] * 10, [True] * 5 + [False] * 5 + [True] * 10, n_bins=4).plot()
    np.testing.assert_array_equal(display.counts, [10, 0, 0, 10])
    np.testing.assert_allclose(display.mean_probabilities, [0.1, np.nan, np.nan, 1.0])
    assert display.calibration_error == pytest.approx(0.2)
    low, high = display._bins.low, display._bins.high
    np.testing.assert_allclose([low[0], high[0]], [0.2366, 0.7634], atol=1e-4)  # Wilson, 5 of 10
    np.testing.assert_allclose([low[3], high[3]], [0.7225, 1.0], atol=1e-4)


@pytest.mark.slow
def test_calibration_and_its_title_are_inside_the_figure(models):
    display = OOPCalibrationDisplay.from_estimator(models["two classes"])
    title = display.ax_.set_title("A title")
    figure = draw(display)
    boxes = read_boxes([title, display.counts_ax_, display.ax_.xaxis.label])
    assert_apart(boxes)
    assert all(figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1 for box in boxes)


@pytest.mark.parametrize("task", CLASSES)
def test_confusion_counts_the_rows_that_were_judged(models, task):
    model = models[task]
    display = OOPConfusionDisplay.from_estimator(model)
    draw(display)
    judged = require_judgement(model)
    for (i, j), count in np.ndenumerate(display.confusion_matrix):
        assert count == np.sum((judged.given == i) & (judged.predicted == j))
    assert display.accuracy == pytest.approx(np.mean(judged.given == judged.predicted))
    assert display.text_.keys() == set(zip(*map(np.ndarray.tolist, np.nonzero(display.confusion_matrix)), strict=True))
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [str(label) for label in model.classes_]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_classes", "name"),
    [(2, "{}"), (8, "number {}"), (26, "a rather long name {}"), (40, "{}"), (100, "{}")],
)
def test_confusion_can_be_read_for_any_number_of_classes(n_classes, name):
    counts = np.diag(np.full(n_classes, 99_999))
    counts[0] = 99_999
    display = OOPConfusionDisplay(counts, display_labels=[name.format(i) for i in range(n_classes)]).plot()
    draw(display)
    assert_apart(read_boxes(display.ax_.get_xticklabels()))
    assert_apart(read_boxes(display.ax_.get_yticklabels()))
    assert_apart(read_boxes(display.text_.values()))
    assert len(display.text_) == (2 * n_classes - 1 if n_classes <= 40 else 0)


def test_confusion_has_its_colour_bar_beside_the_matrix_in_narrow_axes():
    import matplotlib.pyplot as plt

    _, panels = plt.subplots(1, 2, figsize=(7.4, 3.6), layout="constrained")
    display = OOPConfusionDisplay(np.array([[1500, 20], [30, 1500]]), display_labels=["no", "yes"]).plot(ax=panels[0])
    draw(display)
    bar = display.im_.colorbar.ax
    assert bar.get_window_extent().height == pytest.approx(display.ax_.get_window_extent().height)
    assert_apart(read_boxes([*bar.get_yticklabels(), display.ax_.xaxis.label]))


@pytest.mark.parametrize("task", NUMBERS)
@pytest.mark.parametrize("kind", ["residual_vs_predicted", "actual_vs_predicted"])
def test_residuals_are_those_of_the_rows_that_were_judged(models, data, task, kind):
    model, (_, _, y) = models[task], data[task]
    display = OOPResidualsDisplay.from_estimator(model, kind=kind)
    draw(display)
    known = ~np.isnan(model.oop_prediction_)
    predicted = model.oop_prediction_[known]
    heights = y[known] - predicted if kind == "residual_vs_predicted" else y[known]
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack([predicted, heights]))
    assert display.n_rows == known.sum()
    medians = display.lines_["median"].get_ydata()
    lows, highs = (display.lines_[name].get_ydata() for name in ("10 %", "90 %"))
    assert (lows < medians).all()
    assert (medians < highs).all()


def test_residuals_of_many_rows_are_a_sample_and_of_few_have_no_quantiles():
    many = OOPResidualsDisplay(np.arange(500.0), np.zeros(500)).plot(max_points=100)
    assert len(np.unique(many.points_.get_offsets()[:, 1])) == 100
    assert many.ax_.get_legend().get_texts()[0].get_text() == "100 of 500 rows"
    few = OOPResidualsDisplay([1.0, 2.0], [1.5, 1.5]).plot()
    draw(few)
    assert few.lines_ == {}
    with pytest.raises(ValueError, match="kind='pie' must be"):
        few.plot(kind="pie")


@pytest.mark.parametrize(
    ("display", "task", "message"),
    [
        (OOPCalibrationDisplay, "numbers", "is for classes, but MPBoostRegressor predicts numbers"),
        (OOPConfusionDisplay, "gradients of numbers", "predicts numbers: use OOPResidualsDisplay"),
        (OOPResidualsDisplay, "many classes", "predicts classes: use OOPConfusionDisplay"),
    ],
)
def test_out_of_patch_displays_refuse_the_other_task(models, display, task, message):
    with pytest.raises(ValueError, match=message):
        display.from_estimator(models[task])


def test_out_of_patch_displays_need_rows_that_were_judged(models, data):
    _, X, y = data["two classes"]
    model = clone(models["two classes"]).set_params(max_samples=len(X), stopping=None).fit(X, y)
    with pytest.raises(ValueError, match="choose a smaller max_samples"):
        OOPConfusionDisplay.from_estimator(model)
    model = fit(MPGradientBoostingClassifier, X, y, oop_size=0, stopping=None)
    with pytest.raises(ValueError, match="oop_size"):
        OOPCalibrationDisplay.from_estimator(model)
    _, X, y = data["numbers"]
    model = clone(models["numbers"]).set_params(max_samples=len(X), stopping=None).fit(X, y)
    with pytest.raises(ValueError, match="choose a smaller max_samples"):
        OOPResidualsDisplay.from_estimator(model)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OOPCalibrationDisplay([0.5, 1.5], [True, True]), "between 0 and 1"),
        (lambda: OOPCalibrationDisplay([0.5], [True, True]), "of the same length"),
        (lambda: OOPCalibrationDisplay([0.5], [True], n_bins=0), "n_bins=0"),
        (lambda: OOPConfusionDisplay([[1, 2]]), "must be square"),
        (lambda: OOPConfusionDisplay([[0]]), "at least one count above 0"),
        (lambda: OOPConfusionDisplay([[1]], display_labels=["a", "b"]), "2 display_labels for 1 classes"),
        (lambda: OOPResidualsDisplay([1.0], [1.0, 2.0]), "equally long"),
    ],
)
def test_out_of_patch_displays_refuse_what_makes_no_picture(make, message):
    with pytest.raises(ValueError, match=message):
        make()
