"""The tables that are made up for datasets are always the same, and the benchmark runs."""

import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")
pytest.importorskip("pyarrow", reason="the tables are Parquet files")

from benchmarks.common.results import read_rows
from benchmarks.datasets import __main__ as command
from benchmarks.datasets import made_up

pytestmark = pytest.mark.slow


def test_batches_are_the_same_each_time_and_have_words_and_missing_values(monkeypatch):
    monkeypatch.setattr(made_up, "BATCH_ROWS", 100)
    batches = [table for table, _ in made_up.make_batches(250, 12, n_words=2)]
    again = [table for table, _ in made_up.make_batches(250, 12, n_words=2)]
    assert [len(table) for table in batches] == [100, 100, 50]
    assert all(one.to_pandas().equals(other.to_pandas()) for one, other in zip(batches, again, strict=True))
    assert not batches[0].equals(batches[1])
    assert set(batches[0]["x11"].to_pylist()) <= set(made_up.WORDS.tolist())
    numbers = batches[0]["x3"].to_numpy()
    assert 0 < sum(numbers != numbers) < 50
    assert 20 < sum(batches[0]["y"].to_pylist()) < 80


@pytest.mark.parametrize("section", ["building", "mapped"])
def test_datasets_quick_measures_a_section(tmp_path, section):
    arguments = ["--quick", "--only", section, "--data", str(tmp_path), "--output", str(tmp_path)]
    assert command.main(arguments) == 0
    rows = read_rows(tmp_path / "datasets.csv")
    assert {row["section"] for row in rows} == {section}
    assert all(row["cpu_seconds"] or row["models"] == "1" for row in rows)
