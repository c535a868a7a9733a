"""Weak learners: any classifier of scikit-learn, and how its features are credited."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from mpboost import Callback, MPBoostClassifier, _native
from mpboost.data.tables import DenseTable
from mpboost.learners.given_estimators import EstimatorLearner
from mpboost.outputs.kinds import Signs
from mpboost.sampling.draws import Draw, Minipatch
from mpboost.sampling.questions import Labels
from mpboost.sampling.weights import LogWeights
from tests.support.helpers import as_votes


@pytest.fixture(scope="module")
def cancer(cancer):
    """The data that all tests share, standardised: not every weak learner scales."""
    X, y = cancer
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def make_model(estimator=None, **parameters):
    defaults = {"n_estimators": 15, "max_samples": 80, "max_features": 6, "random_state": 0}
    return MPBoostClassifier(estimator, **{**defaults, **parameters})


def make_scaled_bayes():
    return make_pipeline(StandardScaler(), GaussianNB())


LEARNERS = {
    "native": (None, {}),
    "native-impurity": (None, {"importance": "impurity"}),
    "native-permutation": (None, {"importance": "permutation"}),
    "tree": (DecisionTreeClassifier(), {}),
    "tree-impurity": (DecisionTreeClassifier(), {"importance": "impurity"}),
    "stump": (DecisionTreeClassifier(max_depth=1), {"importance": "impurity"}),
    "tree-permutation": (DecisionTreeClassifier(), {"importance": "permutation"}),
    "logistic": (LogisticRegression(), {"importance": "impurity"}),
    "linear-svm": (LinearSVC(), {"importance": "impurity"}),
    "bayes-out-of-patch": (GaussianNB(), {}),
    "bayes": (GaussianNB(), {"importance": "permutation"}),
    "neighbours": (KNeighborsClassifier(), {"importance": "permutation"}),
    "pipeline": (make_scaled_bayes(), {"importance": "permutation"}),
    "bayes-uniform-features": (GaussianNB(), {"adaptive_features": False}),
}


@pytest.fixture(scope="module", params=LEARNERS.values(), ids=LEARNERS.keys())
def learned(request, cancer):
    """A model of each kind that learned one half of the data."""
    estimator, parameters = request.param
    X, y = cancer
    return make_model(estimator, learning_rate=0.5, **parameters).fit(X[::2], y[::2])


@pytest.mark.slow
def test_weak_learner_learns(cancer, learned):
    X, y = cancer
    assert learned.score(X[1::2], y[1::2]) > 0.87


def test_weak_learner_outputs_hang_together(cancer, learned):
    X, y = cancer[0][::2], cancer[1][::2]
    *_, last = learned.staged_decision_function(X)
    np.testing.assert_array_equal(last, learned.decision_function(X))
    assert learned.score(X, y) == learned.train_scores_[learned.best_iteration_ - 1]
    assert (
        np.mean(np.where(y == 1, 1, -1) * learned.oop_decision_function_ > 0)
        == learned.oop_scores_[learned.best_iteration_ - 1]
    )


def test_weak_learner_keeps_q_a_distribution(learned):
    assert learned.feature_probabilities_.min() >= 0
    assert learned.feature_probabilities_.sum() == pytest.approx(1.0, abs=1e-12)


def test_weak_learner_with_coefficients_of_float32_keeps_q_a_distribution(cancer):
    X, y = cancer
    model = make_model(RidgeClassifier()).fit(X.astype(np.float32), y)
    assert model.feature_probabilities_.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [case for name, case in LEARNERS.items() if "uniform" not in name],
    ids=[name for name in LEARNERS if "uniform" not in name],
)
def test_weak_learner_importances_find_the_useful_features(estimator, parameters):
    X, y = make_classification(
        800, 12, n_informative=2, n_redundant=0, n_clusters_per_class=1, class_sep=2.0, shuffle=False, random_state=1
    )
    q = {"feature_momentum": 0.5, "feature_exploration": 0.0}
    model = make_model(estimator, n_estimators=30, learning_rate=1.0, stopping=None, **q, **parameters).fit(X, y)
    assert model.feature_importances_[:2].sum() > 0.5
    assert model.feature_probabilities_[:2].sum() > 0.5
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "estimator", [GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())], ids=["bayes", "pipeline"]
)
def test_weak_learner_without_importances_says_what_to_do(cancer, estimator):
    advice = r"importance='out_of_patch' or 'permutation'.*adaptive_features=False"
    with pytest.raises(ValueError, match=advice) as caught:
        make_model(estimator, importance="impurity").fit(*cancer)
    assert type(estimator).__name__ in str(caught.value)


def test_weak_learner_needs_no_importances_where_features_are_drawn_uniformly(cancer):
    model = make_model(GaussianNB(), adaptive_features=False).fit(*cancer)
    np.testing.assert_array_equal(model.feature_probabilities_, np.full(30, 1 / 30))


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier()], ids=["native", "scikit-learn"])
def test_permutation_importance_credits_otherwise_than_impurity(cancer, estimator):
    impurity, permutation = (
        make_model(estimator, importance=kind).fit(*cancer).feature_importances_ for kind in ("impurity", "permutation")
    )
    assert not np.allclose(impurity, permutation)


def test_permutation_importance_gives_no_credit_to_features_that_the_tree_ignores():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    model = make_model(importance="permutation", max_depth=1, max_features=4).fit(X, X[:, 2] > 0)
    assert model.feature_importances_.tolist() == [0.0, 0.0, 1.0, 0.0]


def train_one(learner, *minipatch):
    """Train a learner on a minipatch, in a round of its own."""
    threads = _native.Threads(1)
    (finish,) = learner.train([Minipatch(*minipatch)], threads)
    return finish(threads)


def share_credit(estimator, importance):
    """Give the mean importances of one feature that tells noisy labels and of four that tell nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    labels = np.where(X[:, 0] > 0, 1, -1).astype(np.int8)
    labels[rng.random(1000) < 0.2] *= -1
    learner = EstimatorLearner(
        estimator, DenseTable(X), Signs(1), importance=importance, needs_importances=True, seed=0
    )
    importances, question = [], Labels(labels, LogWeights(np.zeros(1000)))
    for t in range(20):
        order = rng.permutation(1000)
        draw = Draw(np.sort(order[:60]), np.sort(order[60:120]) if importance == "out_of_patch" else order[:0])
        importances.append(train_one(learner, t, draw, np.arange(5), question).importances)
    return np.mean(importances, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(), KNeighborsClassifier(3)], ids=["tree", "neighbours"])
