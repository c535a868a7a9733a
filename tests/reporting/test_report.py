"""The object that ``report`` gives: the page, the dict, the file, and what is refused."""

import json
import os
import re
import sys
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import mpboost
from tests.support.reported import TASKS, fit

each_task = pytest.mark.parametrize("task", TASKS)
SECTIONS = ["glance", "score", "features", "effects", "rows", "contributions", "settings"]


class Page(HTMLParser):
    """Reads a page: its elements, and whether each end belongs to a start."""

    VOID = ("meta", "img", "br")

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self._open = [], [], []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)

    def find(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@each_task
def test_page_has_all_sections_and_asks_for_nothing(reports, task):
    text = reports[task].html()
    page = Page(text)
    quality = ["residuals"] if "numbers" in task else ["ranking", "calibration", "confusion"]
    assert [section["id"] for section in page.find("section")] == [*SECTIONS[:-1], *quality, "settings"]
    assert "nan" not in " ".join(page.texts).lower().split()
    assert not re.search(r"https?://|@import|url\(", text)
    assert not [tag for tag, _ in page.elements if tag in ("link", "iframe", "object")]
    assert all(image["src"].startswith("data:image/png;base64,") for image in page.find("img"))
    assert len(page.find("svg")) >= 5


@each_task
def test_dict_is_plain_and_tells_the_score(reports, models, task):
    summary = reports[task].dict()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    low, high = summary["score"]["interval"]
    assert summary["score"]["oop"] == models[task].oop_score_
    assert low < summary["score"]["oop"] < high
    summary["score"]["oop"] = 7
    assert reports[task].dict()["score"]["oop"] != 7


def test_notebook_shows_a_page_of_its_own(reports):
    shown = reports["numbers"]._repr_html_()
    (frame,) = Page(shown).find("iframe")
    assert frame["srcdoc"] == reports["numbers"].html()
    assert frame["sandbox"] == "allow-scripts"


def test_page_escapes_what_comes_from_data(nasty):
    model, X, y = nasty
    text = mpboost.report(model, X, y, title="<h1>& 'title' \"").html()
    page = Page(text)
    assert len(page.find("script")) == 1
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert not page.find("b") or "yes & <b>no</b>" in " ".join(page.texts)
    assert "naïve ☃ 数" in text
    assert "{{ 7 * 7 }}" in unescape(text)
    assert "<h1>& 'title' \"" in page.texts
    assert X.columns[0] in unescape(text)


def test_page_runs_no_script_but_its_own(nasty):
    (policy,) = [meta["content"] for meta in Page(mpboost.report(*nasty).html()).find("meta") if "http-equiv" in meta]
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]+'", policy)
    assert "script-src 'unsafe" not in policy


def test_save_writes_the_page_and_never_over_another(reports, tmp_path):
    report, path = reports["numbers"], tmp_path / "page.html"
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.html()
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="force=True"):
        report.save(path)
    assert path.read_text() == "mine"
    report.save(path, force=True)
    assert path.read_text(encoding="utf-8") == report.html()
    assert os.listdir(tmp_path) == ["page.html"]


def test_save_that_fails_leaves_nothing(reports, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("mine")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        reports["numbers"].save(path, force=True)
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["page.html"]


def test_report_refuses_what_is_no_fitted_model(data):
    _, X, y = data["two classes"]
    with pytest.raises(NotFittedError):
        mpboost.report(mpboost.MPBoostClassifier(), X, y)
    with pytest.raises(TypeError, match="not LogisticRegression"):
        mpboost.report(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), X, y)


@each_task
def test_report_refuses_what_does_not_fit(models, data, task):
    _, X, y = data[task]
    model = models[task]
    for rows, targets in ((X[:7], y), (X, y[:7])):
        with pytest.raises(ValueError, match=f"X has {len(rows)} rows, but y has {len(targets)}"):
            mpboost.report(model, rows, targets)
    with pytest.raises(ValueError, match="X has 3 features"):
        mpboost.report(model, np.asarray(X)[:, :3], y)
    with pytest.raises(ValueError, match="image_shape"):
        mpboost.report(model, X, y, image_shape=(2, 3))


@each_task
def test_report_on_new_data_is_about_the_new_rows(models, data, task):
    _, X, y = data[task]
    model, n_new = models[task], len(y) // 3
    X_new, y_new = X[:n_new], y[:n_new]
    report = mpboost.report(model, X_new, y_new, title="New")
    summary, page = report.dict(), Page(report.html())
    about = {"is_training": False, "is_binned": False, "n_rows": n_new, "n_training_rows": len(y)}
    assert summary["about"] == about
    assert summary["data"]["n_rows"] == n_new
    evaluation = mpboost.evaluate(model, X_new, y_new).to_dict()
    measures = {each["name"]: each for each in summary["score"]["measures"]}
    for name, score in evaluation["scores"].items():
        assert {key: measures[name][key] for key in score} == score
    quality = ["residuals"] if "numbers" in task else ["ranking", "calibration", "confusion"]
    assert [section["id"] for section in page.find("section")] == [*SECTIONS[:-1], *quality, "settings"]
    assert "New data." in page.texts
    assert repr(report).endswith(f" on {n_new} new rows)")
    assert "nan" not in " ".join(page.texts).lower().split()


