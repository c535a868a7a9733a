"""The command export."""

import json
import sys

import numpy as np
import pytest

from mpboost import load_model, read_table
from mpboost.export import encode_rows, to_c


def test_export_writes_onnx(run, trained, folder):
    pytest.importorskip("onnx", reason="ONNX models are made by onnx")
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX models are run by onnxruntime")
    result = run("export", "model.mpb", "model.onnx")
    model = load_model("model.mpb")
    assert "written to model.onnx" in result.stdout
    session = onnxruntime.InferenceSession("model.onnx")
    assert [each.name for each in session.get_inputs()] == model.feature_names_in_.tolist()
    facts = session.get_modelmeta().custom_metadata_map
    assert (facts["target"], json.loads(facts["classes"])) == ("churned", ["no", "yes"])


def test_export_takes_options(run, trained, folder):
    onnx = pytest.importorskip("onnx", reason="ONNX models are made by onnx")
    (folder / "model.onnx").write_text("old")
    command = ("export", "model.mpb", "model.onnx", "--float-type", "float32", "--inputs", "columns", "--force")
    facts = json.loads(run(*command, "--json").stdout)
    assert facts["inputs"] == load_model("model.mpb").feature_names_in_.tolist()
    assert facts["outputs"] == ["label", "probabilities"]
    assert facts["bytes"] == (folder / "model.onnx").stat().st_size
    graph = onnx.load("model.onnx").graph
    assert graph.output[1].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_export_writes_c(run, trained, folder):
    run("export", "model.mpb", "model.c")
    assert (folder / "model.c").read_text() == to_c(load_model("model.mpb"))


def test_export_writes_treelite(run, trained, folder):
    treelite = pytest.importorskip("treelite", reason="models of treelite are made by treelite")
    run("export", "model.mpb", "model.tl")
    model, table = load_model("model.mpb"), read_table("customers.csv")
    X = table.select(list(dict.fromkeys(name.partition(":")[0] for name in model.feature_names_in_)))
    results = treelite.gtil.predict(treelite.Model.deserialize("model.tl"), encode_rows(model, X))
    np.testing.assert_allclose(results[:, 0, 0], model.predict_proba(X)[:, 1], atol=1e-12)


def test_export_refuses_other_files(run, trained):
    result = run("export", "model.mpb", "model.pkl", code=1)
    assert "the name must end in .c, .onnx, .tl" in result.stderr


def test_export_keeps_a_file_that_exists(run, trained, folder):
    (folder / "model.c").write_text("old")
    assert "exists already" in run("export", "model.mpb", "model.c", code=1).stderr
    assert (folder / "model.c").read_text() == "old"


def test_export_says_what_to_install(run, trained, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install 'mpboost[onnx]'" in run("export", "model.mpb", "model.onnx", code=1).stderr
