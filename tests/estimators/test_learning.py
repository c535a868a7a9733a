"""Learning: what the paper shows on MNIST, 3 against 8, how others learn, and what must hold on any data."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

from mpboost import (
    PAPER,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)
from tests.support.oracle import WEIGHTINGS
from tests.support.real_data import load_data

pytestmark = pytest.mark.slow

SEEDS = range(5)
MNIST = {**PAPER, "max_samples": 500, "max_features": 30}


def fit_seeds(data, parameters, seeds=SEEDS):
    X, y = data
    return [MPBoostClassifier(**parameters, random_state=seed).fit(X, y) for seed in seeds]


@pytest.fixture(scope="module")
def stopped(mnist_3_vs_8):
    """The paper's algorithm up to its own stop."""
    X, y, *_ = mnist_3_vs_8
    return fit_seeds((X, y), MNIST, range(12))  # its stop is hasty, so that models differ


@pytest.fixture(scope="module")
def ablation(mnist_3_vs_8):
    """Mean test accuracy after 200 iterations for the four settings of the paper's Fig. 2a."""
    X, y, X_test, y_test = mnist_3_vs_8
    settings = {"both": (True, True), "p": (True, False), "q": (False, True), "neither": (False, False)}
    accuracies = {}
    for name, (p, q) in settings.items():
        switches = {"adaptive_observations": p, "adaptive_features": q, "stopping": None, "n_estimators": 200}
        models = fit_seeds((X, y), {**MNIST, **switches})
        accuracies[name] = np.mean([model.score(X_test, y_test) for model in models])
    return accuracies


# MNIST


def test_paper_reaches_its_accuracy_on_mnist(stopped, mnist_3_vs_8):
    *_, X_test, y_test = mnist_3_vs_8
    assert np.mean([model.score(X_test, y_test) for model in stopped]) >= 0.9920


def test_paper_stops_by_itself_on_mnist(stopped):
    assert all("Algorithm 2" in model.stop_reason_ for model in stopped)
    assert all(50 < model.n_iter_ < 500 for model in stopped)


def test_paper_gets_better_on_mnist_when_it_is_not_stopped(mnist_3_vs_8):
    X, y, X_test, y_test = mnist_3_vs_8
    models = fit_seeds((X, y), {**MNIST, "stopping": None, "n_estimators": 800})
    assert np.mean([model.score(X_test, y_test) for model in models]) >= 0.9955


def test_patience_beats_the_stop_of_the_paper_on_mnist(stopped, mnist_3_vs_8):
    X, y, X_test, y_test = mnist_3_vs_8
    models = fit_seeds((X, y), {**MNIST, "stopping": "patience"})
    patient, hasty = (np.mean([model.score(X_test, y_test) for model in fits]) for fits in (models, stopped))
    assert patient > hasty + 0.001


def test_out_of_patch_score_is_a_conservative_estimate_on_mnist(stopped, mnist_3_vs_8):
    *_, X_test, y_test = mnist_3_vs_8
    gaps = [model.score(X_test, y_test) - model.oop_score_ for model in stopped]
    assert min(gaps) > 0
    assert max(gaps) < 0.02


def test_ablation_both_distributions_beat_p_alone(ablation):
    assert ablation["both"] > ablation["p"] + 0.002


def test_ablation_p_alone_beats_neither(ablation):
    assert ablation["p"] > ablation["neither"] + 0.01


def test_ablation_q_alone_does_not_help(ablation):
    # Without hard rows the trees keep asking for the same few pixels: a little worse than drawing them uniformly.
    assert ablation["q"] < ablation["p"]
    assert ablation["q"] == pytest.approx(ablation["neither"], abs=0.02)


def test_feature_probabilities_avoid_the_border_of_mnist(stopped):
    for model in stopped:
        image = model.feature_probabilities_.reshape(28, 28)
        assert image[5:23, 5:23].sum() > 0.65  # 0.41 of the pixels
        assert model.feature_importances_.reshape(28, 28)[[0, -1]].sum() == 0


