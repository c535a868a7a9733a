"""The recipe "With Spark" of docs/cluster.md."""

import sys

import pytest

from mpboost import BinnedDataset, MPGradientBoostingClassifier
from tests.support.datasets import QUICK, make_mixed

FEATURES = ["height", "count", "colour", "is_new"]


@pytest.fixture
def spark(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # workers need mpboost, too
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    builder = pyspark.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    try:
        session = builder.getOrCreate()
    except Exception as error:
        if "JAVA" not in str(error):
            raise
        pytest.skip("Spark needs Java, which is not installed")
    yield session
    session.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of pyspark, about versions of pandas
def test_recipe_trains_on_files_of_spark_and_predicts_there(spark, tmp_path):
    X, y = make_mixed(300)
    frame = X[FEATURES].assign(churned=y, number=range(300))
    folder = str(tmp_path / "customers")
    table = spark.createDataFrame(frame).repartition(3)
    table.write.parquet(folder)
    table = spark.read.parquet(folder)

    dataset = BinnedDataset.from_parquet(folder, target="churned", columns=FEATURES)
    model = MPGradientBoostingClassifier(**QUICK).fit(dataset)

    def predict(frames):
        for frame in frames:
            yield frame[["number"]].assign(churns=model.predict_proba(frame[FEATURES])[:, 1])

    predicted = table.mapInPandas(predict, "number long, churns double").toPandas().set_index("number")["churns"]
    assert (predicted[range(300)] == model.predict_proba(X[FEATURES])[:, 1]).all()

    import pandas as pd

    whole = pd.concat([pd.read_parquet(path) for path in sorted((tmp_path / "customers").glob("*.parquet"))])
    local = MPGradientBoostingClassifier(**QUICK).fit(whole[FEATURES], whole["churned"])
    assert model.predict_proba(X[FEATURES]).tolist() == local.predict_proba(X[FEATURES]).tolist()
