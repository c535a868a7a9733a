"""What a fit of a contestant comes to, and a memory of such fits."""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common.measure import time_call
from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.data.split_set import SplitSet


@dataclass(frozen=True)
class Outcome:
    """What a fit came to; scores are in percent, and what a contestant does not have is NaN.

    ``cpu_seconds`` are those of all processors.
    """

    test_score: float
    seconds: float
    oop_score: float = np.nan
    n_learners: float = np.nan
    n_rows: float = np.nan
    n_features: float = np.nan
    learning_rate: float = np.nan
    cpu_seconds: float = np.nan

    @property
    def optimism(self) -> float:
        """How far the out-of-patch score is above the one on test rows."""
        return self.oop_score - self.test_score


def measure(name: str, split_set: SplitSet, plan: Plan, **parameters: Any) -> Outcome:
    """Fit a contestant with its defaults but for the plan and some parameters, and judge it by the test rows."""
    split_set = split_set.encode()
    entry = CONTESTANTS[name].enter(split_set, plan, **parameters)
    model = entry.model
    fit = partial(model.fit, entry.X_train, split_set.y_train, **entry.fit_arguments)
    with threadpool_limits(plan.n_threads):
        start = time.process_time()
        seconds = time_call(fit, n_calls=1)
        cpu_seconds = time.process_time() - start
        test_score = 100.0 * float(model.score(entry.X_test, split_set.y_test))
    if not CONTESTANTS[name].is_ours:
        return Outcome(test_score, seconds, cpu_seconds=cpu_seconds)
    return Outcome(
        test_score,
        seconds,
        100.0 * model.oop_score_,
        model.best_iteration_,
        model.max_samples_,
        model.max_features_,
        getattr(model, "learning_rate_", np.nan),
        cpu_seconds,
    )


def mean_of(outcomes: Iterable[Outcome], figure: str) -> float:
    """Average a figure over fits."""
    return float(np.mean([getattr(outcome, figure) for outcome in outcomes]))


def format_score(outcomes: Iterable[Outcome], figure: str = "test_score", scale: float = 1.0, digits: int = 2) -> str:
    """Write the mean of a score with its standard deviation, if there is more than one fit."""
    scores = [scale * getattr(outcome, figure) for outcome in outcomes]
    if not scores:
        return ""
    spread = f" ± {np.std(scores, ddof=1):.{digits}f}" if len(scores) > 1 else ""
    return f"{np.mean(scores):.{digits}f}{spread}"


class FitMemory:
    """Fits of others, kept as lines of JSON in a folder, so that a long run can be interrupted and continued.

    Seconds are those of the day on which a contestant was fitted.
    """

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "fits.jsonl"
        self._known: dict[str, Outcome] = {}
        for path in sorted(folder.glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                run = json.loads(line)
                outcome = Outcome(run.pop("score"), run.pop("seconds"))
                self._known[_to_key(run)] = outcome

    def measure(self, name: str, split_set: SplitSet, plan: Plan) -> Outcome:
        """Recall what a contestant came to, or else fit it."""
        run = {"set": split_set.name, "n_rows": len(split_set.y_train), "contestant": name}
        run |= {"version": CONTESTANTS[name].version} | asdict(plan)
        if _to_key(run) not in self._known:
            outcome = self._known[_to_key(run)] = measure(name, split_set, plan)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run | {"score": outcome.test_score, "seconds": outcome.seconds}) + "\n")
        return self._known[_to_key(run)]


def _to_key(run: dict[str, Any]) -> str:
    return json.dumps(run, sort_keys=True)
