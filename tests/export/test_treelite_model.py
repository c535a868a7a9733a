"""Models of treelite, held to ``predict``."""

import numpy as np
import pytest

from benchmarks.export.subjects import NAMES, make_rows, predict_raw
from mpboost.export import encode_rows, to_treelite
from tests.support.exports import fit_model

treelite = pytest.importorskip("treelite", reason="models of treelite are made by treelite")


def run(model, rows):
    return treelite.gtil.predict(to_treelite(model), encode_rows(model, rows), nthread=1)[:, 0, :]


@pytest.mark.parametrize("name", NAMES)
def test_treelite_agrees_with_predict(name):
    model = fit_model(name)
    rows = make_rows(model, 3000)
    results = run(model, rows)
    if not hasattr(model, "classes_"):
        np.testing.assert_allclose(results[:, 0], model.predict(rows), rtol=1e-14)
    elif hasattr(model, "baseline_"):
        expected = model.predict_proba(rows)
        # Treelite computes its softmax in single precision.
        np.testing.assert_allclose(results, expected if expected.shape[1] > 2 else expected[:, 1:], atol=1e-7)
    else:
        np.testing.assert_array_equal(results, predict_raw(model, rows))


@pytest.mark.parametrize("name", ["two classes", "many classes +"])
def test_treelite_predicts_shares_of_votes(name):
    model = fit_model(name)
    rows = make_rows(model, 500)
    shares = model.predict_vote_share(rows)
    np.testing.assert_array_equal(run(model, rows), shares if shares.shape[1] > 2 else shares[:, 1:])
