"""The tables of the pages about clusters are those of the committed results."""

import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.cluster.page import PAGES, TABLES, fill, make_table, write_pages
from benchmarks.cluster.simulation import show_simulation
from benchmarks.common.folders import RESULTS
from benchmarks.common.results import read_rows, write_rows

FOLDER = RESULTS / "cluster"
ESTIMATORS = "DaskMPBoostClassifier", "DaskMPGradientBoostingClassifier"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the results of benchmarks are not here")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_has_the_tables_of_the_results(page):
    text = page.read_text(encoding="utf-8")
    assert fill(text, FOLDER) == text


def test_pages_have_all_tables():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert all(f"<!-- made by benchmarks.cluster page: {name} -->" in text for name in TABLES)


def test_all_models_that_were_measured_are_those_of_one_machine():
    assert {row["same model"] for row in read_rows(FOLDER / "fits.csv")} == {"yes"}
    assert {row["outcome"] for row in read_rows(FOLDER / "kills.csv")} == {"same bits"}


def test_table_that_was_not_measured_says_what_to_run(tmp_path):
    assert make_table("prediction", tmp_path) == "Not measured yet: `python -m benchmarks.cluster.prediction`."


def test_pages_do_not_show_quick_runs(tmp_path):
    with pytest.raises(SystemExit, match="leave out --quick"):
        write_pages(tmp_path, quick=True)


def test_tables_are_made_of_what_was_measured(tmp_path):
    exchanges = [["exchange", "nothing", "0.5"], ["exchange", "1 MB", "1.5"], ["actor", "nothing", "1.0"]]
    write_rows(tmp_path / "latency.csv", ["way", "one way", "median"], exchanges)
    hub = [[str(n), str(0.3 + 0.1 * n)] for n in (2, 5, 9)]
    write_rows(tmp_path / "hub.csv", ["shards", "processor time of shard 0"], hub)
    columns = ["part", "calls", "own work", "joining", "waiting and sending", "kB in", "kB out to each"]
    parts = [
        ["between exchanges", "1.00", "10", "0", "0", "0", "0"],
        ["sharded_patches.train_in_shards", "0.25", "2", "0.5", "1.5", "30", "20"],
    ]
    rounds = [[name, "2000000", *part] for name in ESTIMATORS for part in parts]
    write_rows(tmp_path / "rounds.csv", ["estimator", "rows", *columns], rounds)
    columns = ["estimator", "rows", "local", "cluster", "ratio", "its ratio"]
    write_rows(
        tmp_path / "prediction.csv", columns, [["MPBoostClassifier", "10000000", "5.00", "5.50", "1.10", "1.05"]]
    )
    show_simulation(tmp_path, quick=False)

    made = {name: make_table(name, tmp_path).splitlines() for name in ("rounds", "costs", "simulation", "prediction")}
    assert made["rounds"][-1] == "| gradient | all | 1.25 | 12.00 | 0.50 | 1.50 | 30.00 | 20.00 |"
    assert "| c | 10.00 ns | 10.00 ns |" in made["costs"]
    assert made["simulation"][0] == "|  | workers | 100 000 000 rows | 1 000 000 000 rows | 10 000 000 000 rows |"
    assert len(made["simulation"]) == 2 + 2 * (5 + 1)
    assert made["prediction"][-1] == "| votes | 10 000 000 | 5.00 s | 5.50 s | 1.10 | 1.05 |"