def test_out_of_patch_importance_gives_less_credit_for_what_is_learned_by_heart(estimator):
    on_patch, on_others = (share_credit(estimator, kind) for kind in ("permutation", "out_of_patch"))
    assert on_patch[1:].sum() > 0.5
    assert on_others[1:].sum() < 0.7 * on_patch[1:].sum()


def test_out_of_patch_importance_holds_it_against_a_feature_that_misleads_elsewhere():
    # A tree needs but the second feature, which is the label on rows that it sees and the opposite on all others.
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 1], 300).astype(np.int8)
    X = np.column_stack([rng.normal(size=300), np.where(np.arange(300) < 50, labels, -labels)])
    learner = EstimatorLearner(
        DecisionTreeClassifier(), DenseTable(X), Signs(1), importance="out_of_patch", needs_importances=True, seed=0
    )
    for unseen, expected in [(np.arange(0), [0.0, 1.0]), (np.arange(50, 300), [0.0, -1.0])]:
        patch = Draw(np.arange(50), unseen), np.arange(2), Labels(labels, LogWeights(np.zeros(300)))
        assert train_one(learner, 1, *patch).importances.tolist() == expected


def test_out_of_patch_importance_asks_a_weak_learner_for_no_importances():
    # Those of "impurity" would have to be there, and are taken as they are.
    asked = []

    class Asked(DecisionTreeClassifier):
        @property
        def feature_importances_(self):
            asked.append(1)
            return super().feature_importances_

    share_credit(Asked(max_depth=2), "out_of_patch")
    assert asked == []
    share_credit(Asked(max_depth=2), "impurity")
    assert len(asked) >= 20


class Spy(ClassifierMixin, BaseEstimator):
    """A constant classifier that notes what it is given."""

    seen: list = []  # noqa: RUF012 - clones share it on purpose

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen.append((X.shape, set(y.tolist()), self.random_state))
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture
def spied():
    Spy.seen.clear()
    return Spy.seen


def test_weak_learner_is_trained_on_minipatches(cancer, spied):
    make_model(Spy(), n_estimators=5, adaptive_features=False).fit(*cancer)
    assert [shape for shape, *_ in spied] == [(80, 6)] * 5


