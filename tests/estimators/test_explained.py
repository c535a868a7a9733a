"""Models explained: contributions that add up to outputs, trees to look at, leaves, smaller models."""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from mpboost import BinnedDataset, MPBoostClassifier, MPBoostRegressor, load_model, save_model
from tests.support.explained import KINDS, compute_output, fit_kind, make_table

GOLDEN = Path(__file__).parents[1] / "model_files" / "golden"

PREDICTIONS = ("predict", "predict_proba", "decision_function", "predict_vote_share")

kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
@pytest.mark.parametrize("n_background", [0, 30], ids=["covers", "background"])
def test_contributions_add_up_to_the_output(kind, n_background):
    model, _ = fit_kind(kind)
    X = make_table(40, seed=1)
    background = make_table(n_background, seed=2) if n_background else None
    found = model.predict_contributions(X, background=background)
    expected = compute_output(kind, model, X)
    assert found.shape == (*expected.shape, 6)
    np.testing.assert_allclose(found.sum(axis=-1), expected, rtol=0, atol=1e-12)
    if n_background:  # the expected output is that of the background
        mean = compute_output(kind, model, background).mean(axis=0)
        np.testing.assert_allclose(found[..., -1], np.broadcast_to(mean, expected.shape), rtol=0, atol=1e-12)


def test_contributions_are_the_same_for_any_number_of_threads():
    model, _ = fit_kind("gradient, numbers")
    X = make_table(700, seed=1)
    one, three = (model.set_params(n_jobs=n).predict_contributions(X) for n in (1, 3))
    model.set_params(n_jobs=None)
    np.testing.assert_array_equal(one, three)


@kinds
def test_interactions_add_up_to_contributions(kind):
    model, _ = fit_kind(kind)
    X = make_table(40, seed=1)
    found, contributions = model.predict_interactions(X), model.predict_contributions(X)
    assert found.shape == (*contributions.shape, 6)
    np.testing.assert_allclose(found.sum(axis=-1), contributions, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found, found.swapaxes(-1, -2))
    assert (found[..., -1, :-1] == 0).all()
    assert (found[..., 0, 1] != 0).any()
    np.testing.assert_array_equal(found[..., -1, -1], contributions[..., -1])


def test_interactions_of_an_additive_model_are_zero():
    model, X = fit_kind("gradient, numbers")
    y = X["age"].fillna(0) + X["x"].fillna(0) ** 2
    stumps = type(model)(n_estimators=20, max_depth=1, random_state=0).fit(X, y)
    found = stumps.predict_interactions(X)
    assert (found[:, ~np.eye(6, dtype=bool)] == 0).all()
    np.testing.assert_array_equal(np.einsum("rii->ri", found), stumps.predict_contributions(X))


def test_interactions_do_not_depend_on_threads_batches_and_sparseness(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 30)) < 0.5, rng.normal(size=(200, 30)), 0.0)
    model = MPBoostClassifier(n_estimators=10, max_features=3, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    expected = model.set_params(n_jobs=1).predict_interactions(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).predict_interactions(X), expected)
    np.testing.assert_array_equal(model.predict_interactions(sparse.csr_array(X)), expected)
    monkeypatch.setattr("mpboost.boosting.explaining.PAIR_CELLS", 7 * 31 * 31)
    np.testing.assert_array_equal(model.predict_interactions(X), expected)


def test_interactions_that_do_not_fit_in_memory_are_refused(monkeypatch):
    model, X = fit_kind("many classes")
    needed = 8 * len(X) * 3 * 36
    monkeypatch.setattr("mpboost.estimators.explained.measure_available_memory", lambda: needed)
    assert model.predict_interactions(X).nbytes == needed
    monkeypatch.setattr("mpboost.estimators.explained.measure_available_memory", lambda: needed - 1)
    with pytest.raises(MemoryError, match=r"5 features for 150 rows and 3 classes take .*: explain fewer rows"):
        model.predict_interactions(X)


def test_contributions_of_unused_features_are_zero_and_batches_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 1] = 1.0  # a constant
    model = MPBoostRegressor(n_estimators=5, random_state=0).fit(X, X[:, 0] - X[:, 2])
    whole = model.predict_contributions(X)
    assert (whole[:, 1] == 0).all()
    assert (whole[:, [0, 2]] != 0).any(axis=0).all()
    monkeypatch.setattr("mpboost.boosting.explaining.MAX_BATCH_ROWS", 64)
    np.testing.assert_array_equal(model.predict_contributions(X), whole)


