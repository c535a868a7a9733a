"""Where the time of a gradient fit goes, and how far its largest parts are from what memory allows."""

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

import numpy as np

from benchmarks.common.clocks import LoopClock
from benchmarks.common.measure import time_call
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable
from benchmarks.data.sets import load_set, split
from benchmarks.data.split_set import SplitSet
from mpboost import MPGradientBoostingClassifier, _native
from mpboost.boosting.run import BoostingRun

PROFILED_SET = "covertype, 1 or not"
#: Bytes of an array that no cache holds.
COPIED_BYTES = 1 << 27
#: Calls that take a smaller share of the loop are not shown one by one.
LEAST_SHARE = 0.01


@dataclass
class Workload:
    """What an iteration has before it, on average; two classes, and weights because of reserved rows."""

    n_rows: int
    n_drawn: float = 0.0
    n_features: float = 0.0
    n_used_features: float = 0.0

    @property
    def least_bytes(self) -> dict[str, float]:
        """Bytes that a call of the engine must read and write at the least, each once."""
        gradients = hessians = weights = raw = 4
        leaves, labels, codes, doubles = 2, 1, 1, 8
        return {
            "draw_by_gradient": self.n_rows * (gradients + weights),
            "GradientGrower.grow_round": self.n_drawn * (self.n_features * codes + 3 * doubles),
            "sum_leaves": self.n_rows * (self.n_used_features * codes + gradients + hessians + leaves),
            "step_log_loss": self.n_rows * (leaves + labels + weights + 2 * raw + gradients + hessians),
        }


class EngineClock(LoopClock):
    """Times each call of the engine in the loop of a fit, by wrapping all that it exports while this is open."""

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        self.spent: dict[str, float] = {}
        self.n_iterations = 0
        self.workload = Workload(n_rows)
        self._spent_so_far: dict[str, float] = defaultdict(float)
        self._wrappings = ExitStack()

    def __enter__(self) -> Self:
        for name, exported in vars(_native).items():
            if type(exported).__name__ == "nb_func":
                self._wrap(_native, name, name)
            elif isinstance(exported, type):
                methods = [key for key, value in vars(exported).items() if type(value).__name__ == "nb_method"]
                for method in methods:
                    if not method.startswith("__"):
                        self._wrap(exported, method, f"{name}.{method}")
        return self

    def __exit__(self, *_: object) -> None:
        self._wrappings.close()

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Forget what came before the loop, then start."""
        self._spent_so_far.clear()
        super().on_fit_begin(run)

    def on_iteration_end(self, run: BoostingRun) -> None:
        """Note how large the minipatch was."""
        self.workload.n_drawn += len(run.rows)
        self.workload.n_features += len(run.features)

    def on_fit_end(self, run: BoostingRun) -> None:
        """Stop; keep what the loop had, for more calls follow."""
        super().on_fit_end(run)
        self.spent, self.n_iterations = dict(self._spent_so_far), run.iteration
        self.workload.n_drawn /= run.iteration
        self.workload.n_features /= run.iteration
        ensemble: Any = run.parts.ensemble
        used = [len(ensemble.forest.tree(k).features) for k in range(run.iteration)]
        self.workload.n_used_features = float(np.mean(used))

    def _wrap(self, owner: Any, attribute: str, name: str) -> None:
        call: Callable[..., Any] = getattr(owner, attribute)

        def timed(*args: Any, **arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return call(*args, **arguments)
            finally:
                self._spent_so_far[name] += time.perf_counter() - start

        self._wrappings.enter_context(patch.object(owner, attribute, timed))


def show_profile(n_rows: int | None, folder: Path) -> None:
    """Print what the calls of a fit take, and the limits of the two largest of those whose bytes are known."""
    split_set = split(PROFILED_SET, load_set(PROFILED_SET), 0, n_rows)
    print_heading(f"A fit on {split_set.name}, {split_set.X_train.shape[0]} x {split_set.X_train.shape[1]}, one thread")
    seconds, clock = profile_fit(split_set)
    per_iteration = 1000.0 / clock.n_iterations
    print_line(
        f"{seconds:.2f} s, of which the loop {clock.seconds:.2f} s: {clock.n_iterations} iterations, "
        f"{clock.seconds * per_iteration:.3f} ms each"
    )
    table = ResultTable(folder / "profile.csv", ["part", "ms per iteration", "share of the loop"])
    for part, spent in find_parts(clock).items():
        table.add([part, f"{spent * per_iteration:.4f}", f"{spent / clock.seconds:.1%}"])
    show_limits(clock, folder)


def profile_fit(split_set: SplitSet) -> tuple[float, EngineClock]:
    """Fit under the clock; return the seconds of the whole fit too."""
    with EngineClock(len(split_set.y_train)) as clock:
        model = MPGradientBoostingClassifier(callbacks=[clock], n_jobs=1, random_state=0)
        return time_call(lambda: model.fit(split_set.X_train, split_set.y_train), 1), clock


def find_parts(clock: EngineClock) -> dict[str, float]:
    """Find the seconds of each call of the engine, the longest first, and of what is not in the engine."""
    parts = dict(sorted(clock.spent.items(), key=lambda part: -part[1]))
    large = {part: spent for part, spent in parts.items() if spent >= LEAST_SHARE * clock.seconds}
    engine = sum(parts.values())
    other = {"other calls of the engine": engine - sum(large.values())}
    return large | other | {"rest: Python and numpy": clock.seconds - engine}


def show_limits(clock: EngineClock, folder: Path) -> None:
    """Print how long memory alone would take for the two largest calls."""
    work = clock.workload
    bytes_needed = work.least_bytes
    paces = {"memory": measure_copy(COPIED_BYTES), "cache": measure_copy(4 * work.n_rows)}
    print_line(
        f"a copy reads and writes {paces['memory'] / 1e9:.1f} GB/s in memory, {paces['cache'] / 1e9:.1f} GB/s where "
        f"the array is as long as the {work.n_rows} rows; a minipatch has {work.n_drawn:.0f} rows and "
        f"{work.n_features:.1f} features, a tree splits by {work.n_used_features:.1f} of them"
    )
    columns = ["part", "us per iteration", "bytes per row at the least", "us at the pace of memory", "times that"]
    table = ResultTable(folder / "limits.csv", [*columns, "us at the pace of such arrays", "times that pace"])
    known = sorted((part for part in bytes_needed if part in clock.spent), key=lambda part: -clock.spent[part])
    for part in known[:2]:
        taken = 1e6 * clock.spent[part] / clock.n_iterations
        n_touched = work.n_drawn if part == "GradientGrower.grow_round" else work.n_rows
        cells = [part, f"{taken:.1f}", f"{bytes_needed[part] / n_touched:.1f}"]
        for pace in paces.values():
            least = 1e6 * bytes_needed[part] / pace
            cells += [f"{least:.2f}", f"{taken / least:.2f}"]
        table.add(cells)


def measure_copy(n_bytes: int) -> float:
    """Copy an array some times; return the bytes that are read and written in a second, at best."""
    source = np.ones(n_bytes, dtype=np.uint8)
    target = np.empty_like(source)
    n_calls = max(1, (1 << 24) // n_bytes)
    return 2.0 * n_bytes / min(time_call(lambda: np.copyto(target, source), n_calls) for _ in range(7))
