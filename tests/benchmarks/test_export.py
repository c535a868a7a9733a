"""The benchmark of exports counts rows that differ, and runs."""

import numpy as np
import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")
pytest.importorskip("onnx", reason="the benchmark makes ONNX models")
pytest.importorskip("onnxruntime", reason="the benchmark runs them by onnxruntime")
pytest.importorskip("treelite", reason="the benchmark runs models of treelite")
pytest.importorskip("tl2cgen", reason="the benchmark compiles models of treelite by tl2cgen")

from benchmarks.export.__main__ import compare, main
from benchmarks.export.engines import Predictions
from tests.support.benchmarks import read_table


def test_compare_counts_other_labels_and_other_numbers():
    expected = Predictions(np.array(["a", "b", "b"]), np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]))
    shifts = np.array([[0, 0], [1e-9, -1e-9], [0.3, -0.3]])
    found = Predictions(np.array(["a", "b", "a"]), expected.probabilities + shifts)
    assert compare(found, expected, 1e-6) == ["1", "1", "3.0e-01", "1e-06"]
    assert compare(found, expected, 1e-12)[1] == "2"


def test_compare_counts_nan_as_different():
    expected = Predictions(np.array([1.0, 2e6]), None)
    assert compare(Predictions(np.array([np.nan, 2e6 + 1e-3]), None), expected, 1e-6)[:2] == ["", "1"]


@pytest.mark.slow
def test_benchmark_finds_no_difference(tmp_path):
    assert main(["--quick", "--only", "two classes", "gradient, many classes +", "--output", str(tmp_path)]) == 0
    columns, *rows = read_table(tmp_path / "agreement.csv")
    assert {row[columns.index("other numbers")] for row in rows} == {"0"}
    assert {row[columns.index("other labels")] for row in rows} == {"0", ""}
    assert len(read_table(tmp_path / "speed.csv")) > 10