# Other real data


def split(name):
    """Load rows to learn from and to be judged by, split as they officially are or four to one."""
    data = load_data(name)
    if "X" not in data:
        return data["X_train"], data["y_train"], data["X_test"], data["y_test"]
    order = np.random.default_rng(0).permutation(len(data["X"]))
    train, test = np.split(order, [int(0.8 * len(order))])
    return data["X"][train], data["y"][train], data["X"][test], data["y"][test]


def test_categories_are_no_worse_than_their_codes_on_adult():
    X, y, X_test, y_test = split("adult")
    parameters = {"n_estimators": 100, "stopping": None}
    accuracies = []
    for categorical in (None, [1, 3, 5, 6, 7, 8, 9, 13]):
        models = fit_seeds((X, y), {**parameters, "categorical_features": categorical}, range(4))
        accuracies.append(np.mean([model.score(X_test, y_test) for model in models]))
    codes, categories = accuracies
    assert categories > codes - 0.001


def make_noisy_numbers(n_rows, n_classes, seed=0):
    """Draw four numbers and labels that follow them at times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    strengths = np.stack([X[:, 0] + X[:, 1] * X[:, 2], *X[:, 1:n_classes].T], axis=1)
    return X, (strengths + rng.gumbel(size=strengths.shape)).argmax(axis=1), rng


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_values", [200, 1000])
def test_random_categories_get_hardly_any_probability(n_values, n_classes):
    X, y, rng = make_noisy_numbers(3000, n_classes)
    X = np.column_stack([X, rng.integers(n_values, size=len(X))])
    model = MPBoostClassifier(categorical_features=[4], random_state=0).fit(X, y)
    assert model.feature_probabilities_[4] < 0.02


@pytest.mark.parametrize("n_values", [30, 200, 1000])
def test_random_categories_cost_gradient_boosting_hardly_anything(n_values):
    X, y, rng = make_noisy_numbers(12000, 2)
    noisy = np.column_stack([X, rng.integers(n_values, size=len(X))])
    train, test = np.split(np.arange(len(X)), [2000])
    without = MPGradientBoostingClassifier(random_state=0).fit(X[train], y[train])
    model = MPGradientBoostingClassifier(categorical_features=[4], random_state=0).fit(noisy[train], y[train])
    assert model.score(noisy[test], y[test]) > without.score(X[test], y[test]) - 0.01


def test_categories_of_many_values_are_learned_by_gradient_boosting():
    rng = np.random.default_rng(0)
    X = rng.integers(200, size=(12000, 1)).astype(float)
    y = rng.normal(size=200)[X[:, 0].astype(int)] + rng.normal(size=len(X))
    model = MPGradientBoostingRegressor(categorical_features=[0], random_state=0).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > 0.4  # of 0.5 that can be reached


# Where there is a margin: benchmarks.quality.calibration has all sets.
@pytest.mark.parametrize("name", ["adult", "magic", "madelon"])
def test_calibrated_probabilities_are_no_worse_than_those_of_a_forest(name):
    X, y, X_test, y_test = split(name)
    X, y = X[:10_000], y[:10_000]
    model = MPBoostClassifier(n_estimators=200, stopping=None, random_state=0).fit(X, y)
    forest = RandomForestClassifier(200, random_state=0).fit(X, y)
    calibrated, share, theirs = (
        log_loss(y_test, predict(X_test))
        for predict in (model.predict_proba, model.predict_vote_share, forest.predict_proba)
    )
    assert calibrated <= theirs
    assert calibrated < share


# Many classes and numbers

WAYS = ["margin", "m2", "mh", "oc"]


@pytest.fixture(scope="module")
def dna():
    """Three classes, and the accuracies of AdaBoost and of a forest."""
    return compare(split("dna"), AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=100))


@pytest.fixture(scope="module")
def letter():
    """Twenty-six classes, a fifth of the rows, and the accuracies of AdaBoost and of a forest."""
    X, y, X_test, y_test = split("letter")
    boosting = AdaBoostClassifier(DecisionTreeClassifier(max_depth=10))
    return compare((X[:4000], y[:4000], X_test[:2000], y_test[:2000]), boosting)


@pytest.fixture(scope="module")
def cpu_act():
    """Numbers, a third of the rows, and the R^2 of AdaBoost and of a forest."""
    X, y, X_test, y_test = split("cpu_act")
    return compare((X[:2500], y[:2500], X_test, y_test), AdaBoostRegressor(), RandomForestRegressor)


def compare(data, boosting, make_forest=RandomForestClassifier):
    X, y, X_test, y_test = data
    rivals = boosting.set_params(random_state=0), make_forest(100, random_state=0)
    return data, *(rival.fit(X, y).score(X_test, y_test) for rival in rivals)


def judge(models, X_test, y_test):
    """Give the mean score on new rows, and by how much it is above the out-of-patch score."""
    scores, oop_scores = zip(*[(model.score(X_test, y_test), model.oop_score_) for model in models], strict=True)
    return np.mean(scores), np.mean(scores) - np.mean(oop_scores)


@pytest.mark.parametrize("way", WAYS)
def test_many_classes_are_learned_as_by_others_on_dna(dna, way):
    (X, y, *test), boosting, forest = dna
    parameters = {"multiclass": way, "n_estimators": 300, "max_features": 60, "stopping": None}
    accuracy, gap = judge(fit_seeds((X, y), parameters, range(2)), *test)
    assert accuracy > max(boosting + 0.003, forest - 0.015)
    assert -0.01 < gap < 0.025


@pytest.mark.parametrize("way", WAYS)
def test_many_classes_are_learned_as_by_others_on_letter(letter, way):
    (X, y, *test), boosting, forest = letter
    parameters = {"multiclass": way, "n_estimators": 300, "max_samples": 2000, "stopping": None}
    if way == "oc":  # a large rate keeps hard rows in minipatches: it learns more, but few votes are left to tell so
        parameters["learning_rate"] = 0.03
    accuracy, gap = judge(fit_seeds((X, y), parameters, range(2)), *test)
    assert accuracy > max(boosting, forest) - (0.025 if way == "oc" else 0.015)
    assert -0.01 < gap < (0.05 if way == "oc" else 0.03)


def test_many_classes_get_probabilities_no_worse_than_those_of_a_forest(letter):
    (X, y, X_test, y_test), *_ = letter
    model = MPBoostClassifier(n_estimators=300, max_samples=2000, stopping=None, random_state=0).fit(X, y)
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    ours, share, theirs = (
        log_loss(y_test, predict(X_test))
        for predict in (model.predict_proba, model.predict_vote_share, forest.predict_proba)
    )
    assert ours < min(share, theirs)


@pytest.mark.parametrize("weighting", ["linear", "square", "exponential", "threshold"])
def test_numbers_are_learned_as_by_others_on_cpu_act(cpu_act, weighting):
    (X, y, *test), boosting, forest = cpu_act
    models = [MPBoostRegressor(n_estimators=300, weighting=weighting, random_state=seed).fit(X, y) for seed in range(2)]
    r2, gap = judge(models, *test)
    assert r2 > max(boosting + 0.03, forest - 0.01)
    assert abs(gap) < 0.01


# Made and small data


def make_shifted(seed, n_useful=5):
    """Two round clouds that lie apart along a few of a hundred axes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=2000)
    X = rng.normal(size=(2000, 100))
    useful = rng.choice(100, n_useful, replace=False)
    X[:, useful] += (2 * y - 1)[:, None]
    return X, y, set(useful)


