import pytest

from benchmarks.cluster.same_bits import main
from benchmarks.common.folders import RESULTS
from benchmarks.common.results import read_rows

pytest.importorskip("distributed", reason="mpboost[dask] is not installed")


@pytest.mark.slow
def test_models_of_a_cluster_are_compared_with_those_of_one_machine(tmp_path):
    assert main(["--quick", "--output", str(tmp_path)]) == 0
    (row,) = read_rows(tmp_path / "same_bits.csv")
    assert (row["task"], row["fits"], row["same"]) == ("votes, two classes", "2", "2")


def test_published_models_of_clusters_are_all_the_same():
    rows = read_rows(RESULTS / "cluster" / "same_bits.csv")
    assert sum(int(row["fits"]) for row in rows) == 140
    assert all(row["fits"] == row["same"] for row in rows)
