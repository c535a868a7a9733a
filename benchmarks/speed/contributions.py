"""What contributions of features cost, beside LightGBM and XGBoost: ``python -m benchmarks.speed.contributions``.

One thread; all take turns. What counts is the time of the processor, which others may use, too. The models have 500
trees of 31 leaves on 30 features. The same for interactions of pairs of features, which LightGBM does not have. Then
trees of votes, which grow until each leaf is pure: how time grows with their leaves.
"""

import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.common.command import make_parser, parse, run_on
from benchmarks.common.measure import median_ratio, take_turns, time_call
from benchmarks.common.output import print_heading
from benchmarks.common.results import show_table
from mpboost import MPBoostClassifier, MPGradientBoostingRegressor

N_TRAINING, N_FEATURES, N_LEAVES, N_TREES, N_EXPLAINED = 20_000, 30, 31, 500, 1000
N_TURNS, N_BACKGROUND = 5, 100
N_PAIRED = 20  # rows whose interactions are computed: they take long elsewhere
#: Rows of minipatches of trees that grow until their leaves are pure, and the number of these trees.
PATCH_SIZES, N_SATURATED = (125, 250, 500, 1000, 2000), 100


def main(arguments: list[str] | None = None) -> int:
    options, folder = parse(make_parser(__doc__), arguments, "speed")
    n_trees, n_turns, sizes = (10, 1, PATCH_SIZES[:2]) if options.quick else (N_TREES, N_TURNS, PATCH_SIZES)

    def measure(_: None) -> None:
        X, y = make_numbers(N_TRAINING)
        print_heading(f"Contributions for {N_EXPLAINED} rows, {n_trees} trees of {N_LEAVES} leaves, one thread")
        rows = compare(X, y, n_trees, n_turns)
        columns = ["contributions by", "leaves per tree", "ms per 1000 rows", "times ours"]
        show_table(folder / "contributions.csv", columns, rows)
        print_heading(f"Interactions for {N_PAIRED} rows, the same models, one thread")
        columns = ["interactions by", "leaves per tree", "ms per 1000 rows", "times ours"]
        show_table(folder / "interactions.csv", columns, compare_interactions(X, y, n_trees, n_turns))
        print_heading(f"{N_SATURATED} trees of votes that grow until leaves are pure, one thread")
        rows = [measure_saturated(X, y, size, n_turns) for size in sizes]
        columns = ["rows of a minipatch", "leaves per tree", "depth", "ms per 1000 rows", "us per 1000 rows and leaf"]
        show_table(folder / "contributions_saturated.csv", columns, rows)

    return run_on(lambda: None, measure)


