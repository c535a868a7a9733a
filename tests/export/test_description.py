"""The description of a model, held to ``predict`` by a plain walk through its trees."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from benchmarks.export.subjects import NAMES, make_rows, predict_raw
from mpboost import MPBoostClassifier, MPGradientBoostingRegressor, OOPSearch
from mpboost.export import describe_model, encode_rows
from tests.support.exports import fit_model


def walk(description, row):
    """Add up the leaves of a row: thresholds for numbers, sets of codes for categories."""
    trees, sums = description.trees, np.zeros(description.sums.n_sums)
    for node in trees.roots.tolist():
        while node >= 0:
            value = row[trees.features[node]]
            if np.isnan(value):
                goes_left = trees.missing_left[node]
            elif trees.sets[node] >= 0:
                goes_left = trees.category_sets[trees.sets[node], int(value)]
            else:
                goes_left = value <= trees.thresholds[node]
            node = trees.left[node] if goes_left else trees.right[node]
        of_leaf = description.sums.leaves == ~node
        sums[description.sums.targets[of_leaf]] += description.sums.weights[of_leaf]
    return sums


@pytest.mark.parametrize("name", NAMES)
def test_describe_model_says_what_leaves_add_up_to(name):
    model = fit_model(name)
    rows = make_rows(model, 25)
    description = describe_model(model)
    sums = np.array([walk(description, row) for row in encode_rows(model, rows)])
    raw = sums + model.baseline_ if hasattr(model, "baseline_") else sums / len(description.trees)
    np.testing.assert_allclose(raw, predict_raw(model, rows), rtol=1e-14, atol=1e-14)


def test_describe_model_knows_names_target_and_classes():
    model = fit_model("two classes +")
    model.target_name_ = "mood"
    description = describe_model(model)
    del model.target_name_
    assert (description.estimator, description.target) == ("MPBoostClassifier", "mood")
    assert [feature.name for feature in description.features[-4:]] == ["number4", "few", "many", "whole"]
    assert [feature.categories is not None for feature in description.features[-4:]] == [False, True, True, True]
    assert description.features[-2].categories.has_other
    assert description.classes.tolist() == ["no", "yes"]


def test_describe_model_knows_covers_of_leaves():
    model = fit_model("gradient, two classes")
    trees = describe_model(model).trees
    assert trees.leaf_covers.shape == (trees.n_leaves,)
    assert (trees.leaf_covers > 0).all()


def test_describe_model_refuses_a_given_weak_learner():
    X, y = np.arange(40.0)[:, None], np.arange(40) > 19
    model = MPBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="DecisionTreeClassifier as its weak learner"):
        describe_model(model)


class OwnLoss:
    def gradient_hessian(self, y, raw):
        return raw - y, np.ones_like(raw)


def test_describe_model_refuses_a_loss_of_the_user():
    X = np.arange(200.0)[:, None]
    model = MPGradientBoostingRegressor(loss=OwnLoss(), n_estimators=3, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="loss of your own"):
        describe_model(model)


def test_describe_model_refuses_other_models():
    with pytest.raises(TypeError, match="best_estimator_"):
        describe_model(OOPSearch(MPBoostClassifier(), {}))
