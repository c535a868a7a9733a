"""What runs exported models: onnxruntime, treelite, tl2cgen, a C compiler, and mpboost itself."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.export.subjects import make_feed
from mpboost.export import encode_rows, to_c, to_onnx, to_treelite


@dataclass(frozen=True)
class Predictions:
    """Labels and probabilities of a classifier, or numbers; None for what an engine does not predict."""

    labels: Any
    probabilities: Any


@dataclass(frozen=True)
class Engine:
    """An exported model that is loaded.

    Attributes
    ----------
    prepare : callable
        Turns rows into what the engine reads; not part of what is timed.
    predict : callable
        Predicts from what ``prepare`` returned.
    n_bytes : int
        Size of the exported model.
    """

    prepare: Callable[[Any], Any]
    predict: Callable[[Any], Predictions]
    n_bytes: int


def open_onnx(model: Any, float_type: str = "float64") -> Engine:
    """Run an ONNX model by onnxruntime, with one thread."""
    import onnxruntime

    exported = to_onnx(model, float_type=float_type).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(exported, options)

    def predict(feed: dict[str, Any]) -> Predictions:
        results = session.run(None, feed)
        return Predictions(*results) if len(results) == 2 else Predictions(results[0][:, 0], None)

    return Engine(lambda rows: make_feed(rows, float_type), predict, len(exported))


def open_treelite(model: Any) -> Engine:
    """Run a model by treelite's own predictor, with one thread; of votes it predicts shares."""
    import treelite

    exported = to_treelite(model)

    def predict(rows: Any) -> Predictions:
        results = treelite.gtil.predict(exported, rows, nthread=1)[:, 0, :]
        return Predictions(None, results) if hasattr(model, "classes_") else Predictions(results[:, 0], None)

    return Engine(lambda rows: encode_rows(model, rows), predict, len(exported.serialize_bytes()))


def open_tl2cgen(model: Any, folder: Path) -> Engine:
    """Compile a model by tl2cgen, and run it with one thread."""
    import tl2cgen

    path = folder / "compiled.so"
    tl2cgen.export_lib(to_treelite(model), toolchain="gcc", libpath=path, params={"parallel_comp": 4})
    predictor = tl2cgen.Predictor(path, nthread=1)

    def predict(matrix: Any) -> Predictions:
        return Predictions(None, predictor.predict(matrix)[:, 0, :])

    return Engine(lambda rows: tl2cgen.DMatrix(encode_rows(model, rows), dtype="float64"), predict, path.stat().st_size)


#: Predicts many rows in C, so that calls from Python are not what is timed.
C_LOOPS = {
    True: "void predict_many(const double *rows, long n, double *out, int *codes) "
    "{ for (long i = 0; i < n; ++i) codes[i] = model_predict(rows + i * WIDTH, out + i * N_OUT); }\n",
    False: "void predict_many(const double *rows, long n, double *out, int *codes) "
    "{ (void)codes; for (long i = 0; i < n; ++i) out[i] = model_predict(rows + i * WIDTH); }\n",
}


def open_c(model: Any, folder: Path) -> Engine:
    """Compile a model in C with optimisation, and run it with one thread."""
    compiler = shutil.which("cc")
    assert compiler is not None, "there is no C compiler"
    is_classifier = hasattr(model, "classes_")
    n_out = len(model.classes_) if is_classifier else 1
    loop = C_LOOPS[is_classifier].replace("WIDTH", str(model.n_features_in_)).replace("N_OUT", str(n_out))
    source = to_c(model)
    folder.joinpath("model.c").write_text(source + loop, encoding="ascii")
    command = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", str(folder / "model.c"), "-o", str(folder / "model.so")]
    subprocess.run([*command, "-lm"], check=True)
    function = ctypes.CDLL(str(folder / "model.so")).predict_many
    function.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    function.restype = None

    def predict(rows: Any) -> Predictions:
        out, codes = np.empty((len(rows), n_out)), np.zeros(len(rows), dtype=np.intc)
        function(rows.ctypes.data, len(rows), out.ctypes.data, codes.ctypes.data)
        return Predictions(model.classes_[codes], out) if is_classifier else Predictions(out[:, 0], None)

    return Engine(lambda rows: np.ascontiguousarray(encode_rows(model, rows)), predict, len(source))


def open_own(model: Any, n_bytes: int = 0) -> Engine:
    """Predict by mpboost, with one thread."""

    def predict(rows: Any) -> Predictions:
        (values, probabilities), *others = model._predict_in_batches(rows, len(rows))
        assert not others
        return Predictions(values, probabilities)

    return Engine(lambda rows: rows, predict, n_bytes)
