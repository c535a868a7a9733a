"""Trees for shap: its values must add up to predictions."""

import numpy as np
import pytest

from benchmarks.export.subjects import RECIPES, make_rows, make_table, predict_raw
from mpboost.export import to_shap
from tests.support.exports import fit_model

shap = pytest.importorskip("shap", reason="trees for shap are read by shap")


@pytest.mark.parametrize("name", RECIPES)
def test_shap_values_add_up_to_predictions(name):
    model = fit_model(name)
    rows = make_rows(model, 100)
    explainer = shap.TreeExplainer(to_shap(model))
    totals = explainer.shap_values(rows).sum(axis=1) + explainer.expected_value
    expected = predict_raw(model, rows)
    np.testing.assert_allclose(totals.reshape(expected.shape), expected, rtol=1e-10, atol=1e-10)


def test_shap_expects_the_mean_over_the_training_rows_of_trees():
    """The expected value is the mean of leaves by their covers."""
    model = fit_model("gradient, squared error")
    expected = shap.TreeExplainer(to_shap(model)).expected_value
    X, _ = make_table(400, 0, has_categories=False)
    assert np.abs(expected - model.predict(X).mean()).max() < 0.3 * model.predict(X).std()


def test_shap_explains_against_a_background():
    model = fit_model("gradient, two classes")
    rows, background = np.random.default_rng(0).normal(size=(2, 20, 5))
    explainer = shap.TreeExplainer(to_shap(model), background)
    totals = explainer.shap_values(rows).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(totals, model.decision_function(rows), atol=1e-6)  # shap uses single precision here


def test_shap_refuses_sets_of_categories():
    with pytest.raises(ValueError, match="sets of categories"):
        to_shap(fit_model("two classes +"))