def make_majority(seed, n_useful=5):
    """The majority of a few signs among a hundred."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4000, 100))
    useful = rng.choice(100, n_useful, replace=False)
    return X, (X[:, useful] > 0).sum(axis=1) > n_useful / 2


@pytest.mark.parametrize("seed", range(3))
def test_feature_probabilities_find_the_useful_features(seed):
    X, y, useful = make_shifted(seed)
    model = MPBoostClassifier(max_samples=400, max_features=10, random_state=seed).fit(X, y)
    assert set(np.argsort(model.feature_probabilities_)[-5:]) == useful
    assert model.feature_probabilities_[list(useful)].sum() > 3 * 5 / 100


@pytest.mark.parametrize("seed", range(3))
def test_feature_importances_find_the_useful_features(seed):
    X, y, useful = make_shifted(seed)
    model = MPBoostClassifier(max_samples=400, max_features=10, random_state=seed).fit(X, y)
    assert set(np.argsort(model.feature_importances_)[-5:]) == useful


def test_adaptive_features_help_where_most_features_are_noise():
    X, y = make_majority(0)
    parameters = {"n_estimators": 300, "max_samples": 400, "max_features": 10, "stopping": None}
    adaptive, uniform = (
        np.mean([model.score(X[2000:], y[2000:]) for model in fit_seeds((X[:2000], y[:2000]), settings, range(3))])
        for settings in (parameters, {**parameters, "adaptive_features": False})
    )
    assert adaptive > uniform + 0.03


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_weighting_learns_breast_cancer(cancer, weighting):
    models = fit_seeds(cancer, {"weighting": weighting}, range(3))
    assert min(model.oop_score_ for model in models) > 0.93


def test_observation_probabilities_are_high_where_the_model_errs():
    X, y = make_classification(2000, 10, flip_y=0.1, random_state=0)
    model = MPBoostClassifier(learning_rate=0.1, max_samples=200, random_state=0).fit(X, y)
    wrong = model.oop_decision_function_ * np.where(y == 1, 1, -1) < 0
    p = model.observation_probabilities_
    assert p[wrong].mean() > 2 * p[~wrong].mean()


@pytest.mark.filterwarnings("ignore:This model is no better")  # by votes of learners that are full of wrong labels
def test_small_learning_rate_withstands_noisy_labels():
    X, y = make_classification(4000, 10, n_informative=5, class_sep=1.5, flip_y=0, random_state=0)
    noisy = np.where(np.random.default_rng(0).random(2000) < 0.2, 1 - y[:2000], y[:2000])
    usual, careful = (
        MPBoostClassifier(
            learning_rate=rate, importance="impurity", max_samples=500, n_estimators=300, stopping=None, random_state=0
        )
        .fit(X[:2000], noisy)
        .score(X[2000:], y[2000:])
        for rate in (1.0, 0.02)
    )
    assert careful > usual + 0.03


@pytest.mark.parametrize("seed", range(3))
def test_random_labels_are_not_learned(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(1000, 10)), rng.integers(0, 2, size=1000)
    model = MPBoostClassifier(n_estimators=200, stopping=None, adaptive_observations=False, random_state=seed)
    with pytest.warns(UserWarning, match="no better than a constant"):
        model.fit(X, y)
    assert 0.4 < model.oop_score_ < 0.58


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_ten_thousand_iterations_stay_accurate(weighting):
    X, y = make_classification(2000, 20, class_sep=2.0, flip_y=0.0, random_state=0)
    model = MPBoostClassifier(
        n_estimators=10_000, max_samples=100, weighting=weighting, stopping=None, random_state=0
    ).fit(X[:1000], y[:1000])
    assert model.observation_probabilities_.sum() == pytest.approx(1.0, abs=1e-12)
    assert model.feature_probabilities_.sum() == pytest.approx(1.0, abs=1e-12)
    assert model.score(X[1000:], y[1000:]) >= np.mean(
        [np.mean(labels == y[1000:]) for _, labels in zip(range(100), model.staged_predict(X[1000:]), strict=False)]
    )
