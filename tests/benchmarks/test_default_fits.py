"""Default fits are measured in turns beside LightGBM and an older revision, in processes of their own."""

import subprocess
import sys

import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.folders import PROJECT
from benchmarks.common.growing_table import GrowingTable
from benchmarks.common.results import FACTS, read_rows
from benchmarks.common.side_by_side import run_side_by_side
from benchmarks.compare.builds import BuildError
from benchmarks.speed import default_fits, ten_million, worker
from benchmarks.speed.default_fits import describe, describe_reached, open_other, run_turns
from tests.support.benchmarks import needs

pytestmark = pytest.mark.slow


class StandIn:
    """Answers like a worker."""

    def __init__(self, seconds, calls):
        self.seconds, self.calls = seconds, calls

    def ask(self, workload, seed, **more):
        self.calls.append((self.seconds, workload, seed, more.get("target")))
        seconds = 1.0 if workload == "LightGBM" else self.seconds
        return {"seconds": seconds, "score": 80.0, "predict_seconds": seconds / 10, "reached": seconds / 2}


@pytest.fixture
def table(tmp_path):
    return GrowingTable(tmp_path / "turns.csv", default_fits.KEY, default_fits.FIGURES)


def make_turn(**figures):
    return dict.fromkeys(default_fits.FIGURES, "") | {name: str(value) for name, value in figures.items()}


def test_turns_alternate_and_are_not_taken_again(table):
    pytest.importorskip("lightgbm")
    calls = []
    now, before = StandIn(2.0, calls), StandIn(4.0, calls)
    run_turns("gradient", "magic", 2, now, before, "old", table)
    # The target is the score of LightGBM in the same turn; fits without one load what is loaded only at first.
    asked = [(seconds, seed) for seconds, name, seed, target in calls if target == 80.0]
    assert asked == [(4.0, 0), (2.0, 0), (2.0, 1), (4.0, 1)]
    cells = dict(zip(default_fits.COLUMNS[2:], describe(table.rows), strict=True))
    assert (cells["before / LightGBM"], cells["now / LightGBM"], cells["before / now"]) == ("4.00", "2.00", "2.00")
    assert (cells["to LightGBM's score, before"], cells["and now"]) == ("2.000", "1.000")
    assert cells["before / now, prediction"] == "2.00"
    calls.clear()
    run_turns("gradient", "magic", 2, now, before, "old", table)
    assert calls == []


def test_a_failure_is_said_and_tried_again(table, capsys):
    class Broken(StandIn):
        def ask(self, workload, seed, **more):
            return {"failure": "TypeError: no"}

    run_turns("small", worker.SMALLEST, 1, Broken(1.0, []), None, "", table)
    assert "now: TypeError: no" in capsys.readouterr().out
    assert table.rows == []


def test_cells_of_a_revision_that_did_not_run_are_empty():
    cells = describe([make_turn(now_seconds=2.0, now_score=80.0)])
    assert (cells[0], cells[2], cells[5]) == ("", "", "2.000")


def test_never_reached_is_never():
    turns = [make_turn(lightgbm_seconds=1, now_seconds=1, now_reached=r) for r in ("", "", 0.5)]
    assert describe_reached(turns, "now") == "never"
    assert describe_reached(turns[1:], "before") == ""


def test_default_fits_quick_runs_a_small_fit_in_another_environment(tmp_path):
    arguments = ["--quick", "--against", sys.executable, "--output", str(tmp_path)]
    assert default_fits.main(arguments) == 0
    rows = read_rows(tmp_path / "default_fits_small.csv")
    assert [row["contestant"] for row in rows] == ["MPBoost", "MPGradientBoosting"]
    assert all(float(row["before s"]) > 0 and float(row["score now"]) > 90 for row in rows)


def test_other_revision_must_be_known_and_have_the_library(tmp_path):
    with pytest.raises(BuildError, match="no-such"):
        open_other("no-such")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(BuildError, match="cannot import mpboost"):
        open_other(str(python))


@needs("spambase.npz")
@pytest.mark.parametrize("contestant", ["LightGBM", "MPBoost", "MPGradientBoosting"])
def test_worker_measures_a_fit(contestant, monkeypatch):
    if contestant == "LightGBM":
        pytest.importorskip("lightgbm")
    monkeypatch.setattr(worker, "N_PREDICTED", 500)
    monkeypatch.setattr(worker, "load", lambda name, seed: worker.load_split(name, seed, 400))
    answer = worker.answer({"workload": contestant, "set": "spambase", "seed": 0, "target": 70.0})
    assert answer["score"] > 85
    assert answer["predict_seconds"] > 0
    if contestant == "LightGBM":
        assert answer["reached"] is None
    else:
        assert 0 < answer["reached"] <= answer["seconds"]
        request = {"workload": contestant, "set": "spambase", "seed": 0}
        assert worker.answer({**request, "target": 101.0})["reached"] is None
    assert "KeyError" in worker.answer({})["failure"]


def test_worker_imports_nothing_of_the_library_before_it_is_asked():
    code = "import sys, benchmarks.speed.worker; sys.exit('mpboost' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True)


def test_ten_million_quick_measures_time_and_memory(tmp_path, monkeypatch):
    arguments = ["--quick", "--only", "MPBoost", "--output", str(tmp_path)]
    assert ten_million.main(arguments) == 0
    (row,) = read_rows(tmp_path / "ten_million.csv")
    assert float(row["bytes per row"]) > 0
    monkeypatch.setattr(ten_million, "run_fit", pytest.fail)
    assert ten_million.main(arguments) == 0


def test_growing_table_goes_on_and_forgets(tmp_path):
    path = tmp_path / "new" / "table.csv"
    GrowingTable(path, ["set"], ["score"]).add([{"set": "a", "score": 1.5}, {"set": "b", "score": 2}])
    table = GrowingTable(path, ["set"], ["score"])
    assert table.knows(set="a")
    assert not table.knows(set="c")
    table.forget(lambda row: row["set"] == "a")
    (row,) = read_rows(path)
    assert (row["set"], row["score"]) == ("b", "2")
    assert all(row[fact] for fact in FACTS)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_side_by_side_gives_each_task_its_result(n_workers):
    assert dict(run_side_by_side(abs, [-1, 2, -3], n_workers)) == {-1: 1, 2: 2, -3: 3}
