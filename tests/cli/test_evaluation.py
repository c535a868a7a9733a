"""The command evaluate."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

pytest.importorskip("typer", reason="the command line needs typer")

from mpboost import load_model
from mpboost.cli.features import make_model_features
from mpboost.table_files.options import ReadingOptions
from mpboost.table_files.reading import read_files
from tests.support.customers import make_customers, write_text


@pytest.fixture
def new(folder):
    """New customers, in a table."""
    table = make_customers(120, seed=7)
    write_text(table, folder / "new.csv")
    return table


def test_evaluate_tells_the_scores_of_new_rows(run, trained, folder, new):
    facts = json.loads(run("evaluate", "model.mpb", "new.csv", "--json").stdout)
    model = load_model(folder / "model.mpb")
    assert (facts["rows"], facts["is_training"], facts["target"]) == (120, False, "churned")
    assert facts["scores"]["accuracy"]["oop_value"] == model.oop_score_
    assert 0.8 < facts["scores"]["accuracy"]["value"] <= 1
    assert np.sum(facts["confusion"]) == 120
    words = run("evaluate", "model.mpb", "new.csv").stdout
    for said in ("new data (the model was trained on 200 rows)", "ROC AUC", "out-of-patch", "Confusion", "→ yes"):
        assert said in words
    assert "Smaller is better: log loss and Brier score." in words
    assert f"{facts['scores']['accuracy']['value']:.4f}" in words


def test_evaluate_warns_on_the_training_table(run, trained):
    result = run("evaluate", "model.mpb", "customers.csv")
    assert "200 rows: the training table" in result.stdout
    assert "their scores are too good" in result.stderr
    assert json.loads(run("evaluate", "model.mpb", "customers.csv", "--json").stdout)["is_training"]


def test_evaluate_shows_residuals_of_numbers(run, fit, folder, new):
    fit(target="spend")
    words = run("evaluate", "model.mpb", "new.csv").stdout
    assert "Residuals" in words
    assert "upper quartile" in words
    facts = json.loads(run("evaluate", "model.mpb", "new.csv", "--json").stdout)
    model, reading = load_model(folder / "model.mpb"), read_files("new.csv", ReadingOptions())
    errors = np.array(reading.table["spend"]) - model.predict(make_model_features(reading, model))
    assert facts["residuals"]["median"] == pytest.approx(np.median(errors))


def test_evaluate_shows_the_most_frequent_mistakes_of_many_classes(run, fit, folder):
    digits = load_digits()
    np.savez(folder / "train.npz", X=digits.data[:300], y=digits.target[:300])
    np.savez(folder / "new.npz", X=digits.data[300:500], y=digits.target[300:500])
    fit("train.npz", target=None)
    words = run("evaluate", "model.mpb", "new.npz").stdout
    facts = json.loads(run("evaluate", "model.mpb", "new.npz", "--json").stdout)
    n_wrong = 200 - np.trace(facts["confusion"])
    assert f"{n_wrong} rows wrong" in words
    assert "share of class" in words
    assert facts["mistakes"][0]["rows"] == (np.array(facts["confusion"]) * (1 - np.eye(10))).max()


def test_evaluate_says_why_a_score_is_left_out(run, trained, folder, new):
    write_text(new.filter(np.array(new["churned"]) == "no"), folder / "stayed.csv")
    words = run("evaluate", "model.mpb", "stayed.csv").stdout
    assert "Left out: ROC AUC needs rows of both classes, but there are none of yes." in words
    assert "no rows" in words


def test_evaluate_is_quiet_if_asked(run, trained):
    result = run("evaluate", "model.mpb", "customers.csv", "--quiet")
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize(
    ("target", "words"),
    [("plan", "is missing in "), ("currency", "classes unknown to the model: ['EUR']"), ("chuned", "did you mean")],
)
def test_evaluate_says_what_is_wrong_with_the_target(run, trained, target, words):
    assert words in run("evaluate", "model.mpb", "customers.csv", "--target", target, code=1).stderr


def test_evaluate_needs_the_target(run, trained, folder, new):
    write_text(new.drop_columns(["churned"]), folder / "bare.csv")
    assert "has no column 'churned'" in run("evaluate", "model.mpb", "bare.csv", code=1).stderr
