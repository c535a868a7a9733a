"""Evaluations tell the scores of scikit-learn, which rows they are about, and what is wrong with the rows."""

import json
from copy import copy

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)

import mpboost
from mpboost import MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier, MPGradientBoostingRegressor
from mpboost.inspection.judgement import judge

SMALL = {"n_estimators": 20, "random_state": 0}
ESTIMATORS = {
    "two classes": (MPBoostClassifier, {}, load_breast_cancer),
    "many classes": (MPBoostClassifier, {}, load_iris),
    "colours": (MPBoostClassifier, {"multiclass": "oc"}, load_iris),
    "one against rest": (MPBoostClassifier, {"multiclass": "mh"}, load_iris),
    "numbers": (MPBoostRegressor, {}, load_diabetes),
    "gradients": (MPGradientBoostingClassifier, {}, load_breast_cancer),
    "gradients of many classes": (MPGradientBoostingClassifier, {}, load_iris),
    "gradients of numbers": (MPGradientBoostingRegressor, {}, load_diabetes),
}
CLASSES = [kind for kind in ESTIMATORS if "numbers" not in kind]
NUMBERS = [kind for kind in ESTIMATORS if "numbers" in kind]
each_kind = pytest.mark.parametrize("kind", ESTIMATORS)


@pytest.fixture(scope="module")
def fitted():
    """A model of each kind, the rows that it was trained on, and others."""
    made = {}
    for kind, (estimator, parameters, load) in ESTIMATORS.items():
        X, y = load(return_X_y=True)
        # Of iris, both halves have the same labels in the same order.
        made[kind] = estimator(**SMALL | parameters).fit(X[::2], y[::2]), (X[::2], y[::2]), (X[1::2], y[1::2])
    return made


@pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", CLASSES)
def test_scores_of_classes_are_those_of_scikit_learn(fitted, kind, is_weighted):
    model, _, (X, y) = fitted[kind]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if is_weighted else None
    evaluation = mpboost.evaluate(model, X, y, weights)
    predicted, probabilities = model.predict(X), model.predict_proba(X)
    is_class, shares = np.eye(len(model.classes_))[y], probabilities
    ranked, ovr = (model.decision_function(X), y) if len(model.classes_) == 2 else (probabilities, is_class)
    squares = ((shares - is_class) ** 2).sum(axis=1) / (2 if len(model.classes_) == 2 else 1)
    expected = {
        "accuracy": accuracy_score(y, predicted, sample_weight=weights),
        "balanced_accuracy": balanced_accuracy_score(y, predicted, sample_weight=weights),
        "log_loss": log_loss(y, probabilities, sample_weight=weights),
        "roc_auc": roc_auc_score(ovr, ranked, sample_weight=weights),
        "average_precision": average_precision_score(ovr, ranked, sample_weight=weights),
        "brier_score": np.average(squares, weights=weights),
    }
    assert {name: score.value for name, score in evaluation.scores.items()} == pytest.approx(expected)
    matrix = evaluation.confusion.to_matrix()
    np.testing.assert_array_equal(matrix, confusion_matrix(y, predicted, labels=model.classes_))


@pytest.mark.parametrize("kind", NUMBERS)
def test_scores_of_numbers_are_those_of_scikit_learn(fitted, kind):
    model, _, (X, y) = fitted[kind]
    evaluation, predicted = mpboost.evaluate(model, X, y), model.predict(X)
    expected = {
        "r2": r2_score(y, predicted),
        "mean_absolute_error": mean_absolute_error(y, predicted),
        "root_mean_squared_error": np.sqrt(np.mean((y - predicted) ** 2)),
    }
    assert {name: score.value for name, score in evaluation.scores.items()} == pytest.approx(expected)
    assert evaluation.residuals["median"] == pytest.approx(np.median(y - predicted))
    assert evaluation.residuals["most"] == pytest.approx((y - predicted).max())


