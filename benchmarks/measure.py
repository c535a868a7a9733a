"""How time and memory are taken: contestants in turn, medians, ratios within a turn."""

import ctypes
import gc
import os
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import scipy
import sklearn

import mpboost
from mpboost import _native
from mpboost.boosting.loop import BoostingRun

Result = TypeVar("Result")


def take_turns(contestants: Mapping[str, Callable[[], Result]], n_turns: int) -> dict[str, list[Result]]:
    """Call all contestants once in each turn, so that a slow minute of the machine hits all of them."""
    results: dict[str, list[Result]] = {name: [] for name in contestants}
    for _ in range(n_turns):
        for name, contestant in contestants.items():
            results[name].append(contestant())
    return results


def time_call(call: Callable[[], object], n_calls: int) -> float:
    """Time a call: seconds, the mean of a few in a row."""
    start = time.perf_counter()
    for _ in range(n_calls):
        call()
    return (time.perf_counter() - start) / n_calls


def median_ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    """Compare two contestants within each turn; return the median of the ratios."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


class LoopClock(mpboost.Callback):
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
        learner: Any = run.learner
        learner._grower = SimpleNamespace(grow=self._timed("grow", learner._grower.grow))
        self._wrap(learner, "train", "train")
        self._wrap(run.observation_sampler, "sample", "draw rows")
        self._wrap(run.feature_sampler, "sample", "draw features")
        self._wrap(run.task, "update", "update outputs, p, scores")
        self._wrap(run.feature_sampler, "update", "update q")
        super().on_fit_begin(run)

    @property
    def steps(self) -> dict[str, float]:
        """Seconds for each step, in the order of the loop, and for the rest of it."""
        spent = dict(self._spent)
        spent["apply"] = spent.pop("train") - spent["grow"]
        order = ("draw rows", "draw features", "grow", "apply", "update outputs, p, scores", "update q")
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


def resident_bytes(kind: str) -> int:
    """Read this process's memory from the kernel: VmRSS is the present, VmHWM the peak. Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"The kernel does not tell {kind}.")


def measure_growth(call: Callable[[], object]) -> tuple[int, float]:
    """Call once; return by how many bytes the peak of memory exceeds what was held before, and seconds. Linux only."""
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # or what was freed, but kept, would hide some of the growth
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident_bytes("VmRSS")
    seconds = time_call(call, 1)
    return resident_bytes("VmHWM") - before, seconds


def describe_machine() -> list[str]:
    """Say what the numbers were measured on."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    versions = {
        "mpboost": mpboost.__version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    return [
        f"{name_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}{load}",
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"kernels in use: {_native.current_kernels()}; this processor runs: {', '.join(_native.available_kernels())}",
    ]


def name_processor() -> str:
    """Name the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