def test_contributions_of_sparse_rows_are_those_of_dense_ones():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 30)) < 0.2, rng.normal(size=(200, 30)), 0.0)
    model = MPBoostClassifier(n_estimators=10, max_features=3, random_state=0).fit(sparse.csr_array(X), X[:, 0] > 0)
    assert len(model._ensemble.forest.features) < 30
    np.testing.assert_array_equal(model.predict_contributions(sparse.csr_array(X)), model.predict_contributions(X))
    expected = model.predict_contributions(X, background=X[:20])
    for rows, background in product((X, sparse.csr_array(X)), (X[:20], sparse.csr_array(X[:20]))):
        np.testing.assert_array_equal(model.predict_contributions(rows, background=background), expected)
    np.testing.assert_array_equal(model.apply(sparse.csr_array(X)), model.apply(X))


def test_contributions_of_a_dataset_are_those_of_its_table():
    X = make_table().rename(columns={"": "empty"})
    y = X["age"].fillna(0) > 0
    with BinnedDataset.from_arrays(X, y) as dataset:
        model = MPBoostClassifier(n_estimators=5, random_state=0).fit(dataset)
        np.testing.assert_array_equal(model.predict_contributions(dataset), model.predict_contributions(X))
        found = model.predict_contributions(dataset, background=dataset)
        np.testing.assert_array_equal(found, model.predict_contributions(X, background=X))
        np.testing.assert_array_equal(model.apply(dataset), model.apply(X))


def test_contributions_of_an_old_model_need_a_background():
    model = load_model(GOLDEN / "format-5-numbers.mpb")
    X = make_table(5).set_axis(["age", "größe", "", "身長", "colour"], axis=1)
    with pytest.raises(ValueError, match="fit it again, or pass rows as background"):
        model.predict_contributions(X)
    with pytest.raises(ValueError, match=r"fit it again\.$"):
        model.predict_interactions(X)
    found = model.predict_contributions(X, background=X)
    np.testing.assert_allclose(found.sum(axis=1), model.predict(X), rtol=0, atol=1e-12)
    assert np.isnan(model.get_tree(0).nodes[0].cover)


def test_explanations_refuse_given_estimators_and_models_that_are_not_fitted():
    X, y = np.arange(40.0)[:, None] % 7, np.arange(40) % 2
    model = MPBoostClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0).fit(X, y)
    methods = "predict_contributions", "predict_interactions", "apply", "get_tree"
    for ask in (*(getattr(model, name) for name in methods), lambda _: model.trees_to_frame()):
        with pytest.raises(TypeError, match="native trees, not DecisionTreeClassifier"):
            ask(X)
    assert not hasattr(model, "trees_")
    assert (model.truncate(2).predict(X) == [*model.staged_predict(X)][1]).all()
    new = MPBoostClassifier()
    assert not hasattr(new, "trees_")
    for ask in (*(getattr(new, name) for name in (*methods, "truncate")), lambda _: new.trees_to_frame()):
        with pytest.raises(NotFittedError):
            ask(1)


def test_contributions_refuse_an_empty_background():
    model, X = fit_kind("numbers")
    with pytest.raises(ValueError, match="background"):
        model.predict_contributions(X, background=X[:0])


def test_explanation_says_what_to_install(monkeypatch):
    model, X = fit_kind("numbers")
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        model.predict_contributions(X, as_explanation=True)


@pytest.mark.parametrize("kind", ["numbers", "many classes"])
def test_explanation_has_values_names_and_data(monkeypatch, kind):
    class Explanation:
        def __init__(self, values, base_values, **others):
            self.values, self.base_values = values, base_values
            vars(self).update(others)

    monkeypatch.setitem(sys.modules, "shap", type(sys)("shap"))
    sys.modules["shap"].Explanation = Explanation
    model, X = fit_kind(kind)
    found, expected = model.predict_contributions(X, as_explanation=True), model.predict_contributions(X)
    values = found.values if kind == "numbers" else np.moveaxis(found.values, 2, 1)
    np.testing.assert_array_equal(values, expected[..., :-1])
    np.testing.assert_array_equal(found.base_values, expected[..., -1])
    assert found.feature_names == [*X.columns]
    assert found.output_names == (None if kind == "numbers" else ["0", "1", "2"])
    assert found.display_data[:, 4].tolist() == X["colour"].tolist()
    np.testing.assert_array_equal(found.data[:, 0], X["age"])


def test_explanations_feed_the_plots_of_shap():
    shap = pytest.importorskip("shap")
    model, X = fit_kind("numbers")
    explanation = model.predict_contributions(X, as_explanation=True)
    assert isinstance(explanation, shap.Explanation)
    assert explanation[0].values.shape == (5,)


@kinds
def test_leaves_are_those_that_trees_lead_to(kind):
    model, _ = fit_kind(kind)
    X = make_table(60, seed=3)
    X.loc[0, "colour"] = None
    leaves = model.apply(X)
    assert leaves.shape == (60, len(model.trees_))
    for index, tree in enumerate(model.trees_):
        assert leaves[:, index].tolist() == [walk(tree, row) for _, row in X.iterrows()]


