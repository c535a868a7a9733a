"""Rows to predict: Parquet files are read batch by batch, and give what the whole table gives."""

import json
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from mpboost import MPBoostClassifier, load_model, read_table, save_model
from mpboost.cli import prediction_rows
from mpboost.table_files import parquet as parquet_files
from tests.support.customers import make_customers
from tests.support.helpers import run_script
from tests.support.interrupts import press_ctrl_c


@pytest.fixture
def small_batches(monkeypatch):
    """Let batches of Parquet files have 37 rows; count the rows of those that were read."""
    sizes = []
    read = parquet_files.ParquetFiles.read_batches

    def count_rows(self, columns, n_rows):
        for table in read(self, columns, n_rows):
            sizes.append(table.num_rows)
            yield table

    monkeypatch.setattr(prediction_rows, "count_batch_rows", lambda n_columns: 37)
    monkeypatch.setattr(parquet_files.ParquetFiles, "read_batches", count_rows)
    return sizes


@pytest.mark.parametrize("target", ["churned", "spend", "calls"])
@pytest.mark.parametrize("output", ["out.csv", "out.parquet", "out.arrow"])
def test_parquet_in_batches_is_predicted_like_the_whole_table(run, fit, folder, small_batches, target, output):
    fit(target=target)
    new = make_customers(200, seed=1)
    pa.feather.write_feather(new, folder / "new.arrow")
    for k, rows in enumerate((slice(0, 120), slice(120, 200))):
        part = new.slice(rows.start, rows.stop - rows.start)
        pa.parquet.write_table(part, folder / f"new-{k}.parquet", row_group_size=50)
    results = []
    for name in ("new.arrow", "new-*.parquet"):
        columns = ("--columns", "customer,signup,calls")
        facts = json.loads(run("predict", "model.mpb", name, "-o", output, "--force", "--json", *columns).stdout)
        words = run("predict", "model.mpb", name, "-o", output, "--force", *columns).stdout
        results.append((facts | {"table": ""}, words, read_table(folder / output, frame="pyarrow")))
    assert results[0][:2] == results[1][:2]
    assert results[0][2].to_pydict() == results[1][2].to_pydict()
    assert max(small_batches) <= 37
    assert sum(small_batches) == 2 * 200


def test_parquet_files_of_different_types_are_united(run, trained, folder, small_batches):
    new = make_customers(80, seed=1)
    small = new.slice(0, 40).set_column(
        new.column_names.index("calls"), "calls", new["calls"].slice(0, 40).cast("int8")
    )
    pa.parquet.write_table(small.select(small.column_names[::-1]), folder / "new-1.parquet")
    floats = new.slice(40).set_column(new.column_names.index("calls"), "calls", new["calls"].slice(40).cast("double"))
    pa.parquet.write_table(floats, folder / "new-2.parquet")
    run("predict", "model.mpb", "new-*.parquet", "--columns", "calls", "-o", "out.parquet")
    table = read_table(folder / "out.parquet", frame="pyarrow")
    assert table["calls"].to_pylist() == new["calls"].to_pylist()
    assert table["calls"].type == pa.float64()


def test_parquet_with_categories_and_empty_row_groups_is_predicted(run, trained, folder, small_batches):
    new = make_customers(100, seed=1)
    place = new.column_names.index("plan")
    coded = new.set_column(place, "plan", new["plan"].dictionary_encode())
    with pa.parquet.ParquetWriter(folder / "new.parquet", coded.schema) as writer:
        for start in (0, 30, 100, 60):
            writer.write_table(coded.slice(start, 30 if start < 60 else 40))
    run("predict", "model.mpb", "new.parquet", "--columns", "plan", "-o", "out.arrow")
    assert read_table(folder / "out.arrow", frame="pyarrow")["plan"].to_pylist() == new["plan"].to_pylist()


def test_batch_without_known_categories_is_not_taken_for_numbers(run, fit, folder, small_batches):
    zips = [f"{k:02}" for k in range(10)] * 20
    pa.parquet.write_table(pa.table({"zip": zips, "y": ["a", "b"] * 100}), folder / "old.parquet")
    fit("old.parquet", target="y")
    pa.parquet.write_table(pa.table({"zip": zips[:40] + ["77"] * 80}), folder / "new.parquet")
    run("predict", "model.mpb", "new.parquet")


@pytest.mark.filterwarnings("default:Feature 'word' has no category")
def test_categories_that_are_new_in_all_batches_are_told_once(run, fit, folder, small_batches):
    words = ["one", "two", "three"] * 40
    pa.parquet.write_table(pa.table({"word": words, "y": ["a", "b"] * 60}), folder / "old.parquet")
    fit("old.parquet", target="y")
    pa.parquet.write_table(pa.table({"word": ["One", "Two", "Three"] * 40}), folder / "new.parquet")
    words = run("predict", "model.mpb", "new.parquet").stderr
    assert words.count("Note: Feature 'word' has no category that occurred in training") == 1


