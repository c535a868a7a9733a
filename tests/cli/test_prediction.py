"""The command predict: the same from all kinds of files, and into all kinds of files."""

import io
import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from mpboost import MPBoostClassifier, load_model, read_table, save_model
from mpboost._threads import make_threads
from mpboost.cli import prediction
from mpboost.estimators import base
from mpboost.estimators.predictions import ClassPredictions
from tests.support.customers import WRITERS, make_customers


def read_predictions(path):
    return read_table(path, frame="pyarrow")["prediction"].to_pylist()


def test_predict_agrees_with_the_model(run, fit, folder):
    fit("customers.csv", target="spend")
    run("predict", "model.mpb", "customers.csv")
    model = load_model(folder / "model.mpb")
    predictions = np.array(read_predictions(folder / "predictions.csv"))
    spend = np.array(read_table(folder / "customers.csv", frame="pyarrow")["spend"])
    assert model.oop_score_ - 0.1 < 1 - np.var(spend - predictions) / np.var(spend) < 1


@pytest.mark.parametrize("name", WRITERS)
def test_predict_reads_all_kinds_of_tables_alike(run, trained, folder, name):
    new = make_customers(seed=1).drop_columns(["churned", "customer"])
    for file in ("customers.csv", name):
        WRITERS[file](new, folder / f"new-{file}")
        run("predict", "model.mpb", f"new-{file}", "-o", f"from-{file}.csv", "--force")
    expected = (folder / "from-customers.csv.csv").read_text()
    assert (folder / f"from-{name}.csv").read_text() == expected
    assert {"yes", "no"} <= set(read_predictions(folder / f"from-{name}.csv"))


def test_predict_reads_npz_as_csv(run, fit, folder):
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[::9, 1] = np.nan
    np.savez(folder / "points.npz", X=X, y=X[:, 0] > 0)
    np.savetxt(folder / "points.csv", X, delimiter=",", header="x0,x1,x2", comments="", fmt="%.17g")
    fit("points.npz", target=None)
    for name in ("points.npz", "points.csv"):
        run("predict", "model.mpb", name, "-o", f"{name}.csv")
    assert (folder / "points.npz.csv").read_text() == (folder / "points.csv.csv").read_text()


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.arrow", "out.feather"])
def test_predict_writes_all_kinds_of_tables(run, trained, folder, name):
    run("predict", "model.mpb", "customers.csv", "-o", "out.csv")
    run("predict", "model.mpb", "customers.csv", "-o", name, "--force")
    table = read_table(folder / name, frame="pyarrow")
    assert table.column_names == ["prediction", "probability:no", "probability:yes"]
    assert table.to_pydict() == read_table(folder / "out.csv", frame="pyarrow").to_pydict()


def test_predict_gives_probabilities_of_the_prediction(run, trained, folder):
    run("predict", "model.mpb", "customers.csv", "-o", "out.csv")
    table = read_table(folder / "out.csv", frame="pyarrow").to_pydict()
    no, yes = np.array(table["probability:no"]), np.array(table["probability:yes"])
    np.testing.assert_allclose(no + yes, 1)
    decided = np.abs(yes - no) > 1e-6
    assert np.array_equal(np.where(yes > no, "yes", "no")[decided], np.array(table["prediction"])[decided])


def test_predict_keeps_columns_beside(run, trained, folder):
    run("predict", "model.mpb", "customers.csv", "-o", "out.csv", "--columns", "customer,age", "--columns", "churned")
    table = read_table(folder / "out.csv", frame="pyarrow")
    assert table.column_names[:4] == ["customer", "age", "churned", "prediction"]
    assert table["customer"].to_pylist() == make_customers()["customer"].to_pylist()


def test_predict_writes_to_standard_output(run, trained):
    result = run("predict", "model.mpb", "customers.csv", "-o", "-")
    table = pa.csv.read_csv(io.BytesIO(result.stdout.encode()))
    assert (table.num_rows, table.column_names[0]) == (200, "prediction")
    assert "Predictions" in result.stderr


def test_predict_quotes_what_must_be(run, folder):
    X = pa.table({"a": np.arange(60) % 7, "b": np.arange(60) % 2})
    model = MPBoostClassifier(n_estimators=5).fit(X, np.where(np.arange(60) % 2, 'x,"y"', "z"))
    save_model(model, folder / "model.mpb")
    WRITERS["customers.csv"](X, folder / "new.csv")
    run("predict", "model.mpb", "new.csv", "-o", "out.csv")
    table = read_table(folder / "out.csv", frame="pyarrow")
    assert set(table["prediction"].to_pylist()) == {'x,"y"', "z"}
    assert 'probability:x,"y"' in table.column_names


