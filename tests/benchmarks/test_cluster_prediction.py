import pytest

from benchmarks.cluster.prediction import main
from benchmarks.common.results import read_rows

pytest.importorskip("distributed", reason="mpboost[dask] is not installed")


@pytest.mark.slow
def test_prediction_on_a_cluster_is_measured_beside_local_batches(tmp_path):
    assert main(["--quick", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "prediction.csv")
    assert [row["estimator"] for row in rows] == ["MPGradientBoostingClassifier", "MPBoostClassifier"]
    assert all(float(row["cluster processor"]) > 0 for row in rows)
