"""Rounds of one and of several minipatches are compared seed by seed, and the run goes on where it stood."""

import numpy as np
import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.results import read_rows
from benchmarks.contestants.measuring import Outcome
from benchmarks.rounds import __main__ as command
from benchmarks.rounds import fits
from benchmarks.rounds.__main__ import describe_difference, summarise
from tests.support.benchmarks import needs, run_benchmark

pytestmark = pytest.mark.slow


@pytest.fixture
def fitted(monkeypatch):
    """Fits that would have been run; the default is half a point worse, and varies a little with the seed."""
    calls = []

    def measure_fit(family, split_set, plan, **parameters):
        calls.append((family, split_set.name, plan.seed, parameters))
        return Outcome(90.0 - (0.0 if parameters else 0.5 + 0.01 * plan.seed), 1.0, cpu_seconds=2.0)

    monkeypatch.setattr(fits, "measure", measure_fit)
    for module in (command, fits):
        monkeypatch.setattr(module, "has_rounds", lambda family: True)
    return calls


@needs("colon.npz")
@needs("vehicle.npz")
def test_rounds_compare_the_default_with_one_and_go_on(tmp_path, fitted, capsys):
    arguments = ["--quick", "--only", "colon", "vehicle", "--seeds", "3", "--output", str(tmp_path)]
    assert command.main(arguments) == 0
    assert len(fitted) == 2 * 2 * 3 * 2
    assert [parameters for *_, seed, parameters in fitted[:8] if seed == 0] == [{"round_size": 1}, {}] * 2
    assert [parameters for *_, seed, parameters in fitted[:8] if seed == 1] == [{}, {"round_size": 1}] * 2
    rows = read_rows(tmp_path / "MPBoost.csv")
    assert [row["difference"] for row in rows] == ["-0.51 ± 0.01"] * 2
    assert [row["beyond noise"] for row in rows] == ["WORSE"] * 2
    (one, _) = read_rows(tmp_path / "summary.csv")
    assert (one["mean"], one["sets"]) == ("-0.510", "2")

    fitted.clear()
    assert command.main(arguments) == 0
    assert fitted == []
    assert "12 of 12 pairs of fits are known" in capsys.readouterr().out
    assert command.main([*arguments, "--fresh", "--contestants", "MPBoost"]) == 0
    assert {family for family, *_ in fitted} == {"MPBoost"}
    assert len(read_rows(tmp_path / "fits.csv")) == 12


@pytest.mark.benchmark
@needs("colon.npz")
def test_rounds_run_in_two_processes_with_the_library_as_it_is(tmp_path):
    arguments = ["--only", "colon", "--seeds", "1", "--contestants", "MPBoost", "--workers", "2"]
    finished = run_benchmark("rounds", *arguments, "--output", str(tmp_path))
    assert finished.returncode == 0, finished.stderr
    (row,) = read_rows(tmp_path / "fits.csv")
    assert 40 < float(row["one"]) <= 100


@pytest.mark.parametrize(
    ("differences", "words"),
    [([0.1, -0.1, 0.0], ""), ([0.5, 0.51, 0.52], "better"), ([-0.5, -0.51, -0.52], "WORSE"), ([-9.0], "")],
    ids=["noise", "better", "worse", "one seed"],
)
def test_difference_counts_if_its_interval_leaves_out_zero(differences, words):
    assert describe_difference(np.array(differences), n_sets=2)[1] == words


def test_summary_of_one_set_has_no_interval():
    assert summarise([0.25]) == ["+0.250", "", "+0.25", "+0.25"]
