"""Clocks that look into a fit of ours: its loop, and the steps of an iteration."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, TypeVar

from mpboost import Callback, _native
from mpboost.boosting.run import BoostingRun

Result = TypeVar("Result")

#: Steps of an iteration that benchmarks ask for.
GROWING, UPDATING = "grow", "apply, update outputs, scores"


class LoopClock(Callback):
    """Times the loop of a fit: without validation, binning and what follows."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Start."""
        self.seconds = -time.perf_counter()

    def on_fit_end(self, run: BoostingRun) -> None:
        """Stop."""
        self.seconds += time.perf_counter()


class StepClock(LoopClock):
    """Times the steps of the loop, by wrapping the methods that ``mpboost.boosting.loop.boost`` calls.

    The methods are wrapped on the parts of this run alone; nothing of the library changes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._spent: dict[str, float] = defaultdict(float)

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Wrap, then start."""
        self._spent.clear()
        learner: Any = run.parts.learner
        learner._grower = SimpleNamespace(grow_round=self._timed(GROWING, learner._grower.grow_round))
        self._wrap(learner, "train", "train")
        self._wrap(run.parts.observation_sampler, "sample", "draw rows")
        self._wrap(run.parts.feature_sampler, "sample", "draw features")
        self._wrap(run.parts.task, "update", UPDATING)
        self._wrap(run.parts.feature_sampler, "update", "update q")
        super().on_fit_begin(run)

    @property
    def steps(self) -> dict[str, float]:
        """Seconds for each step, in the order of the loop, and for the rest of it."""
        spent = dict(self._spent)
        spent["credit features"] = spent.pop("train") - spent[GROWING]
        order = ("draw rows", "draw features", GROWING, "credit features", UPDATING, "update q")
        steps = {name: spent[name] for name in order}
        return {**steps, "rest": self.seconds - sum(steps.values())}

    def _wrap(self, part: Any, method: str, step: str) -> None:
        setattr(part, method, self._timed(step, getattr(part, method)))

    def _timed(self, step: str, call: Callable[..., Result]) -> Callable[..., Result]:
        def timed(*args: Any) -> Result:
            start = time.perf_counter()
            result = call(*args)
            self._spent[step] += time.perf_counter() - start
            return result

        return timed


@contextmanager
def kernels(name: str) -> Iterator[None]:
    """Use other kernels for a while."""
    before = _native.current_kernels()
    _native.use_kernels(name)
    try:
        yield
    finally:
        _native.use_kernels(before)
