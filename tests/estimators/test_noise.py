"""Noisy labels and useless features: the rate by noise, and importances on unseen rows, in whole models."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

from mpboost import MPBoostClassifier, MPBoostRegressor, load_model, save_model
from mpboost.tasks.rates import MAX_AUTO_RATE
from tests.support.helpers import describe_model

NEW = {
    "learning_rate": "auto",
    "importance": "out_of_patch",
    "feature_momentum": 0.1,
    "feature_exploration": 0.1,
    "max_samples": 200,
    "max_features": 5,
    "stopping": None,
    "random_state": 0,
}
WAYS = ("margin", "m2", "mh", "oc")


def make_clean(seed=0, n_classes=2):
    """Make 2000 rows to learn from and as many to test on, whose labels are right."""
    X, y = make_classification(
        4000, 10, n_informative=6, n_classes=n_classes, class_sep=1.5, flip_y=0, random_state=seed
    )
    return X[:2000], y[:2000], X[2000:], y[2000:]


def flip(y, seed=0, share=0.2):
    """Give some rows another label."""
    rng = np.random.default_rng(seed)
    n_classes = y.max() + 1
    return np.where(rng.random(len(y)) < share, (y + rng.integers(1, n_classes, len(y))) % n_classes, y)


# The rate by noise


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This model is no better")  # by votes of learners that are full of wrong labels
@pytest.mark.parametrize("seed", range(3))
def test_auto_rate_loses_little_by_flipped_labels(seed):
    X, y, X_test, y_test = make_clean(seed)

    def find_loss(rate):
        clean, noisy = (
            MPBoostClassifier(**NEW | {"learning_rate": rate}, n_estimators=300).fit(X, labels).score(X_test, y_test)
            for labels in (y, flip(y, seed))
        )
        assert clean > 0.94
        return clean - noisy

    assert find_loss(1.0) > 0.1
    assert find_loss("auto") < 0.045


@pytest.mark.slow
@pytest.mark.parametrize(("way", "gain"), [("margin", 0.005), ("m2", 0.02), ("oc", 0.05)])
def test_auto_rate_gains_with_flipped_labels_of_many_classes(way, gain):
    gains = []
    for seed in range(2):
        X, y, X_test, y_test = make_clean(seed, n_classes=4)
        careful, usual = (
            MPBoostClassifier(**NEW | {"learning_rate": rate}, multiclass=way, n_estimators=300)
            .fit(X, flip(y, seed))
            .score(X_test, y_test)
            for rate in ("auto", 1.0)
        )
        gains.append(careful - usual)
    assert np.mean(gains) > gain


@pytest.mark.parametrize("n_classes", [2, 4])
def test_auto_rate_falls_where_labels_are_noisy_and_only_there(n_classes):
    # Apart from the noise all rows are told apart by one feature alone.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y = np.digitize(X[:, 2], np.quantile(X[:, 2], np.arange(1, n_classes) / n_classes))
    clean, noisy = (MPBoostClassifier(**NEW, n_estimators=100).fit(X, labels) for labels in (y, flip(y, share=0.3)))
    assert clean.learning_rate_ > 0.5 * MAX_AUTO_RATE
    assert noisy.learning_rate_ < 0.3 * MAX_AUTO_RATE


# Importances on unseen rows


def make_xor(seed, n_samples=3000, n_features=60):
    """Make labels that two features tell together, and none alone, among many that tell nothing."""
    X = np.random.default_rng(seed).normal(size=(n_samples, n_features))
    return X, (X[:, 0] > 0) ^ (X[:, 1] > 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_unseen_rows_find_features_that_count_together(seed):
    X, y = make_xor(seed)
    impurity, unseen = (
        MPBoostClassifier(**NEW | {"importance": kind, "max_samples": 450, "max_features": 10}, n_estimators=500).fit(
            X[:1500], y[:1500]
        )
        for kind in ("impurity", "out_of_patch")
    )
    assert impurity.feature_probabilities_[:2].sum() < 0.2
    assert unseen.feature_probabilities_[:2].sum() > 0.4
    assert set(np.argsort(unseen.feature_probabilities_)[-2:]) == {0, 1}
    assert unseen.score(X[1500:], y[1500:]) >= max(0.98, impurity.score(X[1500:], y[1500:]) + 0.025)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_unseen_rows_find_the_corners_of_a_cube_among_noise(seed):
    # As Madelon is made: clusters at the corners of a cube, and features that tell nothing.
    X, y = make_classification(
        1500,
        100,
        n_informative=4,
        n_redundant=0,
        n_clusters_per_class=8,
        class_sep=0.7,
        shuffle=False,
        random_state=seed,
    )
    impurity, unseen = (
        MPBoostClassifier(**NEW | {"importance": kind, "max_samples": 0.5, "max_features": 20}, n_estimators=300)
        .fit(X, y)
        .feature_probabilities_[:4]
        .sum()
        for kind in ("impurity", "out_of_patch")
    )
    assert impurity < 0.2
    assert unseen > 0.35


def test_unseen_rows_find_the_features_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 40))
    y = 3 * X[:, 0] * X[:, 1] + rng.normal(size=1000)
    impurity, unseen = (
        MPBoostRegressor(
            importance=kind,
            n_estimators=300,
            max_samples=0.3,
            max_features=10,
            feature_momentum=0.1,
            feature_exploration=0.1,
            stopping=None,
            random_state=0,
        )
        .fit(X, y)
        .feature_probabilities_[:2]
        .sum()
        for kind in ("impurity", "out_of_patch")
    )
    assert impurity < 0.7
    assert unseen > 0.85


def test_unseen_rows_that_do_not_exist_leave_impurity():
    X, y, *_ = make_clean()
    whole = NEW | {"max_samples": 1.0, "n_estimators": 10}
    models = [MPBoostClassifier(**whole | {"importance": kind}).fit(X, y) for kind in ("impurity", "out_of_patch")]
    assert describe_model(models[0]) == describe_model(models[1])


# The same bits


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
@pytest.mark.parametrize("way", ["two", *WAYS])
def test_warm_start_goes_on_with_the_rate_of_before(way, weighted):
    X, y, *_ = make_clean(n_classes=2 if way == "two" else 4)
    y = flip(y)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    parameters = NEW | {"multiclass": "margin" if way == "two" else way}
    whole = MPBoostClassifier(**parameters, n_estimators=120).fit(X, y, weights)
    model = MPBoostClassifier(**parameters, n_estimators=60, warm_start=True).fit(X, y, weights)
    rate_of_half = model.learning_rate_
    model.set_params(n_estimators=120).fit(X, y, weights)
    assert describe_model(model) == describe_model(whole)
    assert MAX_AUTO_RATE > rate_of_half != model.learning_rate_


def test_warm_start_of_a_model_that_was_cut_goes_on_with_the_rate_of_the_run():
    # A run that its callbacks or its limit ended is cut to the best iteration, whose rate is not the last one.
    X, y, *_ = make_clean()
    y = flip(y)
    parameters = NEW | {"stopping": "patience", "n_iter_no_change": 30}
    whole = MPBoostClassifier(**parameters, n_estimators=500).fit(X, y)
    n_first = whole.best_iteration_ + 15
    model = MPBoostClassifier(**parameters, n_estimators=n_first, warm_start=True).fit(X, y)
    assert (model.n_iter_, model.best_iteration_) == (n_first, whole.best_iteration_)
    assert describe_model(model.set_params(n_estimators=500).fit(X, y)) == describe_model(whole)
    # Without the rule nothing is cut, and the run goes on beyond: the rate that it had there is not the model's.
    longer = MPBoostClassifier(**NEW, n_estimators=whole.n_iter_).fit(X, y)
    assert longer.learning_rate_ != whole.learning_rate_


@pytest.mark.parametrize("n_classes", [2, 4])
def test_cut_model_has_the_rate_of_its_last_iteration(n_classes):
    X, y, *_ = make_clean(n_classes=n_classes)
    y = flip(y)
    parameters = NEW | {"stopping": "patience", "n_iter_no_change": 30}
    model = MPBoostClassifier(**parameters, n_estimators=500).fit(X, y)
    assert model.best_iteration_ < model.n_iter_
    short = MPBoostClassifier(**NEW, n_estimators=model.best_iteration_).fit(X, y)
    assert model.learning_rate_ == short.learning_rate_ < MAX_AUTO_RATE
    np.testing.assert_array_equal(model.decision_function(X), short.decision_function(X))
    np.testing.assert_array_equal(model.observation_probabilities_, short.observation_probabilities_)


@pytest.mark.parametrize("way", ["two", *WAYS])
def test_copies_keep_the_scale_of_the_decision_function(way, tmp_path):
    X, y, X_new, _ = make_clean(n_classes=2 if way == "two" else 4)
    model = MPBoostClassifier(**NEW | {"multiclass": "margin" if way == "two" else way}, n_estimators=40)
    model.fit(X, flip(y))
    expected = model.decision_function(X_new)
    assert model.learning_rate_ < 0.9 * MAX_AUTO_RATE
    save_model(model, tmp_path / "model")
    for copy in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert copy.learning_rate == "auto"
        np.testing.assert_array_equal(copy.decision_function(X_new), expected)
        np.testing.assert_array_equal(copy.set_params(learning_rate=1.0).decision_function(X_new), expected)
    # The most votes of a row are a whole number of them.
    votes = np.abs(expected).max(axis=-1) / model.learning_rate_
    assert np.abs(votes - np.rint(votes)).max() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_threads_do_not_change_rate_nor_importances(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 6)).astype(np.float32)
    y = flip(np.digitize(X[:, 0] + X[:, 1], [0.0] if n_classes == 2 else [-1.0, 0.0, 1.0]), share=0.3)
    parameters = NEW | {"max_samples": 2000, "n_estimators": 12}
    models = [MPBoostClassifier(**parameters, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    assert models[0].learning_rate_ < MAX_AUTO_RATE
    assert describe_model(models[0]) == describe_model(models[1]) == describe_model(models[2])


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
@pytest.mark.parametrize("kind", ["two", *WAYS, "numbers"])
def test_sparse_tables_give_the_importances_of_dense_ones(kind, weighted):
    X, y, *_ = make_clean(n_classes=2 if kind in ("two", "numbers") else 4)
    X = np.where(np.abs(X) < 1.0, 0.0, X)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    if kind == "numbers":
        makes = {name: NEW[name] for name in NEW if name != "learning_rate"}
        model, other = (MPBoostRegressor(**makes, n_estimators=30) for _ in range(2))
        y = y + X[:, 0]
    else:
        ways = {"multiclass": "margin" if kind == "two" else kind}
        model, other = (MPBoostClassifier(**NEW | ways, n_estimators=30) for _ in range(2))
    model.fit(X, y, weights)
    assert len(set(model.feature_importances_)) > 3
    for convert in (sparse.csr_array, sparse.csc_array):
        assert describe_model(other.fit(convert(X), y, weights)) == describe_model(model)
