"""The section on effects of features says what the model does."""

import re

import numpy as np
import pytest

import mpboost
from mpboost.inspection.effects import EffectCurve, FeatureEffect, compute_effects
from mpboost.reporting.effect_charts import draw_effect
from mpboost.reporting.effects import describe, summarise_effects
from tests.support.reported import TASKS, fit


@pytest.fixture(scope="module")
def frame():
    """A model of a frame with numbers, many categories and missing values."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"calls": rng.poisson(3, 400), "town": rng.choice([f"town {k}" for k in range(15)], 400)})
    y = np.where(X["calls"] + 3 * (X["town"] == "town 3") + rng.normal(size=400) > 3, "yes", "no")
    X.loc[::9, "town"] = None
    return fit(mpboost.MPGradientBoostingClassifier, X, y, n_estimators=100), X, y


@pytest.mark.parametrize("task", TASKS)
def test_summary_has_the_effects_of_the_likeliest_features(models, data, reports, task):
    model, X = models[task], data[task][1]
    effects = reports[task].dict()["effects"]
    expected = compute_effects(model, X, n_features=9, max_rows=256)
    assert effects["n_rows"] == 256
    assert len(effects["features"]) == 9
    for found, effect in zip(effects["features"], expected, strict=True):
        assert found["values"] == list(effect.values)
        assert [each["means"] for each in found["curves"]] == [
            pytest.approx(curve.means, rel=1e-4) for curve in effect.curves
        ]
    names = [each["name"] for each in reports[task].dict()["features"]["ranking"]]
    assert [each["name"] for each in effects["features"]] == names[:9]


@pytest.mark.parametrize("task", TASKS)
def test_page_shows_a_chart_and_a_sentence_for_each_feature(reports, task):
    page = reports[task].html()
    section = page[page.index('<section id="effects">') : page.index('<section id="rows">')]
    assert section.count('<svg class="chart"') == 9
    assert section.count('class="curve class-0"') == 9
    assert ("effect-legend" in section) == ("many" in task or task == "gradients of classes")
    assert ('class="band"' in section) == ("effect-legend" not in section)
    for each in reports[task].dict()["effects"]["features"]:
        assert each["sentence"] in section


def test_range_holds_all_that_is_drawn(reports):
    effects = reports["numbers"].dict()["effects"]
    curves = [curve for each in effects["features"] for curve in each["curves"]]
    bounds = min(min(curve["low"]) for curve in curves), max(max(curve["high"]) for curve in curves)
    assert effects["range"] == pytest.approx(bounds, rel=1e-4)


def test_categories_are_the_ten_most_frequent_and_missing_ones(frame):
    model, X, _ = frame
    effects = summarise_effects(model, X, list(X.columns))
    town = next(each for each in effects["features"] if each["name"] == "town")
    assert len(town["values"]) == len(town["shares"]) == len(town["curves"][0]["means"]) == 11
    assert town["values"][-1] is None
    assert "highest for town 3" in town["sentence"]
    assert "of the 10 most frequent categories" in town["sentence"]
    assert "Missing values: 0." in town["sentence"]


def test_categories_are_drawn_from_the_highest_to_the_lowest(frame):
    model, X, _ = frame
    effects = summarise_effects(model, X, list(X.columns))
    town = next(each for each in effects["features"] if each["name"] == "town")
    svg = draw_effect(town, effects["range"])
    labels = re.findall(r'text-anchor="end" class="">([^<]*)</text>', svg)
    ranked = [town["values"][k] for k in np.argsort(-np.array(town["curves"][0]["means"]), kind="stable")]
    assert labels == ["missing" if value is None else value for value in ranked]


def test_chart_marks_missing_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0].copy()
    model = fit(mpboost.MPBoostRegressor, X, y)
    X[::4, 0] = np.nan
    effects = summarise_effects(model, X, ["a", "b"])
    for each in effects["features"]:
        assert (">missing</text>" in draw_effect(each, effects["range"])) == (each["name"] == "a")


def make_effect(direction, means, values=(1, 2, 3), kind="number", label="yes"):
    means = np.array(means, dtype=float)
    quantity = "prediction" if label is None else f"probability of {label}"
    curve = EffectCurve(label, quantity, means, means, means, direction)
    return FeatureEffect(0, "x", kind, values, np.full(len(means), 1 / len(means)), (curve,)), curve


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (make_effect("rises", [0.2, 0.5, 0.8]), "Higher values raise the probability of yes from 0.20 to 0.80."),
        (make_effect("falls", [0.8, 0.5, 0.001]), "Higher values lower the probability of yes from 0.80 to 0.001."),
        (
            make_effect("rises then falls", [0.2, 0.8, 0.4]),
            "The probability of yes rises from 0.20 to 0.80 at 2, then falls to 0.40.",
        ),
        (
            make_effect("falls then rises", [12.5, -3.25, 4], label=None),
            "The prediction falls from 12.5 to \N{MINUS SIGN}3.25 at 2, then rises to 4.",
        ),
        (make_effect("mixed", [0.2, 0.8, 0.4]), "The probability of yes goes up and down between 0.20 and 0.80."),
        (make_effect("flat", [0.5, 0.51, 0.5]), "On average it hardly changes the probability of yes: 0.50 to 0.51."),
        (
            make_effect("differs", [0.2, 0.8, 0.4], ("a", "b", None), "category"),
            "The probability of yes is lowest for a (0.20) and highest for b (0.80). Missing values: 0.40.",
        ),
        (make_effect("flat", [0.2], (None,)), "All values are missing."),
    ],
    ids=["rises", "falls", "peak", "valley", "mixed", "flat", "categories", "missing"],
)
def test_sentence_tells_the_direction(given, sentence):
    assert describe(*given) == sentence


def test_sentence_is_about_the_class_that_changes_most(reports):
    for each in reports["many classes"].dict()["effects"]["features"]:
        most = max(each["curves"], key=lambda curve: np.ptp(curve["means"]))
        assert most["quantity"] in each["sentence"]


def test_names_cannot_break_the_page(nasty):
    page = mpboost.report(*nasty).html()
    section = page[page.index('<section id="effects">') : page.index('<section id="rows">')]
    assert "<script" not in section
    assert "<img" not in section
    assert "&lt;/script&gt;" in section