@each_task
def test_report_on_the_training_table_says_so(reports, task):
    page = Page(reports[task].html())
    assert "Training table." in page.texts
    assert "New data." not in page.texts


@each_task
def test_report_on_new_data_has_nothing_about_draws_and_suspect_labels(models, data, task):
    _, X, y = data[task]
    report = mpboost.report(models[task], X[:60], y[:60])
    observations = report.dict()["observations"]
    assert (observations["n_suspects"], observations["label_noise"], observations["points"]) == (None, None, None)
    assert all(row["row"] < 60 and not row["is_suspect"] for row in observations["hardest"])
    difficulties = [row["difficulty"] for row in observations["hardest"]]
    assert difficulties == sorted(difficulties, reverse=True)
    assert sum(observations["histogram"]["counts"]) == 60
    text = report.html()
    assert ">suspect</th>" not in text
    assert ">drawn</th>" not in text


def test_report_on_new_data_has_the_out_of_patch_estimate_beside(models, data):
    _, X, y = data["many classes"]
    new = mpboost.report(models["many classes"], X[:300], y[:300]).dict()
    trained = mpboost.report(models["many classes"], X, y).dict()
    assert new["oop_calibration"] == trained["calibration"]
    recalls = {each["name"]: each["recall"] for each in trained["confusion"]["classes"]}
    assert {each["name"]: each["oop_recall"] for each in new["confusion"]["classes"]} == recalls
    areas = {each["name"]: each["roc_auc"] for each in trained["ranking"]["curves"]}
    shared = [each for each in new["ranking"]["curves"] if each["name"] in areas]
    assert all(each["oop_roc_auc"] == areas[each["name"]] for each in shared)
    _, X, y = data["numbers"]
    new = mpboost.report(models["numbers"], X[:99], y[:99]).dict()
    trained = mpboost.report(models["numbers"], X, y).dict()
    assert new["oop_residuals"] == trained["residuals"]["quantiles"]
    assert new["oop_residuals"] != new["residuals"]["quantiles"]


def test_report_on_new_data_needs_no_out_of_patch_predictions(data):
    make, X, y = data["two classes"]
    model = fit(make, X[:300], y[:300], max_samples=1.0, stopping=None, n_estimators=3)
    summary = mpboost.report(model, X[300:], y[300:]).dict()
    assert summary["score"]["measures"][0]["value"] > 0.8
    assert summary["score"]["measures"][0]["oop_value"] is None
    assert summary["confusion"]["classes"][0]["oop_recall"] is None
    assert "no out-of-patch score to compare with" in mpboost.report(model, X[300:], y[300:]).html()


def test_report_on_one_class_says_what_is_left_out(models, data):
    _, X, y = data["two classes"]
    report = mpboost.report(models["two classes"], X[y == 1], y[y == 1])
    assert report.dict()["ranking"] is None
    assert "left out: needs rows of both classes, but there are none of 0" in report.html()


def test_report_warns_of_new_rows_that_break_the_promise(models, data):
    _, X, y = data["numbers"]
    found = mpboost.report(models["numbers"], X[:200], y[:200] + 200.0).dict()["warnings"]
    assert found[0]["title"] == "The model is clearly worse on the new rows than it promised"
    easier = mpboost.report(models["numbers"], X[:200], models["numbers"].predict(X[:200])).dict()["warnings"]
    assert easier[0]["title"] == "The new rows are easier than the training rows"


def test_report_warns_of_columns_that_are_empty_in_the_new_table(models, data):
    _, X, y = data["two classes"]
    X = X[:100].assign(**{"mean area": np.nan, "mean radius": 1.0})
    titles = [each["title"] for each in mpboost.report(models["two classes"], X, y[:100]).dict()["warnings"]]
    assert "1 of 30 columns of the new table has no values" in titles


def test_report_says_what_to_install(reports, monkeypatch):
    from mpboost.reporting.rendering import make_environment

    make_environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'mpboost\[report\]'"):
        reports["numbers"].html()
    assert reports["numbers"].dict()["title"] == "MPBoostRegressor"


def test_report_of_a_model_from_a_file_is_the_same(models, data, tmp_path):
    _, X, y = data["many classes"]
    mpboost.save_model(models["many classes"], tmp_path / "model")
    first, second = (
        mpboost.report(model, X, y).dict() for model in (models["many classes"], mpboost.load_model(tmp_path / "model"))
    )
    for changing in ("timings", "made"):
        del first[changing], second[changing]
    assert first == second


