"""The commands report, issues and info."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pytest

import mpboost
from mpboost import load_model, read_table
from tests.support.customers import make_customers, write_text


@pytest.fixture
def pages(monkeypatch):
    """What the report is made of, in place of the report itself."""
    made = []

    class Page:
        def __init__(self, model, X, y, **options):
            made.append((model, X, y, options))

        def save(self, path, force=False):
            path.write_text("a page")

        def dict(self):
            model, _, y, _ = made[-1]
            return {"about": {"is_training": len(y) == len(model.observation_probabilities_)}}

    monkeypatch.setattr("mpboost.reporting.page.report", Page, raising=False)
    return made


def test_report_is_made_of_the_table(run, trained, folder, pages):
    result = run("report", "model.mpb", "customers.csv")
    ((model, X, y, options),) = pages
    assert X.column_names == model.feature_names_in_.tolist()
    assert y.tolist() == make_customers()["churned"].to_pylist()
    assert options == {"title": "churned in customers.csv", "image_shape": None}
    assert (folder / "report.html").read_text() == "a page"
    assert str(folder / "report.html") in result.stdout
    assert "200 rows of the training table" in result.stdout


def test_report_takes_new_data(run, trained, folder, pages):
    write_text(make_customers(40, seed=1), folder / "new.csv")
    assert "40 rows of new data" in run("report", "model.mpb", "new.csv").stdout
    facts = json.loads(run("report", "model.mpb", "new.csv", "--json", "--force").stdout)
    assert (facts["rows"], facts["is_training"]) == (40, False)


def test_report_takes_options(run, trained, folder, pages):
    (folder / "page.html").write_text("old")
    command = (
        "report",
        "model.mpb",
        "customers.csv",
        "-o",
        "page.html",
        "--title",
        "Customers",
        "--image-shape",
        "2x5",
    )
    facts = json.loads(run(*command, "--target", "churned", "--title", "Customers", "--force", "--json").stdout)
    assert facts["report"] == "page.html"
    assert pages[0][3] == {"title": "Customers", "image_shape": (2, 5)}
    assert (folder / "page.html").read_text() == "a page"


def test_report_must_be_a_page(run, trained):
    assert "must end in .htm, .html" in run("report", "model.mpb", "customers.csv", "-o", "a.pdf", code=1).stderr


@pytest.mark.parametrize(
    ("target", "other", "words"),
    [
        ("churned", "plan", "is missing in "),
        ("churned", "currency", "contains classes unknown to the model: ['EUR']"),
        ("churned", "chuned", "did you mean 'churned'?"),
        ("spend", "churned", "contains text, but the model predicts numbers"),
    ],
)
def test_report_says_what_is_wrong_with_the_target(run, fit, pages, target, other, words):
    fit(target=target)
    assert words in run("report", "model.mpb", "customers.csv", "--target", other, code=1).stderr


@pytest.mark.parametrize("command", ["report", "issues"])
def test_models_from_python_need_a_target(run, folder, pages, command):
    X = make_customers().select(["age", "calls"])
    model = mpboost.MPBoostClassifier(n_estimators=5).fit(X, np.array(make_customers()["churned"]))
    mpboost.save_model(model, folder / "python.mpb")
    assert "--target" in run(command, "python.mpb", "customers.csv", code=2).stderr
    run(command, "python.mpb", "customers.csv", "--target", "churned")


@pytest.fixture
def wrong(folder):
    """Two customers of whom it is clear that their labels are wrong, in a table."""
    table = make_customers()
    calls, labels = np.array(table["calls"]), np.array(table["churned"].to_pylist())
    rows = [int(np.argmax(calls == 8)), int(np.argmax((calls == 0) & (labels == "no")))]
    labels[rows] = ["no", "yes"]
    write_text(table.set_column(table.column_names.index("churned"), "churned", [labels]), folder / "wrong.csv")
    return dict(zip(rows, labels[rows].tolist(), strict=True))


def test_issues_finds_wrong_labels(run, fit, wrong):
    fit("wrong.csv", "--set", "n_estimators=100")
    facts = json.loads(run("issues", "model.mpb", "wrong.csv", "-n", "2", "--json").stdout)
    assert {issue["row"]: issue["given"] for issue in facts["issues"]} == wrong
    assert all(issue["suggested"] != issue["given"] for issue in facts["issues"])
    words = run("issues", "model.mpb", "wrong.csv", "-n", "2").stdout
    assert "churned suggested" in words
    assert "calls" in words.splitlines()[2]  # the most useful column is shown


def test_issues_shows_and_writes_what_is_asked_for(run, trained, folder):
    command = ("issues", "model.mpb", "customers.csv", "-n", "40", "--columns", "customer,age", "-o", "suspects.csv")
    words = run(*command).stdout
    suspects = read_table(folder / "suspects.csv", frame="pyarrow")
    assert suspects.column_names == ["row", "difficulty", "given", "suggested", "customer", "age"]
    table = make_customers()
    assert suspects["customer"].to_pylist() == table["customer"].take(suspects["row"]).to_pylist()
    assert suspects.num_rows == 40
    assert "and 10 more" in words


def test_issues_of_numbers(run, fit):
    fit(target="spend")
    facts = json.loads(run("issues", "model.mpb", "customers.csv", "-n", "3", "--json").stdout)
    spend = make_customers()["spend"].to_pylist()
    assert [issue["given"] for issue in facts["issues"]] == [spend[issue["row"]] for issue in facts["issues"]]


def test_issues_needs_the_training_table(run, trained, folder):
    table = make_customers()
    write_text(table.slice(0, 100), folder / "half.csv")
    write_text(table.take(pa.array(np.arange(200)[::-1])), folder / "turned.csv")
    for name in ("half.csv", "turned.csv"):
        words = run("issues", "model.mpb", name, code=1).stderr
        assert f"{name} is not the table that the model was trained on (200 rows)" in words
        assert "use mpboost evaluate" in words


def test_warnings_become_notes(run, fit, folder):
    fit("customers.csv", "--preset", "gradient", "--set", "n_models=1")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("issues", "model.mpb", "customers.csv", "--json")
    n_judged = np.count_nonzero(~np.isnan(load_model(folder / "model.mpb").observation_difficulty_))
    assert f"Note: Only the {n_judged} rows" in result.stderr
    json.loads(result.stdout)
