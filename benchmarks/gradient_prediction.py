"""Rows per second that gradient boosters predict for, one thread."""

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import Problem, make_table
from benchmarks.measure import median_ratio, take_turns, time_call
from benchmarks.output import MarkdownTable, print_heading
from benchmarks.peers import PEERS, Plan, encode
from benchmarks.sets import load_set
from mpboost import MPGradientBoostingClassifier

N_TREES, N_LEAVES = 500, 31
#: Small, so that the last trees still have something to learn, and are as large as the first.
LEARNING_RATE = 0.02
N_TURNS = 7
NARROW_COLUMNS, N_NARROW, N_WIDE, N_TRAIN = 30, 200_000, 20_000, 10_000
WIDE_SET = "MNIST odd/even"
#: We are to be at least as fast as these.
JUDGED_PEERS = ("LightGBM", "XGBoost")

#: What makes the trees of all alike: as many, and as large.
SAME_TREES = {
    "LightGBM": {"num_leaves": N_LEAVES},
    "XGBoost": {"max_leaves": N_LEAVES, "max_depth": 0, "grow_policy": "lossguide", "min_child_weight": 0},
    "HistGradientBoosting": {"max_leaf_nodes": N_LEAVES, "early_stopping": False},
}
#: How the leaves of a model are counted, for trees may stay smaller than they could be.
COUNT_LEAVES: dict[str, Callable[[Any], int]] = {
    "ours": lambda model: len(model._ensemble.forest.leaf_values),
    "LightGBM": lambda model: sum(tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"]),
    "XGBoost": lambda model: sum(tree.count("leaf=") for tree in model.get_booster().get_dump()),
    "HistGradientBoosting": lambda model: sum(tree.get_n_leaf_nodes() for (tree,) in model._predictors),
}


def show_prediction(peers: Sequence[str], is_quick: bool, folder: Path) -> None:
    """Print a row for each table and contestant."""
    n_trees, n_turns = (5, 2) if is_quick else (N_TREES, N_TURNS)
    print_heading(f"predict_proba for {n_trees} trees of {N_LEAVES} leaves, one thread, {n_turns} turns: medians")
    columns = ["table", "contestant", "leaves of a tree", "ms", "rows per second", "ours is faster by", "goal"]
    table = MarkdownTable(folder / "gradient-prediction.md", columns)
    peers = [name for name in peers if name in SAME_TREES]
    for problem in (make_narrow(is_quick), make_wide(is_quick)):
        models = {"ours": fit_ours(problem, n_trees)} | {name: fit_peer(name, problem, n_trees) for name in peers}
        X = problem.X_test
        calls = {name: partial(time_call, partial(model.predict_proba, X), 1) for name, model in models.items()}
        with threadpool_limits(1):
            take_turns(calls, 1)
            seconds = take_turns(calls, n_turns)
        for name, model in models.items():
            median, lead = statistics.median(seconds[name]), median_ratio(seconds[name], seconds["ours"])
            table.add(
                [
                    f"{problem.name}, {X.shape[0]} x {X.shape[1]}",
                    name,
                    f"{COUNT_LEAVES[name](model) / n_trees:.1f}",
                    f"{1000 * median:.2f}",
                    f"{len(X) / median:,.0f}",
                    "" if name == "ours" else f"{lead:.2f}",
                    "" if name not in JUDGED_PEERS else "met" if lead >= 1.0 else "MISSED",
                ]
            )


def fit_ours(problem: Problem, n_trees: int) -> Any:
    """Fit so many trees."""
    model = MPGradientBoostingClassifier(
        n_estimators=n_trees, max_leaf_nodes=N_LEAVES, learning_rate=LEARNING_RATE, stopping=None, random_state=0
    )
    return model.fit(problem.X_train, problem.y_train)


def fit_peer(name: str, problem: Problem, n_trees: int) -> Any:
    """Fit so many trees."""
    encoded = encode(problem)
    entry = PEERS[name].enter(encoded, Plan(n_trees))
    with threadpool_limits(1):
        model = entry.model.set_params(**SAME_TREES[name], learning_rate=LEARNING_RATE)
        return model.fit(entry.X_train, encoded.y_train)


def make_narrow(is_quick: bool) -> Problem:
    """Make up a table of few columns."""
    n_train, n_test = (200, 1000) if is_quick else (N_TRAIN, N_NARROW)
    X, y = make_table(n_train + n_test, NARROW_COLUMNS)
    return Problem("narrow", X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def make_wide(is_quick: bool) -> Problem:
    """Take many columns: the pixels of digits, as floats."""
    n_train, n_test = (200, 200) if is_quick else (N_TRAIN, N_WIDE)
    arrays = load_set(WIDE_SET)
    X, y = arrays["X_train"][: n_train + n_test].astype(np.float32), arrays["y_train"]
    return Problem("wide", X[:n_train], y[:n_train], X[n_train:], y[n_train : n_train + n_test])