def test_report_without_out_of_patch_score_says_so(data):
    make, X, y = data["two classes"]
    report = mpboost.report(fit(make, X, y, max_samples=1.0, stopping=None, n_estimators=3), X, y)
    summary = report.dict()
    assert (summary["score"]["oop"], summary["calibration"], summary["confusion"]) == (None, None, None)
    assert summary["warnings"][0]["title"] == "There is no out-of-patch score"
    assert "nothing" in [section["id"] for section in Page(report.html()).find("section")]
    assert repr(report) == "Report('MPBoostClassifier', no out-of-patch score)"


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "sparse", "list"])
def test_report_takes_any_table(kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, size=(60, 3)).astype(float), rng.integers(0, 2, size=60)
    X[:, 2] = 0.0
    names = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame(names)
    elif kind == "pyarrow":
        table = pytest.importorskip("pyarrow").table(names)
    elif kind == "sparse":
        from scipy.sparse import csr_array

        table = csr_array(X)
    else:
        table = X.tolist()
    summary = mpboost.report(fit(mpboost.MPBoostClassifier, table, y, n_estimators=5), table, y).dict()
    assert summary["data"]["n_constant"] == 1
    hardest, first = summary["observations"]["hardest"][0], summary["observations"]["value_names"][0]
    column = "abc".index(first) if first in names else int(first.split()[1])
    assert hardest["values"][0] == X[hardest["row"], column]


def test_report_takes_dates_as_the_model_does():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=90), "day": pd.date_range("2024-01-01", periods=90, freq="3D")})
    model = mpboost.MPGradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, X["day"].dt.month)
    for rows in (slice(None), slice(0, 60)):
        features = mpboost.report(model, X[rows], X["day"].dt.month[rows]).dict()["features"]
        assert {each["name"] for each in features["ranking"]} == {"x", "day:days", "day:month", "day:weekday"}


def test_report_on_a_dataset_is_that_on_the_table_but_for_values(data):
    make, X, y = data["two classes"]
    X = X.assign(colour=np.where(X["mean radius"] > 14, "red", "green"))
    dataset = mpboost.BinnedDataset.from_arrays(X, y)
    model = make(n_estimators=30, random_state=0).fit(dataset)
    page, expected = mpboost.report(model, dataset), mpboost.report(model, X, y)
    found, wanted = page.dict(), expected.dict()
    assert found["about"]["is_binned"]
    assert not wanted["about"]["is_binned"]
    for name in ("data", "score", "features", "calibration", "ranking", "confusion"):
        assert found[name] == wanted[name]
    for row, other in zip(found["observations"]["hardest"], wanted["observations"]["hardest"], strict=True):
        assert {**row, "values": None} == {**other, "values": None}
        assert all(isinstance(value, str) for value in row["values"])
    for one, other in zip(found["effects"]["features"], wanted["effects"]["features"], strict=True):
        assert [curve["means"] for curve in one["curves"]] == [curve["means"] for curve in other["curves"]]
    assert "each point is the middle of a bin" in page.html()
    assert "so these are ranges" in page.html()
    assert "a dataset knows the bins" not in expected.html().lower()


def test_report_on_new_rows_of_a_dataset(data):
    make, X, y = data["gradients of numbers"]
    model = make(n_estimators=30, random_state=0).fit(X[:300], y[:300])
    new = mpboost.BinnedDataset.from_arrays(X[300:], y[300:], like=model)
    found, expected = mpboost.report(model, new).dict(), mpboost.report(model, X[300:], y[300:]).dict()
    assert found["about"] == {**expected["about"], "is_binned": True}
    assert found["score"] == expected["score"]
    assert found["residuals"] == expected["residuals"]


def test_report_on_a_dataset_shows_images_and_missing_values(data):
    _, X, y = data["many classes"]
    dataset = mpboost.BinnedDataset.from_arrays(np.where(X == 5, np.nan, X), y)
    model = mpboost.MPBoostClassifier(n_estimators=20, random_state=0).fit(dataset)
    found = mpboost.report(model, dataset, image_shape=(8, 8)).dict()
    assert found["data"]["missing"] == np.mean(X == 5)
    assert all(row["image"].startswith("data:image/png") for row in found["observations"]["hardest"])


def test_report_needs_targets_or_a_dataset_that_has_them(data):
    _, X, y = data["two classes"]
    model = mpboost.MPBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="the target y is None"):
        mpboost.report(model, X)
    with pytest.raises(ValueError, match="built without a target: pass y"):
        mpboost.report(model, mpboost.BinnedDataset.from_arrays(X, like=model))
    with pytest.raises(ValueError, match="build it with like="):
        mpboost.report(model, mpboost.BinnedDataset.from_arrays(X[:50], y[:50]))
