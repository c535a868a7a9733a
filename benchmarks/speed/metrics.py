"""What a metric of the user's choice costs: ``python -m benchmarks.speed.metrics``.

First each metric alone beside scikit-learn's scorer, on the same predictions; then fits of 200 iterations with
``scoring``, beside the same fits without.
"""

import statistics
import sys
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from benchmarks.common.command import make_parser, parse, print_machine
from benchmarks.common.measure import median_ratio, take_turns, time_call
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.data.made_up import make_table
from mpboost import MPBoostClassifier, MPGradientBoostingClassifier
from mpboost.outputs.metrics import Metric
from mpboost.tasks.losses import RawPredictions

NAMES = ("accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc", "average_precision")


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose log odds are known."""

    def __init__(self, predictions: RawPredictions):
        self._predictions, self.classes_ = predictions, np.arange(2)

    def predict(self, X: object) -> np.ndarray:
        """Return classes."""
        return self._predictions.predict()

    def decision_function(self, X: object) -> np.ndarray:
        """Return log odds."""
        return self._predictions.decide()

    def predict_proba(self, X: object) -> np.ndarray:
        """Return probabilities."""
        return self._predictions.estimate()


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="rows (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=7, help="turns of each (default: %(default)s)")
    options, folder = parse(parser, arguments, "speed")
    n_rows, n_turns, n_trees = (500, 2, 10) if options.quick else (options.rows, options.turns, 200)
    print_machine()
    X, y = make_table(n_rows, 20)
    codes, rng = (y > 0).astype(np.uint16), np.random.default_rng(0)
    predictions = RawPredictions("log_loss", rng.normal(size=n_rows) + 2.0 * codes)

    print_heading(f"A metric of {n_rows} rows, milliseconds")
    lines = []
    for name in NAMES:
        spent = take_turns(
            {
                "ours": partial(time_call, partial(Metric(name, np.arange(2)).compute, predictions, codes, None), 3),
                "theirs": partial(time_call, partial(score_by_scikit_learn, name, predictions, codes), 3),
            },
            n_turns,
        )
        medians = [f"{1e3 * statistics.median(seconds):.2f}" for seconds in spent.values()]
        lines.append([name, *medians, f"{median_ratio(spent['theirs'], spent['ours']):.1f}"])
    show_table(folder / "metrics.csv", ["metric", "ours", "scikit-learn", "ratio"], lines)

    print_heading(f"Fits of {n_trees} iterations on {n_rows} rows, seconds; one thread")
    print_line("ratio: with the metric over without")
    lines = []
    for cls in (MPBoostClassifier, MPGradientBoostingClassifier):
        models = {
            name or "none": cls(n_estimators=n_trees, stopping=None, scoring=name, n_jobs=1, random_state=0)
            for name in (None, *NAMES[1:])
        }
        fits = {name: partial(time_call, partial(model.fit, X, y), 1) for name, model in models.items()}
        spent = take_turns(fits, n_turns)
        for name, seconds in spent.items():
            ratio = f"{median_ratio(seconds, spent['none']):.2f}"
            lines.append([cls.__name__, name, f"{statistics.median(seconds):.2f}", ratio])
    show_table(folder / "scoring.csv", ["estimator", "scoring", "s", "ratio"], lines)
    return 0


def score_by_scikit_learn(name: str, predictions: RawPredictions, codes: np.ndarray) -> float:
    """Score predictions by scikit-learn."""
    return get_scorer(name)(Known(predictions), np.empty((len(codes), 0)), codes)


if __name__ == "__main__":
    sys.exit(main())
