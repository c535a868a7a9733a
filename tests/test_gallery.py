"""The examples of the gallery are what sphinx-gallery expects, run anywhere, and draw pictures."""

import ast
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

GALLERY = Path(__file__).resolve().parent.parent / "examples" / "gallery"
EXAMPLES = sorted(GALLERY.glob("*/plot_*.py"))
SECTIONS = sorted({example.parent for example in EXAMPLES})
ALLOWED = {"matplotlib", "mpboost", "numpy", "pandas", "sklearn"} | sys.stdlib_module_names
#: A title, the line below it, and a few sentences.
HEADING = re.compile(r"\n(?P<title>[A-Z].*)\n(?P<line>=+)\n\n(?P<text>\S.*\.)\n", re.DOTALL)

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem.removeprefix("plot_"))


def read_imports(path):
    """List the modules that an example imports, and the names that it imports from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)


def test_gallery_has_many_examples_in_few_sections():
    assert len(EXAMPLES) >= 15
    assert 1 <= len(SECTIONS) <= 4
    assert sorted(GALLERY.rglob("*.py")) == EXAMPLES


def test_gallery_has_no_two_examples_of_one_name():
    assert len({path.stem for path in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("folder", [GALLERY, *SECTIONS], ids=lambda path: path.name)
def test_section_has_a_header(folder):
    title, line, *text = (folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
    assert line == len(title) * ("=" if folder == GALLERY else "-")
    assert any(text)


@each_example
def test_example_begins_with_a_title_and_a_few_sentences(path):
    found = HEADING.fullmatch(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False))
    assert found, "the docstring must be a title, a line below it and some text"
    assert len(found["line"]) == len(found["title"])
    assert 2 <= len(re.findall(r"[.?](?:\s|$)", found["text"])) <= 5


@each_example
def test_example_has_blocks(path):
    assert re.search(r"^# %%$", path.read_text(encoding="utf-8"), re.MULTILINE)


@each_example
def test_example_needs_no_other_package_and_no_network(path):
    for module, name in read_imports(path):
        assert module.partition(".")[0] in ALLOWED
        assert not (name or "").startswith("fetch_")


@pytest.mark.slow
@each_example
def test_example_runs_and_draws(path, tmp_path, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot", reason="the examples draw with matplotlib")
    pytest.importorskip("pandas", reason="some examples make data frames")
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: None)  # it would warn that this backend has no windows
    monkeypatch.chdir(tmp_path)
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert capsys.readouterr().out
        assert plt.get_fignums()
        for number in plt.get_fignums():
            figure = plt.figure(number)
            assert figure.get_figwidth() <= 8  # readable in a column of text
            figure.canvas.draw()
            assert np.asarray(figure.canvas.buffer_rgba())[..., :3].std() > 10  # not blank
    finally:
        plt.close("all")
    assert not list(tmp_path.iterdir())
