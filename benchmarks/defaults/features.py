"""Which features of Madelon carry signal, by the consensus of many fits, and how q ranks them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from threadpoolctl import threadpool_limits

from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable
from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.data.sets import load_set, split
from mpboost import MPBoostClassifier

#: Features that carry signal: five, and fifteen combinations of these; and where q must have them.
N_SIGNAL, N_TOP = 20, 30


def show_features(n_seeds: int, n_rows: int | None, n_fits: int, folder: Path) -> None:
    """Print the consensus, and a row for each kind of importances and seed."""
    print_heading(f"Madelon: the {N_SIGNAL} features that carry signal, and where q has them")
    scores = find_consensus(n_fits)
    order = np.argsort(-scores.mean, kind="stable")
    signal, (last, next_one) = np.sort(order[:N_SIGNAL]), order[N_SIGNAL - 1 : N_SIGNAL + 1]
    print_line(f"by permutation importances of {n_fits} fits of HistGradientBoosting: {' '.join(map(str, signal))}")
    print_line(
        f"the least costs {scores.describe(last)} points of accuracy, the next feature {scores.describe(next_one)}"
    )
    table = ResultTable(
        folder / "features.csv",
        [
            "importance",
            "seed",
            "test %",
            f"of {N_SIGNAL} in the top {N_SIGNAL}",
            f"in the top {N_TOP}",
            "worst rank",
            "by mean importance",
        ],
    )
    arrays = load_set("madelon")
    is_good = True
    for importance in ("out_of_patch", "impurity"):
        for seed in range(n_seeds):
            split_set = split("madelon", arrays, seed, n_rows)
            model = MPBoostClassifier(importance=importance, random_state=seed).fit(
                split_set.X_train, split_set.y_train
            )
            ranks = rank(model.feature_probabilities_)[signal]
            is_good &= importance == "impurity" or ranks.max() <= N_TOP
            accuracy = f"{100 * model.score(split_set.X_test, split_set.y_test):.2f}"
            counts = (np.count_nonzero(ranks <= top) for top in (N_SIGNAL, N_TOP))
            by_mean = rank(model.feature_importances_)[signal]
            table.add([importance, str(seed), accuracy, *map(str, (*counts, ranks.max(), by_mean.max()))])
    print_line(f"all in the top {N_TOP} with out_of_patch, our default: {'met' if is_good else 'MISSED'}")


class Consensus:
    """Importances of features over fits; NaN where a fit had not the feature."""

    def __init__(self, importances: NDArray[np.float64]):
        n_fits = np.maximum(1, np.count_nonzero(~np.isnan(importances), axis=0))
        self.mean = np.nansum(importances, axis=0) / n_fits
        self.error = np.sqrt(np.nansum((importances - self.mean) ** 2, axis=0)) / n_fits

    def describe(self, feature: int) -> str:
        """Write mean and standard error in percent."""
        return f"{100 * self.mean[feature]:.2f} ± {100 * self.error[feature]:.2f}"


def find_consensus(n_fits: int) -> Consensus:
    """Measure what shuffling a feature costs on rows that a fit has not seen.

    Each fit has other rows, and a half of the features: one that says the same as another counts where that is absent.
    """
    arrays: dict[str, NDArray[Any]] = load_set("madelon")
    X, y = arrays["X"], arrays["y"]
    importances = np.full((n_fits, X.shape[1]), np.nan)
    for seed in range(n_fits):
        rng = np.random.default_rng(seed)
        train, held_out = np.split(rng.permutation(len(y)), [int(0.8 * len(y))])
        features = np.sort(rng.choice(X.shape[1], X.shape[1] // 2, replace=False))
        model = CONTESTANTS["HistGradientBoosting"].make(Plan(60, seed), max_features=0.3)
        with threadpool_limits(1):
            model.fit(X[np.ix_(train, features)], y[train])
            shuffled = permutation_importance(
                model, X[np.ix_(held_out, features)], y[held_out], n_repeats=2, random_state=seed
            )
        importances[seed, features] = shuffled.importances_mean
    return Consensus(importances)


def rank(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rank from 1 for the largest."""
    ranks = np.empty(len(probabilities), dtype=np.int64)
    ranks[np.argsort(-probabilities, kind="stable")] = np.arange(1, len(probabilities) + 1)
    return ranks
