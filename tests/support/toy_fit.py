"""A toy in place of a fit on shards: it exchanges as often, and its result follows from every part of every shard."""

import hashlib
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.boosting.stop_reasons import StopReason
from mpboost.boosting.stopping import Watched

#: The state of a toy is below this.
PRIME = 1_000_003
#: Rows of a chunk: shards begin at multiples of it.
CHUNK = 16384


@dataclass
class ToyRun:
    """What callbacks see of a toy."""

    n_estimators: int
    iteration: int = 0
    round_size: int = 1
    best_iteration: int = 0
    has_oop_score: bool = True
    watched: Watched = field(default_factory=lambda: Watched("out-of-patch score"))
    train_scores: list[float] = field(default_factory=list)
    oop_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)
    qualities: list[float] = field(default_factory=list)
    features: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    stop_reason: StopReason | None = None
    stop_words: str = ""

    @property
    def feature_probabilities(self) -> NDArray[np.float64]:
        return np.full(4, self.iteration)

    def stop(self, reason, detail=""):
        if self.stop_reason is None:
            self.stop_reason, self.stop_words = reason, reason.describe(detail)

    def interrupt(self):
        self.stop_reason, self.stop_words = StopReason.INTERRUPTED, StopReason.INTERRUPTED.describe()


@dataclass
class Toy:
    """A fit of some steps; ``fit(data, shards, callbacks)`` as the driver calls it.

    Attributes
    ----------
    n_steps : int
        Number of iterations.
    pause : float
        Seconds of work in each iteration.
    fails : tuple of (int, int) or None
        The rank and the step at which a shard raises.
    hangs : tuple of (int, int) or None
        The rank and the step at which a shard computes for very long.
    """

    n_steps: int = 50
    pause: float = 0.0
    fails: tuple[int, int] | None = None
    hangs: tuple[int, int] | None = None

    def __call__(self, data, shards, callbacks):
        run = ToyRun(self.n_steps)
        weights = shards.deal(
            lambda: float(data.sum()), lambda parts: [sum(parts) + part for part in parts], keeps=True
        )
        state, digest, recent = 0, hashlib.sha256(), deque(maxlen=5)
        for callback in callbacks:
            callback.on_fit_begin(run)
        while run.stop_reason is None:
            state = self._step(data, shards, run, state, weights)
            digest.update(str(state).encode())
            recent.append(state)
            for callback in callbacks:
                if callback.on_iteration_end(run):
                    run.stop(StopReason.CALLBACK, type(callback).__name__)
        for callback in reversed(callbacks):
            callback.on_fit_end(run)
        rows = shards.deal(lambda: data, lambda parts: [np.concatenate(parts)] + [None] * (shards.size - 1))
        if shards.rank != 0:
            return None
        return {
            "digest": digest.hexdigest(),
            "rows": rows.sum(),
            "iteration": run.iteration,
            "stop_words": run.stop_words,
            "recent": list(recent),
        }

    def _step(self, data, shards, run, state, weights):
        at = (shards.rank, run.iteration)
        if self.fails == at:
            raise OverflowError(f"step {run.iteration} of shard {shards.rank}")
        if self.hangs == at:
            time.sleep(3600)
        if self.pause:
            time.sleep(self.pause)

        def take():
            return int(data[(state * 31 + run.iteration) % len(data)] if len(data) else 7) + round(weights)

        # Each shard works on what its neighbour has taken.
        share = shards.deal(take, lambda parts: [*parts[1:], parts[0]])
        state = shards.exchange(
            lambda: share * share, lambda parts: sum((i + 1) * p for i, p in enumerate(parts)) % PRIME
        )
        run.iteration += 1
        for scores in (run.train_scores, run.oop_scores, run.qualities):
            scores.append(state / PRIME)
        run.best_iteration = int(np.argmax(run.oop_scores)) + 1
        if run.iteration >= self.n_steps:
            run.stop(StopReason.N_ESTIMATORS)
        return state


def make_rows(first, end):
    """Make the data of a shard."""
    return (np.arange(first, end) * 7919) % 10_007


def make_sources(n_shards, worker=None):
    """Make the sources of shards that can be made anew."""
    from dask import delayed

    from mpboost.dask.driver import ShardSource

    make = delayed(make_rows, pure=False)
    ranges = [(i * CHUNK, (i + 1) * CHUNK) for i in range(n_shards)]
    return [ShardSource(first, end, np.array, [make(first, end)], worker) for first, end in ranges]
