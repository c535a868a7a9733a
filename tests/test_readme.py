"""The README's first example shows what it says; `test_pages` runs all."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_readme_example_runs_and_prints_what_it_says(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it saves a model and a report
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert len(code.splitlines()) <= 12
    exec(compile(code, str(README), "exec"), {})
    test_score, oop_score = map(float, capsys.readouterr().out.splitlines()[0].split())
    assert test_score > 0.93
    assert abs(test_score - oop_score) < 0.05


def test_readme_stays_short():
    assert len(README.read_text(encoding="utf-8").split()) <= 900
