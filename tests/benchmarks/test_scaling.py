"""Scaling skips, ends and resumes fits as it says, and its slopes and pictures are right."""

import csv
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the benchmarks draw with matplotlib")
pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.pictures import save_picture
from benchmarks.contestants import CONTESTANTS, find_installed
from benchmarks.scaling import __main__ as command
from benchmarks.scaling import fits as scaling
from benchmarks.scaling import tables, worker
from benchmarks.scaling.fits import Fit, Outcome, Results
from benchmarks.scaling.picture import STYLES, draw_scaling, find_slope, format_size

pytestmark = pytest.mark.slow

needs_linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="asks Linux for the peak of memory")

GIVEN_UP = Outcome(reason="ended: too long")


def curve(*seconds):
    return [(10**power, Outcome(taken)) for power, taken in enumerate(seconds, 1)]


@pytest.fixture
def calls(monkeypatch):
    """Fits that would have been run; a cell takes 0.1 us, or 100 us in a forest."""
    fits = []

    def run_fit(fit, cap):
        fits.append(fit)
        seconds = fit.n_rows * fit.n_columns * (1e-4 if fit.contestant == "RandomForest" else 1e-7)
        return Outcome(seconds, seconds, 1e3 * fit.n_rows, 0.75, cap=cap)

    monkeypatch.setattr(scaling, "run_fit", run_fit)
    return fits


def run_main(folder, *arguments):
    return command.main(["--results", str(folder / "scaling.csv"), "--images", str(folder), *arguments])


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [([2.0], 20.0), ([1.0, 10.0], 100.0), ([5.0, 1.0, 100.0], 10_000.0), ([3.0, 2.0], 2.0)],
    ids=["one size", "linear", "the last two", "never falls"],
)
def test_forecast_goes_on_as_the_last_two_sizes(seconds, expected):
    assert scaling.forecast(curve(*seconds), 10 ** (len(seconds) + 1)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        ([], ""),
        (curve(50.0), ""),
        (curve(1.0, 9.0), ""),
        (curve(1.0, 12.0), "skipped: about 144 s expected, the cap is 100 s"),
        ([*curve(1.0), (100, GIVEN_UP)], "skipped: 100 was ended"),
    ],
    ids=["nothing known", "one size", "short enough", "too long", "given up before"],
)
def test_reason_to_skip_needs_two_sizes_or_a_failure(history, reason):
    assert scaling.find_reason_to_skip(history, 1000, 100.0) == reason


@pytest.mark.slow
def test_scaling_skips_by_name_and_goes_on_where_it_stood(tmp_path, calls, capsys, monkeypatch):
    assert run_main(tmp_path, "--only", "MPBoost", "RandomForest") == 0
    assert "RandomForest, 1M rows: skipped: about 2000 s expected, the cap is 120 s" in capsys.readouterr().out
    # The forest's first two sizes on either axis are tried, for there is nothing to judge by.
    assert [fit.contestant for fit in calls].count("RandomForest") == 4
    assert len(calls) == 8 + 4
    with (tmp_path / "scaling.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    assert sum(row["reason"].startswith("skipped") for row in rows) == 4
    assert all(row["threads"] == "1" and row["machine"] and row["date"] for row in rows)
    for name in ("scaling_rows.png", "scaling_columns.svg"):
        assert (tmp_path / name).stat().st_size > 5000

    monkeypatch.setattr(tables, "save_picture", lambda *arguments: [])  # which takes a second
    calls.clear()
    assert run_main(tmp_path, "--only", "MPBoost") == 0
    assert calls == []
    # Pictures and tables keep what other runs measured.
    assert "RandomForest" in capsys.readouterr().out

    assert run_main(tmp_path, "--only", "RandomForest", "--cap", "3000") == 0
    assert [(fit.axis, fit.size) for fit in calls] == [("rows", 1_000_000), ("columns", 1000)]
    assert run_main(tmp_path, "--only", "MPBoost", "--fresh") == 0
    assert "RandomForest" not in (tmp_path / "scaling.csv").read_text(encoding="utf-8")


def test_scaling_keeps_what_was_measured_before_an_interrupt(tmp_path, calls, monkeypatch):
    run_fit = scaling.run_fit

    def interrupt(fit, cap):
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_fit(fit, cap)

    monkeypatch.setattr(scaling, "run_fit", interrupt)
    monkeypatch.setattr(tables, "save_picture", lambda *arguments: [])
    with pytest.raises(KeyboardInterrupt):
        run_main(tmp_path, "--quick")
    monkeypatch.setattr(scaling, "run_fit", run_fit)
    assert run_main(tmp_path, "--quick") == 0
    assert len(calls) == len(set(calls)) == 8


def test_scaling_tells_how_much_of_a_core_the_fits_had():
    assert tables.describe_share([Outcome(5.0, 10.0), GIVEN_UP]).endswith("the fits had 50 % of a core")


def test_results_are_told_apart_by_version(tmp_path):
    results = Results(tmp_path / "new" / "scaling.csv")
    old, new = (Fit("LightGBM", version, "rows", 10, 20) for version in ("4", "5"))
    results.add(old, Outcome(1.5, 1.0, 2e6, 0.75, cap=9.0))
    results = Results(tmp_path / "new" / "scaling.csv")
    assert results.outcomes == {old: Outcome(1.5, 1.0, 2e6, 0.75, cap=9.0)}
    assert results.knows(old, 1e9)
    assert not results.knows(new, 1.0)
    assert results.history(Fit("LightGBM", "5", "rows", 100, 20)) == []


@pytest.mark.parametrize(
    ("exit_code", "output", "reason"),
    [
        (0, '{"seconds": 2.0}', ""),
        (-signal.SIGKILL, "", "killed: probably there was not enough memory"),
        (1, "", "failed: ValueError: no"),
    ],
    ids=["measured", "killed", "failed"],
)
def test_run_fit_tells_how_it_ended(exit_code, output, reason, monkeypatch):
    finished = subprocess.CompletedProcess([], exit_code, f"noise\n{output}", "Traceback\nValueError: no\n")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: finished)
    outcome = scaling.run_fit(Fit("MPBoost", "1", "rows", 10, 2), 1.0)
    assert outcome.reason == reason
    assert (outcome.seconds == 2.0) == (not reason)


