"""The README's first example shows what it says; `test_pages` runs all."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_readme_example_runs_and_prints_what_it_says(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it saves a model and a report
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert len(code.splitlines()) <= 12
    exec(compile(code, str(README), "exec"), {})
    scores, feature, suspects = capsys.readouterr().out.splitlines()
    said = re.findall(r"# (.*)", code)
    assert re.findall(r"0\.\d+", said[0]) == [f"{float(score):.3f}" for score in scores.split()]
    assert said[1].startswith(f"{feature}: ")
    assert re.findall(r"\d+", said[2]) == re.findall(r"\d+", suspects)


def test_readme_stays_short():
    assert len(README.read_text(encoding="utf-8").split()) <= 900
