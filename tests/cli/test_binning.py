"""The command bin."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from mpboost import BinnedDataset, load_model
from mpboost.cli import prediction_rows
from mpboost.datasets import batches, survey
from mpboost.datasets.coding import DatasetWriter
from tests.support.customers import LEFT_OUT, WRITERS, make_customers, make_plain_customers
from tests.support.interrupts import press_ctrl_c

SMALL = ("--set", "n_estimators=20", "--set", "n_jobs=1")


@pytest.fixture
def build(run):
    """Make a dataset, and give what the command tells machines."""

    def build(*arguments):
        return json.loads(run("bin", *arguments, "--json").stdout)

    return build


def get_error(result):
    """Return the error message of a command: one line."""
    assert result.stdout == ""
    (line,) = result.stderr.strip().splitlines()
    return line


def test_bin_makes_a_dataset_of_parquet_files(run, folder, parquet):
    words = run("bin", "part-*.parquet", "--target", "churned", "-o", "data.mpcols").stdout
    for said in (
        "data.mpcols  300 rows, ",
        "part-1.parquet and 1 more: Parquet, 2 files",
        "numbers      active, age, calls, spend",
        "categories   plan (2)",
        "signup (days, month, weekday), seen (days, weekday, hour)",
        "missing      plan, age",
        "churned, 2 classes: ",
        "rows a second",
        "Next:  mpboost fit data.mpcols",
    ):
        assert said in words
    dataset = BinnedDataset.open(folder / "data.mpcols")
    assert (dataset.n_rows, dataset.target_name) == (300, "churned")
    assert dataset.y.tolist() == parquet["churned"].to_pylist()
    dataset.check()


def test_bin_tells_machines_what_it_made(build, folder, parquet):
    facts = build("part-*.parquet", "--target", "churned", "--drop", "age,spend")
    assert (facts["dataset"], facts["rows"], facts["target"]) == ("data.mpcols", 300, "churned")
    assert facts["left_out"] == {"age": "dropped by --drop", "spend": "dropped by --drop"}
    assert sum(facts["counts"].values()) == 300
    assert facts["bytes"] == os.path.getsize(folder / "data.mpcols")


def test_bin_leaves_out_identifiers_of_text_but_not_of_parquet(build, folder):
    WRITERS["customers.parquet"](make_customers(), folder / "customers.parquet")
    text = build("customers.csv", "-t", "churned")
    assert text["left_out"].keys() == set(LEFT_OUT)
    kept = build("customers.csv", "-t", "churned", "--keep", "number", "-o", "kept.mpcols")
    assert kept["left_out"].keys() == {"customer", "currency"}
    binary = build("customers.parquet", "-t", "churned", "-o", "all.mpcols")
    assert binary["left_out"] == {}
    assert {*LEFT_OUT} < {each["name"] for each in binary["features"]}


def test_bin_leaves_out_types_that_are_not_supported(build, folder):
    table = pa.table({"a": [1.0, 2, 3], "b": [[1], [2], [3]], "c": pa.nulls(3), "y": [0, 1, 0]})
    pa.parquet.write_table(table, folder / "odd.parquet")
    facts = build("odd.parquet", "-t", "y")
    assert [each["name"] for each in facts["features"]] == ["a"]
    assert "unsupported" in facts["left_out"]["b"]
    assert facts["left_out"]["c"] == "has no values"


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_weights_go_into_the_dataset(run, build, folder, kind):
    table = make_plain_customers().append_column("w", [np.arange(200) % 3.0])
    WRITERS[f"customers.{kind}"](table, folder / f"weighted.{kind}")
    facts = build(f"weighted.{kind}", "-t", "churned", "--sample-weight", "w")
    assert facts["has_weights"]
    assert "w" not in {each["name"] for each in facts["features"]}
    assert BinnedDataset.open("data.mpcols").sample_weight.tolist() == (np.arange(200) % 3.0).tolist()
    run("fit", "data.mpcols", *SMALL)
    assert np.isnan(load_model("model.mpb").observation_difficulty_[::3]).all()  # rows of weight 0


def test_max_bins_are_those_of_the_dataset(build, parquet):
    facts = build("part-*.parquet", "-t", "churned", "--max-bins", "7")
    assert facts["max_bins"] == max(each["bins"] for each in facts["features"]) == 7


@pytest.mark.parametrize("like", ["data.mpcols", "model.mpb"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_dataset_like_another_has_its_bins(run, folder, parquet, like, kind):
    run("bin", "part-*.parquet", "-t", "churned")
    run("fit", "data.mpcols", *SMALL)
    new = make_customers(90, seed=3)
    WRITERS[f"customers.{kind}"](new, folder / f"new.{kind}")
    run("bin", f"new.{kind}", "--like", like, "-o", "new.mpcols")
    one, other = BinnedDataset.open("data.mpcols"), BinnedDataset.open("new.mpcols")
    assert one.known.equals(other.known)
    assert other.y.tolist() == new["churned"].to_pylist()
    run("predict", "model.mpb", "new.mpcols", "-o", "a.csv")
    run("predict", "model.mpb", f"new.{kind}", "-o", "b.csv")
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()
    facts = [json.loads(run("evaluate", "model.mpb", name, "--json").stdout) for name in ("new.mpcols", f"new.{kind}")]
    assert facts[0] | {"table": ""} == facts[1] | {"table": ""}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("part-*.parquet", "-t", "Churn"), "part-1.parquet and 1 more has no column 'Churn'; did you mean 'churned'?"),
        (("part-*.parquet", "-t", "signup"), "contains dates: only numbers and classes can be predicted"),
        (("part-*.parquet", "-t", "churned", "--sample-weight", "plan"), "contains words: only numbers are weights"),
        (("customers.csv", "-t", "churned", "--sample-weight", "plan"), "contains words, not numbers"),
        (("part-*.parquet", "-t", "plan"), "the target is missing in "),
        (("part-*.parquet", "-t", "churned", "--drop", "agee"), "did you mean 'age'?"),
        (("part-*.parquet", "-t", "churned", "--keep", "agee"), "did you mean 'age'?"),
        (("part-*.parquet", "-t", "churned", "-o", "data.parquet"), "must end in .mpcols"),
        (("part-*.parquet", "-t", "churned", "-o", "nowhere/data.mpcols"), "Folder not found: nowhere"),
        (("part-*.parquet", "-t", "churned", "--like", "mdel.mpb"), "Model file not found: mdel.mpb"),
        (("part-*.parquet", "-t", "churned", "--like", "no.mpcols"), "Dataset not found: no.mpcols"),
        (("part-3.parquet", "-t", "churned"), "File not found: part-3.parquet; did you mean 'part-"),
        (("broken.parquet", "-t", "churned"), "broken.parquet cannot be read: "),
        (("part-1.parquet", "other.parquet", "-t", "churned"), "have different columns: only one of them has 'extra'"),
        (("empty.parquet", "-t", "churned"), "empty.parquet is empty: it has 0 rows."),
    ],
)
def test_bin_says_what_is_wrong(run, folder, parquet, arguments, words):
    (folder / "broken.parquet").write_bytes(b"PAR1" + b"x" * 100)
    pa.parquet.write_table(parquet.append_column("extra", [np.arange(300)]), folder / "other.parquet")
    pa.parquet.write_table(parquet.slice(0, 0), folder / "empty.parquet")
    before = sorted(folder.iterdir())
    assert words in get_error(run("bin", *arguments, "--quiet", code=1))
    assert sorted(folder.iterdir()) == before


def test_bin_overwrites_nothing_without_force(run, folder, parquet):
    path = folder / "data.mpcols"
    path.write_text("precious")
    assert "data.mpcols exists already: use --force" in get_error(run("bin", "part-*.parquet", "-t", "churned", code=1))
    assert path.read_text() == "precious"
    run("bin", "part-*.parquet", "-t", "churned", "--force")
    assert BinnedDataset.open(path).n_rows == 300


@pytest.mark.parametrize("command", ["bin", "predict"])
def test_parquet_file_that_is_cut_while_it_is_read_is_an_error(monkeypatch, run, trained, folder, command):
    path = folder / "long.parquet"
    pa.parquet.write_table(make_customers(50_000), path, row_group_size=20_000)
    size = path.stat().st_size
    owner, method = (survey.FeatureSurvey, "add") if command == "bin" else (prediction_rows, "make_model_features")
    original = getattr(owner, method)

    def cut(*arguments):
        os.truncate(path, size // 2)
        return original(*arguments)

    monkeypatch.setattr(owner, method, cut)
    for module in (prediction_rows, batches):
        monkeypatch.setattr(module, "count_batch_rows", lambda n_columns: 10_000)
    before = sorted(folder.iterdir())
    arguments = ("long.parquet", "-t", "churned") if command == "bin" else ("model.mpb", "long.parquet")
    words = get_error(run(command, *arguments, "--quiet", code=1))
    assert words.startswith("Error: long.parquet")
    assert "were cut off" in words or "Unexpected end of stream" in words
    assert sorted(folder.iterdir()) == before


def interrupt_after(monkeypatch, owner, method, n_calls=2):
    """Press Ctrl-C in a call of a method."""
    original, calls = getattr(owner, method), []

    def interrupted(*arguments, **options):
        calls.append(method)
        if len(calls) == n_calls:
            press_ctrl_c()
        return original(*arguments, **options)

    monkeypatch.setattr(owner, method, interrupted)


@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("command", [("bin",), ("fit", "--on-disk")], ids=["bin", "fit"])
@pytest.mark.parametrize(
    ("owner", "method"), [(survey.FeatureSurvey, "add"), (DatasetWriter, "append")], ids=["first pass", "second pass"]
)
def test_interrupt_while_binning_leaves_no_file(monkeypatch, run, folder, parquet, command, owner, method):
    before = sorted(folder.iterdir())
    interrupt_after(monkeypatch, owner, method)
    run(command[0], "part-*.parquet", "-t", "churned", *command[1:], code=130)
    assert sorted(folder.iterdir()) == before
