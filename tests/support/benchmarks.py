"""What the tests of benchmarks share: what to skip without data, how to run one, and how to read its table."""

import os
import subprocess
import sys

import pytest

from benchmarks.data import PROJECT, data_folder


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
    """Read the cells of a Markdown table."""
    return [line.strip("| ").split(" | ") for line in path.read_text(encoding="utf-8").splitlines()]
