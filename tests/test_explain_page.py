"""The page "Explain a model" has the figures that were measured."""

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explain.md"
RESULTS = ROOT / "benchmarks" / "results" / "speed"


@pytest.mark.parametrize("name", ["contributions", "interactions", "contributions_saturated"])
def test_figures_of_the_page_are_those_that_were_measured(name):
    lines = {line.replace(" ", "") for line in PAGE.read_text(encoding="utf-8").splitlines()}
    with (RESULTS / f"{name}.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            hidden = (
                "mpboost",
                "machine",
                "date",
                *(() if name == "contributions_saturated" else ("leaves per tree",)),
            )
            cells = [value for column, value in row.items() if column not in hidden]
            assert f"|{'|'.join(cells)}|".replace(" ", "") in lines
