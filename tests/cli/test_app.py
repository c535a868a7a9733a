"""How the command line is reached, and what it says where packages are missing."""

import importlib
import importlib.metadata
import os
import subprocess
import sys

import pytest

import mpboost
from mpboost import BinnedDataset
from mpboost.cli import main
from tests.support.helpers import PATIENCE, run_script

pytest.importorskip("typer", reason="the command line needs typer")
from mpboost.cli.app import COMMANDS


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
    for command in COMMANDS:
        assert f"{command} " in words


@pytest.mark.parametrize("command", COMMANDS)
def test_command_has_help(run, command):
    assert "--json" in run(command, "--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_listed_with_the_words_of_its_own_help(command):
    module, words = COMMANDS[command]
    assert getattr(importlib.import_module(f"mpboost.cli.{module}"), command).__doc__ == words


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_no_types_of_python(run, command):
    options = run(command, "--help").stdout.partition("Options:")[2]
    assert "bool" not in options
    assert "str" not in options
    assert "list[" not in options


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (("--help",), "numpy"),
        (("--version",), "numpy"),
        (("fit", "--help"), "numpy"),
        (("bin", "--help"), "numpy"),
        (("predict", "--help"), "numpy"),
        (("evaluate", "--help"), "numpy"),
        (("report", "--help"), "numpy"),
        (("issues", "--help"), "numpy"),
        (("info", "--help"), "numpy"),
        (("export", "--help"), "numpy"),
        (("info", "model.mpb"), "sklearn"),
        (("info", "model.mpb"), "scipy"),
        (("info", "model.mpb"), "pyarrow"),
        (("info", "data.mpcols"), "sklearn"),
        (("info", "data.mpcols"), "pyarrow"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else each,
)
def test_command_does_not_load_what_it_does_not_need(trained, arguments, module):
    BinnedDataset.from_arrays([[1.0], [2.0]], [0, 1], file="data.mpcols")
    script = f"""
import sys
from mpboost.cli.app import app
try:
    app({list(arguments)!r}, prog_name="mpboost")
except SystemExit:
    pass
print({module!r} in sys.modules)
"""
    assert run_script(script).endswith("\nFalse\n")


@pytest.mark.parametrize("package", ["typer", "rich", "pyarrow"])
def test_missing_package_is_named_in_one_line(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as error:
        main()
    assert error.value.code == f'The command line needs {package}: pip install "mpboost[cli]"'


@pytest.mark.slow
@pytest.mark.parametrize("command", [("info", "model.mpb"), ("predict", "model.mpb", "customers.csv", "-qo", "-")])
def test_reader_that_has_seen_enough_is_no_error(trained, command):
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-m", "mpboost", *command],
        stdout=writer,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    os.close(writer)
    assert (process.returncode, process.stderr) == (1, "")
