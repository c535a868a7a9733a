"""Errors: each is one line that says what to do; exit codes differ by kind of error; no file is lost."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mpboost.cli.writing import write_table
from tests.support.customers import make_customers, write_text


def get_message(result):
    """Return the error message of a command: one line."""
    assert result.stdout == ""
    (line,) = result.stderr.strip().splitlines()
    return line


def write(folder, **columns):
    pa.parquet.write_table(pa.table(columns), folder / "table.parquet")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("customers.csv", "-t", "Churn"), "customers.csv has no column 'Churn'; did you mean 'churned'?"),
        (("customers.csv", "-t", "xyz"), "has no column 'xyz'. Available: customer, number, "),
        (("custmers.csv", "-t", "churned"), "File not found: custmers.csv; did you mean 'customers.csv'?"),
        (("nowhere/a.csv", "-t", "churned"), "File not found: nowhere/a.csv."),
        (("customers-*.csv", "-t", "churned"), "No file matches customers-*.csv"),
        ((".", "-t", "churned"), "is a folder without Parquet files"),
        (("customers.csv", "-t", "churned", "--keep", "custmer"), "did you mean 'customer'?"),
        (("customers.csv", "-t", "churned", "--drop", "age,cals"), "did you mean 'calls'?"),
        (
            ("customers.csv", "-t", "churned", "--task", "regression"),
            "contains text, not numbers: use --task classification",
        ),
        (("customers.csv", "-t", "signup"), "contains dates: only numbers and classes can be predicted"),
        (("customers.csv", "-t", "plan"), "The target 'plan' is missing in "),
        (("customers.csv", "-t", "currency"), "y has only one class: 'EUR'"),
        (("customers.csv", "-t", "churned", "-o", "nowhere/model.mpb"), "Folder not found: nowhere"),
        (("customers.csv", "-t", "churned", "-o", "."), "is a folder"),
    ],
)
def test_fit_says_what_is_wrong(run, arguments, words):
    assert words in get_message(run("fit", *arguments, "--quiet", code=1))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "a.csv cannot be read: it is empty."),
        ("a.csv", b"x,y\n", "a.csv is empty: it has 0 rows."),
        ("a.csv", b"x,y\n1,2,3\n", "a.csv cannot be read: a row has 3 cells, but there are 2 columns: '1,2,3'"),
        ("a.csv", b"x,y\n1,n.d.\n2,3\n3,4\n4,5\n", "'n.d.' in row 0 (counted from 0) is not a number"),
        ("a.parquet", b"not a table", "a.parquet cannot be read: "),
        ("a.arrow", b"not a table", "a.arrow cannot be read: "),
        ("a.npz", b"not a table", "a.npz cannot be read: "),
        ("a.csv", b"x,y\n1,0\n1,1\n1,0\n", "no usable column besides the target 'y'. x is always 1"),
    ],
)
def test_fit_says_what_is_wrong_with_a_file(run, folder, name, content, words):
    (folder / name).write_bytes(content)
    assert words in get_message(run("fit", name, "--target", "y", code=1))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"Y": [1]}, "must contain a two-dimensional array X"),
        ({"X": [1, 2]}, "must contain a two-dimensional array X"),
        ({"X": [[1], [2]], "y": [1, 2, 3]}, "X has 2 rows, but y has shape (3,)"),
        ({"X": [[1], [2]], "feature_names": ["a", "b"]}, "X has 1 columns, but feature_names has 2"),
        ({"X": [[1], [2]], "y": [1, 2], "feature_names": ["y"]}, "named 'y'"),
        ({"X": np.array([[None], [1]])}, "pickle"),
        ({"X": [[1], [2]]}, "has no column 'y'"),
    ],
)
def test_fit_says_what_is_wrong_with_npz(run, folder, arrays, words):
    np.savez(folder / "a.npz", **arrays)
    assert words in get_message(run("fit", "a.npz", code=1))


def test_fit_counts_rows_without_a_target(run, folder):
    write(folder, x=[1.0, 2, 4, 3], y=pa.array([1.5, None, np.nan, 2]))
    assert "'y' is missing in 2 rows" in get_message(run("fit", "table.parquet", "-t", "y", code=1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "customers.csv"), "name of the column to predict"),
        (("fit",), "TABLE"),
        (("fit", "customers.csv", "-t", "churned", "--frobnicate"), "No such option"),
        (("fit", "customers.csv", "-t", "churned", "--task", "clustering"), "clustering"),
        (("fit", "customers.csv", "-t", "churned", "--set", "max_dept=3"), "did you mean 'max_depth'?"),
        (("fit", "customers.csv", "-t", "churned", "--set", "max_depth"), "KEY=VALUE"),
        (("fit", "customers.csv", "-t", "churned", "--set", "max_depth=-1"), "'max_depth' parameter"),
        (("fit", "customers.csv", "-t", "churned", "--set", "callbacks=[]"), "no parameter 'callbacks'"),
        (("fit", "customers.csv", "-t", "churned", "--set", f"n_estimators={'-' * 3000}1"), "nested too deeply"),
        (("fit", "customers.csv", "-t", "churned", "--set", f"n_estimators={'-' * 100_000}1"), "nested too deeply"),
        (("fit", "customers.csv", "-t", "churned", "--set", "n_estimators={{}}"), "'n_estimators' parameter"),
        (("tune", "customers.csv", "-t", "churned", "--grid", f"max_depth={'-' * 3000}1"), "nested too deeply"),
        (("fit", "customers.csv", "-t", "spend", "--preset", "paper"), "paper is for classification only"),
        (("tune", "customers.csv", "-t", "churned", "--grid", "max_dept=3"), "did you mean 'max_depth'?"),
        (("predict", "model.mpb", "customers.csv", "-o", "-", "--json"), "cannot go to standard output"),
        (("report", "model.mpb", "customers.csv", "--image-shape", "8"), "expected a shape such as 8x8"),
        (("frobnicate",), "frobnicate"),
    ],
)
def test_wrong_usage_has_its_own_exit_code(run, arguments, words):
    result = run(*arguments, code=2)
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""


def test_error_is_part_of_the_json_document(run):
    result = run("fit", "customers.csv", "-t", "Churn", "--json", code=1)
    assert json.loads(result.stdout)["error"].endswith("did you mean 'churned'?")
    assert "did you mean" in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "customers.csv", "-t", "churned", "-o", "there.mpb"),
        ("tune", "customers.csv", "-t", "churned", "-o", "there.mpb"),
        ("predict", "model.mpb", "customers.csv", "-o", "there.csv"),
        ("report", "model.mpb", "customers.csv", "-o", "there.html"),
        ("issues", "model.mpb", "customers.csv", "-o", "there.csv"),
    ],
    ids=lambda command: command[0],
)
def test_nothing_is_overwritten_without_force(run, folder, command):
    path = folder / command[-1]
    path.write_text("precious")
    assert f"{path.name} exists already: use --force" in get_message(run(*command, code=1))
    assert path.read_text() == "precious"

    path.unlink()
    path.symlink_to(folder / "precious")
    assert f"{path.name} exists already: use --force" in get_message(run(*command, code=1))
    assert not (folder / "precious").exists()


def test_link_into_a_folder_that_does_not_exist_is_told_before_the_training(run, folder):
    (folder / "model.mpb").symlink_to(folder / "nowhere" / "model.mpb")
    words = get_message(run("fit", "customers.csv", "-t", "churned", "--force", code=1))
    assert "Folder not found" in words


def test_table_that_came_meanwhile_is_not_overwritten(folder):
    path = folder / "out.csv"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="already exists"):
        write_table(pa.table({"a": [1, 2]}), path, force=False)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_table_whose_writing_is_interrupted_is_not_there(monkeypatch, folder, suffix):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("mpboost._files.os.fsync", interrupt)  # the table is written, but may not be on the disk
    with pytest.raises(KeyboardInterrupt):
        write_table(pa.table({"a": [1, 2]}), folder / f"out{suffix}", force=False)
    assert [each.name for each in folder.iterdir()] == ["customers.csv"]


def test_write_that_fails_leaves_the_old_file_and_nothing_else(folder):
    path = folder / "out.csv"
    path.write_text("precious")
    with pytest.raises(ValueError, match="Column 'a' has values that text cannot hold"):
        write_table(pa.table({"a": [[1, 2]]}), path, force=True)  # lists have no place in CSV
    assert path.read_text() == "precious"
    assert {each.name for each in folder.iterdir()} == {"customers.csv", "out.csv"}


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.npz", "out.csv.gz"])
def test_predict_writes_known_kinds_only(run, name):
    words = get_message(run("predict", "model.mpb", "customers.csv", "-o", name, code=1))
    assert "must end in .arrow, .csv, .feather, .parquet, .tsv" in words


def replace(table, name, values):
    return table.set_column(table.column_names.index(name), name, [values])


def change_customers(change):
    table = make_customers()
    n_rows = table.num_rows
    changes = {
        "two columns are gone": lambda: table.drop_columns(["calls", "plan"]),
        "a date is gone": lambda: table.drop_columns(["signup"]),
        "another name": lambda: table.rename_columns(["Calls" if c == "calls" else c for c in table.column_names]),
        "words for numbers": lambda: replace(table, "calls", ["many"] * n_rows),
        "numbers for words": lambda: replace(table, "plan", list(range(n_rows))),
        "words for dates": lambda: replace(table, "signup", ["last year"] * n_rows),
        "dates for moments": lambda: replace(table, "seen", table["signup"].combine_chunks()),
    }
    return changes[change]()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("two columns are gone", "new.csv lacks columns 'plan', 'calls' that the model needs"),
        ("a date is gone", "new.csv lacks column 'signup' that the model needs"),
        ("another name", "lacks column 'calls' that the model needs; did you mean 'Calls'?"),
        (
            "words for numbers",
            "Column 'calls' of new.csv contains words such as 'many', but the model was trained on numbers.",
        ),
        (
            "numbers for words",
            "Column 'plan' of new.csv contains numbers such as '0', but the model was trained on words (basic, plus)",
        ),
        (
            "words for dates",
            "'signup' of new.csv contains words such as 'last year', but the model was trained on dates (signup:",
        ),
        (
            "dates for moments",
            "but the model was trained on times (seen:hour).",
        ),
    ],
)
def test_predict_says_what_is_wrong_with_columns(run, trained, folder, change, words):
    write_text(change_customers(change), folder / "new.csv")
    assert words in get_message(run("predict", "model.mpb", "new.csv", code=1))


@pytest.mark.parametrize("column", ["plan", "calls", "signup", "active"])
def test_predict_takes_columns_without_values(run, trained, folder, column):
    table = make_customers()
    write_text(replace(table, column, pa.nulls(table.num_rows)), folder / "new.csv")
    run("predict", "model.mpb", "new.csv")


def test_predict_refuses_a_column_with_the_name_of_a_prediction(run, trained, folder):
    table = make_customers()
    write_text(table.append_column("prediction", table["age"]), folder / "new.csv")
    words = get_message(run("predict", "model.mpb", "new.csv", "--columns", "prediction", code=1))
    assert "'prediction' of new.csv has the name of an output column" in words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("modl.mpb", "Model file not found: modl.mpb; did you mean 'model.mpb'?"),
        ("customers.csv", "customers.csv: this is not a model file of mpboost."),
    ],
)
def test_info_says_what_is_wrong_with_a_model(run, trained, name, words):
    assert words in get_message(run("info", name, code=1))


def test_models_without_names_need_as_many_columns(run, folder):
    from mpboost import MPBoostClassifier, save_model

    X = np.random.default_rng(0).normal(size=(50, 2))
    save_model(MPBoostClassifier(n_estimators=3).fit(X, X[:, 0] > 0), folder / "python.mpb")
    words = get_message(run("predict", "python.mpb", "customers.csv", code=1))
    assert "on 2 features without names, but customers.csv has 11 columns" in words
