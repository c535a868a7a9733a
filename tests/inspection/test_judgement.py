"""What learners that never saw a row make of it is told once: counts, winners, and the same in reports and displays."""

import numpy as np
import pytest

import mpboost
from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    OOPCalibrationDisplay,
    OOPConfusionDisplay,
    OOPResidualsDisplay,
    find_label_issues,
)
from mpboost.inspection.judgement import compute_probabilities, judge, require_judgement
from mpboost.model_files.old_formats import estimate_oop_counts
from tests.support.helpers import PatchKeeper

N_ROWS = 120
SMALL = {"n_estimators": 12, "max_samples": 40, "stopping": None, "random_state": 0}
#: An estimator, its parameters beside SMALL, and the number of classes or None.
KINDS = {
    "two classes": (MPBoostClassifier, {}, 2),
    "two classes, best of more": (MPBoostClassifier, {"n_estimators": 60, "stopping": "patience"}, 2),
    "many classes": (MPBoostClassifier, {}, 5),
    "one against rest": (MPBoostClassifier, {"multiclass": "mh"}, 4),
    "colours": (MPBoostClassifier, {"multiclass": "oc"}, 5),
    "few learners": (MPBoostClassifier, {"n_estimators": 4, "max_samples": 70}, 2),
    "few learners, colours": (MPBoostClassifier, {"n_estimators": 4, "max_samples": 70, "multiclass": "oc"}, 3),
    "numbers": (MPBoostRegressor, {}, None),
    "few learners, numbers": (MPBoostRegressor, {"n_estimators": 2, "max_samples": 70}, None),
    "gradients": (MPGradientBoostingClassifier, {"n_models": 5, "oop_size": 0.2}, 2),
    "gradients of many classes": (MPGradientBoostingClassifier, {"n_models": 1, "oop_size": 0.3}, 4),
    "gradients of numbers": (MPGradientBoostingRegressor, {"n_models": 2, "oop_size": 0.3, "n_estimators": 7}, None),
    "gradients without turns": (MPGradientBoostingClassifier, {"n_models": 5, "oop_size": 0.2, "n_estimators": 3}, 2),
    "gradients out of minipatches": (MPGradientBoostingClassifier, {"leaf_refit": False, "oop_size": 0}, 3),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def make_data(n_classes, seed=0):
    """Make noisy targets, and weights of which a few are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 4))
    values = X[:, 0] + X[:, 1] + rng.normal(size=N_ROWS)
    y = values if n_classes is None else np.argsort(np.argsort(values)) * n_classes // N_ROWS
    return X, y, np.r_[np.zeros(10), rng.integers(1, 3, N_ROWS - 10)].astype(float)


def fit_kind(kind, **parameters):
    """Fit a model; give it, X, y and the weights."""
    estimator, own, n_classes = KINDS[kind]
    X, y, weights = make_data(n_classes)
    return estimator(**SMALL | own | parameters).fit(X, y, weights), X, y, weights


@pytest.fixture(scope="module")
def fitted():
    """Models of all kinds with their data, fitted once."""
    return {kind: fit_kind(kind) for kind in KINDS}


# Counts


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "gradients" not in kind or "minipatches" in kind])
def test_oop_counts_are_the_learners_whose_minipatch_did_not_have_the_row(kind):
    keeper = PatchKeeper()
    model, _, _, weights = fit_kind(kind, callbacks=[keeper])
    expected, present = np.zeros(N_ROWS), np.flatnonzero(weights)
    for rows in keeper.rows[: model.best_iteration_]:
        expected[np.delete(present, rows)] += 1
    assert model.oop_counts_.dtype == np.int32
    np.testing.assert_array_equal(model.oop_counts_, expected)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "gradients" in kind and "minipatches" not in kind])
def test_oop_counts_of_gradient_models_are_the_trees_of_the_model_that_reserved_the_row(kind):
    model, *_ = fit_kind(kind, warm_start=True)
    expected, present = np.zeros(N_ROWS), np.arange(10, N_ROWS)
    predictors = model._run.parts.task.predictors
    for tree in range(model.best_iteration_):
        expected[present[predictors[tree % len(predictors)].weights == 0]] += 1  # rows that it never learns from
    assert model.oop_counts_.dtype == np.int32
    np.testing.assert_array_equal(model.oop_counts_, expected)


@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPBoostRegressor])
def test_oop_counts_are_zero_where_minipatches_have_all_rows(estimator):
    X, y, _ = make_data(2)
    assert not estimator(**SMALL | {"max_samples": 1.0}).fit(X, y).oop_counts_.any()


@pytest.mark.parametrize("kind", ["two classes", "many classes", "colours", "numbers", "gradients out of minipatches"])
def test_oop_counts_stay_when_training_goes_on(kind):
    model, X, y, weights = fit_kind(kind, warm_start=True)
    before, kept = model.oop_counts_, model.oop_counts_.copy()
    model.set_params(n_estimators=20).fit(X, y, weights)
    np.testing.assert_array_equal(before, kept)
    np.testing.assert_array_equal(model.oop_counts_, fit_kind(kind, n_estimators=20)[0].oop_counts_)


def test_oop_counts_and_the_difference_give_the_votes_for_two_classes():
    model, *_ = fit_kind("few learners", warm_start=True)
    run = model._run
    votes = run.parts.task.count_oop_votes(run.best.task, run.best_iteration)
    votes = votes[votes.any(axis=1)]
    assert (votes[:, 0] == votes[:, 1]).any(), "there are no draws to test with"
    winners = np.where(votes[:, 0] == votes[:, 1], model._ranks.argmax(), votes.argmax(axis=1))
    judgement = require_judgement(model)
    np.testing.assert_array_equal(judgement.n_learners, votes.sum(axis=1))
    np.testing.assert_array_equal(judgement.predicted, winners)
    decided = votes[:, 0] != votes[:, 1]
    expected = model._calibration.predict(votes[decided], winners[decided])
    np.testing.assert_array_equal(compute_probabilities(model, judgement)[1][decided], expected)


# Judgements


@each_kind
def test_judge_leaves_out_the_rows_that_no_learner_judged(fitted, kind):
    model, _, y, weights = fitted[kind]
    judgement = judge(model)
    np.testing.assert_array_equal(judgement.rows, np.flatnonzero(model.oop_counts_))
    np.testing.assert_array_equal(judgement.given, y[judgement.rows])
    np.testing.assert_array_equal(judgement.n_learners, model.oop_counts_[judgement.rows])
    assert (weights[judgement.rows] > 0).all()
    if kind in ("few learners", "few learners, colours", "few learners, numbers", "gradients without turns"):
        assert len(judgement.rows) < N_ROWS - 10, "there are no such rows to test with"


@each_kind
def test_predicted_class_is_the_most_probable_one(fitted, kind):
    model, *_ = fitted[kind]
    if hasattr(model, "classes_"):
        judgement = require_judgement(model)
        places, probabilities = compute_probabilities(model, judgement)
        np.testing.assert_array_equal(places, np.arange(len(judgement.rows)))
        np.testing.assert_array_equal(probabilities.argmax(axis=1), judgement.predicted)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_probabilities_of_a_sample_are_those_of_its_rows(fitted):
    model, *_ = fitted["many classes"]
    judgement = require_judgement(model)
    places, sample = compute_probabilities(model, judgement, max_probabilities=100)
    assert len(sample) == 20
    np.testing.assert_array_equal(sample, compute_probabilities(model, judgement)[1][places])
    np.testing.assert_array_equal(places, compute_probabilities(model, judgement, max_probabilities=100)[0])


@pytest.mark.slow
@each_kind
@pytest.mark.filterwarnings("ignore:Only the")
def test_report_displays_and_label_issues_say_the_same(fitted, tmp_path, kind):
    model, X, y, _ = fitted[kind]
    mpboost.save_model(model, tmp_path / "model")
    for each in (model, mpboost.load_model(tmp_path / "model")):
        judgement, summary = require_judgement(each), mpboost.report(each, X, y).dict()
        assert summary["score"]["n_judged"] == len(judgement.rows)
        issues = find_label_issues(each, threshold=0.0)
        order = np.argsort(issues.row)
        np.testing.assert_array_equal(issues.row[order], judgement.rows)
        np.testing.assert_array_equal(issues.given[order], judgement.given)
        np.testing.assert_array_equal(issues.suggested[order], judgement.predicted)
        if hasattr(each, "classes_"):
            confusion = OOPConfusionDisplay.from_estimator(each)
            assert confusion.confusion_matrix.tolist() == summary["confusion"]["matrix"]
            calibration = OOPCalibrationDisplay.from_estimator(each)
            used, bins = calibration.counts > 0, summary["calibration"]["bins"]
            assert [each["count"] for each in bins] == calibration.counts[used].tolist()
            for name, values in (("stated", calibration.mean_probabilities), ("seen", calibration.shares)):
                np.testing.assert_allclose([each[name] for each in bins], values[used], rtol=1e-3)
            assert summary["calibration"]["error"] == pytest.approx(calibration.calibration_error)
        else:
            residuals = OOPResidualsDisplay.from_estimator(each)
            points = summary["residuals"]["points"]
            np.testing.assert_allclose(points["given"], residuals.targets, rtol=1e-4)
            np.testing.assert_allclose(points["predicted"], residuals.predictions, rtol=1e-4)


# Files of older formats


@each_kind
def test_oop_counts_of_older_files_are_worked_out(fitted, kind):
    model, *_ = fitted[kind]
    counts, known = estimate_oop_counts(model), model.oop_counts_
    assert counts.dtype == np.int32
    if kind in ("many classes", "one against rest", "gradients of many classes"):
        np.testing.assert_array_equal(counts, known)
    elif kind in ("two classes", "two classes, best of more", "few learners"):
        is_draw = model.oop_decision_function_ == 0
        np.testing.assert_array_equal(counts[~is_draw], known[~is_draw])
        assert len(set(counts[is_draw].tolist())) == 1
        assert counts[is_draw][0] % 2 == 0
    else:
        assert np.abs(counts[known > 0] - known[known > 0]).mean() <= 2.0
        assert (counts[known > 0] > 0).all()
    assert counts.max() <= model.best_iteration_


@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_oop_counts_of_older_files_are_zero_without_an_out_of_patch_score(kind):
    model, *_ = fit_kind(kind, max_samples=1.0)
    assert not estimate_oop_counts(model).any()
