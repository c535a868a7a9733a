"""What a report says is true."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, confusion_matrix, log_loss, r2_score

import mpboost
from mpboost.inspection.judgement import compute_probabilities, judge
from mpboost.reporting.quality import pick_points
from tests.support.reported import TASKS, fit


@pytest.mark.parametrize("task", ["two classes", "many classes", "gradients of classes"])
def test_quality_of_classes_is_that_of_scikit_learn(models, data, task):
    model, (_, X, y) = models[task], data[task]
    summary, judgement = mpboost.report(model, X, y).dict(), judge(model)
    places, probabilities = compute_probabilities(model, judgement)
    given, predicted = model.classes_[judgement.given], model.classes_[judgement.predicted]
    np.testing.assert_array_equal(np.asarray(y)[judgement.rows], given)
    np.testing.assert_array_equal(places, np.arange(len(given)))
    np.testing.assert_array_equal(probabilities.argmax(axis=1), judgement.predicted)
    assert summary["confusion"]["matrix"] == confusion_matrix(given, predicted, labels=model.classes_).tolist()
    scores = {each["name"]: each["oop_value"] for each in summary["score"]["measures"]}
    assert scores["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(given, predicted))
    assert scores["accuracy"] == model.oop_score_
    assert all(each["value"] is None for each in summary["score"]["measures"])
    assert summary["calibration"]["log_loss"] == pytest.approx(log_loss(given, probabilities, labels=model.classes_))
    if task == "two classes":
        assert summary["calibration"]["brier"] == pytest.approx(brier_score_loss(judgement.given, probabilities[:, 1]))
    assert sum(each["count"] for each in summary["calibration"]["bins"]) == len(given)


@pytest.mark.parametrize("task", ["numbers", "gradients of numbers"])
def test_quality_of_numbers_is_that_of_scikit_learn(models, data, task):
    model, (_, X, y) = models[task], data[task]
    summary, judgement = mpboost.report(model, X, y).dict(), judge(model)
    errors = y[judgement.rows] - judgement.predicted
    assert r2_score(y[judgement.rows], judgement.predicted) == pytest.approx(model.oop_score_)
    scores = {each["name"]: each["oop_value"] for each in summary["score"]["measures"]}
    assert scores["root_mean_squared_error"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert sum(summary["residuals"]["histogram"]["counts"]) == len(errors)
    assert summary["residuals"]["quantiles"]["50 %"] == pytest.approx(np.median(errors))


@pytest.mark.parametrize("task", TASKS)
def test_hardest_rows_are_those_of_the_model(models, data, task):
    model, (_, X, y) = models[task], data[task]
    observations = mpboost.report(model, X, y, n_observations=9).dict()["observations"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranked = mpboost.find_label_issues(model, n=9)
        suspects = set(mpboost.find_label_issues(model).row.tolist())
    listed = observations["hardest"]
    assert [row["difficulty"] for row in listed] == pytest.approx(ranked.difficulty)
    assert {row["row"] for row in listed if row["is_suspect"]} == suspects & {row["row"] for row in listed}
    assert [row["given"] for row in listed] == [np.asarray(y)[row["row"]] for row in listed]
    assert len(observations["points"]["row"]) == min(len(y), sum(observations["histogram"]["counts"]))


def test_rows_and_columns_have_the_names_of_the_frame(nasty):
    model, X, y = nasty
    summary = mpboost.report(model, X, y).dict()
    assert {each["name"] for each in summary["features"]["ranking"]} == set(X.columns)
    assert all(row["label"] == X.index[row["row"]] for row in summary["observations"]["hardest"])
    kinds = {each["name"]: each["kind"] for each in summary["features"]["ranking"]}
    assert [kinds[name] for name in X.columns] == ["number", "category", "number"]


def test_images_are_shown(models, data):
    _, X, y = data["many classes"]
    summary = mpboost.report(models["many classes"], X, y, image_shape=(8, 8)).dict()
    assert summary["features"]["images"][0]["image"].startswith("data:image/png;base64,")
    assert summary["observations"]["hardest"][0]["image"].startswith("data:image/png;base64,")
    assert summary["features"]["ranking"][0]["name"].startswith("pixel (")


def test_stability_follows_the_history(models, data):
    _, X, y = data["many classes"]
    model = mpboost.MPBoostClassifier().set_params(**models["many classes"].get_params())
    model.__dict__.update(vars(models["many classes"]))
    q, best = model.feature_probabilities_, model.best_iteration_
    t = np.array([1, max(2, best // 2), best])
    model.history_ = SimpleNamespace(
        iterations=t,
        effective_observations=np.array([500.0, 400.0, 300.0]),
        effective_features=np.array([64.0, 20.0, 10.0]),
        feature_probabilities=np.array([q[::-1], q, q], dtype=np.float32),
    )
    features = mpboost.report(model, X, y).dict()["features"]
    shared = {each["iteration"]: each["n_shared"] for each in features["stability"]}
    assert shared[t[1]] == 10
    assert features["ranking"][0]["path"][-1] == pytest.approx(q.max(), rel=1e-3)
    assert features["history"]["features"] == [64.0, 20.0, 10.0]
    model.history_.feature_probabilities = None
    assert mpboost.report(model, X, y).dict()["features"]["stability"] is None
    assert "too many features to record q" in mpboost.report(model, X, y).html()
    del model.history_
    assert "no record of its training" in mpboost.report(model, X, y).html()


def titles(model, X, y):
    return " | ".join(each["title"] for each in mpboost.report(model, X, y).dict()["warnings"])


def test_warnings_name_the_cap_and_the_clock(data):
    make, X, y = data["two classes"]
    assert "reached the limit of 30" in titles(fit(make, X, y), X, y)
    assert "ended early: time_limit" in titles(fit(make, X, y, time_limit=1e-9), X, y)
    assert titles(fit(make, X, y, n_estimators=40, stopping=None), X, y) == ""


def test_warnings_name_constant_columns_and_useless_models():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"noise": rng.normal(size=200), "one": 5, "void": np.nan, "text": "same"})
    X["half"] = np.where(np.arange(200) < 100, np.nan, 1.0)
    y = rng.integers(0, 2, size=200)
    model = fit(mpboost.MPBoostClassifier, X, y, stopping=None)
    summary = mpboost.report(model, X, y).dict()
    found = {each["title"]: each for each in summary["warnings"]}
    assert "one, void, text." in found["3 of 5 columns are constant"]["meaning"]
    assert "The model is no better than a constant prediction" in found
    assert all(each["meaning"] and each["action"] for each in found.values())


def test_warnings_name_collapse_concentration_and_coverage(models, data):
    _, X, y = data["two classes"]
    model = fit(mpboost.MPBoostClassifier, X, y, stopping=None, n_estimators=4, max_samples=0.5)
    assert "coverage is low" in titles(model, X, y)
    model.feature_probabilities_ = np.eye(1, model.n_features_in_)[0]
    model.observation_probabilities_ = np.full(len(y), 1e-9)
    model.observation_probabilities_[3] = 1 - 1e-9 * (len(y) - 1)
    assert "q has collapsed" in titles(model, X, y)
    assert "p is concentrated" in titles(model, X, y)


def test_warnings_name_rows_that_gradients_do_not_judge(data):
    make, X, y = data["gradients of classes"]
    assert "50 of 500 rows have out-of-patch predictions" in titles(fit(make, X, y, n_models=1, oop_size=50), X, y)


@pytest.mark.parametrize(("share", "has_collapsed"), [(1.0, True), (0.2, False)], ids=["collapsed", "healthy"])
def test_page_speaks_of_the_collapse_of_q_only_if_it_is_true(data, share, has_collapsed):
    make, X, y = data["two classes"]
    model = fit(make, X, y)
    q = np.full(model.n_features_in_, (1 - share) / model.n_features_in_)
    q[0] += share
    model.feature_probabilities_ = q
    report = mpboost.report(model, X, y)
    assert report.dict()["features"]["has_collapsed"] == has_collapsed
    assert ("q has collapsed" in report.html()) == has_collapsed


@pytest.mark.parametrize("seconds", [None, 1.5])
def test_page_tells_the_duration_of_the_fit_only_if_it_is_known(models, data, seconds):
    page = mpboost.report(models["numbers"], *data["numbers"][1:], fit_seconds=seconds).html()
    assert ("<dt>Fit</dt>" in page) == (seconds is not None)
    assert "not recorded" not in page


def test_parameters_that_were_changed_are_marked(models, data):
    summary = mpboost.report(models["numbers"], *data["numbers"][1:], fit_seconds=1.5).dict()
    changed = {each["name"] for each in summary["parameters"] if each["is_changed"]}
    assert changed == {"n_estimators", "random_state"}
    sizes = {each["name"]: each["outcome"] for each in summary["parameters"]}
    assert sizes["max_samples"] == models["numbers"].max_samples_
    assert summary["timings"]["fit"] == 1.5


def test_rows_of_weight_zero_are_left_out(data):
    make, X, y = data["two classes"]
    weights = np.ones(len(y))
    weights[:100] = 0.0
    other = y.copy()
    other[:100] = 1 - other[:100]
    model = make(n_estimators=20, random_state=0).fit(X, y, weights)
    summary = mpboost.report(model, X, other).dict()
    assert summary["data"]["n_weightless"] == 100
    assert summary["score"]["n_judged"] == len(y) - 100
    assert min(row["row"] for row in summary["observations"]["hardest"]) >= 100


def test_points_are_few_and_the_worst_among_them():
    sizes = np.random.default_rng(0).normal(size=100_000)
    picked = pick_points(sizes)
    assert len(picked) <= 900
    assert set(np.argsort(-sizes)[:60]) <= set(picked)
