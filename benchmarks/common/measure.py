"""How time and memory are measured: contestants in turn, medians, ratios within a turn; and on which machine."""

import ctypes
import gc
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import scipy
import sklearn

import mpboost
from mpboost import _native

Result = TypeVar("Result")


def take_turns(contestants: Mapping[str, Callable[[], Result]], n_turns: int) -> dict[str, list[Result]]:
    """Call all contestants once in each turn, so that a slow minute of the machine hits all of them."""
    results: dict[str, list[Result]] = {name: [] for name in contestants}
    for _ in range(n_turns):
        for name, contestant in contestants.items():
            results[name].append(contestant())
    return results


def time_call(call: Callable[[], object], n_calls: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Time a call: seconds, the mean of a few in a row."""
    start = clock()
    for _ in range(n_calls):
        call()
    return (clock() - start) / n_calls


def median_ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    """Compare two contestants within each turn; return the median of the ratios."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


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
