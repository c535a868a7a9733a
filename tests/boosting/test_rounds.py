"""Rounds of several minipatches: a property of the model, and of nothing else."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    StopReason,
    _native,
)
from mpboost.learners.side_by_side import map_side_by_side
from tests.support.helpers import StopAt, describe_model

MODELS = {
    "votes": MPBoostClassifier(),
    "colours": MPBoostClassifier(multiclass="oc"),
    "given": MPBoostClassifier(DecisionTreeClassifier(max_depth=3)),
    "numbers": MPBoostRegressor(),
    "gradient-classes": MPGradientBoostingClassifier(max_leaf_nodes=6, n_models=1),
    "gradient-numbers": MPGradientBoostingRegressor(max_leaf_nodes=6, n_models=3),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def make_problem(model, n_samples=400):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n_samples, 6)), 1)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_samples)
    n_classes = 3 if getattr(model, "multiclass", None) == "oc" else 2
    return X, y if "Regressor" in type(model).__name__ else np.digitize(y, [-0.5, 0.5][: n_classes - 1])


def fit(model, **parameters):
    parameters = {"stopping": None, "random_state": 0, "n_estimators": 21} | parameters
    return type(model)(**model.get_params(deep=False) | parameters)


@each_model
@pytest.mark.parametrize("n_estimators", [1, 8, 13])
def test_round_is_cut_where_the_estimators_end(model, n_estimators):
    X, y = make_problem(model)
    short, long = (fit(model, round_size=8, n_estimators=n).fit(X, y) for n in (n_estimators, 21))
    assert len(short._ensemble) == short.n_iter_ == n_estimators
    assert short.oop_scores_.tolist() == long.oop_scores_[:n_estimators].tolist()
    np.testing.assert_array_equal(short.predict(X), [*long.staged_predict(X)][n_estimators - 1])


@each_model
@pytest.mark.parametrize("round_size", [1, 4, 8, 50])
def test_round_goes_on_where_a_warm_start_finds_it(model, round_size):
    X, y = make_problem(model)
    whole = fit(model, round_size=round_size, warm_start=True).fit(X, y)
    parts = fit(model, round_size=round_size, warm_start=True, n_estimators=10).fit(X, y)
    parts.set_params(n_estimators=21).fit(X, y)
    assert describe_model(parts) == describe_model(whole)


@each_model
def test_round_goes_on_after_a_callback_stopped_inside_it(model):
    X, y = make_problem(model)
    whole = fit(model, warm_start=True).fit(X, y)
    parts = fit(model, warm_start=True, callbacks=[StopAt(5)]).fit(X, y)
    assert parts.n_iter_ == 5
    assert parts.stop_reason_ == StopReason.CALLBACK.describe("StopAt")
    parts.set_params(callbacks=None).fit(X, y)
    assert describe_model(parts) == describe_model(whole)


@each_model
@pytest.mark.parametrize("round_size", [3, 8])
def test_round_gives_the_same_model_for_any_number_of_threads(model, round_size):
    X, y = make_problem(model)
    one, *others = (fit(model, round_size=round_size, n_jobs=n).fit(X, y) for n in (1, 2, 7))
    for other in others:
        other.set_params(n_jobs=1)
        assert describe_model(other) == describe_model(one)


def test_round_of_models_that_take_turns_is_never_stale():
    # Each model has one tree in a round, so that nothing is known later than tree by tree, but for q.
    model = MPGradientBoostingRegressor(n_models=3, adaptive_features=False, max_features=4)
    X, y = make_problem(model)
    tree_by_tree, side_by_side = (fit(model, round_size=k).fit(X, y) for k in (1, 3))
    side_by_side.set_params(round_size=1)
    assert describe_model(side_by_side) == describe_model(tree_by_tree)
    stale = fit(model, round_size=6).fit(X, y)
    assert not np.array_equal(stale.predict(X), tree_by_tree.predict(X))


def test_round_is_cut_to_its_best_learner():
    X, y = make_problem(MODELS["votes"])
    model = MPBoostClassifier(n_iter_no_change=20, round_size=16, random_state=0).fit(X, y)
    assert model.best_iteration_ % 16
    stages = [*model.staged_predict(X)]
    assert len(stages) == model.best_iteration_
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    assert model.train_scores_[model.best_iteration_ - 1] == model.score(X, y)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 2, 9])
def test_side_by_side_keeps_the_order_of_items(n_threads, n_items):
    def double(item, threads):
        assert threads.size in (1, n_threads)
        return 2 * item

    assert map_side_by_side(double, range(n_items), _native.Threads(n_threads)) == [2 * i for i in range(n_items)]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_side_by_side_raises_what_an_item_raises(n_threads):
    def fail(item, threads):
        if item == 4:
            raise ValueError("item 4")
        return item

    threads = _native.Threads(n_threads)
    with pytest.raises(ValueError, match="item 4"):
        map_side_by_side(fail, range(9), threads)
    assert map_side_by_side(lambda item, _: item, range(3), threads) == [0, 1, 2]  # and works again