def make_numbers(n_rows: int) -> tuple[Any, Any]:
    """Make up a table of numbers with a target that has squares and a product in it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES))
    return X, (X[:, :10] ** 2).sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=n_rows)


def compare(X: Any, y: Any, n_trees: int, n_turns: int) -> list[list[str]]:
    """Compare contributions; return a row for each contestant."""
    explained, background = X[:N_EXPLAINED], X[-N_BACKGROUND:]
    ours, n_leaves = fit_ours(X, y, n_trees)
    contestants: dict[str, tuple[float, Callable[[], object]]] = {
        "mpboost": (n_leaves, lambda: ours.predict_contributions(explained)),
        f"mpboost, background of {N_BACKGROUND}": (
            n_leaves,
            lambda: ours.predict_contributions(explained, background=background),
        ),
    }
    if find_spec("lightgbm"):
        contestants["LightGBM, pred_contrib"] = prepare_lightgbm(X, y, explained, n_trees)
    if find_spec("xgboost"):
        contestants["XGBoost, pred_contribs"] = prepare_xgboost(X, y, explained, n_trees, pred_contribs=True)
    return compete(contestants, n_turns, N_EXPLAINED)


def compare_interactions(X: Any, y: Any, n_trees: int, n_turns: int) -> list[list[str]]:
    """Compare interactions; return a row for each contestant."""
    explained = X[:N_PAIRED]
    ours, n_leaves = fit_ours(X, y, n_trees)
    contestants: dict[str, tuple[float, Callable[[], object]]] = {
        "mpboost": (n_leaves, lambda: ours.predict_interactions(explained))
    }
    if find_spec("xgboost"):
        contestants["XGBoost, pred_interactions"] = prepare_xgboost(X, y, explained, n_trees, pred_interactions=True)
    return compete(contestants, n_turns, N_PAIRED)


def compete(contestants: dict[str, tuple[float, Callable[[], object]]], n_turns: int, n_rows: int) -> list[list[str]]:
    """Let all take turns, of which each has a number of leaves and a call; return a row for each."""
    seconds = take_turns(
        {name: lambda call=call: time_call(call, 1, time.process_time) for name, (_, call) in contestants.items()},
        n_turns,
    )
    first = seconds["mpboost"]
    return [
        [
            name,
            f"{contestants[name][0]:.1f}",
            f"{1e6 * statistics.median(each) / n_rows:.0f}",
            f"{median_ratio(each, first):.1f}",
        ]
        for name, each in seconds.items()
    ]


def fit_ours(X: Any, y: Any, n_trees: int) -> tuple[MPGradientBoostingRegressor, float]:
    """Fit our model; return it with its leaves per tree."""
    model = MPGradientBoostingRegressor(
        n_estimators=n_trees, max_leaf_nodes=N_LEAVES, stopping=None, random_state=0, n_jobs=1
    ).fit(X, y)
    return model, len(model._ensemble.forest.leaf_covers) / n_trees


def prepare_lightgbm(X: Any, y: Any, explained: Any, n_trees: int) -> tuple[float, Callable[[], object]]:
    """Fit LightGBM; return its leaves per tree and a call that explains the rows."""
    import lightgbm

    options = {"num_leaves": N_LEAVES, "verbose": -1, "num_threads": 1, "learning_rate": 0.1}
    model = lightgbm.train(options, lightgbm.Dataset(X, y), n_trees)
    n_leaves = sum(tree["num_leaves"] for tree in model.dump_model()["tree_info"]) / n_trees
    return n_leaves, lambda: model.predict(explained, pred_contrib=True, num_threads=1)


def prepare_xgboost(X: Any, y: Any, explained: Any, n_trees: int, **asked: bool) -> tuple[float, Callable[[], object]]:
    """Fit XGBoost; return its leaves per tree and a call that explains the rows."""
    import xgboost

    options = {"max_leaves": N_LEAVES, "grow_policy": "lossguide", "max_depth": 0, "tree_method": "hist"}
    model = xgboost.train({**options, "nthread": 1, "eta": 0.1}, xgboost.DMatrix(X, y), n_trees)
    rows = xgboost.DMatrix(explained, nthread=1)
    n_leaves = sum(tree.count("leaf=") for tree in model.get_dump()) / n_trees
    return n_leaves, lambda: model.predict(rows, **asked)


def measure_saturated(X: Any, y: Any, patch_size: int, n_turns: int) -> list[str]:
    """Measure trees of votes, grown on minipatches of so many rows."""
    model = MPBoostClassifier(
        n_estimators=N_SATURATED, max_samples=patch_size, min_samples_split=2, stopping=None, random_state=0, n_jobs=1
    ).fit(X, y > np.median(y))
    n_leaves = len(model._ensemble.forest.leaf_covers) / len(model.trees_)
    depth = statistics.mean(tree.depth for tree in model.trees_)
    seconds = [
        time_call(lambda: model.predict_contributions(X[:N_EXPLAINED]), 1, time.process_time) for _ in range(n_turns)
    ]
    ms = 1000 * statistics.median(seconds)
    per_leaf = 1000 * ms / (n_leaves * N_SATURATED)
    return [str(patch_size), f"{n_leaves:.0f}", f"{depth:.1f}", f"{ms:.0f}", f"{per_leaf:.1f}"]


if __name__ == "__main__":
    sys.exit(main())