def test_parquet_is_predicted_by_models_without_names(run, folder, small_batches):
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = MPBoostClassifier(n_estimators=10, random_state=0).fit(X, X[:, 0] > 0)
    save_model(model, folder / "python.mpb")
    pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), folder / "new.parquet")
    run("predict", "python.mpb", "new.parquet", "-o", "out.csv")
    assert read_table(folder / "out.csv", frame="pyarrow")["prediction"].to_pylist() == model.predict(X).tolist()


def test_parquet_whose_columns_are_renamed_is_read_whole(run, folder, small_batches):
    X = pa.table({"a": np.arange(60) % 7, "b": np.arange(60) % 2})
    model = MPBoostClassifier(n_estimators=5).fit(X, np.arange(60) % 2 == 1)
    save_model(model, folder / "model.mpb")
    pa.parquet.write_table(pa.table([X["a"], X["b"], X["b"]], names=["a", "b", "b"]), folder / "new.parquet")
    run("predict", "model.mpb", "new.parquet")
    assert small_batches == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop_columns(["calls"]), "new.parquet lacks column 'calls' that the model needs"),
        (
            lambda table: table.rename_columns(["Calls" if c == "calls" else c for c in table.column_names]),
            "lacks column 'calls' that the model needs; did you mean 'Calls'?",
        ),
        (
            lambda table: table.set_column(table.column_names.index("calls"), "calls", [["many"] * 200]),
            "Column 'calls' of new.parquet contains words such as 'many', but the model was trained on numbers.",
        ),
        (
            lambda table: table.append_column("prediction", [np.arange(200)]),
            "'prediction' of new.parquet has the name of an output column",
        ),
    ],
    ids=["missing", "misspelt", "words", "name"],
)
def test_predict_says_what_is_wrong_with_parquet(run, trained, folder, small_batches, change, words):
    table = change(make_customers())
    pa.parquet.write_table(table, folder / "new.parquet")
    columns = ("--columns", "prediction") if "prediction" in table.column_names else ()
    before = sorted(folder.iterdir())
    result = run("predict", "model.mpb", "new.parquet", *columns, code=1)
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("place", ["first", "last"])
def test_damage_of_parquet_leaves_no_predictions(run, trained, folder, small_batches, place):
    path = folder / "new.parquet"
    pa.parquet.write_table(make_customers(seed=1), path, row_group_size=50, compression="zstd")
    content = bytearray(path.read_bytes())
    group = pa.parquet.ParquetFile(path).metadata.row_group(0 if place == "first" else 3)
    (column,) = (group.column(j) for j in range(group.num_columns) if group.column(j).path_in_schema == "calls")
    start = column.data_page_offset
    content[start : start + 60] = bytes(60)
    path.write_bytes(content)
    before = sorted(folder.iterdir())
    result = run("predict", "model.mpb", "new.parquet", code=1)
    assert "new.parquet cannot be read: " in result.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("python_handler")
def test_interrupt_while_predicting_leaves_no_file(monkeypatch, run, trained, folder, small_batches):
    pa.parquet.write_table(make_customers(seed=1), folder / "new.parquet")
    make, calls = prediction_rows.make_model_features, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            press_ctrl_c()
        return make(*arguments)

    monkeypatch.setattr(prediction_rows, "make_model_features", interrupted)
    before = sorted(folder.iterdir())
    run("predict", "model.mpb", "new.parquet", "-o", "out.parquet", code=130)
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("target", ["label", "number"])
def test_memory_of_predictions_does_not_follow_the_number_of_rows(invoke, tmp_path, target):
    rng = np.random.default_rng(0)

    def write(n_groups, name):
        table = pa.table({f"x{j}": rng.normal(size=1 << 17) for j in range(8)})
        table = table.append_column("label", [["a", "b"] * (1 << 16)]).append_column("number", table["x0"])
        with pa.parquet.ParquetWriter(tmp_path / name, table.schema, use_dictionary=False) as writer:
            for _ in range(n_groups):
                writer.write_table(table)

    write(1, "few.parquet")
    write(16, "many.parquet")
    small = ("--set", "n_estimators=3", "--set", "stopping=none")
    invoke("fit", tmp_path / "few.parquet", "-t", target, "-o", tmp_path / "model.mpb", "-q", "--keep-all", *small)
    assert load_model(tmp_path / "model.mpb").target_name_ == target
    script = """
        import resource
        from mpboost.cli.app import app

        def predict(name):
            command = ["predict", {model!r}, name, "-o", {out!r}, "--force", "--quiet"]
            app(command, standalone_mode=False)
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

        print("extra", -predict({few!r}) + predict({many!r}))
    """
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("few", "many", "out")}
    words = run_script(textwrap.dedent(script).format(**paths, model=str(tmp_path / "model.mpb")))
    extra = int(words.split("extra")[1])
    n_rows = 15 << 17  # of 88 bytes in memory: 173 MB. What threads keep for themselves differs from run to run
    kept = 0 if target == "label" else 8  # predicted numbers, for the quartiles
    assert extra < n_rows * kept + 100e6
