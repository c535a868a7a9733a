"""Models of datasets: those of the tables; and large tables, which are binned first."""

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from mpboost import load_model
from mpboost.cli import training_dataset
from mpboost.estimators import row_attributes
from tests.support.customers import N_ROWS, WRITERS, make_plain_customers, write_text

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


def make_column(kind):
    """Make a column of each type that files can have; some with missing values."""
    rng = np.random.default_rng(0)
    numbers, holes = rng.integers(0, 200, N_ROWS), rng.random(N_ROWS) < 0.1
    make = {
        "half": lambda: pa.array(numbers.astype(np.float16)),
        "single": lambda: pa.array(numbers.astype(np.float32) / 7, mask=holes),
        "byte": lambda: pa.array(numbers.astype(np.uint8)),
        "byte with holes": lambda: pa.array(numbers.astype(np.uint8), mask=holes),
        "large": lambda: pa.array(numbers.astype(np.uint64) << np.uint64(56)),
        "bool": lambda: pa.array(numbers > 90, mask=holes),
        "decimal": lambda: pa.array([Decimal(number) / 100 for number in numbers.tolist()]),
        "decimal with holes": lambda: pa.array(
            [None if number < 9 else Decimal(number) for number in numbers.tolist()]
        ),
        "text": lambda: pa.array([f"w{number % 5}" for number in numbers], mask=holes),
        "large text": lambda: pa.array([f"w{number % 5}" for number in numbers]).cast(pa.large_string()),
        "categories": lambda: pa.array([f"w{number % 5}" for number in numbers], mask=holes).dictionary_encode(),
        "numbered categories": lambda: pa.array(numbers % 5).dictionary_encode(),
        "date": lambda: pa.array(numbers.astype(np.int32), mask=holes).cast(pa.date32()),
        "moment": lambda: pa.array(numbers * 10**10, mask=holes).cast(pa.timestamp("us")),
        "zoned moment": lambda: pa.array(numbers * 10**7, mask=holes).cast(pa.timestamp("ms", tz="Europe/Berlin")),
        "time": lambda: pa.array((numbers * 400).astype(np.int32), mask=holes).cast(pa.time32("s")),
    }
    return make[kind]()


KINDS = (
    *("half", "single", "byte", "byte with holes", "large", "bool", "decimal", "decimal with holes", "text"),
    *("large text", "categories", "numbered categories", "date", "moment", "zoned moment", "time"),
)


def test_columns_of_all_types_give_the_model_of_memory(run, folder):
    rng = np.random.default_rng(1)
    table = pa.table({kind: make_column(kind) for kind in KINDS} | {"y": rng.random(N_ROWS)})
    pa.parquet.write_table(table, folder / "types.parquet", row_group_size=90)
    for place in ("disk", "memory"):
        flag = "--on-disk" if place == "disk" else "--in-memory"
        run("fit", "types.parquet", "-t", "y", "-o", f"{place}.mpb", flag, "--set", "max_features=1.0", *SMALL)
    assert (folder / "disk.mpb").read_bytes() == (folder / "memory.mpb").read_bytes()


@pytest.mark.parametrize(
    "kind", ["half", "byte", "large", "decimal", "large text", "categories", "numbered categories"]
)
def test_targets_of_all_types_give_the_model_of_memory(run, folder, kind):
    column = make_column(kind)
    column = column if column.null_count == 0 else column.take(pa.array(np.flatnonzero(column.is_valid())))
    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.random(len(column)), "y": column})
    pa.parquet.write_table(table, folder / "types.parquet", row_group_size=90)
    for place in ("disk", "memory"):
        flag = "--on-disk" if place == "disk" else "--in-memory"
        run("fit", "types.parquet", "-t", "y", "-o", f"{place}.mpb", flag, *SMALL)
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
    assert "y, a number from 0 to 23 333 (too many distinct numbers for classes)" in words
    assert "y, a number (too many distinct numbers for classes)" in run("info", "data.mpcols").stdout
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


def test_commands_take_models_without_attributes_of_rows(monkeypatch, run, folder, parquet):
    monkeypatch.setattr(row_attributes, "MAX_ROWS", 100)
    assert "Model  saved to model.mpb" in run("fit", "part-*.parquet", "-t", "churned", *SMALL).stdout
    assert "of 300 rows" in run("info", "model.mpb").stdout
    words = run("predict", "model.mpb", "part-*.parquet").stdout
    assert "The table has the target churned: accuracy " in words
    assert "training table" not in words
    assert "new data (the model was trained on 300 rows)" in run("evaluate", "model.mpb", "part-*.parquet").stdout
    assert "it was trained on 300 rows" in run("issues", "model.mpb", "part-*.parquet", code=1).stderr
