"""The section on tests of features shows what infer_features found, and is left out without it."""

import numpy as np
import pytest

import mpboost
from mpboost.inspection.feature_inference import FeatureInference, adjust_p_values


@pytest.fixture(scope="module")
def inference():
    importance, p_value = np.array([0.02, 0.3, -0.1]), np.array([0.2, 0.0, 0.9])
    bounds = importance - 0.05, importance + 0.05
    names = "plain", "<b>odd</b>", "third"
    errors, adjusted = np.full(3, 0.025), adjust_p_values(p_value)
    return FeatureInference(names, importance, errors, *bounds, p_value, adjusted, 0.9, "R^2", 700, 400)


def make_report(models, data, **options):
    return mpboost.report(models["numbers"], *data["numbers"][1:], **options)


def test_summary_lists_the_most_significant_features(models, data, inference):
    found = make_report(models, data, inference=inference, n_features=2).dict()["inference"]
    assert [(each["rank"], each["name"], each["is_clear"]) for each in found["ranking"]] == [
        (1, "<b>odd</b>", True),
        (2, "plain", False),
    ]
    assert (found["n_clear"], found["n_features"], found["n_learners"], found["n_rows"]) == (1, 3, 700, 400)
    assert found["range"] == pytest.approx([-0.03, 0.35])
    assert found["ranking"][0]["adjusted_p_value"] == 0.0


def test_page_shows_intervals_and_escapes_names(models, data, inference):
    page = make_report(models, data, inference=inference).html()
    section = page[page.index('<section id="inference">') : page.index('<section id="effects">')]
    assert section.count("interval-dot") == 3
    assert section.count("unclear") == 2
    assert "&lt;b&gt;odd&lt;/b&gt;" in section
    assert "<b>odd" not in section
    assert "90\N{NO-BREAK SPACE}% confidence" in section.replace("&nbsp;", "\N{NO-BREAK SPACE}")
    assert "&lt; 0.0001" in section
    # The widest range is from -0.15 to 0.35: zero is at 30 %, the interval of the first from 80 to 100 %.
    assert 'style="left:80.0%;width:20.0%"' in section
    assert section.count('class="bar-mark" style="left:30.0%"') == 3
    assert '<a href="#inference">' in page


def test_page_has_no_section_without_inference(models, data):
    report = make_report(models, data)
    assert report.dict()["inference"] is None
    assert "#inference" not in report.html()


def test_report_refuses_what_is_no_inference(models, data):
    with pytest.raises(TypeError, match="from infer_features, not dict"):
        make_report(models, data, inference={})
