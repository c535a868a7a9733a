"""Versions for bug reports."""

import importlib.metadata
import sys

import pytest

import mpboost
from mpboost import _native, _versions


def read_versions(capsys):
    mpboost.show_versions()
    lines = capsys.readouterr().out.splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line.startswith("  ")), lines


def test_versions_are_those_of_what_is_installed(capsys):
    shown, _ = read_versions(capsys)
    assert shown["mpboost"] == mpboost.__version__
    assert shown["Python"] == sys.version.split()[0]
    for name in _versions.NEEDED:
        assert shown[name] == importlib.metadata.version(name)


def test_versions_tell_how_the_engine_was_built(capsys):
    _, lines = read_versions(capsys)
    engine = "\n".join(lines[lines.index("Engine") :])
    assert _native.describe_compiler() in engine
    assert _native.current_kernels() in engine
    assert "processors" in engine


@pytest.mark.parametrize("name", ["polars", "pandas"])
def test_versions_say_what_is_not_installed(capsys, monkeypatch, name):
    def find(wanted):
        if wanted == name:
            raise importlib.metadata.PackageNotFoundError
        return "1.0"

    monkeypatch.setattr(_versions, "version", find)
    shown, _ = read_versions(capsys)
    assert shown[name] == "not installed"


def test_versions_need_no_scikit_learn():
    from tests.support.helpers import run_script

    script = "import sys, mpboost; mpboost.show_versions(); print('sklearn' in sys.modules)"
    assert run_script(script).endswith("\nFalse\n")