@pytest.mark.slow
@needs_linux
def test_run_fit_ends_a_process_that_overruns():
    outcome = scaling.run_fit(Fit("RandomForest", "1", "rows", 50_000, 20), 0.05)
    assert outcome.reason == "ended: took longer than 0.1 s, twice the cap"


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize("name", ["MPBoost", "HistGradientBoosting"])
def test_measure_learns_the_table(name, monkeypatch):
    monkeypatch.setattr(worker, "N_TEST", 1000)
    figures = worker.measure(name, 1000, 5, limit=100.0)
    assert figures["accuracy"] > 0.65
    assert 0 < figures["seconds"] < 10
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_every_contestant_has_a_version_and_a_look_of_its_own():
    assert set(scaling.NAMES) <= STYLES.keys()
    assert all(len(set(looks)) == len(STYLES) for looks in list(zip(*STYLES.values(), strict=True))[:2])
    assert all(CONTESTANTS[name].version[0].isdigit() for name in find_installed(scaling.NAMES))


@pytest.mark.parametrize(
    ("points", "slope"),
    [
        ([(1, 50.0), (10, 3.0), (100, 30.0), (1000, 300.0)], 1.0),
        ([(10, 2.0), (1000, 20.0)], 0.5),
        ([(10, 2.0)], np.nan),
    ],
    ids=["upper sizes", "two sizes", "one size"],
)
def test_slope_is_that_of_upper_sizes(points, slope):
    assert find_slope(points) == pytest.approx(slope, nan_ok=True)


@pytest.mark.slow
def test_picture_is_the_same_on_every_day_and_names_slopes_and_gaps(tmp_path):
    panels = {"seconds": {"MPBoost": [(10, 1.0), (1000, 10.0)], "XGBoost": []}, "MB": {"MPBoost": [(10, 1.0)]}}
    pictures = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        png, svg = save_picture(draw_scaling(panels, "rows", ["XGBoost (1k)"]), folder / "scaling")
        pictures.append(svg.read_bytes())
        assert png.read_bytes()[:4] == b"\x89PNG"
    assert pictures[0] == pictures[1]
    assert len(pictures[0]) < 60_000
    for words in ("MPBoost (0.50)", "Skipped or ended: XGBoost (1k)"):
        assert words in pictures[0].decode()


@pytest.mark.parametrize(("size", "text"), [(5, "5"), (2500, "2.5k"), (10_000, "10k"), (1_000_000, "1M")])
def test_format_size(size, text):
    assert format_size(size) == text
