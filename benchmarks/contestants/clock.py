"""Time taken by a fit, in all and up to each stage of an ensemble that grows."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    """Seconds on the wall, and of the processor: the same for one thread, unless others want the processor, too."""

    wall: float
    cpu: float


def read_clocks() -> Times:
    """Read both clocks."""
    return Times(time.perf_counter(), time.process_time())


_COMPLETE, _CAPPED = "complete", "capped at "


def would_go_on(verdict: str, cap: float) -> bool:
    """Tell whether a fit that ended like this would go on with this cap."""
    return verdict.startswith(_CAPPED) and float(verdict.removeprefix(_CAPPED)) < cap


class StageClock:
    """Notes when an ensemble has so many trees, and says when to end.

    Parameters
    ----------
    stages : sequence of int
        Numbers of trees at which to look, in ascending order. The number at which a fit ends is noted, too.
    cap : float
        Seconds of the processor after which a fit is to end.

    Attributes
    ----------
    reached : dict of int to Times
        When there were so many trees.
    kept : dict of int to int
        Of so many trees, how many a model would keep if its fit ended there.
    """

    def __init__(self, stages: Sequence[int], cap: float):
        self.stages, self.cap = stages, cap
        self.reached: dict[int, Times] = {}
        self.kept: dict[int, int] = {}
        self._spent = Times(0.0, 0.0)
        self._start = read_clocks()
        self._n_trees = 0

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._read().cpu > self.cap

    def tick(self, n_trees: int, n_kept: int | None = None) -> bool:
        """Note that there are so many trees now, of which a model would keep some, or all; return whether to end."""
        self._n_trees = n_trees
        if n_trees in self.stages:
            self.reached[n_trees] = self._read()
        self.kept[n_trees] = n_trees if n_kept is None else n_kept
        return self.is_over or n_trees >= self.stages[-1]

    def is_beyond(self, n_trees: int) -> bool:
        """Tell whether so many trees, at the pace of those that there are, would take far more than the time."""
        last = max(self.reached, default=0)
        return last > 0 and self.reached[last].cpu * n_trees / last > 1.5 * self.cap

    @property
    def verdict(self) -> str:
        """Why there are no more trees: all were grown that there should be, or the cap."""
        last = max(self.reached)
        is_cut = self.reached[last].cpu > self.cap or any(map(self.is_beyond, self.stages))
        return f"{_CAPPED}{self.cap:g}" if is_cut and last < self.stages[-1] else _COMPLETE

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of what is done inside, and look once more at its end."""
        self._start = read_clocks()
        yield
        self._spent = self._read()
        self._start = read_clocks()
        if self._n_trees:
            self.reached[self._n_trees] = self._spent

    def _read(self) -> Times:
        now = read_clocks()
        return Times(
            self._spent.wall + now.wall - self._start.wall,
            self._spent.cpu + now.cpu - self._start.cpu,
        )
