"""Seconds of processor time that tests of features take, with one thread, by rows and features."""

import time
from pathlib import Path

import numpy as np

from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable
from benchmarks.inference.methods import METHODS

#: Rows and features. Cross-fitting shuffles one feature after the other, which would take too long for the largest.
SHAPES = [(1000, 20), (10_000, 1000)]
TOO_LONG = {("cross-fitted permutation", (10_000, 1000))}
SHOWN = ("infer_features", "cross-fitted permutation")


def show(folder: Path, *, quick: bool) -> None:
    """Print a row for each shape, target and method."""
    print_heading("Seconds of one processor; other programs on the machine hardly change them")
    table = ResultTable(folder / "speed.csv", ["rows", "features", "target", "method", "seconds"])
    for n_rows, n_features in [(200, 10)] if quick else SHAPES:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_rows, n_features))
        score = X[:, :5].sum(axis=1) + rng.normal(size=n_rows)
        for target, y in (("classes", (score > 0).astype(int)), ("numbers", score)):
            for method in SHOWN:
                if (method, (n_rows, n_features)) in TOO_LONG:
                    continue
                start = time.process_time()
                METHODS[method](X, y, 0)
                seconds = time.process_time() - start
                table.add([str(n_rows), str(n_features), target, method, f"{seconds:.2f}"])
