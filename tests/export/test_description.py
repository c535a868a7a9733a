"""The description of a model, held to ``predict`` by a plain walk through its trees."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from benchmarks.export.subjects import NAMES, make_rows, predict_raw
from mpboost import MPBoostClassifier, MPGradientBoostingClassifier, MPGradientBoostingRegressor, OOPSearch
from mpboost.export import describe_model, encode_rows, to_onnx
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
    """Squared error, of numbers or of one column for each class."""

    def gradient_hessian(self, y, raw):
        wanted = y if raw.ndim == 1 else np.eye(raw.shape[1])[y.astype(int)]
        return raw - wanted, np.ones_like(raw)


class LinkedLoss(OwnLoss):
    def inverse_link(self, raw):
        return np.exp(raw)


def test_describe_model_refuses_a_loss_with_a_link_of_the_user():
    X = np.arange(200.0)[:, None]
    model = MPGradientBoostingRegressor(loss=LinkedLoss(), n_estimators=3, random_state=0).fit(X, X[:, 0] / 200)
    with pytest.raises(ValueError, match=r"loss of your own .*whose inverse_link cannot be exported"):
        describe_model(model)


@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_losses_of_the_user_without_a_link_are_exported(n_classes):
    """Regressors predict raw numbers, classifiers what log loss would make of them."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX models are run by onnxruntime")
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X[:, 0] if n_classes is None else np.digitize(X[:, 0], [-0.5, 0.5][: n_classes - 1])
    estimator = MPGradientBoostingRegressor if n_classes is None else MPGradientBoostingClassifier
    model = estimator(loss=OwnLoss(), n_estimators=9, random_state=0).fit(X, y)
    results = onnxruntime.InferenceSession(to_onnx(model).SerializeToString()).run(None, {"X": X})
    expected = model.predict(X)[:, None] if n_classes is None else model.predict_proba(X)
    np.testing.assert_allclose(results[-1], expected, rtol=0, atol=1e-12)


def test_describe_model_refuses_other_models():
    with pytest.raises(TypeError, match="best_estimator_"):
        describe_model(OOPSearch(MPBoostClassifier(), {}))