def walk(tree, row):
    """Find the leaf of a row by what the tree says to people."""
    node = tree.nodes[0]
    while not node.is_leaf:
        value = row[node.feature]
        if pd.isna(value):
            goes_left = node.missing_left
        elif node.categories is not None:
            goes_left = value in node.categories
        else:
            goes_left = value <= node.threshold
        node = tree.nodes[node.left if goes_left else node.right]
    return node.leaf


@kinds
def test_truncated_model_predicts_as_the_stage(kind, tmp_path):
    model, X = fit_kind(kind)
    small = model.truncate(7)
    np.testing.assert_array_equal(small.predict(X), [*model.staged_predict(X)][6])
    assert len(small.trees_) == small.best_iteration_ == 7 < len(model.trees_)
    np.testing.assert_array_equal(small.oop_score_, model.oop_scores_[6])
    with pytest.raises(AttributeError, match="truncate"):
        _ = small.observation_difficulty_
    save_model(small, tmp_path / "small.mpb")
    np.testing.assert_array_equal(load_model(tmp_path / "small.mpb").predict(X), small.predict(X))
    np.testing.assert_array_equal(small.predict_contributions(X).shape, model.predict_contributions(X).shape)


@kinds
def test_predictions_of_some_learners_are_those_of_the_truncated_model_and_of_the_stage(kind):
    model, X = fit_kind(kind)
    staged = {name: getattr(model, f"staged_{name}") for name in PREDICTIONS if hasattr(model, f"staged_{name}")}
    for n_estimators in (1, 7, 12):
        small = model.truncate(n_estimators)
        for name in PREDICTIONS:
            if hasattr(model, name):
                found = getattr(model, name)(X, n_estimators=n_estimators)
                np.testing.assert_array_equal(found, getattr(small, name)(X))
        for name, stages in staged.items():
            found = getattr(model, name)(X, n_estimators=n_estimators)
            np.testing.assert_array_equal(found, [*stages(X)][n_estimators - 1])
    for name in staged:
        np.testing.assert_array_equal(getattr(model, name)(X, n_estimators=12), getattr(model, name)(X))
    assert (model.predict(X, n_estimators=1) != model.predict(X)).any()


@pytest.mark.parametrize("n_estimators", [0, 13, -1, 2.0, "2", True])
def test_truncate_refuses_numbers_of_learners_that_there_are_not(n_estimators):
    model, X = fit_kind("two classes")
    message = f"n_estimators={n_estimators!r} must be a whole number between 1 and 12"
    with pytest.raises(ValueError, match=message):
        model.truncate(n_estimators)
    for name in PREDICTIONS:
        with pytest.raises(ValueError, match=message):
            getattr(model, name)(X, n_estimators=n_estimators)


def test_get_tree_refuses_numbers_of_trees_that_there_are_not():
    model, _ = fit_kind("numbers")
    assert repr(model.get_tree(-1)) == repr(model.get_tree(11)) == repr(model.trees_[11])
    assert len(model.trees_[2:5]) == 3
    for index in (12, -13):
        for ask in (model.get_tree, model.trees_.__getitem__):
            with pytest.raises(IndexError, match=f"no tree {index}: the model has 12"):
                ask(index)
    for index in (1.5, "first", None):
        for ask in (model.get_tree, model.trees_.__getitem__):
            with pytest.raises(TypeError, match=f"number of a tree must be a whole number, not {index!r}"):
                ask(index)


@kinds
def test_frame_lists_every_split_and_leaf(kind):
    model, _ = fit_kind(kind)
    frame = model.trees_to_frame()
    forest = model._ensemble.forest
    leaves = frame[frame["split_feature"].isna()]
    assert len(frame) == 2 * len(forest.leaf_covers) - len(forest)
    np.testing.assert_allclose(leaves["cover"], forest.leaf_covers)
    roots = frame[frame["parent_index"].isna()]
    assert roots["tree_index"].tolist() == [*range(len(forest))]
    # Every node is the child of its parent, and covers of children add up.
    by_name = frame.set_index("node_index")
    for name, node in by_name[by_name["split_feature"].notna()].iterrows():
        children = by_name.loc[[node["left_child"], node["right_child"]]]
        assert children["parent_index"].tolist() == [name, name]
        assert node["cover"] == pytest.approx(children["cover"].sum())
    if kind == "gradient, many classes":
        np.testing.assert_array_equal(leaves[[f"value_{k}" for k in range(3)]].astype(float), forest.leaf_values)
    elif kind in ("numbers", "gradient, numbers"):
        np.testing.assert_array_equal(leaves["value"].astype(float), forest.leaf_values)
    elif kind == "two classes":
        assert leaves["value"].tolist() == np.where(forest.leaf_values > 0, "yes", "no").tolist()
