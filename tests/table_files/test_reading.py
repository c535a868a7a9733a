"""Files as they really are, and what ``read_table`` makes of them."""

import io
import sys
import tempfile
import warnings
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mpboost
from mpboost.table_files.dates import DateText
from mpboost.table_files.distinct import Distinct
from mpboost.table_files.numbers import NumberText
from tests.support.awkward_files import FILES, PAGE, make_page_table


def plain(value):
    """Write a moment as a day if it has no time, and a moment of a time zone as text."""
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            return str(value)
        return value.date() if value.time() == datetime.min.time() else value.replace(tzinfo=None)
    return value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_read_table_reads_awkward_files_or_says_why_not(file, tmp_path):
    path = file.write(tmp_path)
    if not file.columns and not file.name.startswith("late"):
        with pytest.raises(ValueError, match=r"(cannot be read|is empty)") as caught:
            mpboost.read_table(path, **file.options)
        assert file.says in str(caught.value)
        assert path.name in str(caught.value)
        return
    table, notes = mpboost.read_table(path, frame="pyarrow", return_notes=True, **file.options)
    assert (file.says in "; ".join(notes)) if file.says else not notes
    if file.columns:
        read = {name: [plain(value) for value in table[name].to_pylist()] for name in table.column_names}
        assert read == {name: [plain(value) for value in values] for name, values in file.columns.items()}


def test_read_table_is_documented_file_by_file():
    assert len(FILES) >= 40
    assert make_page_table() in PAGE.read_text(encoding="utf-8")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;d\n1,5;x;31.12.2024\n;y;1.2.2025\n")
    return path


