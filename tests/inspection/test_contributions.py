"""Contributions for people: which class, which rows, how values are written, how dots are spread."""

import numpy as np
import pytest

from mpboost.inspection.contributions import compute_explained, spread_dots
from tests.support.explained import fit_kind, make_table

ALL = {"row": None, "class_label": None, "background": None, "max_rows": 1000}


def test_contributions_of_the_first_of_two_classes_are_the_opposite():
    for kind in ("two classes", "gradient, two classes"):
        model, X = fit_kind(kind)
        no, yes = (compute_explained(model, X, **(ALL | {"class_label": label})) for label in ("no", "yes"))
        np.testing.assert_allclose(no.values, -yes.values)
        outputs = [each.values.sum(axis=1) + each.expected for each in (no, yes)]
        if kind == "two classes":
            np.testing.assert_allclose(np.column_stack(outputs), model.predict_vote_share(X), atol=1e-12)
        else:
            np.testing.assert_allclose(outputs[0], -model.decision_function(X), atol=1e-12)
    assert (no.quantity, yes.quantity) == ("log odds of no", "log odds of yes")


def test_contributions_of_a_row_are_those_to_its_likeliest_class():
    model, X = fit_kind("many classes")
    shares = model.predict_vote_share(X)
    for row in (0, 7, -1):
        found = compute_explained(model, X, **(ALL | {"row": row}))
        assert len(found) == 1
        assert found.values.sum() + found.expected[0] == pytest.approx(shares[row].max())
    assert found.quantity == f"share of votes for {shares[-1].argmax()}"


def test_contributions_are_of_a_sample_if_there_are_many_rows():
    model, X = fit_kind("numbers")
    found = compute_explained(model, X, **(ALL | {"max_rows": 20}))
    assert len(found) == 20
    assert found.quantity == "prediction"


def test_values_are_written_as_people_know_them():
    model, _ = fit_kind("numbers")
    X = make_table(3)
    X["age"] = [0.0, 1.5, -2.25]
    X.loc[0, "age"], X.loc[0, "colour"], X.loc[1, "colour"] = np.nan, "green", None
    found = compute_explained(model, X, **ALL)
    assert [found.show(0, 0), found.show(0, 4), found.show(1, 4)] == ["missing", "green", "missing"]
    assert found.show(2, 0) == "-2.25"
    assert np.isnan(found.rank_values(4)).all()  # categories have no order
    assert found.rank_values(0)[1:].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("numbers", {"class_label": 1}, "for classifiers"),
        ("two classes", {"class_label": "maybe"}, "no class 'maybe'. There are no, yes"),
        ("many classes", {}, "choose one of them, class_label=0, say"),
        ("numbers", {"row": 150}, "no row 150: X has 150 rows"),
        ("numbers", {"row": 1.5}, "no row 1.5: X has 150 rows"),
        ("numbers", {"row": "a"}, "no row 'a': X has 150 rows"),
    ],
)
def test_contributions_refuse_classes_and_rows_that_there_are_not(kind, options, message):
    model, X = fit_kind(kind)
    with pytest.raises(ValueError, match=message):
        compute_explained(model, X, **(ALL | options))


def test_dots_are_spread_where_they_are_dense():
    places = np.concatenate([np.full(9, 0.5), [0.0, 1.0]])
    offsets = spread_dots(places, 1.0)
    assert len(set(offsets[:9])) == 9
    assert np.abs(offsets).max() == 1.0
    assert offsets[9:].tolist() == [0.0, 0.0]
    assert len(spread_dots(places[:0], 1.0)) == 0