@each_kind
def test_scores_have_intervals_and_out_of_patch_values(fitted, kind):
    model, _, (X, y) = fitted[kind]
    scores, oop = mpboost.evaluate(model, X, y).scores, judge(model)
    for score in scores.values():
        assert score.interval[0] <= score.value <= score.interval[1]
        assert score.oop_interval[0] <= score.oop_value <= score.oop_interval[1]
        assert score.interval[0] >= 0 or score.name == "r2"
        assert score.reason == ""
    main = scores["r2" if kind in NUMBERS else "accuracy"]
    assert (main.oop_value, main.oop_interval) == (model.oop_score_, tuple(model.oop_interval_))
    if kind in NUMBERS:
        expected = np.abs(oop.given - oop.predicted).mean()
        assert scores["mean_absolute_error"].oop_value == pytest.approx(expected)
    else:
        expected = balanced_accuracy_score(oop.given, oop.predicted)
        assert scores["balanced_accuracy"].oop_value == pytest.approx(expected)


@each_kind
def test_training_table_is_told_from_new_rows(fitted, kind):
    model, (X, y), (X_new, y_new) = fitted[kind]
    assert mpboost.evaluate(model, X, y).is_training
    assert not mpboost.evaluate(model, X[::-1], y[::-1]).is_training
    assert not mpboost.evaluate(model, X[:-1], y[:-1]).is_training
    if "gradients" not in kind:  # whose votes tell even rows of the same labels apart
        assert not mpboost.evaluate(model, X_new, y_new).is_training


def test_training_table_is_known_by_the_rows_that_counted():
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.where(np.arange(len(y)) < 100, 0.0, 1.0)
    model = MPBoostClassifier(**SMALL).fit(X, y, weights)
    y[:100] = 7  # labels of no class, of rows that do not count
    evaluation = mpboost.evaluate(model, X, y)
    assert evaluation.is_training
    assert evaluation.n_rows == len(y) - 100
    with pytest.raises(ValueError, match="does not know: 7"):
        mpboost.evaluate(model, X[::-1], y[::-1])


@pytest.mark.parametrize("kind", ["two classes", "colours", "numbers"])
def test_training_table_with_other_targets_is_told(fitted, kind):
    model, (X, y), _ = fitted[kind]
    changed = y.copy()
    changed[[3, 5]] = changed[[5, 3]] if kind == "numbers" else 1 - changed[[3, 5]]
    with pytest.warns(UserWarning, match=f"the training table, but 2 of {len(y)} targets differ"):
        evaluation = mpboost.evaluate(model, X, changed)
    assert not evaluation.is_training


def test_training_rows_count_however_small_their_probability(fitted):
    model, (X, y), _ = fitted["two classes"]
    model = copy(model)
    model.observation_probabilities_ = np.eye(len(y))[0]
    assert mpboost.evaluate(model, X, y).n_rows == len(y)


def test_rows_are_predicted_once(fitted, monkeypatch):
    model, _, (X, y) = fitted["two classes"]
    calls, total = [], type(model)._total
    monkeypatch.setattr(type(model), "_total", lambda self, X: calls.append(1) or total(self, X))
    mpboost.evaluate(model, X, y)
    assert len(calls) == 1


def test_rows_of_weight_zero_do_not_count(fitted):
    model, _, (X, y) = fitted["two classes"]
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    found = mpboost.evaluate(model, X, y, weights).to_dict()
    expected = mpboost.evaluate(model, X[weights > 0], y[weights > 0]).to_dict()
    assert found["rows"] == expected["rows"]
    assert found["confusion"] == expected["confusion"]
    for name, score in found["scores"].items():
        assert score["value"] == pytest.approx(expected["scores"][name]["value"])
        assert score["interval"] == pytest.approx(expected["scores"][name]["interval"])


