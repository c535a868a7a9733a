"""The demo on a cluster runs, and its page shows what it types."""

import runpy
from pathlib import Path

import pytest

from mpboost import MPGradientBoostingClassifier
from tests.support.datasets import save_bytes

pd = pytest.importorskip("pandas")

ROOT = Path(__file__).resolve().parents[2]
DEMO, PAGE = ROOT / "examples" / "dask_demo.py", ROOT / "docs" / "cluster.md"


@pytest.fixture(scope="module")
def demo():
    return runpy.run_path(str(DEMO))


def test_demo_trains_the_model_of_one_machine(client, demo, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo["write_customers"](Path("customers"), 2000)
    start = "client = Client(n_workers=2, threads_per_worker=1)  # or the address of your scheduler"
    assert start in demo["LINES"]
    exec(demo["LINES"].replace(start, ""), {"client": client})
    assert capsys.readouterr().out.startswith("one: 2000 rows, out-of-patch accuracy 0.")
    whole = pd.read_parquet("customers")
    local = MPGradientBoostingClassifier(random_state=0).fit(whole.drop(columns="churned"), whole["churned"])
    assert Path("churn.mpb").read_bytes() == save_bytes(local)
    assert list(pd.read_parquet("probabilities").columns) == ["no", "yes"]


def test_page_shows_what_the_demo_types(demo):
    first, last = demo["MARKS"]
    made = PAGE.read_text(encoding="utf-8").split(first)[1].split(last)[0]
    assert made.startswith(f"\n\n```python\n{demo['LINES']}```\n\n```text\none: ")
