"""The page "Explain a model" says what happens."""

import csv
import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explain.md"
RESULTS = ROOT / "benchmarks" / "results" / "speed"


@pytest.mark.slow
def test_examples_of_the_page_print_what_it_says():
    plt = pytest.importorskip("matplotlib.pyplot", reason="some of them draw")
    plt.switch_backend("Agg")
    outcome = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    plt.close("all")
    assert outcome.attempted > 20
    assert outcome.failed == 0


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
