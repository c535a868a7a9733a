"""How the tolerance of the stopping rule was chosen: ``python -m benchmarks.defaults.tolerances``.

Each fit runs to a fixed number of iterations. Then rules with different tolerances are replayed on its curve: where
they would have stopped, at what time, and how good the model is that they would have kept. Rows to test on have no
part in it: what counts is the score on a fifth of the rows to learn from, which is held out.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.data.files import find_file
from benchmarks.data.sets import SETS, hold_out, load_set, split
from benchmarks.data.split_set import SplitSet
from mpboost import (
    Callback,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stopping import PatienceStopping

NAMES = (
    *("MNIST 3 vs 8", "madelon", "adult", "magic", "higgs", "jasmine", "dna, 2 or not", "spambase", "gas drift, < 3"),
    *("relathe", "hill-valley", "letter", "california housing", "bike sharing", "cpu act"),
)
MAX_ROWS = 8000
PATIENCE = 100

#: Shares of the score of votes, and of the loss of gradients, below which a gain does not prolong the fit.
VOTE_TOLERANCES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3)
LOSS_TOLERANCES = (0.0, 1e-3, 2e-3, 5e-3, 1e-2)
#: The least tolerance of a loss, whatever its size.
MIN_LOSS_TOLERANCE = 1e-4


class Recorder(Callback):
    """Records what a fit stops by, and the seconds of the processor, after each iteration."""

    def __init__(self) -> None:
        self.qualities: list[float] = []
        self.ends: list[float] = []

    def on_iteration_end(self, run: BoostingRun) -> None:
        """Record an iteration."""
        self.qualities.append(run.qualities[-1])
        self.ends.append(time.process_time())


@dataclass(frozen=True)
class Curve:
    """A long fit: what it would stop by, how good it is on held-out rows, and seconds, after each iteration."""

    is_gradient: bool
    n_models: int
    qualities: list[float]
    scores: NDArray[Any]
    ends: list[float]

    def stop(self, tolerance: float) -> tuple[float, float]:
        """Replay the rule with a tolerance: the score of the model that is kept, in points, and the seconds."""
        patience = PATIENCE * self.n_models
        rule = PatienceStopping(
            patience,
            window=PATIENCE // 20 * self.n_models if self.is_gradient else None,
            burn_in=0 if self.is_gradient else None,
            relative_tolerance=tolerance,
            tolerance=MIN_LOSS_TOLERANCE if self.is_gradient and tolerance else 0.0,
        )
        last = len(self.qualities)
        for t, quality in enumerate(self.qualities, start=1):
            if rule.halts(t, quality):
                last = t
                break
        assert rule.best_iteration is not None
        return 100 * self.scores[rule.best_iteration - 1], self.ends[last - 1]


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, NAMES)
    parser.add_argument("--seeds", type=int, default=2, help="splits of each set (default: %(default)s)")
    options, folder = parse(parser, arguments, "defaults")
    n_rows, n_seeds, n_trees = (600, 1, 150) if options.quick else (MAX_ROWS, options.seeds, 2000)

    def measure(names: tuple[str, ...]) -> None:
        splits = [
            hold_out(split(name, load_set(name), seed), seed, n_rows) for name in names for seed in range(n_seeds)
        ]
        lines = []
        for family, tolerances in (("votes", VOTE_TOLERANCES), ("gradient", LOSS_TOLERANCES)):
            print_heading(f"{family}: {len(splits)} fits of {n_trees} iterations")
            curves = [record(data, n_trees, is_gradient=family == "gradient") for data in splits]
            lines += [[family, f"{tolerance:g}", *compare(curves, tolerance)] for tolerance in tolerances]
        print_line("points of accuracy or R^2, and time, beside a tolerance of 0")
        show_table(folder / "tolerances.csv", ["family", "tolerance", "points", "worst", "time", "least time"], lines)

    return run_on(lambda: _find(tuple(options.only or NAMES)), measure)


def compare(curves: list[Curve], tolerance: float) -> list[str]:
    """Compare a tolerance with none; give the cells of a line."""
    pairs = [(*curve.stop(tolerance), *curve.stop(0.0)) for curve in curves]
    points = [score - plain_score for score, _, plain_score, _ in pairs]
    ratios = [seconds / plain_seconds for _, seconds, _, plain_seconds in pairs]
    return [f"{np.mean(points):+.3f}", f"{min(points):+.2f}", f"{np.mean(ratios):.2f}", f"{min(ratios):.2f}"]


def _find(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        find_file(SETS[name].file)
    return names


def record(data: SplitSet, n_trees: int, *, is_gradient: bool) -> Curve:
    """Run a long fit, and score it on held-out rows after each iteration."""
    classes: dict[tuple[bool, bool], Callable[..., Any]] = {
        (False, False): MPBoostClassifier,
        (False, True): MPGradientBoostingClassifier,
        (True, False): MPBoostRegressor,
        (True, True): MPGradientBoostingRegressor,
    }
    recorder, is_regression = Recorder(), data.is_regression
    model = classes[is_regression, is_gradient](
        n_estimators=n_trees, stopping=None, callbacks=[recorder], n_jobs=1, random_state=0
    )
    start = time.process_time()
    model.fit(data.X_train, data.y_train)
    spread = np.var(data.y_test) if is_regression else 1.0
    scores = [
        1.0 - np.mean((predicted - data.y_test) ** 2) / spread if is_regression else np.mean(predicted == data.y_test)
        for predicted in model.staged_predict(data.X_test)
    ]
    seconds = [end - start for end in recorder.ends]
    return Curve(is_gradient, getattr(model, "n_models_", 1), recorder.qualities, np.array(scores), seconds)


if __name__ == "__main__":
    sys.exit(main())
