"""Hold exported models to ``predict``, and measure how fast they are: ``python -m benchmarks.export``.

The first table holds each kind of model in each format to ``predict`` on a million rows: values at the thresholds of
trees and one step beside them, missing, infinite, and unseen categories. The second one measures rows per second of one
processor, in turns.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.common.command import add_only, make_parser, parse, print_machine
from benchmarks.common.measure import take_turns
from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable
from benchmarks.export.engines import Engine, Predictions, open_c, open_onnx, open_own, open_tl2cgen, open_treelite
from benchmarks.export.subjects import NAMES, fit_subject, make_rows, predict_raw
from mpboost import MPBoostClassifier, MPGradientBoostingClassifier

N_ROWS, N_TRAIN = 1_000_000, 2000
#: How far results may be from those of predict before a row counts as different.
TOLERANCES = {"float64": 1e-12, "float32": 1e-6, "treelite": 1e-6, "C": 1e-12}
N_TURNS, N_TIMED, N_FEATURES = 5, 20_000, 30


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, NAMES)
    parser.add_argument("--rows", type=int, default=N_ROWS, help=f"rows for each model; by default {N_ROWS}")
    parser.add_argument("--part", choices=("agreement", "speed"), help="one of the two tables; by default both")
    options, folder = parse(parser, arguments, "export")
    print_machine()
    n_rows = min(options.rows, 2000) if options.quick else options.rows
    with tempfile.TemporaryDirectory() as scratch:
        if options.part != "speed":
            show_agreement(options.only or NAMES, n_rows, Path(scratch), folder / "agreement.csv")
        if options.part != "agreement":
            show_speed(options.quick, Path(scratch), folder / "speed.csv")
    return 0


def show_agreement(names: list[str], n_rows: int, scratch: Path, path: Path) -> None:
    """Print how many rows each format predicts otherwise than mpboost does."""
    print_heading("Exports beside predict: rows with another label, or with numbers that differ by more than allowed")
    columns = ["model", "format", "rows", "other labels", "other numbers", "largest difference", "allowed"]
    table = ResultTable(path, columns)
    for number, name in enumerate(names):
        model = fit_subject(name, N_TRAIN, max_bins=20 if name.endswith("+") else 255)
        folder = scratch / f"agreement{number}"
        folder.mkdir()
        rows, singles = (make_rows(model, n_rows, float_type) for float_type in ("float64", "float32"))
        expected, of_singles = (open_own(model).predict(each) for each in (rows, singles))
        engines = {
            "onnx, float64": (open_onnx(model), rows, expected, "float64"),
            "onnx, float32": (open_onnx(model, "float32"), singles, of_singles, "float32"),
            "treelite": (open_treelite(model), rows, expect_of_treelite(model, rows, expected), "treelite"),
            "C": (open_c(model, folder), rows, expected, "C"),
        }
        for kind, (engine, given, wanted, tolerance) in engines.items():
            found = engine.predict(engine.prepare(given))
            table.add([name, kind, str(n_rows), *compare(found, wanted, TOLERANCES[tolerance])])


def expect_of_treelite(model: Any, rows: Any, expected: Predictions) -> Predictions:
    """Give what treelite should predict: shares of votes without calibration; of two classes the second alone."""
    if not hasattr(model, "classes_"):
        return expected
    if not hasattr(model, "baseline_"):
        return Predictions(None, predict_raw(model, rows))
    shares = expected.probabilities
    return Predictions(None, shares if shares.shape[1] > 2 else shares[:, 1:])


def compare(found: Predictions, expected: Predictions, tolerance: float) -> list[str]:
    """Count rows that differ, and write the largest difference of numbers, as a share where these are large."""
    are_numbers = expected.probabilities is None
    one, other = (each.labels if are_numbers else each.probabilities for each in (found, expected))
    differences = np.abs(one - other) / np.maximum(1.0, np.abs(other))
    n_other = np.count_nonzero(~(differences <= tolerance).reshape(len(one), -1).all(axis=1))
    has_labels = not are_numbers and found.labels is not None
    labels = str(np.count_nonzero(found.labels != expected.labels)) if has_labels else ""
    return [labels, str(n_other), f"{differences.max():.1e}", f"{tolerance:g}"]


def show_speed(is_quick: bool, scratch: Path, path: Path) -> None:
    """Print the rows per second of each engine."""
    n_rows, n_turns = (500, 1) if is_quick else (N_TIMED, N_TURNS)
    print_heading(f"Rows per second of a processor, {N_FEATURES} features: medians of {n_turns} turns of {n_rows} rows")
    columns = ["model", "trees", "leaves", "engine", "rows per second", "times own", "MB", "seconds to export and load"]
    table = ResultTable(path, columns)
    for number, (name, model) in enumerate(fit_timed(is_quick).items()):
        folder = scratch / f"speed{number}"
        folder.mkdir()
        X, _ = make_timed(n_rows, len(model.classes_), seed=1)
        engines, loading = open_all(model, folder, has_tl2cgen="500" in name or is_quick)
        feeds = {kind: engine.prepare(X) for kind, engine in engines.items()}
        calls = {kind: partial(measure, engine, feeds[kind]) for kind, engine in engines.items()}
        take_turns(calls, 1)  # whatever is loaded only then
        seconds = {kind: statistics.median(each) for kind, each in take_turns(calls, n_turns).items()}
        forest = model._ensemble.forest
        for kind, engine in engines.items():
            table.add(
                [
                    name,
                    str(len(forest)),
                    str(len(forest.leaf_values) // len(forest)),
                    kind,
                    f"{n_rows / seconds[kind]:.0f}",
                    f"{seconds['mpboost'] / seconds[kind]:.2f}",
                    f"{engine.n_bytes / 1e6:.1f}" if engine.n_bytes else "",
                    f"{loading[kind]:.1f}",
                ]
            )


def fit_timed(is_quick: bool) -> dict[str, Any]:
    """Fit models whose speed is measured: small trees, many classes, and saturated trees of thousands of leaves."""
    n_train, n_small, n_large = (500, 5, 3) if is_quick else (40_000, 500, 100)
    fixed: dict[str, Any] = {"random_state": 0, "stopping": None}
    small = fixed | {"n_estimators": n_small, "max_leaf_nodes": 31}
    large = fixed | {"n_estimators": n_large, "max_samples": 0.5, "min_samples_split": 2}
    gradient, votes = MPGradientBoostingClassifier, MPBoostClassifier
    return {
        f"gradient, {n_small} trees": gradient(**small).fit(*make_timed(n_train, 2)),
        "gradient, 10 classes": gradient(**small).fit(*make_timed(n_train, 10)),
        "saturated votes": votes(**large).fit(*make_timed(n_train, 2)),
    }


def make_timed(n_rows: int, n_classes: int, seed: int = 0) -> tuple[Any, Any]:
    """Make a table for models whose speed is measured."""
    informative = {"n_informative": 12, "flip_y": 0.1, "n_clusters_per_class": 1}
    return make_classification(n_rows, N_FEATURES, n_classes=n_classes, random_state=seed, **informative)


def open_all(model: Any, folder: Path, *, has_tl2cgen: bool) -> tuple[dict[str, Engine], dict[str, float]]:
    """Export a model in all formats and load it; give the seconds that this took, too."""
    opening: dict[str, Callable[[], Engine]] = {
        "mpboost": partial(open_own, model),
        "onnxruntime, float64": partial(open_onnx, model),
        "onnxruntime, float32": partial(open_onnx, model, "float32"),
        "treelite": partial(open_treelite, model),
        "C, -O2": partial(open_c, model, folder),
    }
    if has_tl2cgen:  # minutes for large trees
        opening["tl2cgen"] = partial(open_tl2cgen, model, folder)
    engines, seconds = {}, {}
    for kind, open_engine in opening.items():
        start = time.perf_counter()
        engines[kind] = open_engine()
        seconds[kind] = time.perf_counter() - start
    return engines, seconds


def measure(engine: Engine, feed: Any) -> float:
    """Measure the seconds of a prediction: those of the processor, since a machine may have other work."""
    start = time.process_time()
    engine.predict(feed)
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
