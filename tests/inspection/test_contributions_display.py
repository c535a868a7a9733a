"""The displays of contributions: a waterfall for one row, dots for many."""

import numpy as np
import pytest

from mpboost import ContributionsDisplay
from tests.support.explained import fit_kind
from tests.support.pictures import assert_apart, draw, read_boxes


@pytest.mark.parametrize("n_features", [2, 5, 10])
def test_waterfall_leads_from_the_expected_output_to_that_of_the_row(n_features):
    model, X = fit_kind("numbers")
    display = ContributionsDisplay.from_estimator(model, X, row=4, n_features=n_features)
    draw(display)
    bars = display.ax_.patches
    ends = np.array([sorted((bar.get_x(), bar.get_x() + bar.get_width())) for bar in bars])
    contributions = model.predict_contributions(X)[4]
    output, expected = contributions.sum(), contributions[-1]
    assert np.isclose(ends[0], output).any()
    assert np.isclose(ends[-1], expected).any()
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len(names) == len(bars) == (3 if n_features == 2 else 5)
    assert ("3 other features" in names) == (n_features == 2)
    largest = np.abs(contributions[:-1]).argmax()
    assert names[0].startswith(f"{X.columns[largest]} = ")
    assert_apart(read_boxes(display.ax_.get_yticklabels()))
    assert display.ax_.get_xlabel() == "prediction"


def test_waterfall_of_a_row_without_votes_ends_at_zero():
    model, X = fit_kind("two classes")
    shares, sums = model.predict_vote_share(X)[:, 1], model.predict_contributions(X).sum(axis=1)
    row = np.flatnonzero((shares == 0) & (sums != 0))[0]  # rounding leaves a little
    display = ContributionsDisplay.from_estimator(model, X, row=row, class_label="yes")
    assert display.ax_.get_title().startswith("0, expected 0.")


def test_dots_are_at_the_contributions_of_each_feature():
    model, X = fit_kind("many classes")
    display = ContributionsDisplay.from_estimator(model, X, class_label=2, n_features=3)
    draw(display)
    contributions = model.predict_contributions(X)[:, 2, :-1]
    ranked = np.argsort(-np.abs(contributions).mean(axis=0))[:3]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == X.columns[ranked].tolist()
    dots = np.concatenate([dots.get_offsets() for dots in display.ax_.collections])
    for place, feature in enumerate(ranked):
        drawn = dots[np.abs(dots[:, 1] + place) < 0.5, 0]
        np.testing.assert_allclose(np.sort(drawn), np.sort(contributions[:, feature]))
    assert display.ax_.get_xlabel() == "contribution to the share of votes for 2"


def test_display_draws_on_given_axes_and_refuses_nonsense():
    import matplotlib.pyplot as plt

    model, X = fit_kind("gradient, two classes")
    _, axes = plt.subplots()
    assert ContributionsDisplay.from_estimator(model, X, row=0, ax=axes, background=X[:9]).ax_ is axes
    with pytest.raises(ValueError, match="at least 1"):
        ContributionsDisplay.from_estimator(model, X, n_features=0)
    with pytest.raises(ValueError, match="from_estimator"):
        ContributionsDisplay(np.zeros((3, 4)))
