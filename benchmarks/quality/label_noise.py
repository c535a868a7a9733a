"""Wrong labels: how many are estimated, how many listed: ``python -m benchmarks.quality.label_noise [--only SET]``.

Labels of real sets, of which 0 to 20 % are flipped, and labels that are drawn by chance, none of which is wrong.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable
from benchmarks.data.flips import Flipped, flip
from benchmarks.quality.label_issues import load
from mpboost import MPBoostClassifier, MPGradientBoostingClassifier, estimate_label_noise, find_label_issues

NAMES = ("adult", "magic", "spambase", "dna", "MNIST 3 vs 8", "letter", "jasmine", "higgs")

#: Shares of the labels that are flipped.
RATES = (0.0, 0.05, 0.1, 0.2)

#: Labels drawn by chance have log-odds of this size: the smaller, the noisier.
SIZES = (0.5, 1.0, 2.0, 4.0)

#: The most rows of a set.
MAX_ROWS = 6000

ESTIMATORS = {
    "votes": MPBoostClassifier(random_state=0, n_jobs=1),
    "gradient": MPGradientBoostingClassifier(random_state=0, n_jobs=1, n_models=5, oop_size=0.2),
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, NAMES)
    options, folder = parse(parser, arguments, "quality")
    n_rows, rates = (400, RATES[2:3]) if options.quick else (MAX_ROWS, RATES)
    sizes = SIZES[2:3] if options.quick else SIZES

    def measure(sets: dict[str, tuple[NDArray[Any], NDArray[np.int64]]]) -> None:
        print_heading("Wrong labels: estimated, listed, found")
        print_line("At most so many are wrong (estimate_label_noise); precision and recall of find_label_issues")
        columns = ["set", "family", "wrong", "estimated", "rows", "listed", "precision", "recall"]
        table = ResultTable(folder / "label_noise.csv", columns)
        for size in sizes:
            data = draw_labels(size, n_rows)
            for family, model in ESTIMATORS.items():
                table.add([f"by chance, log-odds x {size:g}", family, *measure_one(data, model)])
        for name, (X, y) in sets.items():
            rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
            for rate in rates:
                data = flip(X[rows], y[rows], rate)
                for family, model in ESTIMATORS.items():
                    table.add([name, family, *measure_one(data, model)])

    return run_on(lambda: {name: load(name) for name in options.only or NAMES}, measure)


def draw_labels(size: float, n_rows: int) -> Flipped:
    """Draw labels by chance, with probabilities that depend on four of ten features; none is wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 10))
    log_odds = size * (X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]))
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    return Flipped(X, y, np.zeros(n_rows, dtype=bool))


def measure_one(data: Flipped, model: ClassifierMixin) -> list[str]:
    """Fit a model; give the cells of a line."""
    model.fit(data.X, data.y)
    found = find_label_issues(model).row
    n_found, n_wrong = np.count_nonzero(data.is_flipped[found]), np.count_nonzero(data.is_flipped)
    return [
        f"{n_wrong / len(data.y):.1%}",
        f"{estimate_label_noise(model):.1%}",
        str(len(data.y)),
        str(len(found)),
        f"{n_found / len(found):.2f}" if n_wrong and len(found) else "-",
        f"{n_found / n_wrong:.2f}" if n_wrong else "-",
    ]


if __name__ == "__main__":
    sys.exit(main())
