"""Models of datasets: those of the tables; and large tables, which are binned first."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from mpboost import load_model
from mpboost.cli import training_dataset
from tests.support.customers import WRITERS, make_plain_customers, write_text

SMALL = ("--set", "n_estimators=20", "--set", "n_jobs=1")


@pytest.mark.parametrize("target", ["churned", "spend", "calls", "active"])
def test_model_of_a_dataset_is_that_of_the_table(run, folder, parquet, target):
    run("bin", "part-*.parquet", "--target", target)
    run("fit", "data.mpcols", "-o", "disk.mpb", *SMALL)
    run("fit", "part-*.parquet", "--target", target, "-o", "memory.mpb", *SMALL)
    assert (folder / "disk.mpb").read_bytes() == (folder / "memory.mpb").read_bytes()


@pytest.mark.parametrize("name", [*WRITERS, "points.npz"])
def test_model_of_a_dataset_of_any_kind_of_table_is_that_of_the_table(run, folder, name):
    if name == "points.npz":
        X = np.random.default_rng(0).normal(size=(200, 3))
        np.savez(folder / name, X=X, y=(X[:, 0] > 0) * 1.0)
        target = ()
    else:
        WRITERS[name](make_plain_customers(), folder / name)
        target = ("--target", "churned")
    run("bin", name, *target)
    run("fit", "data.mpcols", "-o", "disk.mpb", *SMALL)
    run("fit", name, *target, "-o", "memory.mpb", *SMALL)
    assert (folder / "disk.mpb").read_bytes() == (folder / "memory.mpb").read_bytes()


def test_habits_of_text_go_by_way_of_the_dataset_to_the_model(run, folder):
    table = make_plain_customers()
    days = [day.strftime("%d/%m/%Y") for day in table["signup"].to_pylist()]
    write_text(table.set_column(table.column_names.index("signup"), "signup", [days]), folder / "days.csv")
    run("bin", "days.csv", "-t", "churned")
    run("fit", "data.mpcols", *SMALL)
    (folder / "new.csv").write_text(
        "signup,seen,plan,active,age,calls,spend\n3/9/2023,2024-12-25 10:00:00,plus,true,30,2,50\n"
    )
    assert json.loads(load_model(folder / "model.mpb").table_habits_)["dates"] == "dmy"
    run("predict", "model.mpb", "new.csv")


def test_info_does_not_read_many_different_numbers(run, folder):
    n_rows = 70_000
    table = pa.table({"x": np.arange(n_rows) % 7, "y": np.arange(n_rows) / 3})
    pa.parquet.write_table(table, folder / "many.parquet")
    words = run("bin", "many.parquet", "-t", "y").stdout
    assert "y, a number from 0 to 23 333 (more than 65 535 distinct numbers)" in words
    assert "y, a number (more than 65 535 distinct numbers)" in run("info", "data.mpcols").stdout
    facts = json.loads(run("fit", "data.mpcols", "--json", *SMALL).stdout)
    assert facts["estimator"] == "MPGradientBoostingRegressor"


@pytest.mark.parametrize("preset", ["gradient", "votes"])
def test_fit_on_disk_gives_the_model_of_memory(run, folder, parquet, preset):
    command = ("fit", "part-*.parquet", "-t", "churned", "--preset", preset, *SMALL)
    words = run(*command, "-o", "disk.mpb", "--on-disk").stdout
    assert "on disk first: about " in words
    run(*command, "-o", "memory.mpb", "--in-memory")
    assert (folder / "disk.mpb").read_bytes() == (folder / "memory.mpb").read_bytes()
    assert not [path for path in folder.iterdir() if path.name.startswith(".mpboost") or path.suffix == ".mpcols"]


@pytest.mark.parametrize(("available", "is_binned"), [(100, True), (1 << 40, False), (None, False)])
def test_fit_bins_first_what_takes_much_memory(monkeypatch, run, folder, parquet, available, is_binned):
    monkeypatch.setattr(training_dataset, "measure_available_memory", lambda: available)
    command = ("fit", "part-*.parquet", "-t", "churned", *SMALL, "--force")
    words = run(*command).stdout
    assert ("on disk first: about " in words) == is_binned
    assert ("of memory, and 100 bytes are free" in words) == is_binned
    assert "on disk first: about " not in run(*command, "--in-memory").stdout
    facts = json.loads(run(*command, "--json").stdout)
    assert (facts["rows"], facts["table"], facts["left_out"]) == (300, "part-1.parquet and 1 more", {})


def test_fit_reads_other_tables_into_memory(monkeypatch, run):
    monkeypatch.setattr(training_dataset, "measure_available_memory", lambda: 100)
    assert "on disk" not in run("fit", "customers.csv", "-t", "churned", *SMALL).stdout
