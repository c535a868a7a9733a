"""Curves of ranking are those of scikit-learn, out of patch or for new rows."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from mpboost import MPBoostRegressor, OOPCalibrationDisplay, OOPConfusionDisplay, OOPResidualsDisplay
from mpboost import RankingCurvesDisplay as Display
from mpboost.inspection.judgement import compute_probabilities, require_judgement
from tests.support.pictures import TASKS, draw

CLASSES = [task for task in TASKS if "numbers" not in task]


@pytest.mark.parametrize("kind", ["roc", "precision_recall"])
@pytest.mark.parametrize("task", CLASSES)
def test_curves_of_new_rows_are_those_of_scikit_learn(models, data, task, kind):
    model, (_, X, y) = models[task], data[task]
    X, y = X[:100], np.asarray(y)[:100]
    display = Display.from_estimator(model, X, y, kind=kind)
    draw(display)
    shares = model.predict_proba(X)
    for curve in display.curves:
        code = list(map(str, model.classes_)).index(curve.name)
        is_class = y == model.classes_[code]
        ranks = model.decision_function(X) if len(model.classes_) == 2 else shares[:, code]
        assert curve.roc_auc == pytest.approx(roc_auc_score(is_class, ranks))
        assert curve.average_precision == pytest.approx(average_precision_score(is_class, ranks))
        assert curve.n_positive == is_class.sum()
    areas = [curve.roc_auc for curve in display.curves]
    assert areas == sorted(areas)
    assert len(areas) == (1 if len(model.classes_) == 2 else 6)
    assert list(display.lines_) == [curve.name for curve in display.curves]
    assert "100 new rows" in display.ax_.get_xlabel()


def test_curves_without_data_are_out_of_patch(models):
    model = models["many classes"]
    display, judgement = Display.from_estimator(model, max_curves=3), require_judgement(model)
    assert len(display.curves) == 3
    code = model.classes_.tolist().index(display.curves[0].name)
    shares = compute_probabilities(model, judgement)[1][:, code]
    assert display.curves[0].roc_auc == pytest.approx(roc_auc_score(judgement.given == code, shares))
    assert "out-of-patch" in display.ax_.get_xlabel()


def test_curves_of_predictions_need_no_model():
    y, scores = np.array(["no", "yes", "yes", "no", "yes"]), [0.1, 0.9, 0.4, 0.3, 0.2]
    display = Display.from_predictions(y, scores, kind="precision_recall")
    assert display.curves[0].name == "yes"
    assert display.curves[0].average_precision == pytest.approx(average_precision_score(y == "yes", scores))
    np.testing.assert_allclose(display.chance_.get_ydata(), 0.6)
    many = Display.from_predictions([0, 1, 2, 1], np.eye(3)[[0, 1, 1, 2]])
    assert {curve.name for curve in many.curves} == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda model, X, y: Display.from_estimator(model, X), "both X and y, or neither"),
        (lambda model, X, y: Display.from_estimator(model, X[y == 1], y[y == 1]), "There is no curve"),
        (lambda model, X, y: Display.from_estimator(model, X, y, kind="lift"), "kind='lift'"),
        (lambda model, X, y: Display.from_predictions(y, X[:, :3]), "y_score has 3 columns"),
        (lambda model, X, y: Display.from_estimator(MPBoostRegressor(n_estimators=2).fit(X, y)), "predicts numbers"),
    ],
    ids=["half", "one-class", "kind", "columns", "numbers"],
)
def test_curves_refuse_what_makes_no_picture(models, data, make, words):
    _, X, y = data["two classes"]
    with pytest.raises(ValueError, match=words):
        make(models["two classes"], X, y)


def test_displays_of_new_rows_show_these_rows(models, data):
    model, (_, X, y) = models["two classes"], data["two classes"]
    X, y = X[:150], y[:150]
    confusion = OOPConfusionDisplay.from_estimator(model, X, y)
    assert confusion.accuracy == pytest.approx(model.score(X, y))
    assert "150 new rows" in confusion.ax_.get_xlabel()
    calibration = OOPCalibrationDisplay.from_estimator(model, X, y)
    stated = calibration.mean_probabilities * calibration.counts
    assert np.nansum(stated) == pytest.approx(model.predict_proba(X)[:, 1].sum())
    assert "150 new rows" in calibration.ax_.get_xlabel()
    model, (_, X, y) = models["numbers"], data["numbers"]
    residuals = OOPResidualsDisplay.from_estimator(model, X[:50], y[:50])
    np.testing.assert_allclose(residuals.predictions, model.predict(X[:50]))
    assert residuals.ax_.get_xlabel() == "prediction (new rows)"


def test_displays_of_the_training_table_say_so(models, data):
    model, (_, X, y) = models["two classes"], data["two classes"]
    assert "training rows" in OOPConfusionDisplay.from_estimator(model, X, y).ax_.get_xlabel()
