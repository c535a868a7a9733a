"""The section on contributions of features says what the model does."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import mpboost
from mpboost.inspection.judgement import judge
from tests.support.reported import TASKS, fit


@pytest.mark.parametrize("task", TASKS)
def test_summary_has_the_largest_contributions(models, data, reports, task):
    model, X, y = models[task], data[task][1], data[task][2]
    summary = reports[task].dict()["contributions"]
    found = model.predict_contributions(X)
    if found.ndim == 3:
        found = found[:, np.bincount(model._targets).argmax()]
    assert summary["expected"] == pytest.approx(found[0, -1])
    assert summary["n_rows"] == 160
    assert len(summary["features"]) == 8
    sizes = [each["size"] for each in summary["features"]]
    assert sizes == sorted(sizes, reverse=True)
    for each in summary["features"]:
        assert len(each["contributions"]) == len(each["offsets"]) == len(each["colours"]) == 160
        assert any(
            np.isin(np.round(each["contributions"], 8), np.round(simplified, 8)).all()
            for simplified in ([float(f"{value:.4g}") for value in column] for column in found.T)
        )
    assert len(y) >= 160


@pytest.mark.parametrize("task", TASKS)
def test_reasons_are_those_of_the_label_that_a_row_has(models, data, reports, task):
    model, X = models[task], data[task][1]
    listed, judgement = reports[task].dict()["contributions"]["rows"], judge(model)
    hardest = judgement.rows[np.argsort(-judgement.difficulty, kind="stable")[:3]]
    assert set(hardest) <= {each["row"] for each in listed}
    found = model.predict_contributions(X)
    for each in listed:
        values = found[each["row"]]
        if hasattr(model, "classes_"):
            code = int(np.flatnonzero(model.classes_ == each["given"])[0])
            values = values[code] if found.ndim == 3 else values if code else -values
        values = values[:-1]
        for reasons, sign in ((each["for"], 1), (each["against"], -1)):
            assert len(reasons) <= 3
            if reasons:
                assert reasons[0]["contribution"] == pytest.approx(sign * (sign * values).max())
            assert all(sign * reason["contribution"] > 0 for reason in reasons)


@pytest.mark.parametrize("task", TASKS)
def test_page_draws_dots_and_lists_reasons(reports, task):
    page = reports[task].html()
    section = page[page.index('<section id="contributions">') :]
    section = section[: section.index("</section>")]
    assert section.count('<svg class="chart"') == 2
    assert section.count("<circle") == 2 * 8 * 160
    assert ("for the label" in section) == ("numbers" not in task)


def test_categories_and_missing_values_are_named_and_grey(nasty):
    model, X, y = nasty
    report = mpboost.report(model, X, y)
    features = {each["name"]: each for each in report.dict()["contributions"]["features"]}
    assert {None} == set(features[X.columns[1]]["colours"])  # a category
    assert {"value-unknown", "value-0", "value-4"} <= set(report.html().replace('"', " ").split())


def test_models_that_cannot_tell_contributions_have_no_such_section(data):
    _, X, y = data["two classes"]
    model = fit(mpboost.MPBoostClassifier, X, y, n_estimators=3, estimator=DecisionTreeClassifier(max_depth=2))
    report = mpboost.report(model, X, y)
    assert report.dict()["contributions"] is None
    assert 'id="contributions"' not in report.html()
    assert "#contributions" not in report.html().split("<main>")[0].split("<nav")[1]


def test_new_rows_are_explained(models, data):
    model, (_, X, y) = models["numbers"], data["numbers"]
    summary = mpboost.report(model, X[:30], y[:30]).dict()
    assert summary["contributions"]["n_rows"] == 30
    assert {each["row"] for each in summary["contributions"]["rows"]} <= set(range(30))
