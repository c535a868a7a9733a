"""README and the pages of the documentation: what they show is what happens, what they link to is there."""

import re

import pytest

import mpboost
import mpboost.dask
import mpboost.export
import mpboost.ray
import mpboost.rules
from tests.support.cases import list_cases
from tests.support.pages import PAGES, ROOT, list_anchors, list_links, name_page, read_blocks, run_block

TEXTS = {name_page(path): path.read_text(encoding="utf-8") for path in PAGES}
WITH_CODE = {name: name for name, text in TEXTS.items() if any(block.is_run for block in read_blocks(text))}
#: The site's own pages that are made of files at the top of the repository.
INCLUDED = {
    "docs/development/architecture.md": "ARCHITECTURE.md",
    "docs/development/contributing.md": "CONTRIBUTING.md",
    "docs/changelog.md": "CHANGELOG.md",
}


@pytest.mark.parametrize("name", list_cases(WITH_CODE, quick=["docs/index.md", "docs/guide/files.md"]))
def test_examples_of_a_page_run_and_print_what_it_says(name, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="some of them draw")
    pytest.importorskip("pandas", reason="most of them use data frames")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)  # some write files
    names = {"__name__": "__main__"}
    for block in read_blocks(TEXTS[name]):
        if not block.is_run:
            continue
        for package in block.needs:
            pytest.importorskip(package, reason=f"the block in line {block.line} needs it")
        assert run_block(block, names, ROOT / name) == ""
    plt.close("all")


@pytest.mark.parametrize("name", TEXTS)
def test_links_of_a_page_lead_somewhere(name):
    for link in list_links(TEXTS[name]):
        target, _, anchor = link.partition("#")
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.exists(), link
        if anchor:
            found = name_page(path.resolve())
            assert anchor in list_anchors(TEXTS[INCLUDED.get(found, found)]), link


def test_included_files_are_those_that_pages_include():
    included = {
        name: text.partition("{include} ")[2].split()[0].replace("../", "")
        for name, text in TEXTS.items()
        if name.startswith("docs/") and "{include} " in text
    }
    assert included == INCLUDED


@pytest.mark.parametrize(
    "module",
    [mpboost, mpboost.dask, mpboost.export, mpboost.ray, mpboost.rules],
    ids=lambda each: each.__name__,
)
def test_reference_has_every_public_name_once(module):
    reference = (ROOT / "docs" / "reference" / "index.rst").read_text(encoding="utf-8")
    sections = re.split(r"^\.\. currentmodule:: (.+)$", reference, flags=re.MULTILINE)
    listed = [
        entry
        for current, text in zip(sections[1::2], sections[2::2], strict=True)
        if current == module.__name__
        for entry in re.findall(r"^(?:   |\.\. py:data:: )(\w+)$", text, re.MULTILINE)
    ]
    assert sorted(listed) == sorted(set(module.__all__) - {"__version__"})


def test_table_for_those_who_come_from_elsewhere_has_every_parameter():
    table = TEXTS["docs/start/coming-from.md"].partition("## Parameters")[2].partition("\n## ")[0]
    ours = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]+)\|", table, re.MULTILINE))))
    estimators = (mpboost.MPGradientBoostingClassifier(), mpboost.MPGradientBoostingRegressor())
    assert ours == {name for estimator in estimators for name in estimator.get_params()}


def test_block_that_is_indented_or_marked_is_read():
    in_a_list = "1. Say\n\n   <!-- needs: shap, onnx -->\n   ```python\n   >>> 1\n   1\n   ```\n"
    text = f"{in_a_list}\n<!-- not run: why -->\n```python\nx\n```\n"
    first, second = read_blocks(text)
    assert (first.code, first.needs, first.is_run, first.line) == (">>> 1\n1\n", ["shap", "onnx"], True, 5)
    assert (second.code, second.needs, second.is_run, second.line) == ("x\n", [], False, 11)


def test_example_that_prints_something_else_is_seen(tmp_path):
    block, after = read_blocks("```python\n>>> x = 1\n>>> x\n2\n```\n\n```python\n>>> x + 1\n2\n```\n")
    names = {}
    assert "Expected:\n    2\nGot:\n    1" in run_block(block, names, tmp_path / "page.md")
    assert run_block(after, names, tmp_path / "page.md") == ""


def test_links_and_anchors_are_read_as_a_site_does():
    text = "# `a_b`: c, d\n\n[x](y.md#z) `[no](no)` ![p](i.png)\n\n```text\n# no\n[no](no)\n```\n[s](https://s.org)\n"
    assert list_links(text) == ["y.md#z", "i.png"]
    assert list_anchors(text) == ["a_b-c-d"]
