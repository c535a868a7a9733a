"""Gains and serial shares follow Amdahl's law, and the benchmark runs."""

import math

import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.results import read_rows
from benchmarks.contestants.measuring import Outcome
from benchmarks.data.made_up import make_noisy_classes
from benchmarks.threads import __main__ as command
from benchmarks.threads.__main__ import describe, estimate_gain, find_serial_share

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_serial_share_is_found_from_its_gain(share):
    assert find_serial_share(estimate_gain(share, 2)) == pytest.approx(share)


@pytest.mark.parametrize(("gain", "share"), [(2.2, 0.0), (0.8, 1.0)], ids=["more than twice", "slower"])
def test_serial_share_stays_a_share(gain, share):
    assert find_serial_share(gain) == share


def test_description_has_gain_busy_processors_and_estimates():
    one = [Outcome(90.0, seconds, cpu_seconds=seconds) for seconds in (3.0, 3.0, 9.0)]
    two = [Outcome(90.0, seconds, cpu_seconds=1.6 * seconds) for seconds in (2.0, 2.0, 6.0)]
    cells = describe(one, two, asked=1.7)
    assert cells[:6] == ["90.00", "3.000", "2.000", "1.50x", "1.7x", "MISSED"]
    assert cells[6:] == ["1.60", "+7 %", "33 %", "25 %", "2.4x", "2.7x"]
    assert describe(one, two, asked=math.nan)[4:6] == ["", ""]


def test_noisy_classes_have_so_many_rows_and_flips():
    split_set = make_noisy_classes("few", 3000, 20, 500)
    assert (split_set.X_train.shape, split_set.X_test.shape) == ((3000, 20), (500, 20))
    assert split_set.X_train.dtype == "float32"
    assert make_noisy_classes("few", 3000, 20, 500, seed=1).y_test.tolist() != split_set.y_test.tolist()


def test_threads_quick_compares_one_with_two(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "N_TEST", 500)
    arguments = ["--quick", "--only", "1M x 20", "--contestants", "MPBoost", "MPGradientBoosting"]
    assert command.main([*arguments, "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "threads.csv")
    assert [row["contestant"] for row in rows] == ["MPBoost", "MPGradientBoosting"]
    assert all(float(row["test score"]) > 75 and float(row["busy processors"]) > 0 for row in rows)
