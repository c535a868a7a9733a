"""Constraints on gradient trees: directions that predictions keep, and features that may act together."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mpboost import MPGradientBoostingClassifier, MPGradientBoostingRegressor
from mpboost.learners.constraints import Constraints
from mpboost.learners.splits import SPLIT_DTYPE

QUICK = {"n_estimators": 60, "learning_rate": 0.3, "max_samples": 0.5, "stopping": None, "random_state": 0}
ESTIMATORS = {"numbers": MPGradientBoostingRegressor, "classes": MPGradientBoostingClassifier}
LOSSES = ["squared_error", "absolute_error", "quantile", "huber", "poisson"]


def make_waves(n_samples=500, seed=0):
    """Make a target that rises with the first feature, but in waves, falls with the second, and follows the third."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(0, 4, size=(n_samples, 3)), 1)
    y = X[:, 0] + 2 * np.sin(4 * X[:, 0]) - X[:, 1] + np.cos(3 * X[:, 1]) + np.sin(5 * X[:, 2])
    return X, y + rng.normal(size=n_samples)


def fit_waves(kind="numbers", *, missing=False, form=np.asarray, **parameters):
    X, y = make_waves()
    if missing:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    target = y > 0 if kind == "classes" else y + 20
    return ESTIMATORS[kind](**QUICK | parameters).fit(form(X), target)


def follow(model, feature):
    """Give raw predictions along a feature, a row for each setting of the others, some of them missing."""
    rng = np.random.default_rng(2)
    settings = rng.uniform(0, 4, size=(40, 3))
    settings[:10, (feature + 1) % 3] = np.nan
    grid = np.linspace(-1, 5, 80)
    X = np.repeat(settings, len(grid), axis=0)
    X[:, feature] = np.tile(grid, len(settings))
    predict = model.decision_function if hasattr(model, "decision_function") else model.predict
    return predict(X).reshape(len(settings), len(grid))


def list_splits(model):
    """Give the splits of each tree."""
    forest = model._ensemble.forest
    splits = np.frombuffer(forest.splits.tobytes(), dtype=SPLIT_DTYPE)
    return np.split(splits, forest.split_offsets[1:-1])


def list_paths(splits):
    """List the sets of features on the paths of a tree."""
    if not len(splits):
        return []
    ends, todo = [], [(0, frozenset())]
    while todo:
        node, above = todo.pop()
        if node < 0:
            ends.append(above)
        else:
            now = above | {int(splits["feature"][node])}
            todo += [(splits["left"][node], now), (splits["right"][node], now)]
    return ends


# Directions


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "missing"])
@pytest.mark.parametrize("leaf_refit", [True, False], ids=["refit", "patch"])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_predictions_keep_their_directions(kind, leaf_refit, missing):
    model = fit_waves(kind, leaf_refit=leaf_refit, missing=missing, monotonic_cst=[1, -1, 0])
    assert (np.diff(follow(model, 0)) >= 0).all()
    assert (np.diff(follow(model, 1)) <= 0).all()
    assert np.ptp(follow(model, 0), axis=1).min() > 0.1  # and do not just stand still
    free = np.diff(follow(model, 2))
    assert (free > 0).any()
    assert (free < 0).any()
    unbound = fit_waves(kind, leaf_refit=leaf_refit, missing=missing)
    assert (np.diff(follow(unbound, 0)) < 0).any()


@pytest.mark.parametrize("loss", LOSSES)
def test_predictions_keep_their_directions_with_any_loss(loss):
    model = fit_waves(loss=loss, monotonic_cst=[1, -1, 0])
    assert (np.diff(follow(model, 0)) >= 0).all()
    assert (np.diff(follow(model, 1)) <= 0).all()


@pytest.mark.parametrize(
    "cst", [{0: 1, 2: -1}, {"a": 1, "c": -1}, {"a": 1, 2: -1}, np.array([1, 0, -1]), (1.0, 0, -1)], ids=str
)
def test_directions_are_given_by_number_name_or_place(cst):
    def form(X):
        return pd.DataFrame(X, columns=list("abc"))

    expected = fit_waves(form=form, monotonic_cst=[1, 0, -1])
    X = form(make_waves()[0])
    assert fit_waves(form=form, monotonic_cst=cst).predict(X).tolist() == expected.predict(X).tolist()


def test_directions_hold_in_sparse_data_too():
    X, _ = make_waves()
    dense, thin = (
        fit_waves(form=form, monotonic_cst=[1, -1, 0], max_features=2) for form in (np.asarray, sparse.csr_array)
    )
    assert thin.predict(X).tolist() == dense.predict(X).tolist()
    assert (np.diff(follow(thin, 0)) >= 0).all()


def test_directions_of_zero_are_none():
    X, _ = make_waves()
    assert fit_waves(monotonic_cst=[0, 0, 0]).predict(X).tolist() == fit_waves().predict(X).tolist()


