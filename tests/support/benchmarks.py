"""What the tests of benchmarks share: what to skip without data, how to run one, and how to read its table."""

import csv
import os
import subprocess
import sys

import pytest

from benchmarks.common.folders import PROJECT
from benchmarks.data.files import data_folder


def needs(name):
    """Skip a test where a file of data is missing."""
    missing = not (data_folder() / name).is_file()
    return pytest.mark.skipif(missing, reason=f"no {name} in {data_folder()}; set MPBOOST_DATA")


def run_benchmark(name, *arguments):
    """Run a benchmark in a fresh process, in a hurry."""
    environment = {**os.environ, "PYTHONUTF8": "1"}
    command = [sys.executable, "-W", "error", "-m", f"benchmarks.{name}", "--quick", *arguments]
    return subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


def read_table(path):
    """Read the columns and the rows of a file of results, without the last ones: what it was measured with."""
    from benchmarks.common.results import FACTS  # where used: it needs rich, without which tests are skipped

    with path.open(newline="", encoding="utf-8") as file:
        columns, *rows = csv.reader(file)
    assert tuple(columns[-len(FACTS) :]) == FACTS
    assert len(set(columns)) == len(columns)
    return [line[: -len(FACTS)] for line in (columns, *rows)]
