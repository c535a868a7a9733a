"""A row of the run: all contestants on one split of one set, in turns, each for itself and with one thread."""

import os
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.clean.modes import DEFAULTS, EARLY, EQUAL, MODES, OURS_EQUAL
from benchmarks.contestants import CONTESTANTS, Contestant, Entry, Plan, find_installed
from benchmarks.contestants.clock import StageClock, read_clocks
from benchmarks.data.collection import load_split
from benchmarks.data.split_set import SplitSet

#: Share of the training rows that early stopping holds out, most trees with it, and how many may bring nothing.
HOLD_OUT, MAX_TREES, PATIENCE = 0.1, 2000, 50
#: More trees than any fit of equal time can grow. CatBoost keeps its default number there: its default learning rate
#: depends on it, and ours take less time than all of these trees.
ENDLESS = 1_000_000
#: Of others: contestants that cannot be watched tree by tree, and are interrupted at the limit.
UNWATCHED = ("HistGradientBoosting", "RandomForest")
FIGURES = ("score", "log_loss", "auc", "seconds", "wall_seconds", "predict_seconds", "stopped", "load")


@dataclass(frozen=True)
class Task:
    """A row to be measured: a split of a set, and the time by which it must have begun."""

    set_name: str
    seed: int
    last_start: float = np.inf


class TimeIsUpError(Exception):
    """A fit has taken as long as it may."""


def try_row(task: Task, limit: float, n_rows: int | None = None) -> tuple[list[dict[str, object]], str]:
    """Run a row; give its lines, and what went wrong: one row must not end a long run."""
    try:
        return run_row(task, limit, n_rows), ""
    except Exception:
        return [], traceback.format_exc()


def run_row(task: Task, limit: float, n_rows: int | None = None) -> list[dict[str, object]]:
    """Fit all contestants of a row in turns; give a line for each fit, or none if it is too late to begin.

    With every seed another contestant of a mode is the first one.
    """
    if time.time() > task.last_start:
        return []
    split_set = load_split(task.set_name, task.seed, n_rows).encode()
    lines: list[dict[str, object]] = []
    seconds_of_ours = np.nan
    for mode, names in MODES.items():
        installed = find_installed(names)
        shift = task.seed % len(installed) if installed else 0
        for name in installed[shift:] + installed[:shift]:
            warm_up(name, mode)
            figures = run_fit(name, mode, split_set, task.seed, seconds_of_ours if mode == EQUAL else limit)
            if (name, mode) == (OURS_EQUAL, DEFAULTS):
                seconds_of_ours = float(figures["seconds"])
            lines.append({"set": task.set_name, "seed": task.seed, "mode": mode, "contestant": name, **figures})
    return lines


def run_fit(name: str, mode: str, split_set: SplitSet, seed: int, cap: float) -> dict[str, Any]:
    """Fit one contestant within a cap of seconds, which ours does not have; judge it by the test rows.

    Seconds are those of the processor. ``stopped`` is the limit at which a fit was ended that would have gone on.
    """
    contestant, y = CONTESTANTS[name], split_set.y_train
    n_trees = {DEFAULTS: None, EARLY: MAX_TREES, EQUAL: None if name == "CatBoost" else ENDLESS}[mode]
    entry = contestant.enter(split_set, Plan(n_trees, seed))
    if mode == EARLY:
        held_out = choose_held_out(y, seed, is_regression=split_set.is_regression)
        entry, y = contestant.stop_early(entry, y, held_out, PATIENCE)
    load = os.getloadavg()[0]
    with threadpool_limits(1):
        start = read_clocks()
        model, is_cut = fit_within(contestant, entry, y, cap)
        end = read_clocks()
        judged = judge(model, entry.X_test, split_set) if model is not None else {}
    figures = dict.fromkeys(FIGURES, np.nan) | judged
    figures |= {"seconds": end.cpu - start.cpu, "wall_seconds": end.wall - start.wall, "load": load}
    return figures | {"stopped": f"{cap:g}" if is_cut and mode != EQUAL else ""}


def fit_within(contestant: Contestant, entry: Entry, y: NDArray[Any], cap: float) -> tuple[Any, bool]:
    """Fit until the time is up; give the model, None if there is none by then, and whether the fit was cut."""
    if contestant.is_ours:
        return entry.model.fit(entry.X_train, y, **entry.fit_arguments), False
    if contestant in (CONTESTANTS[name] for name in UNWATCHED):
        try:
            with interrupt_after(cap):
                return entry.model.fit(entry.X_train, y, **entry.fit_arguments), False
        except TimeIsUpError:
            return (entry.model if contestant.rescue(entry.model) else None), True
    clock = StageClock(range(1, ENDLESS + 1), cap)
    with clock.running():
        model = contestant.watch(entry, y, clock)
    return model, clock.is_over


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """Raise a TimeIsUpError inside when the processor has spent so many seconds; only in the main thread.

    Code that is interrupted may turn the error into one of its own, as numpy does while it reads a format, or drop it:
    any error after the ring is a TimeIsUpError, and the clock rings again.
    """
    is_up = False

    def ring(*_: object) -> None:
        nonlocal is_up
        is_up = True
        raise TimeIsUpError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.2)
    try:
        yield
    except Exception as error:
        if is_up:
            raise TimeIsUpError from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def choose_held_out(y: NDArray[Any], seed: int, *, is_regression: bool) -> NDArray[np.bool_]:
    """Choose the rows that early stopping holds out; of each class at least one row is left to learn from."""
    order = np.random.default_rng([seed, 2]).permutation(len(y))
    held_out = np.zeros(len(y), dtype=bool)
    held_out[order[: max(1, round(HOLD_OUT * len(y)))]] = True
    if not is_regression:
        reverse = order[::-1]
        held_out[reverse[np.unique(y[reverse], return_index=True)[1]]] = False
    return held_out


def judge(model: Any, X: Any, split_set: SplitSet) -> dict[str, float]:
    """Score a model by the test rows: accuracy or R² in percent, log loss, area under the ROC curve; time ``predict``.

    Log loss and area leave out rows of a class that there was nothing to learn about; the area is that of each class
    against the rest, on average, and is not defined if a class has no test row.
    """
    y = split_set.y_test
    start = read_clocks()
    predicted = np.ravel(model.predict(X))
    predict_seconds = read_clocks().cpu - start.cpu
    if split_set.is_regression:
        return {"score": 100.0 * r2_score(y, predicted), "predict_seconds": predict_seconds}
    classes, known = np.arange(split_set.y_train.max() + 1), y >= 0
    shares = np.asarray(model.predict_proba(X), dtype=np.float64)[known]
    shares /= shares.sum(axis=1, keepdims=True)
    figures = {
        "score": 100.0 * accuracy_score(y, predicted),
        "log_loss": log_loss(y[known], shares, labels=classes),
        "predict_seconds": predict_seconds,
    }
    if np.array_equal(np.unique(y[known]), classes):
        asked = shares[:, 1] if len(classes) == 2 else shares
        figures["auc"] = roc_auc_score(y[known], asked, multi_class="ovr")
    return {name: float(value) for name, value in figures.items()}


@cache
def warm_up(name: str, mode: str) -> None:
    """Fit to a few rows, so that whatever is loaded only at first is loaded; once in a process."""
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 4)), np.arange(200) % 2
    run_fit(name, mode, SplitSet("few", X[:150], y[:150], X[150:], y[150:]), 0, cap=0.05)
