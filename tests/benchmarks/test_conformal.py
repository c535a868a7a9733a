"""The benchmark of intervals measures what it says, and the page says what its files say."""

import numpy as np
import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.folders import RESULTS
from benchmarks.common.pages import fill, list_tables
from benchmarks.common.results import read_rows
from benchmarks.quality import conformal
from tests.support.benchmarks import needs

FOLDER = RESULTS / "quality"
needs_results = pytest.mark.skipif(not FOLDER.exists(), reason="the results of benchmarks are not here")


@needs_results
def test_page_has_the_tables_of_the_results():
    text, tables = conformal.PAGE.read_text(encoding="utf-8"), conformal.make_tables(FOLDER)
    assert sorted(list_tables(text, conformal.COMMAND)) == sorted(tables)
    assert fill(text, conformal.COMMAND, tables) == text


@needs_results
def test_coverage_is_within_two_points_on_average():
    rows = read_rows(FOLDER / "conformal.csv")
    for method in ("mpboost, votes", "mpboost, gradient"):
        own = [row for row in rows if (row["method"], row["rows at most"]) == (method, "1000")]
        assert len(own) == len(conformal.NAMES)
        for coverage in conformal.COVERAGES:
            held = np.mean([conformal.read_share(row, coverage) for row in own])
            assert held == pytest.approx(100 * coverage, abs=2)


@pytest.mark.slow
@needs("bank_32nh.npz")
@needs("vehicle.npz")
def test_conformal_quick_has_a_row_for_each_set_and_method(tmp_path):
    for package in ("mapie", "lightgbm"):
        pytest.importorskip(package)
    assert conformal.main(["--quick", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "conformal.csv")
    methods = {kind: conformal.list_methods(kind == "numbers", has_many=True) for kind in ("numbers", "classes")}
    expected = [(kind, method) for kind, each in methods.items() for method in each]
    assert [(row["kind"], row["method"]) for row in rows] == expected
    assert all(60 < conformal.read_share(row, 0.8) <= conformal.read_share(row, 0.95) <= 100 for row in rows)
    assert "mpboost, gradient, spread" in conformal.tabulate_means(tmp_path)


def test_groups_are_quarters_of_the_feature_that_goes_with_the_target():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    X[::50, 0] = np.nan
    groups = conformal.find_groups(X, X[:, 1] + 0.1 * rng.normal(size=400))
    assert np.bincount(groups).tolist() == [100, 100, 100, 100]
    assert all(X[groups == k, 1].max() < X[groups == k + 1, 1].min() for k in range(3))
    assert np.unique(conformal.find_groups(X > 0.5, X[:, 1])).tolist() == [0, 1]


def test_judge_tells_what_is_held_and_how_large_it_is():
    held, sizes = conformal.judge(np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([0.5, 1.9]))
    assert (held.tolist(), sizes.tolist()) == ([True, False], [1.0, 2.0])
    held, sizes = conformal.judge(np.array([[True, True, False], [False, False, True]]), np.array([2, 2]))
    assert (held.tolist(), sizes.tolist()) == ([False, True], [2.0, 1.0])


def test_tables_of_a_page_are_those_of_the_command_alone():
    text = "a\n<!-- made by x: one -->\nold\n<!-- end -->\n<!-- made by y: one -->\nkept\n<!-- end -->\n"
    filled = fill(text, "x", {"one": lambda: "| new |"})
    assert filled == text.replace("old", "\n| new |\n")
    assert list_tables(text, "y") == ["one"]
    with pytest.raises(KeyError):
        fill(text, "x", {})
