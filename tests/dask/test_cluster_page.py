"""The figures of the page about clusters are those of the committed results."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = {"MPBoostClassifier": "votes", "MPGradientBoostingClassifier": "gradient"}


def test_page_has_the_times_of_fits_that_were_measured():
    path = ROOT / "benchmarks" / "results" / "cluster" / "fits.csv"
    if not path.exists():
        pytest.skip("the results of benchmarks are not here")
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) == 6
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    for line in lines:
        name, rows, trees, placement, local, _, cluster, _, ratio, of_trees, same, *_ = line.split(",")
        assert same == "yes"
        rows = f"{int(rows):,}".replace(",", " ")
        cells = [NAMES[name], rows, trees, placement, f"{local} s", f"{cluster} s", ratio, of_trees]
        assert f"| {' | '.join(cells)} |" in page