@pytest.mark.parametrize(
    ("kind", "absent", "words"),
    [
        ("two classes", 1, "needs rows of both classes, but there are none of 1"),
        ("two classes", 0, "needs rows of both classes, but there are none of 0"),
        ("many classes", 2, "needs rows of every class, but there are none of 2"),
    ],
)
def test_scores_that_need_absent_classes_are_left_out_with_a_reason(fitted, kind, absent, words):
    model, _, (X, y) = fitted[kind]
    evaluation = mpboost.evaluate(model, X[y != absent], y[y != absent])
    left_out = {name for name, score in evaluation.scores.items() if score.value is None}
    assert left_out == {"roc_auc", "average_precision"}
    assert evaluation.scores["roc_auc"].reason == words
    assert evaluation.scores["roc_auc"].oop_value > 0.5
    assert words in str(evaluation)
    json.dumps(evaluation.to_dict(), allow_nan=False)


def test_r2_of_equal_targets_is_left_out_with_a_reason(fitted):
    model, _, (X, _) = fitted["numbers"]
    scores = mpboost.evaluate(model, X[:5], np.ones(5)).scores
    assert (scores["r2"].value, scores["r2"].reason) == (None, "needs targets that differ")
    assert scores["mean_absolute_error"].value > 0


def test_evaluation_of_one_row_has_no_intervals(fitted):
    model, _, (X, y) = fitted["numbers"]
    evaluation = mpboost.evaluate(model, X[:1], y[:1])
    assert evaluation.scores["mean_absolute_error"].interval is None
    assert "mean absolute error" in str(evaluation)
    assert repr(evaluation) == "Evaluation(1 new row, R² unknown)"


def test_verdict_of_few_rows_is_unknown(fitted):
    model, _, (X, y) = fitted["numbers"]
    assert mpboost.evaluate(model, X[:29], y[:29] + 1000.0).verdict is None
    assert mpboost.evaluate(model, X[:30], y[:30] + 1000.0).verdict == "worse"


@each_kind
def test_evaluation_is_plain_and_readable(fitted, kind):
    model, train, new = fitted[kind]
    evaluation = mpboost.evaluate(model, new[0][:-1], new[1][:-1])
    content = evaluation.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert repr(evaluation).startswith(f"Evaluation({len(new[1]) - 1} new rows, ")
    lines = str(evaluation).splitlines()
    assert lines[0] == f"{type(model).__name__} on {len(new[1]) - 1} new rows"
    assert len(lines) == 2 + len(evaluation.scores)
    assert sum(line.endswith("smaller is better") for line in lines) == 2
    assert "their scores are too good" in str(mpboost.evaluate(model, *train))


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e5])
def test_losses_of_any_size_are_readable(unit):
    X, y = load_diabetes(return_X_y=True)
    model = MPBoostRegressor(**SMALL).fit(X[:300], unit * y[:300])
    score = mpboost.evaluate(model, X[300:], unit * y[300:]).scores["mean_absolute_error"]
    value, interval, *_ = score.format()
    assert float(value.replace(",", "")) == pytest.approx(score.value, rel=0.01)
    assert "e" not in value + interval


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "as expected"), (100.0, "worse")])
def test_verdict_compares_new_rows_with_the_promise(fitted, shift, verdict):
    model, _, (X, y) = fitted["numbers"]
    assert mpboost.evaluate(model, X, y + shift).verdict == verdict


def test_verdict_is_better_for_easier_rows(fitted):
    model, _, (X, _) = fitted["numbers"]
    assert mpboost.evaluate(model, X, model.predict(X)).verdict == "better"


def test_verdict_of_the_training_table_is_unknown(fitted):
    model, (X, y), _ = fitted["two classes"]
    assert mpboost.evaluate(model, X, y).verdict is None


@pytest.mark.parametrize("scoring", ["log_loss", "f1", "roc_auc"])
def test_score_that_the_model_was_trained_by_is_the_main_one(scoring):
    X, y = load_breast_cancer(return_X_y=True)
    model = MPBoostClassifier(**SMALL, scoring=scoring).fit(X[::2], y[::2])
    evaluation = mpboost.evaluate(model, X[1::2], y[1::2])
    score = evaluation.scores[evaluation.main]
    assert evaluation.main == scoring
    assert score.oop_value == pytest.approx(abs(model.oop_score_))
    assert score.value > 0


