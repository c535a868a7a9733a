"""The command info, of models and datasets."""

import json

import numpy as np
import pytest

from mpboost.datasets import dataset_file


def test_info_tells_what_a_model_is(run, fit):
    fit("customers.csv", "--set", "max_depth=3")
    words = run("info", "model.mpb").stdout
    for said in ("MPGradientBoostingClassifier", "churned", "no, yes", "max_depth=3", "calls", "20 iterations"):
        assert said in words
    facts = json.loads(run("info", "model.mpb", "--json").stdout)
    assert (facts["target"], facts["classes"], facts["trees"]) == ("churned", ["no", "yes"], 20)
    low, high = facts["oop_interval"]
    assert low < facts["oop_score"] < high
    assert f"95 %: {100 * low:.1f} to {100 * high:.1f} %" in words


def test_info_reads_models_from_python(run, folder):
    from mpboost import MPBoostRegressor, save_model

    X = np.random.default_rng(0).normal(size=(60, 3))
    save_model(MPBoostRegressor(n_estimators=5).fit(X, X[:, 0]), folder / "python.mpb")
    assert json.loads(run("info", "python.mpb", "--json").stdout)["target"] is None


@pytest.mark.parametrize("arguments", [("info", "model.mpb"), ("predict", "model.mpb", "customers.csv")])
def test_lines_have_no_spaces_at_their_ends(run, trained, arguments):
    lines = run(*arguments).stdout.splitlines()
    assert len(lines) > 3
    assert [line for line in lines if line != line.rstrip()] == []


def test_info_tells_a_dataset_from_a_model(run, folder, parquet):
    run("bin", "part-*.parquet", "-t", "churned")
    (folder / "data.mpcols").rename(folder / "data.mpb")
    words = run("info", "data.mpb").stdout
    for said in ("data.mpb  300 rows, ", "numbers ", "plan (2)", "churned, 2 classes: ", "at most 255", "format "):
        assert said in words
    facts = json.loads(run("info", "data.mpb", "--json").stdout)
    assert (facts["dataset"], facts["format"], facts["has_weights"]) == ("data.mpb", dataset_file.SCHEMA, False)
    assert facts["counts"].keys() == {"no", "yes"}
