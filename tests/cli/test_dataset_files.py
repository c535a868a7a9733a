"""Datasets as arguments of commands: what goes with them, and what does not."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from mpboost import BinnedDataset, load_model, read_table
from mpboost.cli import dataset_files
from mpboost.datasets import dataset_file
from tests.support.customers import make_plain_customers

SMALL = ("--set", "n_estimators=20", "--set", "n_jobs=1")


def get_error(result):
    """Return the error message of a command: one line."""
    assert result.stdout == ""
    (line,) = result.stderr.strip().splitlines()
    return line


def test_suffix_and_magic_are_those_of_datasets():
    assert dataset_file.MAGIC.startswith(dataset_files.MAGIC)
    assert BinnedDataset.from_arrays(np.ones((3, 1))).path.suffix == dataset_files.SUFFIX


def test_dataset_to_predict_needs_no_target(run, folder, parquet):
    run("bin", "part-*.parquet", "-t", "churned")
    run("fit", "data.mpcols", *SMALL)
    pa.parquet.write_table(make_plain_customers(seed=5).drop_columns(["churned"]), folder / "new.parquet")
    words = run("bin", "new.parquet", "--like", "model.mpb", "-o", "new.mpcols").stdout
    assert "target       none" in words
    assert "Next:  mpboost predict MODEL new.mpcols" in words
    assert "Predictions  of churned for 200 rows" in run("predict", "model.mpb", "new.mpcols").stdout
    assert "has no target" in get_error(run("evaluate", "model.mpb", "new.mpcols", code=1))
    assert "has no target" in get_error(run("fit", "new.mpcols", "--force", code=1))


def test_predict_offers_the_score_of_a_dataset(run, folder, parquet):
    run("bin", "part-*.parquet", "-t", "churned")
    run("fit", "data.mpcols", *SMALL)
    result = run("predict", "model.mpb", "data.mpcols", "-o", "p.parquet")
    assert "The table has the target churned: accuracy " in result.stdout
    assert ", too good since it is the training table; " in result.stdout
    predicted = read_table(folder / "p.parquet", frame="pyarrow")
    assert (
        predicted["prediction"].to_pylist()
        == load_model("model.mpb").predict(BinnedDataset.open("data.mpcols")).tolist()
    )


def test_tune_takes_a_dataset(run, parquet):
    run("bin", "part-*.parquet", "-t", "churned")
    facts = json.loads(run("tune", "data.mpcols", "--grid", "max_depth=1,4", "--json", *SMALL).stdout)
    assert len(facts["candidates"]) == 2


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("bin", "data.mpcols"), "data.mpcols is a dataset already: use mpboost fit data.mpcols"),
        (("fit", "dta.mpcols"), "Dataset not found: dta.mpcols; did you mean 'data.mpcols'?"),
        (("fit", "data.mpcols", "-t", "spend"), "data.mpcols has the target 'churned', not 'spend'"),
        (("fit", "false.mpcols"), "false.mpcols: this is not a dataset of mpboost"),
        (("fit", "cut.mpcols"), "Was copying interrupted?"),
        (("fit", "data.mpcols", "--task", "regression"), "contains text, not numbers: use --task classification"),
        (("fit", "customers.csv", "-t", "churned", "--on-disk"), "--on-disk is for Parquet files"),
        (("info", "false.mpcols"), "false.mpcols: this is not a dataset of mpboost"),
        (("issues", "model.mpb", "data.mpcols"), "it is a dataset of mpboost, not a table"),
        (("report", "model.mpb", "data.mpcols"), "it is a dataset of mpboost, not a table"),
        (("predict", "model.mpb", "data.mpcols"), "has other features, categories or bins than the training data"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_commands_say_what_is_wrong_with_a_dataset(run, trained, folder, parquet, command, words):
    run("bin", "part-*.parquet", "-t", "churned")
    whole = (folder / "data.mpcols").read_bytes()
    (folder / "cut.mpcols").write_bytes(whole[:-10])
    (folder / "false.mpcols").write_text("a,b\n1,2\n")
    before = sorted(folder.iterdir())
    extra = ("-o", "other.mpb", "--quiet") if command[0] == "fit" else ("-o", "x.mpcols") if command[0] == "bin" else ()
    assert words in get_error(run(*command, *extra, code=1))
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("fit", "data.mpcols", "--drop", "age"), "for --drop: this is for tables, but data.mpcols is a dataset"),
        (("fit", "data.mpcols", "--keep", "age"), "for --keep: this is for tables"),
        (("fit", "data.mpcols", "--keep-all"), "for --keep-all: this is for tables"),
        (("fit", "data.mpcols", "--sep", ";"), "for --sep: this is for tables"),
        (("fit", "data.mpcols", "--on-disk"), "for --on-disk: this is for tables"),
        (("fit", "data.mpcols", "--in-memory"), "for --in-memory: this is for tables"),
        (("fit", "data.mpcols", "customers.csv"), "a dataset is used alone"),
        (("predict", "model.mpb", "data.mpcols", "--columns", "age"), "for --columns: this is for tables"),
        (("evaluate", "model.mpb", "data.mpcols", "--missing", "?"), "for --missing: this is for tables"),
        (("bin", "customers.csv"), "give the name of the column to predict"),
        (("bin", "customers.csv", "-t", "churned", "--like", "model.mpb", "--drop", "age"), "--like takes over"),
        (("bin", "customers.csv", "-t", "churned", "--max-bins", "300"), "--max-bins"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_options_that_a_dataset_does_not_have_are_wrong_usage(run, trained, parquet, command, words):
    run("bin", "part-*.parquet", "-t", "churned")
    result = run(*command, code=2)
    assert words in " ".join(result.stderr.split())
