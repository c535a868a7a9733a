"""How the command line is reached, and what it says where packages are missing."""

import importlib.metadata
import subprocess
import sys

import pytest

import mpboost
from mpboost.cli import main
from tests.support.helpers import PATIENCE


def run_module(*arguments):
    command = [sys.executable, "-m", "mpboost", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False)


@pytest.mark.slow
def test_module_is_the_command_line():
    pytest.importorskip("typer", reason="the command line needs typer")
    finished = run_module("--version")
    assert (finished.returncode, finished.stdout) == (0, f"mpboost {mpboost.__version__}\n")


def test_script_is_the_command_line():
    scripts = importlib.metadata.distribution("mpboost").entry_points.select(group="console_scripts", name="mpboost")
    assert [script.value for script in scripts] == ["mpboost.cli:main"]


def test_help_lists_the_commands(run):
    words = run("--help").stdout
    for command in ("fit", "predict", "evaluate", "report", "info", "issues", "tune"):
        assert f"{command} " in words


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "report", "info", "issues", "tune"])
def test_command_has_help(run, command):
    assert "--json" in run(command, "--help").stdout


@pytest.mark.parametrize("package", ["typer", "rich", "pyarrow"])
def test_missing_package_is_named_in_one_line(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as error:
        main()
    assert error.value.code == f'The command line needs {package}: pip install "mpboost[cli]"'