def test_predict_writes_one_json_document(run, trained):
    facts = json.loads(run("predict", "model.mpb", "customers.csv", "--json").stdout)
    assert facts["rows"] == sum(facts["counts"].values()) == 200
    assert facts["output"] == "predictions.csv"


def test_predict_reads_numbers_as_the_words_that_they_were(run, fit, folder):
    zips = ["01", "1", "x2"] * 40
    labels = ["07", "7", "b"] * 40
    WRITERS["customers.csv"](pa.table({"zip": zips, "label": labels}), folder / "zips.csv")
    fit("zips.csv", target="label")
    (folder / "new.csv").write_text("zip\n01\n1\n01\n")  # which look like numbers without the others
    run("predict", "model.mpb", "new.csv", "-o", "out.parquet")
    assert read_predictions(folder / "out.parquet") == ["07", "7", "07"]


def test_predict_takes_models_without_names(run, folder):
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = MPBoostClassifier(n_estimators=10, random_state=0).fit(X, X[:, 0] > 0)
    save_model(model, folder / "python.mpb")
    np.savez(folder / "points.npz", X=X, y=X[:, 0] > 0)
    run("predict", "python.mpb", "points.npz", "-o", "out.parquet")
    assert read_predictions(folder / "out.parquet") == model.predict(X).tolist()


def test_predict_reads_arrow_streams(run, trained, folder):
    table = make_customers()
    with pa.ipc.new_stream(str(folder / "stream.arrow"), table.schema) as writer:
        writer.write_table(table)
    run("predict", "model.mpb", "stream.arrow", "-o", "out.csv")
    run("predict", "model.mpb", "customers.csv", "-o", "other.csv")
    assert (folder / "out.csv").read_text() == (folder / "other.csv").read_text()


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.arrow", "out.feather"])
def test_predict_writes_the_same_in_batches(monkeypatch, run, trained, folder, name):
    command = ("predict", "model.mpb", "customers.csv", "--columns", "customer,age,signup", "--force", "-o")
    run(*command, name)
    expected = read_table(folder / name, frame="pyarrow")
    monkeypatch.setattr(prediction, "BATCH_ROWS", 37)
    facts = json.loads(run(*command, name, "--json").stdout)
    assert read_table(folder / name, frame="pyarrow").equals(expected)
    assert facts["rows"] == sum(facts["counts"].values()) == 200


def test_predict_that_fails_half_way_leaves_no_file(monkeypatch, run, trained, folder):
    def fail_at_the_second(model, X, n_rows):
        yield from itertools.islice(predict_in_batches(model, X, n_rows), 1)
        raise MemoryError("no memory")

    predict_in_batches = ClassPredictions._predict_in_batches
    monkeypatch.setattr(ClassPredictions, "_predict_in_batches", fail_at_the_second)
    monkeypatch.setattr(prediction, "BATCH_ROWS", 37)
    before = sorted(folder.iterdir())
    assert "no memory" in run("predict", "model.mpb", "customers.csv", code=1).stderr
    assert sorted(folder.iterdir()) == before


def test_predict_uses_all_processors(monkeypatch, run, trained):
    asked = []
    monkeypatch.setattr(base, "make_threads", lambda n_jobs: asked.append(n_jobs) or make_threads(n_jobs))
    run("predict", "model.mpb", "customers.csv")
    assert asked == [-1]


@pytest.mark.parametrize(("arguments", "is_shown"), [((), True), (("--quiet",), False)], ids=["usual", "quiet"])
def test_predict_shows_a_bar_on_a_terminal(monkeypatch, run, trained, arguments, is_shown):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = run("predict", "model.mpb", "customers.csv", *arguments)
    assert ("Predicting" in result.stderr) == is_shown


def test_predict_writes_no_bar_to_a_log(run, trained):
    assert run("predict", "model.mpb", "customers.csv").stderr == ""


@pytest.mark.parametrize("has_target", [True, False], ids=["with target", "without"])
def test_predict_offers_the_score_where_the_table_has_the_target(run, trained, folder, has_target):
    table = make_customers() if has_target else make_customers().drop_columns(["churned"])
    WRITERS["customers.csv"](table, folder / "new.csv")
    words = run("predict", "model.mpb", "new.csv").stdout
    assert ("The table has the target churned: accuracy " in words) == has_target