def test_evaluation_without_out_of_patch_predictions_has_none(fitted):
    X, y = load_breast_cancer(return_X_y=True)
    model = MPBoostClassifier(n_estimators=3, max_samples=1.0, stopping=None, random_state=0).fit(X[::2], y[::2])
    evaluation = mpboost.evaluate(model, X[1::2], y[1::2])
    assert all(score.oop_value is None for score in evaluation.scores.values())
    assert evaluation.scores["accuracy"].value > 0.8
    assert evaluation.verdict is None


def test_evaluation_reads_labels_of_any_type():
    X, y = load_iris(return_X_y=True)
    names = np.array(["ä", "b", "c"])[y]
    model = MPBoostClassifier(**SMALL).fit(X, names)
    expected = mpboost.evaluate(model, X[::-1], names[::-1]).to_dict()
    for labels in (names[::-1].tolist(), names[::-1].astype(object)):
        assert mpboost.evaluate(model, X[::-1], labels).to_dict() == expected
    numbers = MPBoostClassifier(**SMALL).fit(X, y)
    assert mpboost.evaluate(numbers, X, y.astype(float)).to_dict() == mpboost.evaluate(numbers, X, y).to_dict()


def spoil(values, value, dtype=None):
    spoiled = np.array(values, dtype=dtype)
    spoiled[3] = value
    return spoiled


@pytest.mark.parametrize(
    ("kind", "make", "words"),
    [
        ("two classes", lambda X, y: (X, spoil(y, 5)), r"does not know: 5\. It was trained on 0, 1"),
        ("two classes", lambda X, y: (X, y.astype(str)), "labels that the model does not know: '1', '0'|'0', '1'"),
        ("two classes", lambda X, y: (X, spoil(y, None, object)), "missing values"),
        ("two classes", lambda X, y: (X, spoil(y, "a", object)), "does not know: 'a'|text and numbers"),
        ("two classes", lambda X, y: (X, y[:9]), "X has 284 rows, but y has 9"),
        ("two classes", lambda X, y: (X[:, :3], y), "X has 3 features"),
        ("two classes", lambda X, y: (X, None), "y is None"),
        ("numbers", lambda X, y: (X, spoil(y, np.nan)), "NaN"),
        ("numbers", lambda X, y: (X, ["low"] * len(y)), "'low', which is not a number"),
        ("numbers", lambda X, y: (X, y, np.zeros(len(y))), "at least one non-zero"),
        ("numbers", lambda X, y: (X, y, -np.ones(len(y))), "Negative values"),
    ],
    ids=[
        "unknown",
        "text-for-numbers",
        "missing",
        "mixed",
        "too-few",
        "too-narrow",
        "none",
        "nan",
        "text",
        "no-weight",
        "negative-weight",
    ],
)
def test_evaluate_says_what_is_wrong(fitted, kind, make, words):
    model, _, (X, y) = fitted[kind]
    with pytest.raises(ValueError, match=words):
        mpboost.evaluate(model, *make(X, y))


def test_evaluate_refuses_other_models():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="not LogisticRegression"):
        mpboost.evaluate(LogisticRegression(max_iter=1000).fit(X, y), X, y)


def test_out_of_patch_scores_of_many_rows_are_from_a_sample(fitted, monkeypatch):
    model, _, (X, y) = fitted["two classes"]
    whole = mpboost.evaluate(model, X, y).scores
    monkeypatch.setattr("mpboost.inspection.evaluation.MAX_CELLS", 400)
    sampled = mpboost.evaluate(model, X, y).scores
    assert sampled["roc_auc"].value == whole["roc_auc"].value
    assert sampled["accuracy"].oop_value == whole["accuracy"].oop_value
    assert sampled["log_loss"].oop_value != whole["log_loss"].oop_value
    assert sampled["log_loss"].oop_value == pytest.approx(whole["log_loss"].oop_value, rel=0.5)
