"""The README's examples are true."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_readme_example_runs_and_prints_what_it_says(capsys):
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert len(code.splitlines()) <= 12
    exec(compile(code, str(README), "exec"), {})
    test_score, oop_score = map(float, capsys.readouterr().out.splitlines()[0].split())
    assert test_score > 0.93
    assert abs(test_score - oop_score) < 0.05


def test_readme_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="some of them draw")
    pytest.importorskip("jinja2", reason="one of them makes a report")
    monkeypatch.chdir(tmp_path)  # one of them writes a model file
    known = {}
    for code in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(code, str(README), "exec"), known)
    search, model = known["search"], known["model"]
    assert model.get_params() | search.best_params_ == model.get_params()
    assert model.score(known["X_test"], known["y_test"]) > 0.93


def test_readme_pictures_exist():
    for path in re.findall(r"!\[.*?\]\((.*?)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / path).is_file()
