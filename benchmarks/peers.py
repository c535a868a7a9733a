"""Other gradient boosters, with their defaults but for trees, seeds and threads, and a memory of their fits."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from benchmarks.data import Problem
from benchmarks.measure import time_call
from benchmarks.sets import REGRESSION, SETS


@dataclass(frozen=True)
class Plan:
    """What a fit is to be like."""

    n_trees: int = 100
    seed: int = 0
    n_threads: int = 1


@dataclass(frozen=True)
class Entry:
    """A model to fit, and the tables of a problem as it takes them."""

    model: Any
    X_train: Any
    X_test: Any
    fit_arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """A library: the name of its package, and how it enters a contest."""

    package: str
    enter: Callable[[Problem, Plan], Entry]

    @property
    def version(self) -> str:
        """The version that is installed."""
        return str(import_module(self.package).__version__)


def enter_lightgbm(problem: Problem, plan: Plan) -> Entry:
    """Enter LightGBM, which is told which columns hold codes of categories."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    make = LGBMRegressor if is_regression(problem) else LGBMClassifier
    model = make(n_estimators=plan.n_trees, random_state=plan.seed, n_jobs=plan.n_threads, verbosity=-1)
    categorical = find_categorical(problem)
    arguments = {"categorical_feature": list(categorical)} if categorical else {}
    return Entry(model, problem.X_train, problem.X_test, arguments)


def enter_xgboost(problem: Problem, plan: Plan) -> Entry:
    """Enter XGBoost, which takes categories in data frames."""
    from xgboost import XGBClassifier, XGBRegressor

    make = XGBRegressor if is_regression(problem) else XGBClassifier
    model = make(n_estimators=plan.n_trees, random_state=plan.seed, n_jobs=plan.n_threads)
    categorical = find_categorical(problem)
    if not categorical:
        return Entry(model, problem.X_train, problem.X_test)
    return Entry(model.set_params(enable_categorical=True), *_to_frames(problem, categorical))


def enter_catboost(problem: Problem, plan: Plan) -> Entry:
    """Enter CatBoost, which takes categories as strings in data frames; missing ones are one of them."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    make = CatBoostRegressor if is_regression(problem) else CatBoostClassifier
    quiet = {"verbose": 0, "allow_writing_files": False}
    categorical = list(find_categorical(problem))
    names = {"cat_features": categorical} if categorical else {}
    model = make(n_estimators=plan.n_trees, random_seed=plan.seed, thread_count=plan.n_threads, **quiet, **names)
    if not categorical:
        return Entry(model, problem.X_train, problem.X_test)
    frames = _to_frames(problem, categorical)
    for frame in frames:
        for column in categorical:
            frame[column] = frame[column].astype(object).fillna("missing").astype(str)
    return Entry(model, *frames)


def enter_hist_gradient_boosting(problem: Problem, plan: Plan) -> Entry:
    """Enter scikit-learn's histogram booster, whose threads are limited from outside."""
    make = HistGradientBoostingRegressor if is_regression(problem) else HistGradientBoostingClassifier
    categorical = list(find_categorical(problem)) or None
    model = make(max_iter=plan.n_trees, random_state=plan.seed, categorical_features=categorical)
    return Entry(model, problem.X_train, problem.X_test)


PEERS = {
    "LightGBM": Peer("lightgbm", enter_lightgbm),
    "XGBoost": Peer("xgboost", enter_xgboost),
    "CatBoost": Peer("catboost", enter_catboost),
    "HistGradientBoosting": Peer("sklearn", enter_hist_gradient_boosting),
}


def find_boosters(names: Iterable[str] = PEERS) -> list[str]:
    """Find which of these are installed."""
    return [name for name in names if find_spec(PEERS[name].package)]


def is_regression(problem: Problem) -> bool:
    """Tell whether numbers are to be learned."""
    return problem.name in REGRESSION


def find_categorical(problem: Problem) -> tuple[int, ...]:
    """Find the columns that hold codes of categories."""
    return SETS[problem.name].categorical if problem.name in SETS else ()


def encode(problem: Problem) -> Problem:
    """Give the classes numbers from 0 on, as XGBoost wants them."""
    if is_regression(problem):
        return problem
    codes = partial(np.searchsorted, np.unique(problem.y_train))
    return replace(problem, y_train=codes(problem.y_train), y_test=codes(problem.y_test))


def measure_fit(entry: Entry, problem: Problem, n_threads: int = 1) -> tuple[float, float]:
    """Fit; return the test score in percent, and the seconds of the fit."""
    fit = partial(entry.model.fit, entry.X_train, problem.y_train, **entry.fit_arguments)
    with threadpool_limits(n_threads):
        seconds = time_call(fit, n_calls=1)
        return 100.0 * float(entry.model.score(entry.X_test, problem.y_test)), seconds


def measure_peer(name: str, problem: Problem, plan: Plan) -> tuple[float, float]:
    """Fit a peer; return the test score in percent, and the seconds of the fit."""
    encoded = encode(problem)
    return measure_fit(PEERS[name].enter(encoded, plan), encoded, plan.n_threads)


class PeerMemory:
    """Fits of peers, kept as lines of JSON in a folder, so that a long run can be interrupted and continued.

    Seconds are those of the day on which a peer was fitted.
    """

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "peers.jsonl"
        self._known: dict[str, tuple[float, float]] = {}
        for path in sorted(folder.glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                run = json.loads(line)
                measured = run.pop("score"), run.pop("seconds")
                self._known[_to_key(run)] = measured

    def measure(self, name: str, problem: Problem, plan: Plan) -> tuple[float, float]:
        """Recall what a peer came to, or else fit it."""
        run = {"set": problem.name, "n_rows": len(problem.y_train), "peer": name, "version": PEERS[name].version}
        run |= asdict(plan)
        if _to_key(run) not in self._known:
            score, seconds = self._known[_to_key(run)] = measure_peer(name, problem, plan)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run | {"score": score, "seconds": seconds}) + "\n")
        return self._known[_to_key(run)]


def _to_key(run: dict[str, Any]) -> str:
    return json.dumps(run, sort_keys=True)


def _to_frames(problem: Problem, categorical: Iterable[int]) -> tuple[Any, Any]:
    """Make data frames for learning and testing that know the same categories."""
    import pandas as pd

    frame = pd.DataFrame(np.concatenate([problem.X_train, problem.X_test]))
    for column in categorical:
        frame[column] = frame[column].astype("category").cat.rename_categories(int)
    n_train = len(problem.X_train)
    return frame[:n_train].copy(), frame[n_train:].copy()
