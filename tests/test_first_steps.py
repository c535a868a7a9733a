"""The page on the command line shows what its commands say today, and its Python lines make the same model."""

import re
import runpy

import numpy as np
import pytest

import mpboost
from tests.support.pages import ROOT, read_blocks

pytest.importorskip("typer", reason="the commands need it")
pytest.importorskip("pyarrow", reason="the commands read tables with it")
pytest.importorskip("jinja2", reason="one of the commands makes a report")

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("first_steps")


@pytest.fixture(scope="module")
def transcript(folder):
    tell = runpy.run_path(str(ROOT / "examples" / "first_steps.py"))["tell"]
    return tell("customers", folder).replace(str(folder.resolve()), "/home/you")


def mask_times(transcript):
    """Leave out lines of progress, and seconds: no two runs have these in common."""
    lines = [line for line in transcript.splitlines() if line and not line.startswith("━")]
    return re.sub(r"[\d.]+ s$", "# s", "\n".join(lines), flags=re.MULTILINE)


def test_page_shows_what_the_commands_say(transcript):
    shown = re.search(r"<!-- transcript: customers -->\n```console\n(.*?)```\n", PAGE, re.DOTALL)[1]
    assert mask_times(shown) == mask_times(transcript), "python examples/first_steps.py --page docs/command-line.md"


def test_python_lines_of_the_page_make_the_model_of_the_command(transcript, folder, monkeypatch):
    pytest.importorskip("pandas", reason="they use a data frame")
    monkeypatch.chdir(folder)
    (block,) = [block for block in read_blocks(PAGE) if "read_table" in block.code]
    fitting, loading = block.code.split("\n\n")
    names = {"mpboost": mpboost}
    exec(fitting, names)
    fitted, X = names["model"], names["X"]
    exec(loading, names)
    np.testing.assert_array_equal(fitted.predict_proba(X), names["model"].predict_proba(X))
