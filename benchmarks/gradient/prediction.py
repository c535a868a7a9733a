"""Rows per second that gradient boosters predict for, one thread."""

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common.measure import median_ratio, take_turns, time_call
from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable
from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.data.made_up import make_table
from benchmarks.data.sets import load_set
from benchmarks.data.split_set import SplitSet

N_TREES, N_LEAVES = 500, 31
#: Small, so that the last trees still have something to learn, and are as large as the first.
LEARNING_RATE = 0.02
N_TURNS = 7
NARROW_COLUMNS, N_NARROW, N_WIDE, N_TRAIN = 30, 200_000, 20_000, 10_000
WIDE_SET = "MNIST odd/even"
#: We are to be at least as fast as these.
JUDGED = ("LightGBM", "XGBoost")


def show_prediction(others: Sequence[str], is_quick: bool, folder: Path) -> None:
    """Print a row for each table and contestant."""
    n_trees, n_turns = (5, 2) if is_quick else (N_TREES, N_TURNS)
    print_heading(f"predict_proba for {n_trees} trees of {N_LEAVES} leaves, one thread, {n_turns} turns: medians")
    columns = ["table", "contestant", "leaves of a tree", "ms", "rows per second", "ours is faster by", "goal"]
    table = ResultTable(folder / "prediction.csv", columns)
    names = {"ours": "MPGradientBoosting"} | {name: name for name in others if CONTESTANTS[name].limit_leaves(N_LEAVES)}
    for split_set in (make_narrow(is_quick), make_wide(is_quick)):
        models = {title: fit(name, split_set, n_trees) for title, name in names.items()}
        X = split_set.X_test
        calls = {name: partial(time_call, partial(model.predict_proba, X), 1) for name, model in models.items()}
        with threadpool_limits(1):
            take_turns(calls, 1)
            seconds = take_turns(calls, n_turns)
        for name, model in models.items():
            median, lead = statistics.median(seconds[name]), median_ratio(seconds[name], seconds["ours"])
            table.add(
                [
                    f"{split_set.name}, {X.shape[0]} x {X.shape[1]}",
                    name,
                    f"{CONTESTANTS[names[name]].count_leaves(model) / n_trees:.1f}",
                    f"{1000 * median:.2f}",
                    f"{len(X) / median:,.0f}",
                    "" if name == "ours" else f"{lead:.2f}",
                    "" if name not in JUDGED else "met" if lead >= 1.0 else "MISSED",
                ]
            )


def fit(name: str, split_set: SplitSet, n_trees: int) -> Any:
    """Fit so many trees, as large as those of all."""
    contestant = CONTESTANTS[name]
    # Ours would end by itself, and is told not to.
    whole = {"n_estimators": n_trees, "stopping": None} if contestant.is_ours else {}
    parameters = contestant.limit_leaves(N_LEAVES) | {"learning_rate": LEARNING_RATE} | whole
    encoded = split_set.encode()
    entry = contestant.enter(encoded, Plan(n_trees), **parameters)
    with threadpool_limits(1):
        return entry.model.fit(entry.X_train, encoded.y_train)


def make_narrow(is_quick: bool) -> SplitSet:
    """Make up a table of few columns."""
    n_train, n_test = (200, 1000) if is_quick else (N_TRAIN, N_NARROW)
    X, y = make_table(n_train + n_test, NARROW_COLUMNS)
    return SplitSet("narrow", X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def make_wide(is_quick: bool) -> SplitSet:
    """Take many columns: the pixels of digits, as floats."""
    n_train, n_test = (200, 200) if is_quick else (N_TRAIN, N_WIDE)
    arrays = load_set(WIDE_SET)
    X, y = arrays["X_train"][: n_train + n_test].astype(np.float32), arrays["y_train"]
    return SplitSet("wide", X[:n_train], y[:n_train], X[n_train:], y[n_train : n_train + n_test])