@pytest.mark.parametrize(
    ("cst", "message"),
    [
        ([1, 0], "3 features"),
        ([[1, 0, 0]], "3 features"),
        ([2, 0, 0], "-1 \\(falling\\)"),
        ([0.5, 0, 0], "-1 \\(falling\\)"),
        ([np.nan, 0, 0], "-1 \\(falling\\)"),
        (["up", 0, 0], "-1 \\(falling\\)"),
        ({0: None}, "-1 \\(falling\\)"),
        ({3: 1}, "features 0 to 2"),
        ({-1: 1}, "features 0 to 2"),
        ({True: 1}, "features 0 to 2"),
        ({0.0: 1}, "features 0 to 2"),
        ({"a": 1}, "'a' that X does not have"),
        ("rising", "'monotonic_cst' parameter"),
        (1, "'monotonic_cst' parameter"),
    ],
    ids=str,
)
def test_directions_that_make_no_sense_are_refused(cst, message):
    with pytest.raises(ValueError, match=message):
        fit_waves(monotonic_cst=cst)


def test_directions_are_refused_for_more_than_two_classes():
    X, y = make_waves()
    with pytest.raises(ValueError, match="more classes"):
        MPGradientBoostingClassifier(**QUICK, monotonic_cst=[1, 0, 0]).fit(X, np.digitize(y, [-1, 1]))


def test_directions_are_refused_for_categories():
    X, y = make_waves()
    frame = pd.DataFrame(X, columns=list("abc")).assign(a=pd.Categorical(X[:, 0].astype(int)))
    with pytest.raises(ValueError, match="categorical"):
        MPGradientBoostingRegressor(**QUICK, monotonic_cst={"a": 1}).fit(frame, y)
    model = MPGradientBoostingRegressor(**QUICK, monotonic_cst={"b": -1}).fit(frame, y)
    assert model.score(frame, y) > 0.5


# Features that act together


@pytest.mark.parametrize(
    ("cst", "together"),
    [
        ("no_interactions", [{0}, {1}, {2}]),
        ("pairwise", [{0, 1}, {0, 2}, {1, 2}]),
        ([[0, 1]], [{0, 1}, {2}]),
        ([{0, 2}, (1, 2)], [{0, 2}, {1, 2}]),
        ([["a", 1], []], [{0, 1}, {2}]),
        ([[0], [0, 1], [2]], [{0, 1}, {2}]),
        ([], [{0, 1, 2}]),
    ],
    ids=str,
)
def test_paths_have_features_of_one_set(cst, together):
    model = fit_waves(form=lambda X: pd.DataFrame(X, columns=list("abc")), interaction_cst=cst)
    paths = {path for splits in list_splits(model) for path in list_paths(splits)}
    assert paths
    assert all(any(path <= group for group in together) for path in paths)
    assert max(map(len, paths)) == max(map(len, together))  # and use what they may


@pytest.mark.parametrize("leaf_refit", [True, False], ids=["refit", "patch"])
def test_predictions_without_interactions_are_sums(leaf_refit):
    model = fit_waves(interaction_cst="no_interactions", leaf_refit=leaf_refit)
    for feature in range(3):
        along = follow(model, feature)
        np.testing.assert_allclose(along - along[:, :1], np.tile(along[0] - along[0, 0], (len(along), 1)), atol=1e-9)
    free = follow(fit_waves(leaf_refit=leaf_refit), 0)
    assert np.ptp(free - free[:, :1], axis=0).max() > 0.1


def test_interactions_of_many_features_are_no_burden():
    X = np.random.default_rng(0).normal(size=(100, 3000))
    model = MPGradientBoostingRegressor(**QUICK | {"n_estimators": 3}, interaction_cst="pairwise", max_features=5)
    assert model.fit(X, X[:, 0]).n_iter_ == 3


def test_interactions_hold_where_few_features_are_drawn():
    model = fit_waves(interaction_cst=[[0, 1]], max_features=1)
    assert {len(path) for splits in list_splits(model) for path in list_paths(splits)} == {1}


def test_directions_and_interactions_go_together():
    model = fit_waves(interaction_cst="no_interactions", monotonic_cst=[1, -1, 0])
    assert (np.diff(follow(model, 0)) >= 0).all()
    assert max(len(path) for splits in list_splits(model) for path in list_paths(splits)) == 1


@pytest.mark.parametrize(
    ("cst", "message"),
    [
        ([[0, 3]], "features 0 to 2"),
        ([["a"]], "'a' that X does not have"),
        ([0, 1], "list of lists"),
        (["ab"], "list of lists"),
        ("triples", "'interaction_cst' parameter"),
        (3, "'interaction_cst' parameter"),
    ],
    ids=str,
)
def test_interactions_that_make_no_sense_are_refused(cst, message):
    with pytest.raises(ValueError, match=message):
        fit_waves(interaction_cst=cst)


def test_constraints_are_told_in_terms_of_columns():
    constraints = Constraints(np.array([0, 1, -1, 0], dtype=np.int8), [np.array([0, 2]), np.array([1, 3])])
    monotonic, offsets, members = constraints.of(np.array([1, 2, 3]), np.array([0, 1, 2]), 3)
    assert monotonic.tolist() == [1, -1, 0]
    assert (offsets.tolist(), members.tolist()) == ([0, 1, 3], [1, 0, 2])
