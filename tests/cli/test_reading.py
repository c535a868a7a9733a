"""Tables as they really are, from file to prediction; the same table gives the same model in Python."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

import mpboost
from mpboost.cli.output import Output
from mpboost.cli.reading import read_for_model
from mpboost.table_files.options import ReadingOptions
from tests.cli.conftest import SMALL
from tests.support.awkward_files import FILES

N = 60


def write_german(path, days, encoding="cp1252"):
    """Write a table as a German spreadsheet program does; dates begin with the day."""
    rng = np.random.default_rng(0)
    prices = rng.gamma(2.0, 600.0, len(days)).round(2)
    names = rng.choice(["Köln", "Bonn, Süd"], len(days))
    is_dear = (prices > 1000) | (days.month > 6)
    rows = [
        f"{name};{f'{price:,.2f}'.translate(str.maketrans(',.', '.,'))} €;{day:%d/%m/%Y};{'ja' if dear else 'nein'}"
        for name, price, day, dear in zip(names, prices, days, is_dear, strict=True)
    ]
    path.write_bytes("\n".join(["Ort;Preis;Tag;teuer", *rows, ""]).encode(encoding))


@pytest.fixture
def german(folder):
    write_german(folder / "preise.csv", pd.date_range("2024-01-01", periods=N, freq="6D"))
    return folder / "preise.csv"


def test_fit_tells_how_a_table_is_written(run, german):
    words = run("fit", "preise.csv", "-t", "teuer", *SMALL).stdout
    for said in (
        "read as      text, semicolons, Windows-1252 (Latin-1), names in the first row, decimal commas",
        "numbers      Preis",
        "categories   Ort (2)",
        "Tag becomes Tag:days",
        "note         not UTF-8, so read as cp1252 (--encoding NAME for another encoding)",
    ):
        assert said in words


def test_fit_learns_what_python_learns_from_the_same_table(fit, german, folder):
    fit("preise.csv", target="teuer")
    model = mpboost.load_model(folder / "model.mpb")
    X, _ = mpboost.read_table(german, return_notes=True)
    y = X.pop("teuer")
    same = mpboost.MPGradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    assert same.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(model.feature_probabilities_, same.feature_probabilities_)


def test_predict_takes_unclear_dates_as_in_training(fit, german, folder):
    fit("preise.csv", target="teuer")
    days = pd.DatetimeIndex(["2024-09-03", "2024-10-04", "2024-02-01"])
    write_german(folder / "new.csv", days)
    model, out = mpboost.load_model(folder / "model.mpb"), Output(quiet=True)
    for options, month_first in ((ReadingOptions(), False), (ReadingOptions(dates="mdy"), True)):
        read = pd.DatetimeIndex(read_for_model(["new.csv"], model, options, out).table["Tag"].to_pylist())
        assert (read == (pd.to_datetime(days.strftime("%Y-%d-%m")) if month_first else days)).all()


def test_predict_remembers_the_missing_words_of_training(run, fit, folder):
    rows = [f"{-999 if i % 3 == 0 else i % 7},{i % 2}" for i in range(N)]
    (folder / "t.csv").write_text("\n".join(["a,y", *rows, ""]))
    fit("t.csv", "--missing=-999", target="y")
    model, out = mpboost.load_model(folder / "model.mpb"), Output(quiet=True)
    assert read_for_model(["t.csv"], model, ReadingOptions(), out).table["a"].null_count == N // 3


def test_predict_notes_another_decimal_mark_than_in_training(run, fit, folder):
    rows = [f"{1 + i / 7:.2f};{i % 2}" for i in range(N)]
    (folder / "points.csv").write_text("\n".join(["a;y", *rows, ""]))
    (folder / "commas.csv").write_text("\n".join(["a;y", *rows, ""]).replace(".", ","))
    fit("points.csv", target="y")
    result = run("predict", "model.mpb", "commas.csv")
    assert "decimal commas, while the training table has points" in result.stderr


def test_predict_copies_columns_as_they_are_written(run, trained, folder):
    lines = (folder / "customers.csv").read_text().splitlines()
    zips = ["zip", *(f"0{i:04}" for i in range(len(lines) - 1))]
    (folder / "new.csv").write_text("\n".join(f"{line},{code}" for line, code in zip(lines, zips, strict=True)) + "\n")
    run("predict", "model.mpb", "new.csv", "--columns", "zip", "-o", "out.csv")
    assert (folder / "out.csv").read_text().splitlines()[2].startswith("00001,")


def test_model_of_the_command_line_predicts_what_pandas_reads(fit, folder):
    fit("customers.csv")
    model = mpboost.load_model(folder / "model.mpb")
    ours = mpboost.read_table(folder / "customers.csv")[["plan", "active", "signup", "seen", "age", "calls", "spend"]]
    theirs = pd.read_csv(folder / "customers.csv", parse_dates=["signup", "seen"])[ours.columns]
    np.testing.assert_array_equal(model.predict_proba(theirs), model.predict_proba(ours))


def test_model_of_the_command_line_says_what_pandas_read_otherwise(fit, german, folder):
    fit("preise.csv", target="teuer")
    model = mpboost.load_model(folder / "model.mpb")
    theirs = pd.read_csv(german, sep=";", encoding="cp1252").drop(columns="teuer")
    with pytest.raises(TypeError, match=r"Column 'Tag' of X contains String, but the model was trained on dates"):
        model.predict(theirs)
    theirs["Tag"] = pd.to_datetime(theirs["Tag"], dayfirst=True)
    with pytest.raises(TypeError, match=r"Column 'Preis' of X contains String, not numbers, such as '.*€'.*read_table"):
        model.predict(theirs)


def test_commands_read_standard_input(run, fit, german, folder):
    fit("preise.csv", target="teuer")
    expected = json.loads(run("predict", "model.mpb", "preise.csv", "-o", "a.csv", "--json").stdout)
    piped = json.loads(run("predict", "model.mpb", "-", "-o", "b.csv", "--json", stdin=german.read_bytes()).stdout)
    assert piped["counts"] == expected["counts"]
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_fit_reads_several_files_as_one(fit, folder):
    lines = (folder / "customers.csv").read_text().splitlines(keepends=True)
    for i in range(2):
        (folder / f"part-{i}.csv").write_text("".join([lines[0], *lines[1 + 100 * i : 101 + 100 * i]]))
    whole = fit("customers.csv")
    parts = fit("part-*.csv")
    assert parts["rows"] == 200
    assert parts["feature_probabilities"] == whole["feature_probabilities"]


@pytest.mark.parametrize("arguments", [("--sep", "abc"), ("--decimal", ":"), ("--dates", "ymd"), ("--encoding", "x")])
def test_options_about_tables_that_make_no_sense_are_wrong_usage(run, arguments):
    assert arguments[0].strip("-") in run("fit", "customers.csv", "-t", "churned", *arguments, code=2).stderr


def test_fit_shows_the_value_that_stood_in_the_way(run, folder):
    file = next(each for each in FILES if each.name == "word_among_numbers.csv")
    rows = file.content.decode().splitlines()
    (folder / "t.csv").write_text("\n".join([rows[0], *[f"{i},{i % 2}" for i in range(N)], "n.d.,1", ""]))
    words = run("fit", "t.csv", "-t", "b", "--keep-all", *SMALL).stdout
    assert (
        "a is read as words: 'n.d.' in row 60 (counted from 0) is not a number (--missing WORD for missing values)"
        in words
    )
    left_out = run("fit", "t.csv", "-t", "b", *SMALL, "--force", code=1).stderr
    assert "looks like an identifier: text with few repeated values, 'n.d.' in row 60" in left_out
    assert "numbers   a" in run("fit", "t.csv", "-t", "b", "--missing", "n.d.", "--force", *SMALL).stdout