def test_read_table_makes_frames_of_several_libraries(table):
    frames = {kind: mpboost.read_table(table, frame=kind) for kind in ("pandas", "polars", "pyarrow")}
    assert {kind: type(frame).__module__.split(".")[0] for kind, frame in frames.items()} == {
        "pandas": "pandas",
        "polars": "polars",
        "pyarrow": "pyarrow",
    }
    assert frames["pandas"]["d"].dt.month.tolist() == [12, 2]
    assert frames["pandas"]["a"].isna().tolist() == [False, True]
    assert type(mpboost.read_table(table)) is type(frames["pandas"])
    with pytest.raises(ValueError, match="frame must be"):
        mpboost.read_table(table, frame="spark")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"sep": "ab"}, "sep must be one character"),
        ({"decimal": ":"}, "decimal must be"),
        ({"sep": ",", "decimal": ","}, "cannot both be ','"),
        ({"dates": "ymd"}, "dates must be"),
        ({"encoding": "utf-9"}, "encoding 'utf-9' is unknown"),
        ({"encoding": "ascii"}, "it is not encoded in ascii"),
    ],
    ids=str,
)
def test_read_table_refuses_options_that_make_no_sense(option, words, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;ä\n", encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        mpboost.read_table(path, **option)


def test_read_table_warns_of_what_is_unusual(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,a\n1,2\n")
    with pytest.warns(UserWarning, match=r"t\.csv: 2 columns are called 'a': the others become 'a\.1'"):
        mpboost.read_table(path)


def test_read_table_leaves_dates_as_words_if_told(table):
    assert mpboost.read_table(table, dates="words", frame="pyarrow")["d"].to_pylist() == ["31.12.2024", "1.2.2025"]


def test_read_table_takes_the_first_row_as_it_is_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n6,7\n")
    with_names, _ = mpboost.read_table(path, header=True, frame="pyarrow", return_notes=True)
    without, _ = mpboost.read_table(path, header=False, frame="pyarrow", return_notes=True)
    assert with_names.to_pydict() == {"1": [3, 6], "2": [4, 7]}
    assert without.to_pydict() == {"column1": [1, 3, 6], "column2": [2, 4, 7]}


def test_read_table_reads_a_sheet_by_its_name(tmp_path):
    path = next(file for file in FILES if file.name == "sales.xlsx").write(tmp_path)
    sales, _ = mpboost.read_table(path, sheet="Sales", frame="pyarrow", return_notes=True)
    assert sales["shop"].to_pylist() == ["north", "south"]
    with pytest.raises(ValueError, match=r"has no sheet 'sales'; did you mean 'Sales'\?"):
        mpboost.read_table(path, sheet="sales")
    with pytest.raises(ValueError, match=r"is empty: it has 0 rows"):
        mpboost.read_table(path, sheet="Notes")


def test_read_table_reads_several_files_as_one(tmp_path):
    for i in range(3):
        pa.parquet.write_table(pa.table({"a": [i], "b": [str(i)]}), tmp_path / f"part-{i}.parquet")
    expected = {"a": [0, 1, 2], "b": ["0", "1", "2"]}
    for paths in (tmp_path / "part-*.parquet", tmp_path, [tmp_path / f"part-{i}.parquet" for i in range(3)]):
        assert mpboost.read_table(paths, frame="pyarrow").to_pydict() == expected


def test_read_table_decides_the_types_of_several_text_files_at_once(tmp_path):
    for i, content in enumerate(["a,b\n1,x\n", "b,a\ny,n.d.\n"]):
        (tmp_path / f"{i}.csv").write_text(content)
    table, _ = mpboost.read_table(tmp_path / "*.csv", frame="pyarrow", return_notes=True)
    assert table.to_pydict() == {"a": ["1", "n.d."], "b": ["x", "y"]}


def test_read_table_names_the_columns_that_only_one_file_has(tmp_path):
    for i, name in enumerate("ab"):
        (tmp_path / f"{i}.csv").write_text(f"{name},c\n1,2\n")
    with pytest.raises(ValueError, match="different columns: only one of them has 'a', 'b'"):
        mpboost.read_table([tmp_path / "0.csv", tmp_path / "1.csv"])


def test_read_table_refuses_files_of_different_types(tmp_path):
    pa.parquet.write_table(pa.table({"a": [1]}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match="columns of different types"):
        mpboost.read_table(tmp_path)


def test_read_table_leaves_the_words_of_parquet_alone(tmp_path):
    pa.parquet.write_table(pa.table({"code": ["01", "-", "NA"]}), tmp_path / "t.parquet")
    assert mpboost.read_table(tmp_path / "t.parquet", frame="pyarrow")["code"].to_pylist() == ["01", "-", "NA"]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.npz"])
def test_read_table_says_that_a_file_is_not_what_its_name_says(name, tmp_path):
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="although its name says so"):
        mpboost.read_table(tmp_path / name)


def test_read_table_reads_standard_input(monkeypatch):
    class Pipe:
        buffer = io.BytesIO(b"a;b\n1;x\n")

    monkeypatch.setattr(sys, "stdin", Pipe)
    assert mpboost.read_table("-", frame="pyarrow").to_pydict() == {"a": [1], "b": ["x"]}


def test_read_table_reads_long_rows_and_many_blocks(tmp_path):
    rng = np.random.default_rng(0)
    numbers, words = rng.normal(size=40_000).round(6), ["w" * n for n in rng.integers(1, 300, 40_000)]
    lines = "\n".join(f"{number},{word}" for number, word in zip(numbers, words, strict=True))
    (tmp_path / "t.csv").write_text(f"a,b\n{lines}\n")
    table = mpboost.read_table(tmp_path / "t.csv", frame="pyarrow")
    assert table.to_pydict() == {"a": numbers.tolist(), "b": words}


def test_numbers_of_text_are_those_that_python_reads(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=500) * 10.0 ** rng.integers(-12, 12, 500)
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "\n".join(f"{x!r};{x!r}".replace(".", ",") for x in numbers.tolist()) + "\n")
    table = mpboost.read_table(path, frame="pyarrow")
    assert table["a"].to_pylist() == numbers.tolist()


MARKS = st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", "."), ("\u202f", ",")])


@given(
    numbers=st.lists(st.decimals(-9_999_999, 9_999_999, places=2), min_size=1, max_size=8),
    marks=MARKS,
    signs=st.sampled_from([("", ""), ("$", ""), ("", " €"), ("", "%")]),
)
@settings(max_examples=60, deadline=None)
def test_numbers_are_read_however_they_are_written(numbers, marks, signs):
    thousands, decimal = marks
    text = [f"{number:,.2f}".replace(",", "T").replace(".", decimal).replace("T", thousands) for number in numbers]
    text = [
        signs[0] + each + signs[1] if not each.startswith("-") else f"-{signs[0]}{each[1:]}{signs[1]}" for each in text
    ]
    column = Distinct.of(pa.chunked_array([text]))
    examined = NumberText.examine(column)
    assert examined is not None
    assert not examined.obstacle
    unit = 100.0 if signs[1] == "%" else 1.0
    assert examined.convert(decimal).to_pylist() == [float(number) / unit for number in numbers]


@given(
    st.lists(st.dates(date(1900, 1, 1), date(2099, 12, 31)), min_size=1, max_size=8), st.sampled_from(["dmy", "mdy"])
)
@settings(max_examples=60, deadline=None)
def test_dates_are_read_however_they_are_written(days, order):
    for mark in "./-":
        parts = [(day.day, day.month) if order == "dmy" else (day.month, day.day) for day in days]
        text = [f"{first}{mark}{second}{mark}{day.year}" for (first, second), day in zip(parts, days, strict=True)]
        examined = DateText.examine(Distinct.of(pa.chunked_array([text])))
        assert examined is not None
        assert order in examined.orders
        assert examined.convert(order).to_pylist() == days


@given(st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_a_table_or_an_error_in_words(content):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "t.csv"
        path.write_bytes(content)
        words = ""
        try:
            assert mpboost.read_table(path, frame="pyarrow").num_rows
        except ValueError as error:
            words = str(error)
    assert not words or "t.csv" in words
