"""The figures of the page about the command line are those of the benchmark."""

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("name", "column"), [("command_line", "ours"), ("reading", "s")])
def test_page_quotes_the_benchmark(name, column):
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    with (ROOT / "benchmarks" / "results" / "speed" / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    place = rows[0].index(column)
    assert len(rows) > 4
    for row in rows[1:]:
        assert f"| {row[0]} | {row[place]} |" in page
