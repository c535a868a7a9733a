"""Score curves are those of the model, with marks that can be read."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import get_scorer

from mpboost import MPBoostClassifier, MPGradientBoostingClassifier, ScoreCurvesDisplay
from tests.support.pictures import draw, each_task, fit, read_boxes


@each_task
def test_curves_are_the_scores_of_the_model(models, data, task):
    model, (_, X, y) = models[task], data[task]
    display = ScoreCurvesDisplay.from_estimator(model, X, y)
    assert list(display.lines_) == ["training", "out-of-patch", "test"]
    np.testing.assert_array_equal(display.lines_["out-of-patch"].get_ydata(), model.oop_scores_)
    np.testing.assert_array_equal(display.lines_["training"].get_xdata(), np.arange(1, model.n_iter_ + 1))
    test = display.lines_["test"].get_ydata()
    assert len(test) == model.best_iteration_
    assert test[-1] == pytest.approx(model.score(X, y))
    assert display.ax_.get_ylabel() == ("accuracy" if hasattr(model, "classes_") else "R²")


def test_curves_show_validation_and_leave_out_what_is_not_there(data):
    _, X, y = data["two classes"]
    model = MPBoostClassifier(n_estimators=5, max_samples=len(X) - 100, stopping=None, random_state=0)
    model.fit(X[:-100], y[:-100], X_val=X[-100:], y_val=y[-100:])  # every row is in every minipatch
    display = ScoreCurvesDisplay.from_estimator(model)
    assert list(display.lines_) == ["training", "validation"]


def test_curves_of_losses_are_those_that_training_stops_by(models, data):
    _, X, y = data["gradients of classes"]
    model = clone(models["gradients of classes"]).fit(X[:-50], y[:-50], X_val=X[-50:], y_val=y[-50:])
    for each in (model, models["gradients of numbers"]):
        display = ScoreCurvesDisplay.from_estimator(each, losses=True)
        curves = {name: line.get_ydata() for name, line in display.lines_.items()}
        if each is model:
            np.testing.assert_array_equal(curves["validation"], model.validation_losses_)
        else:
            np.testing.assert_array_equal(curves["out-of-patch"], each.oop_losses_)
        assert len(curves) == 1
        assert display.ax_.get_ylabel() == "loss"
    with pytest.raises(ValueError, match="X and y must be None"):
        ScoreCurvesDisplay.from_estimator(model, X, y, losses=True)
    with pytest.raises(ValueError, match="only gradient models"):
        ScoreCurvesDisplay.from_estimator(models["numbers"], losses=True)


def test_curves_mark_the_stop_of_another_model(data):
    _, X, y = data["two classes"]
    stopped = fit(MPBoostClassifier, X, y, n_estimators=200, n_iter_no_change=10)
    endless = fit(MPBoostClassifier, X, y, n_estimators=stopped.n_iter_ + 30, stopping=None)
    display = ScoreCurvesDisplay.from_estimator(endless, stopped=stopped)
    assert (display.best_iteration, display.n_iter) == (stopped.best_iteration_, stopped.n_iter_)
    assert len(display.lines_["training"].get_ydata()) == stopped.n_iter_ + 30
    words = [label.get_text().strip() for label in display.ax_.child_axes[0].get_xticklabels()]
    assert words == [f"best iteration {stopped.best_iteration_}", f"stop at {stopped.n_iter_}"]


@pytest.mark.parametrize(("best", "stop"), [(1, 2), (49, 51), (99, 100), (1, 100), (30, 30)])
def test_curves_marks_and_title_are_apart_and_inside_the_figure(best, stop):
    display = ScoreCurvesDisplay({"training": np.linspace(0, 1, 100)}, best_iteration=best, n_iter=stop).plot()
    title = display.ax_.set_title("A title that is rather long, so that it is over all of the picture's width")
    figure = draw(display)
    labels = display.ax_.child_axes[0].get_xticklabels()
    boxes = read_boxes([title, *labels])
    # A label of two lines has one that is empty, for the other label.
    assert boxes[0].y0 >= max(box.y1 for box in boxes[1:])
    assert len({label.get_text().count("\n") for label in labels}) == len(labels) == len({best, stop})
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_curves_look_past_the_first_iterations():
    scores = np.full(500, 0.9)
    scores[:5] = -100.0
    low, high = ScoreCurvesDisplay({"mine": scores}).plot().ax_.get_ylim()
    assert 0.8 < low < 0.9 < high < 1


def test_curves_refuse_half_of_the_data_and_other_lengths(models, data):
    _, X, y = data["two classes"]
    with pytest.raises(ValueError, match="both X and y"):
        ScoreCurvesDisplay.from_estimator(models["two classes"], X)
    with pytest.raises(ValueError, match=f"X has {len(X)} rows, but y has 7"):
        ScoreCurvesDisplay.from_estimator(models["two classes"], X, y[:7])
    with pytest.raises(ValueError, match="at least one"):
        ScoreCurvesDisplay({})


def test_curves_are_told_apart_without_colour():
    names = ["training", "out-of-patch", "validation", "test", "mine", "yours"]
    lines = ScoreCurvesDisplay({name: [0.0, 1.0] for name in names}).plot().lines_.values()
    assert len({(line.get_linestyle(), line.get_color()) for line in lines}) == 6
    assert len({line.get_linestyle() for line in list(lines)[:4]}) == 4


@pytest.mark.parametrize("scoring", ["roc_auc", "log_loss", "balanced_accuracy"])
@pytest.mark.parametrize("cls", [MPBoostClassifier, MPGradientBoostingClassifier])
def test_curves_on_data_have_the_metric_of_the_model(cls, scoring):
    X, y = load_breast_cancer(return_X_y=True)
    y = np.array(["bad", "good"])[y]
    model = cls(n_estimators=12, scoring=scoring, random_state=0).fit(X[:400], y[:400])
    display = ScoreCurvesDisplay.from_estimator(model, X[400:], y[400:])
    scorer = get_scorer({"log_loss": "neg_log_loss"}.get(scoring, scoring))
    assert display.lines_["test"].get_ydata()[-1] == pytest.approx(scorer(model, X[400:], y[400:]), rel=1e-9)
    assert display.score_name == model.score_name_.replace("_", " ")


def test_curves_on_data_refuse_labels_and_metrics_that_the_model_does_not_know():
    X, y = load_breast_cancer(return_X_y=True)
    model = MPBoostClassifier(n_estimators=5, scoring="roc_auc", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="labels that the model does not know: 7"):
        ScoreCurvesDisplay.from_estimator(model, X, np.where(y == 1, 7, 0))
    with pytest.raises(ValueError, match="set it to what the fit had"):
        ScoreCurvesDisplay.from_estimator(model.set_params(scoring=None), X, y)
