"""The demo runs anywhere, prints what it promises, and its pictures show something."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DEMO = Path(__file__).resolve().parent.parent / "examples" / "demo.py"

image = pytest.importorskip("matplotlib.image", reason="the demo draws with matplotlib")
pytest.importorskip("typer", reason="the demo is the command line")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def finished(folder):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONUTF8": "1", "COLUMNS": "120"}
    command = [sys.executable, "-W", "error", str(DEMO)]
    finished = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished


@pytest.fixture(scope="module")
def output(finished):
    return finished.stdout


def test_demo_shows_progress_of_training(finished):
    assert re.search(r"\d+/2000 out-of-patch 0\.\d+, best 0\.\d+", finished.stderr)


@pytest.mark.parametrize("fact", [r"accuracy +([\d.]+) %", r"Right are ([\d.]+)%"])
def test_demo_reports_good_accuracy(output, fact):
    assert float(re.search(fact, output)[1]) > 95


def test_demo_shows_commands_as_users_type_them(output):
    commands = re.findall(r"^\$ mpboost (\w+)", output, re.MULTILINE)
    assert commands[:3] == ["fit", "predict", "issues"]


def test_demo_says_where_and_why_it_stopped_and_how_long_it_took(output):
    assert re.search(r"trees +\d+, up to the best of \d+ iterations; \w+", output)
    assert re.search(r"trained in \d+\.\d+ s", output)


def test_demo_ranks_ten_pixels_by_q(output):
    q = [float(value) for value in re.findall(r"row[0-7]col[0-7] +(0\.\d+)", output)]
    assert len(q) == 10
    assert q == sorted(q, reverse=True)


def test_demo_ends_with_the_path_of_a_report(output, folder):
    path = output.split()[-1]
    assert path.endswith("report.html")
    assert "<html" in Path(folder / path).read_text(encoding="utf-8")


def test_demo_writes_the_pictures_that_it_names(output, folder):
    paths = re.findall(r"\S+\.png", output)
    assert len(paths) == 3
    for path in paths:
        pixels = image.imread(folder / path)[..., :3]
        assert min(pixels.shape[:2]) > 300
        assert pixels.std() > 0.1  # not blank
