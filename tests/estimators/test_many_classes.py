"""The classifier with three classes or more: what it publishes, how its outputs hang together, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from mpboost import MPBoostClassifier, load_model, save_model
from mpboost.data.checks import MAX_CLASSES, encode_labels, list_classes
from mpboost.sampling.observations import ObservationSampler
from mpboost.tasks import many_classes as class_tasks
from tests.support.helpers import PatchKeeper, describe_model, describe_training
from tests.support.interrupts import interrupt_in

WAYS = ["margin", "m2", "mh", "oc"]
SMALL = {"n_estimators": 25, "max_samples": 60, "max_features": 4, "random_state": 0}
each_way = pytest.mark.parametrize("way", WAYS)


def make(**parameters):
    return MPBoostClassifier(**{**SMALL, **parameters})


def make_data(n_samples=300, n_classes=4, seed=0):
    """Make overlapping clouds along a circle, the later classes more frequent, with noise beside."""
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n_samples, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    angles = 2 * np.pi * y / n_classes
    X = rng.normal(size=(n_samples, 5))
    X[:, :2] += 2.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    return X, y


X, Y = make_data()
X_NEW, Y_NEW = make_data(seed=1)


@pytest.fixture(scope="module", params=WAYS)
def fitted(request):
    """A model of each way that was cut before its last iteration, and its patches."""
    keeper = PatchKeeper()
    model = make(
        multiclass=request.param, n_estimators=300, n_iter_no_change=20, learning_rate=0.25, callbacks=[keeper]
    ).fit(X, Y)
    assert model.best_iteration_ < model.n_iter_
    return model, keeper


# Labels

LABELS = {
    "words": np.array(["d", "b", "c", "a"]),
    "objects": np.array(["d", "b", "c", "a"], dtype=object),
    "negative": np.array([-3, 7, 0, 100]),
    "floats": np.array([4.0, 3.0, 2.0, 1.0]),
    "unsigned": np.array([2**64 - 1, 2**63, 0, 5], dtype=np.uint64),
    "series": pd.Series(["x", "z", "y", "w"]),
    "category": pd.Series(["x", "z", "y", "w"], dtype="category"),
}


@pytest.mark.parametrize("names", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("way", ["margin", "oc"])
def test_fit_takes_labels_of_any_kind(way, names):
    y = names[Y] if isinstance(names, np.ndarray) else names.iloc[Y].reset_index(drop=True)
    values = np.asarray(names)
    model, plain = make(multiclass=way).fit(X, y), make(multiclass=way).fit(X, np.argsort(np.argsort(values))[Y])
    assert model.classes_.tolist() == sorted(values.tolist())
    np.testing.assert_array_equal(model.predict(X_NEW), model.classes_[plain.predict(X_NEW)])
    np.testing.assert_array_equal(model.predict_proba(X_NEW), plain.predict_proba(X_NEW))


def test_labels_are_coded_in_the_order_of_classes():
    y = np.array(["c", "a", "b", "c"])
    classes = list_classes(y)
    codes = encode_labels(y, classes)
    assert (classes.tolist(), codes.tolist(), codes.dtype) == (["a", "b", "c"], [2, 0, 1, 2], np.uint16)


def test_fit_refuses_more_classes_than_16_bits_can_code():
    y = np.arange(MAX_CLASSES + 1)
    with pytest.raises(ValueError, match=r"65536 classes, but at most 65535.*MPBoostRegressor"):
        make().fit(np.zeros((len(y), 1)), y)
    assert len(list_classes(y[:-1])) == MAX_CLASSES


@pytest.mark.slow
@each_way
def test_fit_learns_three_hundred_classes(way):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(300, 6)) * 10
    y = np.repeat(np.arange(300), 8)
    X = centres[y] + rng.normal(size=(len(y), 6))
    model = make(multiclass=way, n_estimators=60, max_samples=1200, max_features=6, stopping=None).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.oop_score_ > 0.25
    assert model.decision_function(X[:3]).shape == model.predict_proba(X[:3]).shape == (3, 300)


# What a fit publishes and how its outputs hang together


def test_outputs_have_a_column_for_each_class(fitted):
    model, _ = fitted
    for method in ("decision_function", "predict_proba", "predict_vote_share"):
        assert getattr(model, method)(X_NEW).shape == (len(X_NEW), 4)
    assert model.predict(X_NEW).shape == (len(X_NEW),)
    assert model.oop_decision_function_.shape == (len(X), 4)
    assert model.oop_decision_function_.dtype == np.float64


def test_outputs_agree_on_the_winner_at_each_stage(fitted):
    model, _ = fitted
    stages = zip(
        model.staged_predict(X_NEW),
        model.staged_decision_function(X_NEW),
        model.staged_predict_proba(X_NEW),
        strict=True,
    )
    n_stages = 0
    for labels, decisions, probabilities in stages:
        n_stages += 1
        np.testing.assert_array_equal(model.classes_[decisions.argmax(axis=1)], labels)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], labels)
        assert (np.sum(decisions == decisions.max(axis=1, keepdims=True), axis=1) == 1).all()
    assert n_stages == model.best_iteration_
    np.testing.assert_array_equal(labels, model.predict(X_NEW))
    np.testing.assert_array_equal(decisions, model.decision_function(X_NEW))
    np.testing.assert_array_equal(probabilities, model.predict_proba(X_NEW))


@pytest.mark.parametrize("method", ["predict_proba", "predict_vote_share"])
def test_probabilities_sum_to_one(fitted, method):
    shares = getattr(fitted[0], method)(X_NEW)
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


def test_decision_function_is_learning_rate_times_votes(fitted):
    model, _ = fitted
    votes = np.rint(model.decision_function(X_NEW) / model.learning_rate)
    assert np.abs(votes - model.decision_function(X_NEW) / model.learning_rate).max() <= 0.25 + 1e-9
    np.testing.assert_allclose(
        votes / votes.sum(axis=1, keepdims=True), model.predict_vote_share(X_NEW), rtol=0, atol=1e-12
    )
    if model.multiclass == "oc":
        assert votes.max() <= model.best_iteration_
    else:
        assert (votes.sum(axis=1) == model.best_iteration_).all()


def test_train_scores_are_the_staged_accuracies(fitted):
    model, _ = fitted
    accuracies = [np.mean(labels == Y) for labels in model.staged_predict(X)]
    np.testing.assert_array_equal(model.train_scores_[: model.best_iteration_], accuracies)


def test_oop_scores_are_the_accuracy_of_the_oop_decision_function(fitted):
    model, _ = fitted
    decisions = model.oop_decision_function_
    own = decisions[np.arange(len(Y)), Y]
    decisions = decisions.copy()
    decisions[np.arange(len(Y)), Y] = -np.inf
    assert np.mean(own > decisions.max(axis=1)) == model.oop_scores_[model.best_iteration_ - 1]


def test_oop_decision_function_counts_votes_of_learners_that_never_saw_the_row(fitted):
    model, keeper = fitted
    stages = np.rint(np.array(list(model.staged_decision_function(X))) / model.learning_rate)
    steps = np.diff(stages, axis=0, prepend=0.0)
    for step, rows in zip(steps, keeper.rows, strict=False):
        step[rows] = 0.0
    np.testing.assert_array_equal(model.oop_decision_function_, model.learning_rate * steps.sum(axis=0))


def test_stopping_cuts_a_longer_run_to_the_same_model(fitted):
    model, _ = fitted
    full = make(multiclass=model.multiclass, n_estimators=model.best_iteration_, learning_rate=0.25, stopping=None).fit(
        X, Y
    )
    np.testing.assert_array_equal(model.predict_proba(X_NEW), full.predict_proba(X_NEW))
    np.testing.assert_array_equal(model.observation_probabilities_, full.observation_probabilities_)
    np.testing.assert_array_equal(model.feature_probabilities_, full.feature_probabilities_)


def test_fitted_model_predicts_better_than_chance(fitted):
    model, _ = fitted
    assert model.score(X_NEW, Y_NEW) > 0.7
    assert model.oop_score_ == pytest.approx(model.score(X_NEW, Y_NEW), abs=0.1)


def test_ways_differ():
    scores = {way: tuple(make(multiclass=way).fit(X, Y).oop_scores_) for way in WAYS}
    assert len(set(scores.values())) == 4


@each_way
def test_fit_does_not_depend_on_the_number_of_threads(way):
    one, two = (make(multiclass=way, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    assert describe_model(one) == describe_model(two)
    np.testing.assert_array_equal(one.predict_proba(X_NEW), two.predict_proba(X_NEW))


@each_way
def test_warm_start_equals_one_long_fit(way):
    whole = make(multiclass=way, n_estimators=100, stopping=None).fit(X, Y)
    model = make(multiclass=way, n_estimators=50, stopping=None, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=100).fit(X, Y)
    assert describe_model(model) == describe_model(whole)


def test_warm_start_does_not_ignore_another_way():
    model = make(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="multiclass"):
        model.set_params(multiclass="m2", n_estimators=50).fit(X, Y)


@pytest.mark.parametrize("stopping", [None, "patience"])
@each_way
def test_counts_that_outgrow_16_bits_change_nothing(monkeypatch, way, stopping):
    parameters = {"multiclass": way, "n_estimators": 60, "stopping": stopping, "n_iter_no_change": 30}
    short = make(**parameters).fit(X, Y)
    monkeypatch.setattr(class_tasks, "MAX_SHORT_COUNT", 7)
    assert describe_model(make(**parameters).fit(X, Y)) == describe_model(short)


@each_way
def test_model_is_the_same_after_a_file(tmp_path, way):
    model = make(multiclass=way).fit(X, Y)
    save_model(model, tmp_path / "model.mpb")
    same = load_model(tmp_path / "model.mpb")
    np.testing.assert_array_equal(same.predict_proba(X_NEW), model.predict_proba(X_NEW))
    np.testing.assert_array_equal(same.oop_decision_function_, model.oop_decision_function_)


# Weights


@pytest.mark.parametrize("class_weight", ["balanced", {0: 5.0, 3: 0.5}], ids=["balanced", "dict"])
@each_way
def test_class_weight_trains_like_the_same_weights_of_rows(way, class_weight):
    weights = compute_sample_weight(class_weight, Y)
    model = make(multiclass=way, class_weight=class_weight, stopping=None).fit(X, Y)
    expected = make(multiclass=way, stopping=None).fit(X, Y, sample_weight=weights)
    assert describe_training(model) == describe_training(expected)
    assert model.train_scores_[-1] == pytest.approx(np.mean(model.predict(X) == Y), rel=1e-12)
    assert model.train_scores_[-1] != expected.train_scores_[-1]


def test_class_weight_moves_recall():
    # The larger the rate, the more p makes up for rows that weigh little.
    plain, heavy = (
        make(n_estimators=100, learning_rate=0.03, class_weight=each).fit(X, Y) for each in (None, {0: 20.0})
    )
    is_first = Y_NEW == 0
    assert np.mean(heavy.predict(X_NEW[is_first]) == 0) > np.mean(plain.predict(X_NEW[is_first]) == 0) + 0.05


@each_way
def test_rows_of_weight_zero_are_as_good_as_absent(way):
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(Y))
    there = weights > 0
    model = make(multiclass=way).fit(X, Y, sample_weight=weights)
    expected = make(multiclass=way).fit(X[there], Y[there], sample_weight=weights[there])
    np.testing.assert_array_equal(model.predict_proba(X_NEW), expected.predict_proba(X_NEW))
    np.testing.assert_array_equal(model.oop_decision_function_[there], expected.oop_decision_function_)
    assert np.isnan(model.oop_decision_function_[~there]).all()
    assert not model.observation_probabilities_[~there].any()


def test_classes_of_weight_zero_are_no_classes():
    model = make().fit(X, Y, sample_weight=(Y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2, 3]
    two = make().fit(X, Y, sample_weight=(Y > 1).astype(float))
    assert (two.classes_.tolist(), two.decision_function(X).ndim) == ([2, 3], 1)


# Validation


@each_way
def test_validation_scores_are_the_staged_accuracies(way):
    model = make(multiclass=way, stopping=None).fit(X, Y, X_val=X_NEW, y_val=Y_NEW)
    accuracies = [np.mean(labels == Y_NEW) for labels in model.staged_predict(X_NEW)]
    np.testing.assert_allclose(model.validation_scores_, accuracies, rtol=1e-12)


def test_validation_may_lack_classes_but_not_add_any():
    few = Y_NEW < 2
    model = make().fit(X, Y, X_val=X_NEW[few], y_val=Y_NEW[few])
    assert model.validation_score_ == pytest.approx(model.score(X_NEW[few], Y_NEW[few]))
    with pytest.raises(ValueError, match="y_val contains labels that y does not have: 9"):
        make().fit(X, Y, X_val=X_NEW, y_val=np.where(Y_NEW == 0, 9, Y_NEW))


# Other weak learners


class PatchClasses(ClassifierMixin, BaseEstimator):
    """A tree that notes how many classes it is shown."""

    seen: list = []  # noqa: RUF012 - clones share it on purpose

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(X, y)
        self.classes_, self.feature_importances_ = self.tree_.classes_, self.tree_.feature_importances_
        self.seen.append(len(self.classes_))
        return self

    def predict(self, X):
        return self.tree_.predict(X)


@each_way
def test_weak_learner_may_miss_classes_in_its_minipatch(way):
    PatchClasses.seen.clear()
    model = make(estimator=PatchClasses(), multiclass=way, max_samples=4, n_estimators=40, stopping=None).fit(X, Y)
    assert min(PatchClasses.seen) == 2
    assert way == "oc" or 3 in PatchClasses.seen
    assert model.predict_proba(X_NEW).shape == (len(X_NEW), 4)
    assert model.score(X, Y) == model.train_scores_[-1]


@pytest.mark.slow
@each_way
def test_weak_learner_of_scikit_learn_learns_iris(way):
    iris, kinds = load_iris(return_X_y=True)
    model = make(estimator=LogisticRegression(max_iter=1000), multiclass=way, max_samples=30).fit(iris, kinds)
    # No line tells the kind in the middle from the other two, as colours ask for.
    assert model.score(iris, kinds) > (0.8 if way == "oc" else 0.9)
    assert model.feature_probabilities_.sum() == pytest.approx(1.0)


def test_permutation_importance_credits_the_useful_features():
    model = make(importance="permutation", max_features=5, n_estimators=40, stopping=None).fit(X, Y)
    assert model.feature_importances_[:2].sum() > 0.6


@each_way
def test_digits_are_learned(way):
    digits, kinds = load_digits(return_X_y=True)
    model = MPBoostClassifier(n_estimators=150, multiclass=way, random_state=0).fit(digits[::2], kinds[::2])
    assert model.score(digits[1::2], kinds[1::2]) > (0.9 if way == "oc" else 0.94)


# Interrupts


@pytest.mark.parametrize(
    ("way", "method", "n_done"),
    [("oc", "pose", 12), ("oc", "sample", 12), ("oc", "update", 5), ("margin", "update", 5)],
)
@pytest.mark.usefixtures("python_handler")
def test_fit_goes_on_after_an_interrupt(monkeypatch, way, method, n_done):
    parameters = {"multiclass": way, "round_size": 3, "stopping": None, "warm_start": True}
    with monkeypatch.context() as patch:
        interrupt_in(patch, ObservationSampler if method == "sample" else class_tasks.TASKS[way], method)
        with pytest.warns(RuntimeWarning, match=f"interrupted after {n_done} iterations"):
            model = make(**parameters).fit(X, Y)
    assert (model.n_iter_, model.score(X, Y)) == (n_done, model.train_scores_[-1])
    model.fit(X, Y)
    assert describe_model(model) == describe_model(make(**parameters).fit(X, Y))