def test_weak_learner_gets_a_new_seed_each_time(cancer, spied):
    make_model(Spy(), n_estimators=5, adaptive_features=False).fit(*cancer)
    first = [seed for *_, seed in spied]
    assert len(set(first)) == 5
    spied.clear()
    make_model(Spy(), n_estimators=5, adaptive_features=False).fit(*cancer)
    assert [seed for *_, seed in spied] == first


def test_weak_learner_itself_is_never_fitted(cancer):
    tree = DecisionTreeClassifier()
    make_model(tree).fit(*cancer)
    assert not hasattr(tree, "tree_")
    assert tree.random_state is None


def test_weak_learner_sees_data_as_it_is(cancer):
    # No bins: a threshold can lie between any two values.
    X = np.arange(4000.0)[:, None]
    y = X[:, 0] >= 2001
    native, exact = (
        make_model(estimator, max_samples=3999, max_features=1, n_estimators=1).fit(X, y)
        for estimator in (None, DecisionTreeClassifier())
    )
    assert exact.score(X, y) >= 3999 / 4000
    assert native.score(X, y) < 3999 / 4000


def test_weak_learner_predicts_from_data_frames(cancer):
    X, y = cancer
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(30)])
    model = make_model(DecisionTreeClassifier()).fit(frame, y)
    np.testing.assert_array_equal(
        model.decision_function(frame), make_model(DecisionTreeClassifier()).fit(X, y).decision_function(X)
    )


def test_weak_learner_parameters_can_be_set_through_the_model(cancer):
    model = make_model(DecisionTreeClassifier()).set_params(estimator__max_depth=1, n_estimators=1, max_features=30)
    assert np.count_nonzero(model.fit(*cancer).feature_importances_) == 1


@pytest.mark.slow
def test_weak_learner_that_is_a_tree_comes_close_to_the_native_one(cancer):
    X, y = cancer
    native, foreign = (
        np.mean([make_model(estimator, n_estimators=60, random_state=s).fit(X, y).oop_score_ for s in range(3)])
        for estimator in (None, DecisionTreeClassifier())
    )
    assert native == pytest.approx(foreign, abs=0.015)


# Minipatches of one class


class PatchClasses(Callback):
    """Counts the classes in each minipatch."""

    def __init__(self, y):
        self.y = y
        self.counts = []

    def on_iteration_end(self, run):
        self.counts.append(len(np.unique(self.y[run.rows])))


def make_unbalanced(n_rare):
    X = np.random.default_rng(0).normal(size=(200, 4))
    y = np.arange(200) < n_rare
    X[y] += 5.0
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, LogisticRegression()], ids=["native", "logistic"])
@pytest.mark.parametrize(("n_rare", "max_samples"), [(1, 2), (3, 5)])
def test_minipatch_of_one_class_gets_a_row_of_the_other(estimator, n_rare, max_samples):
    X, y = make_unbalanced(n_rare)
    classes = PatchClasses(y)
    model = make_model(
        estimator, max_samples=max_samples, max_features=2, adaptive_observations=False, callbacks=[classes]
    )
    model.fit(X, y)
    assert classes.counts == [2] * model.n_iter_


@pytest.mark.parametrize("estimator", [None, LogisticRegression()], ids=["native", "logistic"])
def test_minipatch_of_one_row_gives_a_constant_vote_and_leaves_q_alone(estimator):
    X, y = make_unbalanced(50)
    model = make_model(estimator, max_samples=1, max_features=2, stopping=None).fit(X, y)
    votes = np.diff(as_votes(list(model.staged_decision_function(X)), model.learning_rate_), axis=0, prepend=0.0)
    assert (votes == votes[:, :1]).all()
    assert set(votes[:, 0]) == {-1.0, 1.0}
    np.testing.assert_array_equal(model.feature_probabilities_, np.full(4, 1 / 4))
    np.testing.assert_array_equal(model.feature_importances_, np.zeros(4))


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier()], ids=["native", "tree"])
def test_weak_learner_finds_a_rare_class(estimator):
    X, y = make_unbalanced(4)
    model = make_model(estimator, max_samples=10, max_features=4, n_estimators=60, stopping=None).fit(X, y)
    assert model.predict(X[y]).all()
    assert model.score(X, y) > 0.98
