"""Trees for shap: what it computes from them must be what mpboost computes itself."""

import numpy as np
import pytest

from benchmarks.export.subjects import NAMES, make_rows, make_table, predict_raw
from mpboost.export import encode_rows, shap_trees, to_shap
from tests.support.exports import fit_model

shap = pytest.importorskip("shap", reason="trees for shap are read by shap")


def put_outputs_last(values):
    """Order contributions as shap does: its outputs are the last axis."""
    return np.moveaxis(values, 1, 2) if values.ndim == 3 else values


@pytest.mark.parametrize("name", NAMES)
def test_shap_computes_the_contributions_that_mpboost_does(name):
    """Also with categories, of which sets become runs, with missing values, and with categories that are new."""
    model = fit_model(name)
    rows = make_rows(model, 60)
    explainer = shap.TreeExplainer(to_shap(model))
    found, own = explainer.shap_values(encode_rows(model, rows)), model.predict_contributions(rows)
    expected = put_outputs_last(own[..., :-1])
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.ravel(explainer.expected_value), np.ravel(own[0, ..., -1]), rtol=0, atol=1e-12)
    totals, raw = found.sum(axis=1) + explainer.expected_value, predict_raw(model, rows)
    np.testing.assert_allclose(totals.reshape(raw.shape), raw, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_shap_computes_the_contributions_against_a_background_that_mpboost_does(name):
    model = fit_model(name)
    # Rows at thresholds would change sides: shap uses single precision here, also in its sums.
    rows, background = (make_table(20, seed, has_categories=name.endswith("+"))[0] for seed in (5, 6))
    explainer = shap.TreeExplainer(to_shap(model), encode_rows(model, background))
    found = explainer.shap_values(encode_rows(model, rows), check_additivity=False)
    own = model.predict_contributions(rows, background=background)
    expected = put_outputs_last(own[..., :-1])
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.ravel(explainer.expected_value), np.ravel(own[0, ..., -1]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["two classes +", "many classes", "numbers", "gradient, two classes +"])
def test_shap_computes_the_interactions_that_mpboost_does(name):
    model = fit_model(name)
    rows = make_rows(model, 20)
    found = shap.TreeExplainer(to_shap(model)).shap_interaction_values(encode_rows(model, rows))
    expected = model.predict_interactions(rows)[..., :-1, :-1]
    expected = np.moveaxis(expected, 1, 3) if expected.ndim == 4 else expected
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-12)


def test_shap_expects_the_mean_over_the_training_rows_of_trees():
    """The expected value is the mean of leaves by their covers."""
    model = fit_model("gradient, squared error")
    expected = shap.TreeExplainer(to_shap(model)).expected_value
    X, _ = make_table(400, 0, has_categories=False)
    assert np.abs(expected - model.predict(X).mean()).max() < 0.3 * model.predict(X).std()


def test_sets_of_categories_that_would_need_too_many_nodes_are_refused(monkeypatch):
    model = fit_model("numbers +")
    largest = max(len(tree["features"]) for tree in to_shap(model)["trees"])
    monkeypatch.setattr(shap_trees, "MAX_NODES", 25 * largest)
    to_shap(model)
    monkeypatch.setattr(shap_trees, "MAX_NODES", 25 * largest - 1)
    with pytest.raises(ValueError, match=rf"25 trees would have {largest} nodes.*as_explanation=True"):
        to_shap(model)
    to_shap(fit_model("numbers"))
